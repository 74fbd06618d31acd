/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages_sim_test.c TEST - what stages measure of a simulated cluster is what its description says, and injected faults
 * change the right values, by their factor, and no other. One simulation a process: one test a call.
 */
#include <math.h>
#include <string.h>

#include "harness/accept/suite/stage_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"

#define LINK_BYTES_PER_S 1.25e8 /* of 1 Gbit/s */
#define LATENCY_S 20e-6

static const char CLUSTER[] = "link_bits_per_s=1e9,link_latency_s=20e-6,flops_per_s=4e9,memory_bytes_per_s=8e9";

static struct kit_run simulation(int n_ranks, stage_fn *stage)
{
    return (struct kit_run){ .world = "sim",
                             .transport = "sim",
                             .compute = "hollow",
                             .cluster = CLUSTER,
                             .n_ranks = n_ranks,
                             .criteria = kit_criteria(),
                             .stage = { stage } };
}

/* Within 1 %. */
#define assert_near(value, expected) assert_within(value, expected, 0.01)

static double never_slow(int from, int to)
{
    (void)from;
    (void)to;
    return 1;
}

/* The first n_repeats of all pairs, in parts of the link's rate. */
static void assert_rates(const struct kit_run *run, int n_repeats, double (*slowness)(int from, int to))
{
    const struct tournament *t = &run->accepted.tournament;

    assert_true(t->n_repeats >= n_repeats);
    for (int i = 0; i < n_repeats; i++)
        for (int from = 0; from < t->n_nodes; from++)
            for (int to = 0; to < t->n_nodes; to++) {
                if (from == to) {
                    assert_true(isnan(*tournament_rate(t, i, from, to)));
                    continue;
                }
                assert_near(*tournament_rate(t, i, from, to), LINK_BYTES_PER_S * slowness(from, to));
                assert_near(*tournament_latency(t, i, from, to), LATENCY_S);
            }
}

UNIT_TEST(pairs_have_the_rate_of_their_link)
{
    struct kit_run run = simulation(5, stage_pairwise);

    kit_must_run(&run);
    assert_int_equal(run.accepted.n_nodes, 5);
    assert_int_equal(run.accepted.tournament.n_repeats, 3);
    assert_int_equal(run.accepted.tournament.n_rounds, 4); /* in virtual time they are equal */
    assert_true(*tournament_late(&run.accepted.tournament, 0, 2, 1) == 0);
    assert_string_equal(run.accepted.stage[ACCEPT_PAIRWISE].why, "");
    assert_rates(&run, 3, never_slow);
    assert_true(run.progress == 1);
    assert_int_equal(run.n_progress, 3 * 5);
    kit_close(&run);
}

/* TCP at 80 % of the link; its overheads of a message are few of many bytes. */
UNIT_TEST(a_protocol_has_its_rate)
{
    struct kit_run run = simulation(4, stage_pairwise);

    run.cluster = "link_bits_per_s=1e9,link_latency_s=20e-6,protocol=tcp,tcp_rate_ratio=0.8,tcp_latency_s=10e-6,"
                  "tcp_message_s=5e-6,hosts_count=8,hosts_per_group_count=2,group_latency_s=30e-6";
    kit_must_run(&run);
    assert_near(*tournament_rate(&run.accepted.tournament, 1, 0, 1), 0.8 * LINK_BYTES_PER_S);
    assert_near(*tournament_rate(&run.accepted.tournament, 1, 3, 0), 0.8 * LINK_BYTES_PER_S);
    assert_near(*tournament_latency(&run.accepted.tournament, 1, 0, 1), 40e-6);
    assert_near(*tournament_latency(&run.accepted.tournament, 1, 3, 0), 70e-6);
    kit_close(&run);
}

static double slow_link(int from, int to)
{
    return (from == 1 && to == 3) || (from == 3 && to == 1) ? 0.6 : from == 0 && to == 2 ? 0.5 : 1;
}

UNIT_TEST(a_slow_link_is_slow_in_its_direction)
{
    struct kit_run run = simulation(6, stage_pairwise);

    run.inject = "link:1-3=0.6,link:0>2=0.5";
    kit_must_run(&run);
    assert_rates(&run, 3, slow_link);
    kit_close(&run);
}

static double slow_nodes(int from, int to)
{
    return from == 4 || to == 4 ? 0.25 : from == 2 || to == 2 ? 0.5 : 1;
}

/* Between two slow nodes the slower one decides. */
UNIT_TEST(slow_nodes_are_slow_with_all)
{
    struct kit_run run = simulation(6, stage_pairwise);

    run.inject = "node:2=0.5,node:4=0.25";
    kit_must_run(&run);
    assert_rates(&run, 3, slow_nodes);
    kit_close(&run);
}

/* Ranks 1, 3, 5 and 7 look on, and hear of the end. */
UNIT_TEST(first_ranks_play_for_their_nodes)
{
    struct kit_run run = simulation(8, stage_pairwise);

    run.cluster = "ranks_per_host_count=2,link_bits_per_s=1e9,link_latency_s=20e-6,local_bytes_per_s=1e12";
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_nodes, 4);
    for (int node = 0; node < 4; node++) {
        assert_int_equal(run.accepted.node[node].first_rank, 2 * node);
        assert_int_equal(run.accepted.node[node].n_ranks, 2);
        assert_int_equal(run.accepted.node_of_rank[2 * node + 1], node);
    }
    assert_string_equal(run.accepted.node[3].name, "node3");
    assert_string_equal(run.accepted.node[3].kernel, ""); /* accept.D4 */
    assert_int_equal(run.fleet.n_turns, 1);
    assert_rates(&run, 3, never_slow);
    kit_close(&run);
}

static bool two_pairs(int n_repeats, int from, int to)
{
    return n_repeats == 3 && ((from == 0 && to == 1) || (from == 4 && to == 2));
}

/* After three repeats the evidence asks for 0 -> 1 and 4 -> 2: both directions of those are measured until the most. */
UNIT_TEST(only_open_pairs_play_again)
{
    struct kit_run run = simulation(6, stage_pairwise);

    run.is_pair_open = two_pairs;
    kit_must_run(&run);
    const struct tournament *t = &run.accepted.tournament;
    assert_int_equal(t->n_repeats, 5);
    assert_rates(&run, 3, never_slow);
    for (int i = 3; i < 5; i++)
        for (int from = 0; from < 6; from++)
            for (int to = 0; to < 6; to++) {
                const bool plays = from + to == 1 || (from + to == 6 && from * to == 8);
                assert_int_equal(!isnan(*tournament_rate(t, i, from, to)), plays);
                assert_int_equal(!isnan(*tournament_latency(t, i, from, to)), plays);
            }
    kit_close(&run);
}

UNIT_TEST(one_node_has_no_pair_S1)
{
    struct kit_run run = simulation(4, stage_pairwise);

    run.cluster = "ranks_per_host_count=4";
    kit_must_run(&run);
    assert_int_equal(run.accepted.tournament.n_repeats, 0);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_PAIRWISE].why, "one node"));
    kit_close(&run);
}

/* A round of two pairs takes both directions of two messages each; the limit comes in the third one of the second
 * repeat, whose first three are kept. */
UNIT_TEST(an_ended_stage_keeps_its_matches_S2)
{
    struct kit_run run = simulation(5, stage_pairwise);
    int n_matches = 0;

    run.criteria.stage_limit_s = 7.5 * 2 * 2 * (1 << 20) / LINK_BYTES_PER_S;
    kit_must_run(&run);
    const struct tournament *t = &run.accepted.tournament;
    assert_int_equal(t->n_repeats, 2);
    for (int from = 0; from < 5; from++)
        for (int to = 0; to < 5; to++)
            n_matches += !isnan(*tournament_rate(t, 1, from, to));
    assert_int_equal(n_matches, 3 * 2 * 2); /* three rounds of two pairs, in both directions */
    assert_rates(&run, 1, never_slow);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_PAIRWISE].why, "stage_limit_s"));
    kit_close(&run);
}

/* --- ranks --- */

static void assert_compute(const struct kit_run *run, int slow_rank, double ratio)
{
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < 3; i++) {
            assert_near(kit_metric(run, METRIC_GEMM, r, i), 4e9 * (r == slow_rank ? ratio : 1));
            assert_near(kit_metric(run, METRIC_MEMORY, r, i), 8e9 * (r == slow_rank ? ratio : 1));
        }
}

UNIT_TEST(ranks_compute_as_described)
{
    struct kit_run run = simulation(4, stage_compute);

    kit_must_run(&run);
    assert_int_equal(run.accepted.metric[METRIC_GEMM].n_repeats, 3);
    assert_string_equal(run.accepted.metric[METRIC_GEMM].name, "flops_per_s");
    assert_compute(&run, -1, 1);
    kit_close(&run);
}

UNIT_TEST(a_slow_rank_computes_slowly)
{
    struct kit_run run = simulation(4, stage_compute);

    run.inject = "rank:2=0.7,node:1=0.1,link:0-3=0.1";
    kit_must_run(&run);
    assert_compute(&run, 2, 0.7);
    kit_close(&run);
}

static bool until_four(int n_repeats)
{
    return n_repeats < 4;
}

UNIT_TEST(evidence_asks_for_repeats)
{
    struct kit_run run = simulation(4, stage_compute);

    run.stage[1] = stage_noise;
    run.is_metric_open = until_four;
    kit_must_run(&run);
    assert_int_equal(run.accepted.metric[METRIC_MEMORY].n_repeats, 5);
    assert_int_equal(run.accepted.metric[METRIC_LONGEST_DETOUR].n_repeats, 5);
    assert_compute(&run, -1, 1);
    kit_close(&run);
}

UNIT_TEST(a_quiet_cluster_has_no_detours)
{
    struct kit_run run = simulation(3, stage_noise);

    kit_must_run(&run);
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) {
            assert_true(kit_metric(&run, METRIC_DETOUR, r, i) < 1e-4);
            assert_true(kit_metric(&run, METRIC_LONGEST_DETOUR, r, i) < 10e-9);
        }
    kit_close(&run);
}

/* Against the draws of the description themselves: 10 quanta of 200 us a repeat. */
UNIT_TEST(detours_are_the_jitter)
{
    enum { FIRST_STEP = 1 << 20, N_REPEATS = 3 };
    struct kit_run run = simulation(3, stage_noise);
    struct cluster c = { .seed = 7, .jitter = JITTER_EXPONENTIAL, .jitter_ratio = 0.2 };

    run.cluster = "jitter=exponential,jitter_ratio=0.2";
    run.criteria.noise_s = 3 * 64 * 200e-6 * 10; /* more quanta than virtual time is given for */
    kit_must_run(&run);
    for (int r = 0; r < 3; r++) {
        double least = INFINITY;
        for (int q = 0; q < 64 * N_REPEATS; q++)
            least = fmin(least, noise_step_ratio(&c, r, FIRST_STEP + q));
        for (int i = 0; i < N_REPEATS; i++) {
            double sum = 0, most = 0;
            for (int q = 0; q < 64; q++) {
                const double ratio = noise_step_ratio(&c, r, FIRST_STEP + 64 * i + q);
                sum += ratio;
                most = fmax(most, ratio);
            }
            assert_near(kit_metric(&run, METRIC_DETOUR, r, i), (sum - 64 * least) / sum);
            assert_near(kit_metric(&run, METRIC_LONGEST_DETOUR, r, i), (most - least) * 200e-6);
        }
    }
    kit_close(&run);
}

/* A straggler is slow, not noisy. */
UNIT_TEST(noise_is_against_the_own_best)
{
    struct kit_run run = simulation(3, stage_noise);

    run.cluster = "stragglers_count=1,straggler_ratio=3";
    kit_must_run(&run);
    for (int r = 0; r < 3; r++)
        assert_true(kit_metric(&run, METRIC_DETOUR, r, 0) < 1e-4);
    kit_close(&run);
}

/* The pairs of the node that loses messages have late round trips, of two messages each; nobody else has one. */
UNIT_TEST(lost_messages_are_late)
{
    enum { N_NODES = 4, N_LOSSY_PAIRS = 3 };
    struct kit_run run = simulation(N_NODES, stage_pairwise);
    double sum = 0;

    run.inject = "loss:2=0.05";
    kit_must_run(&run);
    const struct tournament *t = &run.accepted.tournament;
    assert_int_equal(t->n_rounds, 40);
    for (int r = 0; r < t->n_repeats; r++)
        for (int i = 0; i < N_NODES; i++)
            for (int j = 0; j < N_NODES; j++) {
                const double ratio = *tournament_late(t, r, i, j);
                assert_true(i == j ? isnan(ratio) : ratio == *tournament_late(t, r, j, i));
                assert_true(i == j || i == 2 || j == 2 || ratio == 0);
                sum += i == 2 && j != 2 ? ratio : 0;
            }
    const double part = sum / (N_LOSSY_PAIRS * t->n_repeats); /* expected: 1 - 0.95^2 = 0.0975 */
    if (part < 0.06 || part > 0.14)
        fail_msg("%.4f of the round trips were late", part);
    kit_close(&run);
}

UNIT_TEST(a_killed_rank_ends_the_stage)
{
    struct kit_run run = simulation(4, stage_pairwise);

    run.criteria.least_repeats_count = run.criteria.most_repeats_count = 1; /* it is killed in the first */
    run.inject = "kill:2";
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 2"));
    kit_close(&run);
}

/* Nothing else can happen then, and the simulation says so (world.E3). */
UNIT_TEST(a_stalled_rank_is_a_timeout)
{
    struct kit_run run = simulation(5, stage_pairwise);

    run.inject = "stall:2";
    assert_int_equal(kit_run_stages(&run), RC_TIMEOUT);
    kit_close(&run);
}

/* accept.D4: of nothing else. */
UNIT_TEST(preflight_tells_of_the_description)
{
    struct kit_run run = simulation(5, stage_preflight);

    run.cluster = "ranks_per_host_count=2,link_bits_per_s=1e9";
    run.criteria.least_link_bits_per_s = 5e8;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_preflight, 2);
    const struct preflight_row *ranks = &run.accepted.preflight[0], *link = &run.accepted.preflight[1];
    assert_string_equal(ranks->what, "ranks of a node");
    assert_string_equal(ranks->value, "2");
    assert_int_equal(ranks->outcome,
                     OUTCOME_PASS); /* five ranks on three nodes: the launch is uneven, not the cluster */
    assert_int_equal(ranks->node, -1);
    assert_string_equal(link->what, "link speed");
    assert_string_equal(link->value, "1 Gbit/s");
    assert_int_equal(link->outcome, OUTCOME_PASS);
    kit_close(&run);
}

UNIT_TEST(many_nodes_meet_in_a_minute)
{
    struct kit_run run = simulation(256, stage_pairwise);

    run.criteria.least_repeats_count = run.criteria.most_repeats_count = 1;
    run.inject = "node:77=0.6";
    kit_must_run(&run);
    const struct tournament *t = &run.accepted.tournament;
    for (int from = 0; from < 256; from++)
        for (int to = 0; to < 256; to++)
            if (from != to)
                assert_near(*tournament_rate(t, 0, from, to), LINK_BYTES_PER_S * (from == 77 || to == 77 ? 0.6 : 1));
    kit_close(&run);
}

UNIT_MAIN("stages_sim")
