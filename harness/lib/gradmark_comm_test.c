/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradmark_comm_test.c CASE - libgradmark in an MPI that this program initialises: by MPI_Init() alone, in parts of its
 * ranks, with a rank that fails, after which MPI goes on (lib.I1, I2), or does not come; servers that wait for nobody,
 * or for who is too far behind. Under mpiexec, of 4 ranks.
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
    MPI_Barrier(MPI_COMM_WORLD); /* else the next call of others may fail while a rank is still in this one */
    const int found = gm_allreduce(job, x, rank == 1 ? 4000 : 4096, GM_SUM);
    n_failures += EXPECT(found == GM_MISMATCH || found == GM_PEER);
    n_failures += EXPECT(gm_barrier(job) == GM_PEER && gm_broadcast(job, x, 1, 0) == GM_PEER);
    n_failures += EXPECT(gm_ps_close(&ps, x) == GM_PEER && !ps); /* regression: it returned GM_OK */
    n_failures += EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "rank ") && !job);
    return n_failures + run_well(MPI_COMM_WORLD);
}

enum { MOST_ELEMS = 600000 };

static int call_ps(struct gm_job *job, float *x, size_t n)
{
    struct gm_ps *ps = NULL;
    const int found = gm_ps_open(&ps, job, x, n, 1, 0, NULL);

    return found == GM_OK ? gm_ps_close(&ps, NULL) : found;
}

static int call_sgd(struct gm_job *job, float *x, const float *grad, size_t n)
{
    struct gm_sgd *sgd = NULL;
    const int opened = gm_sgd_open(&sgd, job, n, 0, 0);
    const int found = opened == GM_OK ? gm_sgd_step(sgd, x, grad, 1) : opened;

    gm_sgd_close(&sgd);
    return found;
}

enum { N_CALLS = 16 };

/* Those with 1 and 2 elements differ in which chunks are empty, those with more in how many segments a chunk has. */
static int call(struct gm_job *job, int which, const char **words)
{
    static float x[MOST_ELEMS], y[3 * MOST_ELEMS];
    static const char *const names[N_CALLS] = { "gm_allreduce of 0 floats (GM_SUM)",
                                                "gm_allreduce of 1 float (GM_SUM)",
                                                "gm_allreduce of 2 floats (GM_SUM)",
                                                "gm_allreduce of 300000 floats (GM_SUM)",
                                                "gm_allreduce of 400000 floats (GM_SUM)",
                                                "gm_allreduce of 600000 floats (GM_SUM)",
                                                "gm_allreduce of 2 floats (GM_AVERAGE)",
                                                "gm_broadcast of 2 floats from rank 0",
                                                "gm_broadcast of 2 floats from rank 1",
                                                "gm_broadcast of 600000 floats from rank 0",
                                                "gm_allgather of 1 float",
                                                "gm_allgather of 2 floats",
                                                "gm_barrier",
                                                "gm_sgd_step of 2 floats",
                                                "gm_ps_open of 2 floats with n_servers 1",
                                                "gm_allreduce_into of 2 floats (GM_SUM)" };
    static const size_t sums[] = { 0, 1, 2, 300000, 400000, 600000 };

    *words = names[which];
    switch (which) {
    case 6:
        return gm_allreduce(job, x, 2, GM_AVERAGE);
    case 7:
        return gm_broadcast(job, x, 2, 0);
    case 8:
        return gm_broadcast(job, x, 2, 1);
    case 9:
        return gm_broadcast(job, x, 600000, 0);
    case 10:
        return gm_allgather(job, x, 1, y);
    case 11:
        return gm_allgather(job, x, 2, y);
    case 12:
        return gm_barrier(job);
    case 13:
        return call_sgd(job, x, y, 2);
    case 14:
        return call_ps(job, x, 2);
    case 15:
        return gm_allreduce_into(job, x, 2, y, GM_SUM);
    default:
        return gm_allreduce(job, x, sums[which], GM_SUM);
    }
}

/* Rank 1 calls another function than the others, or with another size: that is GM_MISMATCH, and nobody waits until the
 * time is over. */
static int run_pair(MPI_Comm comm, int others, int ours)
{
    struct gm_job *job = NULL;
    const char *words = "gm_finalize";
    int rank, n_failures = 0;

    MPI_Comm_rank(comm, &rank);
    n_failures += EXPECT(gm_init(&job, &comm) == GM_OK);
    const int which = rank == 1 ? ours : others;
    if (which < N_CALLS) { /* else gm_finalize() */
        const int found = call(job, which, &words);
        n_failures += EXPECT(found == GM_MISMATCH || found == GM_PEER || (rank != 1 && found == GM_OK));
        n_failures += EXPECT(found != GM_MISMATCH || strstr(gm_message(), words));
        n_failures += EXPECT(gm_barrier(job) == GM_PEER);
    }
    n_failures += EXPECT(gm_finalize(&job) == GM_MISMATCH && strstr(gm_message(), "this rank called "));
    if (n_failures > 0)
        fprintf(stderr, "rank %d: %s; call %d, of rank 1 call %d\n", rank, words, others, ours);
    return n_failures;
}

/* In jobs of 2 ranks all pairs, in jobs of 3 ranks some of each function. */
static int run_mismatch(void)
{
    int rank, n_failures = 0;
    MPI_Comm part;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int n = 2; n <= 3; n++) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / n, rank, &part);
        for (int others = 0; others <= N_CALLS && rank / n == 0; others++)
            for (int ours = 0; ours <= N_CALLS; ours++)
                if (others != ours && (n == 2 || (others + ours) % 4 == 1))
                    n_failures += run_pair(part, others, ours);
        MPI_Comm_free(&part);
    }
    MPI_Barrier(
        MPI_COMM_WORLD); /* the caller's own: a job waits for its ranks for a minute, and these may take longer */
    return n_failures + run_well(MPI_COMM_WORLD);
}

/* GRADMARK_TIMEOUT_S is 30: all ranks come to the first barrier in time, and the last one to no other before the others
 * have given up. The job has failed, and can be ended; MPI goes on. */
static int run_late(void)
{
    struct gm_job *job = NULL;
    int rank, n_ranks, n_failures = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Barrier(MPI_COMM_WORLD); /* else those that began first would wait for the others by the limit */
    n_failures += EXPECT(gm_init(&job, NULL) == GM_OK);
    n_failures += EXPECT(gm_barrier(job) == GM_OK);
    if (rank < n_ranks - 1) {
        const int found = gm_barrier(job);
        n_failures += EXPECT(found == GM_TIMEOUT || found == GM_PEER);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* the caller's own: until all have given up */
    n_failures += EXPECT(gm_barrier(job) == GM_PEER);
    n_failures += EXPECT(gm_finalize(&job) == GM_TIMEOUT && strstr(gm_message(), "did not come within 30 s"));
    return n_failures + run_well(MPI_COMM_WORLD);
}

/* The same of gm_init(), and of 10 s: those that came give up, as does who comes later. */
static int run_absent(void)
{
    struct gm_job *job = NULL;
    int rank, n_ranks, n_failures = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (rank == n_ranks - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    n_failures += EXPECT(gm_init(&job, NULL) == GM_TIMEOUT && !job);
    n_failures += EXPECT(strstr(gm_message(), "not all ranks came to its begin within 10 s"));
    if (rank < n_ranks - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    return n_failures;
}

/* The same of gm_finalize(). */
static int run_left(void)
{
    struct gm_job *job = NULL;
    int rank, n_ranks, n_failures = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    MPI_Barrier(MPI_COMM_WORLD); /* else those that began first would wait for the others by the limit */
    n_failures += EXPECT(gm_init(&job, NULL) == GM_OK);
    if (rank == n_ranks - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    n_failures += EXPECT(gm_finalize(&job) == GM_TIMEOUT && !job);
    n_failures += EXPECT(strstr(gm_message(), "not all ranks came to its end within 30 s"));
    if (rank < n_ranks - 1)
        MPI_Barrier(MPI_COMM_WORLD);
    return n_failures;
}

enum { N_PARAMS = 6, N_WORKERS = 2, N_PUSHES = 40, N_TURNS = 8 };

/* Push ones, at rate 1: each takes 1 of every parameter. *staleness := of it. */
static int push_ones(struct gm_ps *ps, unsigned *staleness)
{
    static const float ones[N_PARAMS] = { 1, 1, 1, 1, 1, 1 };
    float param[N_PARAMS];
    int n_failures = EXPECT(gm_push(ps, ones, 1) == GM_OK);

    *staleness = gm_ps_staleness(ps);
    n_failures += EXPECT(gm_pull(ps, param) == GM_OK);
    for (int i = 0; i < N_PARAMS; i++)
        n_failures += EXPECT(param[i] == (float)(int)param[i]);
    return n_failures;
}

/* Two workers, one at a time: between a push and the one before it the other's are counted. */
static int take_turns(struct gm_ps *ps, int rank)
{
    static const struct {
        int rank;
        unsigned staleness;
    } turn[N_TURNS] = { { 0, 0 }, { 1, 1 }, { 0, 1 }, { 0, 0 }, { 0, 0 }, { 1, 3 }, { 1, 0 }, { 0, 2 } };
    unsigned staleness;
    int n_failures = 0, now = 0;

    for (size_t i = 0; i < N_TURNS; i++) {
        if (turn[i].rank == rank) {
            n_failures += push_ones(ps, &staleness);
            n_failures += EXPECT(staleness == turn[i].staleness);
            MPI_Send(&now, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&now, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return n_failures;
}

/* Rank 0 goes on as far as it may before rank 1 begins. Nobody is more than `bound` steps ahead: between two pulls of a
 * worker the other pushes at most 2 bound + 1 times. */
static int run_ahead(struct gm_ps *ps, int rank, unsigned bound)
{
    unsigned staleness, most = 0;
    int n_failures = 0, now = 0;

    if (rank == 1)
        MPI_Recv(&now, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < N_PUSHES; i++) {
        n_failures += push_ones(ps, &staleness);
        most = staleness > most ? staleness : most;
        if (rank == 0 && i == (int)bound - 1)
            MPI_Send(&now, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
    return n_failures + EXPECT(most <= 2 * bound + 1);
}

/* bound 0: nobody waits. */
static int run_rule(const char *rule, unsigned bound)
{
    const float start[N_PARAMS] = { 100, 200, 300, 400, 500, 600 };
    float end[N_PARAMS] = { 0 };
    struct gm_job *job = NULL;
    struct gm_ps *ps = NULL;
    int rank, n_failures = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    n_failures += EXPECT(gm_init(&job, NULL) == GM_OK);
    n_failures += EXPECT(gm_ps_open(&ps, job, start, N_PARAMS, 2, 0, rule) == GM_OK);
    n_failures += EXPECT(gm_ps_n_workers(ps) == N_WORKERS);
    if (gm_ps_is_server(ps))
        n_failures += EXPECT(gm_ps_serve(ps) == GM_OK);
    else
        n_failures += bound > 0 ? run_ahead(ps, rank, bound) : take_turns(ps, rank);
    n_failures += EXPECT(gm_ps_close(&ps, end) == GM_OK);
    for (int i = 0; rank == 0 && i < N_PARAMS; i++) /* all pushes are in it, once */
        n_failures += EXPECT(end[i] == start[i] - (float)(bound > 0 ? N_WORKERS * N_PUSHES : N_TURNS));
    return n_failures + EXPECT(gm_finalize(&job) == GM_OK);
}

static int run_servers(void)
{
    return run_rule(NULL, 0) + run_rule("async", 0) + run_rule("ssp:1", 1) + run_rule("ssp:3", 3);
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
    else if (strcmp(what, "mismatch") == 0)
        n_failures += run_mismatch();
    else if (strcmp(what, "late") == 0)
        n_failures += run_late();
    else if (strcmp(what, "absent") == 0)
        n_failures += run_absent();
    else if (strcmp(what, "left") == 0)
        n_failures += run_left();
    else if (strcmp(what, "servers") == 0)
        n_failures += run_servers();
    else
        n_failures += run_well(MPI_COMM_WORLD);
    MPI_Allreduce(&n_failures, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
