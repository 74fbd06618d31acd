/* SPDX-License-Identifier: Apache-2.0 */
/* vary_test.c - a job varied to other options of its exchange is the job prepared with them; a trial times steps alone.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/exchange/collective.h"
#include "harness/train/suite/train_kit.h"
#include "harness/world/stop.h"

static const char base_options[] = "--model lenet --mode allreduce --workers 3 --threads 1 --steps 4 --eval-samples 0";

static void prepare(struct train_job *job, const char *more)
{
    char options[256];

    (void)snprintf(options, sizeof options, "%s%s", base_options, more);
    if (kit_prepare(job, options) != RC_OK)
        fail_msg("%s: %s", options, rc_message());
}

UNIT_TEST(a_varied_job_is_the_prepared_one)
{
    static const char *const reducer[] = { "ring", "halving-doubling", "tree", "shm", "hierarchical", "auto" };
    struct train_job base, varied, prepared;

    for (size_t b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof reducer / sizeof *reducer; i++) {
            char more[128];
            prepare(&base, b == 0 ? "" : " --reducer shm");
            struct train_opts opts = base.opts;
            opts.reducer = reducer[i];
            opts.bucket_bytes = 8192;
            opts.partition_bytes = 4096;
            assert_int_equal(train_vary(&varied, &base, &opts), RC_OK);
            (void)snprintf(more, sizeof more, " --reducer %s --bucket-bytes 8Ki --partition-bytes 4Ki", reducer[i]);
            prepare(&prepared, more);
            assert_string_equal(varied.collective->module.name, reducer[i]);
            assert_memory_equal(varied.used, prepared.used, sizeof varied.used);
            assert_int_equal(varied.exchange.buckets.bucket_bytes, 8192);
            assert_int_equal(varied.exchange.buckets.partition_bytes, 4096);
            assert_int_equal(varied.exchange.shared_memory, prepared.exchange.shared_memory);
            assert_int_equal(varied.memory.exchange_bytes, prepared.memory.exchange_bytes);
            assert_int_equal(varied.memory.host_bytes, prepared.memory.host_bytes);
            train_job_free(&base);
            train_job_free(&prepared);
        }
}

UNIT_TEST(what_cannot_be_had_is_said)
{
    struct train_job base, varied = { .n_steps = 77 };

    prepare(&base, "");
    struct train_opts opts = base.opts;
    opts.reducer = "nccl"; /* sums in memory that a cpu has not, where it is built in */
    assert_true(train_vary(&varied, &base, &opts) != RC_OK);
    assert_int_equal(varied.n_steps, 77);
    opts.reducer = "tree";
    assert_int_equal(train_vary(&varied, &base, &opts), RC_OK);
    base.memory.available_bytes = varied.memory.host_bytes; /* not a byte more */
    assert_int_equal(train_vary(&varied, &base, &opts), RC_OK);
    base.memory.available_bytes--;
    assert_int_equal(train_vary(&varied, &base, &opts), RC_INVAL);
    assert_non_null(strstr(rc_message(), "are available"));
    train_job_free(&base);
}

struct shared {
    struct train_job job;
    struct train_result result;
};

/* The parameters are those of a run, to the bit; nothing is measured that a trial has no use for. */
UNIT_TEST(trials_time_steps_alone)
{
    struct shared s = { .result = { 0 } };
    struct train_result run;

    kit_must_train(&run, base_options);
    assert_true(run.limits.compute_s > 0 && run.has_limits_after);
    prepare(&s.job, "");
    s.job.is_trial = true;
    assert_int_equal(kit_run(&s.job, &s.result), RC_OK);
    assert_true(s.result.limits.compute_s == 0 && !s.result.has_limits_after);
    assert_int_equal(s.result.n_steps, 4);
    assert_memory_equal(s.result.final.param, run.final.param, s.job.n_params * sizeof(float));
    train_result_free(&run);
    train_result_free(&s.result);
    train_job_free(&s.job);
}

enum { N_FIRST_STEPS = 10 };

static enum rc two_trainings(struct world *w, void *arg)
{
    struct shared *s = arg;
    struct train_job first = s->job;
    struct train_result result = { 0 };
    enum rc rc;

    first.is_trial = true;
    first.n_steps = N_FIRST_STEPS;
    first.n_begun_before = 0;
    TRY(train_rank(w, &first, &result));
    TRY(world_barrier(w));
    if (w->rank == 0)
        (void)raise(SIGTERM);
    TRY(world_barrier(w));
    TRY(train_rank(w, &s->job, &s->result));
out:
    train_result_free(&result);
    return rc;
}

/* In sim, where it is known which rank begins a step first: the others still show the last step of the training before.
 * A signal that comes between the two ends the second one behind its first step. */
UNIT_TEST(steps_are_counted_through)
{
    struct shared s = { .result = { 0 } };

    assert_int_equal(
        kit_prepare(&s.job, "--world sim --compute hollow --model lenet --mode allreduce --workers 3 --steps 4"),
        RC_OK);
    s.job.n_begun_before = N_FIRST_STEPS;
    stop_catch();
    const struct world_opts world = train_world_opts(&s.job);
    assert_int_equal(world_run(s.job.world, &world, s.job.n_ranks, two_trainings, &s), RC_OK);
    stop_release();
    assert_int_equal(s.result.n_steps, 1);
    assert_int_equal(s.result.stop_signal, SIGTERM);
    train_result_free(&s.result);
    train_job_free(&s.job);
}

UNIT_MAIN("vary")
