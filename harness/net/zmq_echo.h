/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_echo.h - round trips of messages with bare ZeroMQ, without a copy of ours: the bound for a transport over it. A
 * client sends from its own memory, a server sends back what it received.
 *
 *   socket       of                 connected to
 *   PULL         each rank          PUSH of every rank of the other side
 *
 * Addresses are of the kind that the transport uses between these ranks. Like the transport, each rank has a separate
 * context with one thread and the same gate: if the transport encrypts, so does this. A message begins with the
 * client's rank in 4 bytes (bytes.h); nothing else is read.
 */
#ifndef HARNESS_NET_ZMQ_ECHO_H
#define HARNESS_NET_ZMQ_ECHO_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

enum { ZMQ_ECHO_LEAST_BYTES = 8 }; /* of a message; a shorter one ends a client */

struct world;
struct transport_ops;
struct bare_echo;

/* Does this transport use sockets of ZeroMQ between the ranks of w? */
bool bare_echo_is_bound(const struct transport_ops *ops, const struct world *w);
/* Ranks 0 to n_clients - 1 are clients, the remaining ranks servers. Collective over w. RC_IO, RC_NOMEM, RC_PEER; those
 * of zmq_address_open(). */
enum rc bare_echo_open(struct bare_echo **out, struct world *w, const struct transport_ops *ops,
                       int n_clients) MUST_CHECK;
/* Client: sends bytes[n_bytes] to a server; lent until the same number of messages has come back from it. Never waits
 * long. */
enum rc bare_echo_send(struct bare_echo *e, int server, void *bytes, size_t n_bytes) MUST_CHECK;
/* Client: takes the next message back, of any server, and drops it; RC_MISMATCH: it is not n_bytes long. */
enum rc bare_echo_take(struct bare_echo *e, size_t n_bytes, int timeout_ms) MUST_CHECK;
/* Client: ends its sends. */
enum rc bare_echo_end(struct bare_echo *e) MUST_CHECK;
/* Server: sends every message back, until every client has ended. RC_PEER: the run failed. */
enum rc bare_echo_serve(struct bare_echo *e) MUST_CHECK;
void bare_echo_close(struct bare_echo **e); /* NULL-safe, nulls */

#endif
