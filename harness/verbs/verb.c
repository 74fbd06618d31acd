/* SPDX-License-Identifier: Apache-2.0 */
/* verb.c - from a verb's tables to option groups. */
#include "harness/verbs/verb.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* rc is how the parser ended: where it does not know an option that v has a hint for, the hint is the message. */
static enum rc hinted(enum rc rc, const struct verb *v)
{
    char unknown[64];

    for (const struct verb_hint *h = v->hint; rc == RC_INVAL && h && h->option; h++) {
        snprintf(unknown, sizeof unknown, "--%s: no such option", h->option);
        if (strncmp(rc_message(), unknown, strlen(unknown)) == 0)
            return rc_raise(RC_INVAL, "%s; %s", unknown, h->instead);
    }
    return rc;
}

enum rc verb_call_open(struct verb_call *call, const struct verb *v, int argc, char *const argv[])
{
    enum rc rc;

    *call = (struct verb_call){ .stage = STAGE_INPUT };
    call->opts = calloc(1, v->opts_bytes + 1);
    if (!call->opts)
        return rc_raise(RC_NOMEM, "no memory for options");
    call->n_groups = groups_of(call->group, v, call->opts);
    TRY(hinted(opt_parse(call->group, call->n_groups, v->rule, v->n_rules, argc, argv), v));
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
