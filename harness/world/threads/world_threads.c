/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_threads.c - ranks as threads of this process.
 *
 * One struct run per world_run(): it holds the first failure, which every wait checks (W4, W5).
 * A struct group is the set of ranks of one world: all ranks of the run, or one part of a split.
 * No sleep lasts longer than WAIT_SLICE_NS, so every wait sees a failure within that time; a failing rank
 * wakes no other.
 * The thread that called world_run() watches the ranks (peers.h). A thread cannot be ended from outside: one that does
 * not end after a failure takes the process with it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/world/cores.h"
#include "harness/world/share_inner.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

#define LEAVE_NS UINT64_C(3000000000) /* with what a watch takes to look, less than the 5 s of W4 */

struct run { /* shared by all ranks of one world_run() */
    const struct world_opts *opts;
    rank_main_fn *body;
    void *arg;
    int n_cores; /* allowed to this process; read once, before a thread is bound to some of them */
    struct share_run shares;
    pthread_mutex_t lock;
    atomic_bool failed;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
    struct peer_seat *seat; /* [n_ranks] */
    atomic_int n_ended;     /* ranks whose thread is about to end */
    struct doorbell bell;   /* rung for each of them */
};

struct group {
    int n_ranks;
    atomic_int n_arrived, n_users;
    _Atomic uint32_t generation;
    struct doorbell bell;
    const void *_Atomic slot[]; /* [n_ranks]: the address of each rank's input, for the others to read */
};

struct thread_world {
    struct world base;
    struct thread_tasks tasks; /* of the rank; unused in a part of a split */
    struct peers peers;        /* likewise */
    struct run *run;
    struct group *group;
    int run_rank;  /* rank in the whole run */
    bool returned; /* body() has returned */
    pthread_t thread;
};

static struct thread_world *self(struct world *w)
{
    return (struct thread_world *)w;
}

static void record_failure(struct run *run, int rank, enum rc why, const char *message)
{
    pthread_mutex_lock(&run->lock);
    if (!atomic_load(&run->failed)) {
        run->failed_rank = rank;
        run->why = why;
        snprintf(run->message, sizeof run->message, "%s", message);
        atomic_store(&run->failed, true); /* publishes the fields above */
    }
    pthread_mutex_unlock(&run->lock);
}

static struct group *group_alloc(int n_ranks)
{
    struct group *g = calloc(1, sizeof *g + (size_t)n_ranks * sizeof g->slot[0]);

    if (g) {
        g->n_ranks = n_ranks;
        atomic_store(&g->n_users, n_ranks);
    }
    return g;
}

static enum rc threads_check(struct world *w)
{
    const struct run *run = self(w)->run;

    if (peer_is_lost(&w->peers->seat[w->peers->own])) /* P3 */
        return rc_raise(RC_PEER, "this rank was silent for too long, and counts as lost");
    if (!atomic_load_explicit(&run->failed, memory_order_acquire) || run->failed_rank == self(w)->run_rank)
        return thread_tasks_check(w->tasks);
    return rc_raise(RC_PEER, "rank %d failed: %s", run->failed_rank, run->message);
}

static void threads_abort(struct world *w, enum rc why)
{
    record_failure(self(w)->run, self(w)->run_rank, why, rc_message());
}

static enum rc threads_barrier(struct world *w)
{
    struct group *g = self(w)->group;
    const uint32_t generation = atomic_load(&g->generation);
    enum rc rc = RC_OK;

    if (atomic_fetch_add(&g->n_arrived, 1) == g->n_ranks - 1) {
        atomic_store(&g->n_arrived, 0);
        atomic_fetch_add(&g->generation, 1);
        doorbell_ring(&g->bell);
        return RC_OK;
    }
    while (atomic_load(&g->generation) == generation) {
        const uint32_t seen = doorbell_seen(&g->bell);
        if (atomic_load(&g->generation) != generation)
            break;
        TRY(world_check(w));
        doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
out:
    return rc;
}

/* out: (n_ranks, n_bytes_each); NULL: this rank does not read the inputs. */
static enum rc threads_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    struct group *g = self(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], in);
    TRY(threads_barrier(w));
    for (int r = 0; out && r < g->n_ranks; r++)
        memcpy((char *)out + (size_t)r * n_bytes_each, atomic_load(&g->slot[r]), n_bytes_each);
    TRY(threads_barrier(w)); /* no rank may reuse `in` before all have read it */
out:
    return rc;
}

static enum rc threads_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return threads_allgather(w, in, w->rank == 0 ? out : NULL, n_bytes_each);
}

static enum rc threads_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    struct group *g = self(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], bytes);
    TRY(threads_barrier(w));
    if (w->rank > 0 && n_bytes > 0)
        memcpy(bytes, atomic_load(&g->slot[0]), n_bytes);
    TRY(threads_barrier(w)); /* rank 0 may not change its bytes before all have read them */
out:
    return rc;
}

struct claim { /* what a rank asks of a split; color < 0: to be in no part (world_split) */
    int color, key, rank;
};

/* Does the rank of a get the lower rank in the new world, if both have the same color? */
static bool goes_before(struct claim a, struct claim b)
{
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
}

/* Ranks of equal color form a world, ordered by key, then by rank. The first of them (leader) allocates its group, and
 * all get the address by a second allgather. */
static enum rc threads_split(struct world *w, int color, int key, struct world **out)
{
    const struct claim mine = { color, key, w->rank };
    struct claim *all = calloc((size_t)w->n_ranks, sizeof *all);
    struct thread_world *part = calloc(1, sizeof *part);
    struct group **groups = calloc((size_t)w->n_ranks, sizeof *groups);
    struct group *led = NULL; /* the group this rank allocates, if it is the leader */
    int rank = 0, n_ranks = 0, leader = w->rank;
    enum rc rc;

    if (!all || !part || !groups)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    TRY(threads_allgather(w, &mine, all, sizeof mine));
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].color == color) {
            n_ranks++;
            rank += goes_before(all[r], mine);
            if (goes_before(all[r], all[leader]))
                leader = r;
        }
    if (color >= 0 && leader == w->rank)
        led = group_alloc(n_ranks);
    TRY(threads_allgather(w, &led, groups, sizeof led));
    if (color >= 0) {
        if (!groups[leader])
            FAIL(RC_NOMEM, "no memory for a group of %d ranks", n_ranks);
        *part = *self(w);
        part->group = groups[leader];
        part->base.rank = part->base.host_rank = rank;
        part->base.n_ranks = part->base.n_host_ranks = n_ranks;
        part->base.n_busy_host_ranks = n_ranks;
        *out = &part->base;
        part = NULL;
    }
out:
    free(groups);
    free(part);
    free(all);
    return rc;
}

static void group_release(struct group *g)
{
    if (atomic_fetch_sub(&g->n_users, 1) == 1)
        free(g);
}

static void threads_split_close(struct world **w)
{
    group_release(self(*w)->group);
    free(*w);
    *w = NULL;
}

static uint64_t threads_now_ns(struct world *w)
{
    (void)w;
    return wait_clock_ns();
}

static void threads_pause(struct world *w, uint64_t ns)
{
    const struct timespec pause = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };

    (void)w;
    nanosleep(&pause, NULL);
}

/* A task that dies ends alone; with its rank's main task all end, before the stack of that task goes: they use it. */
static void threads_die(struct world *w)
{
    if (pthread_equal(pthread_self(), self(w)->thread))
        thread_tasks_end(w->tasks);
    pthread_exit(NULL);
}

static void threads_hang(struct world *w)
{
    while (!atomic_load(&self(w)->run->failed))
        threads_pause(w, WAIT_SLICE_NS);
    threads_die(w);
}

/* Runs whenever the thread ends, also by pthread_exit(): a body that has not returned is a dead rank (W5). */
static void on_thread_end(void *arg)
{
    struct thread_world *t = arg;

    struct run *run = t->run;

    if (!t->returned) {
        record_failure(run, t->run_rank, RC_PEER, "ended before its work was done");
        peer_end(&run->seat[t->run_rank], PEER_LOST);
    }
    thread_tasks_fini(&t->tasks);
    peer_end(&run->seat[t->run_rank], PEER_LEFT); /* P4 */
    peers_fini(&t->peers);
    atomic_fetch_add(&run->n_ended, 1);
    doorbell_ring(&run->bell);
}

/* How many ranks the cores are divided by. */
static int n_bound(const struct thread_world *t)
{
    return t->run->opts->n_bound_ranks > 0 ? t->run->opts->n_bound_ranks : t->base.n_ranks;
}

static void bind_cores(struct thread_world *t)
{
    if (!t->run->opts->bind_cores || t->run_rank >= n_bound(t))
        return;
    if (cores_bind_self(t->run_rank, n_bound(t), &t->base.n_own_cores) != RC_OK)
        t->base.n_own_cores = 0; /* the reader of n_own_cores reports it */
}

static void *thread_main(void *arg)
{
    struct thread_world *t = arg;

    pthread_cleanup_push(on_thread_end, t);
    t->tasks.main = pthread_self();
    bind_cores(t);
    const enum rc rc = t->run->body(&t->base, t->run->arg);
    if (rc != RC_OK)
        record_failure(t->run, t->run_rank, rc, rc_message());
    t->returned = true;
    pthread_cleanup_pop(1);
    return NULL;
}

/* A rank's thread does not end although the run has failed. Its memory cannot be freed under it. */
static _Noreturn void end_process(const struct run *run, int n_left)
{
    char line[RC_MESSAGE_BYTES + 128];
    const int n_chars = snprintf(line, sizeof line, "gradmark: rank %d: %s; ranks that do not end by themselves: %d\n",
                                 run->failed_rank, run->message, n_left);

    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    _exit(EXIT_FAILURE);
}

/* Until n_ranks have ended; a lost one fails the run (W4). */
static void watch_ranks(struct run *run, struct peer_watch *watch, int n_ranks)
{
    uint64_t failed_ns = 0;
    char why[RC_MESSAGE_BYTES];

    for (;;) {
        const uint32_t seen = doorbell_seen(&run->bell);
        const int n_left = n_ranks - atomic_load(&run->n_ended);
        if (n_left == 0)
            return;
        (void)doorbell_wait(&run->bell, seen, false, peer_watch_interval_ns(watch));
        const uint64_t now_ns = wait_clock_ns();
        const int lost = failed_ns == 0 ? peer_watch_look(watch, now_ns, why) : -1;
        if (lost >= 0)
            record_failure(run, lost, RC_PEER, why);
        if (failed_ns == 0 && atomic_load(&run->failed))
            failed_ns = now_ns;
        if (failed_ns > 0 && now_ns - failed_ns > LEAVE_NS)
            end_process(run, n_left);
    }
}

static enum rc threads_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct run run = {
        .opts = opts, .body = body, .arg = arg, .n_cores = cores_allowed_count(), .lock = PTHREAD_MUTEX_INITIALIZER
    };
    struct thread_world *rank = NULL;
    struct group *all = NULL;
    struct peer_watch watch = { 0 };
    int n_started = 0;
    enum rc rc = RC_OK;

    assert(n_ranks >= 1);
    if (opts->on_loss == ON_LOSS_REPORT)
        return rc_raise(RC_UNSUPPORTED, "world threads: a lost rank always ends the run");
    share_run_init(&run.shares);
    rank = calloc((size_t)n_ranks, sizeof *rank);
    all = group_alloc(n_ranks);
    run.seat = peer_seats_alloc(n_ranks);
    if (!rank || !all || !run.seat)
        FAIL(RC_NOMEM, "no memory for %d ranks", n_ranks);
    if (opts->stall.abort_ns > 0)
        TRY(peer_watch_open(&watch, &opts->stall, run.seat, n_ranks, wait_clock_ns()));
    for (; n_started < n_ranks; n_started++) {
        struct thread_world *t = &rank[n_started];
        t->base = (struct world){ .ops = &world_threads,
                                  .rank = n_started,
                                  .n_ranks = n_ranks,
                                  .host_rank = n_started,
                                  .n_host_ranks = n_ranks,
                                  .n_host_cores = run.n_cores,
                                  .n_busy_host_ranks = n_ranks,
                                  .has_tasks = true,
                                  .tasks = &t->tasks,
                                  .shares = &run.shares,
                                  .peers = &t->peers };
        t->peers = (struct peers){ .seat = run.seat, .n_ranks = n_ranks, .own = n_started };
        thread_tasks_init(&t->tasks);
        t->run = &run;
        if (opts->bind_cores)
            t->tasks.n_bound_ranks = n_bound(t);
        t->group = all;
        t->run_rank = n_started;
        const int error = pthread_create(&t->thread, NULL, thread_main, t);
        if (error) {
            char message[RC_MESSAGE_BYTES];
            snprintf(message, sizeof message, "its thread cannot be started: %s", strerror(error));
            record_failure(&run, n_started, RC_NOMEM, message);
            break;
        }
    }
    if (watch.seen)
        watch_ranks(&run, &watch, n_started);
    for (int r = 0; r < n_started; r++)
        pthread_join(rank[r].thread, NULL);
    if (atomic_load(&run.failed))
        rc = rc_raise(run.why, "rank %d: %s", run.failed_rank, run.message);
out:
    share_run_fini(&run.shares);
    peer_watch_close(&watch);
    free(run.seat);
    free(all);
    free(rank);
    return rc;
}

const struct world_ops world_threads = {
    .module.name = "threads",
    .module.caps = WORLD_SHARED_MEMORY,
    .tasks = &thread_task_ops,
    .shares = &thread_share_ops,
    .run = threads_run,
    .now_ns = threads_now_ns,
    .pause = threads_pause,
    .barrier = threads_barrier,
    .allgather = threads_allgather,
    .gather = threads_gather,
    .broadcast = threads_broadcast,
    .split = threads_split,
    .split_close = threads_split_close,
    .check = threads_check,
    .abort = threads_abort,
    .die = threads_die,
    .hang = threads_hang,
};
