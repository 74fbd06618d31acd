/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_runs.c - memory that one rank takes in runs of units, for messages that another rank reads in place and gives
 * back in any order; see unit_runs.h.
 */
#include "harness/net/unit_runs.h"

void unit_runs_init(struct unit_runs *r, struct unit_runs_shared *shared, size_t unit_bytes)
{
    *r = (struct unit_runs){ .shared = shared, .unit_bytes = unit_bytes };
}

static uint64_t units_of(int first, size_t n_units)
{
    return (n_units == N_UNITS ? UINT64_MAX : (UINT64_C(1) << n_units) - 1) << first;
}

static void take_back(struct unit_runs *r)
{
    if (atomic_load_explicit(&r->shared->given, memory_order_relaxed) == 0)
        return;
    uint64_t given = atomic_exchange_explicit(&r->shared->given, 0, memory_order_acquire); /* net.U2 */

    for (int i = 0; given != 0; i++, given >>= 1)
        if (given & 1)
            r->used &= ~units_of(i, r->n_units[i]);
}

int unit_runs_take(struct unit_runs *r, size_t n_bytes)
{
    const size_t n = n_bytes / r->unit_bytes + (n_bytes % r->unit_bytes != 0);

    if (n == 0 || n > N_UNITS)
        return -1;
    take_back(r);
    for (int i = 0; i + (int)n <= N_UNITS; i++)
        if ((r->used & units_of(i, n)) == 0) {
            r->used |= units_of(i, n); /* net.U1 */
            r->n_units[i] = (uint8_t)n;
            return i;
        }
    return -1;
}

void unit_runs_give(struct unit_runs_shared *shared, int first)
{
    (void)atomic_fetch_or_explicit(&shared->given, UINT64_C(1) << first, memory_order_release); /* net.U2 */
}
