/* SPDX-License-Identifier: Apache-2.0 */
/* consistency.c - names of the rules, and what is wrong with a name. */
#include "harness/exchange/consistency.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

enum { MOST_BOUND = 1000000000 };

/* The number behind "ssp:" or "sync:". */
static enum rc parse_bound(struct consistency *out, enum consistency_kind kind, const char *text, const char *number)
{
    const char *form = kind == CONSISTENCY_SSP ? "S of ssp:S" : "B of sync:B";
    uint64_t bound;

    if (!text_to_u64(number, &bound) || bound > MOST_BOUND)
        return rc_raise(RC_INVAL, "--consistency %s: %s must be a whole number from 0 to %d", text, form, MOST_BOUND);
    *out = (struct consistency){ kind, (uint32_t)bound };
    return RC_OK;
}

enum rc consistency_parse(struct consistency *out, const char *text)
{
    static const char *const names[] = { "async", "ssp:S", "sync", "sync:B", NULL };

    if (strncmp(text, "ssp:", 4) == 0)
        return parse_bound(out, CONSISTENCY_SSP, text, text + 4);
    if (strncmp(text, "sync:", 5) == 0)
        return parse_bound(out, CONSISTENCY_SYNC, text, text + 5);
    if (strcmp(text, "async") == 0 || strcmp(text, "sync") == 0) {
        *out = (struct consistency){ strcmp(text, "sync") == 0 ? CONSISTENCY_SYNC : CONSISTENCY_ASYNC, 0 };
        return RC_OK;
    }
    const char *nearest = text_nearest(text, names);
    return rc_raise(RC_INVAL, "--consistency %s: must be async, ssp:S, sync or sync:B%s%s%s", text,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

void consistency_text(char *out, size_t n_bytes, const struct consistency *c)
{
    if (c->kind == CONSISTENCY_ASYNC)
        snprintf(out, n_bytes, "async");
    else
        snprintf(out, n_bytes, "%s:%u", c->kind == CONSISTENCY_SSP ? "ssp" : "sync", c->bound_count);
}

enum rc consistency_check(const struct consistency *c, int n_workers)
{
    if (c->kind == CONSISTENCY_SYNC && c->bound_count >= (uint32_t)n_workers)
        return rc_raise(
            RC_INVAL,
            "--consistency sync:%u: of %d worker%s at most %d can be backup worker%s, whose gradients a step "
            "can do without",
            c->bound_count, n_workers, n_workers == 1 ? "" : "s", n_workers - 1, n_workers == 2 ? "" : "s");
    return RC_OK;
}
