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

struct extrapolation extrapolate(const struct size_times *used, size_t n, struct step_times target)
{
    bool is_whole = false;
    struct extrapolation x;

    assert(n >= 1);
    for (size_t i = 0; i < n; i++)
        is_whole = is_whole || !has_parts(used[i].simulated);
    x = by_size(&used[n - 1], target, is_whole);
    for (size_t i = 0; i + 1 < n; i++)
        x.spread_log = fmax(x.spread_log, fabs(log(by_size(&used[i], target, is_whole).step_s / x.step_s)));
    return x;
}

double extrapolate_band_log(double spread_log, double launches_log, double calibration_log)
{
    return sqrt(spread_log * spread_log + launches_log * launches_log + calibration_log * calibration_log);
}
