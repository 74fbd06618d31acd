/* SPDX-License-Identifier: Apache-2.0 */
/* server_state.h - what a server owns. Private to server.c and server_*.c. */
#ifndef PS_SERVER_STATE_H
#define PS_SERVER_STATE_H

#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"
#include "ps/clocks.h"
#include "ps/protocol.h"
#include "ps/ps.h"
#include "ps/recovery/leases.h"
#include "ps/server.h"
#include "ps/wire.h"

enum worker_state { TRAINING, FETCHING, LEFT, LOST, ABSENT /* a late joiner that has not joined */ };

struct arrival { /* a request received, not yet served */
    struct message message;
    int worker;       /* the worker that made it, in which slot; for a forward, not the sender of the message */
    uint32_t slot;    /* PS_CREDITS or more: none */
    uint64_t seen_ns; /* when the server received it */
    bool was_awaited; /* the server was idle: the request arrived at seen_ns, not before */
};

struct request {         /* the last request of a worker in one of its slots (P4) */
    bool waits;          /* it was served, and is not answered yet ... */
    bool is_silent;      /* no worker waits here for its answer (replica.R4) */
    bool is_kept;        /* ... and its gradient is kept for the round, in `kept` */
    bool is_due;         /* of a partial copy: the kept gradient has not arrived yet (copy.h) */
    bool is_refused;     /* ... but refused and not stored: it is not finite (P6) */
    struct message kept; /* lent by the transport; its body: */
    struct push_body body;
    struct ps_header answer; /* while it waits: what is known of it */
    float lr;                /* likewise: the learning rate of its push */
    uint64_t waits_since_ns; /* likewise */
    bool reply_posted;
    int *n_readers; /* of the version that the reply is sent from (server_version.c); NULL: none */
    struct xfer reply;
    unsigned char reply_header[PS_HEADER_BYTES];
    bool is_pending; /* it is forwarded, and not served yet ... */
    uint32_t pending_piece;
    uint64_t forwarded_ns;
    bool is_forwarded; /* `forward` is posted */
    struct xfer forward;
    unsigned char forward_header[PS_HEADER_BYTES];
};

struct client { /* a worker, as the server sees it */
    enum worker_state state;
    bool may_push;     /* exchange.E11: a push that it has not sent yet is granted */
    bool is_ending;    /* its LEAVE, FETCH or loss is forwarded ... */
    bool loss_is_told; /* ... its loss, by `loss` */
    bool has_left_all; /* it needs no server any more, by its last LEAVE to this server (replica.R8) */
    struct request request[PS_CREDITS];
    struct request refusal;     /* the last REFUSED of P5, which may be sent while a request in its slot waits */
    struct request loss, leave; /* only their forwards are used */
    int n_refused;              /* its refused messages (P5) */
    uint64_t n_batches;         /* leases.h, server 0: batches that it has done */
    bool has_begun, asks;       /* leases.h: it has asked for its first batch; its NEXT is unanswered */
    uint64_t asked;             /* leases.h: the batch that its last NEXT reports done, + 1 */
    bool is_seen;               /* it is counted in n_seen */
};

struct piece_state {
    struct range part; /* of the piece, in the slice */
    int version;       /* its newest one */
    int *n_readers; /* [1 + versions.n_others]: replies that are sent from each; NULL: there is one version, or none is
                     */
    uint64_t clock; /* updates of it so far (P2) */
    uint64_t min_transit_ns; /* least seen_ns - sent_ns of its pushes so far; UINT64_MAX: no push yet */
    struct clocks clocks;    /* of the workers */
};

struct chain {               /* replica.h: for a slice, at its holder towards the standby, or at the standby from the
                                holder */
    bool is_on;              /* changes of the slice are forwarded */
    int heir, home;          /* ranks; home: the server whose forwards a replica takes */
    struct arrival *pending; /* [most_pending], a ring buffer: forwarded, and not served; peer -1: LOST or LEAVE without
                                a message, the op is in message.tag */
    int first_pending, n_pending, most_pending;
    struct copy *copy;         /* copy.h: being sent to a new standby, or received from the holder; NULL: none */
    enum rc error;             /* of a forward that its living standby did not release (replica.R7) */
    uint64_t n_held, n_served; /* HELD received; forwards of the home that were served */
    struct held {              /* [most_pending]: HELD number n is at n modulo most_pending */
        bool is_posted;
        struct xfer tx;
        unsigned char header[PS_HEADER_BYTES];
    } * held;
};

struct versions {   /* server_version.c */
    int n_others;   /* 0: version 0 is the only one */
    float **other;  /* [n_others]: versions 1 and up of the slice */
    int *n_readers; /* the memory of n_readers of all pieces */
    struct arena arena;
};

struct ps_server {
    struct sync_env env;
    int slice;      /* number of the server whose slice it is */
    size_t n_elems; /* of the slice */
    struct optimizer optimizer;
    struct arena arena;
    float *param; /* the slice: version 0 of each piece; NULL: no data */
    struct versions versions;
    uint64_t n_updates_before; /* of each piece, by the training that this run continues */
    float *state;              /* the body of STATE; NULL: no data */
    float *sum;                /* sum of the gradients of a round, or one unpacked gradient; as long as the slice; NULL:
                                  neither is needed, or no data */
    struct piece_state *piece; /* [n_pieces] */
    uint64_t layout;           /* of this server: layout.h */
    uint64_t told_ns;          /* when a line about a refused message was last written; 0: never */
    uint64_t n_untold;         /* messages refused since */
    int n_seen;                /* workers that have ever been present: all but late joiners that have not joined */
    int n_left;                /* of these, workers that have left or are lost: they send nothing more */
    bool has_new_left;         /* some of these are new since the waiting workers were last checked */
    struct client *client;     /* [sync_most_workers()] */
    struct arrival *arrival;   /* [most_arrivals], a ring buffer */
    int first_arrival, n_arrivals, most_arrivals;
    struct chain chain;      /* with replicas */
    struct ps_server **here; /* at the rank's own slice: [n_here], all slices that are here; its own first */
    int n_here;
    struct ps_server *rank; /* the server of the rank's own slice; it may be this one */
    uint32_t served_step;   /* of that server: step of the last push here, for the timeline */
    bool is_replica;        /* it has another server's slice ... */
    bool is_heir;           /* ... and has replaced that server */
    bool is_partial;        /* replica: part of its copy has not arrived yet (copy.h) */
    bool has_given_state;   /* the answer to FETCH has been sent */
    struct leases leases;   /* leases.h: of slice 0 and its replica; else zeros */
    int n_asking;           /* workers with a waiting NEXT */
    uint64_t *round_ns;     /* [n_batches / n_workers], beside the queue: when each further n_workers batches were
                                 done */
    struct batch_set *has;  /* [n_pieces]: batches whose gradients are in the part; NULL: the run is not elastic */
    size_t counted_piece; /* exchange.E11: each push of it grants its worker another push; n_pieces: none is counted */
    uint64_t n_granted;   /* pushes that workers have sent or may send */
    int silence_ms;       /* maximum time without any message while a rank must send one */
    struct server_facts facts;
};

/* Does it serve (and not only follow)? */
static inline bool server_is_holder(const struct ps_server *s)
{
    return !s->is_replica || s->is_heir;
}

/* Slice number `slice` among those of the rank s; NULL: it is not here. */
static inline struct ps_server *server_of_slice(const struct ps_server *s, int slice)
{
    for (int i = 0; i < s->n_here; i++)
        if (s->here[i]->slice == slice)
            return s->here[i];
    return NULL;
}

/* Was its home lost at the very end, so that no server replaced it, but all its data is here? */
bool server_is_left_with(const struct ps_server *s);

/* Does it only follow its home? Then it sends no answers. */
static inline bool server_is_silent(const struct ps_server *s)
{
    return !server_is_holder(s);
}

static inline bool server_is_hollow(const struct ps_server *s)
{
    return s->param == NULL && s->n_elems > 0;
}

/* leases.h */
static inline bool server_is_elastic(const struct ps_server *s)
{
    return s->env.n_batches > 0;
}

/* --- server_check.c --- */

/* RC_MISMATCH, *why: P3 or P4 forbid push a, with header h. */
enum rc server_check_push(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* RC_MISMATCH, *why: the body of push a, with header h, does not belong to this run. */
enum rc server_check_body(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* RC_MISMATCH, *why: pull a, with header h, is of a piece that is not here. */
enum rc server_check_pull(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;

/* --- server_push.c --- */

/* Serves push a, with header h: counts its gradient, keeps it (then its message is taken from *a) or drops it, and
 * answers the workers that may now read.
 */
enum rc server_push(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Push a is in this server already; its home was lost before it answered. Answers it as soon as its worker may read. */
enum rc server_push_again(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* Serves pull a: answers it as soon as its worker may read. */
enum rc server_pull(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Every worker may push once (exchange.E11). */
void server_open_stop(struct ps_server *s);
/* Worker w pushes no more. Its kept gradients are dropped; workers that may have waited for it will be checked. */
void server_forget(struct ps_server *s, int w);
/* Answers every worker that may read since workers have left. */
enum rc server_settle_all(struct ps_server *s) MUST_CHECK;
/* Sends h, then body: float[h->n_elems]; STATE has n_moments more of these. Lent until server_end_reply(). body is NULL
 * if empty or in a no-data run. */
enum rc server_post_reply(struct ps_server *s, int worker, int slot, const struct ps_header *h, float *body) MUST_CHECK;
/* Sends REFUSED h (P5), likewise; lent until server_end_reply() of client.refusal. */
enum rc server_post_refusal(struct ps_server *s, int worker, int slot, const struct ps_header *h) MUST_CHECK;
/* Completes the send of the last reply to r, which has arrived if a new request came in its slot. */
enum rc server_end_reply(struct ps_server *s, struct request *r) MUST_CHECK;
/* The request of the worker in this slot is served: completes the reply before it. Also RC_OK if the worker is lost by
 * now, which is noticed elsewhere: the change is made as the replica makes it (replica.R1). */
enum rc server_begin_request(struct ps_server *s, int worker, int slot) MUST_CHECK;
/* Adds a span to the timeline: the work on piece k (-1: none), in the step of the last push. */
void server_note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems);

/* --- server_version.c --- */

/* Allocates the versions that V2 needs, before the first answer of the slice. RC_NOMEM. */
enum rc server_open_versions(struct ps_server *s) MUST_CHECK;
void server_close_versions(struct ps_server *s);
/* The address of version v of piece k; NULL: no data. */
float *server_version(const struct ps_server *s, size_t k, int v);
/* The address of the newest version. */
float *server_param(const struct ps_server *s, size_t k);
/* out[n_elems] := the current slice. */
void server_gather(const struct ps_server *s, float *out);
/* V1: the version that the next update of piece k is written to. */
int server_next_version(const struct ps_server *s, size_t k);
/* V1: r starts, or ends, to be answered with the newest version of its piece, in place. */
void server_hold_version(struct ps_server *s, struct request *r);
void server_release_version(struct request *r);

/* --- server_round.c --- */

/* Updates piece k once by grad, the sum of n_grads gradients; NULL: no data. */
enum rc server_apply(struct ps_server *s, size_t k, const float *grad, int n_grads, float lr) MUST_CHECK;
/* The body at `from` (NULL: no data) as floats: the body itself, or a copy in s->sum. */
const float *server_unpacked(struct ps_server *s, const struct push_body *b, const void *from);
/* The kept gradient of piece k of worker w; NULL: none. */
struct request *server_kept_of(struct ps_server *s, int w, size_t k);
/* The kept gradient of r is not needed any more. */
void server_release_kept(struct ps_server *s, struct request *r);
/* The round of piece k is full: makes the update of its step. */
enum rc server_end_round(struct ps_server *s, size_t k) MUST_CHECK;

/* --- recovery/elastic.c: does nothing if the run is not elastic --- */

/* Does this slice own the work queue? */
bool server_has_book(const struct ps_server *s);

/* RC_NOMEM. */
enum rc server_open_leases(struct ps_server *s) MUST_CHECK;
void server_close_leases(struct ps_server *s);
/* RC_MISMATCH, *why: push a, with header h, is of a piece that is not here, or of a batch that its worker may not
 * have. */
enum rc server_check_batch(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why) MUST_CHECK;
/* NEXT, LEAVE or FETCH a, with header h. RC_MISMATCH, *why: the batch that it reports is not done, or NEXT is out of
 * order. */
enum rc server_check_done(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Sends the answer, without a body, to a served request in slot 0; nothing if it is silent (replica.R4). */
enum rc server_answer_alone(struct ps_server *s, int worker, const struct ps_header *h) MUST_CHECK;
/* Is NEXT, JOIN or LEAVE a, with header h, in this server already? Its home was lost before it answered
 * (replica.R3). */
bool server_lease_is_again(const struct ps_server *s, const struct arrival *a, const struct ps_header *h);
/* Answers it, unless it is a NEXT that still waits. */
enum rc server_lease_again(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* Would a late joiner that joins now come too late (leases.B9)? */
bool server_joins_late(const struct ps_server *s);
/* Reports the end of each finished round to env.on_round. */
void server_tell_rounds(const struct ps_server *s);
/* The batch of the worker that the message with header h reports is done. */
void server_end_batch(struct ps_server *s, int worker, const struct ps_header *h);
/* The worker leaves, and has not started its batch ahead. */
void server_return_batch(struct ps_server *s, int worker);
/* The worker pushes its batch, or the one it had ahead; then the one before is done. */
void server_begin_batch(struct ps_server *s, int worker, const struct ps_header *h);
/* The next batch + 1 of the worker, which pushes; 0: none yet, or this server does not own the queue. */
uint64_t server_next_batch(struct ps_server *s, int worker);
/* Serves NEXT: answers it once there is a batch, or every batch is done. */
enum rc server_next(struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Does this slice have all its parts of the batch? */
bool server_has_whole(const struct ps_server *s, uint64_t batch);
/* Can a waiting NEXT be answered? Cheap. */
bool server_leases_are_due(const struct ps_server *s);
/* Answers the waiting NEXTs. */
enum rc server_answer_next(struct ps_server *s) MUST_CHECK;
/* RC_MISMATCH, *why: the JOIN of a late joiner is out of order. */
enum rc server_check_join(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Serves JOIN: the late joiner becomes a worker, unless every batch is done. */
enum rc server_join(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* The worker asks for nothing more; its batch may be assigned again. */
void server_end_lease(struct ps_server *s, int worker);
/* Does the push with header h count (leases.B4)? Then the part has its batch from now on. */
bool server_takes_part(struct ps_server *s, const struct ps_header *h);
/* For the report, with the queue: the worker joined or ended before every batch was done. */
void server_note_change(struct ps_server *s, int worker, enum worker_change_kind what);
/* Fills in the facts of *out about batches, for all slices that the rank s holds. */
void server_batch_facts(const struct ps_server *s, struct server_facts *out);

/* --- server_refuse.c --- */

/* A message of this worker in this slot was refused; rc_message() says why. P5: counts it, logs it, and answers it or
 * drops the worker. RC_MISMATCH: worker 0 is dropped. */
enum rc server_refuse(struct ps_server *s, int worker, uint32_t slot, enum refused why) MUST_CHECK;
/* Writes one line to the owner's log function. */
void server_tell(const struct ps_server *s, const char *line);
/* Only counts and logs. */
void server_count_refused(struct ps_server *s, enum refused why, const char *text);

/* --- server.c --- */

/* Opens slice `slice`, whose initial values are those of env, into the list of *rank; NULL: it is the rank's own.
 */
enum rc server_open_slice(struct ps_server **out, const struct sync_env *env, int slice,
                          struct ps_server *rank) MUST_CHECK;

/* Executes request a, with header h, which was checked. Its message may be taken from *a. */
enum rc server_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Checks the oldest request, and serves or forwards it. */
enum rc server_serve_next(struct ps_server *s) MUST_CHECK;
/* RC_MISMATCH: the request with header h is of another model, or of other options. */
enum rc server_check_layout(const struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* --- server_fetch.c --- */

/* Replies to worker 0 with the current STATE. */
enum rc server_post_state(struct ps_server *s) MUST_CHECK;
/* Answers worker 0's FETCH if every other worker has left. */
enum rc server_answer_fetch(struct ps_server *s) MUST_CHECK;

/* --- server.c: the end of workers --- */

/* The worker sends nothing more, if it has sent something before. */
void server_leave(struct ps_server *s, int worker);
/* Drops the worker, which is not lost. RC_MISMATCH: it is worker 0, which cannot be replaced. */
enum rc server_drop_worker(struct ps_server *s, int worker) MUST_CHECK;
/* The worker is lost: drops it now, or after its replica has dropped it. */
enum rc server_lose_worker(struct ps_server *s, int worker) MUST_CHECK;
/* Drops it now. */
void server_drop_now(struct ps_server *s, int worker);
/* Releases its requests that are not served yet. */
void server_forget_arrivals(struct ps_server *s, int worker);

/* --- server_loop.c --- */

/* After RC_PEER of a transfer with the worker: RC_OK if the worker is lost, which is then dropped; else the same
 * error. */
enum rc server_forgive_lost(struct ps_server *s, int worker) MUST_CHECK;

#endif
