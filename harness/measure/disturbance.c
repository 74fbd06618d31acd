/* SPDX-License-Identifier: Apache-2.0 */
/* disturbance.c - from processor times of a host to what others took of it. */
#include "harness/measure/disturbance.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

const struct disturbance DISTURBANCE_NOT_KNOWN = { NAN, NAN, NAN, NAN, NAN };

struct disturbance disturbance_of_host(const struct window_load *host, double own_cores, int n_used_cores)
{
    struct disturbance d = DISTURBANCE_NOT_KNOWN;

    assert(n_used_cores > 0);
    if (host->n_host_cores == 0 || !(host->window_s >= DISTURBANCE_MIN_S)) /* measure.D4, D3 */
        return d;
    d.frequency_hz = host->frequency_hz;
    d.steal_ratio = host->steal_ratio;
    d.others_cores = host->busy_cores - own_cores;
    if (d.others_cores < 0) /* measure.D1 */
        d.others_cores = 0;
    d.taken_ratio = (d.others_cores + d.steal_ratio * host->n_host_cores) / n_used_cores; /* measure.D2 */
    d.taken_limit_ratio = DISTURBED_RATIO + DISTURBANCE_GRAIN_S * (n_used_cores + 1) / (n_used_cores * host->window_s);
    return d;
}

/* The greater; one that is not known is smaller than any. */
static double greater(double a, double b)
{
    return a > b || isnan(b) ? a : b;
}

struct disturbance disturbance_worse(const struct disturbance *a, const struct disturbance *b)
{
    const double beyond_a = a->taken_ratio - a->taken_limit_ratio, beyond_b = b->taken_ratio - b->taken_limit_ratio;
    const struct disturbance *taken = beyond_a >= beyond_b || isnan(beyond_b) ? a : b;

    return (struct disturbance){ .steal_ratio = greater(a->steal_ratio, b->steal_ratio),
                                 .others_cores = greater(a->others_cores, b->others_cores),
                                 .taken_ratio = taken->taken_ratio,
                                 .taken_limit_ratio = taken->taken_limit_ratio,
                                 .frequency_hz = -greater(-a->frequency_hz, -b->frequency_hz) };
}

bool disturbance_is_too_much(const struct disturbance *d)
{
    return d->taken_ratio > d->taken_limit_ratio; /* measure.D4: not where either is NaN */
}

const char *disturbance_word(const struct disturbance *d)
{
    if (isnan(d->taken_ratio))
        return "not_known";
    return disturbance_is_too_much(d) ? "yes" : "no";
}

void disturbance_text(char *out, size_t n_bytes, const struct disturbance *d)
{
    (void)snprintf(
        out, n_bytes,
        "other programs used %.2f cores, steal was %.2g %%: together %.0f %% of this run's cores (at most %.0f %% is "
        "allowed)",
        d->others_cores, 100 * d->steal_ratio, 100 * d->taken_ratio, 100 * d->taken_limit_ratio);
}
