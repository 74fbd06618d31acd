/* SPDX-License-Identifier: Apache-2.0 */
/* paired.c - comparison of pairs of launches, its power, and Holm's correction. */
#include "harness/measure/paired.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "harness/measure/interval.h"
#include "harness/measure/sorted.h"

static const double FAR_ERRORS = 0.9 /* measure.C3 */, ROUNDING = 1e-12;

/* measure.C3; NaN: no memory. */
static double hodges_lehmann(const double *x, size_t n)
{
    const size_t n_averages = n * (n + 1) / 2;
    double *average = malloc(n_averages * sizeof *average), result = NAN;
    size_t k = 0;

    if (!average)
        return NAN;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            average[k++] = (x[i] + x[j]) / 2;
    sorted_make(average, n_averages);
    result = sorted_median(average, n_averages);
    free(average);
    return result;
}

/* Differences that rounding alone has made are none. */
static bool is_nothing(double difference)
{
    return fabs(difference) < ROUNDING;
}

static double probability(double mean, double sd, size_t n)
{
    if (n < 2 || is_nothing(mean))
        return 1;
    if (is_nothing(sd)) /* the same difference in every pair */
        return 0;
    return student_two_sided(fabs(mean) / (sd / sqrt((double)n)), (double)(n - 1));
}

struct comparison compare_pairs(const double *first, const double *second, size_t n_pairs)
{
    const size_t n = n_pairs < PAIRED_MAX ? n_pairs : PAIRED_MAX;
    double difference[PAIRED_MAX];

    if (n == 0)
        return (struct comparison){ 0, NAN, NAN, NAN, NAN, 1, false, NAN };
    for (size_t i = 0; i < n; i++) {
        assert(first[i] > 0 && second[i] > 0);
        difference[i] = log(first[i] / second[i]);
    }
    const struct interval i = interval_of_launches(difference, n);
    const double robust = hodges_lehmann(difference, n);
    struct comparison c = { .n_pairs = n,
                            .ratio = exp(i.mean),
                            .ratio_low = exp(i.low),
                            .ratio_high = exp(i.high),
                            .robust_ratio = exp(robust),
                            .sd = NAN };
    if (n > 1)
        c.sd = (i.high - i.mean) / student_t_975((double)(n - 1)) * sqrt((double)n);
    c.p = probability(i.mean, c.sd, n);
    c.has_far_pairs = n > 1 && fabs(robust - i.mean) > FAR_ERRORS * c.sd / sqrt((double)n) + ROUNDING;
    return c;
}

/* The q quantile of the standard normal distribution, 0 < q < 1, by halving: erfc() is exact where it matters. */
static double normal_quantile(double q)
{
    double low = -40, high = 40;

    for (int i = 0; i < 200; i++) {
        const double middle = (low + high) / 2;
        *(erfc(-middle / sqrt(2)) / 2 < q ? &low : &high) = middle;
    }
    return (low + high) / 2;
}

int pairs_for_power(double difference, double sd, double alpha, double power)
{
    const double z_alpha = normal_quantile(1 - alpha / 2), z_power = normal_quantile(power);

    if (is_nothing(difference))
        return -1;
    const double n = pow((z_alpha + z_power) * sd / difference, 2) + z_alpha * z_alpha / 2;
    if (!(n <= PAIRED_MAX))
        return -1;
    return n < 2 || is_nothing(sd) ? 2 : (int)ceil(n);
}

void verdicts_that_hold(bool *holds, const double *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        holds[i] = false;
    for (size_t n_held = 0; n_held < n; n_held++) {
        size_t least = n; /* the smallest p that does not hold yet */
        for (size_t i = 0; i < n; i++)
            if (!holds[i] && (least == n || p[i] < p[least]))
                least = i;
        if (!(p[least] <= PAIRED_LEVEL / (double)(n - n_held)))
            return;
        holds[least] = true;
    }
}
