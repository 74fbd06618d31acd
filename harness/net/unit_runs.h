/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_runs.h - memory that one rank takes in runs of units, for messages that another rank reads in place and gives
 * back in any order. Private to transport shm. Cannot fail.
 *
 * Invariants
 *   U1  No unit is in two runs at once. A run is used from unit_runs_take() until it was given back, once.
 *   U2  The reader's accesses to a run, until it gave it back, have ended before the owner takes its units again.
 *   -   One thread takes, one gives back; neither waits. The lowest free run is taken: it is in the caches.
 */
#ifndef HARNESS_NET_UNIT_RUNS_H
#define HARNESS_NET_UNIT_RUNS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { N_UNITS = 64 };

struct unit_runs_shared {                /* zeroed: no run was given back */
    _Alignas(64) _Atomic uint64_t given; /* a bit for the first unit of each run that was given back */
};

struct unit_runs { /* of the owner */
    struct unit_runs_shared *shared;
    size_t unit_bytes;
    uint64_t used;            /* units */
    uint8_t n_units[N_UNITS]; /* of the run that starts there, while it is used */
};

void unit_runs_init(struct unit_runs *r, struct unit_runs_shared *shared, size_t unit_bytes);
/* The first unit of a run of n_bytes or more; -1: none. */
int unit_runs_take(struct unit_runs *r, size_t n_bytes);
/* Called by the reader. */
void unit_runs_give(struct unit_runs_shared *shared, int first);

#endif
