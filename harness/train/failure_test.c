/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failure_test.c CASE - what a run fails with, and that a slow one does not fail.
 *
 *   says_what_to_do            a message that is awaited too long: the error names the option
 *   virtual_time_has_no_limit  a step that takes longer than any limit
 *   keeps_its_code             of a failure of the communicator that a worker meets at the start of a step
 *   drills_count_steps_on      in a resumed run a drill's step is the training's
 *   keeps_results_without_a_timeline
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allreduce/sync_allreduce.h"
#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"
#include "models/engine/training.h"

/* No rank that works is silent for STALL_S, on a busy machine either. A message is awaited for twice as long. */
enum { SLOW_RANK = 1, STALL_S = 12 };

static atomic_bool awaits_failure; /* keeps_its_code */

enum rc __real_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg);
enum rc __wrap_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg);

/* Keep this rank from going on before its world, or a task of it, has failed. */
static void await_failure(struct world *w)
{
    while (world_check(w) == RC_OK)
        world_pause(w, 1000000);
}

/* In the probe nothing is submitted. */
enum rc __wrap_workload_gradient(struct training *t, const float *param, uint64_t first, size_t n_samples, float *grad,
                                 double *loss, grad_ready_fn *ready, void *arg)
{
    struct world *w = t->env.compute->env.arg;
    const enum rc rc = __real_workload_gradient(t, param, first, n_samples, grad, loss, ready, arg);

    if (rc == RC_OK && ready && atomic_load(&awaits_failure) && w->rank == SLOW_RANK)
        await_failure(w);
    return rc;
}

static enum rc sum_late(struct sync *s, size_t k, float *grad)
{
    if (s->env.world->rank == SLOW_RANK)
        await_failure(s->env.world);
    return sync_allreduce.collective->sum(s, k, grad);
}

static enum rc sum_damaged(struct sync *s, size_t k, float *grad)
{
    if (s->env.world->rank == SLOW_RANK)
        return rc_raise(RC_MISMATCH, "chunk %zu is damaged", k);
    return sync_allreduce.collective->sum(s, k, grad);
}

static enum rc run_with(const char *options, enum rc (*sum)(struct sync *s, size_t k, float *grad))
{
    struct train_result r = { 0 };
    struct collective_mode collective = *sync_allreduce.collective;
    struct sync_mode mode = sync_allreduce;

    collective.sum = sum;
    mode.collective = &collective;
    const enum rc rc = kit_train(&r, options, &mode, 0);
    train_result_free(&r);
    return rc;
}

UNIT_TEST(says_what_to_do)
{
    const char *said;
    char options[128], limit[128];

    (void)snprintf(options, sizeof options, "--model linear --mode allreduce --workers 2 --steps 5 --stall-abort-s %d",
                   STALL_S);
    (void)snprintf(limit, sizeof limit,
                   " not done after %d ms; if a step takes as long, give a greater --stall-abort-s",
                   2 * 1000 * STALL_S);
    assert_int_equal(run_with(options, sum_late), RC_TIMEOUT);
    said = rc_message();
    if (!strstr(said, "rank 1, tag ") || !strstr(said, limit))
        fail_msg("%s", said);
}

/* Steps of seconds, and a limit of 0.2 s. Regression: a long step of virtual time ended the run. */
UNIT_TEST(virtual_time_has_no_limit)
{
    struct train_result r = { 0 };
    static const char options[] =
        "--world sim --compute hollow --model vgg16 --mode ps --workers 2 --batch 64 --steps 2 --stall-abort-s 0.1";

    if (kit_train(&r, options, NULL, 0) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
    assert_int_equal(r.n_steps, 2);
    assert_true(r.stamp[0].end_ns - r.stamp[0].start_ns > UINT64_C(1000000000));
    train_result_free(&r);
}

/* Regression: a failure of the communicator counted as the loss of a rank. */
UNIT_TEST(keeps_its_code)
{
    atomic_store(&awaits_failure, true);
    assert_int_equal(run_with("--model linear --mode allreduce --workers 2 --steps 5 --overlap on", sum_damaged),
                     RC_MISMATCH);
    assert_string_equal(rc_message(), "rank 1: chunk 0 is damaged");
}

/* The drill is in step 25 of the training, the fifth of the resumed run: five are done.
 * Regression: after --resume a drill counted its steps from 1 again. */
UNIT_TEST(drills_count_steps_on)
{
    static const char ways[] = "--model linear --mode allreduce --workers 3";
    char options[256], folder[] = "gm_failure_test.XXXXXX", path[64];
    struct train_result r = { 0 };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/c", folder);
    snprintf(options, sizeof options, "%s --steps 20", ways);
    assert_int_equal(kit_train(&r, options, NULL, 0), RC_OK);
    assert_int_equal(checkpoint_save(&r.final, path, NULL, NULL), RC_OK);
    train_result_free(&r);
    snprintf(options, sizeof options, "%s --steps 50 --on-loss report --inject kill:1@25 --resume %s", ways, path);
    if (kit_train(&r, options, NULL, 0) != RC_OK)
        fail_msg("%s", rc_message());
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(r.n_steps, 5);
    assert_int_equal(r.final.steps_count, 25);
    assert_int_equal(r.n_losses, 1);
    assert_int_equal(r.loss[0].duty.step, 25);
    train_result_free(&r);
}

/* The timeline cannot be written: what was trained is there, and the reason is. */
UNIT_TEST(keeps_results_without_a_timeline)
{
    static const char options[] = "--model linear --mode allreduce --workers 2 --steps 20";
    struct train_result whole = { 0 }, result = { 0 };
    struct train_job job;

    assert_int_equal(kit_train(&whole, options, NULL, 0), RC_OK);
    assert_int_equal(whole.timeline_rc, RC_OK);
    assert_int_equal(kit_prepare(&job, options), RC_OK);
    job.opts.timeline = "no-such-folder/t.json";
    if (kit_run(&job, &result) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(result.timeline_rc, RC_INVAL);
    assert_string_equal(result.timeline_error, "no-such-folder/t.json: cannot be written: No such file or directory");
    assert_int_equal(result.n_steps, 20);
    assert_int_equal(result.final.steps_count, 20);
    assert_memory_equal(result.final.param, whole.final.param, whole.final.n_params * sizeof(float));
    train_result_free(&whole);
    train_result_free(&result);
    train_job_free(&job);
}

UNIT_MAIN("failures")
