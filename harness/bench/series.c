/* SPDX-License-Identifier: Apache-2.0 */
/*
 * series.c - the times of one repeated short measurement: how often it is repeated, and which time counts; see
 * series.h.
 */
#include "harness/bench/series.h"

#include <assert.h>
#include <stdlib.h>

#include "harness/measure/sorted.h"

enum { N_COLD = 1, MIN_REPEATS = 3, MIN_LONG_REPEATS = 2 };

#define SHARE_NS UINT64_C(60000000)
#define LONG_NS UINT64_C(1000000000)

static bool is_virtual(const struct world *w)
{
    return w->ops->module.caps & WORLD_VIRTUAL_TIME;
}

struct series series_begin(struct world *w)
{
    return (struct series){ .n_cold = is_virtual(w) ? 0 : N_COLD, .started_ns = world_now_ns(w) };
}

bool series_wants_more(const struct series *s, struct world *w)
{
    if (is_virtual(w))
        return s->n_values < SERIES_SIM_REPEATS;
    if (s->n_values < MIN_LONG_REPEATS)
        return true;
    const uint64_t spent_ns = world_now_ns(w) - s->started_ns;
    if (s->n_values < MIN_REPEATS)
        return spent_ns < LONG_NS;
    return s->n_values < SERIES_MAX_REPEATS && spent_ns < SHARE_NS;
}

void series_add(struct series *s, struct world *w, uint64_t started_ns)
{
    const uint64_t now_ns = world_now_ns(w);

    s->n_repeats++;
    if (s->n_cold > 0) {
        s->n_cold--;
        s->started_ns = now_ns;
        return;
    }
    assert(s->n_values < SERIES_MAX_REPEATS);
    s->value_s[s->n_values++] = (double)(now_ns - started_ns) * 1e-9;
}

double series_quantile_s(struct series *s, double quantile_ratio)
{
    sorted_make(s->value_s, (size_t)s->n_values);
    return s->value_s[(int)((double)(s->n_values - 1) * quantile_ratio)];
}
