/* SPDX-License-Identifier: Apache-2.0 */
/* server_state.h - what a server owns. Of server.c and server_*.c alone. */
#ifndef PS_SERVER_STATE_H
#define PS_SERVER_STATE_H

#include <stdio.h>

#include "harness/base/arena.h"
#include "harness/base/range.h"
#include "harness/compute/optimizer.h"
#include "harness/net/transport.h"
#include "ps/clocks.h"
#include "ps/leases.h"
#include "ps/protocol.h"
#include "ps/ps.h"
#include "ps/server.h"
#include "ps/wire.h"

enum worker_state { TRAINING, FETCHING, LEFT, LOST, ABSENT /* a guest that has not joined */ };

struct arrival { /* a request received, not yet served */
    struct message message;
    int worker;       /* who made it, in which slot: of a forward not who sent the message */
    uint32_t slot;    /* PS_CREDITS or more: it has none */
    uint64_t seen_ns; /* when the server received it */
    bool was_awaited; /* the server was idle: the request arrived at seen_ns, not before */
};

struct request {         /* of a worker, in one of its slots (P4): the last one that came there */
    bool waits;          /* it was served, and is not answered yet ... */
    bool is_silent;      /* nobody waits here for its answer (replica.R4) */
    bool is_kept;        /* ... and its gradient is kept for the round: in `kept` */
    bool is_due;         /* of a copy that comes: the gradient that is kept is to come yet (copy.h) */
    bool is_refused;     /* ... but not taken: it is not finite (P6), and not there any more */
    struct message kept; /* lent by the transport; its body: */
    struct push_body body;
    struct ps_header answer; /* where it waits: what is known of it */
    float lr;                /* likewise: of its push */
    uint64_t waits_since_ns; /* likewise */
    bool reply_posted;
    int *n_readers; /* of the version that the reply is sent from (server_version.c); NULL: of none */
    struct xfer reply;
    unsigned char reply_header[PS_HEADER_BYTES];
    bool is_pending; /* it is forwarded, and not served yet: ... */
    uint32_t pending_piece;
    uint64_t forwarded_ns;
    bool is_forwarded; /* `forward` is posted */
    struct xfer forward;
    unsigned char forward_header[PS_HEADER_BYTES];
};

struct client { /* a worker, as the server sees it */
    enum worker_state state;
    bool may_push;            /* exchange.E11: a push that it has not pushed is counted */
    bool is_ending;           /* its LEAVE, FETCH or loss is forwarded ... */
    bool loss_is_told;        /* ... its loss, by `loss` */
    uint64_t n_pushed_before; /* as it says then: pushes to the server before, of all its pieces */
    bool has_left_all;        /* it needs no server any more, by its last LEAVE to this one (replica.R8) */
    struct request request[PS_CREDITS];
    struct request refusal;     /* the last REFUSED of P5, which may go while a request in its slot waits */
    struct request loss, leave; /* their forwards alone are used */
    int n_refused;              /* of its messages, by P5 */
    uint64_t n_batches;         /* leases.h: of server 0: that it has done */
    bool has_begun, asks;       /* leases.h: it has asked for its first batch; its NEXT is not answered */
    bool has_reported;          /* leases.B12 */
    uint64_t asked;             /* leases.h: the batch that its last NEXT says is done, + 1 */
    bool is_seen;               /* it is one of n_seen */
};

struct piece_state {
    struct range part; /* of it in the slice */
    int version;       /* its newest one */
    int *n_readers; /* [1 + versions.n_others]: replies that are sent from each; NULL: there is one version, or none is
                     */
    uint64_t clock; /* updates of it so far (P2) */
    uint64_t n_rolled_back;     /* of that, updates that are not in the parameters (snapshot.N3) */
    uint32_t n_rounds_restored; /* sync: those that a lost server has ended (snapshot.N6) */
    uint64_t min_transit_ns;    /* least seen_ns - sent_ns of its pushes so far; UINT64_MAX: no push yet */
    struct clocks clocks;       /* of its workers */
};

struct chain {               /* replica.h; of a slice, of its holder to the heir, or at the heir from the holder */
    bool is_on;              /* what changes the slice is forwarded */
    int heir, home;          /* ranks; home: whose forwards a replica takes */
    struct arrival *pending; /* [most_pending], a ring buffer: forwarded, and not served; peer -1: LOST or LEAVE without
                                a message: the op is in message.tag */
    int first_pending, n_pending, most_pending;
    struct copy *copy;         /* copy.h: on its way to a new heir, or to this one from its holder; NULL: none is */
    enum rc error;             /* of a forward that its heir, which lives, did not release (replica.R7) */
    uint64_t n_held, n_served; /* HELD taken; forwards served of the home's */
    struct held {              /* [most_pending]: HELD number n is in n modulo that */
        bool is_posted;
        struct xfer tx;
        unsigned char header[PS_HEADER_BYTES];
    } * held;
};

enum { AUDIT_BYTES = 4000 }; /* of an answer: with its header within any plan (transport.T13) */

struct audit {                /* audit.h */
    bool is_closed;           /* of the book: an audit has found all batches everywhere */
    bool is_on, is_asked;     /* of the book: one is under way; AUDIT is posted, and not answered */
    bool is_last;             /* it began when all batches were done */
    int n_lost;               /* servers, when the last one began */
    int slice, peer;          /* what is asked for next, or is asked for: ... */
    uint64_t first, number;   /* ... batches from this one on; AUDIT sent so far */
    struct xfer ask;          /* where is_asked */
    bool is_due, is_answered; /* of the rank: an AUDIT is not answered yet; AUDITED is posted */
    struct audit_question {   /* where is_due */
        int slice, peer;      /* rank */
        uint64_t first, number;
    } due;
    struct xfer answer; /* where is_answered */
    unsigned char ask_header[PS_HEADER_BYTES], answer_header[PS_HEADER_BYTES], body[AUDIT_BYTES];
};

struct versions {   /* server_version.c */
    int n_others;   /* 0: version 0 is the only one */
    float **other;  /* [n_others]: of the slice, versions 1 and up */
    int *n_readers; /* what those of all pieces are in */
    struct arena arena;
};

struct ps_server {
    struct sync_env env;
    int slice;      /* whose: number of a server */
    size_t n_elems; /* of the slice */
    struct optimizer optimizer;
    struct arena arena;
    float *param; /* the slice: version 0 of each piece; NULL: hollow */
    struct versions versions;
    uint64_t n_updates_before; /* of each piece, of the training that this one goes on with */
    float *state;              /* the body of STATE; NULL: hollow */
    float *sum;                /* of the gradients of a round, or one that was compressed, as long as the slice; NULL:
                                  hollow, or neither is */
    struct piece_state *piece; /* [n_pieces] */
    uint64_t layout;           /* of this server: layout.h */
    uint64_t told_ns;          /* when a line was written about a message that was refused; 0: none was */
    uint64_t n_untold;         /* those refused since */
    int n_seen;                /* workers that have ever been there: all but guests that have not joined */
    int n_left;                /* of these, that have left or are lost: they send nothing more */
    bool has_new_left;         /* some of these since others were last looked at, who may have waited for them */
    struct client *client;     /* [sync_most_workers()] */
    struct arrival *arrival;   /* [most_arrivals], a ring buffer */
    int first_arrival, n_arrivals, most_arrivals;
    struct chain chain;      /* with replicas */
    struct ps_server **here; /* of the rank's own slice: [n_here], those of all slices that are here; the own first */
    int n_here;
    struct ps_server *rank;   /* of the rank's own slice; it may be this one */
    uint32_t served_step;     /* of that one: of the last push here, for the timeline */
    bool is_replica;          /* this one is of another server's slice ... */
    bool is_heir;             /* ... and has taken its place */
    bool is_partial;          /* a replica's: some of its copy is to come yet (copy.h) */
    bool has_given_state;     /* the answer to FETCH */
    bool is_restored;         /* the heir's: from a snapshot (snapshot.h) */
    struct audit audit;       /* audit.h; with snapshots */
    bool is_saved;            /* likewise: nobody has pushed since the last one was written */
    uint64_t n_unsaved;       /* updates since the last one, of all pieces */
    FILE *notes;              /* snapshot.N6; NULL: none */
    unsigned char *noted_row; /* likewise: room for one */
    struct leases leases;     /* leases.h: of slice 0, its replica too; else zeros */
    int n_asking;             /* workers whose NEXT waits */
    uint64_t *round_ns;       /* [n_batches / n_workers], beside the book: when so many times n_workers were done */
    struct batch_set *has;    /* [n_pieces]: batches whose gradients are in the part; NULL: the run is not elastic */
    size_t counted_piece; /* exchange.E11: with each push of it a worker has another granted; no piece: not counted */
    uint64_t n_granted;   /* pushes that workers have pushed or may push */
    int silence_ms;       /* how long nobody may send anything, while somebody is to */
    struct server_facts facts;
};

/* Does it serve, and not follow only? */
static inline bool server_is_holder(const struct ps_server *s)
{
    return !s->is_replica || s->is_heir;
}

/* Slice number `slice`, where it is with that of the rank s; NULL: it is not here. */
static inline struct ps_server *server_of_slice(const struct ps_server *s, int slice)
{
    for (int i = 0; i < s->n_here; i++)
        if (s->here[i]->slice == slice)
            return s->here[i];
    return NULL;
}

/* Has its home been lost when all was over, so that nobody took its place, but all that it had is here? */
bool server_is_left_with(const struct ps_server *s);

/* Does it only follow its home? Then nobody gets an answer. */
static inline bool server_is_silent(const struct ps_server *s)
{
    return !server_is_holder(s);
}

/* That are in the parameters of the piece, of this run. */
static inline uint64_t server_n_updates(const struct piece_state *p)
{
    return p->clock - p->n_rolled_back;
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

/* Is push a, with the header h, one that P3 and P4 allow? RC_MISMATCH, *why: it is not. */
enum rc server_check_push(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Is the body of push a, with the header h, one of this run? RC_MISMATCH, *why: it is not. */
enum rc server_check_body(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Is pull a, with the header h, of a piece that is here? RC_MISMATCH, *why: it is not. */
enum rc server_check_pull(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;

/* --- server_push.c --- */

/* Serve push a, with the header h: count its gradient, keep it (its message is taken from *a then) or drop it, and
 * answer whom that lets read.
 */
enum rc server_push(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Push a, with the header h, is in this server, whose home was lost before it answered: answer it as soon as its worker
 * may read. */
enum rc server_push_again(struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Serve pull a likewise: answer it as soon as its worker may read. */
enum rc server_pull(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Every worker may push once (exchange.E11). */
void server_open_stop(struct ps_server *s);
/* Worker w pushes no more: what is kept of it is dropped, and those who may have waited for it are to be looked at. */
void server_forget(struct ps_server *s, int w);
/* Answer all who may read since workers have left. */
enum rc server_settle_all(struct ps_server *s) MUST_CHECK;
/* Send h, then body: float[h->n_elems], for STATE as often as it says; lent until server_end_reply(). NULL: hollow or
 * empty. */
enum rc server_post_reply(struct ps_server *s, int worker, int slot, const struct ps_header *h, float *body) MUST_CHECK;
/* Send REFUSED h, of P5, likewise; lent until server_end_reply() of client.refusal. */
enum rc server_post_refusal(struct ps_server *s, int worker, int slot, const struct ps_header *h) MUST_CHECK;
/* Complete the send of the last reply to r, which has arrived if a new request came in its slot. */
enum rc server_end_reply(struct ps_server *s, struct request *r) MUST_CHECK;
/* The request of the worker in this slot is served: ends the reply before it. RC_OK too where the worker is lost by
 * now, which is noticed elsewhere: the change is made as the replica makes it (replica.R1). */
enum rc server_begin_request(struct ps_server *s, int worker, int slot) MUST_CHECK;
/* Into the timeline: what was done with piece k, or for -1 with none, in the step of the last push. */
void server_note_span(const struct ps_server *s, const char *what, uint64_t start_ns, uint64_t end_ns, int32_t k,
                      size_t n_elems);

/* --- server_version.c --- */

/* As many as V2 needs, before the first answer of the slice. RC_NOMEM. */
enum rc server_open_versions(struct ps_server *s) MUST_CHECK;
void server_close_versions(struct ps_server *s);
/* Where version number v of piece k is; NULL: hollow. */
float *server_version(const struct ps_server *s, size_t k, int v);
/* The newest one. */
float *server_param(const struct ps_server *s, size_t k);
/* out[n_elems] := the slice, as it is now. */
void server_gather(const struct ps_server *s, float *out);
/* V1: which version the next update of piece k is written to. */
int server_next_version(const struct ps_server *s, size_t k);
/* V1: r is answered, or not any more, with the newest version of its piece, from where that is. */
void server_hold_version(struct ps_server *s, struct request *r);
void server_release_version(struct request *r);

/* --- server_round.c --- */

/* One update of piece k by grad, the sum of n_grads; NULL: hollow. */
enum rc server_apply(struct ps_server *s, size_t k, const float *grad, int n_grads, float lr) MUST_CHECK;
/* The body at `from` (NULL: hollow) as floats: itself, or in s->sum. */
const float *server_unpacked(struct ps_server *s, const struct push_body *b, const void *from);
/* What is kept of worker w of piece k; NULL: nothing. */
struct request *server_kept_of(struct ps_server *s, int w, size_t k);
/* What was kept of it is not needed any more. */
void server_release_kept(struct ps_server *s, struct request *r);
/* The round of piece k is full: the update of its step. */
enum rc server_end_round(struct ps_server *s, size_t k) MUST_CHECK;

/* --- server_lease.c: of a run that is not elastic, nothing --- */

/* Has this slice the book? */
bool server_has_book(const struct ps_server *s);

/* RC_NOMEM. */
enum rc server_open_leases(struct ps_server *s) MUST_CHECK;
void server_close_leases(struct ps_server *s);
/* Is push a, with the header h, of a piece that is here, of a batch that its worker may have? RC_MISMATCH, *why. */
enum rc server_check_batch(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                           enum refused *why) MUST_CHECK;
/* NEXT, LEAVE or FETCH a, with the header h: is the batch done that it says, and does NEXT come in its place?
 * RC_MISMATCH, *why. */
enum rc server_check_done(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Of a request in slot 0 that is served: its answer, which has no body; to nobody where it is silent (replica.R4). */
enum rc server_answer_alone(struct ps_server *s, int worker, const struct ps_header *h) MUST_CHECK;
/* NEXT, JOIN or LEAVE a, with the header h, is in this server, whose home was lost before it answered (replica.R3). */
bool server_lease_is_again(const struct ps_server *s, const struct arrival *a, const struct ps_header *h);
/* Answer it, unless it is a NEXT that still waits. */
enum rc server_lease_again(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* Would a guest that joins now come too late (leases.B9)? */
bool server_joins_late(const struct ps_server *s);
/* The end of each round that is done, to env.on_round. */
void server_tell_rounds(const struct ps_server *s);
/* The batch of the worker is done that such a message says. */
void server_end_batch(struct ps_server *s, int worker, const struct ps_header *h);
/* The worker leaves, and has not begun with what it has ahead. */
void server_return_batch(struct ps_server *s, int worker);
/* The worker pushes of the batch that it has, or had ahead: what it had before is done then. */
void server_begin_batch(struct ps_server *s, int worker, const struct ps_header *h);
/* The batch that the worker, which pushes, is to go on with, + 1; 0: none yet, or this server has no book. */
uint64_t server_next_batch(struct ps_server *s, int worker);
/* Serve NEXT: answer it once there is a batch, or all are done. */
enum rc server_next(struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* leases.B12: are there workers that this book does not know of yet what they have? */
bool server_collects_leases(const struct ps_server *s);
/* What the book from a snapshot has for the worker, which has left: done where it is whole, else undone. */
void server_forgo_batches(struct ps_server *s, int worker);
/* Has this slice all its parts of the batch? */
bool server_has_whole(const struct ps_server *s, uint64_t batch);
/* Does a NEXT of the worker wait? Not one that a snapshot has, and the worker does not send again. */
bool server_awaits_answer(const struct ps_server *s, int worker);
/* Could a NEXT that waits be answered? Cheap. */
bool server_leases_are_due(const struct ps_server *s);
/* Answer them. */
enum rc server_answer_next(struct ps_server *s) MUST_CHECK;
/* JOIN of a guest: does it come in its place? RC_MISMATCH, *why. */
enum rc server_check_join(const struct ps_server *s, const struct arrival *a, const struct ps_header *h,
                          enum refused *why) MUST_CHECK;
/* Serve it: the guest is a worker, unless all is done. */
enum rc server_join(struct ps_server *s, const struct arrival *a) MUST_CHECK;
/* The worker asks for nothing more, and what it has is another one's. */
void server_end_lease(struct ps_server *s, int worker);
/* Does the push with the header h count (leases.B4)? Then the part has its batch from now on. */
bool server_takes_part(struct ps_server *s, const struct ps_header *h);
/* For the report, beside the book: the worker came or went, before all batches were done. */
void server_note_change(struct ps_server *s, int worker, enum worker_change_kind what);
/* What of *out is about batches, of all slices that the rank s holds. */
void server_batch_facts(const struct ps_server *s, struct server_facts *out);

/* --- server_refuse.c --- */

/* A message of this worker in this slot was refused: rc_message() says what is wrong with it. P5: counts, says so,
 * answers, or drops the worker. RC_MISMATCH: worker 0 is dropped. */
enum rc server_refuse(struct ps_server *s, int worker, uint32_t slot, enum refused why) MUST_CHECK;
/* One line, to whom the owner wants. */
void server_tell(const struct ps_server *s, const char *line);
/* Count and tell alone. */
void server_count_refused(struct ps_server *s, enum refused why, const char *text);

/* --- server.c --- */

/* Of slice number `slice`, whose initial values are those of env, into the list of *rank; NULL: it is the rank's own.
 */
enum rc server_open_slice(struct ps_server **out, const struct sync_env *env, int slice,
                          struct ps_server *rank) MUST_CHECK;

/* Make what request a, with the header h, asks for; it was checked. Its message may be taken from *a. */
enum rc server_serve(struct ps_server *s, struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* Check the oldest request, and serve or forward it. */
enum rc server_serve_next(struct ps_server *s) MUST_CHECK;
/* RC_MISMATCH: the request with the header h is of another model, or of other options. */
enum rc server_check_layout(const struct ps_server *s, const struct arrival *a, const struct ps_header *h) MUST_CHECK;
/* --- server_fetch.c --- */

/* Reply STATE, as it is now, to worker 0. */
enum rc server_post_state(struct ps_server *s) MUST_CHECK;
/* Answer worker 0's FETCH, if all others have left. */
enum rc server_answer_fetch(struct ps_server *s) MUST_CHECK;

/* --- server.c, of workers that come to their end --- */

/* The worker sends nothing more, if it has sent something before. */
void server_leave(struct ps_server *s, int worker);
/* The same of a slice that goes on from a snapshot of an elastic run, by what is known of another one: snapshot.N8. */
void server_leave_unheard(struct ps_server *s, int worker);
/* The worker, which is not lost, is from now on. RC_MISMATCH: it is worker 0, which nobody replaces. */
enum rc server_drop_worker(struct ps_server *s, int worker) MUST_CHECK;
/* The worker is lost: drop it, or have it dropped behind its replica. */
enum rc server_lose_worker(struct ps_server *s, int worker) MUST_CHECK;
/* Drop it now. */
void server_drop_now(struct ps_server *s, int worker);
/* Its requests that are not served yet are released. */
void server_forget_arrivals(struct ps_server *s, int worker);

/* --- server_loop.c --- */

/* After RC_PEER of a transfer with the worker: RC_OK if it is lost, and dropped now; else the same error. */
enum rc server_forgive_lost(struct ps_server *s, int worker) MUST_CHECK;

#endif
