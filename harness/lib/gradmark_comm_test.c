/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradmark_comm_test.c plain|funneled|parts|failure - libgradmark in an MPI that this program initialises: by
 * MPI_Init() alone, in parts of its ranks, and with a rank that fails, after which MPI goes on (I1, I2). Under mpiexec.
 */
#include <gradmark.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what) expect((what) != 0, #what, __LINE__)

static int expect(int is_true, const char *what, int line)
{
    if (!is_true)
        fprintf(stderr, "gradmark_comm_test.c:%d: not so: %s (%s)\n", line, what, gm_message());
    return !is_true;
}

/* A job in comm, whose ranks add up. */
static int run_in(MPI_Comm comm)
{
    struct gm_job *job = NULL;
    int rank, n_ranks, n_failures = 0;
    float x = 1, all[16];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    n_failures += EXPECT(gm_init(&job, &comm) == GM_OK && job);
    n_failures += EXPECT(gm_rank(job) == rank && gm_size(job) == n_ranks);
    n_failures += EXPECT(gm_allreduce(job, &x, 1, GM_SUM) == GM_OK && x == (float)n_ranks);
    x = (float)(rank + 5);
    n_failures += EXPECT(gm_allgather(job, &x, 1, all) == GM_OK);
    for (int r = 0; r < n_ranks; r++)
        n_failures += EXPECT(all[r] == (float)(r + 5));
    n_failures += EXPECT(gm_finalize(&job) == GM_OK && !job);
    return n_failures;
}

/* What the caller has of its own is as it was, and works. */
static int run_well(MPI_Comm comm)
{
    MPI_Errhandler now;
    int n_failures = 0, sum = 0, one = 1, n_ranks;

    MPI_Comm_size(comm, &n_ranks);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    for (int i = 0; i < 3; i++)
        n_failures += run_in(comm);
    MPI_Comm_get_errhandler(comm, &now);
    n_failures += EXPECT(now == MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return n_failures + EXPECT(sum == n_ranks);
}

static int run_parts(void)
{
    MPI_Comm part;
    int rank, n_failures;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &part);
    n_failures = run_well(part);
    MPI_Comm_free(&part);
    return n_failures + run_well(MPI_COMM_WORLD);
}

/* Rank 1 sums another length than the others: every rank hears of it, nobody hangs, and MPI goes on. */
static int run_failure(void)
{
    static float x[4096];
    struct gm_job *job = NULL;
    struct gm_ps *ps = NULL;
    int rank, n_failures = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    n_failures += EXPECT(gm_init(&job, NULL) == GM_OK);
    n_failures += EXPECT(gm_ps_open(&ps, job, x, 8, 1, 0, NULL) == GM_OK);
    n_failures += EXPECT(gm_allreduce(job, x, 4096, GM_SUM) == GM_OK);
    const int found = gm_allreduce(job, x, rank == 1 ? 4000 : 4096, GM_SUM);
    n_failures += EXPECT(found == GM_MISMATCH || found == GM_PEER);
    n_failures += EXPECT(gm_barrier(job) == GM_PEER && gm_broadcast(job, x, 1, 0) == GM_PEER);
    n_failures += EXPECT(gm_ps_close(&ps, x) == GM_PEER && !ps); /* of workers and of the server */
    n_failures += EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "rank ") && !job);
    return n_failures + run_well(MPI_COMM_WORLD);
}

static int not_initialised(void)
{
    MPI_Comm all = MPI_COMM_WORLD;
    struct gm_job *job = NULL;

    return EXPECT(gm_init(&job, &all) == GM_INVAL && !job && strstr(gm_message(), "MPI is not initialised"));
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    int n_failures = not_initialised(), sum = 0, level;

    if (strcmp(what, "plain") == 0)
        MPI_Init(NULL, NULL);
    else
        MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (strcmp(what, "parts") == 0)
        n_failures += run_parts();
    else if (strcmp(what, "failure") == 0)
        n_failures += run_failure();
    else
        n_failures += run_well(MPI_COMM_WORLD);
    MPI_Allreduce(&n_failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
