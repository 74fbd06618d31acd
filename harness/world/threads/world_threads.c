/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_threads.c - ranks as threads of this process.
 *
 * One struct thread_run per world_run(): it holds the first failure, which every wait checks (world.W4, W5), and the
 * list of losses (world.W8). A failing rank wakes no other.
 * The thread that called world_run() watches the ranks (peers.h). A thread cannot be ended from outside: one that does
 * not end after a failure, or when only lost ranks are left, takes the process with it.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/world/cores.h"
#include "harness/world/share_inner.h"
#include "harness/world/stop.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

struct thread_group;

struct thread_run { /* shared by all ranks of one world_run() */
    const struct world_opts *opts;
    rank_main_fn *body;
    void *arg;
    int n_cores; /* allowed to this process; read once, before a thread is bound to some of them */
    struct share_run shares;
    pthread_mutex_t lock; /* for what follows, up to message; also held from the loss of a rank until it is listed */
    struct thread_group *parts; /* of splits: a dead rank does not close its own */
    atomic_bool failed;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
    struct peer_losses *losses; /* NULL: ON_LOSS_ABORT */
    struct peer_seat *seat;     /* [n_ranks] */
    atomic_int n_ended;         /* ranks whose thread is about to end */
    struct doorbell bell;       /* rung for each of them */
};

struct thread_roll { /* of world_survivors(); all under `lock` */
    pthread_mutex_t lock;
    uint64_t n_calls;          /* calls that have ended */
    struct thread_group *made; /* by the last one; NULL: no memory */
    bool present[];            /* [n_ranks]: waits in the next call */
};

struct thread_group { /* the ranks of one world: all of the run, or a part of them */
    int n_ranks;
    atomic_int n_users;
    _Atomic uint64_t meeting; /* in progress: number of those before it << 32, ranks that are in it */
    struct doorbell bell;
    struct thread_roll *roll; /* NULL: ON_LOSS_ABORT */
    int *number;              /* [n_ranks]: ranks in the run */
    struct thread_run *run;
    struct thread_group *previous, *next; /* in run->parts */
    const void *_Atomic slot[];           /* [n_ranks]: the address of each rank's input, for the other ranks to read */
};

struct thread_world {
    struct world base;
    struct thread_tasks tasks; /* of the rank; unused in a part of a split */
    struct peers peers;        /* likewise */
    struct thread_run *run;
    struct thread_group *group;
    int run_rank;  /* rank in the whole run */
    bool returned; /* body() has returned; unused in a part, like what follows */
    pthread_t thread;
};

static inline struct thread_world *thread_world_of(struct world *w)
{
    return (struct thread_world *)w;
}

void thread_group_free(struct thread_group *g); /* NULL-safe */

/* --- collectives --- */

/*
 * How rank threads meet, and the groups in which they do.
 *
 * Ranks meet in a word that counts meetings and those who are in the next one. The last to come begins a new count,
 * which lets all go; who gives up before that takes itself out of the count. So a meeting takes place with all ranks
 * of the group or with none, and whoever gave up is not read from: its stack may be gone. No sleep lasts longer than
 * WAIT_SLICE_NS, so every wait sees a failure or a loss within that time.
 */

enum { MEETING_SHIFT = 32 };

/* --- groups --- */

/* The caller must fill its number[]. NULL: no memory. */
static struct thread_group *thread_group_alloc(struct thread_run *run, int n_ranks)
{
    const size_t n = (size_t)n_ranks;
    struct thread_group *g = calloc(1, sizeof *g + n * sizeof g->slot[0]);

    if (!g)
        return NULL;
    g->run = run;
    g->n_ranks = n_ranks;
    g->number = calloc(n, sizeof *g->number);
    if (run->losses)
        g->roll = calloc(1, sizeof *g->roll + n * sizeof g->roll->present[0]);
    if (g->roll)
        pthread_mutex_init(&g->roll->lock, NULL);
    if (!g->number || (run->losses && !g->roll)) {
        thread_group_free(g);
        return NULL;
    }
    atomic_init(&g->n_users, n_ranks);
    return g;
}

void thread_group_free(struct thread_group *g)
{
    if (!g)
        return;
    if (g->roll)
        pthread_mutex_destroy(&g->roll->lock);
    free(g->roll);
    free(g->number);
    free(g);
}

/* A group that its ranks close; what a lost one leaves open is freed at the end of the run. */
static struct thread_group *part_alloc(struct thread_run *run, int n_ranks)
{
    struct thread_group *g = thread_group_alloc(run, n_ranks);

    if (!g)
        return NULL;
    pthread_mutex_lock(&run->lock);
    g->next = run->parts;
    if (g->next)
        g->next->previous = g;
    run->parts = g;
    pthread_mutex_unlock(&run->lock);
    return g;
}

static void part_release(struct thread_group *g)
{
    if (atomic_fetch_sub(&g->n_users, 1) != 1)
        return;
    pthread_mutex_lock(&g->run->lock);
    if (g->next)
        g->next->previous = g->previous;
    if (g->previous)
        g->previous->next = g->next;
    else
        g->run->parts = g->next;
    pthread_mutex_unlock(&g->run->lock);
    thread_group_free(g);
}

/* The world of rank `rank` of part g, which is w's own rank; NULL: no memory. */
static struct thread_world *part_world(struct world *w, struct thread_group *g, int rank)
{
    const struct thread_world *own = thread_world_of(w);
    struct thread_world *part = calloc(1, sizeof *part);

    if (!part)
        return NULL;
    part->base = own->base;
    part->run = own->run;
    part->run_rank = own->run_rank;
    part->group = g;
    part->base.number = g->number;
    part->base.rank = part->base.host_rank = rank;
    part->base.n_ranks = part->base.n_host_ranks = g->n_ranks;
    part->base.n_busy_host_ranks = g->n_ranks;
    return part;
}

static void threads_split_close(struct world **w)
{
    part_release(thread_world_of(*w)->group);
    free(*w);
    *w = NULL;
}

/* --- meetings --- */

/* Join the meeting under way; returns how many were before it. */
static uint64_t come(struct thread_group *g)
{
    uint64_t meeting = atomic_load(&g->meeting), next;

    do {
        const uint64_t n_before = meeting >> MEETING_SHIFT, n_here = (uint32_t)meeting + 1;
        next = n_here < (uint64_t)g->n_ranks ? meeting + 1 : (n_before + 1) << MEETING_SHIFT;
    } while (!atomic_compare_exchange_strong(&g->meeting, &meeting, next));
    if ((uint32_t)next == 0)
        doorbell_ring(&g->bell);
    return meeting >> MEETING_SHIFT;
}

/* Leave the meeting that is the next after n_before others; false: it has taken place. */
static bool give_up(struct thread_group *g, uint64_t n_before)
{
    uint64_t meeting = atomic_load(&g->meeting);

    do
        if (meeting >> MEETING_SHIFT != n_before)
            return false;
    while (!atomic_compare_exchange_strong(&g->meeting, &meeting, meeting - 1));
    return true;
}

static bool has_met(const struct thread_group *g, uint64_t n_before)
{
    return atomic_load(&g->meeting) >> MEETING_SHIFT != n_before;
}

/* RC_OK while all ranks of w can still come. */
static enum rc check_all(struct world *w)
{
    enum rc rc;

    TRY(world_check(w));
    TRY(world_check_losses(w));
out:
    return rc;
}

/* world_ops. */
static enum rc threads_barrier(struct world *w)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    TRY(world_check_losses(w)); /* world.W8: a lost rank may have come before */
    const uint64_t n_before = come(g);
    while (!has_met(g, n_before)) {
        const uint32_t seen = doorbell_seen(&g->bell);
        if (has_met(g, n_before))
            break;
        rc = check_all(w);
        if (rc != RC_OK && give_up(g, n_before))
            goto out;
        rc = RC_OK;
        doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
out:
    return rc;
}

/* All ranks of the group are copying what others gave to a meeting: each comes, whatever became of the run. */
static void wait_for_readers(struct world *w)
{
    struct thread_group *g = thread_world_of(w)->group;
    const uint64_t n_before = come(g);

    while (!has_met(g, n_before)) {
        const uint32_t seen = doorbell_seen(&g->bell);
        world_tick(w);
        if (!has_met(g, n_before))
            doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
}

/* out: (n_ranks, n_bytes_each); NULL: this rank does not read the inputs. */
static enum rc threads_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], in);
    TRY(threads_barrier(w));
    for (int r = 0; out && r < g->n_ranks; r++)
        memcpy((char *)out + (size_t)r * n_bytes_each, atomic_load(&g->slot[r]), n_bytes_each);
    wait_for_readers(w); /* no rank may reuse `in` before */
out:
    return rc;
}

static enum rc threads_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return threads_allgather(w, in, w->rank == 0 ? out : NULL, n_bytes_each);
}

static enum rc threads_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], bytes);
    TRY(threads_barrier(w));
    if (w->rank > 0 && n_bytes > 0)
        memcpy(bytes, atomic_load(&g->slot[0]), n_bytes);
    wait_for_readers(w); /* rank 0 may not change its bytes before */
out:
    return rc;
}

/* --- parts --- */

struct claim { /* what a rank asks of a split; color < 0: to be in no part (world_split) */
    int color, key, rank;
};

/* Does the rank of a get the lower rank in the new world, if both have the same color? */
static bool goes_before(struct claim a, struct claim b)
{
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
}

/* The rank that `of` gets among the claims all[n] of its color; *n_ranks of them. */
static int place_of(const struct claim *all, int n, struct claim of, int *n_ranks)
{
    int rank = 0;

    *n_ranks = 0;
    for (int r = 0; r < n; r++)
        if (all[r].color == of.color) {
            *n_ranks += 1;
            rank += goes_before(all[r], of);
        }
    return rank;
}

/* The group of all ranks whose claims have this color. NULL: no memory. */
static struct thread_group *part_of(struct world *w, const struct claim *all, int color, int n_ranks)
{
    struct thread_group *g = part_alloc(thread_world_of(w)->run, n_ranks);

    for (int r = 0; g && r < w->n_ranks; r++)
        if (all[r].color == color)
            g->number[place_of(all, w->n_ranks, all[r], &n_ranks)] = world_number(w, r);
    return g;
}

/* Ranks of equal color form a world, ordered by key, then by rank. The first of them allocates its group, and all get
 * the address by a second allgather. */
static enum rc threads_split(struct world *w, int color, int key, struct world **out)
{
    const struct claim mine = { color, key, w->rank };
    struct claim *all = calloc((size_t)w->n_ranks, sizeof *all);
    struct thread_group **groups = calloc((size_t)w->n_ranks, sizeof *groups);
    struct thread_group *led = NULL; /* the group this rank allocates, if it is the leader */
    struct thread_world *part;
    int rank, n_ranks, leader = w->rank;
    enum rc rc;

    if (!all || !groups)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    TRY(threads_allgather(w, &mine, all, sizeof mine));
    rank = place_of(all, w->n_ranks, mine, &n_ranks);
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].color == color && goes_before(all[r], all[leader]))
            leader = r;
    if (color >= 0 && leader == w->rank)
        led = part_of(w, all, color, n_ranks);
    TRY(threads_allgather(w, &led, groups, sizeof led));
    if (color < 0)
        goto out;
    if (!groups[leader])
        FAIL(RC_NOMEM, "no memory for a group of %d ranks", n_ranks);
    part = part_world(w, groups[leader], rank);
    if (!part)
        FAIL(RC_NOMEM, "no memory for a part of %d ranks", n_ranks);
    *out = &part->base;
out:
    free(groups);
    free(all);
    return rc;
}

/* --- survivors --- */

/* The group of the ranks on the roll that are not lost. NULL: no memory. */
static struct thread_group *survivors_of(struct world *w, const struct thread_roll *roll)
{
    struct thread_group *g = part_alloc(thread_world_of(w)->run, w->n_ranks);
    int n_ranks = 0;

    for (int r = 0; g && r < w->n_ranks; r++)
        if (roll->present[r] && !world_is_lost(w, r))
            g->number[n_ranks++] = world_number(w, r);
    if (g) {
        g->n_ranks = n_ranks;
        atomic_store(&g->n_users, n_ranks);
    }
    return g;
}

/* End the call where all ranks are present or lost; false: some are still to come. Under the roll's lock. */
static bool close_roll(struct world *w, struct thread_roll *roll)
{
    struct thread_group *g = thread_world_of(w)->group;

    for (int r = 0; r < w->n_ranks; r++)
        if (!roll->present[r] && !world_is_lost(w, r))
            return false;
    roll->made = survivors_of(w, roll);
    memset(roll->present, 0, (size_t)w->n_ranks * sizeof roll->present[0]);
    roll->n_calls++;
    doorbell_ring(&g->bell);
    return true;
}

/* Wait until the call is over that this rank is on the roll of; *out is then its result. */
static enum rc await_roll(struct world *w, uint64_t n_before, struct thread_group **out)
{
    struct thread_group *g = thread_world_of(w)->group;
    struct thread_roll *roll = g->roll;
    bool is_over = false;
    enum rc rc;

    for (;;) {
        const uint32_t seen = doorbell_seen(&g->bell);
        rc = world_check(w);
        pthread_mutex_lock(&roll->lock);
        is_over = roll->n_calls != n_before;
        if (rc != RC_OK && !is_over)
            roll->present[w->rank] = false;
        else if (rc == RC_OK)
            is_over = is_over || close_roll(w, roll);
        *out = roll->made;
        pthread_mutex_unlock(&roll->lock);
        if (rc != RC_OK || is_over)
            return rc;
        doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
}

static enum rc threads_survivors(struct world *w, struct world **out)
{
    struct thread_roll *roll = thread_world_of(w)->group->roll;
    struct thread_group *made = NULL;
    struct thread_world *part;
    int rank = 0;
    enum rc rc;

    pthread_mutex_lock(&roll->lock);
    const uint64_t n_before = roll->n_calls;
    roll->present[w->rank] = true;
    pthread_mutex_unlock(&roll->lock);
    TRY(await_roll(w, n_before, &made));
    TRY(world_check(w)); /* not lost, so one of them: they close it, and nobody before this rank has */
    if (!made)
        FAIL(RC_NOMEM, "no memory for a group of survivors");
    while (made->number[rank] != thread_world_of(w)->run_rank)
        rank++;
    part = part_world(w, made, rank);
    if (!part)
        FAIL(RC_NOMEM, "no memory for a world of %d survivors", made->n_ranks);
    *out = &part->base;
out:
    return rc;
}

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
