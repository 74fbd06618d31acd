/* SPDX-License-Identifier: Apache-2.0 */
/* extrapolate.c - see extrapolate.h. */
#include "harness/campaign/extrapolate.h"

#include <assert.h>
#include <math.h>

static double exchange_s(struct step_times t)
{
    return t.step_s - t.compute_s;
}

static bool has_parts(struct step_times simulated)
{
    return exchange_s(simulated) >= EXTRAPOLATE_LEAST_RATIO * simulated.step_s && simulated.compute_s > 0;
}

static struct extrapolation by_size(const struct size_times *of, struct step_times target, bool is_whole)
{
    const double whole_ratio = of->measured.step_s / of->simulated.step_s;
    struct extrapolation x = { .is_whole = is_whole, .compute_ratio = whole_ratio, .exchange_ratio = whole_ratio };

    if (!is_whole) {
        x.compute_ratio = of->measured.compute_s / of->simulated.compute_s;
        x.exchange_ratio = exchange_s(of->measured) / exchange_s(of->simulated);
    }
    x.step_s = x.compute_ratio * target.compute_s + x.exchange_ratio * exchange_s(target);
    return x;
}

/* X2: how many times as far the target is as this other size, at least once. */
static double n_distances(int other, int largest, int target)
{
    return fmax(1, log((double)target / largest) / log((double)largest / other));
}

struct extrapolation extrapolate(const struct size_times *used, size_t n, const struct size_target *target)
{
    const struct size_times *last = &used[n - 1];
    bool is_whole = false;
    struct extrapolation x;

    assert(n >= 1);
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole || !has_parts(used[i].simulated);
    x = by_size(last, target->simulated, is_whole);
    for (size_t i = 0; i + 1 < n; i++) {
        const double other_s = by_size(&used[i], target->simulated, is_whole).step_s;
        x.spread_log = fmax(x.spread_log, fabs(log(other_s / x.step_s)) *
                                              n_distances(used[i].n_workers, last->n_workers, target->n_workers));
    }
    x.drift_log = EXTRAPOLATE_DRIFT_RATIO * fabs(log(x.step_s / target->simulated.step_s)) *
                  log2((double)target->n_workers / last->n_workers);
    return x;
}

double extrapolate_band_log(const struct extrapolation *x, double launches_log, double calibration_log)
{
    return sqrt(x->spread_log * x->spread_log + x->drift_log * x->drift_log + launches_log * launches_log +
                calibration_log * calibration_log);
}
