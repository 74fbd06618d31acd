/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_peers.c - the seats of all ranks of the run, and the thread that watches them.
 *
 * The ranks of a host have them in one share, and make up a cell (beat_frame.h); one that cannot share memory is a cell
 * of its own. A rank's seat has its number in the run.
 */
#include "harness/world/process/process_peers.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/world/process/heartbeat.h"
#include "harness/world/share.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

/* From the loss of a rank, or from another end of the run, until this process is ended. */
#define LEAVE_NS UINT64_C(2500000000)

/* From the last meeting until this process is ended, at least: MPI_Finalize() may be slow, and all work is done. */
#define FINALIZE_NS UINT64_C(30000000000)

/* Between two looks while ranks wait to hear when to stop. */
#define STOPPING_NS UINT64_C(2000000)

struct process_peers {
    struct world *world;                /* borrowed */
    uint64_t (*watch_clock)(void *arg); /* of world_opts */
    void *watch_clock_arg;
    int failure_exit_code;
    struct peers peers;
    struct world *group;     /* of the share; NULL: seats are `alone` */
    struct share *share;     /* all seats are in the block of its rank 0 */
    struct peer_seat *alone; /* [n_ranks]; NULL: seats are in the share */
    int *cell;               /* [n_ranks] */
    uint64_t *slack_ns;      /* [n_ranks] */
    int *process;            /* [n_ranks]: with losses, a pidfd for each process of this host; -1: none */
    struct peer_watch watch;
    struct heartbeat *heartbeat; /* NULL: there is one cell, or no way to the others */
    pthread_t thread;
    bool is_started;
    pthread_mutex_t lock; /* held while the thread looks at the seats, and to change left_ns */
    struct doorbell bell; /* rung for `is_over` */
    atomic_bool is_over;
    uint64_t left_ns;     /* when process_peers_leave() was called; 0: not yet */
    bool is_stopping;     /* the thread's: ranks wait for the step after which all end (world.Z2) */
    atomic_bool has_lost; /* publishes what follows */
    int lost;             /* rank in the run */
    char why[RC_MESSAGE_BYTES];
};

static _Noreturn void end_process(const struct process_peers *p, int rank, const char *why)
{
    char line[RC_MESSAGE_BYTES + 128];
    const int n_chars =
        snprintf(line, sizeof line, "gradmark: rank %d: %s; process of rank %d does not end by itself\n", rank, why,
                 p->peers.own);

    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    _exit(p->failure_exit_code);
}

/* Is the loss of a rank left to the others (world.W8)? Rank 0 is needed, and this process is not to go on without
 * itself. */
static bool is_reported(const struct process_peers *p, int rank)
{
    return p->world->losses && rank != 0 && rank != p->peers.own;
}

/* A lost process that was stopped, or is stuck, would keep its launcher waiting. */
static void kill_process(const struct process_peers *p, int rank)
{
    if (p->process && p->process[rank] >= 0)
        (void)syscall(SYS_pidfd_send_signal, p->process[rank], SIGKILL, NULL, 0);
}

/* On which the ranks are judged; all else here is on the machine's clock. */
static uint64_t watch_clock_ns(const struct process_peers *p)
{
    return p->watch_clock ? p->watch_clock(p->watch_clock_arg) : wait_clock_ns();
}

/* A rank that has ended the run; -1: none. */
static int find_failed(const struct process_peers *p, char why[RC_MESSAGE_BYTES])
{
    for (int r = 0; p->world->losses && r < p->peers.n_ranks; r++)
        if (r != p->peers.own && atomic_load(&p->peers.seat[r].has_failed)) {
            snprintf(why, RC_MESSAGE_BYTES, "its own message says why");
            return r;
        }
    return -1;
}

/* A process of this host that has ended, and not by the end of the run (world.P4). */
static void find_ended(const struct process_peers *p)
{
    for (int r = 0; p->process && r < p->peers.n_ranks; r++) {
        struct pollfd ended = { .fd = p->process[r], .events = POLLIN };
        if (ended.fd >= 0 && !peer_is_lost(&p->peers.seat[r]) && poll(&ended, 1, 0) == 1)
            peer_show_lost(&p->peers.seat[r], 0);
    }
}

/* Ranks that have left before the others have met for the last time (world_leave()). They end by themselves. */
static void find_left(const struct process_peers *p)
{
    for (int r = 0; p->world->losses && p->world->ops->leave && r < p->peers.n_ranks; r++)
        if (r != p->peers.own && atomic_load(&p->peers.seat[r].state) == PEER_LEFT)
            (void)peer_losses_add(p->world->losses, r, WORLD_LEFT_WHY);
}

/* The rank by whose loss or failure the run ends; -1: none. One that failed is lost, too, once its process has ended.
 */
static int find_end(struct process_peers *p, char why[RC_MESSAGE_BYTES])
{
    const uint64_t now_ns = watch_clock_ns(p);

    find_left(p);
    find_ended(p);
    const int failed = find_failed(p, why);
    int lost;

    if (failed >= 0)
        return failed;
    while ((lost = peer_watch_look(&p->watch, now_ns, why)) >= 0 && is_reported(p, lost)) {
        (void)peer_losses_add(p->world->losses, lost, why);
        kill_process(p, lost);
    }
    return lost;
}

/* Look at the seats, between what comes from other cells and what goes there. After a loss that ends the run all end:
 * whoever is silent then waits for the launcher. */
static int look_at_seats(struct process_peers *p, uint64_t now_ns, char why[RC_MESSAGE_BYTES])
{
    int lost = -1;

    heartbeat_receive(p->heartbeat, now_ns);
    if (!atomic_load(&p->has_lost))
        lost = find_end(p, why);
    p->is_stopping = stop_look(&p->peers);
    heartbeat_send(p->heartbeat, now_ns); /* also what was just seen: this process may soon have ended */
    return lost;
}

/* Returns when this process has to have ended; UINT64_MAX: nothing is wrong. */
static uint64_t look(struct process_peers *p, uint64_t limit_ns)
{
    const uint64_t now_ns = wait_clock_ns();
    char why[RC_MESSAGE_BYTES];
    int lost = -1;

    pthread_mutex_lock(&p->lock);
    if (p->left_ns > 0)
        limit_ns = p->left_ns + (p->watch.opts.abort_ns > FINALIZE_NS ? p->watch.opts.abort_ns : FINALIZE_NS);
    else
        lost = look_at_seats(p, now_ns, why);
    pthread_mutex_unlock(&p->lock);
    if (lost >= 0) {
        snprintf(p->why, sizeof p->why, "%s", why);
        p->lost = lost;
        atomic_store(&p->has_lost, true);
        limit_ns = now_ns + LEAVE_NS;
    }
    return limit_ns;
}

static void *watch_main(void *arg)
{
    struct process_peers *p = arg;
    uint64_t limit_ns = UINT64_MAX;

    for (;;) {
        const uint32_t seen = doorbell_seen(&p->bell);
        if (atomic_load(&p->is_over))
            return NULL;
        (void)doorbell_wait(&p->bell, seen, false, p->is_stopping ? STOPPING_NS : peer_watch_interval_ns(&p->watch));
        limit_ns = look(p, limit_ns);
        if (wait_clock_ns() < limit_ns || p->watch_clock)
            continue;
        if (atomic_load(&p->has_lost))
            end_process(p, p->lost, p->why);
        end_process(p, p->peers.own, "has met all others for the last time, but does not end");
    }
}

/* Seats in memory that the ranks of this host share. */
static enum rc open_seats(struct process_peers *p, struct world *w)
{
    int host, n_hosts;
    enum rc rc;

    TRY(world_host_group(w, &p->group, &host, &n_hosts));
    TRY(world_share_open(p->group, (size_t)w->n_ranks * sizeof(struct peer_seat), &p->share));
    p->peers.seat = p->share->peer[0];
out:
    return rc;
}

/* Seats that this process alone reads and writes. */
static enum rc open_own_seats(struct process_peers *p, const struct peer_opts *opts)
{
    char line[RC_MESSAGE_BYTES];

    snprintf(line, sizeof line, "the ranks of this host share no memory to see each other's silence: %.400s",
             rc_message());
    if (p->group ? p->group->rank == 0 : p->world->host_rank == 0)
        peer_tell(opts, line);
    world_share_close(&p->share);
    world_split_close(&p->group);
    p->alone = peer_seats_alloc(p->world->n_ranks);
    p->peers.seat = p->alone;
    return p->alone ? RC_OK : rc_raise(RC_NOMEM, "no memory for the seats of %d ranks", p->world->n_ranks);
}

/* cell[r] := the first of the ranks that have their seats where rank r has its own. */
static enum rc find_cells(struct process_peers *p, struct world *w)
{
    const int own = w->rank;
    int first = own;
    enum rc rc;

    p->cell = calloc((size_t)w->n_ranks, sizeof *p->cell);
    p->slack_ns = calloc((size_t)w->n_ranks, sizeof *p->slack_ns);
    if (!p->cell || !p->slack_ns)
        FAIL(RC_NOMEM, "no memory for what %d ranks know of each other", w->n_ranks);
    if (p->group)
        TRY(world_broadcast(p->group, &first, sizeof first)); /* the group is in the order of ranks */
    TRY(world_allgather(w, &first, p->cell, sizeof first));
out:
    return rc;
}

/* Handles that stay those of the other processes of this host, whoever gets their numbers later. */
static enum rc open_processes(struct process_peers *p, struct world *w)
{
    const int n = p->group->n_ranks;
    const pid_t own = getpid();
    pid_t *all = calloc((size_t)n, sizeof *all);
    int *number = calloc((size_t)n, sizeof *number);
    enum rc rc;

    p->process = malloc((size_t)w->n_ranks * sizeof *p->process);
    if (!all || !number || !p->process)
        FAIL(RC_NOMEM, "no memory for the processes of %d ranks", w->n_ranks);
    for (int r = 0; r < w->n_ranks; r++)
        p->process[r] = -1;
    TRY(world_allgather(p->group, &own, all, sizeof own));
    TRY(world_allgather(p->group, &w->rank, number, sizeof w->rank));
    for (int i = 0; i < n; i++)
        if (number[i] != w->rank) /* -1, and so never killed, where the kernel has no such handles */
            p->process[number[i]] = (int)syscall(SYS_pidfd_open, all[i], 0);
    TRY(world_barrier(p->group)); /* all live until they are open */
out:
    free(all);
    free(number);
    return rc;
}

static enum rc start_watch(struct process_peers *p, struct world *w, const struct peer_opts *opts)
{
    enum rc rc;

    TRY(peer_watch_open(&p->watch, opts, p->peers.seat, w->n_ranks, watch_clock_ns(p)));
    p->watch.slack_ns = p->slack_ns;
    TRY(heartbeat_open(&p->heartbeat, w, p->cell, p->peers.seat, opts, peer_watch_interval_ns(&p->watch), p->slack_ns));
    for (int r = 0; r < w->n_ranks && !p->peers.cell; r++)
        p->peers.cell = p->cell[r] != p->cell[0] ? p->cell : NULL;
    p->peers.is_cut_off = p->peers.cell && !heartbeat_reaches_all(p->heartbeat);
    p->watch.looked_ns = watch_clock_ns(p);
    if (pthread_create(&p->thread, NULL, watch_main, p) != 0)
        FAIL(RC_NOMEM, "the thread that watches the ranks cannot be started");
    p->is_started = true;
out:
    return rc;
}

enum rc process_peers_open(struct process_peers **out, struct world *w, const struct world_opts *opts,
                           int failure_exit_code)
{
    struct process_peers *p = calloc(1, sizeof *p);
    enum rc rc;

    if (!p)
        return rc_raise(RC_NOMEM, "no memory to watch the ranks of a run");
    p->world = w;
    p->watch_clock = opts->watch_clock;
    p->watch_clock_arg = opts->watch_clock_arg;
    p->failure_exit_code = failure_exit_code;
    p->peers = (struct peers){ .n_ranks = w->n_ranks, .own = w->rank, .abort_ns = opts->stall.abort_ns };
    pthread_mutex_init(&p->lock, NULL);
    rc = open_seats(p, w);
    /* on all ranks of the host (world.H2) */
    if (rc == RC_UNSUPPORTED || rc == RC_INVAL || (rc == RC_NOMEM && p->group))
        rc = open_own_seats(p, &opts->stall);
    if (rc != RC_OK)
        goto out;
    TRY(find_cells(p, w));
    if (w->losses && p->group)
        TRY(open_processes(p, w));
    TRY(start_watch(p, w, &opts->stall));
    w->peers = &p->peers;
    *out = p;
    p = NULL;
out:
    process_peers_close(&p);
    return rc;
}

enum rc process_peers_check(const struct process_peers *p)
{
    if (!p || !atomic_load_explicit(&p->has_lost, memory_order_acquire))
        return RC_OK;
    if (process_peers_lost_self(p)) /* world.P3 */
        return rc_raise(RC_PEER, "this rank was silent for too long, and counts as lost");
    return rc_raise(RC_PEER, "rank %d failed: %s", p->lost, p->why);
}

bool process_peers_lost_self(const struct process_peers *p)
{
    return p && atomic_load(&p->has_lost) && p->lost == p->peers.own && p->lost != 0 && p->world->losses;
}

bool process_peers_failure(const struct process_peers *p, int *rank, const char **why)
{
    if (!p || !atomic_load(&p->has_lost))
        return false;
    *rank = p->lost;
    *why = p->why;
    return true;
}

enum rc process_peers_meet_at_end(struct world *w, bool *are_all)
{
    struct world *left = NULL;
    enum rc rc;

    *are_all = true;
    if (w->on_loss != ON_LOSS_REPORT)
        return w->ops->barrier(w);
    TRY(w->ops->survivors(w, &left)); /* equal on all ranks, which a barrier is not */
    *are_all = left->n_ranks == w->n_ranks;
    w->ops->split_close(&left);
out:
    return rc;
}

void process_peers_fail(struct process_peers *p)
{
    if (!p || !p->world->losses)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->left_ns == 0) {
        atomic_store(&p->peers.seat[p->peers.own].has_failed, true);
        heartbeat_send(p->heartbeat, wait_clock_ns());
    }
    pthread_mutex_unlock(&p->lock);
}

static void close_seats(struct process_peers *p)
{
    p->world->peers = NULL;
    peers_fini(&p->peers);
    world_share_close(&p->share);
    world_split_close(&p->group);
    free(p->alone);
    p->alone = NULL;
}

void process_peers_leave(struct process_peers *p)
{
    if (!p)
        return;
    peer_end(&p->peers.seat[p->peers.own], PEER_LEFT); /* world.P4 */
    pthread_mutex_lock(&p->lock);
    p->left_ns = wait_clock_ns();
    heartbeat_send(p->heartbeat, p->left_ns);
    heartbeat_close(&p->heartbeat);
    pthread_mutex_unlock(&p->lock);
    close_seats(p);
}

void process_peers_close(struct process_peers **pp)
{
    struct process_peers *p = *pp;

    if (!p)
        return;
    if (p->is_started) {
        atomic_store(&p->is_over, true);
        doorbell_ring(&p->bell);
        pthread_join(p->thread, NULL);
    }
    heartbeat_close(&p->heartbeat);
    if (p->left_ns == 0)
        close_seats(p);
    peer_watch_close(&p->watch);
    pthread_mutex_destroy(&p->lock);
    for (int r = 0; p->process && r < p->peers.n_ranks; r++)
        if (p->process[r] >= 0)
            (void)close(p->process[r]);
    free(p->process);
    free(p->slack_ns);
    free(p->cell);
    free(p);
    *pp = NULL;
}
