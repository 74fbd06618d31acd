/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_tender.h - a thread that tends an outbox every 50 ms. So messages lost with a connection are sent again even
 * while the rank computes, or waits for something else (net.O3). Private to transport_zmq.c.
 *
 * Every other thread that uses the outbox, or a socket of it, holds the lock. No thread waits while it holds the lock.
 */
#ifndef HARNESS_NET_ZMQ_TENDER_H
#define HARNESS_NET_ZMQ_TENDER_H

#include "harness/base/rc.h"

struct outbox;
struct zmq_tender;

/* o is lent until close. RC_NOMEM. */
enum rc zmq_tender_open(struct zmq_tender **out, struct outbox *o) MUST_CHECK;
/* They do nothing if t is NULL: then only one thread uses the outbox. */
void zmq_tender_lock(struct zmq_tender *t);
void zmq_tender_unlock(struct zmq_tender *t);
/* Close it before the outbox. NULL-safe, nulls. */
void zmq_tender_close(struct zmq_tender **t);

#endif
