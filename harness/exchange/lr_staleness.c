/* SPDX-License-Identifier: Apache-2.0 */
/* lr_staleness.c - names of the rules of lr_staleness.h. */
#include "harness/exchange/lr_staleness.h"

#include <stddef.h>

static const struct module rules[] = { [LR_STALENESS_NONE] = { .name = "none" },
                                       [LR_STALENESS_INVERSE] = { .name = "inverse", .caps = STALENESS_LOWERS_RATE } };

static const struct module *rule_at(int i)
{
    return i <= LR_STALENESS_INVERSE ? &rules[i] : NULL;
}

const struct module_kind lr_staleness_kind = { "lr-staleness", rule_at, NULL, "none", NULL };

enum lr_staleness lr_staleness_of(const struct module *rule)
{
    return rule->caps & STALENESS_LOWERS_RATE ? LR_STALENESS_INVERSE : LR_STALENESS_NONE;
}

const char *lr_staleness_text(enum lr_staleness rule)
{
    return rules[rule].name;
}
