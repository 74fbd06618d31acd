/* SPDX-License-Identifier: Apache-2.0 */
/* zmq_outbox_state.h - what an outbox holds. Private to zmq_outbox.c and zmq_outbox_connect.c. */
#ifndef HARNESS_NET_ZMQ_OUTBOX_STATE_H
#define HARNESS_NET_ZMQ_OUTBOX_STATE_H

#include "harness/net/zmq_outbox.h"

struct queued {
    zmq_msg_t msg, body; /* body: of a divided one, else empty */
    bool is_divided;
    struct queued *next;
};

struct peer {
    const char *endpoint, *pass;
    void *socket, *monitor; /* PUSH; PAIR: events of its connections. NULL until the first post, without reconnects */
    uint64_t n_posted, n_acknowledged;
    uint64_t n_handed;      /* over the present connection; a new one starts at n_acknowledged */
    uint64_t n_handed_most; /* over any connection */
    uint64_t n_told;        /* messages received from it, as the last frame reported */
    struct queued *first, **end;
    struct queued *next; /* the next one to hand, number n_handed, in the queue; NULL: none waits */
    uint64_t lost_ns;    /* since when there is no connection; 0: there is one, or none was tried */
    bool was_connected, is_closed, is_given_up, owes_acknowledgement;
};

struct outbox {
    struct outbox_env env;
    struct frame_pool *pool;
    struct queued *free;
    uint64_t n_queued; /* messages that have not been handed */
    uint64_t n_reconnected;
    struct peer peer[]; /* env.n_ranks */
};

/* Raises RC_NOMEM or RC_IO, by errno: what, and ZeroMQ's reason. */
enum rc outbox_raise(const char *what) MUST_CHECK;

/* --- zmq_outbox_connect.c --- */

/* Makes the sockets of p, and starts to connect. RC_IO, RC_NOMEM: then p has no socket. */
enum rc outbox_connect(struct outbox *o, struct peer *p) MUST_CHECK;
/* Drops what ZeroMQ holds for p when its socket is closed. */
void outbox_do_not_linger(struct peer *p);
/* Close the sockets of p, if there are any. */
void outbox_disconnect(struct peer *p);

#endif
