/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.h - what the costs of a collective take on these machines: latency and rate of messages around the ring of all
 * ranks, rate of the memory, and a meeting of the ranks of a host.
 *
 * Model: t = msgs alpha + others o + bytes beta + memory_bytes gamma + meetings mu (after Hockney, Parallel Computing
 * 20, 1994), with `others` the messages of all ranks that are not on the critical path, and o what one of them costs
 * those that are, as where ranks share processors. Of ranks with processors and links of their own o is about 0.
 */
#ifndef ALLREDUCE_RATES_H
#define ALLREDUCE_RATES_H

#include "harness/exchange/collective.h"

struct rates {
    double alpha_s;            /* of a message alone */
    double other_s;            /* o; 0 of two ranks, and in virtual time */
    double bytes_per_s;        /* 1 / beta: of a rank's link, while it receives as much */
    double memory_bytes_per_s; /* 1 / gamma: while all ranks of the host read and write */
    double meeting_s;          /* mu; 0 where a rank is alone on its host, and in virtual time */
};

/* Measured by all ranks at once on env's transport and compute; each figure is of the slowest rank, so all ranks have
 * the same ones. In virtual time, which this may not take, those of the simulated machines. Takes some tens of
 * milliseconds, on slow links more. Collective. Errors: those of transport and shares, RC_NOMEM. */
enum rc rates_measure(struct rates *out, const struct collective_env *env) MUST_CHECK;
/* alpha_s and other_s from what an exchange of the smallest messages takes: of all n_ranks at once, each with the next,
 * and of two alone (NaN: not measured). Pure. */
void rates_of_messages(struct rates *out, double all_s, double two_s, int n_ranks);
/* n_others: messages beside those of the path. Pure. */
double rates_time_s(const struct rates *r, const struct collective_cost *path, uint64_t n_others);

#endif
