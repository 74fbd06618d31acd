/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_plan.h - the messages of a step, for its lower bound: a push and a reply for each server's part of each chunk.
 *
 * A push and its reply are sequential. So are every n_in_flight-th chunks: a chunk starts when the one before it in its
 * row has ended. Servers work at the same time. In one direction, a server's link carries the messages of all workers.
 * A worker's link carries its messages with all servers and, of replies, at least one after the last push. The busiest
 * link is that of the server with the largest share. If servers run beside workers (sync_env.host), it is the network
 * card of a host: it carries what its workers and servers send to other hosts, and nothing that stays on the host.
 * With replicas a push is forwarded to the standby before it is answered. Then a chunk has three sequential messages,
 * and a server's link carries the forwards too. Beside workers only messages between hosts count, and forwards count
 * only if pushes are as long and as frequent as replies. With compression, or periods, forwards are left out, so a card
 * carries at least the load given here.
 * With compression pushes are shorter than replies: the plan's message is the mean of both.
 */
#ifndef PS_WIRE_PLAN_H
#define PS_WIRE_PLAN_H

#include "harness/exchange/sync_mode.h"

/* Pure. All zero if there are no parameters. */
struct wire_plan ps_wire_plan(const struct sync_env *env);
/* The bytes that this rank sends in a step without compression: a worker its pushes, a server its replies to one
 * worker. Pure. */
uint64_t ps_full_bytes(const struct sync_env *env);

#endif
