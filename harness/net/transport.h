/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport.h - moves bytes between two ranks: inproc, shm, zmq (ipc, tcp), mpi, sim.
 *
 * Invariants
 *   T1  post_*() never waits for the peer.
 *   T2  once both sides have posted, the transfer ends, in whatever order the two
 *       sides call complete() (so a ring step cannot deadlock).
 *   T3  x, x->head and x->ptr are lent from post_*() until complete() returns. complete()
 *       always ends x, also on RC_TIMEOUT; a posted x must not outlive its frame.
 *   T4  between one pair of ranks and one tag, messages arrive in posting order.
 *   T5  `moved` is counted here, in the wrappers, not by implementations.
 *   T6  an error of a transfer with one peer (RC_PEER: it is lost, or its connection is; RC_TIMEOUT; RC_MISMATCH of its
 *       message) ends transfers with that peer: every later call with it returns an error, and its messages are
 *       dropped. Transfers with other peers continue. An error without a peer (world_check(), RC_NOMEM, RC_TIMEOUT of
 *       recv_message(), ...) makes the transport dead: every later call returns an error; close it.
 *       A connection that ends with its peer is reported as the loss of that peer (W8), or as the failure of the run
 *       (W4), even if the world notices it later. So its error may take as long as the run's limit of silence
 *       plus 2 s; for a peer that gives signs of life, half a second.
 *       With fails_together every error is of the second kind, and the loss of any rank of the world (W8) ends all
 *       waits with RC_PEER, those in progress and later ones: one rank's loss ends a collective on every rank.
 *   T7  x->n_hollow_bytes follow the real bytes: in sim they cost time and carry no data;
 *       real worlds refuse them (RC_UNSUPPORTED).
 *   T8  a tag with TAG_ANY set is received only by transport_recv_message(), from any rank;
 *       other tags only by transport_recv(), from a named rank.
 *   T9  a message longer than the receiver's capacity (header and body) is RC_MISMATCH at the receiver,
 *       naming both lengths; nothing is written past the capacity.
 *   T10 while a wait is in progress transport_check() is polled, so a dead rank ends it (W5, W8).
 *   T11 a message is one sequence of bytes: those at head, then those at ptr, from two places in memory. The
 *       receiver divides it again: its first n_head_bytes go to the receiver's head, the rest to its ptr, whatever the
 *       sender's division was. Both parts are payload for T5.
 *   T12 transport_recv_message() reports losses (W8), of each rank of the world once: it returns RC_OK with peer -1
 *       and ptr NULL at its next call, also from a wait, and the owner calls world_peer_next(). The loss is reported
 *       before messages that have come. Messages of the lost rank may be lost with it, and none comes after the report.
 *       Not with fails_together. An error of recv_message() that is of one peer (T6) names it in out->peer.
 *
 *   T13 transport_plan bounds what a transport holds. No longer message is sent (RC_INVAL at the sender), and none is
 *       accepted from a stranger. If a sender posts more than fits in transfer, the rest waits in post_send()'s memory;
 *       its complete() ends once the receiver has received enough, in any call of it that waits. So T2 holds, and a
 *       rank that ends its sends is ahead of another by at most the plan.
 *   T14 with a log (message_log.h) each message that has ended well is in the logs of both its ends, once.
 *
 * One thread per transport.
 */
#ifndef HARNESS_NET_TRANSPORT_H
#define HARNESS_NET_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"

struct message_log;
struct world;
struct transport;

#define TAG_ANY 0x80000000u

enum { WAIT_FOREVER = 0, DO_NOT_WAIT = -1 }; /* special timeout_ms */

enum transport_caps {
    TR_ADD = 1u << 0,        /* xfer.add is fused: received values are added in place */
    TR_HOLLOW = 1u << 1,     /* n_hollow_bytes may be > 0 */
    TR_ASYNC = 1u << 2,      /* messages move while both ranks do other work */
    TR_COPIES = 1u << 3,     /* post_send() copies a message of head and body: the sender may change both at once */
    TR_PAIRS_WAIT = 1u << 4, /* the answer to a long message may wait for another one in the same direction: two ranks
                                that exchange take turns, whatever their link carries */
    TR_ENCRYPTS = 1u << 5,   /* TCP connections, as world.security says */
    TR_GUESTS = 1u << 7,     /* late joiners of the world can be its peers (transport_plan.has_guests) */
    TR_CUTS = 1u << 8,       /* a long message takes longer than the same bytes in chunks */
    TR_MAPPED = 1u << 6,     /* messages are copied in and out of memory that both ranks map */
};

struct xfer {              /* one message; lives in the caller's frame; zero it first */
    void *ptr;             /* the body */
    size_t n_bytes;        /* of ptr. send: length; recv: capacity, then the length received */
    size_t n_hollow_bytes; /* net.T7; recv: then the hollow length received */
    void *head;            /* net.T11; a send only reads it */
    size_t n_head_bytes;   /* of head, as n_bytes is for ptr; 0: the message has no header */
    int peer;
    uint32_t tag;
    int add;             /* recv, TR_ADD only: float ptr[i] = addend[i] + body[i] instead of overwrite */
    const float *addend; /* of as many floats as ptr, which it does not overlap; NULL: ptr itself */
    bool lends; /* send: ptr need not be copied, with TR_COPIES or not. Its complete() may wait for the peer to receive
                   it, and for a later message of the peer to report that: after a request with an answer, an answer
                   that is followed by another request */
    bool receives;      /* transport_send() and transport_recv() set this, and */
    uint64_t posted_ns; /* ... with a log this */
    void *priv;         /* this and what follows belong to the implementation */
    struct xfer *next;
    _Atomic uint32_t state;
};

struct message {     /* lent by the transport until transport_release() */
    const void *ptr; /* the body; aligned to 8 bytes if n_head_bytes is a multiple of 8, or as it is at the sender */
    size_t n_bytes;
    const void *head; /* net.T11 */
    size_t n_head_bytes;
    size_t n_hollow_bytes;
    int peer;
    uint32_t tag;
    uint64_t arrived_ns; /* when its last byte came, by the world's clock; 0: unknown */
    void *copy;          /* the wrapper's: of a message that its sender had divided differently */
    void *priv;
};

struct transport_plan {        /* what the owner will send; the same on all ranks. Zeros: not known */
    size_t most_message_bytes; /* header and body of the longest message */
    uint64_t most_messages;    /* of one rank to another one that has posted no receive for them */
    int silence_ms;            /* how long a connection may be lost before that is an error */
    bool has_guests;           /* late joiners (world.W9) send and receive, too. Needs TR_GUESTS */
};

struct traffic { /* only payload, including hollow bytes */
    uint64_t msgs_sent, msgs_recv;
    uint64_t bytes_sent, bytes_recv;
};

struct transport_ops {
    struct module module; /* caps: enum transport_caps */

    /* Optional (may be NULL): default RC_OK. Called before there is a world: RC_INVAL if this host lacks what open()
     * needs. interface: from --interface, "": not given. */
    enum rc (*check_host)(const struct module *world, const char *interface);
    /* Collective over w. RC_UNSUPPORTED when this transport cannot run in that world. */
    enum rc (*open)(struct transport **out, struct world *w);
    /* Optional (may be NULL): default open(). The same with net.T13; plan is lent during the call. */
    enum rc (*open_planned)(struct transport **out, struct world *w, const struct transport_plan *plan);
    enum rc (*post_send)(struct transport *t, struct xfer *x);
    enum rc (*post_recv)(struct transport *t, struct xfer *x);
    /* Ends x: done (RC_OK), RC_TIMEOUT after timeout_ms, RC_PEER. DO_NOT_WAIT gives up at once. */
    enum rc (*complete)(struct transport *t, struct xfer *x, int timeout_ms);
    /* The oldest message with a TAG_ANY tag, from any rank; memory lent until release. It is divided into head and ptr
     * as its sender did, or not at all (the wrapper divides it for the caller). DO_NOT_WAIT: RC_OK with out->ptr NULL
     * and out->peer -1 if no message is there, and the transport stays usable; the same from a wait once
     * transport_loss_due() (net.T12). */
    enum rc (*recv_message)(struct transport *t, struct message *out, int timeout_ms);
    void (*release)(struct transport *t, struct message *m); /* nulls m */
    /* Optional (may be NULL): default false with TR_COPIES, else true. transport_sends_lent(). */
    bool (*sends_lent)(const struct transport *t, size_t n_body_bytes);
    /* Optional (may be NULL): default 0. transport_n_strangers(). */
    uint64_t (*n_strangers)(const struct transport *t);
    /* Not collective; abandons what is still posted. Lingers until sent data has left. */
    void (*close)(struct transport **t);
};

struct transport { /* first member of each implementation's struct */
    const struct transport_ops *ops;
    struct world *world; /* borrowed; outlives the transport */
    struct traffic moved;
    enum rc dead;            /* net.T6 */
    bool fails_together;     /* net.T6; set by the owner after open, before the first transfer, as is log */
    struct message_log *log; /* net.T14; borrowed; NULL: none */
    bool uses_tcp, encrypts; /* set by open: it has TCP connections; they are encrypted */
    /* for the wrappers: */
    size_t most_message_bytes;   /* net.T13; 0: any */
    enum rc *peer_error;         /* [world->n_ranks]: net.T6, of each peer; NULL: no errors */
    int n_lost_run, n_lost_here; /* losses seen: in the run, and among ranks of the world */
    int n_lost_told;             /* net.T12: losses reported, of n_lost_here */
};

/* The transports: option --transport. If several are possible, the first is chosen. */
extern const struct module_kind transport_kind;
/* The name in records for the transport of a run that sends nothing. */
extern const char transport_of_nothing[];
/* RC_INVAL names the nearest; RC_UNSUPPORTED: known, but not built in. */
enum rc transport_find(const struct transport_ops **out, const char *name) MUST_CHECK;
/* The name of the first that runs in this world and has all of wanted_caps; NULL: none. */
const char *transport_auto(const struct module *world, unsigned wanted_caps);

/* RC_INVAL: this host lacks what it needs to open. */
enum rc transport_check_host(const struct transport_ops *ops, const struct module *world,
                             const char *interface) MUST_CHECK;

/* All calls go through these wrappers, which count, and check net.T1-T8, net.T11 and T13. Opening is collective over w,
 * for the main task, which may have other tasks then. */
enum rc transport_open(struct transport **out, const struct transport_ops *ops, struct world *w) MUST_CHECK;
/* net.T13 */
enum rc transport_open_planned(struct transport **out, const struct transport_ops *ops, struct world *w,
                               const struct transport_plan *plan) MUST_CHECK;
enum rc transport_send(struct transport *t, struct xfer *x) MUST_CHECK; /* post */
enum rc transport_recv(struct transport *t, struct xfer *x) MUST_CHECK; /* post */
enum rc transport_wait(struct transport *t, struct xfer *x, int timeout_ms) MUST_CHECK;
/* Posts both, ends both; the first error wins. A ring step does this. */
enum rc transport_exchange(struct transport *t, struct xfer *tx, struct xfer *rx, int timeout_ms) MUST_CHECK;
/* The next TAG_ANY message; its first n_head_bytes (all, of a shorter one) at out->head, the rest at out->ptr. Copies
 * only if the sender had divided it differently (then RC_NOMEM may end the transport). */
enum rc transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes,
                               int timeout_ms) MUST_CHECK;
/* The same with all of it at out->ptr. */
enum rc transport_recv_message(struct transport *t, struct message *out, int timeout_ms) MUST_CHECK;
void transport_release(struct transport *t, struct message *m);
void transport_close(struct transport **t); /* NULL-safe, nulls */

/* For a send that lends: is a body of n_body_bytes sent in place, and so lent until transport_wait()? Else it is the
 * sender's again after transport_send(). */
bool transport_sends_lent(const struct transport *t, size_t n_body_bytes);
/* What programs other than the ranks can read of the messages, as in records. "curve": lengths and times. "clear":
 * everything that passes them. "local": nothing; it stays on this host, in memory or protected by file permissions. */
const char *transport_encryption(const struct transport *t);
/* RC_INVAL: is_asked for, and these cannot encrypt what a run sends. ops NULL: no transport. */
enum rc transport_check_encrypts(const struct transport_ops *ops, bool is_asked) MUST_CHECK;
/* Connections and messages from outside the run that were refused so far. May wait for half a second, for connections
 * whose identity is being checked. */
uint64_t transport_n_strangers(const struct transport *t);

/* --- for transports --- */

/* net.T10, replaces world_check(): RC_OK while a wait for `peer` (-1: any rank) may continue. Cheap. */
enum rc transport_check(struct transport *t, int peer) MUST_CHECK;
/* net.T12: must a wait for any rank end without a message? Cheap. */
bool transport_loss_due(struct transport *t);
/* net.T6, T10, T12: `inner`, to which `outer` forwards its calls, must wait like outer. Call it before each call. */
static inline void transport_follow(struct transport *inner, const struct transport *outer)
{
    inner->fails_together = outer->fails_together;
    inner->n_lost_told = outer->n_lost_told;
}
/* net.T6: the result of later calls with this peer; RC_OK: it works. */
enum rc transport_peer_error(const struct transport *t, int peer);

#endif
