/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_tcp_test.c CASE - a world of processes that find each other by address. Started by run_gang; a plain program:
 * its exit code tells.
 *
 *   suite, tasks, shares         the suites of every world
 *   bind, beside                 cores, as in mpi
 *   ranks                        another number of ranks than the gang has is refused, on every rank
 *   error, abort, die, hang, task_fails
 *                                rank 1 fails in one way or another: run() fails on every rank that is left, and names
 *                                it (world.W4, W5, K4, P3); here that is a success
 *   disagree                     rank 1 calls another collective than the others
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/suite/process_kit.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

extern const struct world_ops world_tcp;

#define LONG_NS UINT64_C(20000000000)

struct job {
    const char *what;
    int n_failures;
};

static bool is(const struct job *job, const char *what)
{
    return strcmp(job->what, what) == 0;
}

/* More than a pipe or a socket holds, of each rank; each byte its own. */
static int large_collectives(struct world *w)
{
    enum { N_BYTES = 20000000, STEP = 4093 };
    const size_t n = (size_t)w->n_ranks;
    unsigned char *in = calloc(1, N_BYTES), *out = calloc(n, N_BYTES);
    int n_failures = 0;

    EXPECT_OF(w, in && out);
    for (size_t i = 0; in && i < N_BYTES; i += STEP)
        in[i] = (unsigned char)(i / STEP + 3 * (size_t)w->rank);
    if (in && out) {
        EXPECT_OF(w, world_allgather(w, in, out, N_BYTES) == RC_OK);
        for (size_t r = 0; r < n; r++)
            for (size_t i = 0; i < N_BYTES; i += STEP)
                n_failures += out[r * N_BYTES + i] != (unsigned char)(i / STEP + 3 * r);
        EXPECT_OF(w, world_broadcast(w, in, N_BYTES) == RC_OK);
        for (size_t i = 0; i < N_BYTES; i += STEP)
            n_failures += in[i] != (unsigned char)(i / STEP);
    }
    free(in);
    free(out);
    return n_failures;
}

/* Those who come first wait for nobody's result: each is told of the disagreement. */
static int calls_disagree(struct world *w)
{
    int mine = w->rank, all[8], n_failures = 0;
    const enum rc rc = w->rank == 1 ? world_allgather(w, &mine, all, sizeof mine) : world_barrier(w);

    EXPECT_OF(w, rc == RC_MISMATCH || rc == RC_PEER);
    EXPECT_OF(w, rc != RC_MISMATCH || strstr(rc_message(), "allgather of 4 bytes"));
    return n_failures;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    enum rc rc = RC_OK;

    TRY(world_barrier(w));
    /* not for programs that this one starts */
    job->n_failures += suite_unless(w, !getenv("GRADMARK_GANG_KEY"), "the key is gone", __LINE__);
    job->n_failures += process_case(w, job->what);
    if (is(job, "suite"))
        job->n_failures += large_collectives(w);
    if (is(job, "shares"))
        job->n_failures += share_suite(w, LONG_NS, NULL);
    if (is(job, "disagree")) {
        job->n_failures += calls_disagree(w);
        return rc_raise(RC_MISMATCH, "as it has to be");
    }
    TRY(process_fail(w, job->what));
    TRY(world_barrier(w)); /* the others wait for rank 1 */
out:
    return rc;
}

/* In a run that is to fail: why. */
static const char *wanted_failure(const struct job *job)
{
    if (is(job, "error") || is(job, "abort") || is(job, "task_fails"))
        return "rank 1: the disk is full";
    if (is(job, "die"))
        return "rank 1: ended before its work was done";
    if (is(job, "hang"))
        return "rank 1: silent for ";
    return is(job, "disagree") ? "as it has to be" : NULL;
}

int main(int argc, char **argv)
{
    struct job job = { argc == 2 ? argv[1] : "", 0 };
    struct world_opts opts = { .bind_cores = is(&job, "bind"), .n_threads = 1, .n_bound_ranks = 2 };
    const char *failure = wanted_failure(&job);
    struct core_set before;

    if (is(&job, "beside"))
        opts = (struct world_opts){ .bind_cores = true, .n_bound_ranks = 1, .n_threads = 1, .shares_cores = true };
    if (is(&job, "hang"))
        opts.stall = (struct peer_opts){ .warn_ns = 2000000000, .abort_ns = 6000000000 };
    cores_thread_set(&before);
    const enum rc rc = world_run(&world_tcp, &opts, is(&job, "ranks") ? 77 : 0, body, &job);
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc == RC_OK ? "" : rc_message());
    if (is(&job, "ranks"))
        return rc == RC_INVAL && strstr(rc_message(), "77") ? 0 : 1;
    if (failure)
        return rc != RC_OK && strstr(rc_message(), failure) && job.n_failures == 0 ? 0 : 1;
    job.n_failures += process_cores_again(&before);
    return rc != RC_OK || job.n_failures > 0;
}
