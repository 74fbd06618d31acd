/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_bench.h - collectives of several algorithms, and what the machine allows them, measured side by side.
 *
 * Invariants
 *   B1  A repeat is some calls one after the other (one, of long ones; as many as take about 1 ms, of short ones),
 *       begun by all ranks at once. Its time is that of the slowest rank, by the clock that the ranks have in common,
 *       over the number of calls.
 *   B2  Repeats of all lanes take turns, and so do in place and out of place: what disturbs one disturbs its
 *       neighbours. Who begins changes from turn to turn.
 *   B3  Every element of every call of every repeat is checked, but for a barrier, a ceiling, and where memory is
 *       hollow; of hot memory what the last call of a repeat leaves. What is checked is not timed, nor is what fills.
 *   B4  Memory rotates (comm_memory.h): no call finds its data in a cache that holds less than rotated_bytes, neither
 *       from an earlier call nor from being filled. rotated_bytes 0: the same memory again and again, hot.
 *   B5  In virtual time a repeat is one call, there are SERIES_SIM_REPEATS, and the copy of out of place, sums and
 *       ceilings are charged.
 *   B6  The ceiling of memory is of the blocks that ranks share, where any lane has its data there, else of private
 *       ones: between it and the algorithms that can reach it the kind of memory makes no difference.
 *   B7  With a compute whose memory the host cannot reach, a GPU's, data begins and ends there, in place: a lane with
 *       COLL_DEVICE works on it, the copies that others need from and to the host's memory count. Each rank has one of
 *       its own (RC_INVAL). Nothing is a ceiling then, and no cache of a GPU is emptied but by blocks in turn.
 *   B8  Ranks wait as the world's policy says; those of a lane with COLL_THREADS sleep, where waits_as_it_suits and
 *       there is no core for the threads of the library: that is how the library's own benchmark runs.
 */
#ifndef HARNESS_BENCH_COMM_BENCH_H
#define HARNESS_BENCH_COMM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/pages.h"
#include "harness/bench/comm_lane.h"
#include "harness/bench/comm_pace.h"

enum { COMM_MOST_LANES = 16 };

enum comm_placement { COMM_IN_PLACE, COMM_OUT_OF_PLACE, COMM_N_PLACEMENTS };
enum comm_memory_choice {
    COMM_MEMORY_AUTO, /* shared by a host's ranks where an algorithm can use that (COLL_SHARED), else private */
    COMM_MEMORY_PRIVATE,
    COMM_MEMORY_SHARED
};

struct comm_terms {        /* the same on all ranks, but for progress; borrowed */
    struct comm_plan plan; /* its series: lanes and placements */
    enum comm_type type;
    int root; /* broadcast */
    const struct comm_lane *lane;
    int n_lanes; /* at most COMM_MOST_LANES */
    const struct transport_ops *transport;
    int timeout_ms;
    size_t rotated_bytes; /* B4, of a host */
    enum comm_memory_choice memory;
    bool out_of_place;      /* that, too */
    bool waits_as_it_suits; /* lanes of a library with threads of its own sleep where these need the cores (B8) */
    bool leaves_out; /* a lane that does not open for these ranks (RC_UNSUPPORTED, RC_INVAL) is left out, else an error
                      */
};

struct comm_figure {
    double time_s, low_s, high_s; /* median, and its interval (measure/median.h) */
    int n_repeats;                /* 0: not measured */
    uint64_t n_wrong;             /* elements, over all ranks and repeats */
    bool is_checked;
};

struct comm_row { /* of one lane at one size */
    int lane;     /* n_lanes: the ceiling */
    size_t n_bytes;
    int n_calls;                                  /* of a repeat */
    char reason[COMM_EXPLAIN_BYTES];              /* of a reducer that chooses: what it took, and why; "": of others */
    struct comm_figure figure[COMM_N_PLACEMENTS]; /* sendrecv: out of place; ceiling, barrier: in place */
};

struct comm_results {     /* of rank 0 */
    struct comm_row *row; /* size by size, lane by lane, the ceiling last; owned */
    int n_rows, n_lanes, n_ranks, n_hosts;
    bool is_virtual, is_hollow, has_ceiling, is_on_device; /* B7 */
    enum comm_lane_kind ceiling;                           /* ONE_PASS: all ranks share a host; EXCHANGE: they do not */
    int n_link_streams;                  /* of that: from one host to others at once, of the host that has most */
    bool is_shared[COMM_MOST_LANES + 1]; /* the memory of a lane */
    bool spins[COMM_MOST_LANES + 1];     /* the ranks of a lane, while they wait */
    bool threads_have_cores;             /* those of a library, beside the ranks (collective.A11) */
    enum pages pages;                    /* of that memory; of shared memory where any is */
    size_t rotated_bytes;                /* of each rank */
    int n_sizes_done;
    struct comm_end end;
    char why_not[COMM_MOST_LANES][COMM_REASON_BYTES]; /* a lane is left out; "": it is not */
};

/* compute: of the host's memory, of a device's (B7), or hollow. Fewer sizes where a signal came or the budget ended:
 * out says so. Collective. RC_NOMEM; those of transports and collectives. out holds what was measured before an error,
 * too; comm_results_close(). */
enum rc comm_bench(struct comm_results *out, struct world *w, struct compute *compute,
                   const struct comm_terms *terms) MUST_CHECK;
void comm_results_close(struct comm_results *r); /* of zeroed ones, too */
/* The ceiling's row of the same size; NULL: none was measured. */
const struct comm_row *comm_results_ceiling(const struct comm_results *r, size_t n_bytes);
/* What a row's algbw is multiplied by. Of the ceiling of links, too: each carries n_link_streams messages at once, and
 * an algorithm whose bytes cross no link more often than they must has all bytes of a host's ranks cross it as if they
 * were one rank: among h hosts, not n ranks. */
double comm_results_bus_factor(const struct comm_results *r, enum comm_type type, const struct comm_row *row);
/* The one that a row is told by: in place, where that was measured. */
enum comm_placement comm_row_main(const struct comm_row *row);
/* Bytes that comm_bench() takes on each rank, at most. Pure. */
size_t comm_bench_bytes(const struct comm_terms *terms, int n_host_ranks);

#endif
