/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_loss_test.c - loss_suite in the sim world, and at which virtual times losses end what: world.W8.
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
#include "harness/world/suite/loss_suite.h"
#include "harness/world/task.h"

#define S UINT64_C(1000000000)

enum { N_RANKS = 4 };

struct play {
    struct loss_plan plan;
    int n_failures, n_returned, n_told;
    uint64_t ended_ns[N_RANKS];
};

static void keep_silent(void *arg, const char *line)
{
    (void)arg;
    (void)line;
}

static enum rc run(struct play *p, rank_main_fn *body, int n_ranks, int n_ranks_per_host)
{
    struct cluster c;
    const struct world_opts opts = { .cluster = &c,
                                     .stall = { 2 * S, 6 * S, keep_silent, NULL },
                                     .on_loss = ON_LOSS_REPORT };

    cluster_default(&c);
    c.flops_per_s = 1e9;
    c.n_ranks_per_host = n_ranks_per_host;
    return world_run(&world_sim, &opts, n_ranks, body, p);
}

static enum rc suite_body(struct world *w, void *arg)
{
    struct play *p = arg;
    const int n_failures = loss_suite(w, &p->plan, NULL);

    p->n_failures += n_failures;
    p->n_returned++;
    return n_failures == 0 ? RC_OK : rc_raise(RC_MISMATCH, "%s", "the suite failed");
}

static void suite_of(bool hangs, int n_ranks_per_host)
{
    struct play p = { .plan.hangs = hangs };

    assert_int_equal(run(&p, suite_body, LOSS_N_RANKS, n_ranks_per_host), RC_OK);
    assert_int_equal(p.n_failures, 0);
    assert_int_equal(p.n_returned, 2);
}

static void suite_of_deaths(void **state)
{
    (void)state;
    suite_of(false, LOSS_N_RANKS);
}

static void suite_of_deaths_on_4_hosts(void **state)
{
    (void)state;
    suite_of(false, 3);
}

static void suite_of_silence(void **state)
{
    (void)state;
    suite_of(true, LOSS_N_RANKS);
}

static void suite_of_silence_on_4_hosts(void **state)
{
    (void)state;
    suite_of(true, 3);
}

static enum rc never_posted(struct world *w, void *arg)
{
    struct event *e = NULL;
    enum rc rc;

    (void)arg;
    TRY(event_open(&e, w, "never"));
    rc = event_wait(e, 100 * S);
    event_close(&e);
out:
    return rc;
}

/* Rank 1 hangs at 0.5 s, with a task that waits. Rank 0 waits for it, 2 for nobody but by an event of its own, 3
 * computes. All meet again. */
static enum rc hang_body(struct world *w, void *arg)
{
    struct play *p = arg;
    struct world *left = NULL;
    struct event *e = NULL;
    struct task *t = NULL;
    enum rc rc;

    if (w->rank == 1) {
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = never_posted }));
        world_set_duty(w, &(struct peer_duty){ PHASE_STEP, 7, -1 });
        world_pause(w, S / 2);
        world_hang(w);
    }
    if (w->rank == 0) {
        rc = world_barrier(w);
        p->n_told += rc == RC_PEER && strcmp(rc_message(), "rank 1 was lost: silent for 6.0 s: in step 7") == 0;
    } else if (w->rank == 2) {
        TRY(event_open(&e, w, "own"));
        p->n_told += event_wait(e, 8 * S) == RC_TIMEOUT;
        event_close(&e);
    } else {
        world_charge(w, 10e9, 0);
        p->n_told += world_check(w) == RC_OK;
    }
    p->ended_ns[w->rank] = world_now_ns(w);
    TRY(world_survivors(w, &left));
    p->n_told += left->n_ranks == 3 && world_now_ns(w) == 10 * S; /* when the last one came */
    TRY(world_barrier(left));
out:
    world_split_close(&left);
    return rc;
}

static void a_rank_that_hangs_ends_who_waits_for_it(void **state)
{
    struct play p = { 0 };

    (void)state;
    assert_int_equal(run(&p, hang_body, N_RANKS, 2), RC_OK);
    assert_int_equal(p.ended_ns[0], 13 * S / 2);
    assert_int_equal(p.ended_ns[2], 8 * S);
    assert_int_equal(p.ended_ns[3], 10 * S);
    assert_int_equal(p.n_told, 6);
}

static enum rc lose_rank_0(struct world *w, void *arg)
{
    struct play *p = arg;

    if (w->rank == 0)
        world_hang(w);
    const enum rc rc = world_barrier(w);

    p->n_told += rc == RC_PEER && strcmp(rc_message(), "rank 0 failed: silent for 6.0 s: at the start") == 0;
    return RC_OK;
}

static void the_loss_of_rank_0_is_a_failure(void **state)
{
    struct play p = { 0 };

    (void)state;
    assert_int_equal(run(&p, lose_rank_0, N_RANKS, 2), RC_PEER);
    assert_string_equal(rc_message(), "rank 0: silent for 6.0 s: at the start");
    assert_int_equal(p.n_told, 3);
}

static enum rc fail_after_loss(struct world *w, void *arg)
{
    struct play *p = arg;
    enum rc rc = RC_OK;

    if (w->rank == 1)
        world_die(w);
    p->n_told += world_barrier(w) == RC_PEER;
    if (w->rank == 2)
        return rc_raise(RC_IO, "the disk is full");
    while (rc == RC_OK) {
        world_pause(w, S);
        rc = world_check(w);
    }
    p->n_told += strcmp(rc_message(), "rank 2 failed: the disk is full") == 0;
    return rc;
}

static void a_failure_is_one_after_a_loss(void **state)
{
    struct play p = { 0 };

    (void)state;
    assert_int_equal(run(&p, fail_after_loss, N_RANKS, 2), RC_IO);
    assert_string_equal(rc_message(), "rank 2: the disk is full");
    assert_int_equal(p.n_told, 5);
}

static enum rc wait_for_the_lost(struct world *w, void *arg)
{
    (void)arg;
    if (w->rank == 1)
        world_die(w);
    return never_posted(w, NULL);
}

/* A loss ends no wait for an event: its own limit does. */
static void waits_of_no_rank_time_out(void **state)
{
    struct play p = { 0 };

    (void)state;
    assert_int_equal(run(&p, wait_for_the_lost, N_RANKS, 2), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "event never"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_of_deaths),
        cmocka_unit_test(suite_of_deaths_on_4_hosts),
        cmocka_unit_test(suite_of_silence),
        cmocka_unit_test(suite_of_silence_on_4_hosts),
        cmocka_unit_test(a_rank_that_hangs_ends_who_waits_for_it),
        cmocka_unit_test(the_loss_of_rank_0_is_a_failure),
        cmocka_unit_test(a_failure_is_one_after_a_loss),
        cmocka_unit_test(waits_of_no_rank_time_out),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: sim_loss_test TEST\n");
    return 2;
}
