/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - a barrier by messages of a transport: no rank continues before all have come.
 *
 * Dissemination: in round k rank r sends an empty message to rank r + 2^k and waits for that of rank r - 2^k. So after
 * ceil(log2 p) rounds each has news of all, directly or not. world_barrier() is bootstrap; this one takes the time of
 * its messages, in virtual time, too.
 *
 * Source: Hensgen, Finkel, Manber, Two algorithms for barrier synchronization, Int. J. Parallel Programming 17(1),
 * 1988.
 */
#ifndef ALLREDUCE_BARRIER_H
#define ALLREDUCE_BARRIER_H

#include "harness/base/rc.h"

struct transport;

/* Sequential messages of a rank: ceil(log2 n_ranks); 0 for one rank. Cannot fail. */
int barrier_n_rounds(int n_ranks);
/* Collective over the transport's world; one thread per rank. timeout_ms: of each message, as in transport_wait(). May
 * be called again at once. Errors: those of the transport. */
enum rc barrier_run(struct transport *t, int timeout_ms) MUST_CHECK;

#endif
