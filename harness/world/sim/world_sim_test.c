/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_sim_test.c - the sim world: virtual time as golden values, meeting, failing.
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

#include "harness/base/suite/names.h"
#include "harness/cluster/cluster.h"
#include "harness/world/sim/world_sim.h"

enum { RANKS_MAX = 512 };

struct seen { /* what the ranks leave for the test to judge */
    uint64_t now_ns[RANKS_MAX];
    enum rc rc[RANKS_MAX];
    char message[8][RC_MESSAGE_BYTES]; /* of the first ranks */
    int n_failures;                    /* what a rank itself found wrong */
    int n_returned;
    struct world copy[RANKS_MAX];
};

static struct cluster cluster_of(int n_hosts, int n_ranks_per_host)
{
    struct cluster c;

    cluster_default(&c);
    c.n_hosts = n_hosts;
    c.n_ranks_per_host = n_ranks_per_host;
    return c;
}

static enum rc run(struct seen *seen, int n_ranks, int n_ranks_per_host, rank_main_fn *body)
{
    const struct cluster c = cluster_of(0, n_ranks_per_host);
    const struct world_opts opts = { .cluster = &c };

    return world_run(&world_sim, &opts, n_ranks, body, seen);
}

static void note(struct world *w, struct seen *seen, enum rc rc)
{
    seen->rc[w->rank] = rc;
    if (w->rank < 8)
        snprintf(seen->message[w->rank], RC_MESSAGE_BYTES, "%s", rc_message());
}

static enum rc time_body(struct world *w, void *arg)
{
    struct seen *seen = arg;

    for (int i = 0; i < 3; i++)
        world_charge(w, 0, 0); /* costs nothing */
    world_pause(w, 0);
    seen->n_failures += world_now_ns(w) != 0;
    world_charge(w, 20e9 * 0.25, 0); /* 0.25 s of arithmetic */
    seen->n_failures += world_now_ns(w) != 250000000;
    world_charge(w, 20e9 * 0.25, 8e9 * 0.5); /* memory is the slower one: 0.5 s */
    seen->n_failures += world_now_ns(w) != 750000000;
    world_pause(w, 123456789);
    seen->n_failures += world_now_ns(w) != 873456789;
    for (int i = 0; i < 1000; i++) /* 1000 x 0.4 ns: rounding is of the clock, not of each charge */
        world_charge(w, 8, 0);
    seen->now_ns[w->rank] = world_now_ns(w);
    return RC_OK;
}

static void time_passes_only_when_charged_W3(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 2, 1, time_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.now_ns[0], 873457189);
    assert_int_equal(seen.now_ns[1], 873457189);
}

static enum rc meet_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    const int mine = 3 * w->rank + 1;
    int all[RANKS_MAX] = { 0 };
    enum rc rc;

    for (int round = 0; round < 5; round++) {
        memset(all, 0, sizeof all);
        TRY(world_barrier(w));
        TRY(world_allgather(w, &mine, all, sizeof mine));
        for (int r = 0; r < w->n_ranks; r++)
            seen->n_failures += all[r] != 3 * r + 1;
        memset(all, 0, sizeof all);
        TRY(world_gather(w, &mine, w->rank == 0 ? all : NULL, sizeof mine));
        for (int r = 0; w->rank == 0 && r < w->n_ranks; r++)
            seen->n_failures += all[r] != 3 * r + 1;
        TRY(world_gather(w, NULL, all, 0));
    }
    seen->n_failures += world_now_ns(w) != 0; /* bootstrap takes no virtual time */
    world_pause(w, (uint64_t)w->rank * 1000);
    TRY(world_barrier(w));
    seen->now_ns[w->rank] = world_now_ns(w); /* the last one's time */
    seen->n_returned++;
out:
    return rc;
}

static void check_meeting(int n_ranks)
{
    static struct seen seen;

    assert_int_equal(run(&seen, n_ranks, 1, meet_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.n_returned, n_ranks);
    for (int r = 0; r < n_ranks; r++)
        assert_int_equal(seen.now_ns[r], (n_ranks - 1) * 1000);
}

static void ranks_meet_1(void **state)
{
    (void)state;
    check_meeting(1);
}

static void ranks_meet_5(void **state)
{
    (void)state;
    check_meeting(5);
}

static void ranks_meet_512(void **state)
{
    (void)state;
    check_meeting(512);
}

static enum rc copy_body(struct world *w, void *arg)
{
    ((struct seen *)arg)->copy[w->rank] = *w;
    return RC_OK;
}

static void hosts_are_filled_in_order(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 10, 4, copy_body), RC_OK);
    for (int r = 0; r < 10; r++) {
        const struct world *w = &seen.copy[r];
        assert_int_equal(w->rank, r);
        assert_int_equal(w->n_ranks, 10);
        assert_int_equal(w->host_rank, r % 4);
        assert_int_equal(w->n_host_ranks, r < 8 ? 4 : 2);
        assert_false(world_may_spin(w));
        assert_true(w->flops_per_s == 20e9 && w->memory_bytes_per_s == 8e9);
        assert_true(w->link_bytes_per_s == 125e6 && w->link_latency_s == 25e-6);
    }
}

static enum rc split_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    struct world *part = NULL, *inner = NULL;
    const int color = w->rank == 9 ? -5 : w->rank % 3;
    int all[RANKS_MAX];
    enum rc rc;

    TRY(world_split(w, color, -w->rank, &part)); /* keys turn the order round */
    seen->n_failures += (part == NULL) != (w->rank == 9);
    if (part) {
        seen->copy[w->rank] = *part;
        TRY(world_allgather(part, &w->rank, all, sizeof w->rank));
        for (int r = 0; r < part->n_ranks; r++)
            seen->n_failures += all[r] % 3 != color || (r > 0 && all[r] >= all[r - 1]);
        TRY(world_split(part, part->rank == 0, 0, &inner));
        seen->n_failures += inner->n_ranks != (part->rank == 0 ? 1 : part->n_ranks - 1);
        TRY(world_barrier(inner));
    }
    world_split_close(&inner);
    world_split_close(&part);
    seen->n_failures += part != NULL || world_now_ns(w) != 0;
    TRY(world_split(w, 0, 0, &part)); /* everybody again, never closed: freed with the run */
    seen->n_failures += part->rank != w->rank || part->n_ranks != w->n_ranks;
    TRY(world_barrier(w));
out:
    return rc;
}

static void splits_are_ordered_by_key(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 10, 5, split_body), RC_OK);
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.copy[6].rank, 0); /* color 0: ranks 6 3 0 */
    assert_int_equal(seen.copy[0].rank, 2);
    assert_int_equal(seen.copy[0].n_ranks, 3);
    assert_int_equal(seen.copy[3].host_rank, 0); /* of 3 and 0 on the first host */
    assert_int_equal(seen.copy[3].n_host_ranks, 2);
    assert_int_equal(seen.copy[6].n_host_ranks, 1);
}

static enum rc error_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    enum rc rc;

    world_pause(w, 5000);
    if (w->rank == 2)
        return rc_raise(RC_IO, "the disk is full");
    rc = world_barrier(w);
    note(w, seen, rc);
    seen->n_returned++;
    return rc;
}

static void expect_peer_errors(const struct seen *seen, int n_ranks, int failed, const char *message)
{
    for (int r = 0; r < n_ranks; r++)
        if (r != failed) {
            assert_int_equal(seen->rc[r], RC_PEER);
            assert_string_equal(seen->message[r], message);
        }
}

static void an_error_ends_all_ranks_W4(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 5, 1, error_body), RC_IO);
    assert_string_equal(rc_message(), "rank 2: the disk is full");
    assert_int_equal(seen.n_returned, 4);
    expect_peer_errors(&seen, 5, 2, "rank 2 failed: the disk is full");
}

static enum rc abort_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    enum rc rc;

    if (w->rank == 1) {
        world_pause(w, 1000);
        world_abort(w, rc_raise(RC_DEVICE, "no answer"));
        world_abort(w, rc_raise(RC_IO, "later")); /* the first stays */
        note(w, seen, world_check(w));
        return RC_OK;
    }
    rc = world_barrier(w);
    note(w, seen, rc);
    return rc_raise(RC_BUG, "a consequence");
}

static void abort_keeps_the_first_cause_W4(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 3, 1, abort_body), RC_DEVICE);
    assert_string_equal(rc_message(), "rank 1: no answer");
    expect_peer_errors(&seen, 3, -1, "rank 1 failed: no answer");
}

static enum rc die_body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    enum rc rc;

    TRY(world_barrier(w));
    if (w->rank == 3) {
        world_pause(w, 7000);
        world_die(w);
        seen->n_failures++;
    }
    rc = world_barrier(w);
    note(w, seen, rc);
    seen->now_ns[w->rank] = world_now_ns(w);
    seen->n_returned++;
out:
    return rc;
}

static void a_silent_death_is_noticed_W5(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 4, 2, die_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 3: ended before its work was done");
    assert_int_equal(seen.n_failures, 0);
    assert_int_equal(seen.n_returned, 3);
    assert_int_equal(seen.now_ns[0], 7000);
    expect_peer_errors(&seen, 4, 3, "rank 3 failed: ended before its work was done");
}

static enum rc leave_body(struct world *w, void *arg)
{
    enum rc rc;

    if (w->rank == 0)
        return RC_OK;
    rc = world_barrier(w);
    note(w, arg, rc);
    return rc;
}

static enum rc leave_late_body(struct world *w, void *arg)
{
    if (w->rank == 0)
        world_pause(w, 1000); /* the others are asleep when it leaves */
    return leave_body(w, arg);
}

static void check_deadlock(rank_main_fn *body)
{
    static struct seen seen;

    assert_int_equal(run(&seen, 3, 1, body), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "deadlock"));
    assert_int_equal(seen.rc[1], RC_TIMEOUT);
    assert_int_equal(seen.rc[2], RC_TIMEOUT);
}

static void a_deadlock_is_an_error_E3(void **state)
{
    (void)state;
    check_deadlock(leave_body);
}

static void leaving_can_deadlock_the_others_E3(void **state)
{
    (void)state;
    check_deadlock(leave_late_body);
}

static enum rc disagree_body(struct world *w, void *arg)
{
    int all[3];
    enum rc rc = w->rank == 2 ? world_barrier(w) : world_allgather(w, &w->rank, all, sizeof w->rank);

    note(w, arg, rc);
    return rc;
}

static void different_operations_are_told_apart(void **state)
{
    static struct seen seen;

    (void)state;
    assert_int_equal(run(&seen, 3, 1, disagree_body), RC_MISMATCH);
    assert_int_equal(seen.rc[0], RC_PEER);
    assert_int_equal(seen.rc[1], RC_PEER);
    assert_int_equal(seen.rc[2], RC_MISMATCH);
}

static void bad_requests_are_refused(void **state)
{
    static struct seen seen;
    const struct cluster two = cluster_of(2, 2);
    const struct world_opts opts = { .cluster = &two };

    (void)state;
    assert_int_equal(world_run(&world_sim, &opts, 5, copy_body, &seen), RC_INVAL);
    assert_names(rc_message(), "5 ranks ... 2 hosts ... 2 ranks");
    assert_int_equal(run(&seen, 0, 1, copy_body), RC_INVAL);
    assert_int_equal(run(&seen, 10000000, 1, copy_body), RC_INVAL);
    assert_int_equal(world_run(&world_sim, &opts, 4, copy_body, &seen), RC_OK); /* refusals cost nothing */
    assert_int_equal(world_run(&world_sim, &opts, 4, copy_body, &seen), RC_OK); /* a process may run several */
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_only_when_charged_W3),
        cmocka_unit_test(ranks_meet_1),
        cmocka_unit_test(ranks_meet_5),
        cmocka_unit_test(ranks_meet_512),
        cmocka_unit_test(hosts_are_filled_in_order),
        cmocka_unit_test(splits_are_ordered_by_key),
        cmocka_unit_test(an_error_ends_all_ranks_W4),
        cmocka_unit_test(abort_keeps_the_first_cause_W4),
        cmocka_unit_test(a_silent_death_is_noticed_W5),
        cmocka_unit_test(a_deadlock_is_an_error_E3),
        cmocka_unit_test(leaving_can_deadlock_the_others_E3),
        cmocka_unit_test(different_operations_are_told_apart),
        cmocka_unit_test(bad_requests_are_refused),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: world_sim_test TEST\n");
    return 2;
}
