/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.h - the costs of a collective on these machines: latency and rate of messages around the ring of all ranks,
 * rate of the memory, and a meeting of the ranks of a host.
 *
 * Model: t = msgs alpha + others o + bytes beta + memory_bytes gamma + meetings mu (after Hockney, Parallel Computing
 * 20, 1994). Of bytes and memory_bytes that take their time together (collective_cost) the longer time alone counts.
 * `others` is the number of messages that are not on the critical path, of all ranks. o is the time that one of them
 * costs the critical path, if ranks share processors. If ranks have separate processors and links, o is about 0.
 */
#ifndef ALLREDUCE_RATES_H
#define ALLREDUCE_RATES_H

#include "harness/exchange/collective.h"

struct rates {
    double alpha_s;            /* of a single message */
    double other_s;            /* o; 0 for two ranks, and in virtual time */
    double bytes_per_s;        /* 1 / beta: of a rank's link, while it receives at the same rate */
    double memory_bytes_per_s; /* 1 / gamma: while all ranks of the host read and write */
    double meeting_s;          /* mu; 0 if a rank is alone on its host, and in virtual time */
    bool adds_meanwhile;       /* processors add while messages are on their way: each rank has a host, or all have a
                                  simulated one */
};

/* Measured by all ranks at once on env's transport and compute. Each figure is that of the slowest rank, so it is equal
 * on all ranks. In virtual time, which this may not take, those of the simulated machines. Takes some tens of
 * milliseconds, on slow links more. Collective. Errors: those of transport and shares, RC_NOMEM. */
enum rc rates_measure(struct rates *out, const struct collective_env *env) MUST_CHECK;
/* Computes alpha_s and other_s from the times of an exchange of the smallest messages: of all n_ranks at once, each
 * with the next, and of two alone (NaN: not measured). Pure. */
void rates_of_messages(struct rates *out, double all_s, double two_s, int n_ranks);
/* n_others: messages not on the path. Pure. */
double rates_time_s(const struct rates *r, const struct collective_cost *path, uint64_t n_others);

#endif
