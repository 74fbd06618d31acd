/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages_threads_test.c [losses] - stages on ranks that are threads: all is measured once, by whoever it is of. No
 * value is judged: other programs run on the machine, too.
 */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "harness/accept/suite/stage_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/world/stop.h"

/* A rank that works is not silent for so long on a busy machine: only the stalled one is. */
enum { SILENT_MS = 6000 };

static struct kit_run threads(int n_ranks, stage_fn *stage)
{
    struct kit_run run = { .world = "threads",
                           .transport = "inproc",
                           .compute = "cpu",
                           .n_ranks = n_ranks,
                           .node_per_rank = true,
                           .criteria = kit_criteria(),
                           .stage = { stage } };

    run.criteria.least_repeats_count = run.criteria.most_repeats_count = 2;
    return run;
}

UNIT_TEST(each_rank_is_a_node_S4)
{
    struct kit_run run = threads(3, stage_preflight);

    kit_must_run(&run);
    assert_int_equal(run.accepted.n_nodes, 3);
    assert_int_equal(run.fleet.n_turns, 3); /* one kernel */
    for (int r = 0; r < 3; r++) {
        assert_int_equal(run.accepted.node_of_rank[r], r);
        assert_int_equal(run.accepted.node[r].first_rank, r);
        assert_int_equal(run.fleet.turn_of_rank[r], r);
    }
    assert_string_equal(run.accepted.node[2].name, "node2");
    kit_close(&run);
}

UNIT_TEST(ranks_of_a_host_are_a_node)
{
    struct kit_run run = threads(3, stage_pairwise);

    run.node_per_rank = false;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_nodes, 1);
    assert_int_equal(run.accepted.node[0].n_ranks, 3);
    assert_int_equal(run.fleet.n_node_ranks[0], 3);
    assert_int_equal(run.accepted.tournament.n_repeats, 0);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_PAIRWISE].why, "one node"));
    kit_close(&run);
}

UNIT_TEST(every_pair_is_measured_S3)
{
    struct kit_run run = threads(5, stage_pairwise);

    run.criteria.pairwise_message_bytes = 256 << 10;
    kit_must_run(&run);
    const struct tournament *t = &run.accepted.tournament;
    assert_int_equal(t->n_repeats, 2);
    for (int i = 0; i < 2; i++)
        for (int from = 0; from < 5; from++)
            for (int to = 0; to < 5; to++) {
                const double latency_s = *tournament_latency(t, i, from, to);
                assert_true(from == to ? isnan(latency_s) : latency_s > 0);
                assert_true(from == to || latency_s == *tournament_latency(t, i, to, from));
            }
    kit_close(&run);
}

UNIT_TEST(every_rank_computes)
{
    struct kit_run run = threads(2, stage_compute);

    run.stage[1] = stage_noise;
    kit_must_run(&run);
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 2; i++) {
            assert_true(kit_metric(&run, METRIC_GEMM, r, i) > 0);
            assert_true(kit_metric(&run, METRIC_MEMORY, r, i) > 0);
            assert_in_range((int)(1e3 * kit_metric(&run, METRIC_DETOUR, r, i)), 0, 999);
            assert_true(kit_metric(&run, METRIC_LONGEST_DETOUR, r, i) >= 0);
        }
    kit_close(&run);
}

/* Of threads all facts are equal, whatever this machine tells. */
UNIT_TEST(threads_do_not_differ)
{
    struct kit_run run = threads(3, stage_preflight);
    int n_cores_rows = 0;

    kit_must_run(&run);
    assert_true(run.accepted.n_preflight >= 5);
    for (int i = 0; i < run.accepted.n_preflight; i++) {
        const struct preflight_row *row = &run.accepted.preflight[i];
        if (row->outcome != OUTCOME_PASS)
            fail_msg("%s: %s, %s", row->what, row->value, row->other);
        assert_int_equal(row->node, -1);
        n_cores_rows += strcmp(row->what, "cores") == 0;
    }
    assert_int_equal(n_cores_rows, 1);
    kit_close(&run);
}

/* With suite/fake_driver.c of compute: a GPU that cannot be used is not told as none.
 * Regression: a node with a faulty driver passed as one without GPUs. */
UNIT_TEST_OF("faulty_driver", a_faulty_driver_is_told)
{
    struct kit_run run = threads(2, stage_preflight);
    int n_rows = 0;

    kit_must_run(&run);
    for (int i = 0; i < run.accepted.n_preflight; i++)
        if (strcmp(run.accepted.preflight[i].what, "GPUs") == 0) {
            assert_non_null(strstr(run.accepted.preflight[i].value, "cuda: there is a driver, but it fails: "));
            n_rows++;
        }
    assert_int_equal(n_rows, 1);
    kit_close(&run);
}

UNIT_TEST(a_limit_ends_a_stage_S2)
{
    struct kit_run run = threads(3, stage_pairwise);

    run.criteria.stage_limit_s = 1e-9;
    kit_must_run(&run);
    assert_int_equal(run.accepted.tournament.n_repeats, 1);
    assert_int_equal(run.n_progress, 1);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_PAIRWISE].why, "stage_limit_s"));
    assert_string_equal(run.ended, run.accepted.stage[ACCEPT_PAIRWISE].why);
    kit_close(&run);
}

UNIT_TEST(a_signal_ends_a_stage_S2)
{
    struct kit_run run = threads(3, stage_pairwise);

    run.signal = SIGTERM;
    stop_catch();
    kit_must_run(&run);
    stop_release();
    assert_int_equal(run.accepted.stop_signal, SIGTERM);
    assert_int_equal(run.n_progress, 1);
    assert_string_equal(run.ended, "stopped by SIGTERM");
    assert_string_equal(run.accepted.stage[ACCEPT_PAIRWISE].why, "stopped by SIGTERM");
    kit_close(&run);
}

UNIT_TEST(a_quantum_longer_than_the_stage_is_no_data_S1)
{
    struct kit_run run = threads(2, stage_noise);

    run.criteria.noise_s = 2e-4;
    run.criteria.noise_quantum_s = 2e-4;
    kit_must_run(&run);
    assert_null(run.accepted.metric[METRIC_DETOUR].value);
    assert_non_null(strstr(run.accepted.stage[ACCEPT_NOISE].why, "noise_quantum_s"));
    kit_close(&run);
}

UNIT_TEST_OF("losses", a_killed_rank_is_an_error)
{
    struct kit_run run = threads(3, stage_pairwise);

    run.inject = "kill:1";
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 1"));
    kit_close(&run);
}

/* Who plays with the stalled one waits no longer than for a message, and names both. */
UNIT_TEST_OF("losses", a_stalled_rank_is_a_timeout)
{
    struct kit_run run = threads(4, stage_pairwise);

    run.inject = "stall:1";
    run.timeout_ms = SILENT_MS;
    assert_int_equal(kit_run_stages(&run), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "pairwise, node"));
    kit_close(&run);
}

UNIT_TEST_OF("losses", a_stalled_rank_is_found_by_a_watch)
{
    struct kit_run run = threads(3, stage_pairwise);

    run.inject = "stall:1";
    run.stall_ns = SILENT_MS * UINT64_C(1000000);
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 1: silent"));
    kit_close(&run);
}

UNIT_MAIN("stages_threads")
