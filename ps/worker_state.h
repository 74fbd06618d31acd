/* SPDX-License-Identifier: Apache-2.0 */
/* worker_state.h - what a worker knows of its servers. Private to sync_ps.c, transfer.c and recovery/worker.c. */
#ifndef PS_WORKER_STATE_H
#define PS_WORKER_STATE_H

#include "harness/net/transport.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/wire.h"

struct link_chunk {    /* of one chunk at one server */
    struct range part; /* of the server's slice; its n_elems may be 0 */
    int slot;          /* of its requests, if each chunk has a separate one (P4) */
    bool is_scattered; /* several ranges of the parameters; else one range, which ... */
    size_t first;      /* ... begins here */
    uint64_t clock;    /* of the parameters that this worker holds: as pulled, plus its own pushes since */
    uint64_t since;    /* the clock after its last push: the next one's gradients begin there (P2) */
    uint32_t step;     /* pushes so far */
};

struct link_slot {                                                  /* a request and its answer */
    unsigned char request[PS_HEADER_BYTES], reply[PS_HEADER_BYTES]; /* headers */
    bool sends, receives;                                           /* tx is posted; rx is */
    struct xfer tx, rx;
    bool is_asked, is_awaited; /* is the request outstanding; is its answer, until it has arrived? */
    float *answer_body;        /* of the answer, with n_answer_elems */
    size_t n_answer_elems;
};

struct link {                 /* of a worker to one server */
    size_t first_elem;        /* of its slice, if the slices follow one another */
    size_t n_elems;           /* of its slice */
    uint64_t layout;          /* layout.h */
    int holder;               /* the server that has its slice: itself, or its replacement (replica.h) */
    struct link_chunk *chunk; /* [n_chunks] */
    struct link_slot *slot;   /* [n_slots] */
    int n_slots;
};

struct ps {
    struct sync base;
    struct ps_server *server; /* server ranks only */
    struct link *link;        /* worker ranks only: [n_servers] */
    struct chunk_work *work;  /* a worker's, [n_work]: number n is in n modulo n_work, which is also its slot in
                                           each link, unless each chunk has a separate one */
    int n_work;
    struct link_slot *slot;     /* of all links */
    uint64_t n_posted, n_ended; /* of them */
    bool has_not_joined;        /* likewise: a late joiner that has not joined */
    bool is_joining;            /* leases.h: the pulls of a late joiner that joins */
    uint64_t batch, next;       /* leases.h: the batch it pushes, and the one it has ahead, + 1; 0: none */
    struct link_chunk *chunk;   /* of all links */
    float *pushed, *pulled; /* a worker's, float[n_params], all slices in sequence: scattered parts in transfer; NULL:
                               nothing is scattered, or no data */
    float *packed;          /* a worker's, likewise: bodies of pushes; NULL: no compression, or no data */
};

/* The rank that has the slice of this server. */
static inline int ps_holder(const struct ps *p, int server)
{
    return p->base.env.n_workers + p->link[server].holder;
}

static inline bool ps_is_real(const struct ps *p)
{
    return p->base.env.compute->ops->touches_memory;
}

/* --- recovery/worker.c --- */

/* rc was just raised by a transfer with the server. Returns RC_OK if the server was lost and its standby has the slice;
 * every unanswered request is then posted again, to the standby (replica.R3). Else returns rc. */
enum rc ps_redirect(struct ps *p, int server, enum rc rc) MUST_CHECK;
/* The same for a transfer that no rank needs any more if the server was lost. */
enum rc ps_forgive(const struct ps *p, int server, enum rc rc) MUST_CHECK;
/* Leaves slice by slice, in an elastic run. After the answers each slice knows it, and so does its replica. So a worker
 * that leaves early (leases.B7) may end before the others. */
enum rc ps_leave_each(struct ps *p) MUST_CHECK;
/* server_mode.next_batch and .join */
enum rc ps_next_batch(struct sync *s, uint64_t *out, bool *is_over) MUST_CHECK;
enum rc ps_join(struct sync *s, float *param, bool *is_over) MUST_CHECK;

/* --- transfer.c: slot of the link to a server --- */

/* Posts request h with the body that it describes. Lent until ps_end_request(). */
enum rc ps_post_request(struct ps *p, int server, int slot, const struct ps_header *h, float *body) MUST_CHECK;
/* Posts the receive of an answer of at most n_elems to body. Lent until ps_end_answer(). */
enum rc ps_post_answer(struct ps *p, int server, int slot, float *body, size_t n_elems) MUST_CHECK;
enum rc ps_end_request(struct ps *p, int server, int slot) MUST_CHECK;
/* Completes the answer of one server, which must match the op, n_elems and chunk of `want`. */
enum rc ps_end_answer(struct ps *p, int server, int slot, const struct ps_header *want, int timeout_ms,
                      struct ps_header *out) MUST_CHECK;
/* Posts the slot's request and the receive of its answer, to the holder; for recovery/worker.c. */
enum rc ps_post_slot(struct ps *p, int server, int slot) MUST_CHECK;
/* Completes what is posted in the slot, finished or not; ignores its errors. */
void ps_end_posted(struct ps *p, struct link_slot *l);
/* After an error: completes what is still posted in the caller's memory. The first error is the one to report. */
enum rc ps_abandon(struct ps *p, enum rc rc) MUST_CHECK;

#endif
