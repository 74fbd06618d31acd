/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_train_test.c CASE [RANKS] - training with the collective "nccl" ends in the bits of "root", which stages through
 * the host: with the substitute library (allreduce/suite/nccl_substitute.h) on a device that is emulated, and with the
 * real one on a GPU (exit 77: there is none).
 *
 *   equal N      N workers, threads         mpi N     the same as processes, of mpiexec
 *   hosts N P    N workers on hosts of P, which the linker makes up: "nccl-hierarchical" and "hierarchical"
 *   late         a group fails late         loss      a worker is lost, and the others go on (--on-loss report)
 *   refusals     what train_prepare() says  one_gpu   devices that are one (on_host)
 *   gpu          1 worker, real library
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/exchange/collective.h"
#include "harness/train/suite/train_kit.h"
#if GRADMARK_CUDA_ON_HOST
#include "harness/compute/cuda/on_host/on_host_test.h"
#endif

enum { OPTIONS_BYTES = 512, SKIPPED = 77 };

/* Of every model that has parameters; buckets of several chunks, updates while gradients are computed. */
static const char *const runs[] = {
    "--model lenet --steps 3 --eval-samples 4",
    "--model lenet --steps 3 --eval-samples 4 --overlap on --bucket-bytes 20000",
    "--model lenet --steps 3 --eval-samples 4 --overlap on --bucket-bytes 20000 --partition-bytes 4096 --momentum 0.9",
    "--model lenet --steps 3 --eval-samples 4 --bucket-bytes 20000 --partition-bytes 4096 --weight-decay 0.001",
    "--model lenet --steps 3 --eval-samples 4 --optimizer adam --lr 0.001 --overlap on --bucket-bytes 20000",
    "--model lenet --steps 3 --eval-samples 4 --optimizer adagrad --lr 0.01",
#if !GRADMARK_CUDA_ON_HOST /* where emulated kernels would take minutes */
    "--model linear --steps 20 --momentum 0.9",
    "--model resnet8 --image-size 16 --width-divisor 4 --steps 4 --eval-samples 7 --overlap on --bucket-bytes 9000",
#endif
};
enum { N_RUNS = sizeof runs / sizeof *runs };

static int ranks_per_host; /* 0: as they are */

enum rc __real_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts);
enum rc __wrap_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts);

enum rc __wrap_world_host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    if (ranks_per_host == 0)
        return __real_world_host_group(w, out, host, n_hosts);
    *host = w->rank / ranks_per_host;
    *n_hosts = (w->n_ranks - 1) / ranks_per_host + 1;
    return out ? world_split(w, *host, w->rank, out) : RC_OK;
}

/* The job as it would run on the device of this program: emulated ones are no choice of --compute, but where they take
 * the place of the real one. */
static enum rc prepare(struct train_job *out, const char *options, const char *reducer, int n_given)
{
    char text[OPTIONS_BYTES];
    enum rc rc;

#if GRADMARK_DEVICE_BY_NAME
    snprintf(text, sizeof text, "%s --compute cuda --reducer %s", options, reducer);
    TRY(kit_prepare_launched(out, text, n_given));
#else
    snprintf(text, sizeof text, "%s --reducer root", options);
    TRY(kit_prepare_launched(out, text, n_given));
    out->compute = &compute_fake_device;
    TRY(collective_find(&out->collective, &collective_kind, reducer));
    out->used[TRAIN_COLLECTIVE] = &out->collective->module;
    out->opts.reducer = out->collective->module.name;
#endif
out:
    return rc;
}

static enum rc train(struct train_result *out, const char *options, const char *reducer, int n_given)
{
    struct train_job job = { 0 };
    enum rc rc;

    *out = (struct train_result){ 0 };
    TRY(prepare(&job, options, reducer, n_given));
    TRY(kit_run(&job, out));
out:
    train_job_free(&job);
    return rc;
}

static bool same(const struct train_result *a, const struct train_result *b)
{
    const size_t n_bytes = a->final.n_params * sizeof(float);

    return a->final.n_params > 0 && a->final.n_params == b->final.n_params &&
           memcmp(a->final.param, b->final.param, n_bytes) == 0 && kit_same_kept(&a->final, &b->final);
}

static int failed(const char *options, const char *why)
{
    fprintf(stderr, "%s: %s\n", options, why);
    return 1;
}

/* other: what reducer must equal. */
static int compare(const char *options, const char *reducer, const char *other)
{
    struct train_result staged = { 0 }, queued = { 0 };
    enum rc rc;
    int n_failures = 0;

    TRY(train(&staged, options, other, 0));
    TRY(train(&queued, options, reducer, 0));
    if (!same(&staged, &queued))
        n_failures += failed(options, "ends in other bits");
    if (queued.rank && queued.rank[0].memory.kind != MEMORY_DEVICE)
        n_failures += failed(options, "its gradients are not in the device's memory");
out:
    if (rc != RC_OK)
        n_failures += failed(options, rc_message());
    train_result_free(&staged);
    train_result_free(&queued);
    return n_failures;
}

static int equal(int n_workers)
{
    char options[OPTIONS_BYTES];
    int n_failures = 0;

    for (int i = 0; i < N_RUNS; i++) {
        snprintf(options, sizeof options, "%s --mode allreduce --workers %d%s", runs[i], n_workers,
                 n_workers > 1 ? " --verify-every 2" : "");
        n_failures += compare(options, "nccl", "root");
    }
    return n_failures;
}

/* What crosses between hosts is in the record: of first ranks alone, as much as where our own messages go
 * through the host's memory, and when it is beside the computing. */
static int counts_bytes(int n_workers)
{
    struct train_result r[3] = { 0 };
    char options[OPTIONS_BYTES];
    enum rc rc;
    int n_failures = 0;

    for (int i = 0; i < 3; i++) {
        snprintf(
            options, sizeof options,
            "--model lenet --steps 3 --eval-samples 4 --bucket-bytes 20000 --mode allreduce --workers %d --overlap %s",
            n_workers, i == 2 ? "on" : "off");
        TRY(train(&r[i], options, i == 0 ? "hierarchical" : "nccl-hierarchical", 0));
        for (int w = 0; w < n_workers; w++) {
            const uint64_t sent_bytes = r[i].rank[w].sent_bytes;
            if ((sent_bytes > 0) != (w % ranks_per_host == 0 && n_workers > ranks_per_host))
                n_failures += failed(options, "bytes between hosts are not those of the first ranks");
            if (sent_bytes != r[0].rank[w].sent_bytes)
                n_failures += failed(options, "bytes between hosts are others than those of hierarchical");
        }
    }
out:
    if (rc != RC_OK)
        n_failures += failed(options, rc_message());
    for (int i = 0; i < 3; i++)
        train_result_free(&r[i]);
    return n_failures;
}

/* One run where emulated kernels take their time. */
static int on_hosts(int n_workers)
{
    const int first = GRADMARK_CUDA_ON_HOST ? 2 : 0, end = GRADMARK_CUDA_ON_HOST ? 3 : N_RUNS;
    char options[OPTIONS_BYTES];
    int n_failures = 0;

    for (int i = first; i < end; i++) {
        snprintf(options, sizeof options, "%s --mode allreduce --workers %d", runs[i], n_workers);
        n_failures += compare(options, "nccl-hierarchical", "hierarchical");
    }
    return n_failures + counts_bytes(n_workers);
}

/* One world of MPI a process: the other run is one of threads, in rank 0's. */
static int in_mpi(int n_workers)
{
    const char *options = runs[2];
    struct train_result staged = { 0 }, queued = { 0 };
    char text[OPTIONS_BYTES];
    enum rc rc = RC_OK;
    int n_failures = 0;

    snprintf(text, sizeof text, "%s --mode allreduce --workers %d --world threads", options, n_workers);
    if (world_launcher().rank == 0)
        TRY(train(&staged, text, "root", 0));
    snprintf(text, sizeof text, "%s --mode allreduce --world mpi", options);
    TRY(train(&queued, text, "nccl", n_workers));
    if (world_launcher().rank == 0 && !same(&staged, &queued))
        n_failures += failed(options, "ends in other bits than among threads");
out:
    if (rc != RC_OK)
        n_failures += failed(options, rc_message());
    train_result_free(&staged);
    train_result_free(&queued);
    return n_failures;
}

/* The run must fail and say both. */
static int fails(const char *options, const char *says, const char *why)
{
    struct train_result result = { 0 };
    const enum rc rc = train(&result, options, "nccl", 0);

    train_result_free(&result);
    if (rc != RC_OK && strstr(rc_message(), says) && strstr(rc_message(), why))
        return 0;
    fprintf(stderr, "%s: %s: %s; should say \"%s\" and \"%s\"\n", options, rc_name(rc), rc_message(), says, why);
    return 1;
}

static int late(void)
{
    int n_failures = 0;

    n_failures += fails("--model lenet --eval-samples 4 --mode allreduce --workers 3 --steps 6",
                        "rank 1: collective nccl: ", "unhandled system error: the substitute was made to fail");
    n_failures +=
        fails("--model lenet --eval-samples 4 --mode allreduce --workers 3 --steps 6 --overlap on --bucket-bytes 20000",
              "rank 1: collective nccl: ", "unhandled system error: the substitute was made to fail");
    return n_failures;
}

/* The others go back to the last step that all have done: the bits of a run of so many steps. */
static int loss(void)
{
    static const char all[] = "--model lenet --eval-samples 4 --mode allreduce --workers 3 --momentum 0.9";
    struct train_result lost = { 0 }, whole = { 0 };
    char options[OPTIONS_BYTES];
    enum rc rc;
    int n_failures = 0;

    snprintf(options, sizeof options, "%s --steps 9 --on-loss report --inject kill:2@5", all);
    TRY(train(&lost, options, "nccl", 0));
    /* Who still waits for the sums of the step before when the loss is noticed gives them up. */
    if (lost.n_losses != 1 || lost.n_steps < 4 || lost.n_steps > 5)
        n_failures += failed(options, "the loss of one worker in step 5 was not noticed as that");
    snprintf(options, sizeof options, "%s --steps %zu", all, lost.n_steps);
    TRY(train(&whole, options, "nccl", 0));
    if (!same(&lost, &whole))
        n_failures += failed(options, "what is left has other bits than a run of so many steps");
out:
    if (rc != RC_OK)
        n_failures += failed(options, rc_message());
    train_result_free(&lost);
    train_result_free(&whole);
    return n_failures;
}

#if GRADMARK_CUDA_ON_HOST
/* What the library takes of the GPU is no room for a batch. */
static int counts_the_library(void)
{
    static const char options[] = "--model lenet --mode allreduce --workers 2 --compute cuda --reducer ";
    const char *const reducer[2] = { "ring", "nccl" };
    size_t n_bytes[2] = { 0, 0 };
    enum rc rc = RC_OK;

    for (int i = 0; i < 2 && rc == RC_OK; i++) {
        struct train_job job = { 0 };
        char text[OPTIONS_BYTES];
        snprintf(text, sizeof text, "%s%s", options, reducer[i]);
        rc = kit_prepare(&job, text);
        n_bytes[i] = job.memory.host_bytes;
        train_job_free(&job);
    }
    if (rc == RC_OK && n_bytes[1] - n_bytes[0] == (size_t)256 << 20)
        return 0;
    fprintf(stderr, "%s: %zu bytes of the GPU, and %zu with nccl\n", rc == RC_OK ? "prepared" : rc_message(),
            n_bytes[0], n_bytes[1]);
    return 1;
}
#endif

#if GRADMARK_CUDA_ON_HOST
/* What --cuda.packed changes of the memory of a training is counted as the option says.
 * Regression: --cuda.packed off counted as on. */
static int counts_packed_arrays(void)
{
    static const char *const packed[] = { "", " --cuda.packed on", " --cuda.packed off" };
    size_t n_bytes[3] = { 0 };
    enum rc rc = RC_OK;

    for (int i = 0; i < 3 && rc == RC_OK; i++) {
        struct train_job job = { 0 };
        char text[OPTIONS_BYTES];
        snprintf(text, sizeof text, "--model resnet8 --mode single --compute cuda --precision bf16%s", packed[i]);
        rc = kit_prepare(&job, text);
        n_bytes[i] = job.memory.host_bytes;
        train_job_free(&job);
    }
    if (rc == RC_OK && n_bytes[0] == n_bytes[1] && n_bytes[1] != n_bytes[2])
        return 0;
    fprintf(stderr, "%s: %zu, %zu and %zu bytes of the GPU\n", rc == RC_OK ? "prepared" : rc_message(), n_bytes[0],
            n_bytes[1], n_bytes[2]);
    return 1;
}
#endif

/* Preparation alone. */
static int refuses(const char *options, const char *says)
{
    struct train_job job = { 0 };
    const enum rc rc = kit_prepare(&job, options);

    train_job_free(&job);
    if (rc != RC_OK && strstr(rc_message(), says))
        return 0;
    fprintf(stderr, "%s: %s: %s; should say \"%s\"\n", options, rc_name(rc), rc_message(), says);
    return 1;
}

static int refusals(void)
{
    int n_failures = 0;

    n_failures += refuses("--model lenet --mode allreduce --reducer nccl --workers 2",
                          "--reducer nccl: sums in the memory of GPUs; needs --compute cuda, but that is cpu");
#if GRADMARK_CUDA_ON_HOST
    n_failures += refuses("--model lenet --mode allreduce --reducer nccl --workers 2 --compute cuda --priority on "
                          "--overlap on --bucket-bytes 20000",
                          "the reducer sums on the device");
    n_failures += refuses("--model lenet --mode allreduce --reducer nccl --workers 2 --compute cuda --shard-dense 2",
                          "--shard-dense 2: reducers on GPUs sum over all workers, not over those with the same shard; "
                          "use --reducer ring");
    n_failures += refuses("--model lenet --mode allreduce --reducer nccl --workers 2 --compute cuda --world sim",
                          "needs --world threads or mpi or tcp, but that is sim");
    n_failures += counts_the_library();
    n_failures += counts_packed_arrays();
    (void)setenv("GRADMARK_NCCL_LIBRARY", "/nonexistent", 1);
    n_failures += refuses("--model lenet --mode allreduce --reducer nccl --workers 2 --compute cuda",
                          "--reducer nccl: GRADMARK_NCCL_LIBRARY names no NCCL: /nonexistent: ");
#endif
    return n_failures;
}

static int one_gpu(void)
{
#if GRADMARK_CUDA_ON_HOST
    on_host_set_n_devices(1);
#endif
    return fails("--model lenet --eval-samples 4 --mode allreduce --workers 2 --steps 2 --share-device",
                 "collective nccl: ranks 0 and 1 share the GPU emulated:00, which NCCL refuses",
                 "give each worker a GPU");
}

/* The emulated device loses its orders: the stream of the exchange does not wait for gradients. */
static int lose_orders(void)
{
    struct train_result staged = { 0 }, queued = { 0 };
    enum rc rc = RC_OK;
    int n_failures = 1;

#if GRADMARK_CUDA_ON_HOST
    on_host_set(&(struct on_host_limits){ .memory_bytes = (size_t)1 << 30, .n_devices = 2 });
    TRY(train(&staged, "--model lenet --eval-samples 4 --mode allreduce --workers 2 --steps 2", "root", 0));
    on_host_set(&(struct on_host_limits){ .memory_bytes = (size_t)1 << 30, .n_devices = 2, .lose_orders = 1 });
    rc = train(&queued, "--model lenet --eval-samples 4 --mode allreduce --workers 2 --steps 2", "nccl", 0);
    n_failures = rc == RC_OK && same(&staged, &queued);
out:
#endif
    if (n_failures > 0)
        fprintf(stderr, "a lost order was not noticed: %s\n", rc != RC_OK ? rc_message() : "the bits are the same");
    train_result_free(&staged);
    train_result_free(&queued);
    return n_failures;
}

static int on_gpu(void)
{
    static const char options[] = "--model lenet --eval-samples 4 --mode allreduce --workers 1 --steps 20";
    struct train_job job = { 0 };
    const enum rc rc = prepare(&job, options, "nccl", 0);
    char text[OPTIONS_BYTES];
    int n_failures = 0;

    train_job_free(&job);
    if (rc == RC_UNSUPPORTED) {
        printf("skipped: %s\n", rc_message());
        return getenv("GRADMARK_REQUIRE_GPU") && !strstr(rc_message(), "NCCL was not found") ? 1 : SKIPPED;
    }
    for (int i = 0; i < N_RUNS; i++) {
        snprintf(text, sizeof text, "%s --mode allreduce --workers 1", runs[i]);
        n_failures += compare(text, "nccl", "ring");
    }
    return n_failures;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } cases[] = { { "late", late },
                  { "loss", loss },
                  { "refusals", refusals },
                  { "one_gpu", one_gpu },
                  { "lose_orders", lose_orders },
                  { "gpu", on_gpu } };

#if GRADMARK_CUDA_ON_HOST
    on_host_set_n_devices(4);
#endif
    if (argc == 3 && strcmp(argv[1], "equal") == 0)
        return equal(atoi(argv[2])) > 0;
    if (argc == 3 && strcmp(argv[1], "mpi") == 0)
        return in_mpi(atoi(argv[2])) > 0;
    if (argc == 4 && strcmp(argv[1], "hosts") == 0) {
        ranks_per_host = atoi(argv[3]);
        return on_hosts(atoi(argv[2])) > 0;
    }
    for (size_t i = 0; argc == 2 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            const int n = cases[i].run();
            return n == SKIPPED ? SKIPPED : n > 0;
        }
    fprintf(stderr, "usage: nccl_train_test CASE | equal WORKERS | hosts WORKERS PER_HOST | mpi WORKERS\n");
    return 2;
}
