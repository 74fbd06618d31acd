/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_bench.h - measures push, pull, and both, between the workers and servers of ps/, and the bound of the connection,
 * side by side.
 *
 * Invariants
 *   -   The measured code is ps/ as in runs: a worker calls ps_post() and ps_complete(), a server serves, and applies
 *       pushes as plain SGD. Consistency is async.
 *   N2  A call moves one array per worker, in chunks, as many at once as ps allows; each chunk is on all servers, in
 *       equal parts. A repeat is a number of consecutive calls (one long call, or as many short calls as take about 2
 *       ms), started by all workers at once. Its time is the slowest worker's. Goodput: bytes of the array x workers /
 *       time; a byte that is sent and comes back counts once.
 *   N3  Repeats of push, pull, push and pull, and of the bound (ps_echo.h) alternate, and the first one changes.
 *   N4  Latency is the time of a call, over every call of every worker except warm-up.
 *   N5  Received values are checked, if there is data. Each push subtracts 1 from each parameter. So a pull by the only
 *       worker returns the number of its pushes; with several workers, a number between its own pushes and those of
 *       all. After the last call worker 0 fetches the servers' parameters, which must match all pushes. Not timed.
 *   N6  Arrays rotate as in comm_memory.h: call i uses block i of the model, which has all blocks.
 *   -   In virtual time a repeat is one call, there are SERIES_SIM_REPEATS, and there is no warm-up.
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

struct ps_terms {          /* equal on all ranks, except progress; borrowed */
    struct comm_plan plan; /* its series: lanes */
    int n_workers, n_servers;
    size_t partition_bytes; /* maximum size of a chunk; 0: the array is one chunk */
    const struct transport_ops *transport;
    int timeout_ms;
    size_t rotated_bytes; /* bench.N6, per host */
};

struct ps_figure {
    double time_s, low_s, high_s; /* per call: median over repeats, and its interval (measure/robust.h) */
    double p50_s, p99_s;          /* bench.N4 */
    uint64_t n_latencies;
    int n_repeats, n_calls; /* n_calls: per repeat */
};

struct ps_row {     /* for one size */
    size_t n_bytes; /* as measured: a whole number of floats in each part */
    size_t n_chunks;
    struct ps_figure figure[PS_N_LANES];
    uint64_t n_wrong; /* elements, over all workers and calls */
    bool is_checked;
};

struct ps_results {     /* on rank 0 */
    struct ps_row *row; /* owned */
    int n_rows, n_hosts, n_in_flight;
    bool is_virtual, is_hollow;
    enum ps_echo_kind bound;
    const char *encryption; /* transport_encryption(), of bound and server; NULL: virtual time */
    size_t rotated_bytes;   /* per rank */
    struct comm_end end;
};

/* How an array of n_bytes is divided: elements of a part, equal for all servers and chunks. Pure. */
struct ps_cut {
    size_t n_chunks, n_part_elems;
};
struct ps_cut ps_cut_of(const struct ps_terms *terms, size_t n_bytes);
/* Upper bound of the bytes on a rank. Pure. */
size_t ps_bench_bytes(const struct ps_terms *terms, int n_host_ranks);

/* A signal or the end of the budget leaves fewer sizes, noted in out. Collective. Errors: RC_NOMEM; those of transports
 * and of ps. Also after an error out holds what was measured; free it with ps_results_close(). */
enum rc ps_bench(struct ps_results *out, struct world *w, struct compute *compute,
                 const struct ps_terms *terms) MUST_CHECK;
void ps_results_close(struct ps_results *r); /* accepts zeroed ones */

#endif
