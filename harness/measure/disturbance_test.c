/* SPDX-License-Identifier: Apache-2.0 */
/* disturbance_test.c - what others took of hosts whose figures were worked out by hand. */
#include <math.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/steady.h"

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

static void assert_is(const struct disturbance *d, const struct disturbance *expected)
{
    assert_near(d->steal_ratio, expected->steal_ratio);
    assert_near(d->others_cores, expected->others_cores);
    assert_near(d->taken_ratio, expected->taken_ratio);
    assert_near(d->taken_limit_ratio, expected->taken_limit_ratio);
    assert_near(d->frequency_hz, expected->frequency_hz);
}

/* 3.5 cores busy, of which the run's processes use 1.9: others 1.6; 5 % of 4 cores are 0.2 stolen ones; 1.8 of the 2
 * that the run uses. In 2 s three times 0.02 s of 2 x 2 s are the grain: 0.015. */
UNIT_TEST(what_others_took)
{
    static const struct {
        struct window_load host;
        double own_cores;
        int n_used_cores;
        struct disturbance expected;
        const char *word;
    } known[] = {
        { { 2, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 2, { 0.05, 1.6, 0.9, 0.115, 3e9 }, "yes" },
        { { 2, 0.7, 4, 1.9, 0, NAN }, 1.9, 1, { 0, 0, 0, 0.12, NAN }, "no" },
        { { 2, 0.7, 4, 1.5, 0.01, NAN }, 1.9, 4, { 0.01, 0, 0.01, 0.1125, NAN }, "no" }, /* measure.D1 */
        { { 0.1, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 4, { 0.05, 1.6, 0.45, 0.35, 3e9 }, "yes" },
        { { 0.099, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 4, { NAN, NAN, NAN, NAN, NAN }, "not_known" }, /* measure.D3 */
        { { 2, 0.7, 0, 3.5, 0.05, 3e9 }, 1.9, 2, { NAN, NAN, NAN, NAN, NAN }, "not_known" },
        { { 2, 0.7, 4, NAN, 0.05, 3e9 }, 1.9, 2, { 0.05, NAN, NAN, 0.115, 3e9 }, "not_known" }, /* measure.D4 */
        { { 2, 0.7, 4, 3.5, NAN, 3e9 }, 1.9, 2, { NAN, 1.6, NAN, 0.115, 3e9 }, "not_known" },
        { { 2, 0.7, 4, 3.5, 0.05, 3e9 }, NAN, 2, { 0.05, NAN, NAN, 0.115, 3e9 }, "not_known" },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct disturbance d = disturbance_of_host(&known[i].host, known[i].own_cores, known[i].n_used_cores);
        assert_is(&d, &known[i].expected);
        assert_string_equal(disturbance_word(&d), known[i].word);
        assert_int_equal(disturbance_is_too_much(&d), known[i].word[0] == 'y');
    }
}

/* What is at the limit is not beyond it. */
UNIT_TEST(the_limit_itself_is_quiet)
{
    struct disturbance d = { 0, 0.2, 0.1, 0.1, NAN };

    assert_string_equal(disturbance_word(&d), "no");
    d.taken_ratio = nextafter(0.1, 1);
    assert_string_equal(disturbance_word(&d), "yes");
}

/* Each figure is the worse one; of taken, the host that is farther beyond its limit, though more is taken of the other.
 */
UNIT_TEST(the_worse_of_two_hosts)
{
    static const struct disturbance a = { 0.01, 2, 0.5, 0.45, 2e9 }, b = { 0.02, 1, 0.3, 0.11, 3e9 },
                                    worse = { 0.02, 2, 0.3, 0.11, 2e9 };
    struct disturbance d = disturbance_worse(&a, &b);

    assert_is(&d, &worse);
    d = disturbance_worse(&b, &a);
    assert_is(&d, &worse);
    d = disturbance_worse(&a, &DISTURBANCE_NOT_KNOWN);
    assert_is(&d, &a);
    d = disturbance_worse(&DISTURBANCE_NOT_KNOWN, &a);
    assert_is(&d, &a);
    d = disturbance_worse(&DISTURBANCE_NOT_KNOWN, &DISTURBANCE_NOT_KNOWN);
    assert_is(&d, &DISTURBANCE_NOT_KNOWN);
}

UNIT_TEST(it_is_told)
{
    static const struct disturbance d = { 0.0123, 0.834, 0.434, 0.116, 2e9 };
    char text[160];

    disturbance_text(text, sizeof text, &d);
    assert_string_equal(
        text, "other programs used 0.83 cores, steal was 1.2 %: together 43 % of this run's cores (at most 12 % "
              "is allowed)");
}

/* Splits and lines worked out by hand, and how often either is seen where there is none. */

static void assert_level(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * (1 + fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

/* Between 2 6 and 10 12 14: levels 4 and 12, squares 8 + 8. t = 8 / sqrt(16 / 3 (1 / 2 + 1 / 3)) = 3.795 of 3 degrees,
 * which chance exceeds in 3.2 % of cases. */
UNIT_TEST(the_best_split)
{
    const double y[] = { 2, 6, 10, 12, 14 };
    const struct level_shift s = level_shift_find(y, 5);

    assert_int_equal(s.index, 2);
    assert_level(s.before, 4);
    assert_level(s.after, 12);
    assert_level(s.squares, 16);
    assert_false(s.is_significant);
}

/* Pooled variance 8 d^2 / 6; of the difference of levels (1 / 4 + 1 / 4) of it; 6 degrees, 7 places: 1 % is reached
 * at p = 0.01 / 7, t = 5.5632. */
UNIT_TEST(significance_has_a_price_for_each_place)
{
    for (int is_less = 0; is_less < 2; is_less++) {
        const double t = is_less ? 5.55 : 5.58, d = sqrt(1.5) / t;
        double y[8];

        for (int i = 0; i < 8; i++)
            y[i] = (i >= 4) + (i % 2 ? d : -d);
        assert_int_equal(level_shift_find(y, 8).index, 4);
        assert_int_equal(level_shift_find(y, 8).is_significant, !is_less);
    }
}

UNIT_TEST(without_any_deviation)
{
    const double step[] = { 3, 3, 5, 5, 5 }, equal[] = { 0.1, 0.1, 0.1, 0.1 }, two[] = { 1, 9 };
    const struct level_shift s = level_shift_find(step, 5);

    assert_int_equal(s.index, 2);
    assert_level(s.squares, 0);
    assert_true(s.is_significant);
    assert_false(level_shift_find(equal, 4).is_significant);
    assert_false(line_find(equal, 4).is_significant);
    assert_false(level_shift_find(two, 2).is_significant);
    assert_int_equal(level_shift_find(two, 2).index, 0);
    assert_false(line_find(two, 2).is_significant);
    assert_level(line_find(two, 2).rise, 0);
}

/* 1 2 4 5 7: slope 1.5, mean 3.8, residuals 0.2 -0.3 0.2 -0.3 0.2. */
UNIT_TEST(the_line)
{
    const double y[] = { 1, 2, 4, 5, 7 }, wild[] = { 1, 5, 1, 6, 2 };

    assert_level(line_find(y, 5).rise, 7.5);
    assert_level(line_find(y, 5).squares, 0.3);
    assert_true(line_find(y, 5).is_significant);
    assert_false(line_find(wild, 5).is_significant);
    assert_level(line_find(wild, 5).rise, 1.5); /* slope 0.3 */
}

/* Bonferroni never exceeds its 1 %, nor may it be so careful that it sees nothing. */
UNIT_TEST(false_alarms)
{
    enum { N_SERIES = 4000 };

    for (size_t n = 8; n <= 40; n += 16) {
        int n_shifts = 0, n_lines = 0, n_found = 0;

        for (uint64_t seed = 0; seed < N_SERIES; seed++) {
            double y[40];

            for (size_t i = 0; i < n; i++)
                y[i] = rng_normal(seed, RNG_TEST, i + 100 * n);
            n_shifts += level_shift_find(y, n).is_significant;
            n_lines += line_find(y, n).is_significant;
            for (size_t i = n / 2; i < n; i++)
                y[i] += 6;
            n_found += level_shift_find(y, n).is_significant;
        }
        print_message("%zu values: of %d series %d shifts, %d lines; %d of as many shifts found\n", n, N_SERIES,
                      n_shifts, n_lines, n_found);
        assert_in_range(n_shifts, N_SERIES / 1000, N_SERIES / 80); /* at most 1 %, and two deviations of the count */
        assert_in_range(n_lines, N_SERIES / 200, N_SERIES / 60);   /* 1 % */
        assert_true(n_found >= N_SERIES * 9 / 10);
    }
}

UNIT_MAIN("disturbance")
