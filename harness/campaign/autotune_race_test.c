/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_race_test.c - races of made-up times: who is dropped, who wins, how wide an interval is. */
#include <math.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/campaign/autotune.h"

static void assert_near(double is, double wanted, double error)
{
    if (!(fabs(is - wanted) <= error))
        fail_msg("is %.9g, not %.9g", is, wanted);
}

/* A round of three arms, of which those in the race have these times. */
static void add_round(struct race *r, double first, double second, double third)
{
    const double s[] = { first, second, third };

    for (int a = 0; a < r->n_arms; a++)
        r->step_s[a][r->n_rounds] = s[a];
    race_end_round(r);
}

/* Ratios of an arm are exp(0.1), exp(0.2), exp(0.3): mean 0.2, sd 0.1; t of 0.05 / 5 and 2 degrees is 9.92484. */
UNIT_TEST(interval_is_that_of_all_comparisons)
{
    struct race r;

    race_init(&r, 2, 5, 5);
    add_round(&r, exp(0.1), 1, 0);
    assert_near(r.verdict[1].ratio, exp(0.1), 1e-12);
    assert_true(r.verdict[1].ratio_low == 0 && isinf(r.verdict[1].ratio_high)); /* of one pair */
    add_round(&r, exp(0.2), 1, 0);
    add_round(&r, 3 * exp(0.3), 3, 0);
    assert_near(log(r.verdict[1].ratio), 0.2, 1e-12);
    assert_near(log(r.verdict[1].ratio_low), 0.2 - 9.92484 * 0.1 / sqrt(3), 1e-4);
    assert_near(log(r.verdict[1].ratio_high), 0.2 + 9.92484 * 0.1 / sqrt(3), 1e-4);
}

/* A machine that becomes slower under all of them hides nothing. */
UNIT_TEST(fastest_of_those_that_are_faster)
{
    struct race r;

    race_init(&r, 3, 5, 2);
    for (int i = 0; i < 5; i++) {
        assert_true(race_goes_on(&r));
        assert_int_equal(race_winner(&r), 0); /* not before the last round */
        add_round(&r, (1 + i) * 1.30, (1 + i) * (1.1 + 0.001 * i), (1 + i) * (1.2 + 0.001 * i));
    }
    assert_false(race_goes_on(&r));
    assert_int_equal(race_winner(&r), 1);
}

UNIT_TEST(not_shown_is_not_enough)
{
    struct race r;

    race_init(&r, 2, 5, 1);
    for (int i = 0; i < 5; i++) /* faster by a fifth in the mean, but now one and now the other */
        add_round(&r, 1, i % 2 ? 1.1 : 0.7, 0);
    assert_true(r.verdict[1].ratio > 1.1 && r.verdict[1].ratio_low < 1);
    assert_int_equal(race_winner(&r), 0);
    /* alone an arm is faster, as one of 40 it is not */
    for (int m = 1; m <= 40; m += 39) {
        race_init(&r, 2, 5, m);
        for (int i = 0; i < 5; i++)
            add_round(&r, 1, 0.94 + 0.02 * i, 0); /* 0.98 in the mean */
        const bool alone = r.verdict[1].ratio_low > 1;
        assert_false(alone);
        race_init(&r, 2, 5, m);
        for (int i = 0; i < 5; i++)
            add_round(&r, 1, 0.91 + 0.02 * i, 0); /* 0.95, sd 0.033: p 0.03 */
        assert_int_equal(race_winner(&r), m == 1 ? 1 : 0);
    }
}

/* An interval above 1, by less than is worth a change. */
UNIT_TEST(nothing_to_speak_of_is_no_reason)
{
    struct race r;

    race_init(&r, 2, 5, 1);
    for (int i = 0; i < 5; i++)
        add_round(&r, 1.004, 1, 0);
    assert_true(r.verdict[1].ratio_low > 1);
    assert_int_equal(race_winner(&r), 0);
}

UNIT_TEST(slower_arms_leave)
{
    struct race r;

    race_init(&r, 3, 8, 2);
    for (int i = 0; i < 3; i++)
        add_round(&r, 1, 1.5 + 0.01 * i, i == 1 ? 1.2 : 1);
    assert_true(r.is_out[1] && !r.is_out[2]);
    assert_int_equal(r.out_after[1], 3);
    const double ratio = r.verdict[1].ratio;
    add_round(&r, 1, 0.1, 1.1); /* what it would do later is not looked at */
    assert_near(r.verdict[1].ratio, ratio, 0);
    assert_true(race_goes_on(&r));
    for (int i = 0; i < 3; i++)
        add_round(&r, 1, 0.1, 1.3);
    assert_true(r.is_out[2]);
    assert_false(race_goes_on(&r)); /* nobody is left to compare with */
    assert_int_equal(race_winner(&r), 0);
}

/* J1: every arm has every round one turn, and no arm always the same. */
UNIT_TEST(turns_change)
{
    int at_turn[3][3] = { { 0 } };
    struct race r;

    race_init(&r, 3, 12, 2);
    for (int round = 0; round < 6; round++) {
        int seen = 0;
        for (int turn = 0; turn < 3; turn++) {
            seen |= 1 << race_arm_of_turn(&r, turn);
            at_turn[race_arm_of_turn(&r, turn)][turn]++;
        }
        assert_int_equal(seen, 7);
        add_round(&r, 1, 1, 1);
    }
    for (int a = 0; a < 3; a++)
        for (int turn = 0; turn < 3; turn++)
            assert_int_equal(at_turn[a][turn], 2);
}

/* Where nothing differs, of 1000 searches with 16 candidates each at most about 50 leave their default. */
UNIT_TEST(false_alarms_are_rare)
{
    enum { N_SEARCHES = 1000, N_CANDIDATES = 16 };
    int n_left = 0;
    struct race r;

    for (uint64_t k = 0; k < N_SEARCHES; k++) {
        race_init(&r, 1 + N_CANDIDATES, 5, N_CANDIDATES);
        while (race_goes_on(&r)) {
            for (int a = 0; a < r.n_arms; a++) {
                const uint64_t i = (uint64_t)(r.n_rounds * RACE_MAX_ARMS + a);
                r.step_s[a][r.n_rounds] = exp(0.05 * rng_normal(k, RNG_TEST, i));
            }
            race_end_round(&r);
        }
        n_left += race_winner(&r) != 0;
    }
    if (n_left > 50)
        fail_msg("%d of %d searches left a default for nothing", n_left, N_SEARCHES);
    if (n_left < 3)
        fail_msg("%d of %d: this is no test of 5 %%", n_left, N_SEARCHES);
}

UNIT_MAIN("autotune_race")
