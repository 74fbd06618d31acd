/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_attach_test.c suites|tasks|parts|refusals - runs in an MPI that this program initialises (mpi_attach.h): the
 * suites, several times and on parts of its ranks, and runs that are refused. Under mpiexec; the exit code tells.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/net/suite/mpi_watch.h"
#include "harness/net/suite/transport_suite.h"
#include "harness/net/transport.h"
#include "harness/world/cores.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"

extern const struct world_ops world_mpi;
extern const struct transport_ops transport_mpi;

/* --- runs that go well -------------------------------------------------------------------------------------------- */

struct job {
    bool has_tasks;
    int n_ranks, n_failures;
};

static enum rc suites_body(struct world *w, void *arg)
{
    struct job *job = arg;

    job->n_failures += EXPECT(w->n_ranks == job->n_ranks && w->has_tasks == job->has_tasks);
    job->n_failures += EXPECT(w->n_own_cores > 0 || w->n_host_cores < w->n_ranks);
    job->n_failures += world_suite(w, NULL);
    job->n_failures += task_suite(w, NULL);
    job->n_failures += transport_suite(w, &transport_mpi);
    return RC_OK;
}

static int run_suites(MPI_Comm comm, bool has_tasks)
{
    const struct world_opts opts = { .has_tasks = has_tasks, .bind_cores = true, .mpi_comm = &comm };
    struct job job = { .has_tasks = has_tasks };
    struct core_set before, after, all = { { 0 } };
    const int n_before = mpi_watch.n_comms;

    PMPI_Comm_size(comm, &job.n_ranks);
    for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF) && i < CORES_MAX_THREADS; i++)
        all.word[i / 64] |= 1ULL << (i % 64);
    cores_bind_self_to(&all); /* whatever the launcher chose: a run has something to change */
    cores_thread_set(&before);
    job.n_failures += EXPECT(world_run(&world_mpi, &opts, job.n_ranks, suites_body, &job) == RC_OK);
    cores_thread_set(&after);
    job.n_failures += EXPECT(memcmp(&before, &after, sizeof before) == 0);
    job.n_failures += EXPECT(mpi_watch.n_comms == n_before && mpi_watch.n_requests == 0);
    return job.n_failures;
}

/* Every second rank in reverse order, beside the others; then all again. */
static int run_parts(void)
{
    MPI_Comm part = MPI_COMM_NULL;
    int n_failures = 0;

    PMPI_Comm_split(MPI_COMM_WORLD, mpi_watch.rank % 2, -mpi_watch.rank, &part);
    for (int i = 0; i < 2; i++)
        n_failures += run_suites(part, i == 1);
    PMPI_Comm_free(&part);
    return n_failures + run_suites(MPI_COMM_WORLD, false);
}

/* --- runs that are refused ---------------------------------------------------------------------------------------- */

static enum rc no_body(struct world *w, void *arg)
{
    (void)w;
    ++*(int *)arg;
    return RC_OK;
}

/* world_run() in comm is refused on all its ranks with rc and what. */
static int expect_refusal_in(MPI_Comm comm, bool has_tasks, int n_ranks, enum rc wanted, const char *what)
{
    const struct world_opts opts = { .has_tasks = has_tasks, .mpi_comm = &comm };
    const int n_before = mpi_watch.n_comms;
    int n_bodies = 0, n_failures = 0;

    n_failures += EXPECT(world_run(&world_mpi, &opts, n_ranks, no_body, &n_bodies) == wanted);
    n_failures += EXPECT(strstr(rc_message(), what));
    return n_failures + EXPECT(n_bodies == 0 && mpi_watch.n_comms == n_before);
}

static int expect_refusal(bool has_tasks, int n_ranks, enum rc wanted, const char *what)
{
    return expect_refusal_in(MPI_COMM_WORLD, has_tasks, n_ranks, wanted, what);
}

static int refuse_two_groups(void)
{
    MPI_Comm part, both;
    int n_failures;

    PMPI_Comm_split(MPI_COMM_WORLD, mpi_watch.rank == 0, 0, &part);
    PMPI_Intercomm_create(part, 0, MPI_COMM_WORLD, mpi_watch.rank == 0 ? 1 : 0, 5, &both);
    n_failures = expect_refusal_in(both, false, 0, RC_INVAL, "an intercommunicator was given");
    PMPI_Comm_free(&both);
    PMPI_Comm_free(&part);
    return n_failures;
}

static void *refused_thread(void *arg)
{
    *(int *)arg +=
        expect_refusal(false, 0, RC_UNSUPPORTED, "but MPI grants nothing to a thread that did not initialise it");
    return NULL;
}

static int run_refusals(void)
{
    int n_failures = 0;
    pthread_t thread;

    mpi_watch.granted_level = mpi_watch.rank == 1 ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE;
    n_failures += expect_refusal(true, 0, RC_UNSUPPORTED,
                                 "MPI_THREAD_SERIALIZED was asked for, since tasks beside the main "
                                 "one are to send messages, but MPI grants MPI_THREAD_FUNNELED");
    mpi_watch.granted_level = MPI_THREAD_FUNNELED;
    if (pthread_create(&thread, NULL, refused_thread, &n_failures) == 0)
        pthread_join(thread, NULL);
    n_failures += refuse_two_groups();
    n_failures += expect_refusal(false, 77, RC_INVAL, "77 ranks were asked for, but the communicator has ");
    n_failures += run_suites(MPI_COMM_WORLD, false);
    mpi_watch.granted_level = MPI_THREAD_SINGLE;
    n_failures += expect_refusal(false, 0, RC_UNSUPPORTED, "but MPI grants MPI_THREAD_SINGLE");
    return n_failures;
}

/* --- the program -------------------------------------------------------------------------------------------------- */

static int run_case(const char *what)
{
    if (strcmp(what, "suites") == 0)
        return run_suites(MPI_COMM_WORLD, false) + run_suites(MPI_COMM_WORLD, false);
    if (strcmp(what, "tasks") == 0)
        return run_suites(MPI_COMM_WORLD, true) + run_suites(MPI_COMM_WORLD, false);
    return strcmp(what, "parts") == 0 ? run_parts() : run_refusals();
}

int main(int argc, char **argv)
{
    const MPI_Comm all = MPI_COMM_WORLD;
    const struct world_opts opts = { .mpi_comm = &all };
    int n_failures = 0, n_bodies = 0;

    n_failures += EXPECT(world_run(&world_mpi, &opts, 0, no_body, &n_bodies) == RC_INVAL && n_bodies == 0);
    mpi_watch_begin();
    n_failures += run_case(argc == 2 ? argv[1] : "");
    return n_failures + mpi_watch_end() > 0;
}
