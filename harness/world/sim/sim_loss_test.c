/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_loss_test.c - loss_suite in the sim world; a rank that falls silent is named and lost at virtual times to the
 * digit, and what that ends when; one that computes or waits for long is not lost (world.P3, P6, W8).
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/suite/loss_suite.h"
#include "harness/world/task.h"

#define S UINT64_C(1000000000)
#define HANGS "silent for 6.0 s: in step 7"

enum { N_RANKS = 4, N_LINES = 4, LINE_BYTES = 160 };

static struct play {
    struct loss_plan plan;
    const char *told; /* of a rank that is told: its message; n_told counts them, and what else is as it should be */
    struct world *w;  /* of some rank, for the clock */
    int n_failures, n_returned, n_lines, n_told;
    char line[N_LINES][LINE_BYTES];
    uint64_t told_ns[N_LINES], ended_ns[N_RANKS];
} play;

static void keep_line(void *arg, const char *line)
{
    (void)arg;
    if (play.w && play.n_lines < N_LINES) {
        play.told_ns[play.n_lines] = world_now_ns(play.w);
        snprintf(play.line[play.n_lines++], LINE_BYTES, "%s", line);
    }
}

static enum rc run_watched(const struct world_opts *opts, int n_ranks, int n_ranks_per_host, rank_main_fn *body)
{
    struct world_opts all = *opts;
    struct cluster c;

    cluster_default(&c);
    c.flops_per_s = 1e9;
    c.n_ranks_per_host = n_ranks_per_host;
    all.cluster = &c;
    return world_run(&world_sim, &all, n_ranks, body, NULL);
}

static const struct world_opts aborts = { .stall = { 2 * S, 6 * S, keep_line, NULL } },
                               reports = { .stall = { 2 * S, 6 * S, keep_line, NULL }, .on_loss = ON_LOSS_REPORT };

static int clean(void **state)
{
    (void)state;
    memset(&play, 0, sizeof play);
    return 0;
}

static void end_of(struct world *w, enum rc rc)
{
    play.ended_ns[w->rank] = world_now_ns(w);
    play.n_told += rc == RC_PEER && strcmp(rc_message(), play.told) == 0;
}

static void hang(struct world *w)
{
    world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
    world_hang(w);
}

/* --- the suite --- */

static enum rc suite_body(struct world *w, void *arg)
{
    const int n_failures = loss_suite(w, &play.plan, NULL);

    (void)arg;
    play.n_failures += n_failures;
    play.n_returned++;
    return n_failures == 0 ? RC_OK : rc_raise(RC_MISMATCH, "%s", "the suite failed");
}

UNIT_TEST(suite_passes)
{
    for (int i = 0; i < 4; i++) { /* deaths or silence, on one host or four */
        clean(state);
        play.plan.hangs = i % 2;
        assert_int_equal(run_watched(&reports, LOSS_N_RANKS, i < 2 ? LOSS_N_RANKS : 3, suite_body), RC_OK);
        assert_int_equal(play.n_failures, 0);
        assert_int_equal(play.n_returned, 2);
    }
}

/* --- a run that a loss ends --- */

static enum rc hang_at_barrier_body(struct world *w, void *arg)
{
    enum rc rc;

    (void)arg;
    play.w = w;
    if (w->rank == 1) {
        world_pause(w, S / 2);
        hang(w);
    }
    rc = world_barrier(w);
    end_of(w, rc);
    return rc;
}

UNIT_TEST_WITH(a_rank_that_hangs_is_lost_P3, clean, NULL)
{
    play.told = "rank 1 failed: " HANGS;
    assert_int_equal(run_watched(&aborts, 3, 1, hang_at_barrier_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: " HANGS);
    assert_int_equal(play.n_lines, 1);
    assert_string_equal(play.line[0], "rank 1 has been silent for 2.0 s: in step 7");
    assert_int_equal(play.told_ns[0], 5 * S / 2);
    assert_int_equal(play.n_told, 2);
    assert_int_equal(play.ended_ns[0], 13 * S / 2);
    assert_int_equal(play.ended_ns[2], 13 * S / 2);
}

UNIT_TEST_WITH(without_a_watch_it_is_a_deadlock_E3, clean, NULL)
{
    play.told = "";
    assert_int_equal(run_watched(&(struct world_opts){ 0 }, 3, 1, hang_at_barrier_body), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "deadlock"));
    assert_int_equal(play.n_lines, 0);
}

/* The others only compute: they hear of it when they next look. */
static enum rc hang_apart_body(struct world *w, void *arg)
{
    enum rc rc = RC_OK;

    (void)arg;
    if (w->rank == 1)
        hang(w);
    for (int i = 0; rc == RC_OK && i < 100; i++) {
        world_charge(w, 1e9, 0);
        rc = world_check(w);
    }
    end_of(w, rc);
    return rc;
}

static enum rc never_posted(struct world *w, void *arg)
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

    (void)arg;
    if (w->rank == 1) {
        TRY(world_spawn(&waits, w, &(struct task_opts){ .name = "waiter", .fn = never_posted }));
        TRY(world_spawn(&fails, w, &(struct task_opts){ .name = "disk", .fn = fail_later }));
        hang(w);
    }
    rc = world_barrier(w);
    end_of(w, rc);
out:
    return rc;
}

UNIT_TEST(others_compute_or_its_tasks_wait_P1_P3)
{
    static rank_main_fn *const body[] = { hang_apart_body, hang_with_tasks_body };

    for (int i = 0; i < 2; i++) {
        clean(state);
        play.told = "rank 1 failed: " HANGS;
        assert_int_equal(run_watched(&aborts, 3, 1, body[i]), RC_PEER);
        assert_string_equal(rc_message(), "rank 1: " HANGS);
        assert_int_equal(play.n_told, 2);
        for (int r = 0; r < 3; r += 2)
            assert_in_range(play.ended_ns[r], 6 * S, i == 0 ? 7 * S : 6 * S);
    }
}

static enum rc work_body(struct world *w, void *arg)
{
    struct peer_event e;
    enum rc rc;

    (void)arg;
    play.w = w;
    if (w->rank == 0)
        world_charge(w, 100e9, 0);
    if (w->rank == 1)
        world_pause(w, 100 * S);
    TRY(world_barrier(w));
    TRY(world_peer_next(w, &e));
    play.n_failures += e.peer != -1 && e.state != PEER_LEFT;
    play.ended_ns[w->rank] = world_now_ns(w);
out:
    return rc;
}

UNIT_TEST_WITH(long_work_is_no_silence_P6, clean, NULL)
{
    assert_int_equal(run_watched(&aborts, 3, 1, work_body), RC_OK);
    assert_int_equal(play.n_lines, 0);
    assert_int_equal(play.n_failures, 0);
    for (int r = 0; r < 3; r++)
        assert_int_equal(play.ended_ns[r], 100 * S);
}

/* Rank 0 sees rank 1 fall silent and be lost, and rank 2 leave. */
static enum rc watch_body(struct world *w, void *arg)
{
    static const enum peer_state seen[] = { PEER_SILENT, PEER_LOST };
    struct peer_event e;
    enum rc rc = RC_OK;

    (void)arg;
    if (w->rank == 1)
        world_hang(w);
    if (w->rank == 2)
        return RC_OK;
    for (int i = 0; i < 2; i++) {
        world_pause(w, i == 0 ? 3 * S : 4 * S);
        TRY(world_peer_next(w, &e));
        play.n_told += e.peer == 1 && e.state == seen[i] && e.epoch == 0;
        TRY(world_peer_next(w, &e));
        play.n_told += i == 0 ? e.peer == 2 && e.state == PEER_LEFT : e.peer == -1;
    }
out:
    return rc;
}

UNIT_TEST_WITH(changes_are_told_P7, clean, NULL)
{
    assert_int_equal(run_watched(&aborts, 3, 1, watch_body), RC_PEER);
    assert_int_equal(play.n_told, 4);
}

/* --- a run that goes on --- */

/* Rank 1 hangs at 0.5 s, with a task that waits. Rank 0 waits for it, 2 for nobody but by an event of its own, 3
 * computes. All meet again. */
static enum rc survive_body(struct world *w, void *arg)
{
    struct world *left = NULL;
    struct event *e = NULL;
    struct task *t = NULL;
    enum rc rc = RC_OK;

    (void)arg;
    if (w->rank == 1) {
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = never_posted }));
        world_pause(w, S / 2);
        hang(w);
    }
    if (w->rank == 0) {
        rc = world_barrier(w);
    } else if (w->rank == 2) {
        TRY(event_open(&e, w, "own"));
        play.n_told += event_wait(e, 8 * S) == RC_TIMEOUT;
        event_close(&e);
    } else {
        world_charge(w, 10e9, 0);
        play.n_told += world_check(w) == RC_OK;
    }
    end_of(w, rc);
    TRY(world_survivors(w, &left));
    play.n_told += left->n_ranks == 3 && world_now_ns(w) == 10 * S; /* when the last one came */
    TRY(world_barrier(left));
out:
    world_split_close(&left);
    return rc;
}

UNIT_TEST_WITH(a_loss_ends_who_waits_for_it_W8, clean, NULL)
{
    play.told = "rank 1 was lost: " HANGS;
    assert_int_equal(run_watched(&reports, N_RANKS, 2, survive_body), RC_OK);
    assert_int_equal(play.ended_ns[0], 13 * S / 2);
    assert_int_equal(play.ended_ns[2], 8 * S);
    assert_int_equal(play.ended_ns[3], 10 * S);
    assert_int_equal(play.n_told, 6);
}

static enum rc lose_rank_0(struct world *w, void *arg)
{
    (void)arg;
    if (w->rank == 0)
        world_hang(w);
    end_of(w, world_barrier(w));
    return RC_OK;
}

UNIT_TEST_WITH(the_loss_of_rank_0_is_a_failure_W8, clean, NULL)
{
    play.told = "rank 0 failed: silent for 6.0 s: at the start";
    assert_int_equal(run_watched(&reports, N_RANKS, 2, lose_rank_0), RC_PEER);
    assert_string_equal(rc_message(), "rank 0: silent for 6.0 s: at the start");
    assert_int_equal(play.n_told, 3);
}

static enum rc fail_after_loss(struct world *w, void *arg)
{
    enum rc rc = RC_OK;

    (void)arg;
    if (w->rank == 1)
        world_die(w);
    play.n_failures += world_barrier(w) != RC_PEER;
    if (w->rank == 2)
        return rc_raise(RC_IO, "the disk is full");
    while (rc == RC_OK) {
        world_pause(w, S);
        rc = world_check(w);
    }
    end_of(w, rc);
    return rc;
}

UNIT_TEST_WITH(a_failure_is_one_after_a_loss_W8, clean, NULL)
{
    play.told = "rank 2 failed: the disk is full";
    assert_int_equal(run_watched(&reports, N_RANKS, 2, fail_after_loss), RC_IO);
    assert_string_equal(rc_message(), "rank 2: the disk is full");
    assert_int_equal(play.n_told, 2);
    assert_int_equal(play.n_failures, 0);
}

static enum rc wait_for_the_lost(struct world *w, void *arg)
{
    if (w->rank == 1)
        world_die(w);
    return never_posted(w, arg);
}

/* A loss ends no wait for an event: its own limit does. */
UNIT_TEST_WITH(waits_of_no_rank_time_out, clean, NULL)
{
    assert_int_equal(run_watched(&reports, N_RANKS, 2, wait_for_the_lost), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "event never"));
}

UNIT_MAIN("sim_loss")
