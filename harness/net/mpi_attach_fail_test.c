/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_attach_fail_test.c - runs in an MPI that this program initialises (mpi_attach.h): every way for a rank to fail
 * while the others wait, in every way, after which the job goes on and runs again. Under mpiexec with 2 or more ranks;
 * the exit code tells.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/suite/mpi_watch.h"
#include "harness/net/transport.h"
#include "harness/world/task.h"

extern const struct world_ops world_mpi;
extern const struct transport_ops transport_mpi;

enum { BIG_BYTES = 3000000, TIMEOUT_MS = 120000, MAX_RANKS = 8, N_ROUNDS = 20 };

#define LIMIT_NS UINT64_C(120000000000)

/* What a rank waits for that another rank will never do. */
struct wait {
    const char *name;
    enum rc (*run)(struct world *w, struct transport *t, int failing_rank);
};

static enum rc wait_barrier(struct world *w, struct transport *t, int failing_rank)
{
    (void)t;
    (void)failing_rank;
    return world_barrier(w);
}

static enum rc wait_allgather(struct world *w, struct transport *t, int failing_rank)
{
    char *all = malloc((size_t)w->n_ranks * BIG_BYTES), *own = calloc(1, BIG_BYTES);
    enum rc rc = RC_BUG;

    (void)t;
    (void)failing_rank;
    if (all && own)
        rc = world_allgather(w, own, all, BIG_BYTES);
    free(own);
    free(all);
    return rc;
}

static enum rc wait_broadcast(struct world *w, struct transport *t, int failing_rank)
{
    static char bytes[BIG_BYTES];
    enum rc rc;

    (void)t;
    (void)failing_rank;
    do
        rc = world_broadcast(w, bytes, sizeof bytes); /* rank 0 alone would wait for none but the failing rank */
    while (rc == RC_OK);
    return rc;
}

static enum rc wait_gather(struct world *w, struct transport *t, int failing_rank)
{
    enum rc rc = wait_allgather(w, t, failing_rank);

    if (rc == RC_PEER) /* and for ever */
        rc = world_gather(w, &w->rank, &(int[MAX_RANKS]){ 0 }, sizeof w->rank);
    return rc;
}

static enum rc wait_split(struct world *w, struct transport *t, int failing_rank)
{
    struct world *part = NULL;
    const enum rc rc = world_split(w, 0, 0, &part);

    (void)t;
    (void)failing_rank;
    world_split_close(&part);
    return rc;
}

static enum rc wait_open(struct world *w, struct transport *t, int failing_rank)
{
    struct transport *second = NULL;
    const enum rc rc = transport_open(&second, &transport_mpi, w);

    (void)t;
    (void)failing_rank;
    transport_close(&second);
    return rc;
}

static enum rc wait_event(struct world *w, struct transport *t, int failing_rank)
{
    struct event *e = NULL;
    enum rc rc;

    (void)t;
    (void)failing_rank;
    TRY(event_open(&e, w, "never"));
    rc = event_wait(e, LIMIT_NS);
out:
    event_close(&e);
    return rc;
}

/* The memory is freed at once: MPI must not know of it (net.M1). */
static enum rc wait_xfer(struct transport *t, bool receives, int peer, size_t n_bytes)
{
    unsigned char *bytes = calloc(1, n_bytes);
    struct xfer x = { .ptr = bytes, .n_bytes = n_bytes, .peer = peer, .tag = 7 };
    enum rc rc;

    mpi_watch.caller_bytes = x.ptr;
    mpi_watch.n_caller_bytes = n_bytes;
    TRY(receives ? transport_recv(t, &x) : transport_send(t, &x));
    TRY(transport_wait(t, &x, TIMEOUT_MS));
out:
    mpi_watch.caller_bytes = NULL;
    if (bytes)
        memset(bytes, 0xdd, n_bytes);
    free(bytes);
    return rc;
}

static enum rc wait_recv(struct world *w, struct transport *t, int failing_rank)
{
    (void)w;
    return wait_xfer(t, true, failing_rank, BIG_BYTES);
}

static enum rc wait_send(struct world *w, struct transport *t, int failing_rank)
{
    (void)w;
    return wait_xfer(t, false, failing_rank, BIG_BYTES);
}

static enum rc wait_send_small(struct world *w, struct transport *t, int failing_rank)
{
    (void)w;
    return wait_xfer(t, false, failing_rank, 10);
}

/* Messages to all others, who do not wait for them, posted and never waited for; then for one of TAG_ANY, which nobody
 * sends. */
static enum rc wait_any(struct world *w, struct transport *t, int failing_rank)
{
    static unsigned char bytes[BIG_BYTES];
    static struct xfer x[2 * MAX_RANKS]; /* until the transport is closed */
    struct message m;
    enum rc rc = RC_OK;

    (void)failing_rank;
    for (int i = 0; i < 2 * w->n_ranks; i++) {
        x[i] = (struct xfer){ .ptr = bytes, .n_bytes = i % 2 ? BIG_BYTES : 100, .peer = i / 2, .tag = 7 };
        if (x[i].peer != w->rank)
            TRY(transport_send(t, &x[i]));
    }
    TRY(transport_recv_message(t, &m, TIMEOUT_MS));
    transport_release(t, &m);
out:
    return rc;
}

/* The failing rank has posted the receive: some of the bytes may be on their way. */
static enum rc wait_send_on_its_way(struct world *w, struct transport *t, int failing_rank)
{
    const enum rc rc = wait_xfer(t, false, failing_rank, BIG_BYTES);

    return rc == RC_OK ? world_barrier(w) : rc;
}

static const struct wait waits[] = {
    { "barrier", wait_barrier }, { "allgather", wait_allgather },
    { "gather", wait_gather },   { "broadcast", wait_broadcast },
    { "split", wait_split },     { "open", wait_open },
    { "event", wait_event },     { "recv", wait_recv },
    { "send", wait_send },       { "small send", wait_send_small },
    { "any", wait_any },         { "on its way", wait_send_on_its_way },
};

enum how { RETURNS, ABORTS, DIES, TASK_ABORTS, TASK_DIES, BOTH_ABORT, N_HOW };

struct drill {
    const struct wait *wait;
    enum how how;
    int failing_rank, late_rank; /* which comes last; -1: none */
    int n_failures;
};

static enum rc abort_from_task(struct world *w, void *arg)
{
    const enum rc rc = rc_raise(RC_IO, "the disk is full");

    (void)arg;
    world_abort(w, rc);
    return rc;
}

static enum rc die_in_task(struct world *w, void *arg)
{
    (void)arg;
    world_die(w);
    return RC_OK;
}

/* A task of this rank ends badly while the main one waits for it. */
static enum rc fail_by_task(struct world *w, rank_main_fn *fn)
{
    struct task *task = NULL;
    enum rc rc;

    TRY(world_spawn(&task, w, &(struct task_opts){ .name = "comm", .fn = fn }));
    (void)!wait_event(w, NULL, 0);
    rc = world_join(&task);
out:
    return rc;
}

static enum rc fail(struct world *w, enum how how)
{
    if (how == TASK_ABORTS || how == TASK_DIES)
        return fail_by_task(w, how == TASK_DIES ? die_in_task : abort_from_task);
    if (how == DIES)
        world_die(w);
    const enum rc rc = rc_raise(RC_IO, "the disk is full");
    if (how == ABORTS) {
        world_abort(w, rc);
        world_abort(w, rc_raise(RC_BUG, "a second reason"));
    }
    if (how == BOTH_ABORT) { /* this rank first; the next one hears of it by the caller's means alone */
        world_abort(w, rc);
        PMPI_Ssend(NULL, 0, MPI_BYTE, w->rank + 1, 1, MPI_COMM_WORLD);
    }
    return rc;
}

/* The late rank goes on when all others are about to wait or to fail. The pause lets them look several times; whether
 * they do changes no result. By the caller's MPI, of which the run knows nothing. */
static void come_late(struct world *w, int late_rank)
{
    enum { LATE_TAG = 2 };

    if (w->rank != late_rank) {
        PMPI_Send(NULL, 0, MPI_BYTE, late_rank, LATE_TAG, MPI_COMM_WORLD);
        return;
    }
    for (int i = 1; i < w->n_ranks; i++)
        PMPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, LATE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    world_pause(w, UINT64_C(50000000));
}

static enum rc drill_body(struct world *w, void *arg)
{
    static unsigned char bytes[MAX_RANKS][BIG_BYTES];
    static struct xfer rx[MAX_RANKS]; /* until the transport is closed */
    struct drill *d = arg;
    struct transport *t = NULL;
    char said[40];
    enum rc rc;

    TRY(transport_open(&t, &transport_mpi, w));
    TRY(world_barrier(w));
    PMPI_Barrier(MPI_COMM_WORLD); /* all have come out of the other one */
    const bool is_second = d->how == BOTH_ABORT && w->rank == d->failing_rank + 1;
    if (d->late_rank >= 0)
        come_late(w, d->late_rank);
    if (is_second) {
        PMPI_Recv(NULL, 0, MPI_BYTE, d->failing_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        rc = rc_raise(RC_BUG, "the second to fail");
    } else if (w->rank == d->failing_rank) {
        for (int r = 0; d->wait->run == wait_send_on_its_way && r < w->n_ranks; r++) {
            rx[r] = (struct xfer){ .ptr = bytes[r], .n_bytes = BIG_BYTES, .peer = r, .tag = 7 };
            if (r != w->rank)
                TRY(transport_recv(t, &rx[r]));
        }
        rc = fail(w, d->how);
    } else {
        rc = d->wait->run(w, t, d->failing_rank);
        (void)snprintf(said, sizeof said, "rank %d failed: ", d->failing_rank);
        d->n_failures += EXPECT(rc == RC_PEER);
        d->n_failures += EXPECT(strstr(rc_message(), d->how == BOTH_ABORT ? " failed: " : said)); /* first heard of */
        d->n_failures += EXPECT(world_check(w) == RC_PEER);
    }
out:
    transport_close(&t);
    return rc;
}

/* Messages of the run before must not come to this one. */
static enum rc ring_body(struct world *w, void *arg)
{
    const int n = w->n_ranks;
    struct transport *t = NULL;
    struct message m;
    int in = -1, *n_failures = arg;
    enum rc rc;

    TRY(transport_open(&t, &transport_mpi, w));
    for (int i = 0; i < N_ROUNDS; i++) {
        int out = 1000 * i + w->rank;
        struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .peer = (w->rank + 1) % n, .tag = 7 };
        struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = (w->rank + n - 1) % n, .tag = 7 };
        TRY(transport_exchange(t, &tx, &rx, TIMEOUT_MS));
        *n_failures += EXPECT(in == 1000 * i + rx.peer);
    }
    TRY(transport_recv_message(t, &m, DO_NOT_WAIT));
    *n_failures += EXPECT(m.peer < 0);
    TRY(world_barrier(w));
out:
    transport_close(&t);
    return rc;
}

/* The result of world_run() is the same on all ranks, and names the rank that failed first. */
static int expect_result(const struct drill *d, enum rc rc)
{
    const bool died = d->how == DIES || d->how == TASK_DIES;
    char wanted[80];

    (void)snprintf(wanted, sizeof wanted, "rank %d: %s", d->failing_rank,
                   d->how == DIES        ? "ended before its work was done"
                   : d->how == TASK_DIES ? "task comm ended before its work was done"
                                         : "the disk is full");
    return EXPECT(rc == (died ? RC_PEER : RC_IO)) + EXPECT(strcmp(rc_message(), wanted) == 0);
}

static int run_drill(struct drill *d, bool has_tasks)
{
    const MPI_Comm all = MPI_COMM_WORLD;
    const struct world_opts opts = { .has_tasks = has_tasks, .mpi_comm = &all };
    const int n_before = mpi_watch.n_comms, one = 1;
    int n_ranks = 0, n_ones = 0, n_all = 0;

    PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    d->n_failures += expect_result(d, world_run(&world_mpi, &opts, 0, drill_body, d));
    d->n_failures += EXPECT(mpi_watch.n_comms == n_before);
    if (d->how != DIES || mpi_watch.rank != d->failing_rank) /* its body has not closed what it had opened */
        d->n_failures += EXPECT(mpi_watch.n_requests == 0);
    mpi_watch.n_requests = 0;
    /* The caller's job goes on: its own messages, and another run. */
    PMPI_Allreduce(&one, &n_ones, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    d->n_failures += EXPECT(n_ones == n_ranks);
    mpi_watch.n_isends = 0;
    d->n_failures += EXPECT(world_run(&world_mpi, &opts, 0, ring_body, &d->n_failures) == RC_OK);
    d->n_failures += EXPECT(mpi_watch.n_isends == 0); /* net.M2 */
    d->n_failures += EXPECT(mpi_watch.n_comms == n_before && mpi_watch.n_requests == 0);
    if (d->n_failures > 0)
        fprintf(stderr, "rank %d: %s, way %d, failing rank %d, late rank %d, tasks %d\n", mpi_watch.rank, d->wait->name,
                (int)d->how, d->failing_rank, d->late_rank, has_tasks);
    PMPI_Allreduce(&d->n_failures, &n_all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return n_all; /* all ranks go on, or none */
}

static int run_failures(void)
{
    int n_failures = 0, n_ranks = 0;

    PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        for (enum how how = RETURNS; how < N_HOW && n_failures == 0; how++) {
            struct drill d = { .wait = &waits[i], .how = how, .failing_rank = 1, .late_rank = -1 };
            if (how != BOTH_ABORT || n_ranks >= 3)
                n_failures += run_drill(&d, (i + (size_t)how) % 2 == 0);
        }
        for (int failing_rank = 0; failing_rank < 2 && n_failures == 0; failing_rank++)
            for (int late_rank = 0; late_rank < 2 && n_failures == 0; late_rank++) {
                struct drill d = { &waits[i], RETURNS, .failing_rank = failing_rank, .late_rank = late_rank };
                n_failures += run_drill(&d, i % 2 == 0);
            }
    }
    return n_failures;
}

int main(void)
{
    int n_failures = 0;

    mpi_watch_begin();
    n_failures += run_failures();
    return n_failures + mpi_watch_end() > 0;
}
