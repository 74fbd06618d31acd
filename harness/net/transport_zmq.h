/* SPDX-License-Identifier: Apache-2.0 */
/* transport_zmq.h - the inside of a zmq transport, for its tests. Private to harness/net. */
#ifndef HARNESS_NET_TRANSPORT_ZMQ_H
#define HARNESS_NET_TRANSPORT_ZMQ_H

#include <stdint.h>

struct transport;

/* The endpoints of this rank and of another one; the context for an inproc:// address. Lent until close. */
const char *transport_zmq_endpoint(const struct transport *t);
const char *transport_zmq_peer_endpoint(const struct transport *t, int peer);
void *transport_zmq_context(const struct transport *t);
/* Connections to peers that were lost and made again. */
uint64_t transport_zmq_n_reconnected(const struct transport *t);
/* Frames from outside the group that were dropped so far. */
uint64_t transport_zmq_n_dropped(const struct transport *t);
/* zmq_gate_n_outside(); 0 without a gate. */
uint64_t transport_zmq_n_outside(const struct transport *t);

#endif
