/* SPDX-License-Identifier: Apache-2.0 */
/*
 * independent_suite.c - known values, sets that decide nothing, and pairs of campaigns of which the truth is known: of
 * unequal numbers of launches and unequal spreads, the smaller number with the larger spread among them, where a
 * pooled variance is wrong by the most. All numbers come from rng.h, so the counts are the same on every run.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "harness/base/rng.h"

static int check_known(independent_fn *compare)
{
    /* Logarithms 1 2 3 and 0 2 4 6: means 2 and 3, variances 1 and 20/3, squared error 1/3 + 5/3 = 2, t = 1 / root 2,
     * Welch's degrees of freedom 4 / (1/18 + 25/27) = 4.0754717, whose 0.975 quantile is 2.7562849. */
    const double a[] = { exp(1), exp(2), exp(3) }, b[] = { exp(0), exp(2), exp(4), exp(6) };
    struct contrast c = compare(a, 3, b, 4);
    int n_failures = expect(c.n_first == 3 && c.n_second == 4, "the numbers of launches");

    n_failures += expect(near(c.ratio, exp(-1), 1e-12), "A1 ratio of geometric means");
    n_failures += expect(near(c.dof, 4.0754717, 1e-7), "A2 degrees of freedom");
    n_failures += expect(near(log(c.ratio_low), -1 - 3.8979755, 1e-4), "A2 lower end");
    n_failures += expect(near(log(c.ratio_high), -1 + 3.8979755, 1e-4), "A2 upper end");
    n_failures += expect(near(c.p, 0.51783826, 1e-6), "A2 probability of no difference");
    c = compare(b, 4, a, 3);
    n_failures += expect(near(c.ratio, exp(1), 1e-12) && near(c.p, 0.51783826, 1e-6) &&
                             near(log(c.ratio_high), 1 + 3.8979755, 1e-4),
                         "the other way round");
    /* The order within a campaign says nothing. */
    const double mixed[] = { exp(6), exp(0), exp(4), exp(2) };
    n_failures += expect(near(compare(a, 3, mixed, 4).p, 0.51783826, 1e-6), "A1 nothing is paired");
    /* One has no spread: the other's degrees of freedom, 2, whose quantile is 4.3026527. */
    const double equal[] = { exp(2), exp(2), exp(2), exp(2), exp(2) };
    c = compare(a, 3, equal, 5);
    n_failures += expect(near(c.dof, 2, 1e-9) && near(log(c.ratio_high), 4.3026527 / sqrt(3), 1e-4),
                         "A2 one of both without spread");
    return n_failures;
}

static int check_few(independent_fn *compare)
{
    const double a[] = { 2, 2, 2 }, b[] = { 1, 1.1 };
    struct contrast c = compare(a, 3, b, 0);
    int n_failures = expect(isnan(c.ratio) && isnan(c.ratio_low) && isnan(c.ratio_high) && c.p == 1, "A2 no launch");

    c = compare(a, 0, b, 2);
    n_failures += expect(isnan(c.ratio) && c.p == 1, "A2 no launch of the first");
    c = compare(a, 3, b, 1);
    n_failures +=
        expect(near(c.ratio, 2, 1e-12) && isnan(c.ratio_low) && isnan(c.ratio_high) && isnan(c.dof) && c.p == 1,
               "A2 one launch decides nothing");
    c = compare(b, 1, a, 3);
    n_failures += expect(near(c.ratio, 0.5, 1e-12) && c.p == 1, "A2 one launch of the first decides nothing");
    const double same[] = { 2, 2, 2, 2 }, other[] = { 3, 3 };
    c = compare(a, 3, same, 4);
    n_failures += expect(c.ratio == 1 && c.ratio_low == 1 && c.ratio_high == 1 && c.p == 1, "all values are equal");
    c = compare(other, 2, same, 4);
    n_failures +=
        expect(near(c.ratio, 1.5, 1e-12) && near(c.ratio_low, 1.5, 1e-12) && c.p == 0, "two values, and no spread");
    return n_failures;
}

/* Of so many pairs of campaigns: how often p is at most 0.05, and how often the interval holds the truth. */
struct counts {
    int n_found, n_covered;
};

enum { N_TRIALS = 4000, MOST_LAUNCHES = 20 };

static struct counts count(independent_fn *compare, int n_first, double sd_first, int n_second, double sd_second,
                           double difference)
{
    struct counts counts = { 0, 0 };
    double a[MOST_LAUNCHES], b[MOST_LAUNCHES];

    for (uint64_t trial = 0; trial < N_TRIALS; trial++) {
        for (int i = 0; i < n_first; i++)
            a[i] = exp(8 + difference + sd_first * rng_normal(trial, RNG_TEST, (uint64_t)i));
        for (int i = 0; i < n_second; i++)
            b[i] = exp(8 + sd_second * rng_normal(trial, RNG_TEST, (uint64_t)(MOST_LAUNCHES + i)));
        const struct contrast c = compare(a, (size_t)n_first, b, (size_t)n_second);
        counts.n_found += c.p <= 0.05;
        counts.n_covered += log(c.ratio_low) <= difference && difference <= log(c.ratio_high);
    }
    return counts;
}

static int check_truth(independent_fn *compare)
{
    static const struct {
        int n_first, n_second;
        double sd_first, sd_second;
    } cases[] = { { 10, 10, 0.02, 0.02 }, { 5, 20, 0.1, 0.01 }, { 20, 5, 0.1, 0.01 } };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(cases); i++) {
        const struct counts c =
            count(compare, cases[i].n_first, cases[i].sd_first, cases[i].n_second, cases[i].sd_second, 0);
        fprintf(stderr, "  %d x %g and %d x %g: %d of %d differ, %d intervals hold the truth\n", cases[i].n_first,
                cases[i].sd_first, cases[i].n_second, cases[i].sd_second, c.n_found, N_TRIALS, c.n_covered);
        /* 200 are to be expected, 13.8 the standard deviation. */
        n_failures += expect(c.n_found >= 145 && c.n_found <= 255, "A2 one in twenty of equal campaigns differs");
        n_failures += expect(c.n_covered == N_TRIALS - c.n_found, "A2 interval and probability agree");
    }
    const struct counts c = count(compare, 10, 0.02, 10, 0.03, 0.05);
    fprintf(stderr, "  of a true difference of 5 %%: %d of %d\n", c.n_found, N_TRIALS);
    n_failures += expect(c.n_found > 3800, "a true difference is found");
    n_failures += expect(c.n_covered >= 3745 && c.n_covered <= 3855, "and its interval holds it");
    return n_failures;
}

int independent_suite(independent_fn *compare)
{
    static int (*const check[])(independent_fn * compare) = { check_known, check_few, check_truth };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++)
        n_failures += check[i](compare);
    return n_failures;
}
