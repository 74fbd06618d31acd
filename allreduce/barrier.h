/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - no rank goes on before all have come, by messages of a transport.
 *
 * Dissemination: in round k rank r sends an empty message to rank r + 2^k and waits for that of rank r - 2^k, so after
 * ceil(log2 p) rounds each has heard of all, directly or not. Unlike world_barrier(), which is bootstrap, it takes the
 * time that messages take, in virtual time, too.
 *
 * Source: Hensgen, Finkel, Manber, Two algorithms for barrier synchronization, Int. J. Parallel Programming 17(1),
 * 1988.
 */
#ifndef ALLREDUCE_BARRIER_H
#define ALLREDUCE_BARRIER_H

#include "harness/base/rc.h"

struct transport;

/* Messages of a rank, one after the other: ceil(log2 n_ranks); 0: of one rank. Cannot fail. */
int barrier_n_rounds(int n_ranks);
/* Collective over the transport's world; one thread per rank. timeout_ms: of each message, as transport_wait() takes
 * it. May be called again at once. Errors: those of the transport. */
enum rc barrier_run(struct transport *t, int timeout_ms) MUST_CHECK;

#endif
