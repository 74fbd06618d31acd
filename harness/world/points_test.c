/* SPDX-License-Identifier: Apache-2.0 */
/*
 * points_test.c - barriers, events of tasks, rings of shares, thread pools and background threads with one thread
 * stopped at each of its points in turn: no rank that runs ahead is lost, and no wake-up. Here a sleep never ends by
 * its time limit (test_points.h).
 */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/background.h"
#include "harness/world/share.h"
#include "harness/world/suite/test_points.h"
#include "harness/world/task.h"
#include "harness/world/thread_pool.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

enum { N_RANKS = 3, N_BARRIERS = 3, N_STARTS = 3, N_TASKS = 4 };

struct meetings {
    int n_barriers, n_ranks;
    int n_came[N_BARRIERS]; /* through __atomic builtins: they are no points */
    int n_wrong;
};

static void add(int *sum)
{
    (void)__atomic_fetch_add(sum, 1, __ATOMIC_SEQ_CST);
}

static enum rc meet(struct world *w, void *arg)
{
    struct meetings *m = arg;
    int all[N_RANKS] = { 0 };
    enum rc rc;

    for (int i = 0; i < m->n_barriers; i++) {
        add(&m->n_came[i]);
        TRY(world_barrier(w));
        if (__atomic_load_n(&m->n_came[i], __ATOMIC_SEQ_CST) != m->n_ranks)
            add(&m->n_wrong);
    }
    if (m->n_ranks != N_RANKS)
        goto out;
    const int mine = 10 + w->rank;
    TRY(world_allgather(w, &mine, all, sizeof mine));
    for (int r = 0; r < N_RANKS; r++)
        if (all[r] != 10 + r)
            add(&m->n_wrong);
out:
    return rc;
}

static int meet_scenario(int n_ranks, int n_barriers)
{
    const struct world_opts opts = { .bind_cores = false };
    struct meetings m = { .n_ranks = n_ranks, .n_barriers = n_barriers };

    return (world_run(&world_threads, &opts, n_ranks, meet, &m) != RC_OK) + m.n_wrong;
}

static int world_scenario(void *arg)
{
    (void)arg;
    return meet_scenario(N_RANKS, N_BARRIERS);
}

static int pair_scenario(void *arg)
{
    (void)arg;
    return meet_scenario(2, 2);
}

UNIT_TEST(barriers_wake)
{
    assert_int_equal(test_points_try(1 + N_RANKS, 70, world_scenario, NULL), 0);
}

/* A rank leaves a barrier and arrives at the next one while the last rank to arrive is still opening the first. */
UNIT_TEST(barriers_lose_no_quick_rank)
{
    assert_int_equal(test_points_try_pairs(3, 24, pair_scenario, NULL), 0);
}

static enum rc survive(struct world *w, void *arg)
{
    struct world *left = NULL;
    enum rc rc;

    for (int i = 0; i < 2; i++) {
        TRY(world_survivors(w, &left));
        if (left->n_ranks != 2 || left->rank != w->rank)
            add(arg);
        world_split_close(&left);
    }
out:
    return rc;
}

static int survivors_scenario(void *arg)
{
    const struct world_opts opts = { .on_loss = ON_LOSS_REPORT };
    int n_wrong = 0;

    (void)arg;
    return (world_run(&world_threads, &opts, 2, survive, &n_wrong) != RC_OK) + n_wrong;
}

/* The last to come lets the other go, however late that looks. */
UNIT_TEST(survivors_wake)
{
    assert_int_equal(test_points_try(3, 26, survivors_scenario, NULL), 0);
    assert_int_equal(test_points_try_pairs(3, 9, survivors_scenario, NULL), 0);
}

struct volley { /* of two tasks of a rank, which meet in two events */
    struct event *there, *back;
    int n_hits; /* plain: the events order its uses */
};

static enum rc hit_back(struct world *w, void *arg)
{
    struct volley *v = arg;
    enum rc rc = RC_OK;

    (void)w;
    for (int i = 0; i < N_STARTS; i++) {
        TRY(event_wait(v->there, UINT64_MAX));
        v->n_hits++;
        event_post(v->back);
    }
out:
    return rc;
}

static enum rc serve_volley(struct world *w, void *arg)
{
    struct volley v = { 0 };
    struct task *t = NULL;
    enum rc rc;

    TRY(event_open(&v.there, w, "there"));
    TRY(event_open(&v.back, w, "back"));
    TRY(world_spawn(&t, w, &(struct task_opts){ .name = "other", .fn = hit_back, .arg = &v }));
    for (int i = 0; i < N_STARTS; i++) {
        v.n_hits++;
        event_post(v.there);
        TRY(event_wait(v.back, UINT64_MAX));
        *(int *)arg += v.n_hits != 2 * (i + 1);
    }
    TRY(world_join(&t));
out:
    event_close(&v.there);
    event_close(&v.back);
    return rc;
}

static int volley_scenario(void *arg)
{
    const struct world_opts opts = { .bind_cores = false };
    int n_wrong = 0;

    (void)arg;
    return (world_run(&world_threads, &opts, 1, serve_volley, &n_wrong) != RC_OK) + n_wrong;
}

UNIT_TEST(events_wake)
{
    assert_int_equal(test_points_try(3, 50, volley_scenario, NULL), 0);
}

/* Two ranks ring each other. */
static enum rc serve_rings(struct world *w, void *arg)
{
    const int other = 1 - w->rank;
    struct share *share = NULL;
    enum rc rc;

    TRY(world_share_open(w, sizeof(int), &share));
    for (uint32_t i = 0; i < N_STARTS; i++) {
        if (w->rank == 1)
            TRY(share_wait(share, i, UINT64_MAX));
        const int n_hits = ++*(int *)share->mine;
        if (w->rank == 1 && n_hits != 2 * (int)i + 2)
            add(arg);
        *(int *)share->peer[other] = n_hits;
        share_ring(share, other);
        if (w->rank == 0)
            TRY(share_wait(share, i, UINT64_MAX));
    }
out:
    world_share_close(&share);
    return rc;
}

static int rings_scenario(void *arg)
{
    const struct world_opts opts = { .bind_cores = false };
    int n_wrong = 0;

    (void)arg;
    return (world_run(&world_threads, &opts, 2, serve_rings, &n_wrong) != RC_OK) + n_wrong;
}

UNIT_TEST(rings_wake)
{
    assert_int_equal(test_points_try(3, 150, rings_scenario, NULL), 0);
}

static void count_run(void *arg)
{
    ++*(int *)arg;
}

static int background_scenario(void *arg)
{
    struct background *b = NULL;
    int n_runs = 0, n_wrong = 0;

    (void)arg;
    if (background_open(&b, count_run, &n_runs) != RC_OK)
        return 1;
    for (int i = 1; i <= N_STARTS; i++) {
        background_start(b);
        background_wait(b);
        n_wrong += n_runs != i;
    }
    background_start(b);
    background_start(b);
    background_close(&b);
    return n_wrong + (n_runs != N_STARTS + 2);
}

UNIT_TEST(background_threads_wake)
{
    assert_int_equal(test_points_try(2, 70, background_scenario, NULL), 0);
}

static void count_task(void *arg, int task, int thread)
{
    int *n_runs = arg;

    (void)thread;
    add(&n_runs[task]);
}

static int pool_scenario(void *arg)
{
    struct thread_pool *pool = NULL;
    int n_runs[N_TASKS] = { 0 }, n_wrong = 0;

    (void)arg;
    if (thread_pool_open(&pool, 3, false) != RC_OK)
        return 1;
    for (int i = 1; i <= N_STARTS; i++) {
        thread_pool_run(pool, count_task, n_runs, N_TASKS);
        for (int k = 0; k < N_TASKS; k++)
            n_wrong += n_runs[k] != i;
    }
    thread_pool_close(&pool);
    return n_wrong;
}

UNIT_TEST(thread_pools_wake)
{
    assert_int_equal(test_points_try(3, 70, pool_scenario, NULL), 0);
}

UNIT_MAIN("points")
