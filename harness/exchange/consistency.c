/* SPDX-License-Identifier: Apache-2.0 */
/* consistency.c - the rules: their names, and what else depends on the rule. */
#include "harness/exchange/consistency.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

enum { MOST_BOUND = 1000000000 };

#define PROPERTIES(KIND, push, may_read, ...) [CONSISTENCY_##KIND] = { __VA_ARGS__ },
static const struct consistency_properties rules[] = { CONSISTENCY_RULES(PROPERTIES) };

enum { MOST_FORMS = 2 * N_CONSISTENCY_KINDS };

static const struct consistency_properties *rule_of(const struct consistency *c)
{
    return &rules[c->kind];
}

/* All that can be typed, NULL behind the last. */
static void list_forms(const char *out[MOST_FORMS + 1])
{
    size_t n = 0;

    for (size_t k = 0; k < N_CONSISTENCY_KINDS; k++) {
        if (rules[k].plain)
            out[n++] = rules[k].plain;
        if (rules[k].numbered)
            out[n++] = rules[k].numbered;
    }
    out[n] = NULL;
}

/* "async, ssp:S, sync or sync:B" */
static void forms_text(char *out, size_t n_bytes, const char *const form[])
{
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; form[i] && n < n_bytes; i++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s%s", i == 0 ? "" : form[i + 1] ? ", " : " or ", form[i]);
}

/* number: what is behind the colon. */
static enum rc parse_bound(struct consistency *out, enum consistency_kind kind, const char *text, const char *number)
{
    const char *form = rules[kind].numbered, *letter = strchr(form, ':') + 1;
    uint64_t bound;

    if (!text_to_u64(number, &bound) || bound > MOST_BOUND)
        return rc_raise(RC_INVAL, "--consistency %s: %s of %s must be a whole number from 0 to %d", text, letter, form,
                        MOST_BOUND);
    *out = (struct consistency){ kind, (uint32_t)bound };
    return RC_OK;
}

enum rc consistency_parse(struct consistency *out, const char *text)
{
    const char *form[MOST_FORMS + 1];
    char forms[128];

    for (size_t k = 0; k < N_CONSISTENCY_KINDS; k++) {
        const size_t n = strlen(rules[k].name);
        if (rules[k].plain && strcmp(text, rules[k].plain) == 0) {
            *out = (struct consistency){ (enum consistency_kind)k, 0 };
            return RC_OK;
        }
        if (rules[k].numbered && strncmp(text, rules[k].name, n) == 0 && text[n] == ':')
            return parse_bound(out, (enum consistency_kind)k, text, text + n + 1);
    }
    list_forms(form);
    forms_text(forms, sizeof forms, form);
    const char *nearest = text_nearest(text, form);
    return rc_raise(RC_INVAL, "--consistency %s: must be %s%s%s%s", text, forms, nearest ? "; did you mean " : "",
                    nearest ? nearest : "", nearest ? "?" : "");
}

void consistency_text(char *out, size_t n_bytes, const struct consistency *c)
{
    if (rule_of(c)->numbered)
        snprintf(out, n_bytes, "%s:%u", rule_of(c)->name, c->bound_count);
    else
        snprintf(out, n_bytes, "%s", rule_of(c)->name);
}

enum rc consistency_check(const struct consistency *c, int n_workers)
{
    if (!rule_of(c)->drops_late || c->bound_count < (uint32_t)n_workers)
        return RC_OK;
    if (n_workers == 1)
        return rc_raise(RC_INVAL, "--consistency %s:%u: a step of one worker needs its gradient; use --consistency %s",
                        rule_of(c)->name, c->bound_count, rule_of(c)->name);
    return rc_raise(RC_INVAL,
                    "--consistency %s:%u: of %d workers at most %d can be %s, whose gradients a step can do without; "
                    "use --consistency %s:%d",
                    rule_of(c)->name, c->bound_count, n_workers, n_workers - 1,
                    n_workers == 2 ? "a backup worker" : "backup workers", rule_of(c)->name, n_workers - 1);
}

bool consistency_has_rounds(const struct consistency *c)
{
    return rule_of(c)->has_rounds;
}

bool consistency_may_wait(const struct consistency *c)
{
    return rule_of(c)->may_wait;
}

uint32_t consistency_n_dropped(const struct consistency *c)
{
    return rule_of(c)->drops_late ? c->bound_count : 0;
}

bool consistency_bounds_lead(const struct consistency *c)
{
    return rule_of(c)->bounds_lead;
}

bool consistency_waits_for_all(const struct consistency *c)
{
    return rule_of(c)->has_rounds && consistency_n_dropped(c) == 0;
}

bool consistency_waits_in_step(const struct consistency *c)
{
    return rule_of(c)->has_rounds || (rule_of(c)->bounds_lead && c->bound_count == 0);
}
