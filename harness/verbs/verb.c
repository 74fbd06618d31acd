/* SPDX-License-Identifier: Apache-2.0 */
/* verb.c - from a verb's tables to option groups. */
#include "harness/verbs/verb.h"

#include <assert.h>
#include <stdlib.h>

/* The groups of v, filling opts; opts NULL: for help alone. */
static int groups_of(struct opt_group group[VERB_MAX_GROUPS], const struct verb *v, void *opts)
{
    union module_values unused;
    char *base = opts;
    int n = 0;

    for (const struct verb_group *g = v->group; g->table; g++) {
        assert(n < VERB_MAX_GROUPS - MAX_MODULE_GROUPS);
        group[n++] = (struct opt_group){ g->title, g->table, base ? base + g->offset_bytes : NULL, 0, NULL };
    }
    if (v->kinds)
        n += module_opt_groups(group + n, v->kinds,
                               base ? (union module_values *)(void *)(base + v->modules_offset_bytes) : &unused);
    return n;
}

enum rc verb_call_open(struct verb_call *call, const struct verb *v, int argc, char *const argv[])
{
    enum rc rc;

    *call = (struct verb_call){ .stage = STAGE_INPUT };
    call->opts = calloc(1, v->opts_bytes + 1);
    if (!call->opts)
        return rc_raise(RC_NOMEM, "no memory for options");
    call->n_groups = groups_of(call->group, v, call->opts);
    TRY(opt_parse(call->group, call->n_groups, v->rule, v->n_rules, argc, argv));
    if (v->check)
        TRY(v->check(call));
out:
    return rc;
}

void verb_call_close(struct verb_call *call)
{
    free(call->opts);
    *call = (struct verb_call){ .stage = STAGE_INPUT };
}

bool verb_given(const struct verb_call *call, const char *option)
{
    return opt_given(call->group, call->n_groups, option);
}

void verb_help(FILE *to, const struct verb *v)
{
    struct opt_group group[VERB_MAX_GROUPS];
    const int n_groups = groups_of(group, v, NULL);

    if (v->introduction)
        fputs(v->introduction, to);
    if (n_groups == 0)
        fputs("  no options\n", to);
    opt_help(to, group, n_groups);
}
