/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_bench.h - measures collectives of several algorithms, and the limits of the machine, side by side.
 *
 * Invariants
 *   B1  A repeat is a number of consecutive calls (one long call, or as many short calls as take about 1 ms), started
 *       by all ranks at once. Its time is that of the slowest rank, by the ranks' common clock, divided by the number
 *       of calls.
 *   B2  Repeats of all lanes alternate, and so do in place and out of place: a disturbance affects neighbouring lanes
 *       alike. The first lane changes from turn to turn.
 *   B3  Every element of every call of every repeat is checked, except for a barrier, a ceiling, and without data. In
 *       hot memory only the result of a repeat's last call is checked. Checking and filling are not timed.
 *   B4  Memory rotates (comm_memory.h): no call finds its data in a cache smaller than rotated_bytes, neither from an
 *       earlier call nor from filling. rotated_bytes 0: the same memory every time (hot).
 *   -   In virtual time a repeat is one call, and there are SERIES_SIM_REPEATS. Sums and ceilings are charged, and so
 *       are the copies of types other than allreduce out of place.
 *   B6  The memory ceiling is measured on the blocks that ranks share, if any lane has its data there, else on private
 *       blocks. So the kind of memory makes no difference between it and the algorithms that can reach it.
 *   B7  With a compute whose memory the host cannot access (a GPU), data starts and ends there, in place. A lane with
 *       COLL_DEVICE works on it directly; other lanes' copies from and to host memory count. Each rank needs its own
 *       GPU (RC_INVAL). There is no ceiling then. The caches of a GPU are only emptied by rotating blocks.
 *   B8  Ranks wait by the world's policy. Exception: ranks of a lane with COLL_THREADS sleep if waits_as_it_suits is
 *       set and the library's threads have no free core. The library's own benchmark runs that way.
 */
#ifndef HARNESS_BENCH_COMM_BENCH_H
#define HARNESS_BENCH_COMM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/host_memory.h"
#include "harness/bench/comm_lane.h"
#include "harness/bench/comm_pace.h"

enum { COMM_MOST_LANES = 16 };

enum comm_placement { COMM_IN_PLACE, COMM_OUT_OF_PLACE, COMM_N_PLACEMENTS };
enum comm_memory_choice {
    COMM_MEMORY_AUTO, /* shared by a host's ranks if an algorithm can use that (COLL_SHARED), else private */
    COMM_MEMORY_PRIVATE,
    COMM_MEMORY_SHARED
};

struct comm_terms {        /* equal on all ranks, except progress; borrowed */
    struct comm_plan plan; /* its series: lanes and placements */
    enum comm_type type;
    int root; /* broadcast */
    const struct comm_lane *lane;
    int n_lanes; /* at most COMM_MOST_LANES */
    const struct transport_ops *transport;
    int timeout_ms;
    size_t rotated_bytes; /* bench.B4, of a host */
    enum comm_memory_choice memory;
    bool out_of_place;      /* measure out of place too */
    bool waits_as_it_suits; /* lanes of a library with threads sleep if its threads need the cores (bench.B8) */
    bool leaves_out; /* skip a lane that cannot open for these ranks (RC_UNSUPPORTED, RC_INVAL); false: an error */
};

struct comm_figure {
    double time_s, low_s, high_s; /* median, and its interval (measure/robust.h) */
    int n_repeats;                /* 0: not measured */
    uint64_t n_wrong;             /* elements, over all ranks and repeats */
    bool is_checked;
};

struct comm_row { /* one lane at one size */
    int lane;     /* n_lanes: the ceiling */
    size_t n_bytes;
    int n_calls;                                  /* per repeat */
    char reason[COMM_EXPLAIN_BYTES];              /* of a reducer that chooses: its choice, and why; else "" */
    struct comm_figure figure[COMM_N_PLACEMENTS]; /* sendrecv: out of place; ceiling, barrier: in place */
};

struct comm_results {     /* on rank 0 */
    struct comm_row *row; /* size by size, lane by lane, the ceiling last; owned */
    int n_rows, n_lanes, n_ranks, n_hosts;
    bool is_virtual, is_hollow, has_ceiling, is_on_device; /* bench.B7 */
    enum comm_lane_kind ceiling;                           /* ONE_PASS: all ranks share memory; EXCHANGE: they do not */
    int n_link_streams;                  /* its streams from one host to others at once; maximum over hosts */
    bool is_shared[COMM_MOST_LANES + 1]; /* is the memory of a lane shared? */
    bool spins[COMM_MOST_LANES + 1];     /* do the ranks of a lane spin while they wait? */
    bool threads_have_cores;             /* a library's threads, in addition to the ranks (exchange.A11) */
    enum pages pages;                    /* of that memory; of shared memory if there is any */
    size_t rotated_bytes;                /* per rank */
    int n_sizes_done;
    struct comm_end end;
    char why_not[COMM_MOST_LANES][COMM_REASON_BYTES]; /* why a lane was skipped; "": it was not */
};

/* compute: with the host's memory, a device's (bench.B7), or no data. A signal or the end of the budget leaves fewer
 * sizes, noted in out. Collective. Errors: RC_NOMEM; those of transports and collectives. Also after an error out holds
 * what was measured; free it with comm_results_close(). */
enum rc comm_bench(struct comm_results *out, struct world *w, struct compute *compute,
                   const struct comm_terms *terms) MUST_CHECK;
void comm_results_close(struct comm_results *r); /* accepts zeroed ones */
/* The ceiling's row of the same size; NULL: not measured. */
const struct comm_row *comm_results_ceiling(const struct comm_results *r, size_t n_bytes);
/* The factor from a row's algbw to busbw. It applies to the ceiling of links too: each link carries n_link_streams
 * messages at once. An optimal algorithm sends the bytes of a host's ranks over the link as if they were one rank. So
 * the factor is that of h hosts, not of n ranks. On one host each rank has a link: 1. */
double comm_results_bus_factor(const struct comm_results *r, enum comm_type type, const struct comm_row *row);
/* The main placement of a row: in place, if that was measured. */
enum comm_placement comm_row_main(const struct comm_row *row);
/* Upper bound of the bytes that comm_bench() takes on each rank. Pure. */
size_t comm_bench_bytes(const struct comm_terms *terms, int n_host_ranks);

#endif
