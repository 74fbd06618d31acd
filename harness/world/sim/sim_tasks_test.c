/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_tasks_test.c - tasks of the sim world: virtual times to the digit when tasks share cores (world.K7), and
 * deadlocks.
 *
 * One simulation a process: the program runs the one test named by its argument.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/task.h"

enum { N_TASKS_MAX = 3, N_RANKS_MAX = 8 };

#define S UINT64_C(1000000000)
#define NEVER UINT64_MAX

struct act { /* of one task: pause, then compute, both in ms */
    uint64_t pause_ms, compute_ms;
    uint64_t ended_ns; /* out */
};

struct play {
    int n_cores, n_tasks;
    struct act act[N_TASKS_MAX]; /* [0]: the main task's */
    uint64_t abort_ns;           /* of silence; 0: nobody watches */
    int n_failures;
    int n_told;
    char message[N_RANKS_MAX][RC_MESSAGE_BYTES];
};

static enum rc run(struct play *play, int n_ranks, rank_main_fn *body)
{
    struct cluster c;

    cluster_default(&c);
    c.flops_per_s = 1e9;
    c.n_cores_per_rank = play->n_cores > 0 ? play->n_cores : 1;
    const struct world_opts opts = { .cluster = &c,
                                     .stall = { .warn_ns = play->abort_ns, .abort_ns = play->abort_ns } };
    return world_run(&world_sim, &opts, n_ranks, body, play);
}

static enum rc suite_body(struct world *w, void *arg)
{
    ((struct play *)arg)->n_failures += task_suite(w, NULL);
    return RC_OK;
}

static void suite_of(int n_ranks)
{
    struct play play = { 0 };

    assert_int_equal(run(&play, n_ranks, suite_body), RC_OK);
    assert_int_equal(play.n_failures, 0);
}

static void suite_1(void **state)
{
    (void)state;
    suite_of(1);
}

static void suite_5(void **state)
{
    (void)state;
    suite_of(5);
}

static enum rc perform(struct world *w, void *arg)
{
    struct act *act = arg;

    world_pause(w, act->pause_ms * 1000000);
    world_charge(w, 1e6 * (double)act->compute_ms, 0);
    act->ended_ns = world_now_ns(w);
    return RC_OK;
}

static enum rc play_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct task *task[N_TASKS_MAX] = { NULL };
    enum rc rc;

    for (int i = 1; i < play->n_tasks; i++)
        TRY(world_spawn(&task[i], w, &(struct task_opts){ .name = "actor", .fn = perform, .arg = &play->act[i] }));
    TRY(perform(w, &play->act[0]));
    for (int i = 1; i < play->n_tasks; i++)
        TRY(world_join(&task[i]));
out:
    return rc;
}

static void expect_ends(struct play play, uint64_t end0_ns, uint64_t end1_ns, uint64_t end2_ns)
{
    assert_int_equal(run(&play, 1, play_body), RC_OK);
    assert_int_equal(play.act[0].ended_ns, end0_ns);
    assert_int_equal(play.act[1].ended_ns, end1_ns);
    assert_int_equal(play.act[2].ended_ns, end2_ns);
}

static void two_tasks_share_one_core_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 1, .n_tasks = 2, .act = { { 0, 1000, 0 }, { 0, 1000, 0 } } }, 2 * S, 2 * S,
                0);
}

static void two_cores_suffice_for_two_tasks_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 2, .n_tasks = 2, .act = { { 0, 1000, 0 }, { 0, 1000, 0 } } }, S, S, 0);
}

static void three_tasks_share_two_cores_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 2, .n_tasks = 3, .act = { { 0, 2000, 0 }, { 0, 2000, 0 }, { 0, 2000, 0 } } },
                3 * S, 3 * S, 3 * S);
}

/* Main has 2 s left when the task begins its 1 s: until 3 s both have half a core. */
static void a_task_that_comes_later_slows_both_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 1, .n_tasks = 2, .act = { { 0, 3000, 0 }, { 1000, 1000, 0 } } }, 4 * S, 3 * S,
                0);
}

/* 1 s together for half of it, 1.5 s left of 2 alone. */
static void a_short_task_frees_the_core_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 1, .n_tasks = 2, .act = { { 0, 2000, 0 }, { 0, 500, 0 } } }, 2 * S + S / 2, S,
                0);
}

static void a_pause_occupies_no_core_K7(void **state)
{
    (void)state;
    expect_ends((struct play){ .n_cores = 1, .n_tasks = 2, .act = { { 0, 1000, 0 }, { 3000, 0, 0 } } }, S, 3 * S, 0);
}

static enum rc wait_for_ever(struct world *w, void *arg)
{
    struct event *e = NULL;
    enum rc rc;

    (void)arg;
    TRY(event_open(&e, w, "never"));
    rc = event_wait(e, NEVER);
    event_close(&e);
out:
    return rc;
}

static enum rc join_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct task *t = NULL;
    enum rc rc;

    TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_ever }));
    if (w->rank == 1 && play->n_tasks == 1) {
        world_pause(w, S);
        world_die(w);
    }
    rc = world_join(&t);
    snprintf(play->message[w->rank], RC_MESSAGE_BYTES, "%s", rc_message());
    play->n_told += rc != RC_OK;
out:
    return rc;
}

static void a_join_can_deadlock_E3(void **state)
{
    struct play play = { 0 };

    (void)state;
    assert_int_equal(run(&play, 2, join_body), RC_TIMEOUT);
    assert_int_equal(play.n_told, 2);
    assert_non_null(strstr(rc_message(), "deadlock"));
}

static void tasks_hear_of_a_death_W5(void **state)
{
    struct play play = { .n_tasks = 1 };

    (void)state;
    assert_int_equal(run(&play, 3, join_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: ended before its work was done");
    assert_int_equal(play.n_told, 2);
    assert_string_equal(play.message[2], "rank 1 failed: ended before its work was done");
}

static enum rc end_later(struct world *w, void *arg)
{
    const struct play *play = arg;

    world_pause(w, S);
    if (play->n_tasks == 1)
        world_die(w);
    world_hang(w); /* until the rank is stopped or the run has failed */
    return RC_OK;
}

/* Rank 1 has a task that ends before its time; all wait for each other. */
static enum rc task_ends_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct task *t = NULL;
    enum rc rc = RC_OK;

    if (w->rank == 1)
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "walker", .fn = end_later, .arg = play }));
    if (w->rank == 2 && play->n_tasks == 2) {
        world_pause(w, 2 * S);
        FAIL(RC_IO, "the disk is full");
    }
    if (w->rank > 0 || play->n_tasks == 2) {
        struct event *e = NULL;
        TRY(event_open(&e, w, "never"));
        rc = event_wait(e, 10 * S);
        event_close(&e);
    } else {
        rc = world_barrier(w);
    }
    snprintf(play->message[w->rank], RC_MESSAGE_BYTES, "%s", rc_message());
    play->n_told += rc == RC_PEER;
    play->act[w->rank].ended_ns = world_now_ns(w);
out:
    return rc;
}

/* Regression: the run named another rank, and called it a deadlock. */
static void a_task_that_dies_ends_alone_W5(void **state)
{
    static struct play play = { .n_tasks = 1 };
    const char *why = "task walker ended before its work was done";

    (void)state;
    assert_int_equal(run(&play, 3, task_ends_body), RC_PEER);
    assert_int_equal(play.n_told, 3);
    for (int r = 0; r < 3; r++)
        assert_int_equal(play.act[r].ended_ns, S);
    assert_string_equal(play.message[1], why);
    assert_non_null(strstr(rc_message(), why));
    assert_memory_equal(rc_message(), "rank 1: ", 8);
    assert_memory_equal(play.message[0], "rank 1 failed: ", 15);
    assert_memory_equal(play.message[2], "rank 1 failed: ", 15);
}

/* world.P1: its silence is not that of its rank. */
static void a_task_that_hangs_ends_with_the_run_W5(void **state)
{
    static struct play play = { .n_tasks = 2, .abort_ns = S / 2 };

    (void)state;
    assert_int_equal(run(&play, 3, task_ends_body), RC_IO);
    assert_string_equal(rc_message(), "rank 2: the disk is full");
    assert_int_equal(play.n_told, 2);
    assert_int_equal(play.act[0].ended_ns, 2 * S);
    assert_int_equal(play.act[1].ended_ns, 2 * S);
}

static enum rc leave_body(struct world *w, void *arg)
{
    struct task *t = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_ever }));
    FAIL(RC_IO, "the disk is full");
out:
    return rc;
}

static void tasks_left_behind_are_ended_K5(void **state)
{
    struct play play = { 0 };

    (void)state;
    assert_int_equal(run(&play, 2, leave_body), RC_IO);
    assert_string_equal(rc_message(), "rank 0: the disk is full");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_1),
        cmocka_unit_test(suite_5),
        cmocka_unit_test(two_tasks_share_one_core_K7),
        cmocka_unit_test(two_cores_suffice_for_two_tasks_K7),
        cmocka_unit_test(three_tasks_share_two_cores_K7),
        cmocka_unit_test(a_task_that_comes_later_slows_both_K7),
        cmocka_unit_test(a_short_task_frees_the_core_K7),
        cmocka_unit_test(a_pause_occupies_no_core_K7),
        cmocka_unit_test(a_join_can_deadlock_E3),
        cmocka_unit_test(tasks_hear_of_a_death_W5),
        cmocka_unit_test(a_task_that_dies_ends_alone_W5),
        cmocka_unit_test(a_task_that_hangs_ends_with_the_run_W5),
        cmocka_unit_test(tasks_left_behind_are_ended_K5),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: sim_tasks_test TEST\n");
    return 2;
}
