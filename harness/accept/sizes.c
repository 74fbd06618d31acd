/* SPDX-License-Identifier: Apache-2.0 */
/* sizes.c - repeats of a rate at the sizes that criteria list, for collectives and for servers; see sizes.h. */
#include "harness/accept/sizes.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/text.h"
#include "harness/measure/interval.h"
#include "harness/measure/sorted.h"

#define NARROW_RATIO 0.02 /* half an interval, over the mean, that more repeats need not narrow */

enum rc sizes_parse(size_t out[ACCEPT_MAX_SIZES], int *n, const char *list)
{
    const char *rest = list;
    char word[32];

    *n = 0;
    while (list[0] && text_next(&rest, word, sizeof word)) {
        uint64_t n_bytes;
        if (!text_to_u64(word, &n_bytes) || n_bytes < sizeof(float) || n_bytes % sizeof(float) != 0 ||
            n_bytes > (UINT64_C(1) << 40))
            return rc_raise(RC_INVAL, "\"%s\" in %s: is no size in bytes; use a multiple of 4, such as 1048576", word,
                            list);
        if (*n == ACCEPT_MAX_SIZES)
            return rc_raise(RC_INVAL, "%s: has more than %d sizes", list, ACCEPT_MAX_SIZES);
        out[(*n)++] = (size_t)n_bytes;
    }
    return *n > 0 ? RC_OK : rc_raise(RC_INVAL, "\"%s\": names no size", list);
}

struct sized_rate repeats_rate(const struct repeats *r, size_t n_bytes, double factor_bytes)
{
    const struct interval rate = interval_reciprocal(interval_of_launches(r->took_s, (size_t)r->n), factor_bytes);

    return (struct sized_rate){ .n_bytes = n_bytes,
                                .bytes_per_s = rate.mean,
                                .low_bytes_per_s = rate.low,
                                .high_bytes_per_s = rate.high,
                                .bound_ratio = NAN,
                                .n_repeats = r->n };
}

bool repeats_open(const struct repeats *r, const struct criteria *c)
{
    const struct interval i = interval_of_launches(r->took_s, (size_t)r->n);

    if (r->n >= c->most_repeats_count)
        return false;
    return r->n < c->least_repeats_count || !(i.high - i.low <= 2 * NARROW_RATIO * i.mean);
}

double sizes_link_rate(const struct tournament *t, int from, int to)
{
    double rate[ACCEPT_MAX_REPEATS];
    int n = 0;

    for (int i = 0; i < t->n_repeats && i < ACCEPT_MAX_REPEATS; i++) {
        const double r = *tournament_rate(t, i, from, to);
        if (!isnan(r))
            rate[n++] = r;
    }
    if (n == 0)
        return NAN;
    sorted_make(rate, (size_t)n);
    return n % 2 == 1 ? rate[n / 2] : 0.5 * (rate[n / 2 - 1] + rate[n / 2]);
}

double sizes_slowest_link(const struct tournament *t)
{
    double slowest = NAN;

    for (int from = 0; t->n_repeats > 0 && from < t->n_nodes; from++)
        for (int to = 0; to < t->n_nodes; to++)
            if (from != to)
                slowest = fmin(slowest, sizes_link_rate(t, from, to)); /* of NaN and a number: the number */
    return slowest;
}

enum rc sizes_slowest_rank(double *out, struct world *w, double own_s)
{
    double *all_s = w->rank == 0 ? malloc((size_t)w->n_ranks * sizeof *all_s) : NULL;
    enum rc rc = RC_OK;

    *out = own_s;
    if (w->rank == 0 && !all_s)
        FAIL(RC_NOMEM, "no memory for the times of %d ranks", w->n_ranks);
    TRY(world_gather(w, &own_s, all_s, sizeof own_s));
    for (int r = 0; all_s && r < w->n_ranks; r++)
        *out = all_s[r] > *out ? all_s[r] : *out;
out:
    free(all_s);
    return rc;
}
