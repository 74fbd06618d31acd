/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_loss_test.c die|hang|suite_die I|suite_hang I|end|fail|rank_0 - runs of processes with ON_LOSS_REPORT
 * (world.W8), of which one or two are lost. Started by loss_launch_test, which counts the ranks that say that all is as
 * it should be.
 *
 *   die, hang  rank 2 ends or stops; the others find that out in every collective, go on as survivors, and lose rank 3
 *   suite_*    loss_suite from its case I on
 *   end        rank 1 ends when it has returned from all but the last meeting
 *   fail       rank 1 fails: a failure of the run
 *   rank_0     rank 0 stops: likewise
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/share.h"
#include "harness/world/suite/loss_suite.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

#if TEST_MPI
#include <mpi.h>

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

struct job {
    const char *what;
    int first_case;
    int n_failures;
};

/* Every collective of w ends with RC_PEER, and names the rank by its number in the run. */
static int all_end(struct world *w, int lost, bool hung)
{
    const char *message = rc_message();
    char name[64];
    int own = w->rank, all[8], n_failures = 0, host, n_hosts;
    struct world *part = NULL;
    struct share *share = NULL;

    snprintf(name, sizeof name, "rank %d was lost: %s", lost, hung ? "silent for " : "ended before its work was done");
    EXPECT_OF(w, world_barrier(w) == RC_PEER && strstr(message, name));
    EXPECT_OF(w, world_allgather(w, &own, all, sizeof own) == RC_PEER && strstr(message, name));
    EXPECT_OF(w, world_gather(w, &own, all, sizeof own) == RC_PEER && strstr(message, name));
    EXPECT_OF(w, world_broadcast(w, &own, sizeof own) == RC_PEER && strstr(message, name));
    EXPECT_OF(w, world_split(w, 0, 0, &part) == RC_PEER && !part && strstr(message, name));
    EXPECT_OF(w, world_host_group(w, &part, &host, &n_hosts) == RC_PEER && !part && strstr(message, name));
    EXPECT_OF(w, world_share_open(w, 64, &share) == RC_PEER && !share && strstr(message, name));
    EXPECT_OF(w, world_check(w) == RC_OK);
    return n_failures;
}

/* Collectives of w, whose rank i is rank number[i] of the run, give what they should. */
static int all_work(struct world *w, const int *number, int n_ranks)
{
    int own = world_number(w, w->rank), all[8] = { 0 }, n_failures = 0;
    struct world *part = NULL;

    EXPECT_OF(w, w->n_ranks == n_ranks);
    EXPECT_OF(w, world_barrier(w) == RC_OK);
    EXPECT_OF(w, world_allgather(w, &own, all, sizeof own) == RC_OK);
    for (int i = 0; i < n_ranks; i++) {
        EXPECT_OF(w, all[i] == number[i]);
        EXPECT_OF(w, world_number(w, i) == number[i]);
        all[i] = -1;
    }
    EXPECT_OF(w, world_gather(w, &own, all, sizeof own) == RC_OK);
    for (int i = 0; i < n_ranks && w->rank == 0; i++)
        EXPECT_OF(w, all[i] == number[i]);
    int value = w->rank == 0 ? 4711 : 0;
    EXPECT_OF(w, world_broadcast(w, &value, sizeof value) == RC_OK && value == 4711);
    EXPECT_OF(w, w->n_host_ranks == n_ranks && w->host_rank == w->rank);           /* all are on one host */
    EXPECT_OF(w, world_split(w, w->rank == 0 ? -1 : 3, -w->rank, &part) == RC_OK); /* in the opposite order */
    EXPECT_OF(w, (part != NULL) == (w->rank != 0));
    if (part) {
        EXPECT_OF(w, part->n_ranks == n_ranks - 1 && part->rank == n_ranks - 1 - w->rank);
        EXPECT_OF(w, world_number(part, part->rank) == own);
        EXPECT_OF(w, world_allgather(part, &own, all, sizeof own) == RC_OK);
        for (int i = 0; i < part->n_ranks; i++)
            EXPECT_OF(w, all[i] == number[n_ranks - 1 - i]);
    }
    world_split_close(&part);
    return n_failures;
}

/* The state of rank `peer` of the run, as world_peer_next() tells. */
static int await_loss(struct world *w, int peer)
{
    struct peer_event e = { .peer = -1 };
    int n_failures = 0;

    while (n_failures == 0 && !(e.peer == peer && e.state == PEER_LOST)) { /* the launcher ends a hang */
        EXPECT_OF(w, world_peer_next(w, &e) == RC_OK);
        if (e.peer < 0)
            world_pause(w, 10000000);
    }
    EXPECT_OF(w, e.peer == peer && e.state == PEER_LOST && e.epoch == 0);
    return n_failures;
}

static int lose_another(struct world *w)
{
    static const int last[] = { 0, 1 };
    struct world *left = NULL;
    int n_failures = 0;

    EXPECT_OF(w, loss_await_others(w, 2, 101)); /* rank 3 of the run */
    if (world_number(w, w->rank) == 3)
        world_die(w);
    n_failures += all_end(w, 3, false);
    EXPECT_OF(w, world_survivors(w, &left) == RC_OK);
    n_failures += left ? all_work(left, last, 2) : 0;
    world_split_close(&left);
    return n_failures;
}

/* Rank 2 is lost. Parts of {0, 1} and {2, 3} were made before. */
static int lose_one(struct world *w, struct world *part, bool hangs)
{
    static const int first[] = { 0, 1, 3 }, pair[] = { 0, 1 };
    struct world *left = NULL;
    int n_failures = 0;

    EXPECT_OF(w, loss_await_others(w, 2, 100));
    if (w->rank == 2 && hangs)
        hang(w);
    if (w->rank == 2)
        world_die(w);
    if (w->rank == 3) /* it does not wait: it computes, and is told */
        n_failures += await_loss(w, 2);
    n_failures += all_end(w, 2, hangs);
    EXPECT_OF(w, world_lost_rank(w) == 2);
    EXPECT_OF(w, world_lost_rank(part) == (w->rank == 3 ? 0 : -1));
    n_failures += w->rank == 3 ? all_end(part, 2, hangs) : all_work(part, pair, 2);
    EXPECT_OF(w, world_survivors(w, &left) == RC_OK);
    if (left) {
        EXPECT_OF(w, world_lost_rank(left) == -1);
        n_failures += all_work(left, first, 3) + lose_another(left);
    }
    world_split_close(&left);
    return n_failures;
}

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
    struct world *part = NULL, *all = NULL;
    int n_failures = 0;
    enum rc rc;

    atomic_store(&watched.peers, w->peers);
    TRY(world_split(w, w->rank / 2, 0, &part));
    TRY(world_survivors(w, &all)); /* all of them */
    EXPECT_OF(w, all->n_ranks == 4 && all->rank == w->rank);
    world_split_close(&all);
    if (strcmp(job->what, "die") == 0 || strcmp(job->what, "hang") == 0)
        n_failures += lose_one(w, part, strcmp(job->what, "hang") == 0);
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
    world_split_close(&part);
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
