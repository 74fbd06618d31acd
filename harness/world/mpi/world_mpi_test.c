/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mpi_test.c suite|tasks|error|abort|die|ranks|bind|beside|task_fails|task_fails_p2p|no_room - a world of
 * processes. Under mpiexec; a plain program: its exit code tells. error, abort, die and task_fails must end the whole
 * job (world.W4, W5, K4), which the caller checks. no_room: one rank has no room for shared seats.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "harness/world/suite/deny.h"
#include "harness/world/suite/process_kit.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;

#define EXIT_SKIPPED 77
#define LONG_NS UINT64_C(20000000000)

struct job {
    const char *what;
    int n_failures;
    int n_lines; /* of the watcher */
};

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
    EXPECT_OF(w, world_gather(w, in, out, N_BYTES) == RC_OK);
    for (size_t r = 0; out && r < (size_t)w->n_ranks; r++)
        for (size_t i = 0; i < N_BYTES; i += 4096)
            n_failures += out[r * N_BYTES + i] != (unsigned char)(i / 4096 + r);
    free(in);
    free(out);
    return n_failures;
}

static void count_line(void *arg, const char *line)
{
    struct job *job = arg;

    job->n_lines++;
    if (!strstr(line, "the ranks of this host share no memory")) {
        fprintf(stderr, "not the line of shared memory: %s\n", line);
        job->n_failures++;
    }
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    enum rc rc = RC_OK;

    TRY(world_barrier(w));
    if (strcmp(job->what, "no_room") == 0)
        job->n_failures += suite_unless(w, job->n_lines == (w->rank == 0), "rank 0 alone is told", __LINE__);
    job->n_failures += process_case(w, job->what);
    if (strcmp(job->what, "suite") == 0 && w->n_ranks == 2)
        job->n_failures += large_gather(w);
    TRY(process_fail(w, job->what));
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
    job.n_failures += process_cores_again(&cores);
    /* One MPI a process. */
    const enum rc again = world_run(&world_mpi, &opts, 0, body, &job);
    return rc != RC_OK || job.n_failures > 0 || again != RC_UNSUPPORTED;
}
