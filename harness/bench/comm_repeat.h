/* SPDX-License-Identifier: Apache-2.0 */
/* comm_repeat.h - the state of a rank while it measures, and one repeat of a lane (bench.B1, B3, B4). */
#ifndef HARNESS_BENCH_COMM_REPEAT_H
#define HARNESS_BENCH_COMM_REPEAT_H

#include "harness/bench/comm_bench.h"
#include "harness/bench/comm_memory.h"
#include "harness/bench/comm_values.h"
#include "harness/world/world.h"

struct comm_repeats { /* for this rank */
    const struct comm_terms *terms;
    struct world *world;
    struct transport *line;              /* aligns ranks; NULL in virtual time, which uses world_barrier() */
    enum wait_policy wait, library_wait; /* of lanes in general; of lanes with COLL_THREADS (bench.B8) */
    bool is_virtual, is_hollow;
    struct comm_values values;
    struct compute *device; /* data starts and ends in its memory; NULL: no device */
    struct comm_memory own, shared, input, shared_input, walked, on_device;
    struct comm_rotation rotation; /* for the current size */
    size_t n_elems;                /* likewise */
    size_t rotated_bytes;          /* for this rank */
    size_t n_used;                 /* blocks used so far */
    uint64_t n_calls;              /* so far; each call has different values */
};

struct comm_repeat {
    struct comm_lane_state *lane;
    const struct comm_memory *memory, *input; /* of its results; of what it brings out of place */
    enum comm_placement placement;
    int n_calls; /* at most comm_repeat_most_calls() */
};

struct comm_repeat_result { /* on rank 0: of all ranks; elsewhere of this rank alone */
    double time_s;          /* per call */
    uint64_t n_wrong;
};

/* How ranks wait in the repeats of a lane (bench.B8). */
enum wait_policy comm_repeat_wait(const struct comm_repeats *r, const struct comm_lane *lane);
int comm_repeat_most_calls(const struct comm_repeats *r);
/* Is its result checked? */
bool comm_repeat_checks(const struct comm_repeats *r, const struct comm_repeat *of);
/* Collective. RC_NOMEM; those of the lane. */
enum rc comm_repeat_run(struct comm_repeat_result *out, struct comm_repeats *r,
                        const struct comm_repeat *of) MUST_CHECK;
/* Align ranks: all return as close together as messages allow. With world_barrier() alone (line NULL) they may wake up
 * 0.1 ms apart. Collective. Errors: those of the transport. */
enum rc comm_repeat_align(struct world *w, struct transport *line, int timeout_ms) MUST_CHECK;
/* Gather on rank 0 the longest time and the number of wrong elements. Collective. RC_NOMEM. */
enum rc comm_repeat_gather(struct comm_repeat_result *out, struct world *w,
                           const struct comm_repeat_result *own) MUST_CHECK;
/* *out on rank 0: the signal of the first rank that received one (world/stop.h); otherwise 0. Collective. RC_NOMEM. */
enum rc comm_repeat_signal(int *out, struct world *w) MUST_CHECK;

#endif
