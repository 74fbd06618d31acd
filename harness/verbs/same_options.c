/* SPDX-License-Identifier: Apache-2.0 */
/*
 * same_options.c - checks that the ranks of a launched world run one program with the same options; see
 * same_options.h.
 */
#include "harness/verbs/same_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/manifest.h"
#include "harness/verbs/refusal.h"
#include "harness/world/child.h"
#include "harness/world/tcp/gang.h"

/* What ranks may have for themselves. */
enum freedom {
    NO_FREEDOM,
    OTHER_VALUE, /* but all have one, or none: what is gathered by all, or read by all */
    ANY_VALUE,   /* or none: what rank 0 alone writes, and what depends on a host or on the place in the run */
};

static enum freedom freedom_of(const char *name)
{
    static const struct {
        const char *option;
        enum freedom freedom;
    } row[] = {
        { "data", OTHER_VALUE },     { "profile", OTHER_VALUE },  { "resume", OTHER_VALUE },
        { "timeline", OTHER_VALUE }, { "messages", OTHER_VALUE }, { "trajectory", OTHER_VALUE },
        { "out", ANY_VALUE },        { "save", ANY_VALUE },       { "cost", ANY_VALUE },
        { "records", ANY_VALUE },    { "chart", ANY_VALUE },      { "autotune-file", ANY_VALUE },
        { "lines", ANY_VALUE },      { "interface", ANY_VALUE },  { "threads", ANY_VALUE },
        { "bind", ANY_VALUE },       { "wait", ANY_VALUE },       { "world", ANY_VALUE },
        { "task", ANY_VALUE },       { "key-file", ANY_VALUE },   { "start-timeout", ANY_VALUE },
        { "join-file", ANY_VALUE },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(name, row[i].option) == 0)
            return row[i].freedom;
    return NO_FREEDOM;
}

char *same_options_text(const struct verb_call *call)
{
    char value[1100], version[96], *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    if (!to)
        return NULL;
    manifest_version(version, sizeof version);
    const bool serves =
        strcmp(call->verb->name, "serve") == 0; /* "serve ps": a server of the run that others train in */
    fprintf(to, "version=%s\ncommand=%s", version, serves ? "train" : call->verb->name);
    for (int i = 0; !serves && i < VERB_MAX_OPERANDS && call->operand[i]; i++)
        fprintf(to, " %s", call->operand[i]);
    fprintf(to, "\n");
    for (int g = 0; g < call->n_groups; g++) {
        const struct opt_group *group = &call->group[g];
        for (const struct opt *o = group->table; o->type != OPT_END; o++) {
            const enum freedom freedom = group->module ? NO_FREEDOM : freedom_of(o->name);
            if (freedom == ANY_VALUE)
                continue;
            opt_format(o, group->into, value, sizeof value);
            if (value[0] == '\0' || freedom == OTHER_VALUE)
                (void)snprintf(value, sizeof value, "%s", value[0] == '\0' ? "no value" : "a value");
            fprintf(to, "--%s%s%s=%s\n", group->module ? group->module->name : "", group->module ? "." : "", o->name,
                    value);
        }
    }
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The first line in which a and b differ: name[64] := what it is of, and each one's value. */
static bool find_difference(const char *a, const char *b, char name[64], char of_a[128], char of_b[128])
{
    while (*a && *b) {
        const size_t n_a = strcspn(a, "\n"), n_b = strcspn(b, "\n"), n_name = strcspn(a, "=");
        if (n_a != n_b || memcmp(a, b, n_a) != 0) {
            (void)snprintf(name, 64, "%.*s", (int)n_name, a);
            (void)snprintf(of_a, 128, "%.*s", (int)(n_a - n_name - 1), a + n_name + 1);
            (void)snprintf(of_b, 128, "%.*s", (int)(n_b > n_name ? n_b - n_name - 1 : 0), b + n_name + 1);
            return true;
        }
        a += n_a + (a[n_a] == '\n');
        b += n_b + (b[n_b] == '\n');
    }
    return false;
}

/* How a message names this process: by what its user typed, or by its host. */
static void own_text(char *out, size_t n_bytes)
{
    char host[64];

    child_host_name(host, sizeof host);
    if (world_launcher().is_by_hand)
        gang_own_text(out, n_bytes);
    else
        (void)snprintf(out, n_bytes, "the process on host %s", host);
}

/* RC_INVAL: own and of_0, the texts of this rank and of rank 0, differ. */
static enum rc compare(const char *own, const char *of_0)
{
    char name[64], mine[128], others[128], who[320];

    own_text(who, sizeof who);
    if (find_difference(own, of_0, name, mine, others))
        return rc_raise(RC_INVAL, "%s has %s %s, and rank 0 has %s; the options of all ranks must be the same", who,
                        name, mine, others);
    if (strlen(own) != strlen(of_0))
        return rc_raise(RC_INVAL, "%s has other options than rank 0; all ranks need the same program", who);
    return RC_OK;
}

struct comparison_of_options {
    struct verb_call *call;
    struct refusal refusal;
};

/* world_opts.agree */
static enum rc agree(struct world *w, void *arg)
{
    struct comparison_of_options *c = arg;
    char *own = same_options_text(c->call), *of_0 = NULL;
    uint64_t n_bytes = own ? strlen(own) : 0;
    bool is_refused;
    enum rc rc;

    if (!own)
        FAIL(RC_NOMEM, "no memory to compare options");
    if (world_is_guest(w)) { /* what rank 0 has, it was told when it came */
        TRY(compare(own, w->identity));
        goto out;
    }
    TRY(world_broadcast(w, &n_bytes, sizeof n_bytes));
    of_0 = calloc(1, (size_t)n_bytes + 1);
    if (!of_0)
        FAIL(RC_NOMEM, "no memory to compare options");
    if (w->rank == 0)
        memcpy(of_0, own, (size_t)n_bytes);
    TRY(world_broadcast(w, of_0, (size_t)n_bytes));
    TRY(refusal_agree(w, &c->refusal, compare(own, of_0), &is_refused));
    if (is_refused)
        FAIL(c->refusal.rc, "%s", c->refusal.why);
out:
    free(own);
    free(of_0);
    return rc;
}

enum rc same_options_run(struct verb_call *call, const struct world_ops *world, const struct world_opts *opts,
                         int n_ranks, rank_main_fn *body, void *arg)
{
    struct comparison_of_options c = { .call = call };
    struct world_opts compared = *opts;
    enum rc rc;

    compared.agree = agree;
    compared.agree_arg = &c;
    rc = world_run(world, &compared, n_ranks, body, arg);
    return c.refusal.rc == RC_OK ? rc : refusal_raise(&c.refusal, call);
}
