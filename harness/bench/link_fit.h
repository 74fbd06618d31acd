/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_fit.h - latency, rate and overhead of a class of links, from the times that pairs of ranks measured on them
 * (link_bench.h). Pure.
 *
 * For each size the median over pairs counts, and for a pair the median of its repeats: usual times, not the least
 * possible. One-way times follow t(n) = alpha + beta n (Hockney, Parallel Computing 20, 1994), fitted by line_fit.h. k
 * small messages, posted at once and answered when all have arrived, take g k longer than the wire needs. Each occupies
 * its sender, and its receiver, for g (LogGP's gap, Alexandrov et al., SPAA 1995; the simulator charges it at both ends
 * as message_s). If g is no more than the bytes need on the wire, there is no overhead.
 */
#ifndef HARNESS_BENCH_LINK_FIT_H
#define HARNESS_BENCH_LINK_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/bench/line_fit.h"

enum { LINK_N_SIZES = 12, LINK_N_BURSTS = 5 };

struct pair_times {
    int from, to;                                                             /* ranks; `from` measured */
    double low_s[LINK_N_SIZES], median_s[LINK_N_SIZES], high_s[LINK_N_SIZES]; /* one way; quartiles of the repeats */
    double burst_s[LINK_N_BURSTS];                                            /* median, until the answer arrives */
    double both_s; /* for the longest message, both directions at once: the mean */
};

struct link_fit {
    int n_pairs;                                           /* 0: not measured, the rest is 0 */
    double median_s[LINK_N_SIZES], burst_s[LINK_N_BURSTS]; /* over pairs */
    struct line_fit message, burst;                        /* one way of n bytes; k messages and an answer */
    double alpha_s;
    double message_s;  /* time that a message occupies either end; 0: none was found. At most half of alpha_s */
    bool is_capped;    /* message_s was limited to that */
    double both_ratio; /* median over pairs: slowdown of the longest message while another one comes back */
    bool both_waits;   /* in this transport two exchanging ranks wait for each other: both_ratio is not the link's */
    int n_ring_hosts;  /* 0: measured in pairs; else in a ring of these hosts, each receiving from the previous host */
    struct pair_times slowest, fastest; /* by their longest messages */
    bool differs;                       /* these two differ by more than the repeats of one: a link is slow */
};

/* 4, 16, ... 16 Mi */
size_t link_size_bytes(int i);
/* 4, 8, ... 64 messages of 4 bytes */
int link_burst_messages(int i);
/* Rate of a link in both directions together, over its rate in one direction, by the longest messages: two times n
 * bytes in the time after alpha. 2: full duplex, or within 5 % of it, the variation of repeats; below 1: less than one
 * direction after the other; NaN: not known. */
double link_fit_duplex_ratio(const struct link_fit *f);
/* pair[n_pairs]. RC_NOMEM. */
enum rc link_fit_of(struct link_fit *out, const struct pair_times *pair, int n_pairs) MUST_CHECK;

#endif
