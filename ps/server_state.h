/* SPDX-License-Identifier: Apache-2.0 */
/* server_state.h - what a server owns. Private to server.c and server_*.c. */
#ifndef PS_SERVER_STATE_H
#define PS_SERVER_STATE_H

#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"
#include "ps/clocks.h"
#include "ps/ps.h"
#include "ps/recovery.h"
#include "ps/server.h"
#include "ps/wire.h"

enum worker_state { TRAINING, FETCHING, LEFT, LOST, ABSENT /* a late joiner that has not joined */ };

struct arrival { /* a request received, not yet served */
    struct message message;
    int worker;       /* the worker that made it, in which slot; for a forward, not the sender of the message */
    uint32_t slot;    /* n_slots of its server or more: none */
    uint64_t seen_ns; /* when the server received it */
    bool was_awaited; /* the server was idle: the request arrived at seen_ns, not before */
};

struct arrivals {       /* a ring buffer */
    struct arrival *at; /* [most] */
    int first, n, most;
};

struct posted { /* a message to another rank, which may be on its way */
    struct xfer xfer;
    unsigned char header[PS_HEADER_BYTES];
    bool is_posted;
};

enum request_state {
    REQUEST_ANSWERED, /* or there was none */
    REQUEST_WAITS,    /* it was served; its worker may not read yet */
    REQUEST_KEPT,     /* likewise, and its gradient is kept for the round, in `kept` */
    REQUEST_DUE       /* likewise, but the kept gradient has not arrived yet: recovery/copy.h */
};

struct request { /* the last request of a worker in one of its slots (P4) */
    enum request_state state;
    bool is_silent;      /* its answer is not sent, as no worker waits here for it; set by what is attached alone */
    struct message kept; /* lent by the transport; its body, and the learning rate of its push: */
    struct push_body body;
    float lr;
    struct ps_header answer; /* while it waits: what is known of it. REFUSED: its gradient does not count (P6) */
    uint64_t waits_since_ns; /* while it waits */
    struct posted reply;
    int *n_readers; /* of the version that the reply is sent from (V1); NULL: none */
};

struct client { /* a worker, as the server sees it */
    enum worker_state state;
    bool may_push;           /* exchange.E11: a push that it has not sent yet is granted */
    struct request *request; /* [n_slots of the server] */
    struct posted refusal;   /* the last REFUSED of P5, which may be sent while a request in its slot waits */
    int n_refused;           /* its refused messages (P5) */
};

struct chunk_state {
    struct range part; /* of the chunk, in the slice */
    int slot;          /* of its requests, if each chunk has a separate one (P4) */
    int version;       /* its newest one */
    int *n_readers; /* [1 + versions.n_others]: replies that are sent from each; NULL: there is one version, or none is
                     */
    uint64_t clock; /* updates of it so far (P2) */
    uint64_t min_transit_ns; /* least seen_ns - sent_ns of its pushes so far; UINT64_MAX: no push yet */
    struct clocks clocks;    /* of the workers */
};

struct versions {   /* server_push.c */
    int n_others;   /* 0: version 0 is the only one */
    float **other;  /* [n_others]: versions 1 and up of the slice */
    int *n_readers; /* the memory of n_readers of all chunks */
    struct arena arena;
};

struct stop_rule {        /* exchange.E11 */
    size_t counted_chunk; /* each push of it grants its worker another push; n_chunks: none is counted */
    uint64_t n_granted;   /* pushes that workers have sent or may send */
};

struct told {          /* lines about refused messages */
    uint64_t last_ns;  /* when one was last written; 0: never */
    uint64_t n_untold; /* messages refused since */
};

enum slice_role {
    SLICE_OWN,      /* of this rank, which serves it */
    SLICE_PARTIAL,  /* of another rank, whose copy has not arrived completely (recovery/copy.h) */
    SLICE_FOLLOWED, /* of another rank: this one makes the same changes, and answers nobody (recovery/replica.h) */
    SLICE_TAKEN     /* the same, but this rank has replaced the other one */
};

struct ps_server {
    struct sync_env env;
    int slice;       /* number of the server whose slice it is */
    size_t n_elems;  /* of the slice */
    uint64_t layout; /* of this server: layout.h */
    enum slice_role role;
    struct optimizer optimizer;
    struct arena arena;
    float *param; /* the slice: version 0 of each chunk; NULL: no data */
    struct versions versions;
    float *state;              /* the body of STATE; NULL: no data */
    float *sum;                /* sum of the gradients of a round, or one unpacked gradient; as long as the slice; NULL:
                                  neither is needed, or no data */
    uint64_t n_updates_before; /* of each chunk, by the training that this run continues */
    struct chunk_state *chunk; /* [n_chunks] */
    struct client *client;     /* [sync_most_workers()] */
    struct request *request;   /* of all clients */
    int n_slots;               /* P4 */
    int n_seen;                /* workers that have ever been present: all but late joiners that have not joined */
    int n_left;                /* of these, workers that have left or are lost: they send nothing more */
    bool has_new_left;         /* some of these are new since the waiting workers were last checked */
    struct arrivals arrivals;
    struct stop_rule stop;
    struct told told;
    struct ps_server **here; /* at the rank's own slice: [n_here], all slices that are here; its own first */
    int n_here;
    struct ps_server *rank; /* the server of the rank's own slice; it may be this one */
    uint32_t served_step;   /* of that server: step of the last push here, for the timeline */
    int silence_ms;         /* maximum time without any message while a rank must send one */
    const struct recovery_ops *ops;
    struct recovery *recovery; /* what these have of the slice; NULL: no_recovery */
    struct server_facts facts;
};

/* Does it serve (and not only follow)? */
static inline bool server_is_holder(const struct ps_server *s)
{
    return s->role == SLICE_OWN || s->role == SLICE_TAKEN;
}

/* Slice number `slice` among those of the rank s; NULL: it is not here. */
static inline struct ps_server *server_of_slice(const struct ps_server *s, int slice)
{
    for (int i = 0; i < s->n_here; i++)
        if (s->here[i]->slice == slice)
            return s->here[i];
    return NULL;
}

static inline bool server_is_hollow(const struct ps_server *s)
{
    return s->param == NULL && s->n_elems > 0;
}

/* The slots in which a request of chunk k can be: from the first one on, before the end. */
static inline int server_first_slot(const struct ps_server *s, size_t k)
{
    return ps_has_chunk_slots(&s->env) ? s->chunk[k].slot : 0;
}

static inline int server_end_slot(const struct ps_server *s, size_t k)
{
    return ps_has_chunk_slots(&s->env) ? s->chunk[k].slot + (s->chunk[k].part.n_elems > 0) : s->n_slots;
}

/* Does it wait for its answer? */
static inline bool request_waits(const struct request *r)
{
    return r->state != REQUEST_ANSWERED;
}

/* a is full at most once its ranks send more than they may. */
static inline void arrivals_add(struct arrivals *a, const struct arrival *of)
{
    a->at[(a->first + a->n++) % a->most] = *of;
}

/* The oldest one, and removes it. */
static inline struct arrival arrivals_take(struct arrivals *a)
{
    const struct arrival oldest = a->at[a->first];

    a->first = (a->first + 1) % a->most;
    a->n--;
    return oldest;
}

/* --- server_push.c: checks --- */

/* RC_MISMATCH, *why: P3 or P4, or what is attached, forbid push a, with header h. */
enum rc server_check_push(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* RC_MISMATCH, *why: the body of push a, with header h, does not belong to this run. */
enum rc server_check_body(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* RC_MISMATCH, *why: pull a, with header h, is of a chunk that is not here. */
enum rc server_check_pull(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;

/* --- server_push.c: pushes and pulls --- */

/* Serves push a, with header h: counts its gradient, keeps it (then its message is taken from *a) or drops it, and
 * answers the workers that may now read.
 */
enum rc server_push(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Serves pull a: answers it as soon as its worker may read. */
enum rc server_pull(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Every worker may push once (exchange.E11). */
void server_open_stop(struct ps_server *s);
/* Worker w pushes no more; is_loss: it is lost, and had not left. Its kept gradients are dropped; workers that may have
 * waited for it will be checked. */
void server_forget(struct ps_server *s, int w, bool is_loss);
/* Answers the request of worker w in this slot with the parameters of its chunk, as they are now. */
enum rc server_answer(struct ps_server *s, int w, int slot) MUST_CHECK;
/* Answers every worker that may read since workers have left. */
enum rc server_settle_all(struct ps_server *s) MUST_CHECK;
/* Sends h, then body: float[h->n_elems]; STATE has n_moments more of these. Lent until server_end_reply(). body is NULL
 * if empty or in a no-data run. */
enum rc server_post_reply(struct ps_server *s, int worker, int slot, const struct ps_header *h, float *body) MUST_CHECK;
/* Sends REFUSED h (P5), likewise; lent until server_end_posted() of client.refusal. */
enum rc server_post_refusal(struct ps_server *s, int worker, int slot, const struct ps_header *h) MUST_CHECK;
/* Sends the message, whose xfer is set. */
enum rc server_post(struct ps_server *s, struct posted *p) MUST_CHECK;
/* Completes it; RC_OK if it is not on its way. */
enum rc server_end_posted(struct ps_server *s, struct posted *p, int timeout_ms) MUST_CHECK;
/* Completes the send of the last reply to r, which has arrived if a new request came in its slot. */
enum rc server_end_reply(struct ps_server *s, struct request *r, int timeout_ms) MUST_CHECK;
/* The request of the worker in this slot is served: completes the reply before it. Also RC_OK if the worker is lost by
 * now, which is noticed elsewhere: the change is made nevertheless (replica.R1). */
enum rc server_begin_request(struct ps_server *s, int worker, int slot) MUST_CHECK;
/* Adds a span to the timeline: the work on chunk k (-1: none), in the step of the last push. */
void server_note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems);

/* --- server_push.c: versions --- */

/* Allocates the versions that V2 needs, before the first answer of the slice. RC_NOMEM. */
enum rc server_open_versions(struct ps_server *s) MUST_CHECK;
void server_close_versions(struct ps_server *s);
/* The address of the newest version of chunk k; NULL: no data. */
float *server_param(const struct ps_server *s, size_t k);
/* out[n_elems] := the current slice. */
void server_gather(const struct ps_server *s, float *out);

/* --- server.c --- */

/* Opens slice `slice`, whose initial values are those of env, into the list of *rank; NULL: it is the rank's own.
 */
enum rc server_open_slice(struct ps_server **out, const struct sync_env *env, int slice,
                          struct ps_server *rank) MUST_CHECK;
/* RC_MISMATCH: the request with header h is of another model, or of other options. */
enum rc server_check_layout(const struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* RC_MISMATCH: P4 forbids a request with this op in the slot of a. */
enum rc server_check_slot(const struct ps_server *s, const struct arrival *a, enum ps_op op) MUST_CHECK;
/* Executes request a, with header h, which was checked. Its message may be taken from *a. */
enum rc server_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* A message of this worker in this slot was refused; rc_message() says why. P5: counts it, logs it, and answers it or
 * drops the worker. RC_MISMATCH: worker 0 is dropped. */
enum rc server_refuse(struct ps_server *s, int worker, uint32_t slot, enum refused why) MUST_CHECK;
/* Only counts and logs. */
void server_count_refused(struct ps_server *s, enum refused why, const char *text);
/* Writes one line to the owner's log function. */
void server_tell(const struct ps_server *s, const char *line);
/* The worker sends nothing more, if it has sent something before. */
void server_leave(struct ps_server *s, int worker);
/* Drops the worker, which is lost, now. */
void server_drop_now(struct ps_server *s, int worker);
/* Releases its requests that are not served yet. */
void server_forget_arrivals(struct ps_server *s, int worker);
/* After RC_PEER of a transfer with the worker: RC_OK if the worker is lost, which is then dropped; else the same
 * error. */
enum rc server_forgive_lost(struct ps_server *s, int worker) MUST_CHECK;

#endif
