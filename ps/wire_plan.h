/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_plan.h - the messages of a step, for its bound: a push and a reply of what each server has of each piece.
 *
 * In turn are, of a piece, a push and its reply; and of the pieces every n_in_flight-th one, which begins when the one
 * before it in its row has ended. Servers work at the same time. One way, a server's link carries the messages of all
 * workers, and a worker's those with all servers and, of a reply, at least one after the last push. The busiest link is
 * that of the server that has most; beside workers (sync_env.host), the card of a host, which carries what its workers
 * and servers send to other hosts, and nothing of what stays there.
 * With replicas a push goes on to the heir before it is answered: three messages of a piece in turn, and over a
 * server's link as many more. Beside workers only those between hosts count, and only where pushes are as long and as
 * many as answers: with compression, or periods, forwards are left out, and what is said of cards is as much, or more.
 * With compression pushes are shorter than replies: the message of the plan is the mean of both.
 */
#ifndef PS_WIRE_PLAN_H
#define PS_WIRE_PLAN_H

#include "harness/exchange/sync_mode.h"

/* Pure. Zeros: there are no parameters. */
struct wire_plan ps_wire_plan(const struct sync_env *env);
/* What this rank sends in a step if no gradient is compressed: a worker its pushes, a server its replies to one worker.
 * Pure. */
uint64_t ps_full_bytes(const struct sync_env *env);

#endif
