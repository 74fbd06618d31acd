/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_bench.h - push, pull, and both, between the workers and servers of ps/, and what the way between them allows,
 * measured side by side.
 *
 * Invariants
 *   N1  What is measured is ps/ as runs have it: a worker calls ps_post() and ps_end(), a server serves, and applies
 *       what is pushed as plain SGD. Consistency is async.
 *   N2  A call moves an array of each worker, in pieces, as many at once as ps lets; each piece is on all servers, in
 *       equal parts. A repeat is some calls one after the other (one, of long ones; as many as take about 2 ms, of
 *       short ones), begun by all workers at once; its time is the slowest worker's. Goodput: bytes of the array x
 *       workers / time; a byte that goes up and comes back counts once.
 *   N3  Repeats of push, pull, push and pull, and of the bound (ps_echo.h) take turns, and who begins changes.
 *   N4  Latency is the time of a call, of every one of every worker but for those that warm up.
 *   N5  What comes is checked, where memory is not hollow: each push takes 1 of each parameter, so a pull by the only
 *       worker brings as many as it pushed, and one among others between its own pushes and those of all; behind the
 *       last call worker 0 fetches what the servers hold, which is what all pushed. Not timed.
 *   N6  Arrays rotate as comm_memory.h says: call i has block i of the model, which has all blocks.
 *   N7  In virtual time a repeat is one call, there are SERIES_SIM_REPEATS, and nothing warms up.
 */
#ifndef HARNESS_BENCH_PS_BENCH_H
#define HARNESS_BENCH_PS_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/bench/comm_pace.h"
#include "harness/bench/ps_echo.h"

enum ps_lane { PS_LANE_PUSH, PS_LANE_PULL, PS_LANE_PUSH_PULL, PS_LANE_BOUND, PS_N_LANES };

struct compute;

struct ps_terms {          /* the same on all ranks, but for progress; borrowed */
    struct comm_plan plan; /* its series: lanes */
    int n_workers, n_servers;
    size_t partition_bytes; /* of a piece at most; 0: the array is one */
    const struct transport_ops *transport;
    int timeout_ms;
    size_t rotated_bytes; /* N6, of a host */
};

struct ps_figure {
    double time_s, low_s, high_s; /* of a call: median over repeats, and its interval (measure/median.h) */
    double p50_s, p99_s;          /* N4 */
    uint64_t n_latencies;
    int n_repeats, n_calls; /* n_calls: of a repeat */
};

struct ps_row {     /* of a size */
    size_t n_bytes; /* as measured: a whole number of floats in each part */
    size_t n_pieces;
    struct ps_figure figure[PS_N_LANES];
    uint64_t n_wrong; /* elements, over all workers and calls */
    bool is_checked;
};

struct ps_results {     /* of rank 0 */
    struct ps_row *row; /* owned */
    int n_rows, n_hosts, n_in_flight;
    bool is_virtual, is_hollow;
    enum ps_echo_kind bound;
    const char *encryption; /* transport_encryption(), of the bound as of the server; NULL: virtual time */
    size_t rotated_bytes;   /* of each rank */
    struct comm_end end;
};

/* How an array of n_bytes is cut: elements of a part, so that servers and pieces have equal ones. Pure. */
struct ps_cut {
    size_t n_pieces, n_part_elems;
};
struct ps_cut ps_cut_of(const struct ps_terms *terms, size_t n_bytes);
/* Of a rank, at most. Pure. */
size_t ps_bench_bytes(const struct ps_terms *terms, int n_host_ranks);

/* Fewer sizes where a signal came or the budget ended: out says so. Collective. RC_NOMEM; those of transports and of
 * ps. out holds what was measured before an error, too; ps_results_close(). */
enum rc ps_bench(struct ps_results *out, struct world *w, struct compute *compute,
                 const struct ps_terms *terms) MUST_CHECK;
void ps_results_close(struct ps_results *r); /* of zeroed ones, too */

#endif
