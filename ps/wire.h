/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h - the messages between workers and servers.
 *
 * A message is a header of PS_HEADER_BYTES, little-endian, then n_elems float32. A PUSH has the body that push_body.h
 * describes instead. In a no-data run the body is the same number of hollow bytes.
 *
 *   offset  type  field
 *        0  u32   magic "GMPS"
 *        4  u16   version
 *        6  u16   op
 *        8  u32   n_elems
 *       12  f32   lr (PUSH). PARAMS, LATE, REFUSED, BATCH: u32 is_last: 1 if the worker starts no other step, else 0
 *       16  u64   PUSH: clock of the parameters that the gradient was made with (P2). PARAMS: newest clock of the
 *                 chunk. STATE: updates of the chunk with the fewest, over all training. HELD: number of forwards; a
 *                 copy counts as the first. COPY: number of parts.
 *                 NEXT, and in an elastic run (leases.h) LEAVE and FETCH: the batch that is done, + 1; 0: none was
 *                 assigned, or none is done. BATCH: the batch; 0 if is_last is 1.
 *       24  u64   PARAMS, LATE: u32 staleness, the updates by other workers between that pull and this update. At 28:
 *                 u32 the worker's next batch + 1, in answers to a PUSH of an elastic run (leases.B1), else 0.
 *                 PUSH: u32 form and, at 28, u32 n_pairs of the body (push_body.h). STATE: n_moments.
 *                 REFUSED: u32 why (exchange/refused.h), and 0.
 *       32  u64   PARAMS: queue_ns, from arrival at the server until it was served. If the transport does not know the
 *                 arrival: since sent_ns plus the shortest transit time of all pushes so far. Requests: layout, the
 *                 digest of layout.h. Forwards between servers: the origin of the request, see below.
 *       40  u64   PARAMS: apply_ns, the time to update the parameters. PUSH: in an elastic run (leases.h) the batch +
 *                 1, below 2^32, else 0. Other requests: 0.
 *       48  u64   PUSH: sent_ns, by the clock that all ranks share. PARAMS, LATE: held_ns, the wait for other workers.
 *       56  u32   PUSH, PARAMS: chunk, an index of exchange/buckets.h; the floats are its part of the server's slice.
 *                 COPY: number of the part. HELD: number of the slice.
 *       60  u32   step of the chunk. PUSH: of the worker, its pushes before. PARAMS, LATE, REFUSED: of the slowest
 *                 worker.
 *
 *   op      from      meaning                             answer
 *   PUSH    worker    apply this gradient, then pull      PARAMS; LATE: the same, but its gradient was dropped; REFUSED
 *   FETCH   worker 0  final state; every other worker     STATE (parameters, then the n_moments arrays of the
 *                     has left                            optimiser, each as long); worker 0 has then left
 *   LEAVE   worker    I push no more                      none; in an elastic run BATCH with is_last 1
 *   LOOK    worker 0  state now, between two pushes       STATE (as for FETCH), and worker 0 continues
 *   GIVE    worker    as PUSH, but no pull                TAKEN, when a PUSH would be answered; LATE: likewise dropped
 *   PULL    worker    parameters of this chunk now        PARAMS, once the worker may read
 *   JOIN    late      I am a worker from now on           BATCH; is_last 1: every batch is done, and it does not join
 *           joiner                                        (leases.h)
 *   NEXT    worker    to server 0: my batch is done,      BATCH, once there is one, or every batch is done (leases.h)
 *                     please assign another one. Not sent if the answer to a push has a batch. Server 0 is the holder
 *                     of its slice (replica.h)
 *
 *   REFUSED server    the request was refused (P5, P6)    -
 *   LOST    server    to its standby: a worker is lost    HELD
 *   HELD    standby   number of forwards in the replica   -
 *   COPY    server    to its new standby: a part of the   HELD, when the whole copy has arrived
 *                     slice as it is now (copy.h)
 *
 * A server forwards to its standby (replica.h) a request as it came, or a LEAVE, LOST or COPY. A forward has its origin
 * at 32: u16 slot, u16 slice, u32 worker + 1. Requests that change nothing are not forwarded: LOOK, PULL, and a JOIN
 * that comes too late. With standbys (replica.h) worker 0 does not leave with its FETCH: it sends LEAVE when
 * it has every STATE. That LEAVE covers all slices that the server holds, and has no answer. The same holds for the
 * LEAVE of other workers. But in an elastic run a worker first sends each slice a separate LEAVE, by its tag
 * (PS_TAG_PLACE), which is answered.
 *
 * All rules for PUSH and PARAMS also hold for GIVE and TAKEN. But TAKEN has no elements, nor has a LATE or REFUSED
 * that answers a GIVE. PULL has no elements and no step. NEXT, JOIN and BATCH have neither, and belong to no chunk.
 *
 * Invariants
 *   P1  A header that is not exactly right is refused: RC_MISMATCH names the field, and the reason is counted. Nothing
 *       is read past the bytes received.
 *   P2  The clock of a chunk at a server grows by one per update. The staleness of an applied gradient is clock -
 *       header.clock. The clock of a push is that of the parameters that its oldest gradient was made with: as pulled,
 *       plus one for each of the worker's own pushes since.
 *   P3  A worker pushes the steps of a chunk in order, each once. Which push waits for which: clocks.h. A late joiner
 *       starts with the step in the answer to its first PULL of the chunk: that of the slowest worker.
 *   P4  A worker has PS_CREDITS slots (ps.h) at each server. If env.n_in_flight is above that, it has a slot for each
 *       chunk that the server holds a part of, in their order, and uses it for that chunk alone. The tag of a request
 *       names its slot, and its answer has the same slot.
 *       The worker sends nothing in a slot while a request in it is unanswered. It sends no PUSH, GIVE or PULL of a
 *       chunk while another one of that chunk is unanswered. It sends FETCH, LOOK, LEAVE, JOIN and NEXT in slot 0, and
 *       only when no request is unanswered. Answers in different slots may come in any order.
 *   P5  No request ends a server. A request that P1 to P4 forbid, or that has another layout, is counted by reason,
 *       logged, and answered at once in its slot with REFUSED and no elements; it changes nothing else. The worker then
 *       ends with RC_MISMATCH. After PS_MOST_REFUSED of them the worker is dropped, like a lost one, and not answered
 *       any more. So a worker can cause only finite work. (The drop of worker 0, which cannot be replaced, ends the
 *       run.)
 *   P6  A push whose gradient has a value that is not finite counts as a step of its worker (clocks.h), without a
 *       gradient. Its answer comes when PARAMS or TAKEN would, with the same parameters, but is REFUSED. The worker
 *       continues, and --stop-at-step counts the push. So no NaN and no infinity of one worker reaches the shared
 *       parameters.
 */
#ifndef PS_WIRE_H
#define PS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/refused.h"
#include "harness/net/transport.h"
#include "ps/push_body.h"

/* Tags between workers and servers, to which the slot number is added (P4), and between servers (replica.h) */
#define PS_TAG_REQUEST (TAG_ANY | 0x30u)
#define PS_TAG_REPLY 0x40u
#define PS_TAG_FORWARD (TAG_ANY | 0x50u)
#define PS_TAG_HELD (TAG_ANY | 0x51u)
/* Added to the tags of requests and replies once for each server from the slice's home to its holder. */
#define PS_TAG_PLACE 0x100u
/* In place of both, if each chunk has a separate slot (ps_has_chunk_slots()); of requests with TAG_ANY. */
#define PS_TAG_CHUNK_SLOT 0x100000u

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
    PS_COPY
};
enum { PS_MOST_REFUSED = 16 }; /* P5; those of P6 do not count */

struct ps_header {
    enum ps_op op;
    uint32_t n_elems, chunk, step;
    float lr;
    uint64_t clock, staleness, queue_ns, apply_ns;
    uint64_t sent_ns, held_ns; /* sent_ns: of PUSH; held_ns: of PARAMS and LATE */
    uint64_t batch;            /* of PUSH: the batch + 1; else 0 */
    uint64_t next;             /* of answers to a PUSH: the next batch + 1; else 0 */
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

/* Is it an answer to a push, a PULL or a NEXT? */
static inline bool ps_is_answer(enum ps_op op)
{
    return op == PS_PARAMS || op == PS_TAKEN || op == PS_LATE || op == PS_REFUSED || op == PS_BATCH;
}

/* May this answer name a batch? */
static inline bool ps_has_next(enum ps_op op)
{
    return op == PS_PARAMS || op == PS_TAKEN || op == PS_LATE;
}

static inline struct push_body ps_push_body(const struct ps_header *h)
{
    return (struct push_body){ h->form, h->n_elems, h->n_pairs };
}

/* May the answer `out` arrive when `want` is expected (op, n_elems, n_moments, chunk)? P6 */
static inline bool ps_answers(const struct ps_header *want, const struct ps_header *out, bool may_be_late)
{
    const bool is_refused = out->op == PS_REFUSED && out->why == REFUSED_NOT_FINITE;
    const bool is_of_push = want->op != PS_STATE && want->op != PS_BATCH;
    const bool is_push = is_of_push && ((out->op == PS_LATE && may_be_late) || is_refused);

    return (out->op == want->op || is_push) && out->n_elems == want->n_elems && out->chunk == want->chunk &&
           out->n_moments == want->n_moments;
}

/* Write h to out[PS_HEADER_BYTES]. Cannot fail. */
void ps_header_encode(void *out, const struct ps_header *h);
/* Is it sent by a worker? */
bool ps_op_is_request(enum ps_op op);
struct ps_mark { /* the origin of a forward */
    int worker;
    uint32_t slot;
    int slice; /* number of a server */
};
/* Writes its origin into the header (PS_HEADER_BYTES) of a request, LOST or COPY that is to be forwarded. It replaces
 * the layout. */
void ps_forward_mark(void *header, const struct ps_mark *m);
/* Reads the origin and removes it. RC_MISMATCH: the header has none. */
enum rc ps_forward_unmark(void *header, struct ps_mark *out) MUST_CHECK;
/* Reads the header from bytes[n_bytes], which n_body_bytes follow, real and hollow ones (P1). *why: reason of
 * RC_MISMATCH. */
enum rc ps_header_decode(struct ps_header *out, const void *bytes, size_t n_bytes, size_t n_body_bytes,
                         enum refused *why) MUST_CHECK;

#endif
