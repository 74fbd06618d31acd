/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interval_suite.c - known values, and a long-run promise counted out: how often an interval holds
 * the true mean. All numbers come from rng.h, so the counts are the same on every run.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"

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

static int check_launches(const struct interval_impl *impl) /* measure.I1, I3, I4 */
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

static int check_autocorrelated(const struct interval_impl *impl) /* measure.I2, I4 */
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

static int check_coverage(const struct interval_impl *impl) /* measure.I2 */
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

int interval_suite(const struct interval_impl *impl)
{
    static int (*const check[])(const struct interval_impl *impl) = { check_student, check_launches,
                                                                      check_autocorrelated, check_coverage,
                                                                      check_reciprocal };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++)
        n_failures += check[i](impl);
    return n_failures;
}
