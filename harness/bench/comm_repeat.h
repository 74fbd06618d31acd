/* SPDX-License-Identifier: Apache-2.0 */
/* comm_repeat.h - what a rank holds while it measures, and one repeat of a lane (comm_bench.B1, B3, B4). */
#ifndef HARNESS_BENCH_COMM_REPEAT_H
#define HARNESS_BENCH_COMM_REPEAT_H

#include "harness/bench/comm_bench.h"
#include "harness/bench/comm_memory.h"
#include "harness/bench/comm_values.h"
#include "harness/world/world.h"

struct comm_repeats { /* of this rank */
    const struct comm_terms *terms;
    struct world *world;
    struct transport *line;              /* aligns ranks; NULL in virtual time, where world_barrier() does */
    enum wait_policy wait, library_wait; /* of lanes; of those with COLL_THREADS (B8) */
    bool is_virtual, is_hollow;
    struct comm_values values;
    struct compute *device; /* in whose memory data begins and ends; NULL: none */
    struct comm_memory own, shared, input, walked, on_device;
    struct comm_rotation rotation; /* of the size at hand */
    size_t n_elems;                /* likewise */
    size_t rotated_bytes;          /* of this rank */
    size_t n_used;                 /* blocks so far */
    uint64_t n_calls;              /* so far: no two bring the same */
};

struct comm_repeat {
    struct comm_lane_state *lane;
    const struct comm_memory *memory; /* of its results */
    enum comm_placement placement;
    int n_calls; /* at most comm_repeat_most_calls() */
};

struct comm_repeat_result { /* of rank 0; elsewhere of this rank alone */
    double time_s;          /* of a call */
    uint64_t n_wrong;
};

/* How ranks wait in the repeats of a lane (B8). */
enum wait_policy comm_repeat_wait(const struct comm_repeats *r, const struct comm_lane *lane);
int comm_repeat_most_calls(const struct comm_repeats *r);
/* Is what it leaves checked? */
bool comm_repeat_checks(const struct comm_repeats *r, const struct comm_repeat *of);
/* Collective. RC_NOMEM; those of the lane. */
enum rc comm_repeat_run(struct comm_repeat_result *out, struct comm_repeats *r,
                        const struct comm_repeat *of) MUST_CHECK;
/* All ranks leave as nearly at once as messages allow: world_barrier() alone, which it is where line is NULL, may wake
 * them 0.1 ms apart. Collective. Those of the transport. */
enum rc comm_repeat_align(struct world *w, struct transport *line, int timeout_ms) MUST_CHECK;
/* The longest time and all that is wrong, of rank 0. Collective. RC_NOMEM. */
enum rc comm_repeat_gather(struct comm_repeat_result *out, struct world *w,
                           const struct comm_repeat_result *own) MUST_CHECK;
/* *out of rank 0: the signal of the first rank that has one (world/stop.h); elsewhere and else 0. Collective. RC_NOMEM.
 */
enum rc comm_repeat_signal(int *out, struct world *w) MUST_CHECK;

#endif
