/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paired_suite.c - known values, and campaigns of which the truth is known: 1,000 each on machines that are steady,
 * drift or change between two speeds, of four ways to train that are equal or differ by 2 or 10 %. All numbers come
 * from rng.h, so the counts are the same on every run.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"

static int check_known(const struct paired_impl *impl) /* measure.C1, C2 */
{
    /* Differences 1 2 3: mean 2, sd 1, half 4.302653 / sqrt(3), t = 3.464102, p = 0.0741799 (2 degrees). */
    const double a[] = { exp(1), exp(4), exp(8) }, b[] = { 1, exp(2), exp(5) };
    struct comparison c = impl->compare(a, b, 3);
    int n_failures = 0;

    n_failures += expect(c.n_pairs == 3 && near(c.ratio, exp(2), 1e-12), "C1 geometric mean of the pairs' ratios");
    n_failures += expect(near(c.sd, 1, 1e-9), "C2 standard deviation of the differences");
    n_failures += expect(near(log(c.ratio_low), 2 - 2.4841375, 1e-6), "C2 lower end");
    n_failures += expect(near(log(c.ratio_high), 2 + 2.4841375, 1e-6), "C2 upper end");
    n_failures += expect(near(c.p, 0.07417990, 1e-6), "C2 probability of no difference");
    c = impl->compare(b, a, 3);
    n_failures += expect(near(c.ratio, exp(-2), 1e-12) && near(c.p, 0.07417990, 1e-6), "C1 the other way round");
    c = impl->compare(a, b, 1);
    n_failures += expect(near(c.ratio, exp(1), 1e-12) && isnan(c.ratio_low) && isnan(c.ratio_high) && c.p == 1 &&
                             !c.has_far_pairs,
                         "C2 one pair decides nothing");
    c = impl->compare(a, b, 0);
    n_failures += expect(c.n_pairs == 0 && isnan(c.ratio) && c.p == 1, "C2 no pair decides nothing");
    const double twice[] = { 2, 4, 8 }, once[] = { 1, 2, 4 };
    c = impl->compare(twice, once, 3);
    n_failures +=
        expect(c.p < 1e-9 && !c.has_far_pairs && near(c.ratio, 2, 1e-12), "the same difference in every pair");
    c = impl->compare(once, once, 3);
    n_failures += expect(c.p == 1 && c.ratio == 1, "no difference in any pair");
    return n_failures;
}

static int check_robust(const struct paired_impl *impl) /* measure.C3 */
{
    /* Differences 0 1 5 and all averages of two: 0 .5 1 2.5 3 5. */
    const double a[] = { 1, exp(1), exp(5) }, one[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    struct comparison c = impl->compare(a, one, 3);
    int n_failures = expect(near(c.robust_ratio, exp(1.75), 1e-12), "C3 median of the averages of two, an even number");

    n_failures += expect(!c.has_far_pairs, "C3 three pairs that differ");

    /* Nine pairs a little lower, one far higher: the mean is above no difference, the median of averages below. */
    double pulled[10];
    for (int i = 0; i < 10; i++)
        pulled[i] = i == 4 ? 5 : 0.98 + 0.002 * i;
    c = impl->compare(pulled, one, 10);
    n_failures += expect(c.ratio > 1 && c.robust_ratio < 1 && c.has_far_pairs, "C3 a single launch pulls the mean up");
    pulled[4] = 0.5;
    c = impl->compare(pulled, one, 10);
    n_failures += expect(c.has_far_pairs, "C3 a single launch pulls the mean down");
    for (int i = 0; i < 10; i++)
        pulled[i] = 1.05 + 0.002 * i;
    c = impl->compare(pulled, one, 10);
    n_failures += expect(!c.has_far_pairs && near(c.robust_ratio, c.ratio, 1e-3) && c.p < 1e-6, "C3 pairs of one kind");
    int n_alarms = 0;
    for (uint64_t campaign = 0; campaign < 10000; campaign++) {
        for (uint64_t i = 0; i < 10; i++)
            pulled[i] = exp(0.02 * rng_normal(campaign, RNG_TEST, i));
        n_alarms += impl->compare(pulled, one, 10).has_far_pairs;
    }
    fprintf(stderr, "  %d of 10000 campaigns with normal differences have far pairs\n", n_alarms);
    return n_failures + expect(n_alarms <= 60, "C3 normal differences rarely have far pairs");
}

/* Which share of 4,000 tests at level alpha finds the difference, with n pairs. */
static double power_of(const struct paired_impl *impl, double difference, double sd, double alpha, int n)
{
    enum { N_TESTS = 4000 };
    double a[PAIRED_MAX], b[PAIRED_MAX];
    int n_found = 0;

    for (uint64_t test = 0; test < N_TESTS; test++) {
        for (int i = 0; i < n; i++) {
            a[i] = exp(difference + sd * rng_normal(test, RNG_TEST, (uint64_t)i));
            b[i] = 1;
        }
        const struct comparison c = impl->compare(a, b, (size_t)n);
        n_found += c.p <= alpha && c.ratio > 1;
    }
    return (double)n_found / N_TESTS;
}

static int check_power(const struct paired_impl *impl)
{
    static const struct {
        double difference, sd, alpha, power;
    } cases[] = {
        { 0.02, 0.02, 0.05, 0.8 }, { 0.05, 0.02, 0.05, 0.8 }, { 0.02, 0.03, 0.05 / 3, 0.8 }, { 0.1, 0.2, 0.05, 0.9 }
    };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(cases); i++) {
        const int n = impl->pairs(cases[i].difference, cases[i].sd, cases[i].alpha, cases[i].power);
        if (n < 2 || n > PAIRED_MAX)
            return n_failures + expect(false, "a number of pairs");
        const double with = power_of(impl, cases[i].difference, cases[i].sd, cases[i].alpha, n);
        const double one_less = n > 2 ? power_of(impl, cases[i].difference, cases[i].sd, cases[i].alpha, n - 1) : 0;
        fprintf(stderr, "  %d pairs: %.3f find it, with one less %.3f, announced %g\n", n, with, one_less,
                cases[i].power);
        n_failures += expect(with >= cases[i].power - 0.02, "as many as announced find it");
        n_failures += expect(one_less <= cases[i].power + 0.03, "and not many too many are asked for");
    }
    n_failures += expect(impl->pairs(-0.02, 0.02, 0.05, 0.8) == impl->pairs(0.02, 0.02, 0.05, 0.8), "either direction");
    n_failures += expect(impl->pairs(0.02, 0.02, 0.05, 0.8) == 10, "Guenther: 7.849 + 1.921 pairs");
    n_failures += expect(impl->pairs(0, 0.02, 0.05, 0.8) == -1, "no difference is never found");
    n_failures += expect(impl->pairs(0.0001, 0.02, 0.05, 0.8) == -1, "more than can be launched");
    n_failures += expect(impl->pairs(0.5, 0, 0.05, 0.8) == 2, "without any spread two tell");
    return n_failures;
}

static int check_holm(const struct paired_impl *impl) /* measure.C4 */
{
    static const struct {
        double p[4];
        size_t n;
        bool holds[4];
    } cases[] = { { { 0.04 }, 1, { true } },
                  { { 0.05 }, 1, { true } },
                  { { 0.051 }, 1, { false } },
                  { { 0.04, 0.04 }, 2, { false, false } },
                  { { 0.04, 0.024 }, 2, { true, true } }, /* the second against 0.05 / 1 */
                  { { 0.03, 0.016, 0.011, 0.2 }, 4, { false, true, true, false } },
                  { { 0.013, 0.001, 0.001, 0.001 }, 4, { true, true, true, true } },
                  { { 0.013, 0.013, 0.013, 0.013 }, 4, { false, false, false, false } },
                  { { 1, 1, 0, 1 }, 4, { false, false, true, false } } };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(cases); i++) {
        bool holds[4] = { true, true, true, true };
        impl->hold(holds, cases[i].p, cases[i].n);
        if (memcmp(holds, cases[i].holds, cases[i].n * sizeof *holds) != 0) {
            fprintf(stderr, "  case %zu: %d %d %d %d\n", i, holds[0], holds[1], holds[2], holds[3]);
            n_failures += expect(false, "C4 which verdicts hold");
        }
    }
    return n_failures;
}

/* --- campaigns of which the truth is known --- */

enum machine { STEADY, DRIFTING, BIMODAL, FLICKERING };
enum { N_POINTS = 4, N_BLOCKS = 10, N_CAMPAIGNS = 1000, N_VERDICTS = 3 };

/* Logarithm of the machine's speed in launch `slot` of a campaign. Bimodal: full, or 0.7 of it, changing with each
 * launch with a probability of 1 %: about once a minute where a launch takes 0.5 s. Flickering: of 10 %, more than once
 * in three blocks. */
static double machine_speed(enum machine machine, uint64_t campaign, uint64_t slot)
{
    const double change_ratio = machine == BIMODAL ? 0.01 : machine == FLICKERING ? 0.1 : 0;
    bool is_slow = change_ratio > 0 && rng_uniform(campaign, RNG_TEST, 1u << 20) < 0.5;

    if (machine == DRIFTING) /* by 20 % over a campaign */
        return -0.2 * (double)slot / (N_POINTS * N_BLOCKS);
    for (uint64_t i = 0; i <= slot; i++)
        is_slow ^= rng_uniform(campaign, RNG_TEST, (2u << 20) + i) < change_ratio;
    return is_slow ? log(0.7) : 0;
}

/* The rates of all points in all blocks; point i is i x `difference` higher. In each block the points take turns
 * in an order of their own. */
static void launch_all(double rate[N_POINTS][N_BLOCKS], enum machine machine, double difference, uint64_t campaign)
{
    for (uint64_t block = 0; block < N_BLOCKS; block++)
        for (uint64_t i = 0; i < N_POINTS; i++) {
            const uint64_t slot = block * N_POINTS + rng_permute(campaign, block, i, N_POINTS);
            const double noise = 0.02 * rng_normal(campaign, RNG_TEST, slot);
            rate[i][block] = 1000 * exp(difference * (double)i + machine_speed(machine, campaign, slot) + noise);
        }
}

struct tally {
    int n_wrong;   /* campaigns with a verdict that is not so */
    int n_found;   /* verdicts that are so */
    int n_covered; /* intervals that hold the truth */
};

/* Three verdicts a campaign: each other point against the first. */
static struct tally run_campaigns(const struct paired_impl *impl, enum machine machine, double difference)
{
    struct tally t = { 0 };

    for (uint64_t campaign = 0; campaign < N_CAMPAIGNS; campaign++) {
        double rate[N_POINTS][N_BLOCKS], p[N_VERDICTS];
        struct comparison c[N_VERDICTS];
        bool holds[N_VERDICTS], is_wrong = false;
        launch_all(rate, machine, difference, campaign);
        for (int i = 0; i < N_VERDICTS; i++) {
            c[i] = impl->compare(rate[i + 1], rate[0], N_BLOCKS);
            p[i] = c[i].p;
            const double truth = exp(difference * (i + 1));
            t.n_covered += c[i].ratio_low <= truth && truth <= c[i].ratio_high;
        }
        impl->hold(holds, p, N_VERDICTS);
        for (int i = 0; i < N_VERDICTS; i++) {
            is_wrong |= holds[i] && (difference == 0 || c[i].ratio < 1);
            t.n_found += holds[i] && difference > 0 && c[i].ratio > 1;
        }
        t.n_wrong += is_wrong;
    }
    return t;
}

static int check_campaigns(const struct paired_impl *impl)
{
    static const struct {
        const char *name;
        enum machine machine;
        double difference;
        double least_found_ratio; /* of all verdicts */
    } cases[] = { { "steady, equal", STEADY, 0, 0 },
                  { "drifting, equal", DRIFTING, 0, 0 },
                  { "bimodal, equal", BIMODAL, 0, 0 },
                  { "flickering, equal", FLICKERING, 0, 0 },
                  { "steady, 2 %", STEADY, 0.02, 0.75 },
                  { "drifting, 2 %", DRIFTING, 0.02, 0.7 },
                  { "bimodal, 2 %", BIMODAL, 0.02, 0.5 },
                  { "steady, 10 %", STEADY, 0.1, 0.99 },
                  { "drifting, 10 %", DRIFTING, 0.1, 0.99 },
                  { "bimodal, 10 %", BIMODAL, 0.1, 0.95 },
                  { "flickering, 10 %", FLICKERING, 0.1, 0.75 } };
    const double n_intervals = (double)N_CAMPAIGNS * N_VERDICTS;
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(cases); i++) {
        const struct tally t = run_campaigns(impl, cases[i].machine, cases[i].difference);
        fprintf(stderr, "  %-18s false verdicts in %.1f %% of campaigns, %.1f %% found, intervals cover %.1f %%\n",
                cases[i].name, 100.0 * t.n_wrong / N_CAMPAIGNS, 100 * t.n_found / n_intervals,
                100 * t.n_covered / n_intervals);
        n_failures += expect(t.n_wrong <= 0.065 * N_CAMPAIGNS, "C4 false verdicts in at most 6.5 % of campaigns");
        n_failures +=
            expect(cases[i].difference > 0 || cases[i].machine == FLICKERING || t.n_wrong >= 0.02 * N_CAMPAIGNS,
                   "not so shy that it never speaks");
        n_failures += expect(t.n_found >= cases[i].least_found_ratio * n_intervals, "differences are found");
        /* Differences with a few far ones make Student's intervals wide: those of a flickering machine cover more. */
        const double most_percent = cases[i].machine == FLICKERING ? 99 : 96.5;
        const double covered_percent = 100 * t.n_covered / n_intervals;
        n_failures +=
            expect(covered_percent >= 93.5 && covered_percent <= most_percent, "C2 intervals cover 95 +- 1.5 %");
    }
    return n_failures;
}

int paired_suite(const struct paired_impl *impl)
{
    static int (*const check[])(const struct paired_impl *impl) = { check_known, check_robust, check_power, check_holm,
                                                                    check_campaigns };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++)
        n_failures += check[i](impl);
    return n_failures;
}
