/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_limits_test.c - limits from a made-up healthy run and from a declared cluster, worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/criteria.h"
#include "harness/accept/criteria_keys.h"
#include "harness/accept/worst.h"
#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster_keys.h"

static struct criteria_sources sources;

static const char *source_of(const char *key)
{
    return sources.text[key_find(&criteria_key_table, key)];
}

static void set_ranks(struct acceptance *a, int metric, double base, double slope)
{
    assert_int_equal(acceptance_add_metric(a, metric, 3), RC_OK);
    for (int r = 0; r < a->n_ranks; r++)
        for (int i = 0; i < 3; i++) /* the median is that of i = 1 */
            a->metric[metric].value[r * 3 + i] = base + slope * r + (i == 0 ? -0.5 : i == 2 ? 100 : 0) * base;
}

/* Two nodes with two ranks each. */
static void open_healthy(struct acceptance *a)
{
    assert_int_equal(acceptance_open(a, 2, 4), RC_OK);
    a->outcome = OUTCOME_PASS;
    for (int n = 0; n < 2; n++) {
        snprintf(a->node[n].name, sizeof a->node[n].name, "host%d", n);
        a->node[n].first_rank = 2 * n;
        a->node[n].n_ranks = 2;
    }
    for (int r = 0; r < 4; r++)
        a->node_of_rank[r] = r / 2;
    set_ranks(a, METRIC_GEMM, 20e9, -1e9); /* rank 3: 17e9 */
    set_ranks(a, METRIC_DETOUR, 0.001, 0.001);
    assert_int_equal(acceptance_add_tournament(a, 3), RC_OK);
    a->tournament.n_repeats = 3;
    for (int i = 0; i < 3; i++) {
        *tournament_rate(&a->tournament, i, 0, 1) = 1e8 + i;
        *tournament_rate(&a->tournament, i, 1, 0) = 9e7 + i;
        *tournament_latency(&a->tournament, i, 0, 1) = *tournament_latency(&a->tournament, i, 1, 0) = 2e-5;
    }
    a->collective[0] = (struct sized_rate){ 4096, 1e6, NAN, NAN, 0.1, 1 };
    a->collective[1] = (struct sized_rate){ 1048576, 1.1e8, 1e8, 1.2e8, 0.9, 3 };
    a->n_collective = 2;
    a->training[0] = (struct scaled_training){ 1, 2, 100, NAN, NAN, 1, 1, 1, 0, 60, 60 };
    a->training[1] = (struct scaled_training){ 2, 4, 180, 170, 190, 0.9, 0.8, 1, 0.2, 60, 60 };
    a->n_training = 2;
}

UNIT_TEST(the_worst_is_found)
{
    static const double x[] = { 3, NAN, 1, 2, NAN, 10 };
    struct acceptance a;
    int n_finite;

    assert_true(finite_median(x, 6, 1, &n_finite) == 2.5);
    assert_int_equal(n_finite, 4);
    assert_true(finite_median(x, 3, 2, &n_finite) == 2); /* 3, 1, NaN */
    assert_int_equal(n_finite, 2);
    assert_true(isnan(finite_median(x + 1, 1, 1, &n_finite)));
    open_healthy(&a);
    struct worst w = worst_rank(&a, METRIC_GEMM);
    assert_true(w.a == 3 && w.b == 1 && w.value == 17e9 && w.n_subjects == 4 && w.n_samples == 12 && w.missing_a == -1);
    assert_true(w.low <= w.value && w.high >= w.value);
    w = worst_rank(&a, METRIC_DETOUR);
    assert_true(w.a == 3 && w.value == 0.004);
    for (int i = 0; i < 3; i++)
        a.metric[METRIC_DETOUR].value[3 + i] = NAN; /* of rank 1 */
    w = worst_rank(&a, METRIC_DETOUR);
    assert_true(w.missing_a == 1 && w.missing_b == 0 && w.n_subjects == 3 && w.n_samples == 9);
    w = worst_rank(&a, METRIC_MEMORY);
    assert_true(w.a == -1 && isnan(w.value) && w.n_samples == 0);
    w = worst_pair(&a.tournament, false);
    assert_true(w.a == 1 && w.b == 0 && w.value == 9e7 + 1 && w.n_samples == 6);
    /* mean 9e7 + 1, standard deviation 1, t(2) = 4.30265: by hand */
    assert_true(fabs(w.low - (9e7 + 1 - 4.30265 / sqrt(3))) < 1e-3 &&
                fabs(w.high - (9e7 + 1 + 4.30265 / sqrt(3))) < 1e-3);
    w = worst_pair(&a.tournament, true);
    assert_true(w.a == 0 && w.b == 1 && w.value == 2e-5); /* of equals the first */
    acceptance_close(&a);
}

UNIT_TEST(limits_are_the_worst_with_a_margin)
{
    struct acceptance a;
    struct criteria c;

    open_healthy(&a);
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    c.least_memory_bytes_per_s = 5;
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.least_flops_per_s == 15.3e9);
    assert_string_equal(source_of("least_flops_per_s"),
                        "healthy run: the worst of 4 ranks, rank 3 on host1, had 1.7e+10 flop/s; 10 % below that");
    assert_true(c.least_pair_bytes_per_s == 8.1e7);
    assert_string_equal(source_of("least_pair_bytes_per_s"),
                        "healthy run: the worst of 2 pairs, host1 -> host0, had 90 MB/s; 10 % below that");
    assert_true(c.most_pair_latency_s == 2.2e-5);
    assert_true(c.least_busbw_bytes_per_s == 9e7 && c.least_busbw_bound_ratio == 0.81);
    assert_true(c.least_efficiency_ratio == 0.72 && c.most_exposed_ratio == 0.22);
    assert_true(c.least_memory_bytes_per_s == 5 && source_of("least_memory_bytes_per_s")[0] == '\0'); /* not measured */
    assert_true(c.most_longest_detour_s == 0 && c.least_goodput_bytes_per_s == 0);
    a.training[1].n_nodes = 1; /* not at all nodes */
    criteria_default(&c);
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, NULL), RC_OK);
    assert_true(c.least_efficiency_ratio == 0 && c.least_flops_per_s == 15.3e9);
    acceptance_close(&a);
}

UNIT_TEST(limits_follow_from_a_declared_cluster)
{
    struct cluster cluster;
    struct criteria c;

    cluster_default(&cluster);
    assert_int_equal(
        cluster_set(&cluster, NULL, "name=four,link_bits_per_s=1e10,protocol=tcp,tcp_rate_ratio=0.9,flops_per_s=2e10"),
        RC_OK);
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    criteria_from_cluster(&c, &cluster, 0.2, &sources);
    assert_true(c.least_link_bits_per_s == 8e9);
    assert_true(c.least_pair_bytes_per_s == 9e8); /* 1e10 / 8 x 0.9 x 0.8 */
    assert_true(c.least_flops_per_s == 1.6e10);
    assert_true(c.least_memory_bytes_per_s == 6.4e9);
    assert_string_equal(source_of("least_flops_per_s"),
                        "declared: flops_per_s of four is 2e+10 flop/s; 20 % below that");
    assert_string_equal(source_of("least_link_bits_per_s"),
                        "declared: link_bits_per_s of four is 1e+10 bits/s, for the card of the interface in use "
                        "(with MPI: the fastest active port); 20 % below that");
    assert_string_equal(source_of("least_memory_bytes_per_s"),
                        "declared, though assumed there: memory_bytes_per_s of four is 8e+09 bytes/s; 20 % below that");
    assert_string_equal(source_of("least_pair_bytes_per_s"),
                        "declared: link_bits_per_s of four is 1e+10 bits/s, of which its protocol carries 0.9; 20 % "
                        "below that");
    assert_int_equal(cluster_set(&cluster, NULL, "protocol=bare"), RC_OK);
    criteria_from_cluster(&c, &cluster, 0.2, NULL);
    assert_true(c.least_pair_bytes_per_s == 1e9);
    assert_int_equal(cluster_set(&cluster, NULL, "protocol=tcp,tcp_process_bytes_per_s=5e8"), RC_OK);
    criteria_from_cluster(&c, &cluster, 0.2, &sources);
    assert_true(c.least_pair_bytes_per_s == 4e8); /* what one process carries, whatever the card does */
    assert_string_equal(source_of("least_pair_bytes_per_s"),
                        "declared: link_bits_per_s of four is 1e+10 bits/s, of which a process of its protocol carries "
                        "500 MB/s; 20 % below that");
}

/* The test multiplies in fp32: what tensor cores do with other numbers is no limit of that. */
UNIT_TEST(flops_of_another_precision_are_no_limit)
{
    static const char *const other[] = { "tf32", "bf16", "fp16", "fp8" };
    char setting[64];
    struct cluster cluster;
    struct criteria c;

    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        cluster_default(&cluster);
        snprintf(setting, sizeof setting, "flops_precision=%s", other[i]);
        assert_int_equal(cluster_set(&cluster, NULL, setting), RC_OK);
        criteria_default(&c);
        criteria_from_cluster(&c, &cluster, 0.1, NULL);
        assert_true(c.least_flops_per_s == 0 && c.least_memory_bytes_per_s == 7.2e9);
    }
    assert_int_equal(cluster_set(&cluster, NULL, "flops_precision=fp32"), RC_OK);
    criteria_from_cluster(&c, &cluster, 0.1, NULL);
    assert_true(c.least_flops_per_s == 1.8e10);
    memset(&sources, 0, sizeof sources);
    assert_int_equal(cluster_find(&cluster, NULL, "h200-400g"), RC_OK);
    criteria_default(&c);
    criteria_from_cluster(&c, &cluster, 0.1, &sources);
    assert_true(c.least_flops_per_s == 0 && c.least_memory_bytes_per_s == 3.87e12);
    assert_true(c.least_link_bits_per_s == 3.6e11);
    assert_string_equal(source_of("least_flops_per_s"),
                        "declared, though assumed there: flops_per_s of h200-400g is 3e+14 flop/s, of bf16 by "
                        "flops_precision; the test multiplies in fp32: no limit, --reference has one");
}

/* --- a reference --- */

UNIT_TEST(the_order_of_ranks_has_the_worst_case_of_the_reference)
{
    static const int places[] = { 0, 1, 2, 3 }, others[] = { 0, 2, 1, 3 };
    struct acceptance a;
    struct criteria c;

    open_healthy(&a);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_LAUNCHER, places), RC_OK);
    assert_int_equal(acceptance_add_rank_order(&a, RANK_ORDER_SPREAD, others), RC_OK);
    struct rank_order *launcher = &a.rank_order[RANK_ORDER_LAUNCHER], *spread = &a.rank_order[RANK_ORDER_SPREAD];
    launcher->ratio = 1;
    launcher->n_repeats = spread->n_repeats = 3;
    spread->ratio = 1.25;
    spread->low_ratio = 1.2;
    spread->high_ratio = 1.6;
    spread->is_best = true;
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    assert_int_equal(criteria_from_reference(&c, &a, 0.2, &sources), RC_OK);
    assert_true(c.least_rank_order_ratio == 0.5); /* 0.8 / 1.6 */
    assert_string_equal(source_of("least_rank_order_ratio"),
                        "healthy run: the launcher's order had 0.625 of spread, in the worst case; 20 % below that");
    spread->is_best = false;
    launcher->is_best = true;
    assert_int_equal(criteria_from_reference(&c, &a, 0.2, NULL), RC_OK);
    assert_true(c.least_rank_order_ratio == 0.8);
    acceptance_close(&a);
}

static void refuses(struct acceptance *a, const char *why)
{
    struct criteria c, before;

    criteria_default(&c);
    before = c;
    assert_int_equal(criteria_from_reference(&c, a, 0.1, NULL), RC_INVAL);
    assert_string_equal(rc_message(), why);
    assert_memory_equal(&c, &before, sizeof c);
}

/* Regression: limits came from a run that had failed. */
UNIT_TEST(a_sick_reference_gives_no_limits)
{
    struct acceptance a;

    open_healthy(&a); /* without data in all stages, and yet of use */
    a.outcome = OUTCOME_FAIL;
    refuses(&a, "that run failed; use a whole run that passed");
    a.outcome = OUTCOME_NO_DATA;
    acceptance_add_criterion(&a, ACCEPT_NOISE, "quiet machine")->outcome = OUTCOME_NO_DATA;
    refuses(&a, "that run had no verdict (no data: quiet machine); use a whole run that passed");
    a.is_partial = true;
    refuses(&a, "that run was cut short; use a whole run that passed");
    a.lost_rank = 2;
    refuses(&a, "rank 2 was lost in that run; use a whole run that passed");
    snprintf(a.injected, sizeof a.injected, "rank:3=0.7");
    a.outcome = OUTCOME_PASS;
    refuses(&a, "that run had faults by --inject, rank:3=0.7; use a whole run that passed");
    acceptance_close(&a);
}

/* --- noise --- */

static void open_noisy(struct acceptance *a, int n_ranks, int n_repeats)
{
    assert_int_equal(acceptance_open(a, 1, n_ranks), RC_OK);
    a->outcome = OUTCOME_PASS;
    assert_int_equal(acceptance_add_metric(a, METRIC_DETOUR, n_repeats), RC_OK);
    assert_int_equal(acceptance_add_metric(a, METRIC_LONGEST_DETOUR, n_repeats), RC_OK);
}

/* By hand: ln(0.001 + x) is m + 0.1 of half of 40 repeats and m - 0.1 of the others, m = ln 0.011; s = 0.14826. */
UNIT_TEST(noise_has_the_spread_of_the_reference)
{
    struct acceptance a;
    struct criteria c;

    open_noisy(&a, 4, 10);
    for (int i = 0; i < 40; i++) {
        a.metric[METRIC_DETOUR].value[i] = 0.011 * exp(i % 2 ? 0.1 : -0.1) - 0.001;
        a.metric[METRIC_LONGEST_DETOUR].value[i] = 2e-5; /* next to nothing: the floor */
    }
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_detour_ratio == 0.02835); /* 1.1 (0.011 exp(0.88956) - 0.001) */
    assert_string_equal(source_of("most_detour_ratio"),
                        "healthy run: 40 repeats of 4 ranks had median 0.01 and worst 0.0112; 10 % above the worst, or "
                        "above the median "
                        "plus 6 deviations (0.148 each, of ln(0.001 + value)) if that is more; at least 0.01");
    assert_true(c.most_longest_detour_s == 1e-3);
    a.metric[METRIC_LONGEST_DETOUR].value[7] = 0.05; /* once, of one rank: a healthy one may */
    a.metric[METRIC_DETOUR].value[3] = NAN;
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_longest_detour_s == 0.055);
    for (int i = 0; i < 40; i++)
        a.metric[METRIC_DETOUR].value[i] = i % 2 ? 0.9 : 0.1; /* no limit follows that would be one */
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_detour_ratio == 0);
    assert_non_null(strstr(source_of("most_detour_ratio"), "no limit, because it would be above 1"));
    acceptance_close(&a);
}

/* Lognormal detours, s 0.7, in the same way in every run. */
static void draw_noise(struct acceptance *a, uint64_t seed)
{
    for (int m = METRIC_DETOUR; m <= METRIC_LONGEST_DETOUR; m++)
        for (int i = 0; i < a->n_ranks * a->metric[m].n_repeats; i++) {
            const double normal = rng_normal(seed, RNG_TEST, (uint64_t)(i + 1000 * m));
            a->metric[m].value[i] = (m == METRIC_DETOUR ? 0.02 : 0.004) * exp(0.7 * normal);
        }
}

/* What a limit is for: other runs of the same machine keep it, and one that loses half of its time does not. */
UNIT_TEST(healthy_runs_keep_the_limits_of_another)
{
    enum { N_RUNS = 50 };
    struct acceptance a;
    struct criteria c;
    int n_by_worst = 0;

    open_noisy(&a, 8, 10);
    for (uint64_t seed = 1; seed <= N_RUNS; seed++) {
        criteria_default(&c);
        draw_noise(&a, seed);
        const double worst = worst_rank(&a, METRIC_DETOUR).value;
        assert_int_equal(criteria_from_reference(&c, &a, 0.1, NULL), RC_OK);
        draw_noise(&a, seed + N_RUNS);
        assert_true(worst_rank(&a, METRIC_DETOUR).value <= c.most_detour_ratio || c.most_detour_ratio == 0);
        assert_true(worst_rank(&a, METRIC_LONGEST_DETOUR).value <= c.most_longest_detour_s);
        assert_true(c.most_longest_detour_s < 100 * 0.004 * exp(0.7));
        n_by_worst += worst_rank(&a, METRIC_DETOUR).value > 1.1 * worst;
    }
    assert_true(n_by_worst >= N_RUNS / 5); /* that a margin above the worst rank would have failed */
    acceptance_close(&a);
}

/* --- latency, and exposed communication --- */

/* By hand: of each pair repeats are c, c exp(0.1), c, c exp(0.1): each is 0.1 from the one before, whatever c. */
UNIT_TEST(latency_has_what_repeats_differ_by)
{
    struct acceptance a;
    struct criteria c;

    assert_int_equal(acceptance_open(&a, 3, 3), RC_OK);
    a.outcome = OUTCOME_PASS;
    assert_int_equal(acceptance_add_tournament(&a, 4), RC_OK);
    a.tournament.n_repeats = 4;
    for (int i = 0; i < 4; i++)
        for (int from = 0; from < 3; from++)
            for (int to = 0; to < 3; to++)
                if (from != to)
                    *tournament_latency(&a.tournament, i, from, to) = (1 + from) * 1e-5 * exp(i % 2 ? 0.1 : 0);
    *tournament_latency(&a.tournament, 3, 1, 0) = NAN;
    *tournament_latency(&a.tournament, 2, 0, 1) = 1; /* one that hiccups takes no limit with it */
    criteria_default(&c);
    c.least_repeats_count = 4;
    memset(&sources, 0, sizeof sources);
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    /* 3e-5 (1 + exp(0.1)) / 2 x exp(6 x 1.2533 x 0.104836 / 2) x 1.1; 0.104836: 1.4826 x 0.1 / sqrt 2 */
    assert_true(c.most_pair_latency_s == 5.152e-5);
    assert_non_null(strstr(source_of("most_pair_latency_s"), "the worst of 6 pairs, "));
    assert_non_null(strstr(source_of("most_pair_latency_s"), "had 3.158e-05 s, times 1.48, as repeats differ (robust "
                                                             "deviation of logarithms 0.105); 10 % above that"));
    acceptance_close(&a);
}

/* By hand: a rank waits 0.2 of a part and (0.202 exp(0.1) - 0.002) of the next. */
UNIT_TEST(exposed_has_what_parts_differ_by)
{
    const double more = 0.202 * exp(0.1) - 0.002;
    struct acceptance a;
    struct criteria c;

    open_healthy(&a);
    assert_int_equal(acceptance_add_metric(&a, METRIC_STEP_WAIT, 3), RC_OK);
    assert_int_equal(acceptance_add_metric(&a, METRIC_STEP_COMPUTE, 3), RC_OK);
    for (int i = 0; i < 12; i++) {
        a.metric[METRIC_STEP_WAIT].value[i] = i % 3 == 1 ? 5 * more : 5 * 0.2;
        a.metric[METRIC_STEP_COMPUTE].value[i] = i % 3 == 1 ? 5 * (1 - more) : 5 * 0.8;
    }
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_exposed_ratio == 0.4146); /* 1.1 (0.202 exp(6 x 0.104836) - 0.002) */
    assert_non_null(strstr(source_of("most_exposed_ratio"), "healthy run: 0.2 of a step waited at 2 nodes; with 6 "
                                                            "deviations of its parts"));
    a.training[1].exposed_ratio = 0.001; /* next to nothing: the floor */
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_exposed_ratio == 0.022);
    a.training[1].exposed_ratio = 0.6; /* no limit follows that would be one */
    assert_int_equal(criteria_from_reference(&c, &a, 0.1, &sources), RC_OK);
    assert_true(c.most_exposed_ratio == 0);
    assert_non_null(strstr(source_of("most_exposed_ratio"), "no limit, because it would be above the whole step"));
    acceptance_close(&a);
}

/* Six nodes on two switches, 20 and 40 us; repeats s 0.15. Parts of trainings s 0.1, and a run as a whole 0.05. */
static void draw_run(struct acceptance *a, uint64_t seed)
{
    const double run = exp(0.05 * rng_normal(seed, RNG_TEST, 9999));
    double waited = 0;
    uint64_t draw = 0;

    for (int i = 0; i < a->tournament.n_repeats; i++)
        for (int from = 0; from < a->n_nodes; from++)
            for (int to = 0; to < from; to++) {
                const double base = from % 2 == to % 2 ? 2e-5 : 4e-5;
                const double x = base * exp(0.15 * rng_normal(seed, RNG_TEST, draw++));
                *tournament_latency(&a->tournament, i, from, to) = *tournament_latency(&a->tournament, i, to, from) = x;
            }
    const int n_all = a->n_ranks * a->metric[METRIC_STEP_WAIT].n_repeats;
    for (int i = 0; i < n_all; i++) {
        const double part = 0.2 * run * exp(0.1 * rng_normal(seed, RNG_TEST, draw++));
        a->metric[METRIC_STEP_WAIT].value[i] = part;
        a->metric[METRIC_STEP_COMPUTE].value[i] = 1 - part;
        waited += part / n_all;
    }
    a->training[1].exposed_ratio = waited;
}

/* And another machine, twice as slow, does not. */
UNIT_TEST(healthy_runs_keep_latency_and_exposure)
{
    enum { N_RUNS = 50 };
    struct acceptance a;
    struct criteria c;
    int n_by_latency = 0, n_by_exposed = 0;

    assert_int_equal(acceptance_open(&a, 6, 6), RC_OK);
    a.outcome = OUTCOME_PASS;
    assert_int_equal(acceptance_add_tournament(&a, 3), RC_OK);
    a.tournament.n_repeats = 3;
    assert_int_equal(acceptance_add_metric(&a, METRIC_STEP_WAIT, 8), RC_OK);
    assert_int_equal(acceptance_add_metric(&a, METRIC_STEP_COMPUTE, 8), RC_OK);
    a.training[0] = (struct scaled_training){ 1, 1, 100, NAN, NAN, 1, 1, 1, 0, 60, 60 };
    a.training[1] = (struct scaled_training){ 6, 6, 500, 490, 510, 0.8, 0.7, 0.9, 0.2, 60, 60 };
    a.n_training = 2;
    for (uint64_t seed = 1; seed <= N_RUNS; seed++) {
        criteria_default(&c);
        draw_run(&a, seed);
        const double latency_s = worst_pair(&a.tournament, true).value, exposed = a.training[1].exposed_ratio;
        assert_int_equal(criteria_from_reference(&c, &a, 0.1, NULL), RC_OK);
        draw_run(&a, seed + N_RUNS);
        assert_true(worst_pair(&a.tournament, true).value <= c.most_pair_latency_s);
        assert_true(a.training[1].exposed_ratio <= c.most_exposed_ratio);
        assert_true(c.most_pair_latency_s < 2 * 2 * 4e-5 && c.most_exposed_ratio < 2 * 2 * 0.2);
        n_by_latency += worst_pair(&a.tournament, true).value > 1.1 * latency_s;
        n_by_exposed += a.training[1].exposed_ratio > 1.1 * exposed;
    }
    assert_true(n_by_latency >= N_RUNS / 10 && n_by_exposed >= 1); /* that a margin above the worst would have failed */
    acceptance_close(&a);
}

UNIT_MAIN("criteria_limits")
