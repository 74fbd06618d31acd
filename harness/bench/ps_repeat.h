/* SPDX-License-Identifier: Apache-2.0 */
/* ps_repeat.h - the state of a rank while it measures a parameter server (ps_bench.h), and one repeat. */
#ifndef HARNESS_BENCH_PS_REPEAT_H
#define HARNESS_BENCH_PS_REPEAT_H

#include "harness/base/arena.h"
#include "harness/bench/comm_memory.h"
#include "harness/bench/comm_repeat.h"
#include "harness/bench/ps_bench.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/placement.h"
#include "harness/measure/histogram.h"

struct sync;

struct ps_repeats { /* for this rank */
    const struct ps_terms *terms;
    struct world *world;
    struct compute *compute;
    bool is_virtual, is_hollow;
    size_t rotated_bytes;      /* for this rank */
    struct world *workers;     /* NULL: this is a server */
    struct transport *line;    /* aligns workers; NULL: a single one, or in virtual time */
    struct histogram *latency; /* a worker's: [PS_N_LANES] */
    /* For the current size: */
    struct ps_cut cut;
    size_t n_blocks;
    struct buckets buckets;
    struct placement placement;
    struct transport *transport;
    struct sync *sync;
    struct ps_echo *echo;
    struct arena arena;
    float *param, *grad; /* a worker's, for the model; NULL: no data, or a server */
    uint64_t *n_pushed;  /* [n_blocks]: by this worker */
    uint64_t n_used;     /* calls so far; blocks rotate by it */
    uint64_t n_wrong;
};

struct ps_latency {
    double p50_s, p99_s;
    uint64_t n_values;
};

/* Call once, before the first size. Collective over world. r->terms, world, ... are set. */
enum rc ps_repeats_begin(struct ps_repeats *r) MUST_CHECK;
void ps_repeats_finish(struct ps_repeats *r);
/* Open for one size. Collective over world; can be closed after an error. */
enum rc ps_repeats_open(struct ps_repeats *r, int size) MUST_CHECK;
void ps_repeats_close(struct ps_repeats *r);
/* Server: serve until all workers have ended. */
enum rc ps_repeats_serve(struct ps_repeats *r) MUST_CHECK;

/* --- workers, collective over them --- */

/* *time_s: time of a call, of the slowest worker; on worker 0. */
enum rc ps_repeat_run(double *time_s, struct ps_repeats *r, enum ps_lane lane, int n_calls, bool is_kept) MUST_CHECK;
/* bench.N4, over all workers, on worker 0. */
enum rc ps_repeats_latency(struct ps_latency *out, struct ps_repeats *r, enum ps_lane lane) MUST_CHECK;
/* End the calls of this size. *n_wrong: over all workers, on worker 0. */
enum rc ps_repeats_end(uint64_t *n_wrong, struct ps_repeats *r) MUST_CHECK;
/* Bytes of the array of a call. */
size_t ps_repeats_call_bytes(const struct ps_repeats *r);

#endif
