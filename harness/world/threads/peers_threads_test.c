/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers_threads_test.c - a run of threads in which a rank falls silent: it is named, then lost, in every wait, and the
 * run ends or goes on (W8); ranks that work or wait are not.
 *
 * All runs go on at once, each begun by a thread of its own, two of them in processes of their own: so the test lasts
 * as long as one of them. Then each test looks at what its runs have left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "harness/world/task.h"

extern const struct world_ops world_threads;

/* Long enough for a rank that is ready to run to get a core of a busy machine. */
#define WARN_NS UINT64_C(600000000)
#define ABORT_NS UINT64_C(1800000000)
#define LIFE_NS (ABORT_NS + WARN_NS) /* longer than a silent rank may live */
#define LONG_NS UINT64_C(60000000000)

enum { N_RANKS = 3, N_LINES = 8, LINE_BYTES = 160 };

enum meeting { BARRIER, ALLGATHER, BROADCAST, SPLIT, CHECK, EVENT, JOIN, N_MEETINGS };

struct drill {
    rank_main_fn *body;
    enum on_loss on_loss;
    enum meeting meeting;
    atomic_int n_told, n_lines, n_failures;
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

static void *drill_main(void *arg)
{
    struct drill *d = arg;
    const struct world_opts opts = { .stall = { WARN_NS, ABORT_NS, keep_line, d }, .on_loss = d->on_loss };

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

    TRY(world_barrier(w));
    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, 3 });
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post, .arg = d }));
        world_hang(w);
    }
    rc = meet(w, d);
    if (rc == RC_PEER && strstr(rc_message(), "rank 1 failed: silent for "))
        atomic_fetch_add(&d->n_told, 1);
out:
    return rc;
}

static enum rc pause_in_task(struct world *w, void *arg)
{
    (void)arg;
    w->ops->pause(w, LIFE_NS);
    return RC_OK;
}

/* Longer than a silent rank may live: rank 0 works by itself, 1 pauses, 2 waits for a task that calls nothing. */
static enum rc work_body(struct world *w, void *arg)
{
    const uint64_t until_ns = world_now_ns(w) + LIFE_NS;
    struct task *t = NULL;
    enum rc rc = RC_OK;

    (void)arg;
    while (w->rank == 0 && w->ops->now_ns(w) < until_ns)
        world_tick(w);
    if (w->rank == 1)
        world_pause(w, LIFE_NS);
    if (w->rank == 2) {
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "sleeper", .fn = pause_in_task }));
        TRY(world_join(&t));
    }
    TRY(world_barrier(w));
out:
    return rc;
}

/* Rank 0 works, and the others wait for it. */
static enum rc wait_body(struct world *w, void *arg)
{
    (void)arg;
    if (w->rank == 0)
        world_pause(w, LIFE_NS);
    return world_barrier(w);
}

/* Rank 1 is silent for less than ABORT_NS, once: rank 0 sees it go and come back. */
static enum rc back_body(struct world *w, void *arg)
{
    struct drill *d = arg;
    struct peer_event e;
    enum rc rc;

    TRY(world_barrier(w));
    if (w->rank == 1)
        w->ops->pause(w, (WARN_NS + ABORT_NS) / 2);
    TRY(world_barrier(w)); /* the watcher has said so by now: it looks every WARN_NS / 8 */
    if (w->rank == 1)
        world_pause(w, WARN_NS);
    TRY(world_barrier(w));
    if (w->rank != 0)
        return RC_OK;
    TRY(world_peer_next(w, &e)); /* P7: silent and alive again is no change */
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

    TRY(world_barrier(w));
    if (w->rank == 1) {
        w->ops->pause(w, ABORT_NS + WARN_NS);
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

    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, 3 });
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post, .arg = d }));
        world_hang(w);
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

    if (w->rank == 1) {
        w->ops->pause(w, LIFE_NS);
        atomic_fetch_add(&d->n_told, world_barrier(w) == RC_PEER);
        atomic_fetch_add(&d->n_told, world_survivors(w, &left) == RC_PEER && !left);
        rc = world_check(w);
        if (rc == RC_PEER && strstr(rc_message(), "counts as lost"))
            atomic_fetch_add(&d->n_told, 1);
        world_abort(w, rc);
        return rc;
    }
    TRY(world_survivors(w, &left)); /* when it is lost */
    atomic_fetch_add(&d->n_told, left->n_ranks == N_RANKS - 1 && world_lost_rank(w) == 1);
    world_pause(w, 2 * WARN_NS); /* it has gone on by now */
    atomic_fetch_add(&d->n_told, world_check(w) == RC_OK);
    TRY(world_barrier(left));
out:
    world_split_close(&left);
    return rc;
}

static enum rc stuck_body(struct world *w, void *arg)
{
    (void)arg;
    while (w->rank == 1)
        pause();
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
        const struct world_opts opts = { .stall = { WARN_NS / 4, ABORT_NS / 4, NULL, NULL }, .on_loss = p->on_loss };
        (void)dup2(ends[1], STDERR_FILENO);
        (void)!world_run(&world_threads, &opts, 2, stuck_body, NULL);
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
    [BACK] = { .body = back_body },
    [LATE] = { .body = late_body },
    [REPORT] = { .body = hang_and_report_body, .on_loss = ON_LOSS_REPORT },
    [LATE_REPORT] = { .body = late_and_reported_body, .on_loss = ON_LOSS_REPORT },
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
        }
        assert_int_equal(pthread_create(&drill[i].thread, NULL, drill_main, &drill[i]), 0);
    }
    for (int i = 0; i < N_DRILLS; i++)
        pthread_join(drill[i].thread, NULL);
    for (int i = 0; i < 2; i++)
        program_end(&program[i]);
    return 0;
}

static void a_rank_that_hangs_is_lost_P3(void **state)
{
    static const char owes[] = " s: in step 7, owes bucket 3";

    (void)state;
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

static void only_silent_ranks_are_named_P1_P2(void **state)
{
    (void)state;
    for (int i = WORK; i <= WAIT; i++) {
        assert_int_equal(drill[i].rc, RC_OK);
        assert_int_equal(atomic_load(&drill[i].n_lines), 0);
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

static void a_silent_rank_is_reported_W8(void **state)
{
    (void)state;
    assert_int_equal(drill[REPORT].rc, RC_OK);
    assert_int_equal(atomic_load(&drill[REPORT].n_told), 3 * (N_RANKS - 1));
    assert_int_equal(atomic_load(&drill[REPORT].n_lines), 1);
    assert_int_equal(drill[LATE_REPORT].rc, RC_OK);
    assert_int_equal(atomic_load(&drill[LATE_REPORT].n_told), 3 + 2 * (N_RANKS - 1));
}

/* W4, W8 where a thread does not end: the process does, and says why. */
static void a_stuck_thread_ends_the_process_W4(void **state)
{
    (void)state;
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_hangs_is_lost_P3),
        cmocka_unit_test(only_silent_ranks_are_named_P1_P2),
        cmocka_unit_test(a_silent_rank_is_reported_W8),
        cmocka_unit_test(a_stuck_thread_ends_the_process_W4),
    };

    return cmocka_run_group_tests(tests, run_all, NULL);
}
