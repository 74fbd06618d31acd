/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_peers_test.c - a rank of the sim world that falls silent is named and lost at virtual times to the digit; one
 * that computes or waits for long is not (world.P6).
 *
 * One simulation a process: the program runs the one test named by its argument.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/task.h"

#define S UINT64_C(1000000000)

enum { N_RANKS = 3, N_LINES = 4, LINE_BYTES = 160 };

struct play {
    struct world *w; /* of some rank, for the clock */
    int n_lines, n_told;
    char line[N_LINES][LINE_BYTES];
    uint64_t told_ns[N_LINES], ended_ns[N_RANKS];
};

static void keep_line(void *arg, const char *line)
{
    struct play *p = arg;

    p->told_ns[p->n_lines] = world_now_ns(p->w);
    snprintf(p->line[p->n_lines++], LINE_BYTES, "%s", line);
}

static enum rc run(struct play *p, rank_main_fn *body, bool is_watched)
{
    struct cluster c;
    struct world_opts opts = { .cluster = &c };

    cluster_default(&c);
    c.flops_per_s = 1e9;
    if (is_watched)
        opts.stall = (struct peer_opts){ 2 * S, 6 * S, keep_line, p };
    return world_run(&world_sim, &opts, N_RANKS, body, p);
}

static enum rc end_of(struct world *w, struct play *p, enum rc rc)
{
    p->ended_ns[w->rank] = world_now_ns(w);
    p->n_told += rc == RC_PEER && strstr(rc_message(), "rank 1 failed: silent for 6.0 s: in step 7");
    return rc;
}

static enum rc hang_at_barrier_body(struct world *w, void *arg)
{
    struct play *p = arg;

    p->w = w;
    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
        world_pause(w, S / 2);
        world_hang(w);
    }
    return end_of(w, p, world_barrier(w));
}

static void a_rank_that_hangs_is_lost_P3(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, hang_at_barrier_body, true), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: silent for 6.0 s: in step 7");
    assert_int_equal(p.n_lines, 1);
    assert_string_equal(p.line[0], "rank 1 has been silent for 2.0 s: in step 7");
    assert_int_equal(p.told_ns[0], 5 * S / 2);
    assert_int_equal(p.n_told, 2);
    assert_int_equal(p.ended_ns[0], 13 * S / 2);
    assert_int_equal(p.ended_ns[2], 13 * S / 2);
}

static void without_a_watch_it_is_a_deadlock_E3(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, hang_at_barrier_body, false), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "deadlock"));
    assert_int_equal(p.n_lines, 0);
}

/* The others only compute: they hear of it when they next look. */
static enum rc hang_apart_body(struct world *w, void *arg)
{
    enum rc rc = RC_OK;

    ((struct play *)arg)->w = w;
    world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
    if (w->rank == 1)
        world_hang(w);
    for (int i = 0; rc == RC_OK && i < 100; i++) {
        world_charge(w, 1e9, 0);
        rc = world_check(w);
    }
    return end_of(w, arg, rc);
}

static void ranks_that_compute_are_told_P3(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, hang_apart_body, true), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: silent for 6.0 s: in step 7");
    assert_int_equal(p.n_told, 2);
    assert_in_range(p.ended_ns[0], 6 * S, 7 * S);
    assert_in_range(p.ended_ns[2], 6 * S, 7 * S);
}

static enum rc wait_for_post(struct world *w, void *arg)
{
    struct event *e = NULL;
    enum rc rc;

    (void)arg;
    TRY(w->ops->tasks->event_open(&e, w, "never"));
    rc = event_wait(e, 60 * S);
    event_close(&e);
out:
    return rc;
}

static enum rc fail_later(struct world *w, void *arg)
{
    (void)arg;
    world_pause(w, S);
    return rc_raise(RC_IO, "the disk is full");
}

/* A task of the silent rank waits on, another one fails, which stops the rank's tasks: it is as silent as before. */
static enum rc hang_with_tasks_body(struct world *w, void *arg)
{
    struct task *waits = NULL, *fails = NULL;
    enum rc rc;

    ((struct play *)arg)->w = w;
    if (w->rank == 1) {
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
        TRY(world_spawn(&waits, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_post }));
        TRY(world_spawn(&fails, w, &(struct task_opts){ .name = "disk", .fn = fail_later }));
        world_hang(w);
    }
    rc = end_of(w, arg, world_barrier(w));
out:
    return rc;
}

static void its_tasks_do_not_matter_P1(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, hang_with_tasks_body, true), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: silent for 6.0 s: in step 7");
    assert_int_equal(p.n_told, 2);
    assert_int_equal(p.ended_ns[0], 6 * S);
}

static enum rc work_body(struct world *w, void *arg)
{
    struct play *p = arg;
    struct peer_event e;
    enum rc rc;

    p->w = w;
    if (w->rank == 0)
        world_charge(w, 100e9, 0);
    if (w->rank == 1)
        world_pause(w, 100 * S);
    TRY(world_barrier(w));
    TRY(world_peer_next(w, &e));
    p->n_told += e.peer != -1 && e.state != PEER_LEFT;
    p->ended_ns[w->rank] = world_now_ns(w);
out:
    return rc;
}

static void long_work_is_no_silence_P6(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, work_body, true), RC_OK);
    assert_int_equal(p.n_lines, 0);
    assert_int_equal(p.n_told, 0);
    for (int r = 0; r < N_RANKS; r++)
        assert_int_equal(p.ended_ns[r], 100 * S);
}

/* Rank 0 sees rank 1 fall silent and be lost, and rank 2 leave. */
static enum rc watch_body(struct world *w, void *arg)
{
    static const enum peer_state seen[] = { PEER_SILENT, PEER_LOST };
    struct play *p = arg;
    struct peer_event e;
    enum rc rc = RC_OK;

    p->w = w;
    if (w->rank == 1)
        world_hang(w);
    if (w->rank == 2)
        return RC_OK;
    for (int i = 0; i < 2; i++) {
        world_pause(w, i == 0 ? 3 * S : 4 * S);
        TRY(world_peer_next(w, &e));
        p->n_told += e.peer == 1 && e.state == seen[i] && e.epoch == 0;
        TRY(world_peer_next(w, &e));
        p->n_told += i == 0 ? e.peer == 2 && e.state == PEER_LEFT : e.peer == -1;
    }
out:
    return rc;
}

static void changes_are_told_P7(void **state)
{
    static struct play p;

    (void)state;
    assert_int_equal(run(&p, watch_body, true), RC_PEER);
    assert_int_equal(p.n_told, 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rank_that_hangs_is_lost_P3),   cmocka_unit_test(without_a_watch_it_is_a_deadlock_E3),
        cmocka_unit_test(ranks_that_compute_are_told_P3), cmocka_unit_test(its_tasks_do_not_matter_P1),
        cmocka_unit_test(long_work_is_no_silence_P6),     cmocka_unit_test(changes_are_told_P7),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: sim_peers_test TEST\n");
    return 2;
}
