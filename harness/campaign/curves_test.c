/* SPDX-License-Identifier: Apache-2.0 */
/* curves_test.c - losses at equal places, of curves whose means were worked out by hand. */
#include "harness/campaign/curves.h"
#include "harness/campaign/suite/campaign_test_kit.h"

static bool is_near(double value, double expected)
{
    return fabs(value - expected) <= 1e-12 * fabs(expected);
}

/* Losses 4, 2, 1, 1 after 2, 4, 8, 9 seconds, and 10, 30, 40, 60 samples. */
static double falling_seconds[] = { 2, 4, 8, 9 }, falling_samples[] = { 10, 30, 40, 60 },
              falling_loss[] = { 4, 2, 1, 1 };
static const struct curve falling = { 4, falling_seconds, falling_samples, falling_loss };

UNIT_TEST(a_mean_goes_straight_from_round_to_round_K1)
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

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const double mean = curve_mean(&falling, CASES[i].axis, CASES[i].from, CASES[i].to);
        if (!is_near(mean, CASES[i].mean))
            fail_msg("%s %g to %g: %.17g, not %.17g", curve_axis_name(CASES[i].axis), CASES[i].from, CASES[i].to, mean,
                     CASES[i].mean);
    }
}

UNIT_TEST(a_loss_that_is_no_number_counts_where_it_is)
{
    double broken[] = { 4, 2, NAN, NAN };
    const struct curve k = { 4, falling_seconds, falling_samples, broken };

    assert_true(is_near(curve_mean(&k, CURVE_SECONDS, 0, 4), (2 * 4 + 2 * 3) / 4.0));
    assert_true(isnan(curve_mean(&k, CURVE_SECONDS, 3, 4.5)));
    assert_true(isnan(curve_mean(&k, CURVE_SECONDS, 8, 9)));
}

/* Two rounds at one place, as those of asynchronous workers can be: no division by their distance. */
UNIT_TEST(rounds_at_one_place)
{
    double at[] = { 1, 2, 2, 3 }, y[] = { 4, 4, 2, 2 };
    const struct curve k = { 4, at, at, y };

    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 1, 3), 3));
    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 1.5, 2), 4));
    assert_true(is_near(curve_mean(&k, CURVE_SAMPLES, 2, 2.5), 2));
}

/* From the earliest first round to the earliest last one; a launch without rounds has neither. */
UNIT_TEST(all_curves_have_one_range_K2)
{
    double late[] = { 5, 7 }, y[] = { 1, 1 };
    struct curve many[] = { falling, { .n_points = 0 }, { 2, late, late, y } };
    const struct point p = { .curve = many, .n_curves = 3 }, q = { .curve = &many[2], .n_curves = 1 };
    struct curve_range r = CURVE_RANGE_NONE;

    curve_range_add(&r, &q, CURVE_SECONDS);
    assert_true(r.first == 5 && r.last == 7);
    curve_range_add(&r, &p, CURVE_SECONDS);
    assert_true(r.first == 2 && r.last == 7);
    r = CURVE_RANGE_NONE;
    curve_range_add(&r, &p, CURVE_SAMPLES);
    assert_true(r.first == 5 && r.last == 7);
}

/* Without a gap from end to end; fine near 0 and nowhere wider than a hundredth. */
UNIT_TEST(cells_fill_the_range_K3)
{
    static const struct curve_range RANGES[] = { { 1e-6, 1 }, { 5e-6, 0.04 },   { 100, 2e6 },
                                                 { 0, 3 },    { 1e-12, 1e6 },   { 0.9, 1.1 },
                                                 { 32, 96 },  { 1e6, 1e6 + 1 }, { 1, 1e300 } };

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
UNIT_TEST(the_median_and_the_ends_K4)
{
    struct curve_spread s = of_losses((const double[]){ 5, 1, 3 }, 3);

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

/*
 * The time to the target loss, of campaigns whose every figure was worked out by hand; intervals as in
 * verdict_test.c. Launches need samples/s x seconds to the target samples for it, as many in each launch of a point.
 */

#define DECLARED                                                                                                      \
    "The time to the target loss is compared by a fixed rule: each mode at its largest worker count with a core for " \
    "every "                                                                                                          \
    "worker, against one worker alone.\n"

enum { MAX_POINTS = 6 };

static const struct target_case {
    bool is_virtual;
    struct made_point point[MAX_POINTS]; /* without a model: the end */
    double rate[MAX_POINTS];             /* learning rate of each; 0: not known */
    const char *text;
} CASES[] = {
    { false, /* 8000 samples alone, 10000 together, each at twice the throughput: 2 / 1.25 */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 }, { "lenet", "allreduce", 2, 0, 3, 2000, 1.01, 5, 2 } },
      { 0.1, 0.1 },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 8 s alone: sooner (1.60 x, 95 %: 1.53 to 1.67), of "
      "which throughput 2.00 x and samples needed 1.25 x; allreduce makes one update a round, of the mean of 2 "
      "gradients, at rate 0.1.\n" DECLARED },
    { false, /* 4000 samples alone, 15200 together: 1.9 / 3.8 */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { "lenet", "ps", 2, 1, 3, 1900, 1.01, 8, 2 } },
      { 0.1, 0.2 },
      "lenet: target loss after 8 s with ps, 2 workers, and 4 s alone: later (0.50 x, 95 %: 0.48 to 0.52), of which "
      "throughput 1.90 x and samples needed 3.80 x; ps makes 2 updates a round, each of one worker's gradient, at rate "
      "0.2 (alone 0.1).\n" DECLARED },
    { false, /* where as many samples are needed, the updates are not to blame */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { "lenet", "ps", 2, 1, 3, 1000, 1.01, 4, 2 } },
      { 0.1, 0.1 },
      "lenet: target loss after 4 s with ps, 2 workers, and 4 s alone: cannot tell which is sooner (1.00 x, 95 %: 0.96 "
      "to 1.04), of which throughput 1.00 x and samples needed 1.00 x.\n" DECLARED },
    { true, /* not the best of them, which has 4 workers: the largest */
      { { "lenet", "none", 16, 0, 1, 1000, 1, 1, 1 },
        { "lenet", "single", 1, 0, 1, 1000, 1, 8, 2 },
        { "lenet", "allreduce", 1, 0, 1, 1000, 1, 2, 3 },
        { "lenet", "allreduce", 2, 0, 1, 2000, 1, 6, 4 },
        { "lenet", "allreduce", 8, 0, 1, 8000, 1, 5, 6 },
        { "lenet", "allreduce", 4, 0, 1, 4000, 1, 4, 5 } },
      { 0 },
      "lenet: target loss after 5 s with allreduce, 8 workers, and 8 s alone: 1.60 x, of which throughput 8.00 x and "
      "samples needed 5.00 x; allreduce makes one update a round, of the mean of 8 gradients.\n" DECLARED },
    { false, /* nor one that has no core for every worker; each mode has its line, and its verdict */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 },
        { "lenet", "allreduce", 4, 0, 3, 9999, 1.01, 1, 2 },
        { "lenet", "allreduce", 2, 0, 3, 1000, 1.01, 4, 3 },
        { "lenet", "ps", 2, 1, 3, 1000, 1.01, 16, 5 } },
      { 0 },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "lenet, 2 workers: ps runs 1 server on the workers' cores; --workers 1,2 would compare them at 2 cores each.\n"
      "lenet: target loss after 4 s with allreduce, 2 workers, and 8 s alone: sooner (2.00 x, 95 %: 1.92 to 2.09), of "
      "which throughput 1.00 x and samples needed 0.50 x; allreduce makes one update a round, of the mean of 2 "
      "gradients.\n"
      "lenet: target loss after 16 s with ps, 2 workers, and 8 s alone: later (0.50 x, 95 %: 0.48 to 0.52), of which "
      "throughput 1.00 x and samples needed 2.00 x; ps makes 2 updates a round, each of one worker's "
      "gradient.\n" DECLARED "Of 3 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval "
      "alone is a 95 % interval, over pairs of launches in the same block.\n" },
    { true, /* small ratios keep their digits */
      { { "lenet", "single", 1, 0, 1, 1000, 1, 0.02, 1 }, { "lenet", "allreduce", 2, 0, 1, 1000, 1, 5, 2 } },
      { 0 },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 0.02 s alone: 0.004 x, of which throughput 1.00 x "
      "and samples needed 250.00 x; allreduce makes one update a round, of the mean of 2 gradients.\n" DECLARED },
    { true, /* never reached by several workers; by one; by a mode that is not the line's; by nobody */
      { { "lenet", "single", 1, 0, 1, 1000, 1, 8, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      { 0 },
      "lenet: target loss reached in 0 of 1 launch with allreduce, 2 workers, and in 1 of 1 alone: no "
      "verdict.\n" DECLARED },
    { false,
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, NAN, 1 }, { "lenet", "allreduce", 2, 0, 3, 2000, 1.01, 5, 2 } },
      { 0 },
      "lenet: target loss reached in 3 of 3 launches with allreduce, 2 workers, and in 0 of 3 alone: no "
      "verdict.\n" DECLARED },
    { true,
      { { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 1 },
        { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 },
        { "lenet", "none", 2, 0, 1, NAN, 1, 5, 2 } },
      { 0 },
      "lenet: target loss reached in 0 of 1 launch with allreduce, 2 workers, and in 0 of 1 alone: no "
      "verdict.\n" DECLARED },
    { true,
      { { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      { 0 },
      "" },
    { true, /* nothing to compare with: no launch of one worker */
      { { "lenet", "single", 1, 0, 0, 1000, 1, 8, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, 5, 2 } },
      { 0 },
      "" },
};

static void assert_verdict(const struct campaign *c, const char *expected)
{
    char *text = made_text(c, campaign_verdict);

    assert_string_equal(text, expected);
    free(text);
}

KIT_TEST(what_is_told_of_the_target)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct campaign c;
        size_t n_points = 0;
        while (n_points < MAX_POINTS && CASES[i].point[n_points].model)
            n_points++;
        made_open(&c, *state, CASES[i].point, n_points, CASES[i].is_virtual);
        for (size_t p = 0; p < n_points; p++)
            c.point[p].learning_rate = CASES[i].rate[p] > 0 ? CASES[i].rate[p] : NAN;
        assert_verdict(&c, CASES[i].text);
        campaign_close(&c);
    }
}

/* Launches that did not reach the target are counted; what is told of the others is of the blocks in which both did,
 * and no verdict: here blocks 0 and 2, 2 x and 8 x, with 1 x and 2 x the samples. */
KIT_TEST(some_launches_did_not_reach_it)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1000, 1.01, 8, 2 } };
    static const double seconds[2][3] = { { 8, 8, 8 }, { 4, NAN, 1 } },
                        samples[2][3] = { { 100, 100, 100 }, { 100, NAN, 200 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 3; i++) {
            c.point[p].launch[i].seconds_to_target_s = seconds[p][i];
            c.point[p].launch[i].samples_to_target_count = samples[p][i];
        }
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 3 of 3 alone: no "
                       "verdict; in the 2 blocks where both did: 4.00 x, of which throughput 5.66 x and samples needed "
                       "1.41 x; ps makes 2 updates a round, each of one worker's gradient.\n" DECLARED);
    c.point[0].launch[0].seconds_to_target_s = NAN;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes 2 updates a round, each of one worker's gradient.\n" DECLARED);
    c.point[1].lowers_stale = true;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes 2 updates a round, each of one worker's gradient, over its "
                       "staleness.\n" DECLARED);
    c.point[1].lowers_stale = false;
    c.point[1].n_averaged = 2;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes one update a round, of the mean of 2 gradients.\n" DECLARED);
    campaign_close(&c);
}

/* J3: whatever the launches, the split is of the whole ratio; records of before there were samples have no split. */
KIT_TEST(the_split_is_exact)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 3, 1000, 1.3, 8, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1700, 1.1, 5, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (int i = 0; i < 3; i++)
        c.point[1].launch[i].samples_to_target_count *= 1 + i;
    struct target_split s = target_split(&c.point[1], &c.point[0]);
    assert_int_equal(s.n_pairs, 3);
    assert_true(fabs(s.sooner_ratio - 1.6) < 1e-12);
    assert_true(fabs(s.samples_ratio - 8500.0 / 8000 * cbrt(6)) < 1e-12);
    assert_true(fabs(s.rate_ratio / s.samples_ratio - s.sooner_ratio) < 1e-12);
    c.point[1].launch[1].samples_to_target_count = NAN;
    s = target_split(&c.point[1], &c.point[0]);
    assert_true(fabs(s.sooner_ratio - 1.6) < 1e-12 && isnan(s.samples_ratio) && isnan(s.rate_ratio));
    campaign_close(&c);
}

/* A point's rate is the one of the last step of a launch. */
KIT_TEST(the_rate_is_read)
{
    struct kit *k = *state;
    struct campaign c;
    char path[KIT_PATH_BYTES];

    made_open(&c, k, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    assert_true(isnan(p->learning_rate));
    assert_true(kit_write(k, "one",
                          "{\"kind\":\"step\",\"learning_rate\":0.25}\n{\"kind\":\"step\",\"learning_rate\":"
                          "0.5}\n{\"kind\":\"summary\"}\n"));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(&c, p, 0, path), RC_OK);
    assert_true(p->learning_rate == 0.5);
    campaign_close(&c);
}

/* Losses of equal samples, of curves whose means were worked out by hand. */

/* Of a straight descent, 10 less a hundredth of the samples, the mean over the last tenth of S samples is that at 0.95
 * S, however far apart the rounds are that were recorded: workers do not matter. */
UNIT_TEST(a_straight_line_is_the_same_in_any_rounds)
{
    static const double apart[] = { 1, 7, 32, 64, 256 };

    for (size_t k = 0; k < sizeof apart / sizeof *apart; k++) {
        double samples[1000], loss[1000];
        for (int i = 0; i < 1000; i++) {
            samples[i] = apart[k] * (i + 1);
            loss[i] = 10 - 0.01 * samples[i];
        }
        const struct curve curve = { .n_points = 1000, .samples_count = samples, .loss = loss };
        assert_true(fabs(curve_loss_at(&curve, 960) - (10 - 0.01 * 912)) < 1e-9);
    }
}

/* Rounds at 80, 90, 96 and 104: between 90 and 100 the mean is that of 6 samples from 3 to 1, and of 4 from 1 to 2. */
UNIT_TEST(parts_count_by_their_samples)
{
    double samples[] = { 80, 90, 96, 104 }, loss[] = { 100, 3, 1, 3 };
    struct curve curve = { .n_points = 4, .samples_count = samples, .loss = loss };

    assert_true(fabs(curve_loss_at(&curve, 100) - (6 * 2 + 4 * 1.5) / 10) < 1e-12);
    assert_true(fabs(curve_loss_at(&curve, 104) - (2.4 * 1.4 + 8 * 2) / 10.4) < 1e-12);
    assert_true(fabs(curve_loss_at(&curve, 85) - (100 - 97 * 0.25)) < 1e-12); /* from the first round on: 80 to 85 */
    assert_true(isnan(curve_loss_at(&curve, 80)));                            /* the first round is not before it */
    assert_true(isnan(curve_loss_at(&curve, 105)));                           /* not seen */
    loss[0] = NAN;                                                            /* one that is left of what counts */
    assert_true(fabs(curve_loss_at(&curve, 100) - 1.8) < 1e-12);
    loss[3] = NAN; /* one that is not */
    assert_true(isnan(curve_loss_at(&curve, 100)));
    curve.n_points = 0;
    assert_true(isnan(curve_loss_at(&curve, 100)));
}

/* The least total of comparable points; each model has its own, and a launch that ended early counts. */
KIT_TEST(samples_that_all_have_seen)
{
    static const struct made_point point[] = { { "lenet", "ps", 4, 1, 1, 1000, 1, NAN, 1 },
                                               { "lenet", "none", 2, 0, 2, 1000, 1, NAN, 2 },
                                               { "linear", "none", 4, 0, 1, 1000, 1, NAN, 3 },
                                               { "linear", "ps", 1, 1, 0, 1000, 1, NAN, 4 } };
    struct campaign c;

    made_open(&c, *state, point, 4, false);
    assert_true(campaign_equal_samples(&c, &c.point[0]) == 192);
    assert_true(campaign_equal_samples(&c, &c.point[1]) == 192);
    assert_true(campaign_equal_samples(&c, &c.point[3]) == 384);
    assert_true(point_samples(&c.point[0]) == 384 && isnan(point_samples(&c.point[3])));
    c.point[1].curve[1].n_points = 2; /* rounds of 64 and 128 */
    assert_true(campaign_equal_samples(&c, &c.point[0]) == 128);
    assert_true(isnan(point_loss_at(&c.point[3], 100)));
    campaign_close(&c);
    made_open(&c, *state, point + 3, 1, false);
    assert_true(isnan(campaign_equal_samples(&c, &c.point[0])));
    campaign_close(&c);
}

/* A mean over all launches; where one has none there is none. */
KIT_TEST(every_launch_counts)
{
    static const struct made_point point = { "lenet", "none", 1, 0, 3, 1000, 1, NAN, 1 };
    struct campaign c;

    made_open(&c, *state, &point, 1, false);
    for (int n = 0; n < 3; n++)
        for (int r = 0; r < MADE_STEPS; r++)
            c.point[0].curve[n].loss[r] = n * n;
    assert_true(fabs(point_loss_at(&c.point[0], 96) - 5.0 / 3) < 1e-12);
    c.point[0].curve[2].loss[2] = NAN;
    assert_true(isnan(point_loss_at(&c.point[0], 96)));
    campaign_close(&c);
}

UNIT_MAIN("curves")
