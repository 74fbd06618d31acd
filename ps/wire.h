/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the messages between workers and servers.
 *
 * A message is a header of PS_HEADER_BYTES, little-endian, then n_elems float32, or in a PUSH what push_body.h says
 * (hollow runs: as many hollow bytes).
 *
 *   offset  type  field
 *        0  u32   magic "GMPS"
 *        4  u16   version
 *        6  u16   op
 *        8  u32   n_elems
 *       12  f32   lr (PUSH); PARAMS, LATE, REFUSED, BATCH: u32 is_last: 1, the worker begins no other step, else 0
 *       16  u64   clock of the piece: PUSH: of the parameters the gradient was made with (P2); PARAMS: the newest;
 *                 STATE: the updates of the piece that has had the fewest, of all the training; HELD: forwards,
 *                 the first of them all of a copy; COPY: parts of it;
 *                 LEAVE: pushes to the server before the receiver, of all pieces (snapshot.N5); NEXT, and LEAVE and
 *                 FETCH of a run that hands out batches (leases.h): the batch that is done, + 1; 0: none was given, or
 *                 is done; BATCH: the batch, 0 where is_last is 1; AUDIT, AUDITED: the first batch
 *       24  u64   PARAMS, LATE: u32 staleness, updates by others between that pull and this update, and, at 28, u32 the
 *                 batch that the worker may go on with, + 1, behind a PUSH of a run that hands out batches
 *                 (leases.B1), else 0; PUSH: u32 form and, at 28, u32 n_pairs of the body (push_body.h); STATE:
 *                 n_moments; REFUSED: u32 why (exchange/refused.h), and 0; LEAVE and FETCH of a run that hands out
 *                 batches: pushes to the slice (snapshot.N5); AUDIT, AUDITED: number of the AUDIT
 *       32  u64   queue_ns (PARAMS): from arrival at the server until it was served; where the transport does not know
 *                 the arrival: sent_ns plus the shortest transit time of all pushes so far; requests: layout, the
 *                 digest of layout.h; what servers forward: whose it is, see below
 *       40  u64   apply_ns (PARAMS): updating the parameters; PUSH: the batch + 1, below 2^32, of a run that hands out
 *                 batches (leases.h), else 0; other requests: 0
 *       48  u64   PUSH: sent_ns, by the clock all ranks share; PARAMS, LATE: held_ns, for other workers
 *       56  u32   piece (PUSH, PARAMS): which of exchange/buckets.h; the floats are its part of the server's slice;
 *                 COPY: number of the part; HELD, AUDIT, AUDITED: of the slice
 *       60  u32   step of the piece: PUSH: of the worker, its pushes before; PARAMS, LATE, REFUSED: of the slowest
 *                 worker
 *
 *   op      from      means                               answer
 *   PUSH    worker    apply this gradient, then pull      PARAMS; LATE: the same, but its gradient was dropped; REFUSED
 *   FETCH   worker 0  when all others left: final state   STATE (parameters, then the n_moments arrays of the
 *                                                         optimiser, each as long), and worker 0 has left
 *   LEAVE   worker    I push no more                      none; of a run that hands out batches BATCH, is_last 1
 *   LOOK    worker 0  between two pushes: state now       STATE (as for FETCH), and worker 0 goes on
 *   GIVE    worker    as PUSH, but no pull                TAKEN, when a PUSH would be answered; LATE: likewise dropped
 *   PULL    worker    parameters of this piece now        PARAMS, once the worker may read
 *   JOIN    guest     I am a worker from now on           BATCH, is_last 1: all are done, it is none (leases.h)
 *   NEXT    worker    to server 0: a batch, please; the   BATCH, once there is one, or all are done (leases.h)
 *                     one before is done. Where the answer to a push has one, nobody asks. Server 0 is who holds its
 *                     slice (replica.h)
 *
 *   REFUSED server    the request was not taken (P5, P6)  -
 *   LOST    server    to its heir: this worker is lost    HELD
 *   HELD    heir      so many forwards are in the replica -
 *   COPY    server    to its new heir: a part of the      HELD, when all of the copy is there
 *                     slice as it is now (copy.h)
 *   AUDIT   server    which batches from this one on has  AUDITED (audit.h): a bit for each
 *                     the slice?
 *
 * What a server forwards to its heir (replica.h) is a request as it came, a LEAVE, LOST or COPY; at 32 it says whose:
 * u16 slot, u16 slice, u32 worker + 1. Requests that change nothing are not forwarded: LOOK, PULL, and a JOIN that
 * comes too late. Where servers have heirs (heir.h) worker 0 does not leave with its FETCH: it sends LEAVE when it has
 * every STATE. That is of all slices that the server holds, and has no answer. So is the LEAVE of another worker; but
 * in a run that hands out batches each slice gets one of its own before, by its tag (protocol.h), which is answered.
 *
 * GIVE is a PUSH, and TAKEN is PARAMS, in all that is said of these; TAKEN, and a LATE or REFUSED that answers a GIVE,
 * have no elements. PULL has no elements, and no step; NEXT, JOIN and BATCH have neither, and are of no piece.
 *
 * Invariants
 *   P1  A header that is not exactly right is refused: RC_MISMATCH naming the field, and a reason that is counted;
 *       nothing is read past the bytes received.
 *   P2  The clock of a piece at a server grows by one per update of it; staleness = clock - header.clock, of a gradient
 *       that was applied. The clock of a push is that of the parameters that its oldest gradient was made with: as
 *       they were pulled, and one more for each push of the worker's own since.
 *   P3  A worker pushes the steps of a piece in order, each once; which of them waits for whom: clocks.h. A guest
 *       begins with the step that the answer to its first PULL of the piece says: the slowest worker's.
 *   P4  A worker has slots, PS_CREDITS of them (ps.h): the tag of a request says in which it is, and its answer's the
 *       same. It sends nothing in a slot while a request in it is unanswered, no PUSH, GIVE or PULL of a piece while
 *       another one of that is, and FETCH, LOOK, LEAVE, JOIN and NEXT in slot 0, while none is. Answers to requests in
 *       different slots may come in any order.
 *   P5  No request ends a server: one that P1 to P4 forbid, or of another layout, is counted by reason, logged, and
 *       answered in its slot with REFUSED and no elements, at once; it changes nothing else. A worker that gets that
 *       ends with RC_MISMATCH. After PS_MOST_REFUSED of them the worker is dropped, as a lost one is, and not answered
 *       any more: so what it can make a server do is finite. (The drop of worker 0, which nobody replaces, ends the
 *       run.)
 *   P6  A push whose gradient is not finite as a whole is a step of its worker without a gradient: it counts where
 *       clocks.h counts steps, its answer comes when that of PARAMS or TAKEN would and has the same parameters, but is
 *       REFUSED. The worker goes on, and --stop-at-step counts the push. So no NaN and no infinity gets from one worker
 *       into what all have.
 */
#ifndef PS_WIRE_H
#define PS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/refused.h"
#include "ps/push_body.h"

enum { PS_HEADER_BYTES = 64, PS_MOST_MOMENTS = 2 };

enum ps_op {
    PS_PUSH = 1,
    PS_FETCH,
    PS_LEAVE,
    PS_PARAMS,
    PS_STATE,
    PS_LOOK,
    PS_LATE,
    PS_GIVE,
    PS_PULL,
    PS_TAKEN,
    PS_REFUSED,
    PS_LOST,
    PS_HELD,
    PS_NEXT,
    PS_BATCH,
    PS_JOIN,
    PS_COPY,
    PS_AUDIT,
    PS_AUDITED
};
enum { PS_MOST_REFUSED = 16 }; /* P5; those of P6 do not count */

struct ps_header {
    enum ps_op op;
    uint32_t n_elems, piece, step;
    float lr;
    uint64_t clock, staleness, queue_ns, apply_ns;
    uint64_t sent_ns, held_ns; /* of PUSH; of PARAMS and LATE */
    uint64_t batch;            /* of PUSH: + 1; else 0 */
    uint64_t next;             /* of answers to a PUSH: + 1; else 0 */
    enum ps_form form;         /* this and n_pairs: of PUSH, else 0 */
    uint32_t n_pairs;
    uint32_t n_moments; /* of STATE, else 0 */
    uint64_t layout;    /* of requests, else 0 */
    enum refused why;   /* of REFUSED, else NOT_REFUSED */
    bool is_last;       /* of answers to pushes and pulls, else false */
};

/* Does it carry a gradient? */
static inline bool ps_is_push(enum ps_op op)
{
    return op == PS_PUSH || op == PS_GIVE;
}

/* Is it the answer to such a one, to a PULL or a NEXT? */
static inline bool ps_is_answer(enum ps_op op)
{
    return op == PS_PARAMS || op == PS_TAKEN || op == PS_LATE || op == PS_REFUSED || op == PS_BATCH;
}

/* Is it one that may have a batch in it? */
static inline bool ps_has_next(enum ps_op op)
{
    return op == PS_PARAMS || op == PS_TAKEN || op == PS_LATE;
}

static inline struct push_body ps_push_body(const struct ps_header *h)
{
    return (struct push_body){ h->form, h->n_elems, h->n_pairs };
}

/* May the answer `out` come in place of what `want` says of its op, n_elems, n_moments and piece? P6 */
static inline bool ps_answers(const struct ps_header *want, const struct ps_header *out, bool may_be_late)
{
    const bool is_refused = out->op == PS_REFUSED && out->why == REFUSED_NOT_FINITE;
    const bool is_of_push = want->op != PS_STATE && want->op != PS_BATCH;
    const bool is_push = is_of_push && ((out->op == PS_LATE && may_be_late) || is_refused);

    return (out->op == want->op || is_push) && out->n_elems == want->n_elems && out->piece == want->piece &&
           out->n_moments == want->n_moments;
}

/* Write h to out[PS_HEADER_BYTES]. Cannot fail. */
void ps_header_encode(void *out, const struct ps_header *h);
/* Is it sent by a worker? */
bool ps_op_is_request(enum ps_op op);
struct ps_mark { /* of what servers forward */
    int worker;
    uint32_t slot;
    int slice; /* number of a server */
};
/* PS_HEADER_BYTES of a request, LOST or COPY, to be forwarded, which loses its layout: whose it is. */
void ps_forward_mark(void *header, const struct ps_mark *m);
/* The same read back and taken out. RC_MISMATCH: it has no such mark. */
enum rc ps_forward_unmark(void *header, struct ps_mark *out) MUST_CHECK;
/* Read from bytes[n_bytes], which n_body_bytes, real and hollow ones, follow; P1. *why: of RC_MISMATCH. */
enum rc ps_header_decode(struct ps_header *out, const void *bytes, size_t n_bytes, size_t n_body_bytes,
                         enum refused *why) MUST_CHECK;

#endif
