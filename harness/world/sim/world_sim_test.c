/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_sim_test.c - the suites of every world in the sim world; virtual time as golden values, of ranks, of tasks that
 * share cores (world.K7), of shares, and of slow ranks; deadlocks; and what is refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/world/share.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/suite/ends_kit.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"

enum { RANKS_MAX = 512, N_NOTED = 14, N_TASKS_MAX = 3, N_WORKERS = 4, N_NOISY = 6, N_STEPS = 5, SEED = 3 };

#define S UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define NEVER UINT64_MAX
#define AT_1G "flops_per_s=1e9"

struct act { /* of one task: pause, then compute, both in ms */
    uint64_t pause_ms, compute_ms;
    uint64_t ended_ns; /* out */
};

static struct play { /* what the ranks of a run are to do, and what they leave for the test to judge */
    int n_tasks;
    struct act act[N_TASKS_MAX]; /* [0]: the main task's */
    struct peer_opts stall;
    uint64_t ended_ns[RANKS_MAX];
    enum rc rc[N_NOTED]; /* of the first ranks */
    char message[N_NOTED][RC_MESSAGE_BYTES];
    struct world copy[N_NOTED];
    int host[N_NOTED], n_hosts[N_NOTED];
    double step_ns[N_NOISY][N_STEPS + 1], pause_ns[N_NOISY]; /* the last step: outside of steps */
    int n_failures;                                          /* what a rank itself found wrong */
    int n_told, n_returned;
} play;

static enum rc run_bound(const char *settings, int n_workers, int n_ranks, rank_main_fn *body)
{
    struct cluster c;
    const struct world_opts opts = { .cluster = &c, .n_bound_ranks = n_workers, .stall = play.stall };
    enum rc rc;

    cluster_default(&c);
    c.seed = SEED;
    TRY(cluster_set(&c, NULL, settings));
    rc = world_run(&world_sim, &opts, n_ranks, body, &play);
out:
    return rc;
}

static enum rc run(const char *settings, int n_ranks, rank_main_fn *body)
{
    return run_bound(settings, 0, n_ranks, body);
}

static int clean(void **state)
{
    (void)state;
    memset(&play, 0, sizeof play);
    return 0;
}

/* Rank w is done, or has been told. */
static void note(struct world *w, enum rc rc)
{
    play.ended_ns[w->rank] = world_now_ns(w);
    play.n_returned++;
    play.n_told += rc != RC_OK;
    if (w->rank < N_NOTED) {
        play.rc[w->rank] = rc;
        snprintf(play.message[w->rank], RC_MESSAGE_BYTES, "%s", rc == RC_OK ? "" : rc_message());
    }
}

/* --- the suites of every world --- */

static enum rc world_body(struct world *w, void *arg)
{
    (void)arg;
    play.n_failures += world_suite(w, NULL);
    return RC_OK;
}

static enum rc tasks_body(struct world *w, void *arg)
{
    (void)arg;
    play.n_failures += task_suite(w, NULL);
    return RC_OK;
}

static enum rc shares_body(struct world *w, void *arg)
{
    struct world *part = NULL;
    enum rc rc;

    (void)arg;
    play.n_failures += share_suite(w, NEVER, NULL);
    TRY(world_split(w, w->rank % 2, -w->rank, &part)); /* hosts of a part come in another order */
    play.n_failures += share_suite(part, NEVER, NULL);
out:
    world_split_close(&part);
    return rc;
}

UNIT_TEST_WITH(suites_pass, clean, NULL)
{
    static const struct {
        rank_main_fn *body;
        int n_ranks;
        const char *settings;
    } suite[] = { { world_body, 1, "" },
                  { world_body, 5, "" },
                  { world_body, 10, "ranks_per_host_count=4" },
                  { tasks_body, 1, AT_1G },
                  { tasks_body, 5, AT_1G },
                  { shares_body, 1, "ranks_per_host_count=1" },
                  { shares_body, 3, "ranks_per_host_count=3" },
                  { shares_body, 7, "ranks_per_host_count=3" },
                  { shares_body, 3, "ranks_per_host_count=1" } };

    for (size_t i = 0; i < sizeof suite / sizeof *suite; i++) {
        assert_int_equal(run(suite[i].settings, suite[i].n_ranks, suite[i].body), RC_OK);
        assert_int_equal(play.n_failures, 0);
    }
}

UNIT_TEST(ends_are_told_W4_W5)
{
    struct cluster c;
    const struct world_opts opts = { .cluster = &c };

    cluster_default(&c);
    ends_are_told(&world_sim, &opts);
    ends_are_told_to_tasks(&world_sim, &opts);
}

/* --- virtual time --- */

static enum rc time_body(struct world *w, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        world_charge(w, 0, 0); /* costs nothing */
    world_pause(w, 0);
    play.n_failures += world_now_ns(w) != 0;
    world_charge(w, 20e9 * 0.25, 0); /* 0.25 s of arithmetic */
    play.n_failures += world_now_ns(w) != 250000000;
    world_charge(w, 20e9 * 0.25, 8e9 * 0.5); /* memory is the slower one: 0.5 s */
    play.n_failures += world_now_ns(w) != 750000000;
    world_pause(w, 123456789);
    play.n_failures += world_now_ns(w) != 873456789;
    for (int i = 0; i < 1000; i++) /* 1000 x 0.4 ns: rounding is of the clock, not of each charge */
        world_charge(w, 8, 0);
    note(w, RC_OK);
    return RC_OK;
}

UNIT_TEST_WITH(time_passes_only_when_charged_W3, clean, NULL)
{
    assert_int_equal(run("", 2, time_body), RC_OK);
    assert_int_equal(play.n_failures, 0);
    assert_int_equal(play.ended_ns[0], 873457189);
    assert_int_equal(play.ended_ns[1], 873457189);
}

static enum rc meet_body(struct world *w, void *arg)
{
    const int mine = 3 * w->rank + 1;
    int all[RANKS_MAX] = { 0 };
    struct world *part = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_barrier(w));
    TRY(world_allgather(w, &mine, all, sizeof mine));
    for (int r = 0; r < w->n_ranks; r++)
        play.n_failures += all[r] != 3 * r + 1;
    TRY(world_gather(w, NULL, all, 0));
    TRY(world_split(w, 0, 0, &part)); /* everybody again, never closed: freed with the run */
    play.n_failures += part->rank != w->rank || part->n_ranks != w->n_ranks;
    play.n_failures += world_now_ns(w) != 0; /* bootstrap takes no virtual time */
    world_pause(w, (uint64_t)w->rank * 1000);
    TRY(world_barrier(w));
    note(w, RC_OK); /* the last one's time */
out:
    return rc;
}

UNIT_TEST(ranks_meet)
{
    static const int n_ranks[] = { 1, 5, RANKS_MAX };

    for (size_t i = 0; i < sizeof n_ranks / sizeof *n_ranks; i++) {
        clean(state);
        assert_int_equal(run("", n_ranks[i], meet_body), RC_OK);
        assert_int_equal(play.n_failures, 0);
        assert_int_equal(play.n_returned, n_ranks[i]);
        for (int r = 0; r < n_ranks[i]; r++)
            assert_int_equal(play.ended_ns[r], (n_ranks[i] - 1) * 1000);
    }
}

static enum rc perform(struct world *w, void *arg)
{
    struct act *act = arg;

    world_pause(w, act->pause_ms * MS);
    world_charge(w, 1e6 * (double)act->compute_ms, 0);
    act->ended_ns = world_now_ns(w);
    return RC_OK;
}

static enum rc acts_body(struct world *w, void *arg)
{
    struct task *task[N_TASKS_MAX] = { NULL };
    enum rc rc;

    (void)arg;
    for (int i = 1; i < play.n_tasks; i++)
        TRY(world_spawn(&task[i], w, &(struct task_opts){ .name = "actor", .fn = perform, .arg = &play.act[i] }));
    TRY(perform(w, &play.act[0]));
    for (int i = 1; i < play.n_tasks; i++)
        TRY(world_join(&task[i]));
out:
    return rc;
}

UNIT_TEST(tasks_share_cores_K7)
{
    static const struct {
        const char *cores;
        int n_tasks;
        struct act act[N_TASKS_MAX]; /* with when it ends */
    } of[] = {
        { "cores_per_rank_count=1", 2, { { 0, 1000, 2 * S }, { 0, 1000, 2 * S } } },
        { "cores_per_rank_count=2", 2, { { 0, 1000, S }, { 0, 1000, S } } },
        { "cores_per_rank_count=2", 3, { { 0, 2000, 3 * S }, { 0, 2000, 3 * S }, { 0, 2000, 3 * S } } },
        /* Main has 2 s left when the task begins its 1 s: until 3 s both have half a core. */
        { "cores_per_rank_count=1", 2, { { 0, 3000, 4 * S }, { 1000, 1000, 3 * S } } },
        /* 1 s together for half of it, 1.5 s left of 2 alone. */
        { "cores_per_rank_count=1", 2, { { 0, 2000, 5 * S / 2 }, { 0, 500, S } } },
        /* A pause occupies no core. */
        { "cores_per_rank_count=1", 2, { { 0, 1000, S }, { 3000, 0, 3 * S } } },
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char settings[64];
        snprintf(settings, sizeof settings, AT_1G ",%s", of[i].cores);
        play = (struct play){ .n_tasks = of[i].n_tasks };
        for (int k = 0; k < of[i].n_tasks; k++)
            play.act[k] = (struct act){ of[i].act[k].pause_ms, of[i].act[k].compute_ms, 0 };
        assert_int_equal(run(settings, 1, acts_body), RC_OK);
        assert_memory_equal(play.act, of[i].act, sizeof play.act);
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
    struct share *share = NULL;
    struct world *group = NULL;
    enum rc rc;

    (void)arg;
    TRY(open_share(w, &group, &share));
    if (w->rank > 0)
        TRY(share_wait(share, 0, NEVER));
    world_charge(w, 3e6, 0);
    if (w->rank + 1 < w->n_ranks)
        share_ring(share, w->rank + 1);
    note(w, RC_OK);
    if (w->rank == 0) /* a wait of its own takes as long as it says */
        play.n_failures += share_wait(share, share_seen(share), 40 * MS) != RC_TIMEOUT || world_now_ns(w) != 43 * MS;
out:
    world_share_close(&share);
    world_split_close(&group);
    return rc;
}

UNIT_TEST_WITH(a_ring_takes_no_time_W3, clean, NULL)
{
    assert_int_equal(run(AT_1G ",ranks_per_host_count=4", 4, relay_body), RC_OK);
    for (int r = 0; r < 4; r++)
        assert_int_equal(play.ended_ns[r], (uint64_t)(r + 1) * 3 * MS);
    assert_int_equal(play.n_failures, 0);
}

/* --- hosts --- */

/* A part of all ranks but rank 0, in the opposite order. */
static enum rc hosts_body(struct world *w, void *arg)
{
    struct world *part = NULL, *group = NULL;
    enum rc rc;

    (void)arg;
    play.copy[w->rank] = *w;
    TRY(world_split(w, w->rank == 0 ? -1 : 0, -w->rank, &part));
    if (part)
        TRY(world_host_group(part, &group, &play.host[w->rank], &play.n_hosts[w->rank]));
out:
    world_split_close(&group);
    world_split_close(&part);
    return rc;
}

UNIT_TEST_WITH(hosts_are_filled_in_order, clean, NULL)
{
    static const int host[] = { 0, 2, 2, 2, 1, 1, 1, 1, 0, 0 };

    assert_int_equal(run("ranks_per_host_count=4", 10, hosts_body), RC_OK);
    for (int r = 0; r < 10; r++) {
        const struct world *w = &play.copy[r];
        assert_int_equal(w->rank, r);
        assert_int_equal(w->n_ranks, 10);
        assert_int_equal(w->host_rank, r % 4);
        assert_int_equal(w->n_host_ranks, r < 8 ? 4 : 2);
        assert_false(world_may_spin(w));
        assert_true(w->flops_per_s == 20e9 && w->memory_bytes_per_s == 8e9);
        assert_true(w->link_bytes_per_s == 125e6 && w->link_latency_s == 25e-6);
        assert_int_equal(play.host[r], host[r]); /* world.H1: numbered by the ranks of the part */
        assert_int_equal(play.n_hosts[r], r > 0 ? 3 : 0);
    }
}

/* --- slow ranks --- */

static double took_ns(struct world *w, uint64_t *since_ns)
{
    const uint64_t began_ns = *since_ns;

    *since_ns = world_now_ns(w);
    return (double)(*since_ns - began_ns);
}

/* In each step 40 ms by its flops, 60 ms as recorded, and 100 ms by its bytes: 200 ms where nothing is slow. */
static enum rc steps_body(struct world *w, void *arg)
{
    struct world *here = NULL;
    uint64_t since_ns = world_now_ns(w);
    enum rc rc;

    (void)arg;
    for (int step = 0; step <= N_STEPS; step++) {
        world_set_duty(w, &(struct peer_duty){ step < N_STEPS ? PHASE_STEP : PHASE_END, 10 + step, -1 });
        world_charge(w, 40e-3 * 1e9, 0);
        world_work(w, 60 * MS);
        world_charge(w, 0, 100e-3 * 2e9);
        play.step_ns[w->rank][step] = took_ns(w, &since_ns);
    }
    world_pause(w, 5 * MS);
    play.pause_ns[w->rank] = took_ns(w, &since_ns);
    play.copy[w->rank] = *w;
    TRY(world_host_group(w, &here, &play.host[w->rank], &play.n_hosts[w->rank]));
    world_split_close(&here);
out:
    return rc;
}

static void run_steps(const char *settings)
{
    char all[160];

    snprintf(all, sizeof all, AT_1G ",memory_bytes_per_s=2e9%s", settings);
    assert_int_equal(run_bound(all, N_WORKERS, N_NOISY, steps_body), RC_OK);
}

static void assert_near(double seen_ns, double expected_ns)
{
    if (fabs(seen_ns - expected_ns) > 3)
        fail_msg("%.1f ns, expected %.1f", seen_ns, expected_ns);
}

UNIT_TEST_WITH(nothing_is_slow_as_it_is, clean, NULL)
{
    run_steps("");
    for (int r = 0; r < N_NOISY; r++)
        for (int step = 0; step <= N_STEPS; step++)
            assert_near(play.step_ns[r][step], 200e6);
}

UNIT_TEST_WITH(workers_jitter_in_steps_V1, clean, NULL)
{
    struct cluster c;
    int n_differ = 0;

    run_steps(",jitter=exponential,jitter_ratio=0.2");
    cluster_default(&c);
    c.seed = SEED;
    assert_int_equal(cluster_set(&c, NULL, "jitter=exponential,jitter_ratio=0.2"), RC_OK);
    for (int r = 0; r < N_NOISY; r++)
        for (int step = 0; step <= N_STEPS; step++) {
            const bool jitters = r < N_WORKERS && step < N_STEPS;
            assert_near(play.step_ns[r][step], 200e6 * (jitters ? noise_step_ratio(&c, r, 10 + step) : 1));
            n_differ += play.step_ns[r][step] > 200.1e6;
        }
    assert_true(n_differ > N_WORKERS * N_STEPS / 2);
    for (int r = 0; r < N_NOISY; r++)
        assert_near(play.pause_ns[r], 5e6); /* no work */
}

UNIT_TEST_WITH(stragglers_are_slow_always, clean, NULL)
{
    int n_slow = 0;

    run_steps(",stragglers_count=2,straggler_ratio=3");
    for (int r = 0; r < N_NOISY; r++) {
        const bool is_slow = play.step_ns[r][0] > 400e6;
        n_slow += is_slow;
        assert_true(!is_slow || r < N_WORKERS);
        for (int step = 0; step <= N_STEPS; step++)
            assert_near(play.step_ns[r][step], is_slow ? 600e6 : 200e6);
    }
    assert_int_equal(n_slow, 2);
}

/* A device streams ten times as fast as the processor on which its server runs. */
UNIT_TEST_WITH(servers_have_rates_of_their_own, clean, NULL)
{
    run_steps(",server_flops_per_s=0.5e9,server_memory_bytes_per_s=0.2e9");
    for (int r = 0; r < N_NOISY; r++)
        assert_near(play.step_ns[r][0], r < N_WORKERS ? 200e6 : 80e6 + 60e6 + 1000e6);
}

UNIT_TEST_WITH(servers_are_beside_workers_D1, clean, NULL)
{
    static const int host_rank[] = { 0, 1, 2, 0, 3, 1 }, n_host_ranks[] = { 4, 4, 4, 2, 4, 2 },
                     host[] = { 0, 0, 0, 1, 0, 1 };

    run_steps(",ranks_per_host_count=3,server_placement=beside,hosts_count=2");
    for (int r = 0; r < N_NOISY; r++) {
        assert_int_equal(play.copy[r].host_rank, host_rank[r]);
        assert_int_equal(play.copy[r].n_host_ranks, n_host_ranks[r]);
        assert_int_equal(play.host[r], host[r]);
        assert_int_equal(play.n_hosts[r], 2);
    }
}

/* --- ends --- */

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
    struct task *t = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_spawn(&t, w, &(struct task_opts){ .name = "waiter", .fn = wait_for_ever }));
    rc = world_join(&t);
    note(w, rc);
out:
    return rc;
}

/* Rank 1, where there is one, dies after 5 ms with the share open; nobody rings. */
static enum rc share_body(struct world *w, void *arg)
{
    struct share *share = NULL;
    struct world *group = NULL;
    enum rc rc;

    (void)arg;
    TRY(open_share(w, &group, &share));
    memset(share->mine, 10 + w->rank, 100);
    TRY(world_barrier(w));
    if (w->rank == 1) {
        world_pause(w, 5 * MS);
        world_die(w);
    }
    rc = share_wait(share, share_seen(share), NEVER);
    note(w, rc);
    for (int r = 0; r < group->n_ranks; r++)
        play.n_failures += ((unsigned char *)share->peer[r])[99] != 10 + r;
out:
    world_share_close(&share);
    world_split_close(&group);
    return rc;
}

static enum rc leave_body(struct world *w, void *arg)
{
    enum rc rc;

    (void)arg;
    if (w->rank == 0)
        return RC_OK;
    rc = world_barrier(w);
    note(w, rc);
    return rc;
}

static enum rc leave_late_body(struct world *w, void *arg)
{
    if (w->rank == 0)
        world_pause(w, 1000); /* the others are asleep when it leaves */
    return leave_body(w, arg);
}

UNIT_TEST(a_deadlock_is_an_error_E3)
{
    static const struct {
        rank_main_fn *body;
        int n_ranks, n_told;
    } of[] = { { leave_body, 3, 2 }, { leave_late_body, 3, 2 }, { join_body, 2, 2 }, { share_body, 1, 1 } };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        clean(state);
        assert_int_equal(run("", of[i].n_ranks, of[i].body), RC_TIMEOUT);
        assert_non_null(strstr(rc_message(), "deadlock"));
        assert_int_equal(play.n_told, of[i].n_told);
        for (int r = of[i].n_ranks - of[i].n_told; r < of[i].n_ranks; r++)
            assert_true(of[i].body == join_body || play.rc[r] == RC_TIMEOUT);
        assert_int_equal(play.n_failures, 0);
    }
}

UNIT_TEST_WITH(a_death_ends_waits_H6, clean, NULL)
{
    assert_int_equal(run("ranks_per_host_count=3", 3, share_body), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: ended before its work was done");
    for (int r = 0; r < 3; r += 2) {
        assert_string_equal(play.message[r], "rank 1 failed: ended before its work was done");
        assert_int_equal(play.ended_ns[r], 5 * MS);
    }
    assert_int_equal(play.n_told, 2);
    assert_int_equal(play.n_failures, 0);
}

static enum rc end_later(struct world *w, void *arg)
{
    (void)arg;
    world_pause(w, S);
    if (play.n_tasks == 1)
        world_die(w);
    world_hang(w); /* until the rank is stopped or the run has failed */
    return RC_OK;
}

/* Rank 1 has a task that ends before its time; all wait for each other. */
static enum rc task_ends_body(struct world *w, void *arg)
{
    struct task *t = NULL;
    enum rc rc = RC_OK;

    if (w->rank == 1)
        TRY(world_spawn(&t, w, &(struct task_opts){ .name = "walker", .fn = end_later }));
    if (w->rank == 2 && play.n_tasks == 2) {
        world_pause(w, 2 * S);
        FAIL(RC_IO, "the disk is full");
    }
    rc = w->rank > 0 || play.n_tasks == 2 ? wait_for_ever(w, arg) : world_barrier(w);
    note(w, rc);
out:
    return rc;
}

/* Regression: the run named another rank, and called it a deadlock. */
UNIT_TEST_WITH(a_task_that_dies_ends_alone_W5, clean, NULL)
{
    const char *why = "task walker ended before its work was done";

    play.n_tasks = 1;
    assert_int_equal(run("", 3, task_ends_body), RC_PEER);
    assert_non_null(strstr(rc_message(), why));
    assert_memory_equal(rc_message(), "rank 1: ", 8);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(play.rc[r], RC_PEER);
        assert_int_equal(play.ended_ns[r], S);
        assert_memory_equal(play.message[r], r == 1 ? why : "rank 1 failed: ", 15);
    }
    assert_string_equal(play.message[1], why);
}

/* world.P1: its silence is not that of its rank. */
UNIT_TEST_WITH(a_task_that_hangs_ends_with_the_run_W5, clean, NULL)
{
    play.n_tasks = 2;
    play.stall = (struct peer_opts){ .warn_ns = S / 2, .abort_ns = S / 2 };
    assert_int_equal(run("", 3, task_ends_body), RC_IO);
    assert_string_equal(rc_message(), "rank 2: the disk is full");
    for (int r = 0; r < 2; r++) {
        assert_int_equal(play.rc[r], RC_PEER);
        assert_int_equal(play.ended_ns[r], 2 * S);
    }
}

static enum rc disagree_body(struct world *w, void *arg)
{
    int all[3];
    enum rc rc = w->rank == 2 ? world_barrier(w) : world_allgather(w, &w->rank, all, sizeof w->rank);

    (void)arg;
    note(w, rc);
    return rc;
}

UNIT_TEST_WITH(different_operations_are_told_apart, clean, NULL)
{
    assert_int_equal(run("", 3, disagree_body), RC_MISMATCH);
    assert_int_equal(play.rc[0], RC_PEER);
    assert_int_equal(play.rc[1], RC_PEER);
    assert_int_equal(play.rc[2], RC_MISMATCH);
}

UNIT_TEST_WITH(bad_requests_are_refused, clean, NULL)
{
    static const char two[] = "hosts_count=2,ranks_per_host_count=2";

    assert_int_equal(run(two, 5, hosts_body), RC_INVAL);
    assert_names(rc_message(), "5 ranks ... 2 hosts ... 2 ranks");
    assert_int_equal(run("", 0, hosts_body), RC_INVAL);
    assert_int_equal(run("", 10000000, hosts_body), RC_INVAL);
    assert_int_equal(run(two, 4, hosts_body), RC_OK); /* refusals cost nothing */
}

UNIT_MAIN("world_sim")
