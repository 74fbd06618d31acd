/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_test.c WORLD TRANSPORT MODE - exchange_suite with and without overlap, priority, buckets and chunks.
 * exchange_test.c WORLD TRANSPORT MODE COMPRESSION - the same with it, and two workers at most (E9).
 * exchange_test.c mutant I - on mutant I of the modes (sync_mutants.h), in threads: some case must catch it.
 * exchange_test.c WORLD TRANSPORT stopped - E7: back to the last common step, wherever an allreduce is stopped.
 * exchange_test.c stopped_mutant I - the suite catches it when that mode has bug I of exchange_suite.h.
 * exchange_test.c plans - E3: ranks that cut their gradients differently are found and named.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/sync_allreduce.h"
#include "harness/compute/suite/fake_device.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/train/suite/exchange_suite.h"
#include "harness/train/suite/sync_mutants.h"
#include "harness/train/train.h"
#include "harness/world/world.h"
#include "ps/ps.h"

static const struct exchange_opts plans[] = {
    { .overlap = false },
    { .buckets = { .bucket_bytes = 100 } },
    { .buckets = { .bucket_bytes = 100, .partition_bytes = 48 }, .priority = true, .n_in_flight = 3 },
    { .buckets = { .partition_bytes = 4 }, .n_in_flight = 8 },
    { .overlap = true },
    { .overlap = true, .buckets = { .bucket_bytes = 100 } },
    { .overlap = true, .buckets = { .bucket_bytes = 100, .partition_bytes = 48 }, .n_in_flight = 2 },
    { .overlap = true, .buckets = { .bucket_bytes = 100, .partition_bytes = 48 }, .priority = true },
    { .overlap = true, .buckets = { .bucket_bytes = 4 }, .priority = true, .n_in_flight = 8 },
};
enum { N_PLANS = sizeof plans / sizeof *plans };
static const uint64_t n_chunks_of[N_PLANS] = { 1, 4, 8, 76, 1, 4, 8, 8, 7 }; /* of the suite's 7 segments */

struct run {
    struct exchange_case c;
    struct compression compression; /* of every plan */
    int quiet;
    _Atomic int n_failures;
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    const int n_failures = exchange_suite(w, &run->c, run->quiet);

    run->n_failures += n_failures;
    return n_failures > 0 ? rc_raise(RC_MISMATCH, "%d failures", n_failures) : RC_OK;
}

/* All plans in one run of the world, which in sim and mpi can run but once. */
static enum rc body_of_all(struct world *w, void *arg)
{
    struct run *run = arg;

    for (int i = 0; i < N_PLANS; i++) {
        run->c.opts = plans[i];
        run->c.opts.compression = run->compression;
        const enum rc rc = body(w, run);
        if (rc != RC_OK) {
            fprintf(stderr, "plan %d\n", i);
            return rc;
        }
    }
    return RC_OK;
}

/* Where chunks are i of a step: before the first, in and at the end of a step, before and at the last of all. */
static uint64_t stop_at(int i, uint64_t n_chunks)
{
    const uint64_t n_calls[] = { 0, n_chunks - 1, 2 * n_chunks, 2 * n_chunks + n_chunks / 2, 6 * n_chunks - 1 };

    return n_calls[i];
}

/* All plans, each stopped at five calls; 1 and 2 of 4 workers have got the sum of the last one, and where they take
 * chunks in the order of worker 0 (E6) none has: without a world in which a rank is lost, they would wait for its next.
 */
static enum rc body_of_stopped(struct world *w, void *arg)
{
    struct run run = *(struct run *)arg;
    struct stopped_plan stopped = *run.c.stopped;
    enum rc rc = RC_OK;

    run.c.stopped = &stopped;
    for (int i = 0; i < 5 * N_PLANS && rc == RC_OK; i++) {
        run.c.opts = plans[i / 5];
        run.c.n_chunks = n_chunks_of[i / 5];
        stopped.n_calls = stop_at(i % 5, run.c.n_chunks);
        stopped.late_ranks = run.c.opts.overlap && run.c.opts.priority ? 0 : i % 2 ? 0x2 : 0xc;
        run.n_failures = 0;
        rc = body(w, &run);
        if (rc != RC_OK && !run.quiet)
            fprintf(stderr, "plan %d, stopped at call %llu\n", i / 5, (unsigned long long)stopped.n_calls);
    }
    return rc;
}

static struct exchange_case case_of(const struct sync_mode *mode, const char *transport, int n_workers)
{
    struct exchange_case c = { .mode = mode,
                               .compute = &compute_cpu,
                               .n_workers = n_workers,
                               .n_servers = mode->module.caps & MODE_SERVERS ? 2 : 0 };

    if (mode_exchanges(&mode->module) && transport_find(&c.transport, transport) != RC_OK)
        exit(2);
    if (mode->module.caps & MODE_COLLECTIVE && collective_find(&c.collective, &collective_kind, "ring") != RC_OK)
        exit(2);
    return c;
}

static int n_failures_of(const char *world, struct run *run, rank_main_fn *fn)
{
    const struct world_ops *ops = NULL;
    struct cluster cluster;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = &cluster, .has_tasks = true };
    if (world_find(&ops, world) != RC_OK)
        exit(2);
    const int n_ranks = ops->module.caps & WORLD_LAUNCHED ? 0 : run->c.n_workers + run->c.n_servers;
    const enum rc rc = world_run(ops, &opts, n_ranks, fn, run);
    if (rc != RC_OK && !run->quiet)
        fprintf(stderr, "%s\n", rc_message());
    return run->n_failures + (rc != RC_OK);
}

static int run_mode(const char *world, const char *transport, const struct sync_mode *mode,
                    const struct compression *compression)
{
    static const struct compute_backend *const computes[] = { &compute_cpu, &compute_fake_device };
    const int n_workers = compression->kind == COMPRESSION_NONE ? 4 : 2;
    const int n_most = mode->module.caps & (MODE_SERVERS | MODE_ONE_WORKER) ? 1 : n_workers;
    const bool is_threads = strcmp(world, "threads") == 0;
    int n_failures = 0;

    for (int n = is_threads ? 1 : n_most; n <= n_most; n *= 2)
        for (int k = 0; k < (is_threads ? 2 : 1); k++) {
            struct run run = { .c = case_of(mode, transport, n), .compression = *compression };
            run.c.compute = computes[k];
            for (int i = 0; is_threads && i < N_PLANS; i++) {
                run.c.opts = plans[i];
                run.c.opts.compression = *compression;
                n_failures += n_failures_of(world, &run, body);
            }
            if (!is_threads)
                n_failures += n_failures_of(world, &run, body_of_all);
        }
    return n_failures > 0;
}

/* Exits with 0 if some plan noticed. */
static int run_mutant(int i)
{
    struct sync_mode mutant;
    const char *name = sync_mutant(&mutant, i);

    for (int p = 0; p < N_PLANS; p++) {
        struct run run = { .c = case_of(&mutant, "inproc", mutant.module.caps & MODE_SERVERS ? 1 : 4), .quiet = 1 };
        run.c.opts = plans[p];
        if (n_failures_of("threads", &run, body) == 0) {
            fprintf(stderr, "mutant %s: plan %d did not notice\n", name, p);
            return 1;
        }
    }
    return 0;
}

static int run_stopped(const char *world, const char *transport, enum stopped_bug bug)
{
    const struct stopped_plan stopped = { .bug = bug };
    struct run run = { .c = case_of(&sync_stopped, transport, 4), .quiet = bug != STOPPED_RIGHT };
    int n_failures = 0;

    run.c.stopped = &stopped;
    n_failures += n_failures_of(world, &run, body_of_stopped);
    run.c.compute = &compute_fake_device;
    if (strcmp(world, "threads") == 0)
        n_failures += n_failures_of(world, &run, body_of_stopped);
    return n_failures > 0;
}

/* Rank 2 has other options than the others: exchange_opts at arg. */
static enum rc open_unlike(struct world *w, void *arg)
{
    const struct exchange_opts like = { .buckets.bucket_bytes = 80 }, *unlike = arg;
    const struct segment layout[] = { { 0, 10 }, { 10, 10 } };
    struct compute *compute = NULL;
    struct exchange *x = NULL;
    enum rc rc;

    TRY(compute_open(&compute, &compute_cpu, NULL));
    const struct exchange_env env = { .world = w,
                                      .compute = compute,
                                      .mode = &sync_none,
                                      .segment = layout,
                                      .n_segments = 2,
                                      .n_workers = w->n_ranks,
                                      .opts = w->rank == 2 ? *unlike : like };
    TRY(exchange_open(&x, &env));
out:
    exchange_close(&x);
    compute_close(&compute);
    return rc;
}

static int run_plans(void)
{
    static const struct {
        struct exchange_opts unlike;
        const char *says;
    } bad[] = {
        { { .buckets.bucket_bytes = 40 }, "rank 2 cuts the gradients into 2 chunks, rank 0 into 1" },
        { { .buckets.bucket_bytes = 80, .priority = true },
          "rank 2 has overlap off and priority on, rank 0 off and off" },
        { { .buckets.bucket_bytes = 80, .overlap = true },
          "rank 2 has overlap on and priority off, rank 0 off and off" },
        { { .buckets.bucket_bytes = 80, .compression = { COMPRESSION_TOPK, 0.1 } },
          "rank 2 has another compression than rank 0" },
        { { .buckets.bucket_bytes = 80, .average_every = 3 },
          "rank 2 averages parameters every 3 steps, rank 0 every 0 (0: never)" },
    };
    const struct world_ops *threads = NULL;
    const struct world_opts opts = { .bind_cores = false };

    if (world_find(&threads, "threads") != RC_OK)
        return 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct exchange_opts unlike = bad[i].unlike;
        if (world_run(threads, &opts, 3, open_unlike, &unlike) != RC_MISMATCH || !strstr(rc_message(), bad[i].says)) {
            fprintf(stderr, "\"%s\" does not say \"%s\"\n", rc_message(), bad[i].says);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct compression compression;

    if (argc == 3 && strcmp(argv[1], "mutant") == 0)
        return run_mutant(atoi(argv[2]));
    if (argc == 2 && strcmp(argv[1], "plans") == 0)
        return run_plans();
    if (argc == 3 && strcmp(argv[1], "stopped_mutant") == 0)
        return !run_stopped("threads", "inproc", (enum stopped_bug)atoi(argv[2]));
    if (argc == 4 && strcmp(argv[3], "stopped") == 0)
        return run_stopped(argv[1], argv[2], STOPPED_RIGHT);
    if (compression_parse(&compression, argc == 5 ? argv[4] : "none") != RC_OK)
        return 2;
    for (int i = 0; argc >= 4 && train_mode_at(i); i++)
        if (strcmp(train_mode_at(i)->module.name, argv[3]) == 0)
            return run_mode(argv[1], argv[2], train_mode_at(i), &compression);
    return 2;
}
