/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers_threads_test.c - a run of threads in which a rank falls silent: it is named, then lost, in every wait, and the
 * run ends or goes on (world.W8); ranks that work or wait are not.
 *
 * All runs go on at once, each begun by a thread of its own, two of them in processes of their own: so the test lasts
 * as long as one of them. Then each test looks at what its runs have left.
 *
 * No test depends on a moment: the watcher's clock is the test's. It goes on only when every rank that is not silent on
 * purpose has ticked, so that a rank which gets no core for a while is not named.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <pthread.h>

#include "harness/base/suite/unit.h"
#include "harness/world/task.h"

extern const struct world_ops world_threads;

/* On the watcher's clock, which goes on by TURN_NS, the time between two looks. */
#define WARN_NS UINT64_C(80000000)
#define ABORT_NS UINT64_C(240000000)
#define TURN_NS (WARN_NS / 8)
#define LIFE_NS (ABORT_NS + WARN_NS) /* longer than a silent rank may live */
#define LONG_NS UINT64_C(3600000000000)
#define PAUSE_NS UINT64_C(1000000)

enum { N_RANKS = 3, N_LINES = 8, LINE_BYTES = 160 };

enum meeting { BARRIER, ALLGATHER, BROADCAST, SPLIT, CHECK, EVENT, JOIN, N_MEETINGS };

struct drill {
    rank_main_fn *body;
    enum on_loss on_loss;
    enum meeting meeting;
    int state; /* of rank 1 when the clock stops: PEER_SILENT or PEER_LOST; 0: it does not stop */
    atomic_int n_told, n_lines, n_failures;
    _Atomic(struct world *) world; /* of rank 0 */
    atomic_bool is_silent;         /* rank 1, on purpose */
    atomic_bool has_gone_on;       /* rank 1, after its silence */
    _Atomic uint64_t now_ns;
    uint64_t n_ticks[N_RANKS]; /* of each rank when the clock last went on */
    char line[N_LINES][LINE_BYTES];
    enum rc rc; /* of the run, and its message */
    char message[RC_MESSAGE_BYTES];
    pthread_t thread;
};

static void keep_line(void *arg, const char *line)
{
    struct drill *d = arg;
    const int i = atomic_fetch_add(&d->n_lines, 1);

    if (i < N_LINES)
        snprintf(d->line[i], LINE_BYTES, "%s", line);
}

/* Of this rank in the run of w. */
static enum peer_state state_of(const struct world *w, int rank)
{
    return (enum peer_state)atomic_load(&w->peers->seat[rank].state);
}

static bool has_ended(enum peer_state state)
{
    return state == PEER_LOST || state == PEER_LEFT;
}

/* Has every rank ticked that is neither silent on purpose nor at its end? */
static bool all_have_ticked(const struct drill *d, const struct world *w)
{
    for (int r = 0; r < w->n_ranks; r++) {
        const bool is_awaited = !(r == 1 && atomic_load(&d->is_silent)) && !has_ended(state_of(w, r));
        if (is_awaited && world_n_ticks(w, r) == d->n_ticks[r])
            return false;
    }
    return true;
}

/* The watcher's clock. */
static uint64_t drill_clock(void *arg)
{
    struct drill *d = arg;
    const struct world *w = atomic_load(&d->world);

    if (!w || (d->state != 0 && (int)state_of(w, 1) == d->state) || !all_have_ticked(d, w))
        return atomic_load(&d->now_ns);
    for (int r = 0; r < w->n_ranks; r++)
        d->n_ticks[r] = world_n_ticks(w, r);
    const bool is_over = has_ended(state_of(w, 0)) && has_ended(state_of(w, 1)); /* the process has some time to end */
    return atomic_fetch_add(&d->now_ns, is_over ? LONG_NS : TURN_NS);
}

static void begin(struct world *w, struct drill *d)
{
    if (w->rank == 0)
        atomic_store(&d->world, w);
}

static bool has_lived(const struct drill *d, uint64_t until_ns)
{
    return atomic_load(&d->now_ns) >= until_ns;
}

/* Rank 1 is silent until it is in the state for which the clock stops. */
static void be_silent(struct world *w, struct drill *d)
{
    atomic_store(&d->is_silent, true);
    while ((int)state_of(w, 1) != d->state)
        w->ops->pause(w, PAUSE_NS);
    atomic_store(&d->is_silent, false);
}

static void hang(struct world *w, struct drill *d)
{
    atomic_store(&d->is_silent, true);
    world_hang(w);
}

static void *drill_main(void *arg)
{
    struct drill *d = arg;
    const struct world_opts opts = { .stall = { WARN_NS, ABORT_NS, keep_line, d },
                                     .on_loss = d->on_loss,
                                     .watch_clock = drill_clock,
                                     .watch_clock_arg = d };

    d->rc = world_run(&world_threads, &opts, N_RANKS, d->body, d);
    snprintf(d->message, sizeof d->message, "%s", rc_message());
    return NULL;
}

static enum rc wait_for_post(struct world *w, void *arg)
{
    struct event *e = NULL;
    enum rc rc;

    (void)arg;
    TRY(w->ops->tasks->event_open(&e, w, "never"));
    rc = event_wait(e, LONG_NS);
    event_close(&e);
out:
    return rc;
}

static enum rc meet(struct world *w, struct drill *d)
{
    int all[N_RANKS], mine = w->rank;
    struct world *part = NULL;
    struct task *t = NULL;
    enum rc rc = RC_OK;

    switch (d->meeting) {
    case BARRIER:
        return world_barrier(w);
    case ALLGATHER:
        return world_allgather(w, &mine, all, sizeof mine);
    case BROADCAST:
        return world_broadcast(w, all, sizeof all);
    case SPLIT:
        rc = world_split(w, 0, 0, &part);
        world_split_close(&part);
        return rc;
    case EVENT:
        return wait_for_post(w, d);
    case JOIN:
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post, .arg = d }));
        return world_join(&t);
    default:
        while (rc == RC_OK) {
            rc = world_check(w);
            world_pause(w, 1000000);
        }
    }
out:
    return rc;
}

/* Rank 1 hangs, with a task that goes on waiting: that one does not tick for it. */
static enum rc hang_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct task *t = NULL;
    enum rc rc;

    begin(w, d);
    TRY(world_barrier(w));
    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, 3 });
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post, .arg = d }));
        hang(w, d);
    }
    rc = meet(w, d);
    if (rc == RC_PEER && strstr(rc_message(), "rank 1 failed: silent for "))
        atomic_fetch_add(&d->n_told, 1);
out:
    return rc;
}

static enum rc pause_in_task(struct world *w, void *arg)
{
    while (!has_lived(arg, LIFE_NS))
        w->ops->pause(w, PAUSE_NS);
    return RC_OK;
}

/* One pause, which ticks where it begins and behind each slice. */
static int pause_with_ticks(struct world *w)
{
    const uint64_t n_before = world_n_ticks(w, w->rank);

    world_pause(w, UINT64_C(50000000));
    return world_n_ticks(w, w->rank) < n_before + 2;
}

/* Longer than a silent rank may live: rank 0 works by itself, 1 pauses, 2 waits for a task that calls nothing. The
 * clock would stop for one that does not tick. */
static enum rc work_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct task *t = NULL;
    enum rc rc = RC_OK;

    begin(w, d);
    for (; w->rank == 0 && !has_lived(d, LIFE_NS); w->ops->pause(w, PAUSE_NS))
        world_tick(w);
    while (w->rank == 1 && !has_lived(d, LIFE_NS))
        atomic_fetch_add(&d->n_failures, pause_with_ticks(w));
    if (w->rank == 2) {
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "sleeper", .fn = pause_in_task, .arg = d }));
        TRY(world_join(&t));
    }
    TRY(world_barrier(w));
out:
    return rc;
}

/* Rank 0 works, and the others wait for it. */
static enum rc wait_body(struct world *w, void *arg)
{
    struct drill *d = arg;

    begin(w, d);
    while (w->rank == 0 && !has_lived(d, LIFE_NS))
        world_pause(w, PAUSE_NS);
    return world_barrier(w);
}

/* Rank 1 is silent for less than ABORT_NS, once: rank 0 sees it go and come back. */
static enum rc back_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct peer_event e;
    enum rc rc;

    begin(w, d);
    TRY(world_barrier(w));
    if (w->rank == 1)
        be_silent(w, d);
    TRY(world_barrier(w));
    while (w->rank == 1 && state_of(w, 1) == PEER_SILENT)
        world_pause(w, PAUSE_NS);
    TRY(world_barrier(w));
    if (w->rank != 0)
        return RC_OK;
    TRY(world_peer_next(w, &e)); /* world.P7: silent and alive again is no change */
    atomic_fetch_add(&d->n_failures, e.peer != -1 && e.state != PEER_LEFT);
out:
    return rc;
}

/* Rank 1 is silent until it is lost, and then goes on. */
static enum rc late_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct peer_event e = { .peer = -1 };
    enum rc rc;

    begin(w, d);
    TRY(world_barrier(w));
    if (w->rank == 1) {
        be_silent(w, d);
        rc = world_check(w);
        if (rc == RC_PEER && strstr(rc_message(), "counts as lost"))
            atomic_fetch_add(&d->n_told, 1);
        return rc;
    }
    rc = world_barrier(w);
    const bool is_told = rc == RC_PEER;
    do /* the other one may have left before */
        TRY(world_peer_next(w, &e));
    while (e.peer >= 0 && e.peer != 1);
    atomic_fetch_add(&d->n_told, is_told && e.peer == 1 && e.state == PEER_LOST);
    rc = rc_raise(RC_PEER, "told");
out:
    return rc;
}

/* With ON_LOSS_REPORT rank 1 hangs, with a task that waits, while the others wait for it; they go on. */
static enum rc hang_and_report_body(struct world *w, void *arg)
{
    static const char told[] = "rank 1 was lost: silent for ";
    struct drill *d = arg;
    struct world *left = NULL;
    struct task *t = NULL;
    enum rc rc;

    begin(w, d);
    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, 3 });
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post, .arg = d }));
        hang(w, d);
    }
    rc = world_barrier(w);
    if (rc == RC_PEER && strncmp(rc_message(), told, sizeof told - 1) == 0 && strstr(rc_message(), "in step 7, owes"))
        atomic_fetch_add(&d->n_told, 1);
    atomic_fetch_add(&d->n_told, world_check(w) == RC_OK);
    TRY(world_survivors(w, &left));
    atomic_fetch_add(&d->n_told, left->n_ranks == N_RANKS - 1 && world_number(left, 1) == 2);
    TRY(world_barrier(left));
out:
    world_split_close(&left);
    return rc;
}

/* Rank 1 is silent until it is lost, goes on, and fails: that is its own affair. */
static enum rc late_and_reported_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct world *left = NULL;
    enum rc rc;

    begin(w, d);
    if (w->rank == 1) {
        be_silent(w, d);
        atomic_fetch_add(&d->n_told, world_barrier(w) == RC_PEER);
        atomic_fetch_add(&d->n_told, world_survivors(w, &left) == RC_PEER && !left);
        rc = world_check(w);
        if (rc == RC_PEER && strstr(rc_message(), "counts as lost"))
            atomic_fetch_add(&d->n_told, 1);
        world_abort(w, rc);
        atomic_store(&d->has_gone_on, true);
        return rc;
    }
    TRY(world_survivors(w, &left)); /* when it is lost */
    atomic_fetch_add(&d->n_told, left->n_ranks == N_RANKS - 1 && world_lost_rank(w) == 1);
    while (!atomic_load(&d->has_gone_on))
        world_pause(w, PAUSE_NS);
    atomic_fetch_add(&d->n_told, world_check(w) == RC_OK);
    TRY(world_barrier(left));
out:
    world_split_close(&left);
    return rc;
}

static enum rc stuck_body(struct world *w, void *arg)
{
    struct drill *d = arg;

    begin(w, d);
    for (; w->rank == 1; pause())
        atomic_store(&d->is_silent, true);
    const enum rc rc = world_barrier(w);

    return w->on_loss == ON_LOSS_REPORT ? RC_OK : rc;
}

/* A run in a process of its own. */
struct program {
    enum on_loss on_loss;
    pid_t id;
    int output, status;
    char text[4096];
};

static void program_start(struct program *p)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    p->id = fork();
    assert_true(p->id >= 0);
    if (p->id == 0) {
        static struct drill d;
        const struct world_opts opts = { .stall = { WARN_NS, ABORT_NS, NULL, NULL },
                                         .on_loss = p->on_loss,
                                         .watch_clock = drill_clock,
                                         .watch_clock_arg = &d };
        (void)dup2(ends[1], STDERR_FILENO);
        (void)!world_run(&world_threads, &opts, 2, stuck_body, &d);
        _exit(0);
    }
    close(ends[1]);
    p->output = ends[0];
}

static void program_end(struct program *p)
{
    size_t n_bytes = 0;

    for (ssize_t n; (n = read(p->output, p->text + n_bytes, sizeof p->text - 1 - n_bytes)) > 0;)
        n_bytes += (size_t)n;
    close(p->output);
    assert_int_equal(waitpid(p->id, &p->status, 0), p->id);
}

enum { WORK = N_MEETINGS, WAIT, BACK, LATE, REPORT, LATE_REPORT, N_DRILLS };

static struct drill drill[N_DRILLS] = {
    [WORK] = { .body = work_body },
    [WAIT] = { .body = wait_body },
    [BACK] = { .body = back_body, .state = PEER_SILENT },
    [LATE] = { .body = late_body, .state = PEER_LOST },
    [REPORT] = { .body = hang_and_report_body, .on_loss = ON_LOSS_REPORT, .state = PEER_LOST },
    [LATE_REPORT] = { .body = late_and_reported_body, .on_loss = ON_LOSS_REPORT, .state = PEER_LOST },
};
static struct program program[] = { { .on_loss = ON_LOSS_ABORT }, { .on_loss = ON_LOSS_REPORT } };

static int run_all(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        program_start(&program[i]); /* before there are threads */
    for (int i = 0; i < N_DRILLS; i++) {
        if (i < N_MEETINGS) {
            drill[i].body = hang_body;
            drill[i].meeting = (enum meeting)i;
            drill[i].state = PEER_LOST;
        }
        assert_int_equal(pthread_create(&drill[i].thread, NULL, drill_main, &drill[i]), 0);
    }
    for (int i = 0; i < N_DRILLS; i++)
        pthread_join(drill[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        program_end(&program[i]);
    return 0;
}

UNIT_TEST(a_rank_that_hangs_is_lost_P3)
{
    static const char owes[] = " s: in step 7, owes bucket 3";

    for (int i = 0; i < N_MEETINGS; i++) {
        const struct drill *d = &drill[i];
        assert_int_equal(d->rc, RC_PEER);
        assert_memory_equal(d->message, "rank 1: silent for ", 19);
        assert_string_equal(d->message + strlen(d->message) - strlen(owes), owes);
        assert_int_equal(atomic_load(&d->n_told), N_RANKS - 1);
        assert_int_equal(atomic_load(&d->n_lines), 1);
        assert_memory_equal(d->line[0], "rank 1 has been silent for ", 27);
        assert_string_equal(d->line[0] + strlen(d->line[0]) - strlen(owes), owes);
    }
}

UNIT_TEST(only_silent_ranks_are_named_P1_P2)
{
    for (int i = WORK; i <= WAIT; i++) {
        assert_int_equal(drill[i].rc, RC_OK);
        assert_int_equal(atomic_load(&drill[i].n_lines), 0);
        assert_int_equal(atomic_load(&drill[i].n_failures), 0);
    }
    assert_int_equal(drill[BACK].rc, RC_OK);
    assert_int_equal(atomic_load(&drill[BACK].n_lines), 2);
    assert_string_equal(drill[BACK].line[0] + strlen(drill[BACK].line[0]) - 14, ": at the start");
    assert_memory_equal(drill[BACK].line[1], "rank 1 is back", 14);
    assert_int_equal(atomic_load(&drill[BACK].n_failures), 0);
    assert_int_equal(drill[LATE].rc, RC_PEER);
    assert_memory_equal(drill[LATE].message, "rank 1: silent for ", 19);
    assert_int_equal(atomic_load(&drill[LATE].n_told), 3);
}

UNIT_TEST(a_silent_rank_is_reported_W8)
{
    assert_int_equal(drill[REPORT].rc, RC_OK);
    assert_int_equal(atomic_load(&drill[REPORT].n_told), 3 * (N_RANKS - 1));
    assert_int_equal(atomic_load(&drill[REPORT].n_lines), 1);
    assert_int_equal(drill[LATE_REPORT].rc, RC_OK);
    assert_int_equal(atomic_load(&drill[LATE_REPORT].n_told), 3 + 2 * (N_RANKS - 1));
}

/* world.W4, W8 where a thread does not end: the process does, and says why. */
UNIT_TEST(a_stuck_thread_ends_the_process_W4)
{
    for (int i = 0; i < 2; i++) {
        const struct program *p = &program[i];
        assert_true(WIFEXITED(p->status) && WEXITSTATUS(p->status) == EXIT_FAILURE);
        assert_non_null(strstr(p->text, "gradmark: rank 1 has been silent for "));
        assert_non_null(strstr(p->text, "gradmark: rank 1: silent for "));
        assert_non_null(strstr(p->text, "ranks that do not end by themselves: 1"));
    }
}

int main(void)
{
    return unit_run("peers_threads", NULL, run_all, NULL);
}
