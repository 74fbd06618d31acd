/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory_test.c - a row of a trajectory is what a run of so many steps ends with; and how the table is written. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"
#include "harness/train/trajectory.h"

enum { STEPS = 5, N_PARAMS = 2 };

static void run(struct train_result *out, const char *way, int n_steps)
{
    char options[256];

    (void)snprintf(options, sizeof options, "--model linear --batch 10 %s --steps %d", way, n_steps);
    kit_must_train(out, options);
}

static const float *row(const struct train_result *r, int worker, size_t step)
{
    return r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * N_PARAMS;
}

/* Of every worker, as all of them have the same parameters. */
UNIT_TEST(rows_are_runs)
{
    static const struct {
        const char *way;
        int n_workers;
    } c[] = { { "--mode single", 1 },
              { "--mode allreduce --workers 3", 3 },
              { "--mode allreduce --workers 2 --momentum 0.9", 2 },
              { "--mode ps --consistency sync --workers 2 --servers 2", 2 } };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct train_result r, shorter;
        char way[128];

        (void)snprintf(way, sizeof way, "%s --trajectory unused", c[i].way);
        run(&r, way, STEPS);
        for (int w = 0; w < c[i].n_workers; w++)
            assert_true(row(&r, w, 0)[0] == 0.0f && row(&r, w, 0)[1] == 0.0f);
        for (int k = 1; k <= STEPS; k++) {
            run(&shorter, c[i].way, k);
            assert_null(shorter.trajectory);
            for (int w = 0; w < c[i].n_workers; w++)
                assert_memory_equal(row(&r, w, (size_t)k), shorter.final.param, N_PARAMS * sizeof(float));
            train_result_free(&shorter);
        }
        train_result_free(&r);
    }
}

/* Workers that exchange nothing part at the first step: each row is its own worker's. */
UNIT_TEST(workers_have_their_own)
{
    struct train_result r;

    run(&r, "--mode none --workers 2 --trajectory unused", STEPS);
    for (size_t k = 1; k <= STEPS; k++)
        assert_true(row(&r, 0, k)[0] != row(&r, 1, k)[0]);
    assert_memory_equal(row(&r, 0, STEPS), r.final.param, N_PARAMS * sizeof(float));
    train_result_free(&r);
}

UNIT_TEST(refuses)
{
    kit_expect_refused("--model lenet --trajectory t.csv", "--trajectory t.csv: has a column for each parameter");
    kit_expect_refused("--model linear --mode allreduce --workers 2 --overlap on --trajectory t.csv", "--overlap off");
    kit_expect_refused("--model linear --save s --restarts 2 --trajectory t.csv", "leave out one of the two");
    kit_expect_refused("--model linear --forward-only --trajectory t.csv", "--forward-only updates no parameters");
}

/* Of every rank a row for each step and one, there and on rank 0, which gathers them. */
UNIT_TEST(memory_counts_them)
{
    enum { N_WORKERS = 3, N_SERVERS = 1, N_STEPS = 1000 };
    static const char way[] = "--model linear --mode ps --workers 3 --servers 1 --steps 1000";
    struct train_job plain, noting;
    char text[256];

    (void)snprintf(text, sizeof text, "%s --trajectory t.csv", way);
    assert_int_equal(kit_prepare(&plain, way), RC_OK);
    assert_int_equal(kit_prepare(&noting, text), RC_OK);
    assert_int_equal(noting.memory.host_bytes - plain.memory.host_bytes,
                     2 * (N_WORKERS + N_SERVERS) * (N_STEPS + 1) * N_PARAMS * sizeof(float));
    train_job_free(&plain);
    train_job_free(&noting);
}

/* Two workers, two steps; the run goes on from step 7, and the second worker is rank 3. */
UNIT_TEST(table)
{
    static const char wanted[] =
        "worker,step,time_s,samples_count,loss,slope,offset\n"
        "0,7,0.000001000,700,0.5,1,2\n0,8,0.000003000,720,0.25,3,4\n0,9,0.000005000,740,nan,5,6\n"
        "3,7,0.000000000,700,1.5,1,2\n3,8,0.000002000,720,1.25,30,40\n3,9,0.000004000,740,nan,50,60\n";
    struct step_stamp stamp[] = { { .start_ns = 2000, .end_ns = 3500, .loss = 0.5 },
                                  { .start_ns = 4000, .end_ns = 6000, .loss = 0.25 },
                                  { .start_ns = 1000, .end_ns = 2500, .loss = 1.5 },
                                  { .start_ns = 3000, .end_ns = 5000, .loss = 1.25 } };
    float trajectory[] = { 1, 2, 3, 4, 5, 6, 1, 2, 30, 40, 50, 60 };
    struct train_rank_info rank[] = { { .number = 0 }, { .number = 3 } };
    const struct train_result r = {
        .n_workers = 2, .n_ranks = 2, .n_steps = 2, .stamp = stamp, .trajectory = trajectory, .rank = rank
    };
    char path[] = "/tmp/trajectory_test.XXXXXX", text[512] = "";
    struct train_job job;

    assert_int_equal(kit_prepare(&job, "--model linear --batch 10 --mode allreduce --workers 2"), RC_OK);
    job.resume = (struct checkpoint){ .steps_count = 7, .samples_count = 700 };
    kit_make_file(path);
    assert_int_equal(trajectory_write(path, &job, &r), RC_OK);
    kit_take_file(path, text, sizeof text);
    assert_string_equal(text, wanted);
    job.resume = (struct checkpoint){ 0 };
    train_job_free(&job);
}

UNIT_MAIN("trajectory")
