/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_loss_test.c suite_die I|suite_hang I|end|fail|rank_0|comms - runs of processes with ON_LOSS_REPORT
 * (world.W8), of which some are lost. Started by loss_launch_test, which counts the ranks that say that all is as it
 * should be.
 *
 *   suite_*    loss_suite from its case I on
 *   end        rank 1 ends when it has returned from all but the last meeting
 *   fail       rank 1 fails: a failure of the run
 *   rank_0     rank 0 stops: likewise
 *   comms      mpi: rank 1 is lost while all ranks make the communicator of a transport
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/suite/loss_suite.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

#if TEST_MPI
#include <mpi.h>

#include "harness/world/mpi/world_mpi.h"

extern const struct world_ops world_mpi;
#define TESTED_WORLD world_mpi
#else
extern const struct world_ops world_tcp;
#define TESTED_WORLD world_tcp
#endif

/* On the clock below, which goes on by the time between two looks. */
#define WARN_NS UINT64_C(80000000)
#define ABORT_NS UINT64_C(240000000)
#define TURN_NS (WARN_NS / 8)

enum { MAX_RANKS = 16 };

static const struct peer_duty on_purpose = { PHASE_STEP, 7, -1 }; /* of a rank that is to be lost: as in loss_suite.c */

/* The clock of this process's watcher. It goes on only when every rank that is not silent on purpose has ticked: so
 * a rank that gets no core for a while is not lost. */
static struct {
    _Atomic(const struct peers *) peers; /* NULL: it stands still */
    uint64_t now_ns, n_ticks[MAX_RANKS];
} watched;

static bool is_awaited(const struct peers *p, int rank)
{
    const int state = atomic_load(&p->seat[rank].state);
    struct peer_duty duty;

    return state != PEER_LOST && state != PEER_LEFT &&
           !(peer_duty_of(p, rank, &duty) && duty.phase == on_purpose.phase && duty.step == on_purpose.step);
}

static uint64_t watch_clock(void *arg)
{
    const struct peers *p = atomic_load(&watched.peers);

    (void)arg;
    for (int r = 0; p && r < p->n_ranks; r++)
        if (is_awaited(p, r) && peer_n_ticks(p, r) == watched.n_ticks[r])
            return watched.now_ns;
    for (int r = 0; p && r < p->n_ranks && r < MAX_RANKS; r++)
        watched.n_ticks[r] = peer_n_ticks(p, r);
    return watched.now_ns += p ? TURN_NS : 0;
}

/* Silent on purpose. */
static void hang(struct world *w)
{
    world_set_duty(w, &on_purpose);
    world_hang(w);
}

#if TEST_MPI
static struct world *lost_in_comms; /* NULL: not this rank */

/* MPI's profiling interface: called in its place. */
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *out, MPI_Request *request)
{
    if (lost_in_comms)
        world_die(lost_in_comms);
    return PMPI_Comm_idup(comm, out, request);
}

static int lose_in_comms(struct world *w)
{
    MPI_Comm comm = MPI_COMM_NULL;
    int n_failures = 0;

    lost_in_comms = w->rank == 1 ? w : NULL;
    EXPECT_OF(w, world_mpi_comms_open(w, &comm, 1) == RC_PEER);
    EXPECT_OF(w, strstr(rc_message(), "rank 1 was lost: ended before its work was done") != NULL);
    return n_failures;
}
#endif

struct job {
    const char *what;
    int first_case;
    int n_failures;
};

static enum rc suite_body(struct world *w, void *arg)
{
    struct job *job = arg;
    const struct loss_plan plan = { job->first_case, strcmp(job->what, "suite_hang") == 0 };

    atomic_store(&watched.peers, w->peers);

    job->n_failures = loss_suite(w, &plan, NULL);
    return job->n_failures == 0 ? RC_OK : rc_raise(RC_MISMATCH, "the suite failed");
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct world *all = NULL;
    int n_failures = 0;
    enum rc rc;

    atomic_store(&watched.peers, w->peers);
    TRY(world_survivors(w, &all)); /* all of them */
    EXPECT_OF(w, all->n_ranks == 4 && all->rank == w->rank);
    world_split_close(&all);
#if TEST_MPI
    if (strcmp(job->what, "comms") == 0)
        n_failures += lose_in_comms(w);
#endif
    if (strcmp(job->what, "end") == 0)
        EXPECT_OF(w, loss_await_others(w, 1, 100));
    if (strcmp(job->what, "end") == 0 && w->rank == 1)
        world_die(w);
    if (strcmp(job->what, "rank_0") == 0 && w->rank == 0)
        hang(w);
    if (strcmp(job->what, "fail") == 0 && w->rank == 1)
        FAIL(RC_IO, "the disk is full");
    if (strcmp(job->what, "fail") == 0 || strcmp(job->what, "rank_0") == 0)
        while ((rc = world_check(w)) == RC_OK) /* it only computes */
            world_pause(w, 10000000);
out:
    job->n_failures = n_failures;
    return rc;
}

int main(int argc, char **argv)
{
    struct job job = { argc >= 2 ? argv[1] : "", argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0, 0 };
    const struct world_opts opts = { .stall = { .warn_ns = WARN_NS, .abort_ns = ABORT_NS },
                                     .on_loss = ON_LOSS_REPORT,
                                     .watch_clock = watch_clock };
    const enum rc rc = argc == 3 ? world_run(&TESTED_WORLD, &opts, 0, suite_body, &job)
                                 : world_run(&TESTED_WORLD, &opts, 4, body, &job);

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
#if TEST_MPI
    int is_finalised = 0;
    if (rc == RC_OK && (MPI_Finalized(&is_finalised) != MPI_SUCCESS || is_finalised)) {
        fprintf(stderr, "MPI was finalised without a lost rank\n");
        job.n_failures++;
    }
#endif
    return rc != RC_OK || job.n_failures > 0;
}
