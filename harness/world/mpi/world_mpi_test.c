/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mpi_test.c suite|tasks|error|abort|die|ranks|bind|beside|task_fails|task_fails_p2p|no_room - a world of
 * processes. Under mpiexec; a plain program: its exit code tells. error, abort, die and task_fails must end the whole
 * job (W4, W5, K4), which the caller checks. no_room: one rank has no room for shared seats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "harness/world/cores.h"
#include "harness/world/suite/deny.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

#define EXIT_SKIPPED 77
#define LONG_NS UINT64_C(20000000000)

struct job {
    const char *what;
    int n_failures;
    int n_lines; /* of the watcher */
};

static int expect(bool ok, const char *what)
{
    if (!ok)
        fprintf(stderr, "not so: %s\n", what);
    return !ok;
}
#define EXPECT(ok) expect((ok), #ok)

/* A gather of more than one piece: over 64 MiB from each rank. */
static int large_gather(struct world *w)
{
    enum { N_BYTES = 80000000 };
    unsigned char *in = calloc(1, N_BYTES), *out = w->rank == 0 ? calloc((size_t)w->n_ranks, N_BYTES) : NULL;
    int n_failures = 0;

    if (!in || (w->rank == 0 && !out))
        return 1;
    for (size_t i = 0; i < N_BYTES; i += 4096)
        in[i] = (unsigned char)(i / 4096 + (size_t)w->rank);
    n_failures += EXPECT(world_gather(w, in, out, N_BYTES) == RC_OK);
    for (size_t r = 0; out && r < (size_t)w->n_ranks; r++)
        for (size_t i = 0; i < N_BYTES; i += 4096)
            n_failures += out[r * N_BYTES + i] != (unsigned char)(i / 4096 + r);
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
    int n_failures = EXPECT(w->n_ranks == 3), n_cores;

    cores_thread_set(&set);
    n_cores = cores_in_set(&set);
    n_failures += EXPECT(w->n_own_cores == (w->n_host_cores >= (w->rank < 2 ? 2 : 3)));
    n_failures += EXPECT(w->n_own_cores == 0 || n_cores == 1);
    if (w->n_own_cores == 0)
        memset(&set, 0, sizeof set);
    n_failures += EXPECT(world_allgather(w, &set, all, sizeof set) == RC_OK);
    for (int r = 0; r < w->n_ranks; r++)
        for (int k = 0; r != w->rank && k < CORES_SET_WORDS; k++)
            n_failures += EXPECT((all[r].word[k] & set.word[k]) == 0);
    return n_failures;
}

/* A worker and a server, each on a core that its launcher chose: the server runs on that of its worker, and owns none.
 */
static int server_is_beside(struct world *w)
{
    struct core_set set, all[2];
    int n_failures = EXPECT(w->n_ranks == 2);

    cores_thread_set(&set);
    n_failures += EXPECT(world_allgather(w, &set, all, sizeof set) == RC_OK);
    n_failures += EXPECT(memcmp(&all[0], &all[1], sizeof set) == 0);
    n_failures += EXPECT(cores_in_set(&set) == 1);
    return n_failures + EXPECT(w->n_own_cores == (w->rank == 0));
}

/* Behind the run the process has the cores that its launcher gave it. */
static int has_cores_again(const struct core_set *before)
{
    struct core_set now;

    cores_thread_set(&now);
    return EXPECT(memcmp(&now, before, sizeof now) == 0);
}

static void count_line(void *arg, const char *line)
{
    struct job *job = arg;

    job->n_lines++;
    job->n_failures += EXPECT(strstr(line, "the ranks of this host share no memory") != NULL);
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    enum rc rc = RC_OK;

    TRY(world_barrier(w));
    if (strncmp(job->what, "task_fails", 10) == 0)
        return fail_in_a_task(w);
    if (strcmp(job->what, "no_room") == 0)
        job->n_failures += EXPECT(job->n_lines == (w->rank == 0));
    if (strcmp(job->what, "suite") == 0) {
        job->n_failures += world_suite(w, NULL);
        job->n_failures += w->n_ranks == 2 ? large_gather(w) : 0;
    }
    if (strcmp(job->what, "tasks") == 0)
        job->n_failures += task_suite(w, NULL);
    if (strcmp(job->what, "bind") == 0)
        job->n_failures += cores_are_shared_out(w);
    if (strcmp(job->what, "beside") == 0)
        job->n_failures += server_is_beside(w);
    if (w->rank == 1 && strcmp(job->what, "error") == 0)
        return rc_raise(RC_IO, "the disk is full");
    if (w->rank == 1 && strcmp(job->what, "abort") == 0)
        world_abort(w, rc_raise(RC_IO, "the disk is full"));
    if (w->rank == 1 && strcmp(job->what, "die") == 0)
        world_die(w);
    TRY(world_barrier(w)); /* the others wait for rank 1 */
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct job job = { argc == 2 ? argv[1] : "", 0, 0 };
    const bool wrong_ranks = strcmp(job.what, "ranks") == 0;
    const bool has_no_room = strcmp(job.what, "no_room") == 0, is_p2p = strcmp(job.what, "task_fails_p2p") == 0;
    struct world_opts opts = { .bind_cores = strcmp(job.what, "bind") == 0 };
    const bool is_beside = strcmp(job.what, "beside") == 0;
    struct core_set cores;

    if (is_beside) { /* as mpirun --bind-to core, which may have done it */
        if (cores_allowed_count() > 1 && cores_bind_self(world_launcher().rank, 1) != RC_OK)
            return 1;
        opts = (struct world_opts){ .bind_cores = true, .n_bound_ranks = 1, .n_threads = 1, .shares_cores = true };
    }
    cores_thread_set(&cores);
    if (opts.bind_cores && !is_beside) {
        opts.n_bound_ranks = 2;
        opts.n_threads = 1;
    }
    if (has_no_room || is_p2p)
        opts.stall = (struct peer_opts){ .warn_ns = LONG_NS, .abort_ns = 3 * LONG_NS, .tell = count_line, .arg = &job };
    opts.on_loss = is_p2p ? ON_LOSS_REPORT : ON_LOSS_ABORT;
    if (has_no_room && world_launcher().rank == 1 && !deny_call(SYS_memfd_create, -1, 0, ENOMEM))
        return EXIT_SKIPPED;
    const enum rc rc = world_run(&world_mpi, &opts, wrong_ranks ? 77 : 0, body, &job);

    if (wrong_ranks) /* every rank is told, none is left behind */
        return rc == RC_INVAL && strstr(rc_message(), "77") ? 0 : 1;
    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    job.n_failures += has_cores_again(&cores);
    /* One MPI a process. */
    const enum rc again = world_run(&world_mpi, &opts, 0, body, &job);
    return rc != RC_OK || job.n_failures > 0 || again != RC_UNSUPPORTED;
}
