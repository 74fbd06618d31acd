/* SPDX-License-Identifier: Apache-2.0 */
/* criteria_limits_test.c - limits from a made-up healthy run and from a declared cluster, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/criteria.h"
#include "harness/accept/criteria_keys.h"
#include "harness/accept/worst.h"
#include "harness/cluster/cluster.h"

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
    a->training[0] = (struct scaled_training){ 1, 2, 100, NAN, NAN, 1, 1, 1, 0 };
    a->training[1] = (struct scaled_training){ 2, 4, 180, 170, 190, 0.9, 0.8, 1, 0.2 };
    a->n_training = 2;
}

static void the_worst_is_found(void **state)
{
    static const double x[] = { 3, NAN, 1, 2, NAN, 10 };
    struct acceptance a;
    int n_finite;

    (void)state;
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

static void limits_are_the_worst_with_a_margin(void **state)
{
    struct acceptance a;
    struct criteria c;

    (void)state;
    open_healthy(&a);
    criteria_default(&c);
    memset(&sources, 0, sizeof sources);
    c.least_memory_bytes_per_s = 5;
    criteria_from_reference(&c, &a, 0.1, &sources);
    assert_true(c.least_flops_per_s == 15.3e9);
    assert_string_equal(source_of("least_flops_per_s"),
                        "healthy run: the worst of 4 ranks, rank 3 on host1, had 1.7e+10 flop/s; 10 % below that");
    assert_true(c.most_detour_ratio == 0.0044);
    assert_true(c.least_pair_bytes_per_s == 8.1e7);
    assert_string_equal(source_of("least_pair_bytes_per_s"),
                        "healthy run: the worst of 2 pairs, host1 -> host0, had 9e+07 byte/s; 10 % below that");
    assert_true(c.most_pair_latency_s == 2.2e-5);
    assert_true(c.least_busbw_bytes_per_s == 9e7 && c.least_busbw_bound_ratio == 0.81);
    assert_true(c.least_efficiency_ratio == 0.72 && c.most_exposed_ratio == 0.22);
    assert_true(c.least_memory_bytes_per_s == 5 && source_of("least_memory_bytes_per_s")[0] == '\0'); /* not measured */
    assert_true(c.most_longest_detour_s == 0 && c.least_goodput_bytes_per_s == 0);
    a.training[1].n_nodes = 1; /* not at all nodes */
    criteria_default(&c);
    criteria_from_reference(&c, &a, 0.1, NULL);
    assert_true(c.least_efficiency_ratio == 0 && c.least_flops_per_s == 15.3e9);
    acceptance_close(&a);
}

static void limits_follow_from_a_declared_cluster(void **state)
{
    struct cluster cluster;
    struct criteria c;

    (void)state;
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
    assert_string_equal(source_of("least_memory_bytes_per_s"),
                        "declared, though assumed there: memory_bytes_per_s of four is 8e+09 bytes/s; 20 % below that");
    assert_string_equal(source_of("least_pair_bytes_per_s"),
                        "declared: link_bits_per_s of four is 1e+10 bits/s, of which its protocol carries 0.9; 20 % "
                        "below that");
    assert_int_equal(cluster_set(&cluster, NULL, "protocol=bare"), RC_OK);
    criteria_from_cluster(&c, &cluster, 0.2, NULL);
    assert_true(c.least_pair_bytes_per_s == 1e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_is_found),
        cmocka_unit_test(limits_are_the_worst_with_a_margin),
        cmocka_unit_test(limits_follow_from_a_declared_cluster),
    };

    return cmocka_run_group_tests_name("criteria_limits", tests, NULL, NULL);
}
