/* SPDX-License-Identifier: Apache-2.0 */
/*
 * acceptance.c - the measurements and findings of an acceptance test of a cluster: plain data that stages fill,
 * judges read and reports show; see acceptance.h.
 */
#include "harness/accept/acceptance.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct metric_about {
    enum accept_stage stage;
    const char *name, *unit;
    bool higher_is_better;
} metrics[ACCEPT_N_METRICS] = {
    [METRIC_GEMM] = { ACCEPT_COMPUTE, "flops_per_s", "flop/s", true },
    [METRIC_MEMORY] = { ACCEPT_COMPUTE, "memory_bytes_per_s", "byte/s", true },
    [METRIC_DETOUR] = { ACCEPT_NOISE, "detour_ratio", "of the time", false },
    [METRIC_LONGEST_DETOUR] = { ACCEPT_NOISE, "longest_detour_s", "s", false },
    [METRIC_STEP_COMPUTE] = { ACCEPT_TRAINING, "step_compute_s", "s", false },
    [METRIC_STEP_WAIT] = { ACCEPT_TRAINING, "step_wait_s", "s", false },
};

struct kept_text { /* a list of them */
    struct kept_text *next;
    char text[];
};

const char *accept_stage_name(enum accept_stage stage)
{
    static const char *const stage_keys[ACCEPT_N_STAGES] = { "preflight", "compute",     "noise",
                                                             "pairwise",  "collectives", "ps",
                                                             "training",  "integrity",   "soak" };

    return stage_keys[stage];
}

const char *accept_metric_name(int metric)
{
    return metrics[metric].name;
}

const char *accept_rank_order_name(int kind)
{
    static const char *const name[ACCEPT_N_RANK_ORDERS] = { "launcher", "pack", "spread", "switches", "shortest" };

    return name[kind];
}

const char *accept_outcome_name(enum accept_outcome outcome)
{
    static const char *const name[] = { "pass", "fail", "no data", "skipped", "no limit" };

    return name[outcome];
}

const char *accept_subject_name(enum subject subject)
{
    static const char *const name[] = { "fleet", "node", "rank", "link" };

    return name[subject];
}

void accept_subject_text(char *out, size_t n_bytes, const struct acceptance *a, const struct finding *f)
{
    switch (f->subject) {
    case SUBJECT_NODE:
        snprintf(out, n_bytes, "%s", a->node[f->a].name);
        break;
    case SUBJECT_RANK:
        snprintf(out, n_bytes, "rank %d on %s", f->a, a->node[f->b].name);
        break;
    case SUBJECT_LINK:
        snprintf(out, n_bytes, "link %s %s %s", a->node[f->a].name, f->both_ways ? "-" : "->", a->node[f->b].name);
        break;
    case SUBJECT_FLEET:
        snprintf(out, n_bytes, "all nodes");
        break;
    }
}

enum rc acceptance_open(struct acceptance *out, int n_nodes, int n_ranks)
{
    struct acceptance a = { .n_nodes = n_nodes, .n_ranks = n_ranks, .outcome = OUTCOME_NO_DATA, .lost_rank = -1 };
    enum rc rc = RC_OK;

    assert(n_nodes >= 1 && n_ranks >= n_nodes);
    a.node = calloc((size_t)n_nodes, sizeof *a.node);
    a.node_of_rank = calloc((size_t)n_ranks, sizeof *a.node_of_rank);
    if (!a.node || !a.node_of_rank)
        FAIL(RC_NOMEM, "no memory for %d nodes and %d ranks", n_nodes, n_ranks);
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        a.stage[s].outcome = OUTCOME_SKIPPED;
    *out = a;
    a = (struct acceptance){ .n_nodes = 0 };
out:
    acceptance_close(&a);
    return rc;
}

void acceptance_close(struct acceptance *a)
{
    for (int m = 0; m < ACCEPT_N_METRICS; m++)
        free(a->metric[m].value);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        free(a->rank_order[k].rank);
    free(a->tournament.bytes_per_s);
    free(a->tournament.latency_s);
    free(a->tournament.late_ratio);
    free(a->difference);
    free(a->wrong_sum);
    free(a->finding);
    free(a->node);
    free(a->node_of_rank);
    for (struct kept_text *k = a->kept_text, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    *a = (struct acceptance){ .n_nodes = 0 };
}

/* [n] NaNs; NULL: no memory */
static double *nans(size_t n)
{
    double *x = malloc((n > 0 ? n : 1) * sizeof *x);

    for (size_t i = 0; x && i < n; i++)
        x[i] = NAN;
    return x;
}

enum rc acceptance_add_metric(struct acceptance *a, int metric, int n_repeats)
{
    const struct metric_about *about = &metrics[metric];
    double *value = nans((size_t)a->n_ranks * (size_t)n_repeats);

    assert(n_repeats >= 1 && n_repeats <= ACCEPT_MAX_REPEATS);
    if (!value)
        return rc_raise(RC_NOMEM, "no memory for %d repeats of %d ranks", n_repeats, a->n_ranks);
    free(a->metric[metric].value);
    a->metric[metric] = (struct rank_metric){ .stage = about->stage,
                                              .name = about->name,
                                              .unit = about->unit,
                                              .higher_is_better = about->higher_is_better,
                                              .n_repeats = n_repeats,
                                              .value = value };
    return RC_OK;
}

enum rc acceptance_add_tournament(struct acceptance *a, int n_repeats)
{
    const size_t n = (size_t)a->n_nodes * (size_t)a->n_nodes * (size_t)n_repeats;
    struct tournament t = {
        .n_nodes = a->n_nodes, .bytes_per_s = nans(n), .latency_s = nans(n), .late_ratio = nans(n)
    };

    assert(n_repeats >= 1 && n_repeats <= ACCEPT_MAX_REPEATS);
    if (!t.bytes_per_s || !t.latency_s || !t.late_ratio) {
        free(t.bytes_per_s);
        free(t.latency_s);
        free(t.late_ratio);
        return rc_raise(RC_NOMEM, "no memory for %d tournaments of %d nodes", n_repeats, a->n_nodes);
    }
    free(a->tournament.bytes_per_s);
    free(a->tournament.latency_s);
    free(a->tournament.late_ratio);
    a->tournament = t;
    return RC_OK;
}

enum rc acceptance_add_rank_order(struct acceptance *a, int kind, const int *order)
{
    const size_t n_bytes = (size_t)a->n_ranks * sizeof *order;
    int *rank = order ? malloc(n_bytes) : NULL;

    if (order && !rank)
        return rc_raise(RC_NOMEM, "no memory for an order of %d ranks", a->n_ranks);
    if (order)
        memcpy(rank, order, n_bytes);
    free(a->rank_order[kind].rank);
    a->rank_order[kind] = (struct rank_order){ .rank = rank,
                                               .same_as = kind,
                                               .bytes_per_s = NAN,
                                               .low_bytes_per_s = NAN,
                                               .high_bytes_per_s = NAN,
                                               .ratio = NAN,
                                               .low_ratio = NAN,
                                               .high_ratio = NAN };
    return RC_OK;
}

int acceptance_best_rank_order(const struct acceptance *a)
{
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (a->rank_order[k].is_best)
            return k;
    return -1;
}

enum rc acceptance_add_finding(struct acceptance *a, const struct finding *f)
{
    struct finding *more = realloc(a->finding, (size_t)(a->n_findings + 1) * sizeof *more);

    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a finding");
    a->finding = more;
    more[a->n_findings++] = *f;
    return RC_OK;
}

enum rc acceptance_add_difference(struct acceptance *a, const struct node_difference *d)
{
    struct node_difference *more = realloc(a->difference, (size_t)(a->n_differences + 1) * sizeof *more);

    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a node that differs");
    a->difference = more;
    more[a->n_differences++] = *d;
    return RC_OK;
}

/* Below 0: p comes before q; 0: of one stage, size and rank. */
static int compare_wrong_sums(const struct wrong_sum *p, const struct wrong_sum *q)
{
    if (p->stage != q->stage)
        return p->stage < q->stage ? -1 : 1;
    if (p->n_bytes != q->n_bytes)
        return p->n_bytes < q->n_bytes ? -1 : 1;
    return (p->rank > q->rank) - (p->rank < q->rank);
}

enum rc acceptance_add_wrong_sum(struct acceptance *a, const struct wrong_sum *w)
{
    struct wrong_sum *more = a->wrong_sum;
    int at = a->n_wrong_sums;

    while (at > 0 && compare_wrong_sums(w, &more[at - 1]) <= 0)
        at--;
    if (at < a->n_wrong_sums && compare_wrong_sums(w, &more[at]) == 0) {
        more[at].n_wrong += w->n_wrong;
        return RC_OK;
    }
    more = realloc(more, (size_t)(a->n_wrong_sums + 1) * sizeof *more);
    if (!more)
        return rc_raise(RC_NOMEM, "no memory for a wrong sum");
    a->wrong_sum = more;
    memmove(&more[at + 1], &more[at], (size_t)(a->n_wrong_sums - at) * sizeof *more);
    more[at] = *w;
    a->n_wrong_sums++;
    return RC_OK;
}

const char *acceptance_keep_text(struct acceptance *a, const char *text)
{
    const size_t n_bytes = strlen(text) + 1;

    for (const struct kept_text *k = a->kept_text; k; k = k->next)
        if (strcmp(k->text, text) == 0)
            return k->text;
    struct kept_text *more = malloc(sizeof *more + n_bytes);
    if (!more)
        return NULL;
    memcpy(more->text, text, n_bytes);
    more->next = a->kept_text;
    a->kept_text = more;
    return more->text;
}

struct criterion *acceptance_add_criterion(struct acceptance *a, enum accept_stage stage, const char *name)
{
    struct criterion *c = &a->criterion[a->n_criteria];

    assert(a->n_criteria < ACCEPT_MAX_CRITERIA);
    a->n_criteria++;
    *c = (struct criterion){ .stage = stage, .measured = NAN, .low = NAN, .high = NAN, .limit = NAN, .unit = "" };
    snprintf(c->name, sizeof c->name, "%s", name);
    return c;
}
