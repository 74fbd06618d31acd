/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_share_test.c - share_suite on simulated hosts, shares in virtual time, and their deadlocks.
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
#include "harness/world/share.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/suite/share_suite.h"

enum { N_RANKS_MAX = 8 };

#define MS UINT64_C(1000000)
#define NEVER UINT64_MAX

struct play {
    int n_ranks_per_host;
    int n_failures, n_told;
    int host[N_RANKS_MAX], n_hosts[N_RANKS_MAX];
    uint64_t ended_ns[N_RANKS_MAX];
    char message[N_RANKS_MAX][RC_MESSAGE_BYTES];
};

static enum rc run(struct play *play, int n_ranks, rank_main_fn *body)
{
    struct cluster c;

    cluster_default(&c);
    c.flops_per_s = 1e9;
    c.n_ranks_per_host = play->n_ranks_per_host;
    const struct world_opts opts = { .cluster = &c };
    return world_run(&world_sim, &opts, n_ranks, body, play);
}

static enum rc suite_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct world *part = NULL;
    enum rc rc;

    play->n_failures += share_suite(w, NEVER, NULL);
    TRY(world_split(w, w->rank % 2, -w->rank, &part)); /* hosts of a part come in another order */
    play->n_failures += share_suite(part, NEVER, NULL);
out:
    world_split_close(&part);
    return rc;
}

static void suite_of(int n_ranks, int n_ranks_per_host)
{
    struct play play = { .n_ranks_per_host = n_ranks_per_host };

    assert_int_equal(run(&play, n_ranks, suite_body), RC_OK);
    assert_int_equal(play.n_failures, 0);
}

static void suite_1_on_1_host(void **state)
{
    (void)state;
    suite_of(1, 1);
}

static void suite_3_on_1_host(void **state)
{
    (void)state;
    suite_of(3, 3);
}

static void suite_7_on_3_hosts(void **state)
{
    (void)state;
    suite_of(7, 3);
}

static void suite_3_on_3_hosts(void **state)
{
    (void)state;
    suite_of(3, 1);
}

static enum rc hosts_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct world *part = NULL, *group = NULL;
    enum rc rc;

    /* 4 3 2 1, of hosts 2 1 1 0: their numbers in the part are 0 1 1 2. */
    TRY(world_split(w, w->rank == 0 ? -1 : 0, -w->rank, &part));
    if (part)
        TRY(world_host_group(part, &group, &play->host[w->rank], &play->n_hosts[w->rank]));
out:
    world_split_close(&group);
    world_split_close(&part);
    return rc;
}

static void hosts_of_a_part_are_numbered_by_its_ranks_H1(void **state)
{
    static const int host[] = { 0, 2, 1, 1, 0 };
    struct play play = { .n_ranks_per_host = 2 };

    (void)state;
    assert_int_equal(run(&play, 5, hosts_body), RC_OK);
    for (int r = 1; r < 5; r++) {
        assert_int_equal(play.host[r], host[r]);
        assert_int_equal(play.n_hosts[r], 3);
    }
}

/* Opens a share of the ranks of a host; no time passes. */
static enum rc open_share(struct world *w, struct world **group, struct share **share)
{
    int host, n_hosts;
    enum rc rc;

    TRY(world_host_group(w, group, &host, &n_hosts));
    TRY(world_share_open(*group, 100, share));
out:
    return rc;
}

/* Each rank computes 3 ms after it was rung, then rings the next. */
static enum rc relay_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct share *share = NULL;
    struct world *group = NULL;
    enum rc rc;

    TRY(open_share(w, &group, &share));
    if (w->rank > 0)
        TRY(share_wait(share, 0, NEVER));
    world_charge(w, 3e6, 0);
    if (w->rank + 1 < w->n_ranks)
        share_ring(share, w->rank + 1);
    play->ended_ns[w->rank] = world_now_ns(w);
    if (w->rank == 0) { /* a wait of its own takes as long as it says */
        rc = share_wait(share, share_seen(share), 40 * MS);
        play->n_told += rc == RC_TIMEOUT && world_now_ns(w) == 43 * MS;
        rc = RC_OK;
    }
out:
    world_share_close(&share);
    world_split_close(&group);
    return rc;
}

static void only_work_takes_time_W3(void **state)
{
    struct play play = { .n_ranks_per_host = 4 };

    (void)state;
    assert_int_equal(run(&play, 4, relay_body), RC_OK);
    for (int r = 0; r < 4; r++)
        assert_int_equal(play.ended_ns[r], (uint64_t)(r + 1) * 3 * MS);
    assert_int_equal(play.n_told, 1);
}

/* Rank 1 dies after 5 ms with the share open, where there is one; nobody rings. */
static enum rc wait_body(struct world *w, void *arg)
{
    struct play *play = arg;
    struct share *share = NULL;
    struct world *group = NULL;
    enum rc rc;

    TRY(open_share(w, &group, &share));
    memset(share->mine, 10 + w->rank, 100);
    TRY(world_barrier(w));
    if (w->rank == 1) {
        world_pause(w, 5 * MS);
        world_die(w);
    }
    rc = share_wait(share, share_seen(share), NEVER);
    snprintf(play->message[w->rank], RC_MESSAGE_BYTES, "%s", rc_message());
    play->ended_ns[w->rank] = world_now_ns(w);
    for (int r = 0; r < group->n_ranks; r++)
        play->n_told += rc != RC_OK && ((unsigned char *)share->peer[r])[99] == 10 + r;
out:
    world_share_close(&share);
    world_split_close(&group);
    return rc;
}

static void a_death_ends_waits_H6(void **state)
{
    struct play play = { .n_ranks_per_host = 3 };

    (void)state;
    assert_int_equal(run(&play, 3, wait_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: ended before its work was done");
    assert_string_equal(play.message[0], "rank 1 failed: ended before its work was done");
    assert_string_equal(play.message[2], "rank 1 failed: ended before its work was done");
    assert_int_equal(play.ended_ns[2], 5 * MS);
    assert_int_equal(play.n_told, 2 * 3);
}

static void a_wait_can_deadlock_E3(void **state)
{
    struct play play = { .n_ranks_per_host = 1 };

    (void)state;
    assert_int_equal(run(&play, 1, wait_body), RC_TIMEOUT);
    assert_non_null(strstr(rc_message(), "deadlock"));
    assert_int_equal(play.n_told, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_1_on_1_host),
        cmocka_unit_test(suite_3_on_1_host),
        cmocka_unit_test(suite_7_on_3_hosts),
        cmocka_unit_test(suite_3_on_3_hosts),
        cmocka_unit_test(hosts_of_a_part_are_numbered_by_its_ranks_H1),
        cmocka_unit_test(only_work_takes_time_W3),
        cmocka_unit_test(a_death_ends_waits_H6),
        cmocka_unit_test(a_wait_can_deadlock_E3),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: sim_share_test TEST\n");
    return 2;
}
