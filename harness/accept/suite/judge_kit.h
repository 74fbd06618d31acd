/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_kit.h - a made-up healthy fleet of four nodes with two ranks each, and stand-ins for who finds outliers (the
 * real ones have their own tests), for tests of the judge. Test-only; one file of a program includes it.
 */
#ifndef HARNESS_ACCEPT_SUITE_JUDGE_KIT_H
#define HARNESS_ACCEPT_SUITE_JUDGE_KIT_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/judge.h"
#include "harness/accept/outliers.h"
#include "harness/base/suite/unit.h"

enum { N_NODES = 4, N_RANKS = 8, N_REPEATS = 3 };

/* --- stand-ins: an outlier is what is worse than half as good as the first --- */

static inline enum rc blame_rank(struct acceptance *a, const struct rank_metric *m, int rank)
{
    struct finding f = { .stage = m->stage,
                         .subject = SUBJECT_RANK,
                         .a = rank,
                         .b = a->node_of_rank[rank],
                         .metric = m->name,
                         .unit = m->unit,
                         .q_value = 0.005 };

    snprintf(f.text, sizeof f.text, "it is slow");
    return acceptance_add_finding(a, &f);
}

enum rc outliers_find(struct acceptance *a, int metric, const struct blame_terms *terms)
{
    const struct rank_metric *m = &a->metric[metric];
    enum rc rc = RC_OK;

    assert_true(terms->false_discovery_ratio == 0.05 && terms->least_effect_ratio == 0.1 &&
                terms->n_looks == (a->n_nodes < CRITERIA_FEW_NODES ? 1 : 2));
    for (int r = 1; r < a->n_ranks && rc == RC_OK; r++) {
        const double ratio = m->value[(size_t)r * (size_t)m->n_repeats] / m->value[0];
        if (m->higher_is_better ? ratio < 0.5 : ratio > 2)
            rc = blame_rank(a, m, r);
    }
    return rc;
}

enum rc stragglers_find(struct acceptance *a, const struct blame_terms *terms)
{
    return outliers_find(a, METRIC_STEP_COMPUTE, terms);
}

enum rc blame_tournament(struct acceptance *a, const struct blame_terms *terms)
{
    enum rc rc = RC_OK;

    assert_int_equal(terms->n_looks, a->n_nodes < CRITERIA_FEW_NODES ? 1 : 2);
    for (int n = 2; n < a->n_nodes && rc == RC_OK; n++)
        if (*tournament_rate(&a->tournament, 0, 1, n) < 0.5 * *tournament_rate(&a->tournament, 0, 0, 1)) {
            struct finding f = { .stage = ACCEPT_PAIRWISE, .subject = SUBJECT_NODE, .a = n, .q_value = 0.001 };
            snprintf(f.text, sizeof f.text, "it is slow with everybody");
            rc = acceptance_add_finding(a, &f);
        }
    return rc;
}

/* --- the fleet --- */

struct fixture {
    struct acceptance a;
    struct criteria c;
};

static inline void fill_metric(struct acceptance *a, int metric, double base)
{
    assert_int_equal(acceptance_add_metric(a, metric, N_REPEATS), RC_OK);
    for (int r = 0; r < a->n_ranks; r++)
        for (int i = 0; i < N_REPEATS; i++)
            a->metric[metric].value[r * N_REPEATS + i] = base * (1 + 0.01 * i + 0.001 * r);
}

static inline void set_metric(struct fixture *f, int metric, int rank, double value)
{
    for (int i = 0; i < N_REPEATS; i++)
        f->a.metric[metric].value[rank * N_REPEATS + i] = value;
}

static inline void set_pair(struct fixture *f, int from, int to, double bytes_per_s)
{
    for (int i = 0; i < N_REPEATS; i++)
        *tournament_rate(&f->a.tournament, i, from, to) = bytes_per_s;
}

static inline void fill_tournament(struct acceptance *a)
{
    assert_int_equal(acceptance_add_tournament(a, N_REPEATS), RC_OK);
    a->tournament.n_repeats = N_REPEATS;
    for (int i = 0; i < N_REPEATS; i++)
        for (int from = 0; from < a->n_nodes; from++)
            for (int to = 0; to < a->n_nodes; to++)
                if (from != to) {
                    *tournament_rate(&a->tournament, i, from, to) = 1e8 + 10 * from + to;
                    *tournament_latency(&a->tournament, i, from, to) = 2e-5;
                }
}

static inline void fill_rest(struct acceptance *a)
{
    a->preflight[0] = (struct preflight_row){ .what = "Open MPI", .outcome = OUTCOME_PASS, .value = "4.1", .node = -1 };
    a->preflight[1] = (struct preflight_row){ .what = "cores", .outcome = OUTCOME_PASS, .value = "8", .node = -1 };
    a->n_preflight = 2;
    a->collective[0] = (struct sized_rate){ 4096, 1e6, 0.9e6, 1.1e6, NAN, 3 };
    a->collective[1] = (struct sized_rate){ 262144, 5e7, 4e7, 6e7, NAN, 3 };
    a->collective[2] = (struct sized_rate){ 4194304, 9e7, 8e7, 1e8, 0.9, 3 };
    memcpy(a->ps, a->collective, sizeof a->ps);
    a->n_collective = a->n_ps = 3;
    a->sum_checks_count = 12;
    a->pull_checks_count = 9;
    a->training[0] = (struct scaled_training){ 1, 2, 100, 90, 110, 1, NAN, NAN, 0, 60, 55 };
    a->training[1] = (struct scaled_training){ a->n_nodes, a->n_ranks, 320, 300, 340, 0.8, 0.75, 0.85, 0.25, 60, 50 };
    a->n_training = 2;
    a->integrity_checks_count = 4;
    a->integrity_every_steps = 16;
    a->soak = (struct soak){ 5, 0.02, 1.1, 1000, 10 };
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        a->stage[s].was_run = true;
}

static inline void open_fleet(struct fixture *f, int n_nodes, int n_ranks)
{
    assert_int_equal(acceptance_open(&f->a, n_nodes, n_ranks), RC_OK);
    for (int n = 0; n < n_nodes; n++) {
        snprintf(f->a.node[n].name, sizeof f->a.node[n].name, "host%d", n);
        f->a.node[n].n_ranks = n_ranks / n_nodes;
        f->a.node[n].first_rank = n * (n_ranks / n_nodes);
    }
    for (int r = 0; r < n_ranks; r++)
        f->a.node_of_rank[r] = r / (n_ranks / n_nodes);
    fill_metric(&f->a, METRIC_GEMM, 2e10);
    fill_metric(&f->a, METRIC_MEMORY, 8e9);
    fill_metric(&f->a, METRIC_DETOUR, 0.001);
    fill_metric(&f->a, METRIC_LONGEST_DETOUR, 1e-4);
    fill_metric(&f->a, METRIC_STEP_COMPUTE, 0.1);
    fill_metric(&f->a, METRIC_STEP_WAIT, 0.01);
    fill_tournament(&f->a);
    fill_rest(&f->a);
    criteria_default(&f->c);
    assert_int_equal(criteria_set(&f->c, "soak_minutes=5,most_repeats_count=3"), RC_OK);
}

static inline int open_healthy(void **state)
{
    static struct fixture f;

    open_fleet(&f, N_NODES, N_RANKS);
    *state = &f;
    return 0;
}

static inline int close_fleet(void **state)
{
    struct fixture *f = *state;

    acceptance_close(&f->a);
    return 0;
}

static inline void limits(struct fixture *f, const char *settings)
{
    if (criteria_set(&f->c, settings) != RC_OK)
        fail_msg("%s", rc_message());
}

static inline void judge_it(struct fixture *f)
{
    assert_int_equal(judge(&f->a, &f->c), RC_OK);
}

/* The row of that name; it has to be there once. */
static inline const struct criterion *row_of(const struct fixture *f, const char *name)
{
    const struct criterion *found = NULL;

    for (int i = 0; i < f->a.n_criteria; i++)
        if (strcmp(f->a.criterion[i].name, name) == 0) {
            assert_null(found);
            found = &f->a.criterion[i];
        }
    if (!found)
        fail_msg("no row %s", name);
    return found;
}

static inline bool has_row(const struct fixture *f, const char *name)
{
    for (int i = 0; i < f->a.n_criteria; i++)
        if (strcmp(f->a.criterion[i].name, name) == 0)
            return true;
    return false;
}

static inline void assert_row(const struct fixture *f, const char *name, enum accept_outcome outcome, const char *text)
{
    const struct criterion *row = row_of(f, name);

    if (row->outcome != outcome)
        fail_msg("%s: %s: %s", name, accept_outcome_name(row->outcome), row->text);
    assert_string_equal(row->text, text);
}

static inline void assert_outcomes(const struct fixture *f, enum accept_stage stage, enum accept_outcome of_stage,
                                   enum accept_outcome of_whole)
{
    assert_int_equal(f->a.stage[stage].outcome, of_stage);
    assert_int_equal(f->a.outcome, of_whole);
}

static inline void assert_finding(const struct fixture *f, int i, enum subject subject, int a, double measured,
                                  double expected)
{
    const struct finding *found = &f->a.finding[i];

    assert_true(i < f->a.n_findings);
    assert_int_equal(found->subject, subject);
    assert_int_equal(found->a, a);
    assert_true(found->measured == measured && found->expected == expected && found->q_value == 0);
}

#define ON_A_FLEET(test) UNIT_TEST_WITH(test, open_healthy, close_fleet)

#endif
