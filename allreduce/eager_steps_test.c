/* SPDX-License-Identifier: Apache-2.0 */
/* eager_steps_test.c - bytes of a link that were worked out by hand. */
#include "allreduce/eager_steps.h"
#include "harness/base/suite/unit.h"

enum { N_RANKS = 4, N_STEPS = 6 };

static const struct eager_send nothing;

struct table {
    struct eager_send send[N_STEPS][N_RANKS]; /* step, rank */
};

static struct eager_send send_of(const void *arg, int rank, int step)
{
    const struct table *t = arg;

    return step < N_STEPS ? t->send[step][rank] : nothing;
}

static uint64_t bytes_of(const struct table *t)
{
    const struct eager_steps steps = { N_RANKS, N_STEPS, false, send_of, t };

    return eager_steps_bytes(&steps);
}

static uint64_t bytes_of_waiting(const struct table *t)
{
    const struct eager_steps steps = { N_RANKS, N_STEPS, true, send_of, t };

    return eager_steps_bytes(&steps);
}

UNIT_TEST(nothing_takes_nothing)
{
    const struct table t = { 0 };

    assert_int_equal(bytes_of(&t), 0);
}

UNIT_TEST(links_carry_both_ways_at_once)
{
    const struct table t = { .send[0] = { { 1, 1000 }, { 0, 1000 } } };

    assert_int_equal(bytes_of(&t), 1000);
}

UNIT_TEST(what_is_awaited_is_sent_on_afterwards)
{
    const struct table t = { .send[0][0] = { 1, 1000 }, .send[1][1] = { 2, 600 } };

    assert_int_equal(bytes_of(&t), 1600);
}

/* Rank 0 awaits nothing, and so sends what is of step 1 beside what rank 1 sends in step 0.
 * Regression: the predicted time was up to 1.8 times too short. */
UNIT_TEST(who_is_ahead_shares_the_link_of_the_receiver)
{
    const struct table t = { .send[0][1] = { 2, 1000 }, .send[1][0] = { 2, 10 }, .send[2][2] = { 3, 500 } };
    const struct table equal = { .send[0][1] = { 2, 1000 }, .send[1][0] = { 2, 1000 } };

    assert_int_equal(bytes_of(&t), 1510);
    assert_int_equal(bytes_of(&equal), 2000);
}

/* 1000 beside 3000 are there after 2000; what is sent on then takes 3000. One behind the other it would be 4000. */
UNIT_TEST(messages_share_the_link_of_the_sender)
{
    const struct table t = { .send[0][0] = { 1, 1000 }, .send[1][0] = { 2, 3000 }, .send[1][1] = { 3, 3000 } };

    assert_int_equal(bytes_of(&t), 5000);
}

/* 1000 and then 3000, with what rank 1 sends on as soon as it has the 1000. */
UNIT_TEST(messages_between_two_ranks_keep_their_order)
{
    const struct table t = { .send[0][0] = { 1, 1000 }, .send[1][0] = { 1, 3000 }, .send[2][1] = { 2, 10 } };
    const struct table ahead = { .send[0][0] = { 1, 1000 }, .send[1][0] = { 1, 1000 }, .send[1][1] = { 2, 2500 } };

    assert_int_equal(bytes_of(&t), 4010);
    assert_int_equal(bytes_of(&ahead), 3500);
}

/* A message of step 1 does not stand for that of step 0. */
UNIT_TEST(a_rank_waits_for_the_message_of_its_step)
{
    const struct table t = { .send[0] = { { 1, 4000 } },
                             .send[1] = { nothing, nothing, { 1, 100 } },
                             .send[2] = { nothing, { 3, 700 } } };

    assert_int_equal(bytes_of(&t), 4100 + 700);
}

/* Halving and doubling of 4000 bytes among 3, of which 0 and 1 are a pair. What 2 and 1 send to 0 arrives at 4000; 1
 * has half of its link for 2 until then, from 2000 on: at 5000. 0 sends to 2 and 1 from 4000 on, at half the rate until
 * 2 sends to 1, and so on. */
UNIT_TEST(three_ranks_halve_and_double)
{
    const struct table t = { .send[0] = { { 1, 2000 }, { 0, 2000 } },
                             .send[1] = { nothing, { 2, 2000 }, { 0, 2000 } },
                             .send[2] = { { 2, 2000 }, nothing, { 1, 2000 } },
                             .send[3] = { { 1, 2000 }, { 0, 2000 } } };

    assert_int_equal(bytes_of(&t), 11000);
}

/* Rank 0 sends to 2 when 1 has its own message, and 1 sends on meanwhile. */
UNIT_TEST(who_waits_sends_one_message_after_the_other)
{
    const struct table t = { .send[0][0] = { 1, 1000 }, .send[1][0] = { 2, 1000 }, .send[1][1] = { 3, 1000 } };

    assert_int_equal(bytes_of_waiting(&t), 2000);
    assert_int_equal(bytes_of(&t), 3000);
}

UNIT_MAIN("eager_steps")
