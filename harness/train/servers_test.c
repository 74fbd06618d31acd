/* SPDX-License-Identifier: Apache-2.0 */
/* servers_test.c CASE - whole runs of every placement and every consistency, in threads: bits, bounds, bad input. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/job_exchange.h"
#include "harness/train/places.h"
#include "harness/train/suite/train_kit.h"

static void assert_same_bits(const struct train_result *a, const struct train_result *b, const char *what)
{
    assert_int_equal(a->final.n_params, b->final.n_params);
    if (memcmp(a->final.param, b->final.param, a->final.n_params * sizeof(float)) != 0 ||
        !kit_same_kept(&a->final, &b->final))
        fail_msg("other parameters or velocity: %s", what);
}

static const char *const placements[] = { "split", "whole", "round-robin", "chunk:1000" };
static const char *const rules[] = { "async", "ssp:0", "ssp:2", "sync", "sync:0" };
static const char *const ways[] = { "", " --bucket-bytes 8000 --partition-bytes 3000",
                                    " --bucket-bytes 8000 --overlap on" };

/* S3, wherever the parameters are, whatever the rule is that one worker has nobody to wait for. */
UNIT_TEST(one_worker_is_single_everywhere)
{
    static const char *const model = "--model lenet --steps 12 --momentum 0.9 --weight-decay 0.001";
    struct train_result single = { 0 };
    char options[512];

    snprintf(options, sizeof options, "%s --mode single", model);
    kit_must_train(&single, options);
    for (size_t i = 0; i < 4 * 3; i++) {
        struct train_result r = { 0 };
        snprintf(options, sizeof options, "%s --mode ps --servers 3 --placement %s --consistency %s%s", model,
                 placements[i % 4], rules[i % 5], ways[i / 4]);
        kit_must_train(&r, options);
        assert_same_bits(&r, &single, options);
        train_result_free(&r);
    }
    /* No other comes between its pull and its push: nothing of it is stale. */
    struct train_result own = { 0 };
    snprintf(options, sizeof options, "%s --mode ps --servers 2 --lr-staleness inverse", model);
    kit_must_train(&own, options);
    assert_same_bits(&own, &single, options);
    train_result_free(&own);
    train_result_free(&single);
}

/* Sums are in the order of workers: the same bits on any number of servers, in any chunks, whenever gradients come. */
UNIT_TEST(sync_has_the_same_bits_however_it_is_cut)
{
    static const char *const model = "--model lenet --mode ps --workers 3 --steps 10 --momentum 0.9 --consistency sync";
    struct train_result first = { 0 };
    char options[512];

    kit_must_train(&first, model);
    for (size_t i = 0; i < 4 * 3; i++) {
        struct train_result r = { 0 };
        snprintf(options, sizeof options, "%s --servers %zu --placement %s%s", model, 1 + i % 3, placements[i % 4],
                 ways[i / 4]);
        kit_must_train(&r, options);
        assert_same_bits(&r, &first, options);
        for (size_t t = 0; t < 3 * 10; t++)
            assert_true(r.stamp[t].staleness_count == 0 && r.stamp[t].late_count == 0);
        train_result_free(&r);
    }
    train_result_free(&first);
}

UNIT_TEST(sync_is_allreduce)
{
    static const char *const models[] = { "linear --steps 100 --lr 0.1", "lenet --steps 20 --momentum 0.9" };

    for (int i = 0; i < 2; i++) {
        struct train_result sum = { 0 }, ps = { 0 };
        char options[256];
        snprintf(options, sizeof options, "--model %s --workers 4 --mode allreduce", models[i]);
        kit_must_train(&sum, options);
        snprintf(options, sizeof options, "--model %s --workers 4 --mode ps --servers 2 --consistency sync:0",
                 models[i]);
        kit_must_train(&ps, options);
        if (!(kit_distance(&ps, &sum) <= 1e-6))
            fail_msg("%s: %g apart", models[i], kit_distance(&ps, &sum));
        train_result_free(&sum);
        train_result_free(&ps);
    }
}

/* What the servers hold in any placement and after any rule is a checkpoint of the model. */
UNIT_TEST(runs_resume_in_another_placement)
{
    static const char *const model =
        "--model lenet --mode ps --workers 2 --servers 2 --momentum 0.9 --consistency sync";
    struct train_result whole = { 0 }, half = { 0 }, rest = { 0 };
    char options[512], folder[] = "gm_servers_test.XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/c", folder);
    snprintf(options, sizeof options, "%s --steps 16", model);
    kit_must_train(&whole, options);
    snprintf(options, sizeof options, "%s --steps 8 --placement whole", model);
    kit_must_train(&half, options);
    assert_int_equal(checkpoint_save(&half.final, path, NULL, NULL), RC_OK);
    snprintf(options, sizeof options, "%s --steps 16 --placement chunk:2000 --resume %s", model, path);
    kit_must_train(&rest, options);
    assert_same_bits(&rest, &whole, options);
    train_result_free(&whole);
    train_result_free(&half);
    train_result_free(&rest);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

/* A snapshot between two steps of worker 0, while others may be on their way. */
UNIT_TEST(checkpoints_of_sync_are_exact)
{
    static const char *const model =
        "--model lenet --mode ps --workers 3 --servers 2 --momentum 0.9 --consistency sync "
        "--placement whole";
    struct train_result at_8 = { 0 }, saved = { 0 };
    struct checkpoint c = { 0 };
    char options[512], folder[] = "gm_servers_test.XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/c", folder);
    snprintf(options, sizeof options, "%s --steps 8", model);
    kit_must_train(&at_8, options);
    snprintf(options, sizeof options, "%s --steps 12", model);
    assert_int_equal(kit_train_saving(&saved, options, path, 8, NULL), RC_OK);
    assert_int_equal(saved.saves.n_written, 1);
    assert_int_equal(checkpoint_load(&c, path), RC_OK);
    assert_int_equal(c.steps_count, 8);
    assert_memory_equal(c.param, at_8.final.param, c.n_params * sizeof(float));
    assert_true(kit_same_kept(&c, &at_8.final));
    checkpoint_free(&c);
    train_result_free(&at_8);
    train_result_free(&saved);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_TEST(ssp_bounds_the_lead)
{
    for (uint32_t bound = 0; bound < 4; bound++) {
        struct train_result r = { 0 };
        char options[256];
        snprintf(options, sizeof options,
                 "--model linear --mode ps --workers 4 --servers 2 --steps 200 --consistency ssp:%u", bound);
        kit_must_train(&r, options);
        for (int i = 0; i < r.n_ranks; i++)
            assert_true(r.rank[i].served.lead_max_count <= bound);
        assert_int_equal(servers_late_count(&r), 0);
        /* Three others, at most bound + 1 of their steps each between a pull and its push, and as many in the queue. */
        for (size_t t = 0; t < 4 * 200; t++)
            assert_true(r.stamp[t].staleness_count <= 3 * (2 * bound + 1));
        train_result_free(&r);
    }
}

/* B of the gradients of every step are dropped, on every server. */
UNIT_TEST(backup_workers_are_counted)
{
    struct train_result r = { 0 };
    uint64_t n_late = 0, n_applied = 0;

    kit_must_train(&r, "--model lenet --mode ps --workers 4 --servers 2 --steps 15 --consistency sync:1");
    assert_int_equal(servers_late_count(&r), 15 * 2);
    for (int s = 4; s < 6; s++) {
        n_late += r.rank[s].served.late_count;
        for (int i = 0; i < STALENESS_BINS; i++)
            n_applied += r.rank[s].served.pushes_count[i];
        assert_int_equal(r.rank[s].served.pushes_count[0], 15 * 3); /* none of them is stale */
    }
    assert_int_equal(n_late, 15 * 2);
    assert_int_equal(n_applied, 15 * 3 * 2);
    train_result_free(&r);
}

/* At this rate parameters leave the range of floats. Behind that every gradient is refused: such steps are known, and
 * are in no bin. */
UNIT_TEST(what_is_refused_is_no_update)
{
    enum { N_STEPS = 60 };
    struct train_result r = { 0 };
    uint64_t n_refused[2] = { 0 }, n_applied = 0;

    kit_must_train(&r, "--model linear --mode ps --workers 2 --steps 60 --lr 1e5 --momentum 0");
    for (size_t i = 0; i < 2 * N_STEPS; i++)
        n_refused[i / N_STEPS] += r.stamp[i].is_refused;
    assert_true(n_refused[0] > 0 && n_refused[0] < N_STEPS);
    assert_true(n_refused[1] > 0 && n_refused[1] < N_STEPS);
    for (int i = 0; i < STALENESS_BINS; i++)
        n_applied += r.rank[2].served.pushes_count[i];
    assert_int_equal(n_refused[0] + n_refused[1], r.rank[2].served.refused_count[REFUSED_NOT_FINITE]);
    assert_int_equal(n_applied, 2 * N_STEPS - n_refused[0] - n_refused[1]);
    train_result_free(&r);
}

/* What the table says of servers. */
UNIT_TEST(tables_name_the_hottest_and_the_late)
{
    struct step_stamp stamp[2] = { { .late_count = 0 }, { .late_count = 3 } };
    struct train_rank_info rank[2] = { { .served.lead_max_count = 1 }, { .served.lead_max_count = 0 } };
    const struct train_result r = { .n_workers = 2, .n_ranks = 2, .n_steps = 1, .stamp = stamp, .rank = rank };
    static const char *const told[][3] = {
        { "--placement whole", "whole, server 0 holds most: 0.03347 MB, 1.22 x the mean, of which fc3/w is 97.9 %",
          "async, a worker was at most 1 step ahead of the slowest" },
        { "--consistency ssp:4", "split, 0.02741 MB on each of 2 servers",
          "ssp:4, a worker was at most 1 step ahead of the slowest" },
        { "--consistency ssp:4 --lr-staleness inverse", "split, 0.02741 MB on each of 2 servers",
          "ssp:4, a worker was at most 1 step ahead of the slowest, rates over staleness" },
        { "--placement chunk:1000 --consistency sync", "chunk:1000, server 0 holds most",
          "sync:0, one update a step by the mean gradient of all workers" },
        { "--workers 2 --consistency sync:1", "split, ",
          "sync:1, 3 parts of gradients came too late and were dropped" },
    };

    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        struct train_job job = { 0 };
        char options[256], placement[256], consistency[256];
        snprintf(options, sizeof options, "--model lenet --mode ps --servers 2 %s", told[i][0]);
        assert_int_equal(kit_prepare(&job, options), RC_OK);
        job_placement_text(placement, sizeof placement, &job);
        servers_consistency_text(consistency, sizeof consistency, &job, &r);
        if (strncmp(placement, told[i][1], strlen(told[i][1])) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", placement, told[i][1]);
        assert_string_equal(consistency, told[i][2]);
        train_job_free(&job);
    }
}

static void lenet_learns(const char *options)
{
    struct train_result r = { 0 };

    kit_must_train(&r, options);
    if (!(r.evaluation.accuracy_ratio >= 0.95))
        fail_msg("%s: accuracy %.4f", options, r.evaluation.accuracy_ratio);
    train_result_free(&r);
}

UNIT_TEST(lenet_learns_by_every_rule)
{
    lenet_learns("--model lenet --mode ps --workers 4 --steps 300");
    lenet_learns("--model lenet --mode ps --workers 4 --servers 2 --steps 300 --consistency ssp:2 --placement whole");
    lenet_learns("--model lenet --mode ps --workers 4 --steps 300 --consistency sync:1");
}

/* Where servers live changes no bit; without --servers each worker has one beside it. */
UNIT_TEST(beside_workers_it_is_the_same_training)
{
    static const char *const run_of = "--model lenet --mode ps --workers 3 --servers 3 --consistency sync --steps 8";
    static const char *const beside_of = "--model lenet --mode ps --workers 3 --colocate --consistency sync --steps 8";
    struct train_result own = { 0 }, beside = { 0 };
    struct train_job job = { 0 };

    kit_must_train(&own, run_of);
    kit_must_train(&beside, beside_of);
    assert_int_equal(beside.n_ranks, 6);
    assert_same_bits(&own, &beside, beside_of);
    for (int i = 3; i < 6; i++)
        assert_int_equal(beside.rank[i].own_cores_count, 0);
    assert_int_equal(beside.wait, WAIT_SLEEP);
    train_result_free(&own);
    train_result_free(&beside);
    assert_int_equal(kit_prepare(&job, beside_of), RC_OK);
    assert_true(job.servers_beside);
    assert_int_equal(job.n_servers, 3);
    train_job_free(&job);
    assert_int_equal(kit_prepare(&job, run_of), RC_OK);
    assert_false(job.servers_beside);
    train_job_free(&job);
}

UNIT_TEST(what_cannot_be_is_refused)
{
    static const char *const bad[][2] = {
        { "--mode ps --consistency ssp:-1", "--consistency ssp:-1: S of ssp:S must be a whole number" },
        { "--mode ps --workers 3 --consistency sync:3", "--consistency sync:3: of 3 workers at most 2" },
        { "--mode ps --consistency sink", "--consistency sink: must be async" },
        { "--mode ps --placement chunk:0", "--placement chunk:0: BYTES" },
        { "--mode allreduce --consistency sync", "--consistency sync: needs --mode ps, but that is allreduce" },
        { "--mode allreduce --lr-staleness inverse", "--lr-staleness inverse: needs --mode ps, but that is allreduce" },
        { "--mode single --lr-staleness inverse", "--lr-staleness inverse: needs --mode ps, but that is single" },
        { "--mode none --workers 2 --lr-staleness inverse", "--lr-staleness inverse: needs --mode ps" },
        { "--mode ps --workers 2 --consistency sync --lr-staleness inverse",
          "--lr-staleness inverse: --consistency sync applies no late gradients; use async or ssp:S" },
        { "--mode ps --workers 2 --consistency sync:1 --lr-staleness inverse",
          "--lr-staleness inverse: --consistency sync" },
        { "--mode ps --lr-staleness invers", "--lr-staleness invers: " },
        { "--mode allreduce --in-flight 2", "--in-flight 2: needs --mode ps, but that is allreduce" },
        { "--mode ps --in-flight 9", "--in-flight 9: a worker of mode ps pushes and pulls 8 chunks at once at most" },
        { "--mode allreduce --placement whole", "--placement whole: needs --mode ps, but that is allreduce" },
        { "--mode ps --workers 2 --servers 3 --colocate",
          "--servers 3 --colocate: one server lives beside a worker, and there are 2 workers; give --servers 2 at "
          "most" },
        { "--model linear --mode ps --workers 4 --colocate",
          "--colocate: without --servers there is one beside each of 4 workers: --servers 4: model linear has only 2 "
          "parameters to share out; give --servers 2 at most" },
        { "--mode ps --workers 9 --model lenet --placement whole --colocate",
          "--colocate: without --servers there is one beside each of 9 workers: --servers 9: --placement whole has "
          "only "
          "8 tensors to share out; give --servers 8 at most" },
        { "--mode allreduce --colocate", "--colocate true: needs --mode ps, but that is allreduce" },
        { "--model linear --mode ps --workers 4 --servers 3 --colocate",
          "--servers 3: model linear has only 2 parameters to share out; give --servers 2 at most" },
        { "--mode ps --servers 9 --model lenet --placement whole",
          "--servers 9: --placement whole has only 8 tensors" },
        { "--mode ps --workers 2 --model lenet --consistency sync --bucket-bytes 8000 --overlap on --priority on",
          "--priority on: with --overlap on and --consistency sync workers would wait" },
        { "--mode ps --workers 2 --model lenet --consistency ssp:0 --bucket-bytes 8000 --overlap on --priority on",
          "needs --priority off, async, or ssp:1 and more" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct train_job job = { 0 };
        const enum rc rc = kit_prepare(&job, bad[i][0]);
        train_job_free(&job);
        if (rc != RC_INVAL || !strstr(rc_message(), bad[i][1]))
            fail_msg("%s: %s \"%s\" does not say \"%s\"", bad[i][0], rc_name(rc), rc_message(), bad[i][1]);
    }
    struct train_job job = { 0 };
    assert_int_equal(kit_prepare(&job, "--mode ps --model lenet --consistency ssp:1 --bucket-bytes 8000 --overlap on "
                                       "--priority on"),
                     RC_OK);
    train_job_free(&job);
}

UNIT_MAIN("servers")
