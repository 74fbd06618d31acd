/* SPDX-License-Identifier: Apache-2.0 */
/* worker_state.h - what a worker holds of its servers. Of sync_ps.c, transfer.c and redirect.c alone. */
#ifndef PS_WORKER_STATE_H
#define PS_WORKER_STATE_H

#include "harness/net/transport.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/wire.h"

struct link_piece {    /* of one piece at one server */
    struct range part; /* of the server's slice; its n_elems may be 0 */
    bool is_scattered; /* it is several ranges of the parameters; else one: */
    size_t first;      /* ... which begins here */
    uint64_t clock;    /* of those that this worker holds: as they were pulled, and its own pushes since */
    uint64_t since;    /* the same when its last push was ended: the next one's gradients begin there (P2) */
    uint32_t step;     /* pushes so far */
};

struct link_slot {                                                  /* a request and its answer */
    unsigned char request[PS_HEADER_BYTES], reply[PS_HEADER_BYTES]; /* headers */
    bool sends, receives;                                           /* tx is posted; rx is */
    struct xfer tx, rx;
    bool is_asked, is_awaited; /* the request is, and its answer, until it has come */
    float *answer_body;        /* of the latter, of so many elements */
    size_t n_answer_elems;
};

struct link {                 /* of a worker to one server */
    size_t first_elem;        /* of its slice, if all slices are one behind the other */
    size_t n_elems;           /* of its slice */
    uint64_t layout;          /* layout.h */
    int holder;               /* the server that has its slice: itself, or who took its place (replica.h) */
    struct link_piece *piece; /* [n_pieces] */
    struct link_slot slot[PS_CREDITS];
};

struct ps {
    struct sync base;
    struct ps_server *server;           /* server ranks only */
    struct link *link;                  /* worker ranks only: [n_servers] */
    struct piece_work work[PS_CREDITS]; /* a worker's: number n is in n modulo PS_CREDITS, as its slot in each link */
    uint64_t n_posted, n_ended;         /* of them */
    bool has_not_joined;                /* likewise: a guest, before it has */
    bool is_joining;                    /* leases.h: the pulls of a guest that joins */
    uint64_t batch, next;               /* leases.h: what it pushes of, and what it has ahead, + 1; 0: it has none */
    struct link_piece *piece;           /* of all links */
    float *pushed, *pulled; /* a worker's, float[n_params], all slices one behind the other: what is scattered, on its
                               way; NULL: nothing is, or hollow */
    float *packed;          /* a worker's, likewise: bodies of pushes; NULL: nothing is compressed, or hollow */
};

static inline bool ps_is_real(const struct ps *p)
{
    return p->base.env.compute->ops->touches_memory;
}

/* --- transfer.c: slot of the link to a server --- */

/* Post the request h with the body that it says. Lent until ps_end_request(). */
enum rc ps_post_request(struct ps *p, int server, int slot, const struct ps_header *h, float *body) MUST_CHECK;
/* Post the receive of an answer with room for n_elems at body. Lent until ps_end_answer(). */
enum rc ps_post_answer(struct ps *p, int server, int slot, float *body, size_t n_elems) MUST_CHECK;
enum rc ps_end_request(struct ps *p, int server, int slot) MUST_CHECK;
/* The answer of one server, which must be what `want` says: its op, n_elems and piece. */
enum rc ps_end_answer(struct ps *p, int server, int slot, const struct ps_header *want, int timeout_ms,
                      struct ps_header *out) MUST_CHECK;
/* The rank that has its slice. */
int ps_holder(const struct ps *p, int server);
/* rc, just raised, is of a transfer with it: RC_OK where it was lost and its heir has the slice, to which everything
 * that is not answered is posted again (replica.R3); else the same error. */
enum rc ps_redirect(struct ps *p, int server, enum rc rc) MUST_CHECK;
/* The same, but of a transfer that nobody needs any more where the server was lost. */
enum rc ps_forgive(const struct ps *p, int server, enum rc rc) MUST_CHECK;
/* Post what is asked and awaited in the slot, to the holder; for redirect.c. */
enum rc ps_post_slot(struct ps *p, int server, int slot) MUST_CHECK;
/* End what is posted in the slot, there or not; its errors are nobody's. */
void ps_end_posted(struct ps *p, struct link_slot *l);
/* End what is still posted in the caller's memory, when something failed; the first error is the one to report. */
enum rc ps_abandon(struct ps *p, enum rc rc) MUST_CHECK;
/* sync_mode.exchange and .exchange_part */
enum rc ps_exchange(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out) MUST_CHECK;
enum rc ps_exchange_part(struct sync *s, const struct piece_work *work, struct piece_cost *out) MUST_CHECK;

#endif
