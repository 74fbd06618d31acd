/* SPDX-License-Identifier: Apache-2.0 */
/* job_overlap_test.c - when --overlap auto and --priority auto come to on, and why; and what a run makes of it. */
#include "harness/train/job_exchange.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/train_kit.h"

#define ALLREDUCE "--world sim --mode allreduce --workers 2"
#define CUT ALLREDUCE " --bucket-bytes 8Ki"

static bool is_unbuilt(enum rc rc)
{
    return rc == RC_UNSUPPORTED;
}

/* train.O1: what stands in the way before any world; "": nothing. */
UNIT_TEST(what_stands_in_the_way)
{
    static const struct {
        const char *options;
        int n_launched;
        bool may_overlap;
        const char *reason;
    } c[] = {
        { CUT, 0, true, "" },
        { CUT " --overlap auto --reducer hierarchical", 0, true, "" },
        { CUT " --priority off --compression fp16 --on-loss report", 0, true, "" },
        { CUT " --alternate-exchange 2", 0, true, "" },
        { CUT " --overlap off", 0, false, "" },
        { CUT " --overlap on", 0, false, "" },
        { "--mode none --workers 2", 0, false, "" },
        { CUT " --shard-dense 2", 0, true, "" },
        { ALLREDUCE " --shard-dense 2", 0, true, "" },
        { ALLREDUCE, 0, false, "the gradients are one chunk" },
        { ALLREDUCE " --bucket-bytes 1Mi", 0, false, "the gradients are one chunk" },
        { "--mode allreduce --bucket-bytes 8Ki", 0, false, "nothing crosses between workers" },
        { CUT " --omit average", 0, false, "nothing crosses between workers" },
        { "--mode ps --workers 2 --bucket-bytes 8Ki", 0, false,
          "was not measured to be faster with parameter servers" },
        { CUT " --average-every 2", 0, false, "--average-every averages parameters behind the step" },
        { CUT " --alternate-exchange 2 --priority on", 0, false, "--alternate-exchange goes with --priority off" },
        { "--world threads --mode allreduce --workers 2 --bucket-bytes 8Ki", 0, false, "all workers are on one host" },
        { "--world mpi --mode allreduce --bucket-bytes 8Ki", 2, true, "" },
        { "--world mpi --mode allreduce --bucket-bytes 8Ki --reducer mpi --mpi.nonblocking", 2, true, "" },
        { "--world mpi --mode allreduce --bucket-bytes 8Ki --reducer mpi", 2, false, "--reducer mpi: " },
    };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct train_job job = { 0 };
        char options[256];
        (void)snprintf(options, sizeof options, "--model lenet --steps 40 %s", c[i].options);
        const enum rc rc = kit_prepare_launched(&job, options, c[i].n_launched);
        if (is_unbuilt(rc))
            continue;
        if (rc != RC_OK)
            fail_msg("%s: %s", options, rc_message());
        if (job.may_overlap != c[i].may_overlap || strncmp(job.overlap_reason, c[i].reason, strlen(c[i].reason)) != 0 ||
            (c[i].reason[0] == '\0' && job.overlap_reason[0]))
            fail_msg("%s: %d, \"%s\"", options, job.may_overlap, job.overlap_reason);
        assert_int_equal(job.exchange.overlap, strstr(options, "--overlap on") != NULL);
        train_job_free(&job);
    }
}

/* train.O1 to O3 */
UNIT_TEST(hosts_decide)
{
    static const struct {
        const char *options;
        int n_hosts;
        bool tasks_may_send, overlaps, by_priority;
        const char *reason;
    } c[] = {
        { "", 1, true, false, false, "all workers are on one host" },
        { "", 2, true, true, true, "workers are on 2 hosts" },
        { "", 4, false, false, false,
          "MPI grants MPI_THREAD_FUNNELED, so that a task beside the main one cannot send" },
        { "--priority off", 4, true, true, false, "workers are on 4 hosts" },
        { "--priority on", 4, true, true, true, "workers are on 4 hosts" },
        { "--priority on", 1, true, false, true, "all workers are on one host" },
        { "--alternate-exchange 2", 4, true, true, false, "workers are on 4 hosts" },
        { "--shard-dense 2", 4, true, true, true, "workers are on 4 hosts" },
        { "--shard-dense 2 --priority on", 4, true, true, true, "workers are on 4 hosts" },
        { "--workers 3 --shard-dense 3 --partition-bytes 1024", 4, true, true, false, "workers are on 4 hosts" },
        { "--overlap on", 4, true, true, false, "" },
        { "--overlap on", 1, true, true, false, "" },
        { "--overlap on --priority on", 4, true, true, true, "" },
        { "--overlap off", 4, true, false, false, "" },
        { "--overlap off --priority on", 4, true, false, true, "" },
        { "--average-every 2", 4, true, false, false, "--average-every averages parameters behind the step" },
    };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct train_job job = { 0 };
        char options[256];
        (void)snprintf(
            options, sizeof options, "--model lenet --steps 40 --world sim --mode allreduce --bucket-bytes 8Ki%s%s%s",
            strstr(c[i].options, "--workers") ? "" : " --workers 2", c[i].options[0] ? " " : "", c[i].options);
        if (kit_prepare(&job, options) != RC_OK)
            fail_msg("%s: %s", options, rc_message());
        const struct overlap_choice chosen =
            job_overlap_choose(&job, c[i].n_hosts, c[i].tasks_may_send, "MPI_THREAD_FUNNELED");
        if (chosen.overlaps != c[i].overlaps || chosen.by_priority != c[i].by_priority)
            fail_msg("%s, %d hosts: %d, %d", options, c[i].n_hosts, chosen.overlaps, chosen.by_priority);
        assert_string_equal(chosen.reason, c[i].reason);
        train_job_free(&job);
    }
}

/* Other buckets than the job's were prepared with: as --autotune tries them. */
UNIT_TEST(a_varied_job_is_decided_anew)
{
    struct train_job base, varied;

    assert_int_equal(kit_prepare(&base, "--model lenet " ALLREDUCE), RC_OK);
    struct train_opts opts = base.opts;
    opts.bucket_bytes = 8192;
    assert_int_equal(train_vary(&varied, &base, &opts), RC_OK);
    assert_true(varied.may_overlap && !base.may_overlap);
    assert_string_equal(varied.overlap_reason, "");
    train_job_free(&base);
}

static uint64_t hidden_ns(const struct train_result *r)
{
    uint64_t sum_ns = 0;

    for (size_t i = 0; i < (size_t)r->n_workers * r->n_steps; i++)
        sum_ns += r->stamp[i].hidden_ns;
    return sum_ns;
}

/* Four workers, n_on_host of them on each host of a simulated cluster: with overlap or without, the bits are those of
 * one process that does not overlap. */
static void in_sim(int n_on_host, const char *reason)
{
    static const char same[] = "--model lenet --steps 4 --workers 4 --mode allreduce --bucket-bytes 8Ki "
                               "--eval-samples 0";
    struct train_result inline_ = { 0 }, chosen = { 0 };
    char options[256];

    (void)snprintf(options, sizeof options, "%s --world threads --overlap off", same);
    kit_must_train(&inline_, options);
    assert_string_equal(inline_.overlap.reason, "");
    (void)snprintf(options, sizeof options, "%s --world sim --cluster-set ranks_per_host_count=%d", same, n_on_host);
    kit_must_train(&chosen, options);
    assert_string_equal(chosen.overlap.reason, reason);
    assert_int_equal(chosen.overlap.overlaps, n_on_host < 4);
    assert_int_equal(chosen.overlap.by_priority, n_on_host < 4);
    assert_int_equal(hidden_ns(&chosen) > 0, n_on_host < 4);
    assert_memory_equal(chosen.final.param, inline_.final.param, inline_.final.n_params * sizeof(float));
    train_result_free(&inline_);
    train_result_free(&chosen);
}

UNIT_TEST_OF("hosts", several_hosts_overlap)
{
    in_sim(2, "workers are on 2 hosts");
}

UNIT_TEST_OF("one_host", one_host_does_not)
{
    in_sim(4, "all workers are on one host");
}

/* hosts|one_host: in virtual time, in a process of its own. */
UNIT_MAIN("job_overlap")
