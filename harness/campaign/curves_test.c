/* SPDX-License-Identifier: Apache-2.0 */
/* curves_test.c - losses at equal places, of curves whose means were worked out by hand. */
#include "harness/campaign/curves.h"

#include "harness/campaign/suite/campaign_test_kit.h"

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * fabs(expected);
}

/* Losses 4, 2, 1, 1 after 2, 4, 8, 9 seconds, and 10, 30, 40, 60 samples. */
static double seconds[] = { 2, 4, 8, 9 }, samples[] = { 10, 30, 40, 60 }, loss[] = { 4, 2, 1, 1 };
static const struct curve curve = { 4, seconds, samples, loss };

static void a_mean_goes_straight_from_round_to_round_K1(void **state)
{
    static const struct {
        enum curve_axis axis;
        double from, to, mean;
    } CASES[] = {
        { CURVE_SECONDS, 2, 4, 3 },
        { CURVE_SECONDS, 2.5, 3, 3.25 },
        { CURVE_SECONDS, 3, 6, (1 * 2.5 + 2 * 1.75) / 3 },
        { CURVE_SECONDS, 3, 9, (1 * 2.5 + 4 * 1.5 + 1 * 1) / 6 },
        { CURVE_SECONDS, 8, 9, 1 },
        { CURVE_SAMPLES, 20, 40, (10 * 2.5 + 10 * 1.5) / 20 },
        { CURVE_SAMPLES, 35, 60, (5 * 1.25 + 20 * 1) / 25 },
        { CURVE_SECONDS, 0, 1, 4 }, /* before the first round */
        { CURVE_SECONDS, 0, 2, 4 },
        { CURVE_SECONDS, 1, 3, (1 * 4 + 1 * 3.5) / 2 }, /* and into the second */
        { CURVE_SAMPLES, 0, 30, (10 * 4 + 20 * 3) / 30.0 },
        { CURVE_SECONDS, 1.5, 1.5, 4 }, /* one place */
    };

    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const double mean = curve_mean(&curve, CASES[i].axis, CASES[i].from, CASES[i].to);
        if (!is_near(mean, CASES[i].mean))
            fail_msg("%s %g to %g: %.17g, not %.17g", curve_axis_name(CASES[i].axis), CASES[i].from, CASES[i].to, mean,
                     CASES[i].mean);
    }
}

static void a_loss_that_is_no_number_counts_where_it_is(void **state)
{
    double broken[] = { 4, 2, NAN, NAN };
    const struct curve k = { 4, seconds, samples, broken };

    (void)state;
    assert_true(is_near(curve_mean(&k, CURVE_SECONDS, 0, 4), (2 * 4 + 2 * 3) / 4.0));
    assert_true(isnan(curve_mean(&k, CURVE_SECONDS, 3, 4.5)));
    assert_true(isnan(curve_mean(&k, CURVE_SECONDS, 8, 9)));
}

/* Two rounds at one place, as those of asynchronous workers can be: no division by their distance. */
static void rounds_at_one_place(void **state)
{
    double at[] = { 1, 2, 2, 3 }, y[] = { 4, 4, 2, 2 };
    const struct curve k = { 4, at, at, y };

    (void)state;
    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 1, 3), 3));
    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 1.5, 2), 4));
    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 2, 2.5), 2));
}

/* From the earliest first round to the earliest last one; a launch without rounds has neither. */
static void all_curves_have_one_range_K2(void **state)
{
    double late[] = { 5, 7 }, y[] = { 1, 1 };
    struct curve many[] = { curve, { .n_points = 0 }, { 2, late, late, y } };
    const struct point p = { .curve = many, .n_curves = 3 }, q = { .curve = &many[2], .n_curves = 1 };
    struct curve_range r = CURVE_RANGE_NONE;

    (void)state;
    curve_range_add(&r, &q, CURVE_SECONDS);
    assert_true(r.first == 5 && r.last == 7);
    curve_range_add(&r, &p, CURVE_SECONDS);
    assert_true(r.first == 2 && r.last == 7);
    r = CURVE_RANGE_NONE;
    curve_range_add(&r, &p, CURVE_SAMPLES);
    assert_true(r.first == 5 && r.last == 7);
}

/* Without a gap from end to end; fine near 0 and nowhere wider than a hundredth. */
static void cells_fill_the_range_K3(void **state)
{
    static const struct curve_range RANGES[] = { { 1e-6, 1 }, { 5e-6, 0.04 },   { 100, 2e6 },
                                                 { 0, 3 },    { 1e-12, 1e6 },   { 0.9, 1.1 },
                                                 { 32, 96 },  { 1e6, 1e6 + 1 }, { 1, 1e300 } };

    (void)state;
    for (size_t i = 0; i < sizeof RANGES / sizeof *RANGES; i++) {
        const struct curve_range r = RANGES[i];
        const double whole = r.last - r.first;
        struct curve_cells c;
        curve_cells_make(&c, &r);
        assert_true(c.n >= 90 && c.n <= MAX_CURVE_CELLS);
        assert_true(c.edge[0] == r.first && c.edge[c.n] == r.last);
        for (size_t k = 0; k < c.n; k++) {
            const double width = c.edge[k + 1] - c.edge[k];
            if (!(width > 0 && width <= 0.0151 * whole && width <= 0.151 * c.edge[k] + 2e-6 * whole))
                fail_msg("%g to %g: cell %zu is [%g, %g]", r.first, r.last, k, c.edge[k], c.edge[k + 1]);
        }
    }
    struct curve_cells one;
    curve_cells_make(&one, &(struct curve_range){ 5, 5 });
    assert_true(one.n == 1 && one.edge[0] == 5 && one.edge[1] == 5);
}

static struct curve_spread of_losses(const double *last, size_t n)
{
    static double at[] = { 1, 3 };
    double y[5][2];
    struct curve k[5];

    for (size_t i = 0; i < n; i++) {
        y[i][0] = y[i][1] = last[i];
        k[i] = (struct curve){ 2, at, at, y[i] };
    }
    return point_losses(&(struct point){ .curve = k, .n_curves = n }, CURVE_SAMPLES, 1, 2);
}

/* Launches that diverged are above all others. */
static void the_median_and_the_ends_K4(void **state)
{
    struct curve_spread s = of_losses((const double[]){ 5, 1, 3 }, 3);

    (void)state;
    assert_true(s.median == 3 && s.low == 1 && s.high == 5);
    s = of_losses((const double[]){ 5, 1, 3, 9 }, 4);
    assert_true(s.median == 4 && s.low == 1 && s.high == 9);
    s = of_losses((const double[]){ 5, NAN, 3 }, 3);
    assert_true(s.median == 5 && s.low == 3 && isnan(s.high));
    s = of_losses((const double[]){ INFINITY, NAN, 3 }, 3);
    assert_true(isnan(s.median) && s.low == 3 && isnan(s.high));
    s = of_losses((const double[]){ NAN }, 1);
    assert_true(isnan(s.median) && isnan(s.low) && isnan(s.high));
    s = of_losses(NULL, 0);
    assert_true(isnan(s.median) && isnan(s.low) && isnan(s.high));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mean_goes_straight_from_round_to_round_K1),
        cmocka_unit_test(a_loss_that_is_no_number_counts_where_it_is),
        cmocka_unit_test(rounds_at_one_place),
        cmocka_unit_test(all_curves_have_one_range_K2),
        cmocka_unit_test(cells_fill_the_range_K3),
        cmocka_unit_test(the_median_and_the_ends_K4),
    };

    return cmocka_run_group_tests_name("curves", tests, NULL, NULL);
}
