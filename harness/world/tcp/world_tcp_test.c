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
 *                                it (W4, W5, K4, P3); here that is a success
 *   disagree                     rank 1 calls another collective than the others
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/world/cores.h"
#include "harness/world/share.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"
#include "harness/world/tcp/gang.h"
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

static int expect(bool ok, const char *what, int line)
{
    if (!ok)
        fprintf(stderr, "line %d: not so: %s; last error: %s\n", line, what, rc_message());
    return !ok;
}
#define REQUIRE(ok) expect((ok), #ok, __LINE__)

/* More than a pipe or a socket holds, of each rank; each byte its own. */
static int large_collectives(struct world *w)
{
    enum { N_BYTES = 20000000, STEP = 4093 };
    const size_t n = (size_t)w->n_ranks;
    unsigned char *in = calloc(1, N_BYTES), *out = calloc(n, N_BYTES);
    int n_failures = REQUIRE(in && out);

    for (size_t i = 0; in && i < N_BYTES; i += STEP)
        in[i] = (unsigned char)(i / STEP + 3 * (size_t)w->rank);
    if (in && out) {
        n_failures += REQUIRE(world_allgather(w, in, out, N_BYTES) == RC_OK);
        for (size_t r = 0; r < n; r++)
            for (size_t i = 0; i < N_BYTES; i += STEP)
                n_failures += out[r * N_BYTES + i] != (unsigned char)(i / STEP + 3 * r);
        n_failures += REQUIRE(world_broadcast(w, in, N_BYTES) == RC_OK);
        for (size_t i = 0; i < N_BYTES; i += STEP)
            n_failures += in[i] != (unsigned char)(i / STEP);
    }
    free(in);
    free(out);
    return n_failures;
}

static enum rc fill_the_disk(struct world *w, void *arg)
{
    (void)arg;
    world_pause(w, 50000000);
    return rc_raise(RC_IO, "the disk is full");
}

/* K4: rank 1 alone comes to a barrier, and then its task fails. */
static enum rc fail_in_a_task(struct world *w)
{
    struct event *never = NULL;
    struct task *bad = NULL;
    enum rc rc;

    if (w->rank == 1) {
        TRY(world_spawn(&bad, w, &(struct task_opts){ .name = "helper", .fn = fill_the_disk }));
        rc = world_barrier(w);
    } else {
        TRY(event_open(&never, w, "never"));
        rc = event_wait(never, LONG_NS);
    }
out:
    event_close(&never);
    return rc;
}

/* Two workers of one thread, and a server: a core each as far as they go, and no two the same. */
static int cores_are_shared_out(struct world *w)
{
    struct core_set set, all[8];
    int n_failures = REQUIRE(w->n_ranks == 3), n_cores;

    cores_thread_set(&set);
    n_cores = cores_in_set(&set);
    n_failures += REQUIRE(w->n_own_cores == (w->n_host_cores >= (w->rank < 2 ? 2 : 3)));
    n_failures += REQUIRE(w->n_own_cores == 0 || n_cores == 1);
    if (w->n_own_cores == 0)
        memset(&set, 0, sizeof set);
    n_failures += REQUIRE(world_allgather(w, &set, all, sizeof set) == RC_OK);
    for (int r = 0; r < w->n_ranks; r++)
        for (int k = 0; r != w->rank && k < CORES_SET_WORDS; k++)
            n_failures += REQUIRE((all[r].word[k] & set.word[k]) == 0);
    return n_failures;
}

/* A worker and a server on one core: the server owns none. */
static int server_is_beside(struct world *w)
{
    struct core_set set, all[2];
    int n_failures = REQUIRE(w->n_ranks == 2);

    cores_thread_set(&set);
    n_failures += REQUIRE(world_allgather(w, &set, all, sizeof set) == RC_OK);
    n_failures += REQUIRE(memcmp(&all[0], &all[1], sizeof set) == 0);
    return n_failures + REQUIRE(w->n_own_cores == (w->rank == 0));
}

/* Those who come first wait for nobody's result: each is told of the disagreement. */
static int calls_disagree(struct world *w)
{
    int mine = w->rank, all[8], n_failures = 0;
    const enum rc rc = w->rank == 1 ? world_allgather(w, &mine, all, sizeof mine) : world_barrier(w);

    n_failures += REQUIRE(rc == RC_MISMATCH || rc == RC_PEER);
    n_failures += REQUIRE(rc != RC_MISMATCH || strstr(rc_message(), "allgather of 4 bytes"));
    return n_failures;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    enum rc rc = RC_OK;

    TRY(world_barrier(w));
    job->n_failures += REQUIRE(getenv("GRADMARK_GANG_KEY") == NULL); /* not for programs that this one starts */
    if (is(job, "task_fails"))
        return fail_in_a_task(w);
    if (is(job, "suite"))
        job->n_failures += world_suite(w, NULL) + large_collectives(w);
    if (is(job, "tasks"))
        job->n_failures += task_suite(w, NULL);
    if (is(job, "shares"))
        job->n_failures += share_suite(w, LONG_NS, NULL);
    if (is(job, "bind"))
        job->n_failures += cores_are_shared_out(w);
    if (is(job, "beside"))
        job->n_failures += server_is_beside(w);
    if (is(job, "disagree")) {
        job->n_failures += calls_disagree(w);
        return rc_raise(RC_MISMATCH, "as it has to be");
    }
    if (w->rank == 1 && is(job, "error"))
        return rc_raise(RC_IO, "the disk is full");
    if (w->rank == 1 && is(job, "abort"))
        world_abort(w, rc_raise(RC_IO, "the disk is full"));
    if (w->rank == 1 && is(job, "die"))
        world_die(w);
    if (w->rank == 1 && is(job, "hang"))
        world_hang(w);
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
    struct core_set before, now;

    if (is(&job, "beside"))
        opts = (struct world_opts){ .bind_cores = true, .n_bound_ranks = 1, .n_threads = 1, .shares_cores = true };
    if (is(&job, "hang"))
        opts.stall = (struct peer_opts){ .warn_ns = 700000000, .abort_ns = 2000000000 };
    cores_thread_set(&before);
    const enum rc rc = world_run(&world_tcp, &opts, is(&job, "ranks") ? 77 : 0, body, &job);
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc == RC_OK ? "" : rc_message());
    if (is(&job, "ranks"))
        return rc == RC_INVAL && strstr(rc_message(), "77") ? 0 : 1;
    if (failure)
        return rc != RC_OK && strstr(rc_message(), failure) && job.n_failures == 0 ? 0 : 1;
    cores_thread_set(&now);
    job.n_failures += REQUIRE(memcmp(&now, &before, sizeof now) == 0);
    return rc != RC_OK || job.n_failures > 0;
}
