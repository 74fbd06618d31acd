/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_test.c - who may read and whose gradient counts (Q1 to Q4), in made-up schedules: workers take times of their
 * own for each step, some are lost on the way, and counters of the test's own say what should have been.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/exchange/consistency.h"
#include "ps/clocks.h"

enum { MOST_WORKERS = 8, N_STEPS = 12, N_SCHEDULES = 10000 };

struct schedule {
    uint64_t seed;
    struct clocks clocks;
    int n_workers;
    int lost, lost_after;          /* a worker, and its steps before it is lost; -1: none */
    uint64_t due[MOST_WORKERS];    /* when it pushes next; UINT64_MAX: it waits, or is out */
    uint32_t pushed[MOST_WORKERS]; /* so far */
    bool waits[MOST_WORKERS], kept[MOST_WORKERS], out[MOST_WORKERS];
    uint32_t n_late[MOST_WORKERS], n_counted[MOST_WORKERS], n_updates;
    uint32_t most_ahead; /* of anybody who read */
};

static uint64_t draw(const struct schedule *s, uint64_t what, uint64_t below)
{
    return rng_u64(s->seed, RNG_TEST, what) % below;
}

/* Some steps take ten times as long, and some workers all of theirs. */
static uint64_t step_time(const struct schedule *s, int w)
{
    const uint64_t key = 1000 + (uint64_t)w * N_STEPS + s->pushed[w];
    const uint64_t slow = draw(s, 500 + (uint64_t)w, 4) == 0 || draw(s, key, 9) == 0 ? 10 : 1;

    return slow * (1 + draw(s, key + 4096, 50));
}

/* The least number of pushes of those that are there. */
static uint32_t slowest_of(const struct schedule *s)
{
    uint32_t least = UINT32_MAX;

    for (int w = 0; w < s->n_workers; w++)
        if (!s->out[w] && s->pushed[w] < least)
            least = s->pushed[w];
    return least;
}

/* By the definition, from the test's own counters. */
static bool should_read(const struct schedule *s, int w)
{
    const struct consistency *rule = &s->clocks.rule;

    if (rule->kind == CONSISTENCY_SSP)
        return (int64_t)slowest_of(s) >= (int64_t)s->pushed[w] - (int64_t)rule->bound_count;
    return rule->kind == CONSISTENCY_ASYNC || s->n_updates >= s->pushed[w];
}

static void end_full_round(struct schedule *s)
{
    int n_kept = 0, n_there = 0;

    for (int w = 0; w < s->n_workers; w++) {
        n_kept += s->kept[w];
        n_there += !s->out[w];
    }
    const int n_wanted = s->n_workers - (int)s->clocks.rule.bound_count;
    const bool is_full = n_kept > 0 && n_kept >= (n_wanted < n_there ? n_wanted : n_there);
    assert_int_equal(clocks_round_is_full(&s->clocks), is_full);
    if (!is_full)
        return;
    for (int w = 0; w < s->n_workers; w++) {
        s->n_counted[w] += s->kept[w];
        s->kept[w] = false;
    }
    s->n_updates++;
    clocks_end_round(&s->clocks);
}

/* Whoever waits reads as soon as it may, and not before. */
static void settle(struct schedule *s, uint64_t now)
{
    end_full_round(s);
    for (int w = 0; w < s->n_workers; w++) {
        if (!s->waits[w])
            continue;
        if (clocks_may_read(&s->clocks, w) != should_read(s, w))
            fail_msg("schedule %llu: worker %d at clock %u, slowest %u, updates %u: %s", (unsigned long long)s->seed, w,
                     s->pushed[w], slowest_of(s), s->n_updates, should_read(s, w) ? "is held up" : "reads too early");
        if (!should_read(s, w))
            continue;
        const uint32_t ahead = s->pushed[w] - slowest_of(s);
        s->most_ahead = ahead > s->most_ahead ? ahead : s->most_ahead;
        s->waits[w] = false;
        s->due[w] = s->pushed[w] < N_STEPS ? now + step_time(s, w) : UINT64_MAX;
    }
}

static void lose(struct schedule *s, int w)
{
    s->out[w] = true;
    clocks_leave(&s->clocks, w, s->kept[w]);
    clocks_leave(&s->clocks, w, s->kept[w]); /* once more is nothing */
    s->waits[w] = s->kept[w] = false;
    s->due[w] = UINT64_MAX;
}

static void push(struct schedule *s, int w)
{
    const bool is_sync = s->clocks.rule.kind == CONSISTENCY_SYNC;
    const enum push_fate fate = clocks_push(&s->clocks, w);
    const uint32_t step = s->pushed[w]++;

    assert_int_equal(fate, !is_sync ? PUSH_COUNTS : step < s->n_updates ? PUSH_IS_LATE : PUSH_IS_KEPT);
    s->kept[w] = fate == PUSH_IS_KEPT;
    s->n_late[w] += fate == PUSH_IS_LATE;
    s->n_counted[w] += fate == PUSH_COUNTS;
    s->waits[w] = true;
    s->due[w] = UINT64_MAX;
}

/* The next worker pushes, or is lost; false: nobody does any more. */
static bool advance(struct schedule *s)
{
    int next = 0;

    for (int w = 1; w < s->n_workers; w++)
        if (s->due[w] < s->due[next])
            next = w;
    const uint64_t now = s->due[next];
    if (now == UINT64_MAX)
        return false;
    push(s, next);
    if (next == s->lost && s->pushed[next] > (uint32_t)s->lost_after)
        lose(s, next);
    settle(s, now);
    return true;
}

static void run_schedule(struct schedule *s, const struct consistency *rule, int n_workers, bool loses)
{
    const uint64_t seed = s->seed;

    *s = (struct schedule){ .seed = seed, .n_workers = n_workers, .lost = -1 };
    if (loses && n_workers > 1) {
        s->lost = (int)draw(s, 1, (uint64_t)n_workers);
        s->lost_after = (int)draw(s, 2, N_STEPS - 1);
    }
    assert_int_equal(clocks_open(&s->clocks, rule, n_workers), RC_OK);
    for (int w = 0; w < n_workers; w++)
        s->due[w] = step_time(s, w);
    while (advance(s))
        continue;
    for (int w = 0; w < n_workers; w++) /* Q3 */
        if (!s->out[w] && (s->waits[w] || s->pushed[w] < N_STEPS))
            fail_msg("schedule %llu: worker %d stays at clock %u", (unsigned long long)seed, w, s->pushed[w]);
    clocks_close(&s->clocks);
}

/* 10,000 schedules of 1 to 8 workers, S from 0 to 4: nobody is ever more than S ahead, and everybody S at times. */
UNIT_TEST(ssp_never_exceeds_its_bound_Q1)
{
    uint32_t reached = 0; /* bit S: in some schedule somebody was S ahead */

    for (uint64_t i = 0; i < N_SCHEDULES; i++) {
        const struct consistency rule = { CONSISTENCY_SSP, (uint32_t)(i % 5) };
        struct schedule s = { .seed = i };
        run_schedule(&s, &rule, 1 + (int)(i / 5 % MOST_WORKERS), i % 3 == 0);
        assert_true(s.most_ahead <= rule.bound_count);
        if (s.most_ahead == rule.bound_count)
            reached |= 1u << rule.bound_count;
    }
    assert_int_equal(reached, 0x1f);
}

/* Every step has one update, of N - B gradients; B a step are late. */
UNIT_TEST(sync_drops_the_latest_of_each_step_Q2)
{
    for (uint64_t i = 0; i < N_SCHEDULES; i++) {
        const int n_workers = 1 + (int)(i % MOST_WORKERS);
        const struct consistency rule = { CONSISTENCY_SYNC, (uint32_t)(i / MOST_WORKERS % (uint64_t)n_workers) };
        struct schedule s = { .seed = i };
        uint32_t n_late = 0, n_counted = 0;
        run_schedule(&s, &rule, n_workers, false);
        for (int w = 0; w < n_workers; w++) {
            assert_int_equal(s.n_late[w] + s.n_counted[w], N_STEPS);
            n_late += s.n_late[w];
            n_counted += s.n_counted[w];
        }
        assert_int_equal(s.n_updates, N_STEPS);
        assert_int_equal(n_late, N_STEPS * rule.bound_count);
        assert_int_equal(n_counted, N_STEPS * ((uint32_t)n_workers - rule.bound_count));
    }
}

/* Q4: the others do all their steps, and the updates of sync are as many. */
UNIT_TEST(a_lost_worker_holds_up_nobody_Q4)
{
    for (uint64_t i = 0; i < N_SCHEDULES; i++) {
        const int n_workers = 2 + (int)(i % (MOST_WORKERS - 1));
        const struct consistency rule = { CONSISTENCY_SYNC, (uint32_t)(i / 7 % (uint64_t)n_workers) };
        struct schedule s = { .seed = i };
        run_schedule(&s, &rule, n_workers, true);
        assert_int_equal(s.n_updates, N_STEPS);
    }
}

UNIT_TEST(async_waits_for_nobody)
{
    const struct consistency rule = { CONSISTENCY_ASYNC, 0 };
    uint32_t most_ahead = 0;

    for (uint64_t i = 0; i < 200; i++) {
        struct schedule s = { .seed = i };
        run_schedule(&s, &rule, 4, false);
        most_ahead = s.most_ahead > most_ahead ? s.most_ahead : most_ahead;
    }
    assert_true(most_ahead > 5);
}

/* Whoever joins is as far as the slowest one, and from then on counts. */
UNIT_TEST(who_joins_begins_with_the_slowest)
{
    const struct consistency rule = { CONSISTENCY_SSP, 1 };
    struct clocks c;

    assert_int_equal(clocks_open(&c, &rule, 3), RC_OK);
    clocks_keep_out(&c, 2);
    for (int i = 0; i < 2; i++) {
        (void)clocks_push(&c, 0);
        (void)clocks_push(&c, 1);
    }
    assert_int_equal(c.slowest, 2); /* who is not there holds up nobody */
    assert_int_equal(clocks_join(&c, 2), 2);
    (void)clocks_push(&c, 0);
    (void)clocks_push(&c, 1);
    (void)clocks_push(&c, 0);
    assert_int_equal(c.slowest, 2);
    assert_false(clocks_may_read(&c, 0));
    (void)clocks_push(&c, 2);
    assert_int_equal(c.slowest, 3);
    assert_true(clocks_may_read(&c, 0));
    clocks_leave(&c, 0, false);
    clocks_leave(&c, 1, false);
    clocks_leave(&c, 2, false);
    clocks_close(&c);
}

/* Also where all others have gone. */
UNIT_TEST(who_joins_last_is_the_slowest)
{
    const struct consistency rule = { CONSISTENCY_ASYNC, 0 };
    struct clocks c;

    assert_int_equal(clocks_open(&c, &rule, 2), RC_OK);
    clocks_keep_out(&c, 1);
    (void)clocks_push(&c, 0);
    clocks_leave(&c, 0, false);
    assert_int_equal(clocks_join(&c, 1), 1);
    (void)clocks_push(&c, 1);
    assert_int_equal(c.slowest, 2);
    clocks_close(&c);
}

UNIT_TEST(staleness_has_bins)
{
    for (int i = 0; i + 1 < STALENESS_BINS; i++) {
        assert_true(staleness_bin_first(i) < staleness_bin_first(i + 1));
        assert_int_equal(staleness_bin(staleness_bin_first(i)), i);
        assert_int_equal(staleness_bin(staleness_bin_first(i + 1) - 1), i);
    }
    assert_int_equal(staleness_bin_first(31), 31);
    assert_int_equal(staleness_bin_first(32), 32);
    assert_int_equal(staleness_bin_first(33), 40);
    assert_int_equal(staleness_bin_first(36), 64);
    assert_int_equal(staleness_bin_first(63), 7168);
    assert_int_equal(staleness_bin(UINT64_MAX), 63);
}

UNIT_MAIN("clocks")
