/* SPDX-License-Identifier: Apache-2.0 */
/* device_test.c - the devices of workers: which each opens, and that two on one are refused unless asked for. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/train/job.h"
#include "harness/train/suite/train_kit.h"

enum { MAX_OPENED = 16 };

static struct {
    int n_devices;
    int n_opened[MAX_OPENED]; /* of each device */
} made;

static enum rc count(int *out)
{
    *out = made.n_devices;
    return RC_OK;
}

static void id(struct compute *c, char out[COMPUTE_DEVICE_ID_BYTES])
{
    snprintf(out, COMPUTE_DEVICE_ID_BYTES, "made:%d", c->env.device);
}

static enum rc open_counted(struct compute **out, const struct compute_env *env)
{
    assert(env->device >= 0 && env->device < made.n_devices);
    __atomic_fetch_add(&made.n_opened[env->device], 1, __ATOMIC_SEQ_CST);
    return compute_fake_device.open(out, env);
}

/* A backend of so many devices. */
static const struct compute_backend *gpu(int n_devices)
{
    static struct compute_backend backend;

    memset(&made, 0, sizeof made);
    made.n_devices = n_devices;
    backend = compute_fake_device;
    backend.device_kind = "GPU";
    backend.device_count = count;
    backend.device_id = id;
    backend.open = open_counted;
    return &backend;
}

struct run {
    struct train_job job;
    struct train_result result;
};

/* --share-device is set behind preparation, which knows of the cpu alone. */
static enum rc train(struct run *run, const char *options, int n_devices, bool shares)
{
    enum rc rc;

    *run = (struct run){ .result = { .n_workers = 0 } };
    TRY(kit_prepare(&run->job, options));
    run->job.compute = gpu(n_devices);
    run->job.opts.share_device = shares;
    TRY(kit_run(&run->job, &run->result));
out:
    return rc;
}

static void free_run(struct run *run)
{
    train_result_free(&run->result);
    train_job_free(&run->job);
}

static const char two_workers[] = "--model linear --mode allreduce --workers 2 --batch 4 --steps 2";
static const char three_workers[] = "--model linear --mode none --workers 3 --batch 4 --steps 2";

UNIT_TEST(sharing_is_refused)
{
    struct run run;

    assert_int_equal(train(&run, two_workers, 1, false), RC_INVAL);
    assert_names(rc_message(), "--workers 2: workers 0 and 1 ... GPU made:0");
    assert_names(rc_message(), "worker 1 ... 1 ... --share-device");
    free_run(&run);
    assert_int_equal(train(&run, three_workers, 2, false), RC_INVAL);
    assert_names(rc_message(), "workers 0 and 2 ... GPU made:0");
    free_run(&run);
}

UNIT_TEST(sharing_is_asked_for)
{
    struct run run;

    if (train(&run, three_workers, 2, true) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(made.n_opened[0] == 2 && made.n_opened[1] == 1);
    assert_string_equal(run.result.rank[0].device, "made:0");
    assert_string_equal(run.result.rank[1].device, "made:1");
    assert_string_equal(run.result.rank[2].device, "made:0");
    assert_int_equal(train_most_on_device(&run.result), 2);
    free_run(&run);
}

UNIT_TEST(each_worker_has_one)
{
    struct run run;

    if (train(&run, two_workers, 4, false) != RC_OK)
        fail_msg("%s", rc_message());
    assert_true(made.n_opened[0] == 1 && made.n_opened[1] == 1 && made.n_opened[2] == 0);
    assert_int_equal(train_most_on_device(&run.result), 1);
    free_run(&run);
    /* a server computes on the CPU */
    if (train(&run, "--model linear --mode ps --workers 1 --servers 1 --batch 4 --steps 2", 1, false) != RC_OK)
        fail_msg("%s", rc_message());
    assert_string_equal(run.result.rank[0].device, "made:0");
    assert_string_equal(run.result.rank[1].device, "");
    free_run(&run);
}

UNIT_TEST(a_cpu_is_not_shared)
{
    struct train_result r = { 0 };
    struct train_job job = { 0 };

    assert_int_equal(kit_prepare(&job, "--model linear --share-device"), RC_INVAL);
    assert_names(rc_message(), "--share-device: ... --compute cuda");
    assert_int_equal(kit_train(&r, two_workers, NULL, 0), RC_OK);
    assert_int_equal(train_most_on_device(&r), 0);
    train_result_free(&r);
}

/* The same number on two hosts is two devices; in two containers of one system it is one. */
UNIT_TEST(devices_are_of_a_host)
{
    static const struct {
        const char *host[2], *kernel[2];
        int n_most;
    } cases[] = {
        { { "a", "b" }, { "1", "2" }, 1 }, { { "a", "a" }, { "1", "1" }, 2 }, { { "a", "b" }, { "1", "1" }, 2 },
        { { "a", "a" }, { "1", "2" }, 1 }, { { "a", "b" }, { "", "" }, 1 },   { { "a", "a" }, { "", "" }, 2 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_rank_info rank[2] = { { .number = 0 }, { .number = 1 } };
        const struct train_result r = { .n_workers = 2, .n_ranks = 2, .rank = rank };
        for (int k = 0; k < 2; k++) {
            snprintf(rank[k].host, sizeof rank[k].host, "%s", cases[i].host[k]);
            snprintf(rank[k].kernel, sizeof rank[k].kernel, "%s", cases[i].kernel[k]);
            snprintf(rank[k].device, sizeof rank[k].device, "0000:1b:00.0");
        }
        if (train_most_on_device(&r) != cases[i].n_most)
            fail_msg("case %zu: %d on one device", i, train_most_on_device(&r));
    }
}

/* A process that a launcher started looks at its own device alone, a server at none. */
UNIT_TEST(processes_prepare_with_their_own)
{
    static const struct world_ops launched = { .module = { .name = "made", .caps = WORLD_LAUNCHED } };
    static const struct {
        const char *rank, *host_rank; /* NULL: the launcher does not tell */
        int device;                   /* -1: none */
    } cases[] = {
        { "0", "0", 0 }, { "1", "1", 1 }, { "5", "2", 2 }, { "2", NULL, 2 }, { "3", "5", 1 }, { "6", "3", -1 }
    };

    assert_int_equal(unsetenv("SLURM_LOCALID"), 0); /* of a launcher of this test */
    assert_int_equal(unsetenv("MPI_LOCALRANKID"), 0);
    assert_int_equal(unsetenv("PALS_LOCAL_RANKID"), 0);
    assert_int_equal(setenv("OMPI_COMM_WORLD_SIZE", "7", 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        assert_int_equal(unsetenv("OMPI_COMM_WORLD_RANK"), 0);
        assert_int_equal(kit_prepare(&job, "--model linear"), RC_OK);
        job.compute = gpu(4);
        job.world = &launched;
        job.n_workers = 6;
        job.n_ranks = 7;
        assert_int_equal(setenv("OMPI_COMM_WORLD_RANK", cases[i].rank, 1), 0);
        assert_int_equal(unsetenv("OMPI_COMM_WORLD_LOCAL_RANK"), 0);
        if (cases[i].host_rank)
            assert_int_equal(setenv("OMPI_COMM_WORLD_LOCAL_RANK", cases[i].host_rank, 1), 0);
        if (job_memory_resolve(&job, NULL) != RC_OK)
            fail_msg("rank %s: %s", cases[i].rank, rc_message());
        for (int k = 0; k < 4; k++)
            if (made.n_opened[k] != (k == cases[i].device))
                fail_msg("rank %s: device %d was opened %d times", cases[i].rank, k, made.n_opened[k]);
        train_job_free(&job);
    }
}

/* Of one device, whose memory the workers on it share. */
UNIT_TEST(memory_is_of_all_on_a_device)
{
    size_t n_bytes[2] = { 0, 0 };

    assert_int_equal(unsetenv("OMPI_COMM_WORLD_RANK"), 0);
    for (int shares = 0; shares < 2; shares++) {
        struct train_job job = { 0 };
        assert_int_equal(kit_prepare(&job, three_workers), RC_OK);
        job.compute = gpu(shares ? 2 : 3);
        job.opts.share_device = shares;
        assert_int_equal(job_memory_resolve(&job, NULL), RC_OK);
        n_bytes[shares] = job.memory.host_bytes;
        train_job_free(&job);
    }
    assert_true(n_bytes[0] > 0 && n_bytes[1] == 2 * n_bytes[0]);
}

/* Before anything starts, where one process sees the devices of all. */
UNIT_TEST(too_many_workers_are_refused)
{
    static const struct {
        int n_devices;
        const char *says; /* NULL: nothing */
    } cases[] = { { 1, "--workers 3: there is 1 GPU here; use 1, or --share-device" },
                  { 2, "--workers 3: there are 2 GPUs here; use 2, or --share-device" },
                  { 3, NULL } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct train_job job = { 0 };
        assert_int_equal(kit_prepare(&job, three_workers), RC_OK);
        job.compute = gpu(cases[i].n_devices);
        assert_int_equal(job_memory_resolve(&job, NULL), cases[i].says ? RC_INVAL : RC_OK);
        if (cases[i].says)
            assert_string_equal(rc_message(), cases[i].says);
        train_job_free(&job);
    }
}

UNIT_MAIN("devices")
