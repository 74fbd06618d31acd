/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zmq_tender.h - a thread that tends an outbox every 50 ms: what a lost connection took with it is sent again also
 * while the rank computes, or waits for something else (zmq_outbox.O3). Private to transport_zmq.c.
 *
 * Whoever else uses the outbox, or a socket of it, holds the lock. Under it no thread waits.
 */
#ifndef HARNESS_NET_ZMQ_TENDER_H
#define HARNESS_NET_ZMQ_TENDER_H

#include "harness/base/rc.h"

struct outbox;
struct zmq_tender;

/* o is lent until close. RC_NOMEM. */
enum rc zmq_tender_open(struct zmq_tender **out, struct outbox *o) MUST_CHECK;
/* Where there is none (NULL) they do nothing: then one thread alone uses the outbox. */
void zmq_tender_lock(struct zmq_tender *t);
void zmq_tender_unlock(struct zmq_tender *t);
/* Before the outbox. NULL-safe, nulls. */
void zmq_tender_close(struct zmq_tender **t);

#endif
