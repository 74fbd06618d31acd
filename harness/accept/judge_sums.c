/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_sums.c - sums of allreduces, and what workers pull of a server, are what they must be.
 *
 * Wrong on less than half of those who got some: each of them is at fault. Else they may have what another one sent to
 * them: the server, or whoever pushed to it. Which is not known, and nobody is blamed.
 */
#include <stdio.h>

#include "harness/accept/judge_parts.h"

struct sum_terms { /* of a stage */
    enum accept_stage stage;
    const char *row, *metric, *sums, *summed, *to_sum, *getters;
    int n_getters;     /* ranks that each get every sum */
    uint64_t n_checks; /* by each of them */
    bool is_measured;
    char server[80]; /* "rank 6 on host3"; "": no server */
};

static struct sum_terms terms_of(const struct acceptance *a, enum accept_stage stage)
{
    struct sum_terms t = { .stage = stage,
                           .row = "sums are right",
                           .metric = "allreduce_sums",
                           .sums = "sums",
                           .summed = "summed",
                           .to_sum = "to sum",
                           .getters = "ranks",
                           .n_getters = a->n_ranks,
                           .n_checks = a->sum_checks_count,
                           .is_measured = a->n_collective > 0 };

    if (stage != ACCEPT_PS)
        return t;
    t.row = "pulls are right";
    t.metric = "ps_pulls";
    t.sums = "pulls";
    t.summed = "pulled";
    t.to_sum = "to push";
    t.getters = "workers";
    t.n_getters = a->n_ranks - 1;
    t.n_checks = a->pull_checks_count;
    t.is_measured = a->n_ps > 0;
    snprintf(t.server, sizeof t.server, "rank %d on %.50s", accept_server_rank(a->node, a->n_nodes, a->n_ranks),
             a->node[a->n_nodes - 1].name);
    return t;
}

/* "rank 1 on host0, 2 on host1 and 5 more": ranks of wrong[n]. */
static void say_ranks(char *out, size_t n_bytes, const struct acceptance *a, const struct wrong_sum *wrong, int n)
{
    enum { MOST = 4 };
    size_t at = 0;

    for (int i = 0; i < n && i < MOST && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%d on %.24s", i > 0 ? ", " : "rank ", wrong[i].rank,
                               a->node[a->node_of_rank[wrong[i].rank]].name);
    if (n > MOST && at < n_bytes)
        (void)snprintf(out + at, n_bytes - at, " and %d more", n - MOST);
}

static enum rc find_wrong_rank(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w)
{
    struct finding f = { .stage = t->stage,
                         .subject = SUBJECT_RANK,
                         .a = w->rank,
                         .b = a->node_of_rank[w->rank],
                         .metric = t->metric,
                         .unit = "elements",
                         .measured = (double)w->n_wrong };
    char what[160];

    if (t->server[0])
        snprintf(what, sizeof what, "what it pulls of %zu bytes from %s, the server, is wrong", w->n_bytes, t->server);
    else
        snprintf(what, sizeof what, "its sums of %zu bytes are wrong", w->n_bytes);
    snprintf(f.text, sizeof f.text, "%s, in %llu elements of all repeats, first in element %llu: %.9g, not %.9g", what,
             (unsigned long long)w->n_wrong, (unsigned long long)w->element, w->value, w->expected);
    return acceptance_add_finding(a, &f);
}

static enum rc find_wrong_fleet(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w, int n)
{
    struct finding f = { .stage = t->stage, .subject = SUBJECT_FLEET, .metric = t->metric, .unit = "elements" };
    char who[160];

    for (int i = 0; i < n; i++)
        f.measured += (double)w[i].n_wrong;
    say_ranks(who, sizeof who, a, w, n);
    if (t->server[0])
        snprintf(f.text, sizeof f.text,
                 "what %d of %d workers pull of %zu bytes from %s is wrong, first in element %llu: %.9g, not %.9g; %s",
                 n, t->n_getters, w->n_bytes, t->server, (unsigned long long)w->element, w->value, w->expected, who);
    else
        snprintf(f.text, sizeof f.text,
                 "sums of %zu bytes are wrong on %d of %d ranks, first in element %llu: %.9g, not %.9g; %s", w->n_bytes,
                 n, t->n_getters, (unsigned long long)w->element, w->value, w->expected, who);
    return acceptance_add_finding(a, &f);
}

/* Wrong sums of one size, w[n]. */
static enum rc find_wrong_size(struct acceptance *a, const struct sum_terms *t, const struct wrong_sum *w, int n)
{
    const bool are_few = 2 * n < t->n_getters;
    enum rc rc = RC_OK;

    for (int i = 0; are_few && i < n; i++)
        TRY(find_wrong_rank(a, t, &w[i]));
    if (!are_few)
        TRY(find_wrong_fleet(a, t, w, n));
out:
    return rc;
}

enum rc judge_sums(struct judging *j, enum accept_stage stage)
{
    struct acceptance *a = j->a;
    const struct sum_terms t = terms_of(a, stage);
    struct criterion *row = acceptance_add_criterion(a, stage, t.row);
    const int first = a->n_findings;
    char no_data[64] = "", well[96];
    enum rc rc = RC_OK;

    if (t.n_checks == 0 && t.is_measured) {
        row_end(row, OUTCOME_SKIPPED, "compute %s has no numbers %s", a->compute, t.to_sum);
        return RC_OK;
    }
    row->n_samples = (int)t.n_checks;
    for (int i = 0, n = 1; i < a->n_wrong_sums; i += n) {
        const struct wrong_sum *w = &a->wrong_sum[i];
        for (n = 1; i + n < a->n_wrong_sums && w[n].stage == w->stage && w[n].n_bytes == w->n_bytes;)
            n++;
        if (w->stage == stage)
            TRY(find_wrong_size(a, &t, w, n));
    }
    if (t.n_checks == 0)
        snprintf(no_data, sizeof no_data, "nothing was %s", t.summed);
    snprintf(well, sizeof well, "every element of %llu %s, on %d %s", (unsigned long long)t.n_checks, t.sums,
             t.n_getters, t.getters);
    row_findings(a, row, first, no_data, well);
out:
    return rc;
}
