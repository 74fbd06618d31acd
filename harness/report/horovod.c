/* SPDX-License-Identifier: Apache-2.0 */
/* horovod.c - report.V1: population deviations (divisor n) and 1.4826 x the median absolute deviation. */
#include "harness/report/horovod.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/sorted.h"

static double mean_of(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

static double deviation_of(const double *x, size_t n)
{
    const double mean = mean_of(x, n);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (double)n);
}

/* Sorts x. */
static double median_of(double *x, size_t n)
{
    sorted_make(x, n);
    return sorted_median(x, n);
}

void horovod_print(FILE *to, const struct horovod_run *run)
{
    const double mean = mean_of(run->samples_per_s, run->n_iterations);
    const double spread = 1.96 * deviation_of(run->samples_per_s, run->n_iterations);
    const double n_devices = (double)run->n_devices;

    fprintf(to, "Model: %s\n", run->model);
    fprintf(to, "Batch size: %llu\n", (unsigned long long)run->batch_per_device_count);
    fprintf(to, "Number of %ss: %zu\n", run->device, run->n_devices);
    fprintf(to, "Img/sec per %s: %.1f +-%.1f\n", run->device, mean, spread);
    fprintf(to, "Total img/sec on %zu %s(s): %.1f +-%.1f\n", run->n_devices, run->device, n_devices * mean,
            n_devices * spread);
}

static void print_rule(FILE *to)
{
    for (int i = 0; i < 64; i++)
        fputc('-', to);
    fputc('\n', to);
}

enum rc tf_cnn_print(FILE *to, double samples_per_step, const double *step_s, size_t n, double loss,
                     double total_samples_per_s)
{
    double *rate = calloc(n, sizeof *rate);

    if (!rate)
        return rc_raise(RC_NOMEM, "no memory for the rates of %zu steps", n);
    for (size_t i = 0; i < n; i++)
        rate[i] = samples_per_step / step_s[i];
    const double error = deviation_of(rate, n) / sqrt((double)n), median = median_of(rate, n);
    for (size_t i = 0; i < n; i++)
        rate[i] = fabs(rate[i] - median);
    const double jitter = 1.4826 * median_of(rate, n);
    free(rate);
    const double mean = samples_per_step / mean_of(step_s, n);
    /* The mean is samples over mean duration, not the mean of rates. A NaN has no sign here. */
    /* A loss that diverged would have dozens of digits. */
    fprintf(to, "%zu\timages/sec: %.1f +/- %.1f (jitter = %.1f)\t", n, mean, error, jitter);
    fprintf(to, fabs(loss) < 1e9 ? "%.3f\n" : "%.4g\n", isnan(loss) ? fabs(loss) : loss);
    print_rule(to);
    fprintf(to, "total images/sec: %.2f\n", isfinite(total_samples_per_s) ? total_samples_per_s : mean);
    print_rule(to);
    return RC_OK;
}
