/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_timing_test.c - the least time of a step of a pipeline, of stages whose steps are known by formula or by hand.
 *
 * usage: stage_timing_test
 */
#include <math.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "models/engine/stage.h"

enum { MOST = 8 };

static double period_of(const struct stage_times *times, enum stage_schedule schedule, int n_stages, size_t n)
{
    double period_s = -1;

    assert_int_equal(stage_least_period(&period_s, times, schedule, n_stages, n), RC_OK);
    return period_s;
}

/* Of steps without tails: the first stage, whose last backward is the last of all, begins the next step at once. */
static double step_of(const struct stage_times *times, enum stage_schedule schedule, int n_stages, size_t n)
{
    struct stage_times alone[MOST];

    for (int i = 0; i < n_stages; i++) {
        alone[i] = times[i];
        alone[i].tail_s = 0;
    }
    return period_of(alone, schedule, n_stages, n);
}

#define assert_near(value, expected) assert_within(value, expected, 1e-9)

/* (M + S - 1) (f + b), of which the bubble is (S - 1) / (M + S - 1). */
UNIT_TEST(equal_stages_have_the_published_bubble)
{
    struct stage_times times[MOST];

    for (int i = 0; i < MOST; i++)
        times[i] = (struct stage_times){ .forward_s = 2, .backward_s = 5 };
    for (int S = 1; S <= MOST; S++)
        for (size_t M = 1; M <= 20; M += 3)
            for (int k = 0; k < 2; k++) {
                const double step_s = step_of(times, k == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B, S, M);
                assert_near(step_s, 7.0 * (double)(M + (size_t)S - 1));
                assert_near(1 - 7.0 * (double)M / step_s + 1, stage_bubble_ratio(S, M) + 1);
            }
    assert_near(stage_bubble_ratio(4, 4), 3.0 / 7);
}

/* The slowest stage decides; those beside it fill and drain. */
UNIT_TEST(the_slowest_stage_decides)
{
    const struct stage_times times[] = { { .forward_s = 1, .backward_s = 2 },
                                         { .forward_s = 10, .backward_s = 20 },
                                         { .forward_s = 1, .backward_s = 2 } };
    /* it turns when the last stage has, and drains by 2 */
    assert_near(step_of(times, SCHEDULE_GPIPE, 3, 8), 1 + 8 * 10 + (1 + 2) + 8 * 20 + 2);
    assert_near(period_of(times, SCHEDULE_GPIPE, 3, 8), 246); /* the first stage ends last, and begins first */
}

/* Two stages, two micro-batches, f = b = 10, links of latency 1 and 2 a tensor, worked out by hand:
 *   gpipe  F00 0-10 F01 10-20 | value 0 at 13, 1 at 23 | F10 13-23 F11 23-33 B10 33-43 B11 43-53 | grad 0 at 46, 1 at
 *          56 | B00 46-56 B01 56-66
 *   1f1b   stage 1 holds one: F10 13-23 B10 23-33 F11 33-43 B11 43-53 | grad 0 at 36, 1 at 56 | B00 36-46 B01 56-66 */
UNIT_TEST(links_are_on_the_path)
{
    const struct stage_times times[] = { { 10, 10, 1, 2, 0 }, { 10, 10, 0, 0, 0 } };

    assert_near(step_of(times, SCHEDULE_GPIPE, 2, 2), 66);
    assert_near(step_of(times, SCHEDULE_1F1B, 2, 2), 66);
}

/* A link that is slower than a stage: tensors are one behind the other on it, latency apart. M = 3, f = 1, b = 1, 10 a
 * tensor: values arrive at 12, 22, 32; backward from 33 on, gradients arrive at 45, 55, 65; then 1. */
UNIT_TEST(a_slow_link_carries_one_tensor_at_a_time)
{
    const struct stage_times times[] = { { 1, 1, 1, 10, 0 }, { 1, 1, 0, 0, 0 } };

    assert_near(step_of(times, SCHEDULE_GPIPE, 2, 3), 66);
}

/* The middle one of three passes values on and gradients back, 4 each. M = 2, f = b = 1, all forward:
 *   values reach it at 5 and 9, 6-7 and 9-10 computed (5-6, 9-10); it sends at 6 and 10, there at 10 and 14; the last
 *   computes 10-11, 14-15 forward, 15-16, 16-17 backward, whose gradients are there at 20 and 24; it computes 20-21 and
 *   24-25, sends 21-25 and 25-29: the first stage ends at 30. With 1f1b it holds two of two: the last computes 10-11,
 *   11-12 back, there at 16; 14-15, 15-16, there at 20; the middle one 16-17 and 20-21; 21 and 25; 26. */
UNIT_TEST(a_stage_passes_on_both_ways)
{
    const struct stage_times times[] = { { 1, 1, 0, 4, 0 }, { 1, 1, 0, 4, 0 }, { 1, 1, 0, 0, 0 } };

    assert_near(step_of(times, SCHEDULE_GPIPE, 3, 2), 30);
    assert_near(step_of(times, SCHEDULE_1F1B, 3, 2), 26);
}

/* Two stages of 1 + 1, of four micro-batches: a step of 10. The first stage exchanges for 3: nobody begins the next
 * before. The second one ends 1 before the first, and begins 1 behind it, so that 2 of what it exchanges are hidden,
 * and what the first stage has sent meanwhile is there: with all forward first, the rest of its forwards need no wait.
 */
UNIT_TEST(exchanges_of_stages_hide_behind_others)
{
    struct stage_times times[] = { { 1, 1, 0, 0, 3 }, { 1, 1, 0, 0, 0 } };

    assert_near(step_of(times, SCHEDULE_GPIPE, 2, 4), 10);
    assert_near(period_of(times, SCHEDULE_GPIPE, 2, 4), 13);
    times[0].tail_s = 0;
    times[1].tail_s = 2;
    assert_near(period_of(times, SCHEDULE_GPIPE, 2, 4), 10);
    times[1].tail_s = 5;
    assert_near(period_of(times, SCHEDULE_GPIPE, 2, 4), 8 + 5);
}

/* 1F1B holds no micro-batch more than it must, so that what it waits for the links cannot be hidden: with three and
 * more it is behind GPipe. f = b = 1, 1 a tensor: period of stage 0 of two, which holds two, 2 (1 + 1) + 2 for both. */
UNIT_TEST(one_forward_one_backward_waits_for_links)
{
    const struct stage_times times[] = { { 1, 1, 0, 1, 0 }, { 1, 1, 0, 0, 0 } };
    const size_t M = 100;

    const double longer_s = step_of(times, SCHEDULE_1F1B, 2, M) - step_of(times, SCHEDULE_1F1B, 2, M - 2);
    assert_near(longer_s, 2 * 2 + 2);
    assert_near(step_of(times, SCHEDULE_GPIPE, 2, M) - step_of(times, SCHEDULE_GPIPE, 2, M - 2), 2 * 2);
}

UNIT_MAIN("stage_timing")
