/* SPDX-License-Identifier: Apache-2.0 */
/* stop_train_test.c - a training that a signal stops is, to the bit, one of as many steps. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"
#include "harness/world/stop.h"

enum { STOPPED_IN = 7 };

struct stopped_run {
    struct train_job job;
    struct train_result result;
};

static void stop_now(void *arg, size_t n_done, uint64_t now_ns)
{
    (void)arg;
    (void)now_ns;
    if (n_done == STOPPED_IN)
        (void)raise(SIGTERM);
}

/* Run `options` with n_wanted steps; it is told to stop when rank 0 has done STOPPED_IN. save: what it will be saved
 * to; "": nowhere. */
static void run_stopped(struct stopped_run *run, const char *options, int n_wanted, const char *save)
{
    static const struct train_watch watch = { stop_now, NULL };
    char text[256];

    *run = (struct stopped_run){ .result = { 0 } };
    (void)snprintf(text, sizeof text, "%s --steps %d", options, n_wanted);
    assert_int_equal(kit_prepare(&run->job, text), RC_OK);
    run->job.watch = &watch;
    run->job.opts.save = save;
    stop_catch_first();
    const enum rc rc = kit_run(&run->job, &run->result);
    stop_release();
    if (rc != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

static void assert_is_run_of_so_many_steps(const char *options)
{
    enum { N_WANTED = 100000 };
    struct train_result whole;
    struct stopped_run run;
    char text[256];

    run_stopped(&run, options, N_WANTED, "");
    if (run.result.n_steps < STOPPED_IN || run.result.n_steps > STOPPED_IN + 2)
        fail_msg("%s: stopped after %zu steps", options, run.result.n_steps);
    assert_int_equal(run.result.stop_signal, SIGTERM);
    assert_int_equal(run.result.final.steps_count, run.result.n_steps);
    assert_false(run.result.has_limits_after);
    assert_true(run.result.evaluation.loss != run.result.evaluation.loss); /* NaN */
    (void)snprintf(text, sizeof text, "%s --eval-samples 0 --steps %zu", options, run.result.n_steps);
    kit_must_train(&whole, text);
    const size_t n_bytes = whole.final.n_params * sizeof(float);
    assert_int_equal(run.result.final.n_params, whole.final.n_params);
    assert_int_equal(run.result.final.samples_count, whole.final.samples_count);
    assert_memory_equal(run.result.final.param, whole.final.param, n_bytes);
    assert_true(kit_same_kept(&run.result.final, &whole.final));
    for (int w = 0; w < run.result.n_workers; w++) { /* every worker's stamps are there, and those of its own steps */
        const struct step_stamp *own = run.result.stamp + (size_t)w * run.result.n_steps;
        const struct step_stamp *same = whole.stamp + (size_t)w * whole.n_steps;
        for (size_t step = 0; step < run.result.n_steps; step++) {
            assert_true(own[step].start_ns <= own[step].ready_ns && own[step].ready_ns <= own[step].end_ns);
            assert_true(own[step].loss == same[step].loss);
        }
    }
    train_result_free(&whole);
    train_result_free(&run.result);
    train_job_free(&run.job);
}

UNIT_TEST(synchronous_runs_end_with_the_step)
{
    assert_is_run_of_so_many_steps("--model linear --mode single --momentum 0.9");
    assert_is_run_of_so_many_steps("--model lenet --mode allreduce --workers 3 --momentum 0.9 --threads 1");
}

UNIT_TEST(overlapped_runs_end_with_the_step)
{
    assert_is_run_of_so_many_steps("--model lenet --mode allreduce --workers 2 --momentum 0.9 --threads 1 --overlap on "
                                   "--bucket-bytes 8Ki");
    assert_is_run_of_so_many_steps("--model linear --mode allreduce --workers 3 --momentum 0.9 --overlap on "
                                   "--on-loss report");
}

UNIT_TEST(servers_end_with_their_workers)
{
    assert_is_run_of_so_many_steps("--model linear --mode ps --workers 1 --servers 2 --momentum 0.9");
}

/* Workers that do not wait for each other end after the same step, too; the faster ones have begun it first. */
UNIT_TEST(asynchronous_workers_end_after_the_same_step)
{
    static const char *const options[] = { "--model linear --mode none --workers 3",
                                           "--model linear --mode ps --workers 3" };
    struct stopped_run run;

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        run_stopped(&run, options[i], 20000, "");
        assert_true(run.result.n_steps >= STOPPED_IN);
        for (int w = 0; w < run.result.n_workers; w++) {
            const struct step_stamp *last = run.result.stamp + (size_t)(w + 1) * run.result.n_steps - 1;
            assert_true(last->end_ns > 0 && last->end_ns != UINT64_MAX);
        }
        train_result_free(&run.result);
        train_job_free(&run.job);
    }
}

/* Between two averages each worker has parameters of its own: a run that writes a checkpoint ends behind one, and goes
 * on from there to the bits of one that was not stopped. Others, whose results nobody goes on from, end at once. */
UNIT_TEST(local_sgd_ends_behind_an_average)
{
    enum { EVERY = 30000 };
    static const char way[] = "--model linear --mode allreduce --workers 2 --average-every 30000";
    char path[] = "/tmp/stop_train_test.XXXXXX", text[256];
    struct train_result whole, rest;
    struct stopped_run run;

    kit_make_file(path);
    (void)snprintf(text, sizeof text, "%s --save %s", way, path);
    run_stopped(&run, text, 3 * EVERY, path);
    assert_int_equal(run.result.stop_signal, SIGTERM);
    assert_int_equal(run.result.n_steps, EVERY);
    assert_int_equal(checkpoint_save(&run.result.final, path, NULL, NULL), RC_OK);
    train_result_free(&run.result);
    train_job_free(&run.job);
    (void)snprintf(text, sizeof text, "%s --steps %d", way, 2 * EVERY);
    assert_int_equal(kit_train(&whole, text, NULL, 0), RC_OK);
    (void)snprintf(text, sizeof text, "%s --steps %d --resume %s", way, 2 * EVERY, path);
    assert_int_equal(kit_train(&rest, text, NULL, 0), RC_OK);
    assert_memory_equal(whole.final.param, rest.final.param, whole.final.n_params * sizeof(float));
    train_result_free(&whole);
    train_result_free(&rest);
    run_stopped(&run, way, 3 * EVERY, "");
    assert_int_equal(run.result.stop_signal, SIGTERM);
    assert_true(run.result.n_steps >= STOPPED_IN && run.result.n_steps <= EVERY);
    train_result_free(&run.result);
    train_job_free(&run.job);
    (void)unlink(path);
}

/* One that is done is not stopped any more. */
UNIT_TEST(a_signal_in_the_last_step_changes_nothing)
{
    struct stopped_run run;

    run_stopped(&run, "--model linear --mode allreduce --workers 2", STOPPED_IN, "");
    assert_int_equal(run.result.n_steps, STOPPED_IN);
    assert_int_equal(run.result.stop_signal, 0);
    assert_false(run.result.evaluation.loss != run.result.evaluation.loss); /* it was evaluated */
    train_result_free(&run.result);
    train_job_free(&run.job);
}

UNIT_MAIN("stop_train")
