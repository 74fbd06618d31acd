/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_cost.h - the cost of an exchange for its worker, from when each chunk was exchanged and updated, and when
 * the worker waited.
 *
 * Invariants
 *   X1  waited = exposed exchanging (its wire, server and server's update) + exposed updating + idle time (a wake-up).
 *       Exchanging = exposed + hidden, exactly: exchanging during a wait of the worker is exposed, and counted once.
 *   X2  If several chunks are outstanding at once, the time counts for the oldest, which ends first. So exchanging is
 *       the time in which any chunk was outstanding (without overlap minus the caller's updates and copies). The time
 *       of its server on a chunk is split in the same proportion.
 */
#ifndef HARNESS_EXCHANGE_EXCHANGE_COST_H
#define HARNESS_EXCHANGE_EXCHANGE_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/exchange/exchange.h"
#include "harness/world/span.h"

struct chunk_times {       /* of one chunk in one step, on the worker's clock */
    uint64_t submitted_ns; /* its bucket was ready; without a timeline 0 */
    uint64_t start_ns;     /* its exchange began */
    uint64_t oldest_ns;    /* from then on no earlier chunk is outstanding (exchange.X2); start_ns, if one at a time */
    uint64_t exchanged_ns; /* it ended */
    uint64_t update_ns;    /* its update began */
    uint64_t applied_ns;
    struct chunk_cost at_server;
};

enum { N_WAITS_KEPT = 4 };

struct cost_account {
    struct exchange_cost sum;
    struct span wait[N_WAITS_KEPT]; /* the last ones, oldest first: no chunk overlaps more (one task exchanges); the
                                       last end_ns is UINT64_MAX while the worker waits */
    size_t n_waits;                 /* number kept */
};

void cost_reset(struct cost_account *a); /* zeroes the sums; keeps the waits */
void cost_wait_begin(struct cost_account *a, uint64_t now_ns);
void cost_wait_end(struct cost_account *a, uint64_t now_ns);
/* When the last wait began; is_end: when it ended. There was at least one. */
uint64_t cost_last_wait_ns(const struct cost_account *a, bool is_end);
/* A chunk has been exchanged and updated. updates_at_server: its update is part of the exchange. */
void cost_add_chunk(struct cost_account *a, const struct chunk_times *t, bool updates_at_server);

#endif
