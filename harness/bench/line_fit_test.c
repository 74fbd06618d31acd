/* SPDX-License-Identifier: Apache-2.0 */
/* line_fit_test.c - lines through made-up times, by hand. */
#include "harness/base/suite/unit.h"
#include "harness/bench/line_fit.h"

#include <math.h>

enum { N = 12 };

#define assert_ratio(value, expected) assert_within(value, expected, 1e-9)

/* x[N] := 4, 16, ... 16 Mi; t_s[N] := 30 us + x at 125 MB/s. */
static void exact(double *x, double *t_s)
{
    for (int i = 0; i < N; i++) {
        x[i] = ldexp(4, 2 * i);
        t_s[i] = 30e-6 + x[i] * 8e-9;
    }
}

UNIT_TEST(exact_times_give_their_line)
{
    double x[N], t_s[N];

    exact(x, t_s);
    const struct line_fit fit = line_fit_of(x, t_s, N);
    assert_ratio(fit.intercept_s, 30e-6);
    assert_ratio(fit.slope_s, 8e-9);
    assert_true(fabs(fit.worst_ratio) < 1e-9);
    assert_ratio(line_fit_s(&fit, 1000), 38e-6);
    assert_ratio(line_fit_residual_ratio(&fit, 1000, 57e-6), 0.5);
}

/* Four of twelve are far off, and the line stays; a least-squares line would not, whatever its weights. */
UNIT_TEST(outliers_move_nothing)
{
    double x[N], t_s[N];

    exact(x, t_s);
    t_s[2] *= 5;
    t_s[5] *= 3;
    t_s[8] *= 0.2;
    t_s[10] *= 2;
    const struct line_fit fit = line_fit_of(x, t_s, N);
    assert_ratio(fit.intercept_s, 30e-6);
    assert_ratio(fit.slope_s, 8e-9);
    assert_ratio(fit.worst_ratio, 4);
    assert_int_equal(fit.worst, 2);
}

/* Sizes that a shaper lets pass at once (64 B to 64 KiB at ten times the rate) do not pass for the rate of long ones:
 * a line that is ten times too low is as wrong as one that is ten times too high. */
UNIT_TEST(bursts_are_not_the_rate)
{
    double x[N], t_s[N];

    exact(x, t_s);
    for (int i = 2; i < 8; i++)
        t_s[i] = 30e-6 + x[i] * 0.8e-9;
    const struct line_fit fit = line_fit_of(x, t_s, N);
    if (!(fabs(fit.slope_s / 8e-9 - 1) < 1e-3) || !(fabs(fit.intercept_s / 30e-6 - 1) < 0.02))
        fail_msg("%g s + %g s", fit.intercept_s, fit.slope_s);
}

/* Times that fall with the size, or rise faster than it: no negative rate, and no negative latency. */
UNIT_TEST(members_are_never_negative)
{
    static const double x[] = { 1, 2, 4, 8 }, falling_s[] = { 8, 7, 6, 5 }, steep_s[] = { 1, 4, 16, 64 };
    const struct line_fit level = line_fit_of(x, falling_s, 4), steep = line_fit_of(x, steep_s, 4);

    assert_true(level.slope_s == 0 && level.intercept_s >= 6 && level.intercept_s <= 7);
    assert_true(steep.intercept_s == 0 && steep.slope_s >= 2 && steep.slope_s <= 4);
}

UNIT_TEST(few_points_have_a_line)
{
    static const double x[] = { 4, 8 }, t_s[] = { 3, 5 };
    const struct line_fit one = line_fit_of(x, t_s, 1), two = line_fit_of(x, t_s, 2);

    assert_true(one.intercept_s == 0 && one.slope_s == 0.75);
    assert_true(two.intercept_s == 1 && two.slope_s == 0.5 && two.worst_ratio == 0);
}

UNIT_MAIN("line_fit")
