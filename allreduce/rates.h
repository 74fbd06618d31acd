/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.h - what the costs of a collective take on these machines: latency and rate of messages around the ring of all
 * ranks, rate of the memory, and a meeting of the ranks of a host.
 *
 * Model: t = msgs alpha + bytes beta + memory_bytes gamma + meetings mu (after Hockney, Parallel Computing 20, 1994).
 */
#ifndef ALLREDUCE_RATES_H
#define ALLREDUCE_RATES_H

#include "harness/exchange/collective.h"

struct rates {
    double alpha_s;            /* of a message */
    double bytes_per_s;        /* 1 / beta: of a rank's link, while it receives as much */
    double memory_bytes_per_s; /* 1 / gamma: while all ranks of the host read and write */
    double meeting_s;          /* mu; 0 where a rank is alone on its host, and in virtual time */
};

/* Measured by all ranks at once on env's transport and compute; each figure is of the slowest rank, so all ranks have
 * the same ones. In virtual time, which this may not take, those of the simulated machines. Takes some tens of
 * milliseconds, on slow links more. Collective. Errors: those of transport and shares, RC_NOMEM. */
enum rc rates_measure(struct rates *out, const struct collective_env *env) MUST_CHECK;
/* Pure. */
double rates_time_s(const struct rates *r, const struct collective_cost *cost);

#endif
