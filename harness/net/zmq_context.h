/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_context.h - a ZeroMQ context, shared by the ranks of a process, or of one rank. Private to transport_zmq.c. */
#ifndef HARNESS_NET_ZMQ_CONTEXT_H
#define HARNESS_NET_ZMQ_CONTEXT_H

#include <stdbool.h>

#include "harness/base/rc.h"

struct world;
struct zmq_context;

/* Opens one for all ranks of this process, if they share one: if ranks are threads, rank 0 creates it and the other
 * ranks get its address. Else each rank creates a separate context, with a separate thread that moves bytes. Collective
 * over w. RC_NOMEM. */
enum rc zmq_context_open(struct zmq_context **out, struct world *w, bool shares) MUST_CHECK;
/* The context for calls of ZeroMQ. */
void *zmq_context_ptr(const struct zmq_context *c);
/* May a wait for a message over a socket poll? A poll is a system call, and each rank has a thread that moves bytes: so
 * only with two cores for each rank of the host, and as world_may_spin(). */
bool zmq_may_poll(const struct world *w);
/* NULL-safe, nulls. The last rank to close terminates the context: no socket of it may be open. */
void zmq_context_close(struct zmq_context **c);

#endif
