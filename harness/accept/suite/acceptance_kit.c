/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_kit.c - see acceptance_kit.h. */
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/suite/printed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_NODES = 4, N_RANKS = 8, N_REPEATS = 3 };

#define SET(text, ...) snprintf(text, sizeof(text), __VA_ARGS__)

static void fill_metric(struct acceptance *a, int metric, double healthy)
{
    static const double part[N_REPEATS] = { 1, 1.01, 0.99 };

    assert_int_equal(acceptance_add_metric(a, metric, N_REPEATS), RC_OK);
    for (int r = 0; r < N_RANKS; r++)
        for (int k = 0; k < N_REPEATS; k++)
            a->metric[metric].value[r * N_REPEATS + k] = healthy * part[k];
}

static void fill_metrics(struct acceptance *a, int faults)
{
    fill_metric(a, METRIC_GEMM, 50e9);
    fill_metric(a, METRIC_MEMORY, 10e9);
    fill_metric(a, METRIC_DETOUR, 0.001);
    fill_metric(a, METRIC_LONGEST_DETOUR, 50e-6);
    for (int k = 0; (faults & FAULT_IN_RANK) && k < N_REPEATS; k++)
        a->metric[METRIC_GEMM].value[3 * N_REPEATS + k] *= 0.7;
    a->metric[METRIC_DETOUR].value[7 * N_REPEATS + 2] = NAN; /* median of 0.001 and 0.00101 */
}

static double rate_part(int i, int j, int faults)
{
    const bool is_node = i == 2 || j == 2, is_link = (i == 0 && j == 3) || (i == 3 && j == 0);

    return (faults & FAULT_IN_NODE) && is_node ? 0.6 : (faults & FAULT_IN_LINK) && is_link ? 0.5 : 1;
}

static void fill_tournament(struct acceptance *a, int faults)
{
    assert_int_equal(acceptance_add_tournament(a, N_REPEATS), RC_OK);
    a->tournament.n_repeats = N_REPEATS;
    a->tournament.n_rounds = 40;
    for (int r = 0; r < N_REPEATS; r++)
        for (int i = 0; i < N_NODES; i++)
            for (int j = 0; j < N_NODES; j++) {
                if (i == j)
                    continue;
                *tournament_rate(&a->tournament, r, i, j) = (100e6 + 1e6 * r) * rate_part(i, j, faults);
                *tournament_latency(&a->tournament, r, i, j) =
                    rate_part(i, j, faults & FAULT_IN_LINK) < 1 ? 40e-6 : 20e-6;
                *tournament_late(&a->tournament, r, i, j) = (double)(i * j % 3) / 40;
            }
}

static void fill_others(struct acceptance *a, int faults)
{
    a->preflight[0] = (struct preflight_row){ "cores", OUTCOME_PASS, "2", -1, "", NAN, NAN, false, NULL };
    a->preflight[1] = (struct preflight_row){ "kernel", OUTCOME_FAIL, "6.1.0", 3, "6.0.9", NAN, NAN, false, NULL };
    a->n_preflight = 2;
    assert_int_equal(acceptance_add_difference(a, &(struct node_difference){ 1, 3, "6.0.9" }), RC_OK);
    a->collective[0] = (struct sized_rate){ 4096, 1e6, 0.9e6, 1.1e6, NAN, 5 };
    a->collective[1] = (struct sized_rate){ 1048576, 90e6, 88e6, 92e6, 0.9, 5 };
    a->n_collective = 2;
    a->sum_checks_count = 12;
    a->pull_checks_count = 9;
    if (faults & FAULT_IN_PARAMETERS) {
        const struct wrong_sum sum = { ACCEPT_COLLECTIVES, 4096, 5, 3, 1023, NAN, 28 };
        const struct wrong_sum pull = { ACCEPT_PS, 1048576, 2, 1, 7, -55.5, -56 };
        assert_int_equal(acceptance_add_wrong_sum(a, &sum), RC_OK);
        assert_int_equal(acceptance_add_wrong_sum(a, &pull), RC_OK);
    }
    a->ps[0] = (struct sized_rate){ 1048576, 180e6, NAN, NAN, 0.75, 1 };
    a->n_ps = faults & FAULT_IN_PS ? 0 : 1;
    a->training[0] = (struct scaled_training){ 1, 2, 1000, 990, 1010, 1, NAN, NAN, 0, 60, 57 };
    a->training[1] = (struct scaled_training){ 4, 8, 3720, 3650, 3790, 0.93, 0.91, 0.95, 0.05, 60, 41 };
    a->n_training = 2;
    a->integrity_checks_count = 10;
    a->integrity_every_steps = 5;
    if (faults & FAULT_IN_PARAMETERS)
        a->corruption[a->n_corruptions++] = (struct corruption){ 5, 30, "conv1.weight" };
}

static void fill_findings(struct acceptance *a, int faults)
{
    static const struct finding known[] = {
        { ACCEPT_INTEGRITY, SUBJECT_RANK, 5, 2, false, "parameters", "", NAN, NAN, 0,
          "its parameters differ from step 30 on, in conv1.weight" },
        { ACCEPT_PAIRWISE, SUBJECT_NODE, 2, -1, false, "bytes_per_s", "byte/s", 60.6e6, 101e6, 1e-9,
          "it sends and receives slowly" },
        { ACCEPT_PAIRWISE, SUBJECT_LINK, 0, 3, true, "bytes_per_s", "byte/s", 50.5e6, 101e6, 0.0012, "" },
        { ACCEPT_COMPUTE, SUBJECT_RANK, 3, 1, false, "flops_per_s", "flop/s", 35e9, 50e9, 0.002,
          "rank 3 on host2 computes slowly" },
    };
    static const int of[] = { FAULT_IN_PARAMETERS, FAULT_IN_NODE, FAULT_IN_LINK, FAULT_IN_RANK };

    for (int i = 0; i < 4; i++)
        if (faults & of[i])
            assert_int_equal(acceptance_add_finding(a, &known[i]), RC_OK);
}

static void add_criterion(struct acceptance *a, enum accept_stage stage, const char *name, double measured,
                          double limit, const char *unit, bool at_least)
{
    struct criterion *c = acceptance_add_criterion(a, stage, name);

    c->measured = measured;
    c->limit = limit;
    c->unit = unit;
    c->at_least = at_least;
    c->n_samples = 24;
    c->outcome = (at_least ? measured >= limit : measured <= limit) ? OUTCOME_PASS : OUTCOME_FAIL;
    a->stage[stage].outcome = c->outcome;
    if (c->outcome == OUTCOME_FAIL)
        SET(c->text, "the worst is beyond the limit");
}

static void fill_criteria(struct acceptance *a, int faults)
{
    const double rate = faults & FAULT_IN_LINK ? 50.5e6 : faults & FAULT_IN_NODE ? 60.6e6 : 101e6;

    add_criterion(a, ACCEPT_COMPUTE, "flops_per_s", faults & FAULT_IN_RANK ? 35e9 : 50e9, 40e9, "flop/s", true);
    add_criterion(a, ACCEPT_NOISE, "detour_ratio", 0.001005, 0.01, "of the time", false);
    add_criterion(a, ACCEPT_PAIRWISE, "pair_latency_s", faults & FAULT_IN_LINK ? 40e-6 : 20e-6, 50e-6, "s", false);
    add_criterion(a, ACCEPT_PAIRWISE, "pair_bytes_per_s", rate, 90e6, "byte/s", true);
    add_criterion(a, ACCEPT_COLLECTIVES, "allreduce_busbw_bytes_per_s 1048576", 90e6, 80e6, "byte/s", true);
    a->criterion[a->n_criteria - 1].low = 88e6;
    a->criterion[a->n_criteria - 1].high = 92e6;
    add_criterion(a, ACCEPT_TRAINING, "efficiency_ratio", 0.93, 0.8, "ratio", true);
    add_criterion(a, ACCEPT_INTEGRITY, "corruptions", faults & FAULT_IN_PARAMETERS ? 1 : 0, 0, "", false);
}

static void fill_stages(struct acceptance *a, int faults)
{
    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        a->stage[s].was_run = s != ACCEPT_SOAK;
        a->stage[s].took_s = s == ACCEPT_SOAK ? 0 : s + 0.5;
    }
    a->stage[ACCEPT_PREFLIGHT].outcome = OUTCOME_PASS;
    a->stage[ACCEPT_PS].outcome = faults & FAULT_IN_PS ? OUTCOME_NO_DATA : OUTCOME_PASS;
    if (faults & FAULT_IN_PS)
        SET(a->stage[ACCEPT_PS].why, "there is no server");
    SET(a->stage[ACCEPT_SOAK].why, "left out by --stages");
    a->outcome = faults & ~FAULT_IN_PS ? OUTCOME_FAIL : faults ? OUTCOME_NO_DATA : OUTCOME_PASS;
}

void kit_acceptance(struct acceptance *out, int faults)
{
    assert_int_equal(acceptance_open(out, N_NODES, N_RANKS), RC_OK);
    SET(out->cluster_name, "four");
    SET(out->world, "mpi");
    SET(out->transport, "zmq");
    SET(out->compute, "cpu");
    for (int i = 0; i < N_NODES; i++) {
        SET(out->node[i].name, "host%d", i + 1);
        SET(out->node[i].kernel, "boot-%d", i);
        out->node[i].first_rank = 2 * i;
        out->node[i].n_ranks = 2;
    }
    for (int r = 0; r < N_RANKS; r++)
        out->node_of_rank[r] = r / 2;
    fill_metrics(out, faults);
    fill_tournament(out, faults);
    fill_others(out, faults);
    fill_findings(out, faults);
    fill_criteria(out, faults);
    fill_stages(out, faults);
}

static void add_order(struct acceptance *a, int kind, const int *order, double ratio)
{
    assert_int_equal(acceptance_add_rank_order(a, kind, order), RC_OK);
    struct rank_order *o = &a->rank_order[kind];
    o->n_bytes = 4194304;
    if (isnan(ratio))
        return;
    o->bytes_per_s = 90e6 * ratio;
    o->low_bytes_per_s = 89e6 * ratio;
    o->high_bytes_per_s = 91e6 * ratio;
    o->ratio = ratio;
    o->low_ratio = ratio * 0.99;
    o->high_ratio = ratio * 1.01;
    o->n_repeats = 7;
}

void kit_add_rank_orders(struct acceptance *a)
{
    static const int launcher[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, spread[] = { 0, 2, 4, 6, 1, 3, 5, 7 },
                     switches[] = { 0, 1, 4, 5, 2, 3, 6, 7 };

    add_order(a, RANK_ORDER_LAUNCHER, launcher, 1);
    add_order(a, RANK_ORDER_PACK, launcher, NAN);
    a->rank_order[RANK_ORDER_PACK].same_as = RANK_ORDER_LAUNCHER;
    add_order(a, RANK_ORDER_SPREAD, spread, 0.5);
    add_order(a, RANK_ORDER_SWITCHES, switches, 1.1);
    a->rank_order[RANK_ORDER_SWITCHES].is_best = true;
    SET(a->rank_order[RANK_ORDER_SWITCHES].why, "switches as Slurm knows them");
    add_order(a, RANK_ORDER_SHORTEST, NULL, NAN);
    SET(a->rank_order[RANK_ORDER_SHORTEST].why, "rates are not known");
    a->rank_order_training = (struct rank_order_training){
        RANK_ORDER_SWITCHES, 3, 20, 3700, 3600, 3800, 4000, 3900, 4100, 1.08, 1.05, 1.11, ""
    };
}

void kit_fleet(struct acceptance *out, int n_nodes)
{
    assert_int_equal(acceptance_open(out, n_nodes, n_nodes), RC_OK);
    SET(out->cluster_name, "fleet");
    for (int i = 0; i < n_nodes; i++) {
        SET(out->node[i].name, "node%03d", i);
        out->node[i].first_rank = out->node_of_rank[i] = i;
        out->node[i].n_ranks = 1;
    }
    assert_int_equal(acceptance_add_tournament(out, 1), RC_OK);
    out->tournament.n_repeats = 1;
    for (int i = 0; i < n_nodes; i++)
        for (int j = 0; j < n_nodes; j++)
            if (i != j) {
                *tournament_rate(&out->tournament, 0, i, j) = 100e6;
                *tournament_latency(&out->tournament, 0, i, j) = 20e-6;
            }
}

char *kit_printed(const struct acceptance *a, void (*print)(const struct acceptance *a, FILE *to))
{
    struct printed p;

    printed_begin(&p);
    print(a, p.to);
    char *text = printed_end(&p);
    return text;
}

/* --- equality --- */

static void same_number(double a, double b)
{
    if (isnan(a) && isnan(b))
        return;
    assert_memory_equal(&a, &b, sizeof a);
}

static void same_numbers(const double *a, const double *b, size_t n)
{
    assert_int_equal(!a, !b);
    for (size_t i = 0; a && i < n; i++)
        same_number(a[i], b[i]);
}

static void same_rates(const struct sized_rate *a, int n_a, const struct sized_rate *b, int n_b)
{
    assert_int_equal(n_a, n_b);
    for (int i = 0; i < n_a; i++) {
        assert_int_equal(a[i].n_bytes, b[i].n_bytes);
        same_numbers(&a[i].bytes_per_s, &b[i].bytes_per_s, 1);
        same_number(a[i].low_bytes_per_s, b[i].low_bytes_per_s);
        same_number(a[i].high_bytes_per_s, b[i].high_bytes_per_s);
        same_number(a[i].bound_ratio, b[i].bound_ratio);
        assert_int_equal(a[i].n_repeats, b[i].n_repeats);
    }
}

static void same_order(const struct acceptance *a, const struct rank_order *o, const struct rank_order *p)
{
    assert_int_equal(!o->rank, !p->rank);
    if (o->rank)
        assert_memory_equal(o->rank, p->rank, (size_t)a->n_ranks * sizeof *o->rank);
    assert_int_equal(o->same_as, p->same_as);
    assert_int_equal(o->n_bytes, p->n_bytes);
    same_numbers(&o->bytes_per_s, &p->bytes_per_s, 6);
    assert_int_equal(o->n_repeats, p->n_repeats);
    assert_int_equal(o->is_best, p->is_best);
    assert_string_equal(o->why, p->why);
}

static void same_head(const struct acceptance *a, const struct acceptance *b)
{
    assert_string_equal(a->cluster_name, b->cluster_name);
    assert_string_equal(a->world, b->world);
    assert_string_equal(a->transport, b->transport);
    assert_string_equal(a->compute, b->compute);
    assert_string_equal(a->injected, b->injected);
    assert_int_equal(a->is_virtual, b->is_virtual);
    assert_int_equal(a->n_nodes, b->n_nodes);
    assert_int_equal(a->n_ranks, b->n_ranks);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->is_partial, b->is_partial);
    assert_int_equal(a->stop_signal, b->stop_signal);
    assert_int_equal(a->lost_rank, b->lost_rank);
    assert_true(a->integrity_checks_count == b->integrity_checks_count);
    assert_true(a->integrity_every_steps == b->integrity_every_steps);
    for (int i = 0; i < a->n_nodes; i++) {
        assert_string_equal(a->node[i].name, b->node[i].name);
        assert_string_equal(a->node[i].kernel, b->node[i].kernel);
        assert_int_equal(a->node[i].first_rank, b->node[i].first_rank);
        assert_int_equal(a->node[i].n_ranks, b->node[i].n_ranks);
    }
    for (int r = 0; r < a->n_ranks; r++)
        assert_int_equal(a->node_of_rank[r], b->node_of_rank[r]);
}

static void same_measured(const struct acceptance *a, const struct acceptance *b)
{
    const struct tournament *t = &a->tournament, *u = &b->tournament;
    const size_t n = (size_t)t->n_repeats * (size_t)t->n_nodes * (size_t)t->n_nodes;

    assert_int_equal(t->n_repeats, u->n_repeats);
    assert_int_equal(t->n_rounds, u->n_rounds);
    if (n > 0) {
        same_numbers(t->bytes_per_s, u->bytes_per_s, n);
        same_numbers(t->latency_s, u->latency_s, n);
        same_numbers(t->late_ratio, u->late_ratio, n);
    }
    for (int m = 0; m < ACCEPT_N_METRICS; m++) {
        assert_int_equal(a->metric[m].n_repeats, b->metric[m].n_repeats);
        same_numbers(a->metric[m].value, b->metric[m].value, (size_t)a->metric[m].n_repeats * (size_t)a->n_ranks);
    }
    same_rates(a->collective, a->n_collective, b->collective, b->n_collective);
    assert_true(a->sum_checks_count == b->sum_checks_count);
    assert_true(a->pull_checks_count == b->pull_checks_count);
    assert_int_equal(a->n_wrong_sums, b->n_wrong_sums);
    for (int i = 0; i < a->n_wrong_sums; i++) {
        assert_int_equal(a->wrong_sum[i].stage, b->wrong_sum[i].stage);
        assert_int_equal(a->wrong_sum[i].n_bytes, b->wrong_sum[i].n_bytes);
        assert_int_equal(a->wrong_sum[i].rank, b->wrong_sum[i].rank);
        assert_true(a->wrong_sum[i].n_wrong == b->wrong_sum[i].n_wrong);
        assert_true(a->wrong_sum[i].element == b->wrong_sum[i].element);
        same_numbers(&a->wrong_sum[i].value, &b->wrong_sum[i].value, 2);
    }
    same_rates(a->ps, a->n_ps, b->ps, b->n_ps);
    assert_int_equal(a->n_training, b->n_training);
    for (int i = 0; i < a->n_training; i++) {
        assert_int_equal(a->training[i].n_nodes, b->training[i].n_nodes);
        assert_int_equal(a->training[i].n_ranks, b->training[i].n_ranks);
        same_numbers(&a->training[i].samples_per_s, &b->training[i].samples_per_s, 7);
        assert_true(a->training[i].n_steps == b->training[i].n_steps);
        assert_true(a->training[i].n_measured_steps == b->training[i].n_measured_steps);
    }
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        same_order(a, &a->rank_order[k], &b->rank_order[k]);
    assert_int_equal(a->rank_order_training.order, b->rank_order_training.order);
    assert_int_equal(a->rank_order_training.n_repeats, b->rank_order_training.n_repeats);
    assert_true(a->rank_order_training.n_steps == b->rank_order_training.n_steps);
    same_numbers(&a->rank_order_training.launcher_samples_per_s, &b->rank_order_training.launcher_samples_per_s, 9);
    assert_string_equal(a->rank_order_training.why, b->rank_order_training.why);
    same_numbers(&a->soak.minutes, &b->soak.minutes, 3);
    assert_true(a->soak.n_steps == b->soak.n_steps && a->soak.n_parts == b->soak.n_parts);
}

static void same_rows(const struct acceptance *a, const struct acceptance *b)
{
    for (int s = 0; s < ACCEPT_N_STAGES; s++) {
        assert_int_equal(a->stage[s].outcome, b->stage[s].outcome);
        assert_int_equal(a->stage[s].was_run, b->stage[s].was_run);
        same_number(a->stage[s].took_s, b->stage[s].took_s);
        assert_string_equal(a->stage[s].why, b->stage[s].why);
    }
    assert_int_equal(a->n_preflight, b->n_preflight);
    for (int i = 0; i < a->n_preflight; i++) {
        assert_string_equal(a->preflight[i].what, b->preflight[i].what);
        assert_int_equal(a->preflight[i].outcome, b->preflight[i].outcome);
        assert_string_equal(a->preflight[i].value, b->preflight[i].value);
        assert_int_equal(a->preflight[i].node, b->preflight[i].node);
        assert_string_equal(a->preflight[i].other, b->preflight[i].other);
    }
    assert_int_equal(a->n_differences, b->n_differences);
    for (int i = 0; i < a->n_differences; i++) {
        assert_int_equal(a->difference[i].fact, b->difference[i].fact);
        assert_int_equal(a->difference[i].node, b->difference[i].node);
        assert_string_equal(a->difference[i].has, b->difference[i].has);
    }
    assert_int_equal(a->n_corruptions, b->n_corruptions);
    for (int i = 0; i < a->n_corruptions; i++) {
        assert_int_equal(a->corruption[i].rank, b->corruption[i].rank);
        assert_true(a->corruption[i].step == b->corruption[i].step);
        assert_string_equal(a->corruption[i].segment, b->corruption[i].segment);
    }
}

static void same_verdict(const struct acceptance *a, const struct acceptance *b)
{
    assert_int_equal(a->n_findings, b->n_findings);
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i], *g = &b->finding[i];
        assert_int_equal(f->stage, g->stage);
        assert_int_equal(f->subject, g->subject);
        assert_int_equal(f->a, g->a);
        assert_int_equal(f->b, g->b);
        assert_int_equal(f->both_ways, g->both_ways);
        assert_string_equal(f->metric, g->metric);
        assert_string_equal(f->unit, g->unit);
        same_numbers(&f->measured, &g->measured, 3);
        assert_string_equal(f->text, g->text);
    }
    assert_int_equal(a->n_criteria, b->n_criteria);
    for (int i = 0; i < a->n_criteria; i++) {
        const struct criterion *c = &a->criterion[i], *d = &b->criterion[i];
        assert_int_equal(c->stage, d->stage);
        assert_string_equal(c->name, d->name);
        assert_int_equal(c->outcome, d->outcome);
        same_numbers(&c->measured, &d->measured, 4);
        assert_int_equal(c->at_least, d->at_least);
        assert_string_equal(c->unit, d->unit);
        assert_int_equal(c->n_samples, d->n_samples);
        assert_string_equal(c->text, d->text);
    }
}

void kit_assert_equal(const struct acceptance *a, const struct acceptance *b)
{
    same_head(a, b);
    same_measured(a, b);
    same_rows(a, b);
    same_verdict(a, b);
}
