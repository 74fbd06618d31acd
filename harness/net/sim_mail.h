/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_mail.h - the delivery and order of messages in the sim world: the bookkeeping of
 * transport_sim.c. sim_engine.h defines the cost of a message (G2).
 *
 *   sim_message  a message with a copy of its payload
 *   channel      one for each (source, tag) of a receiving rank, while there is anything in it
 *   port         each rank has one: its channels, and the queue of TAG_ANY messages by arrival
 *   receipt      of a message whose sender waits until it has arrived; lives as long as either of them
 *   fabric       the ports of one open()
 *
 * State of a receive:  POSTED -> MATCHED (priv: its sim_message), by sim_message_arrived() or when posted
 *                      -> ENDED, in complete(), which copies and frees
 * State of a send:     SENT, or AWAITED (priv: its receipt), which complete() waits for -> ENDED
 *
 * Invariants
 *   S1  A port belongs to its rank's transport; its memory is the fabric's, so a rank that dies
 *       leaks nothing.
 *   S2  Other ranks run only inside sim_wait, which is the last step of a change.
 *   S3  A message to a rank that closed, ended or died, or after a failure, is dropped.
 */
#ifndef HARNESS_NET_SIM_MAIL_H
#define HARNESS_NET_SIM_MAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/net/transport.h"
#include "harness/world/sim/sim_engine.h"

enum mail_state { MAIL_ENDED, MAIL_POSTED, MAIL_MATCHED, MAIL_SENT, MAIL_AWAITED }; /* xfer.state */

struct receipt {
    struct receipt *previous, *next; /* of the fabric's */
    struct sim_rank *sender;
    bool arrived;
    bool is_unwanted; /* the sender has ended its wait: the arrival frees it */
};

struct sim_message { /* a message with its payload */
    struct sim_transfer transfer;
    struct sim_message *next;
    struct port *to;
    struct channel *channel; /* while flying */
    struct receipt *receipt; /* NULL: no wait for its arrival */
    int source;
    uint32_t tag;
    bool arrived;
    uint64_t arrived_ns;
    size_t n_bytes, n_hollow_bytes;
    _Alignas(max_align_t) unsigned char payload[];
};

struct sim_queue { /* a queue */
    struct sim_message *first, *last;
};

struct channel {
    struct channel *next; /* in its bucket */
    int source;
    uint32_t tag;
    struct sim_queue flying;                 /* in transit, in posting order; one that overtook waits here (net.T4) */
    struct sim_queue here;                   /* arrived, not yet requested */
    struct xfer *posted_first, *posted_last; /* waiting receives */
};

struct port {
    struct transport base;
    struct fabric *fabric;
    struct sim_rank *rank;
    bool open;
    struct channel **bucket;
    size_t n_buckets, n_channels;
    struct sim_queue any;  /* arrived with TAG_ANY */
    struct sim_queue lent; /* matched or lent, and not yet freed (net.S1) */
};

struct fabric {
    struct sim_owned owned;
    int n_ports, n_open;
    size_t n_flying;
    struct receipt *receipts;
    struct port port[];
};

/* Append; take the first (NULL: none); take out m, which is in q; free all. Cannot fail. */
void sim_queue_put(struct sim_queue *q, struct sim_message *m);
struct sim_message *sim_queue_take(struct sim_queue *q);
void sim_queue_take_out(struct sim_queue *q, const struct sim_message *m);
void sim_queue_drop(struct sim_queue *q);

/* The channel of (source, tag); made if needed. RC_NOMEM. */
enum rc port_channel(struct channel **out, struct port *p, int source, uint32_t tag) MUST_CHECK;
/* Frees c if it is empty: tags may be used once and never again. */
void port_trim(struct port *p, struct channel *c);
/* x gets m in its complete(). Cannot fail. */
void port_match(struct port *p, struct xfer *x, struct sim_message *m);
/* Drops what p's rank has not received. Receives still posted are not touched, because their frames may be gone. The
 * last port to close, and the last message to arrive, free the fabric. */
void port_close(struct port *p);

/* Opens a receipt for m, whose sender is the rank of p. RC_NOMEM. */
enum rc receipt_open(struct sim_message *m, const struct port *p) MUST_CHECK;
/* The sender no longer waits for it. */
void receipt_give_up(struct fabric *f, struct receipt *r);

/* For sim_message.transfer. */
void sim_message_arrived(struct sim_transfer *transfer);

/* One port for each rank of w, all closed at first; owned by the run until the last port closes. NULL: no memory. */
struct fabric *fabric_alloc(struct world *w);

#endif
