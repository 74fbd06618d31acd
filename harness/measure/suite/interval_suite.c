/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_suite.c - known values, and long-run promises counted out: how often an interval holds
 * the true mean, how often equal runs are called different. All numbers come from rng.h, so the
 * counts are the same on every run.
 */
#include "harness/measure/suite/interval_suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"

#define N_ELEMS(a) (sizeof(a) / sizeof *(a))

static int expect(bool holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "  does not hold: %s\n", what);
    return holds ? 0 : 1;
}

static bool near(double a, double b, double tolerance_ratio)
{
    return fabs(a - b) <= tolerance_ratio * fabs(b);
}

static int check_student(const struct interval_impl *impl)
{
    static const struct {
        double dof, t; /* from printed tables, and tan(pi 0.475), exact for one degree */
    } known[] = { { 1, 12.706204736174707 }, { 2, 4.302652729749464 },  { 3, 3.182446305283709 },
                  { 4, 2.776445105197793 },  { 5, 2.570581835636314 },  { 10, 2.228138851986274 },
                  { 20, 2.085963447265837 }, { 30, 2.042272456301238 }, { 60, 2.000297822014260 },
                  { 120, 1.979930405052777 } };
    int n_failures = 0;
    double last = INFINITY;
    bool falls = true;

    for (size_t i = 0; i < N_ELEMS(known); i++)
        n_failures += expect(near(impl->student(known[i].dof), known[i].t, 1e-9), "t table");
    n_failures += expect(near(impl->student(1e9), 1.959963984540054, 1e-8), "t tends to the normal quantile");
    for (double dof = 0.25; dof < 1000; dof *= 1.01) { /* real degrees; also across the seam at 200 */
        double t = impl->student(dof);

        falls = falls && t < last;
        last = t;
    }
    n_failures += expect(falls, "t falls as degrees of freedom grow");
    n_failures += expect(near(impl->student(199.9999999), impl->student(200), 1e-9), "no step at 200 degrees");
    n_failures += expect(isnan(impl->student(0)) && isnan(impl->student(-1)), "no degrees: NaN");
    return n_failures;
}

static int check_launches(const struct interval_impl *impl) /* I1, I3, I4 */
{
    const double x[] = { 10, 12, 14 }; /* s = 2, s / sqrt(3) = 1.1547, t(2) = 4.3027 */
    struct interval i = impl->launches(x, 3);
    int n_failures = 0;

    n_failures += expect(i.mean == 12 && i.n_effective == 3, "I3 mean and n of three launches");
    n_failures += expect(near(i.high - i.mean, 4.968275, 1e-6) && near(i.mean - i.low, 4.968275, 1e-6),
                         "I1 I3 interval of three launches");
    i = impl->launches(x, 1);
    n_failures += expect(i.mean == 10 && isnan(i.low) && isnan(i.high), "I4 one launch has no interval");
    i = impl->launches(x, 0);
    n_failures += expect(isnan(i.mean) && isnan(i.low) && isnan(i.high), "I4 nothing has no mean");
    return n_failures;
}

static int check_autocorrelated(const struct interval_impl *impl) /* I2, I4 */
{
    enum { N = 20000 };
    static double x[N];
    int n_failures = 0;

    struct interval i = impl->autocorrelated((const double[]){ 1, 2, 4 }, 3);
    n_failures += expect(near(i.mean, 7.0 / 3, 1e-14) && isnan(i.low) && isnan(i.high), "I4 three values");
    for (size_t k = 0; k < N; k++)
        x[k] = 0.1;
    i = impl->autocorrelated(x, N);
    n_failures += expect(i.mean == 0.1 && i.low == 0.1 && i.high == 0.1, "equal values are certain");
    for (size_t k = 0; k < N; k++)
        x[k] = 5 + rng_normal(11, RNG_TEST, k);
    i = impl->autocorrelated(x, 4000);
    n_failures += expect(i.n_effective > 3000 && i.n_effective <= 4000, "I2 independent values count in full");
    n_failures += expect(near(i.high - i.low, 2 * 1.96 / sqrt(4000), 0.15), "I1 width of independent values");
    i = impl->autocorrelated(x, N); /* averaged in blocks: the same promise */
    n_failures += expect(near(i.high - i.low, 2 * 1.96 / sqrt(N), 0.15), "I1 width of a long series");
    n_failures += expect(i.n_effective > 0.75 * N && i.n_effective <= N, "I2 effective values of a long series");
    for (size_t k = 0; k < N; k++)
        x[k] = k % 2 ? 1 : -1;
    i = impl->autocorrelated(x, 1000);
    n_failures += expect(i.n_effective <= 1000, "I2 alternating values never count more than in full");
    for (size_t k = 0; k < N; k++)
        x[k] = (double)k;
    i = impl->autocorrelated(x, 1000);
    n_failures += expect(!(i.n_effective > 20), "I2 a trend is a handful of values");
    return n_failures;
}

/* Fill x[n] with first-order autoregression around 3, started in its stationary distribution. */
static void autoregression(double *x, size_t n, double rho, uint64_t seed)
{
    double deviation = rng_normal(seed, RNG_TEST, 0) / sqrt(1 - rho * rho);

    for (size_t i = 0; i < n; i++) {
        x[i] = 3 + deviation;
        deviation = rho * deviation + rng_normal(seed, RNG_TEST, i + 1);
    }
}

/* How many of 100 intervals held the true mean, over 400 series. */
static double coverage_percent(const struct interval_impl *impl, size_t n, double rho)
{
    enum { N_SERIES = 400, MAX_N = 10000 };
    static double x[MAX_N];
    int n_held = 0;

    for (uint64_t s = 0; s < N_SERIES; s++) {
        autoregression(x, n, rho, 1000 * s + n);
        struct interval i = impl->autocorrelated(x, n);
        n_held += i.low <= 3 && 3 <= i.high;
    }
    return 100.0 * n_held / N_SERIES;
}

static int check_coverage(const struct interval_impl *impl) /* I2 */
{
    static const struct {
        size_t n;
        double rho;
    } series[] = { { 400, 0.8 }, { 400, 0 }, { 400, -0.5 }, { 2000, 0.95 }, { 10000, 0.5 } };
    int n_failures = 0;

    for (size_t k = 0; k < N_ELEMS(series); k++) {
        double percent = coverage_percent(impl, series[k].n, series[k].rho);

        fprintf(stderr, "  n %zu, correlation %g: %g %% hold the mean\n", series[k].n, series[k].rho, percent);
        n_failures += expect(percent >= 90 && (percent <= 99 || series[k].rho < 0), "I2 coverage of 95 % intervals");
    }
    return n_failures;
}

static int check_known_decisions(const struct interval_impl *impl)
{
    /* Logarithms 0 1 2 and 3 4 5: difference -3, s^2 / n = 1 / 3 each, 4 degrees, t = 2.776445. */
    const double a[] = { 1, exp(1), exp(2) }, b[] = { exp(3), exp(4), exp(5) };
    struct decision d = impl->decide(a, 3, b, 3);
    int n_failures = 0;

    n_failures += expect(d.verdict == VERDICT_SECOND_HIGHER && d.n_more_launches == 0, "second is higher");
    n_failures += expect(near(d.ratio, exp(-3), 1e-12), "ratio of geometric means");
    n_failures += expect(near(d.ratio_low, exp(-3 - 2.776445105 * sqrt(2.0 / 3)), 1e-8), "lower end of the ratio");
    n_failures += expect(near(d.ratio_high, exp(-3 + 2.776445105 * sqrt(2.0 / 3)), 1e-8), "upper end of the ratio");
    d = impl->decide(b, 3, a, 3);
    n_failures += expect(d.verdict == VERDICT_FIRST_HIGHER && near(d.ratio, exp(3), 1e-12), "first is higher");
    /* Unequal spreads: s^2 / n = 1 / 3 and 1 / 12, 50 / 17 degrees. */
    const double c[] = { exp(3.5), exp(4), exp(4.5) };
    d = impl->decide(a, 3, c, 3);
    n_failures += expect(near(d.ratio, exp(-3), 1e-12), "means of logarithms, not logarithms of means");
    n_failures += expect(near(log(d.ratio_high) + 3, impl->student(50.0 / 17) * sqrt(5.0 / 12), 1e-9),
                         "degrees of freedom of unequal spreads");
    d = impl->decide(a, 1, b, 3);
    n_failures += expect(d.verdict == VERDICT_CANNOT_TELL && isnan(d.ratio_low), "I4 one launch decides nothing");
    n_failures += expect(d.n_more_launches == 1, "one more launch shows a spread");
    d = impl->decide(a, 3, b, 0);
    n_failures += expect(d.verdict == VERDICT_CANNOT_TELL && d.n_more_launches == 2, "nothing decides nothing");
    return n_failures;
}

static int check_more_launches(const struct interval_impl *impl)
{
    const double a[] = { 100, 110, 120 }, b[] = { 108, 118, 128 };
    double more_a[1000], more_b[1000];
    struct decision d = impl->decide(a, 3, b, 3);
    int n_failures = expect(d.verdict == VERDICT_CANNOT_TELL && d.n_more_launches > 0, "overlap asks for more");

    /* Launches of exactly the same spread, as many as asked for, decide; fewer by two do not. */
    for (int less = 0; less <= 2 && d.n_more_launches > 2; less += 2) {
        size_t n = 3 + (size_t)(d.n_more_launches - less);
        double scale = sqrt((double)(n - 1) / (double)n * 1.5); /* keeps the divisor-(n - 1) variance */

        for (size_t i = 0; i < n; i++) {
            double side = i == n - 1 && n % 2 ? 0 : i % 2 ? -1 : 1;
            double spread = sqrt(0.5 * (pow(log(1.1), 2) + pow(log(120.0 / 110), 2)) / 1.5);

            more_a[i] = 109.7 * exp(side * scale * spread);
            more_b[i] = 117.8 * exp(side * scale * spread);
        }
        bool told = impl->decide(more_a, n, more_b, n).verdict == VERDICT_SECOND_HIGHER;
        n_failures += expect(told == (less == 0), "the number of further launches is the least that tells");
    }
    const double same[] = { 7, 7, 7 }, higher[] = { 8, 8, 8 };
    d = impl->decide(same, 3, same, 3);
    n_failures += expect(d.verdict == VERDICT_CANNOT_TELL && d.n_more_launches == -1, "equal for ever");
    d = impl->decide(same, 3, higher, 3);
    n_failures += expect(d.verdict == VERDICT_SECOND_HIGHER, "unequal without any spread");
    const double wide[] = { 1, 1000 }, wider[] = { 1.001, 1001 };
    d = impl->decide(wide, 2, wider, 2);
    n_failures += expect(d.n_more_launches == -1, "more than 1000 launches");
    return n_failures;
}

static int check_decide(const struct interval_impl *impl)
{
    return check_known_decisions(impl) + check_more_launches(impl);
}

/* Two runs of the same distribution are called different in about 5 of 100 comparisons. */
static int check_false_alarm(const struct interval_impl *impl)
{
    enum { N_PAIRS = 4000 };
    int n_failures = 0;

    for (size_t n = 3; n <= 10; n += 7) {
        double a[10], b[10];
        int n_alarms = 0, n_found = 0;

        for (uint64_t p = 0; p < N_PAIRS; p++) {
            for (size_t i = 0; i < n; i++) {
                a[i] = 100 * exp(0.1 * rng_normal(p, RNG_TEST, i));
                b[i] = 100 * exp(0.1 * rng_normal(p, RNG_TEST, 100 + i));
            }
            n_alarms += impl->decide(a, n, b, n).verdict != VERDICT_CANNOT_TELL;
            for (size_t i = 0; i < n; i++)
                b[i] *= 1.6;
            n_found += impl->decide(a, n, b, n).verdict == VERDICT_SECOND_HIGHER;
        }
        fprintf(stderr, "  %zu launches each: %.1f %% false alarms, 1.6 x found in %.1f %%\n", n,
                100.0 * n_alarms / N_PAIRS, 100.0 * n_found / N_PAIRS);
        n_failures += expect(n_alarms <= 0.06 * N_PAIRS, "false alarms at most 6 %");
        n_failures += expect(n_alarms >= 0.02 * N_PAIRS, "not so shy that it never speaks");
        n_failures += expect(n_found >= 0.9 * N_PAIRS, "a great difference is found");
    }
    return n_failures;
}

static int check_reciprocal(const struct interval_impl *impl)
{
    struct interval x = { .mean = 4, .low = 2, .high = 8, .n_effective = 9 };
    struct interval y = impl->reciprocal(x, 16);
    int n_failures = expect(y.mean == 4 && y.low == 2 && y.high == 8 && y.n_effective == 9, "ends change places");

    x.low = x.high = NAN;
    y = impl->reciprocal(x, 16);
    n_failures += expect(y.mean == 4 && isnan(y.low) && isnan(y.high), "I4 no ends, no ends");
    x.low = -1;
    x.high = 8;
    y = impl->reciprocal(x, 16);
    n_failures += expect(y.low == 2 && isinf(y.high), "an end below zero leaves the other open");
    return n_failures;
}

int interval_suite(const struct interval_impl *impl, const char *group)
{
    static const struct {
        const char *name;
        int (*check)(const struct interval_impl *impl);
    } groups[] = {
        { "student", check_student },       { "launches", check_launches }, { "autocorrelated", check_autocorrelated },
        { "coverage", check_coverage },     { "decide", check_decide },     { "false_alarm", check_false_alarm },
        { "reciprocal", check_reciprocal },
    };
    int n_failures = 0;
    bool known = false;

    for (size_t i = 0; i < N_ELEMS(groups); i++)
        if (!group || strcmp(group, groups[i].name) == 0) {
            n_failures += groups[i].check(impl);
            known = true;
        }
    return known ? n_failures : -1;
}
