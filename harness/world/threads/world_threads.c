/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_threads.c - ranks as threads of this process.
 *
 * One struct thread_run per world_run(): it holds the first failure, which every wait checks (world.W4, W5), and the
 * list of losses (world.W8). A failing rank wakes no other. How ranks meet is in threads_collectives.c.
 * The thread that called world_run() watches the ranks (peers.h). A thread cannot be ended from outside: one that does
 * not end after a failure, or when only lost ranks are left, takes the process with it.
 */
#include "harness/world/threads/threads_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/world/cores.h"
#include "harness/world/stop.h"

extern const struct world_ops world_threads;

#define LEAVE_NS UINT64_C(3000000000) /* with what a watch takes to look, less than the 5 s of world.W4 */

static struct thread_world *self(struct world *w)
{
    return thread_world_of(w);
}

/* Are losses of this rank reported (world.W8)? */
static bool is_reported(const struct thread_run *run, int rank)
{
    return run->losses && rank != 0;
}

static void record_failure(struct thread_run *run, int rank, enum rc why, const char *message)
{
    if (is_reported(run, rank) && peer_is_lost(&run->seat[rank]))
        return;
    pthread_mutex_lock(&run->lock);
    if (!atomic_load(&run->failed)) {
        run->failed_rank = rank;
        run->why = why;
        snprintf(run->message, sizeof run->message, "%s", message);
        atomic_store(&run->failed, true); /* publishes the fields above */
    }
    pthread_mutex_unlock(&run->lock);
}

/* Of a failure of the calling rank. */
static void record_own_failure(struct thread_world *t, enum rc why)
{
    record_failure(t->run, t->run_rank, why, rc_message()[0] != '\0' ? rc_message() : rc_text(why));
}

/* Who finds the loss in the list finds it in the seat as well; who sees it in the seat takes the lock to list it, and
 * so keeps an earlier reason. */
static void record_loss(struct thread_run *run, int rank, const char *why)
{
    if (is_reported(run, rank)) {
        pthread_mutex_lock(&run->lock);
        peer_end(&run->seat[rank], PEER_LOST);
        (void)peer_losses_add(run->losses, rank, why);
        pthread_mutex_unlock(&run->lock);
        return;
    }
    record_failure(run, rank, RC_PEER, why);
    peer_end(&run->seat[rank], PEER_LOST);
}

static enum rc threads_check(struct world *w)
{
    const struct thread_run *run = self(w)->run;

    if (peer_is_lost(&w->peers->seat[w->peers->own])) /* world.P3 */
        return rc_raise(RC_PEER, "this rank was silent for too long, and counts as lost");
    if (!atomic_load_explicit(&run->failed, memory_order_acquire) || run->failed_rank == self(w)->run_rank)
        return thread_tasks_check(w->tasks);
    return rc_raise(RC_PEER, "rank %d failed: %s", run->failed_rank, run->message);
}

static void threads_abort(struct world *w, enum rc why)
{
    record_own_failure(self(w), why);
}

static uint64_t threads_now_ns(struct world *w)
{
    (void)w;
    return wait_clock_ns();
}

static void threads_pause(struct world *w, uint64_t ns)
{
    (void)w;
    wait_sleep(ns);
}

/* A task that dies ends alone; with its rank's main task all end, before the stack of that task goes: they use it. */
static void threads_die(struct world *w)
{
    if (pthread_equal(pthread_self(), w->tasks->main))
        thread_tasks_end(w->tasks);
    pthread_exit(NULL);
}

static void threads_hang(struct world *w)
{
    const struct thread_run *run = self(w)->run;
    const int rank = self(w)->run_rank;

    while (!atomic_load(&run->failed) && !(run->losses && peer_losses_has(run->losses, rank)))
        threads_pause(w, WAIT_SLICE_NS);
    threads_die(w);
}

static enum rc threads_leave(struct world *w)
{
    struct thread_run *run = self(w)->run;

    pthread_mutex_lock(&run->lock);
    peer_end(&run->seat[w->rank], PEER_LEFT);
    (void)peer_losses_add(run->losses, w->rank, WORLD_LEFT_WHY);
    pthread_mutex_unlock(&run->lock);
    return RC_OK;
}

/* Runs whenever the thread ends, also by pthread_exit(): a body that has not returned is a dead rank (world.W5). */
static void on_thread_end(void *arg)
{
    struct thread_world *t = arg;

    struct thread_run *run = t->run;

    if (!t->returned)
        record_loss(run, t->run_rank, "ended before its work was done");
    thread_tasks_fini(&t->tasks);
    peer_end(&run->seat[t->run_rank], PEER_LEFT); /* world.P4 */
    peers_fini(&t->peers);
    atomic_fetch_add(&run->n_ended, 1);
    doorbell_ring(&run->bell);
}

static struct core_shares shares_of(const struct world_opts *opts, int n_cores, int n_ranks)
{
    const int n_workers = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : n_ranks;

    const int n_others = n_ranks > n_workers && !opts->shares_cores ? n_ranks - n_workers : 0;

    return cores_share_out(n_cores, n_workers, opts->n_threads, n_others);
}

static void bind_cores(struct thread_world *t)
{
    const struct core_shares *s = &t->tasks.shares;
    const int server = t->run_rank - s->n_workers, n_own = server < 0 ? s->n_each : server < s->n_servers;

    if (t->tasks.are_bound && server >= 0 && t->run->opts->shares_cores && s->n_each > 0)
        (void)!cores_bind_self(server % s->n_workers * s->n_each, s->n_each); /* else it runs anywhere */
    if (!t->tasks.are_bound || n_own == 0)
        return;
    if (cores_bind_self(server < 0 ? t->run_rank * s->n_each : s->n_workers * s->n_each + server, n_own) == RC_OK)
        t->base.n_own_cores = n_own; /* else 0: the reader reports it */
}

static void *thread_main(void *arg)
{
    struct thread_world *t = arg;
    struct stop_stack stack;

    stop_stack_init(&stack);
    stop_stack_open(&stack);
    pthread_cleanup_push(stop_stack_close, &stack);
    pthread_cleanup_push(on_thread_end, t);
    t->tasks.main = pthread_self();
    bind_cores(t);
    const enum rc rc = t->run->body(&t->base, t->run->arg);
    if (rc != RC_OK)
        record_own_failure(t, rc);
    t->returned = true;
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return NULL;
}

/* The first rank that failed, or was lost and has not ended. */
static int culprit(const struct thread_run *run, int n_ranks, const char **why)
{
    *why = run->message;
    if (atomic_load(&run->failed))
        return run->failed_rank;
    for (int r = 0; r < n_ranks; r++)
        if (peer_losses_has(run->losses, r)) {
            *why = peer_losses_why(run->losses, r);
            return r;
        }
    return -1;
}

/* A rank's thread does not end although the run has failed, or is over but for it. Its memory cannot be freed under it.
 */
static _Noreturn void end_process(const struct thread_run *run, int n_ranks, int n_left)
{
    char line[RC_MESSAGE_BYTES + 128];
    const char *why;
    const int rank = culprit(run, n_ranks, &why);
    const int n_chars = snprintf(line, sizeof line, "gradmark: rank %d: %s; ranks that do not end by themselves: %d\n",
                                 rank, why, n_left);

    if (n_chars > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n_chars < sizeof line ? (size_t)n_chars : sizeof line - 1);
    _exit(world_failure_exit_code(run->opts));
}

/* Has every rank ended or been lost? */
static bool is_over(const struct thread_run *run, int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) {
        const int state = atomic_load(&run->seat[r].state);
        if (state == PEER_ALIVE || state == PEER_SILENT)
            return false;
    }
    return true;
}

static uint64_t watch_clock_ns(const struct world_opts *opts)
{
    return opts->watch_clock ? opts->watch_clock(opts->watch_clock_arg) : wait_clock_ns();
}

/* Until n_ranks have ended; a lost one fails the run (world.W4), or is reported (world.W8). */
static void watch_ranks(struct thread_run *run, struct peer_watch *watch, int n_ranks)
{
    uint64_t over_ns = 0; /* when the run had failed, or only lost ranks were left */
    char why[RC_MESSAGE_BYTES];

    for (;;) {
        const uint32_t seen = doorbell_seen(&run->bell);
        const int n_left = n_ranks - atomic_load(&run->n_ended);
        if (n_left == 0)
            return;
        (void)doorbell_wait(&run->bell, seen, false, peer_watch_interval_ns(watch));
        const uint64_t now_ns = watch_clock_ns(run->opts);
        const int lost = over_ns == 0 ? peer_watch_look(watch, now_ns, why) : -1;
        if (lost >= 0)
            record_loss(run, lost, why);
        if (over_ns == 0 && (atomic_load(&run->failed) || (run->losses && is_over(run, n_ranks))))
            over_ns = now_ns;
        if (over_ns > 0 && now_ns - over_ns > LEAVE_NS)
            end_process(run, n_ranks, n_ranks - atomic_load(&run->n_ended));
    }
}

static void free_run(struct thread_run *run, struct thread_group *all, struct thread_world *rank)
{
    while (run->parts) { /* what lost ranks left open */
        struct thread_group *g = run->parts;
        run->parts = g->next;
        thread_group_free(g);
    }
    share_run_fini(&run->shares);
    peer_losses_close(&run->losses);
    free(run->seat);
    thread_group_free(all);
    free(rank);
}

/* run->seat and run->losses are there. */
static void init_rank(struct thread_world *t, struct thread_run *run, struct thread_group *all, int rank, int n_ranks)
{
    t->base = (struct world){ .ops = &world_threads,
                              .rank = rank,
                              .n_ranks = n_ranks,
                              .host_rank = rank,
                              .n_host_ranks = n_ranks,
                              .n_host_cores = run->n_cores,
                              .n_busy_host_ranks = n_ranks,
                              .has_tasks = true,
                              .tasks = &t->tasks,
                              .shares = &run->shares,
                              .peers = &t->peers,
                              .security = run->opts->security,
                              .on_loss = run->opts->on_loss,
                              .losses = run->losses };
    t->peers =
        (struct peers){ .seat = run->seat, .n_ranks = n_ranks, .own = rank, .abort_ns = run->opts->stall.abort_ns };
    thread_tasks_init(&t->tasks);
    t->run = run;
    t->tasks.are_bound = run->opts->bind_cores;
    t->tasks.shares = shares_of(run->opts, run->n_cores, n_ranks);
    t->group = all;
    t->run_rank = rank;
}

static enum rc threads_run(const struct world_opts *opts, int n_ranks, rank_main_fn *body, void *arg)
{
    struct thread_run run = {
        .opts = opts, .body = body, .arg = arg, .n_cores = cores_allowed_count(), .lock = PTHREAD_MUTEX_INITIALIZER
    };
    struct thread_world *rank = NULL;
    struct thread_group *all = NULL;
    struct peer_watch watch = { 0 };
    int n_started = 0;
    enum rc rc = RC_OK;

    assert(n_ranks >= 1);
    share_run_init(&run.shares);
    if (opts->on_loss == ON_LOSS_REPORT)
        TRY(peer_losses_open(&run.losses, n_ranks));
    rank = calloc((size_t)n_ranks, sizeof *rank);
    all = thread_group_alloc(&run, n_ranks);
    run.seat = peer_seats_alloc(n_ranks);
    if (!rank || !all || !run.seat)
        FAIL(RC_NOMEM, "no memory for %d ranks", n_ranks);
    if (opts->stall.abort_ns > 0)
        TRY(peer_watch_open(&watch, &opts->stall, run.seat, n_ranks, watch_clock_ns(opts)));
    for (; n_started < n_ranks; n_started++) {
        struct thread_world *t = &rank[n_started];
        init_rank(t, &run, all, n_started, n_ranks);
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
    peer_watch_close(&watch);
    free_run(&run, all, rank);
    return rc;
}

struct open_world {           /* of one rank, the thread that opened it */
    struct thread_world rank; /* first */
    struct thread_run run;
    struct world_opts opts;
    struct thread_group *all;
};

/* Of no rank any more. */
static void free_open(struct open_world *o)
{
    struct thread_group *all = o->all;

    pthread_mutex_destroy(&o->run.lock);
    free_run(&o->run, all, NULL);
    free(o);
}

static enum rc threads_open(struct world **out, const struct world_opts *opts)
{
    struct open_world *o = calloc(1, sizeof *o);

    if (!o)
        return rc_raise(RC_NOMEM, "world threads: no memory");
    o->opts = *opts;
    o->run.opts = &o->opts;
    o->run.n_cores = cores_allowed_count();
    pthread_mutex_init(&o->run.lock, NULL);
    share_run_init(&o->run.shares);
    o->all = thread_group_alloc(&o->run, 1);
    o->run.seat = peer_seats_alloc(1);
    if (!o->all || !o->run.seat) {
        free_open(o);
        return rc_raise(RC_NOMEM, "world threads: no memory");
    }
    init_rank(&o->rank, &o->run, o->all, 0, 1);
    o->rank.tasks.main = pthread_self();
    *out = &o->rank.base;
    return RC_OK;
}

static enum rc threads_close(struct world **w)
{
    struct open_world *o = (struct open_world *)*w;
    enum rc rc = RC_OK;

    thread_tasks_fini(&o->rank.tasks);
    peers_fini(&o->rank.peers);
    if (atomic_load(&o->run.failed))
        rc = rc_raise(o->run.why, "rank 0: %s", o->run.message);
    free_open(o);
    *w = NULL;
    return rc;
}

const struct world_ops world_threads = {
    .module.name = "threads",
    .module.caps = WORLD_SHARED_MEMORY,
    .tasks = &thread_task_ops,
    .shares = &thread_share_ops,
    .run = threads_run,
    .open = threads_open,
    .close = threads_close,
    .now_ns = threads_now_ns,
    .pause = threads_pause,
    .barrier = threads_barrier,
    .allgather = threads_allgather,
    .gather = threads_gather,
    .broadcast = threads_broadcast,
    .split = threads_split,
    .split_close = threads_split_close,
    .survivors = threads_survivors,
    .check = threads_check,
    .abort = threads_abort,
    .die = threads_die,
    .hang = threads_hang,
    .leave = threads_leave,
};
