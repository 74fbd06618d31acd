/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - headers to bytes and back, byte by byte: the same on every machine. */
#include "ps/wire.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/base/bytes.h"

enum { MAGIC = 0x53504d47, VERSION = 14 }; /* "GMPS" */
enum {                                     /* in bytes; wire.h has the table */
       OFFSET_MAGIC = 0,
       OFFSET_VERSION = 4,
       OFFSET_OP = 6,
       OFFSET_N_ELEMS = 8,
       OFFSET_LR = 12,
       OFFSET_IS_LAST = 12,
       OFFSET_CLOCK = 16,
       OFFSET_STALENESS = 24,
       OFFSET_FORM = 24,
       OFFSET_WHY = 24,
       OFFSET_N_PAIRS = 28,
       OFFSET_NEXT = 28,
       OFFSET_N_MOMENTS = 24,
       OFFSET_QUEUE = 32,
       OFFSET_LAYOUT = 32,
       OFFSET_APPLY = 40,
       OFFSET_BATCH = 40,
       OFFSET_SLOT = 32,
       OFFSET_SLICE = 34,
       OFFSET_WORKER = 36,
       OFFSET_SENT_OR_HELD = 48,
       OFFSET_CHUNK = 56,
       OFFSET_STEP = 60
};

void ps_header_encode(void *out, const struct ps_header *h)
{
    unsigned char *to = out;
    uint32_t lr_bits;

    memcpy(&lr_bits, &h->lr, sizeof lr_bits);
    memset(to, 0, PS_HEADER_BYTES);
    bytes_put(to + OFFSET_MAGIC, MAGIC, 4);
    bytes_put(to + OFFSET_VERSION, VERSION, 2);
    bytes_put(to + OFFSET_OP, (uint64_t)h->op, 2);
    bytes_put(to + OFFSET_N_ELEMS, h->n_elems, 4);
    if (ps_is_answer(h->op))
        bytes_put(to + OFFSET_IS_LAST, h->is_last, 4);
    else
        bytes_put(to + OFFSET_LR, lr_bits, 4);
    bytes_put(to + OFFSET_CLOCK, h->clock, 8);
    if (ps_is_push(h->op)) {
        bytes_put(to + OFFSET_FORM, (uint64_t)h->form, 4);
        bytes_put(to + OFFSET_N_PAIRS, h->n_pairs, 4);
    } else if (h->op == PS_STATE)
        bytes_put(to + OFFSET_N_MOMENTS, h->n_moments, 8);
    else if (ps_has_next(h->op)) {
        bytes_put(to + OFFSET_STALENESS, h->staleness < UINT32_MAX ? h->staleness : UINT32_MAX, 4);
        bytes_put(to + OFFSET_NEXT, h->next, 4);
    } else
        bytes_put(to + OFFSET_STALENESS, h->op == PS_REFUSED ? (uint64_t)h->why : h->staleness, 8);
    bytes_put(to + OFFSET_QUEUE, ps_op_is_request(h->op) ? h->layout : h->queue_ns, 8);
    bytes_put(to + OFFSET_APPLY, ps_is_push(h->op) ? h->batch : h->apply_ns, 8);
    bytes_put(to + OFFSET_SENT_OR_HELD, ps_is_push(h->op) ? h->sent_ns : h->held_ns, 8);
    bytes_put(to + OFFSET_CHUNK, h->chunk, 4);
    bytes_put(to + OFFSET_STEP, h->step, 4);
}

/* For a function that has *why. */
#define REFUSE(reason, ...) (*why = (reason), rc_raise(RC_MISMATCH, "parameter server message: " __VA_ARGS__))

/* The body that a PUSH says it has; of other messages: floats. */
static enum rc decode_body(struct push_body *out, const unsigned char *from, enum ps_op op, uint32_t n_elems,
                           enum refused *why)
{
    const uint32_t form = ps_is_push(op) ? (uint32_t)bytes_get(from + OFFSET_FORM, 4) : PS_FLOATS;
    const uint32_t n_pairs = ps_is_push(op) ? (uint32_t)bytes_get(from + OFFSET_N_PAIRS, 4) : 0;

    if (form >= PS_N_FORMS)
        return REFUSE(REFUSED_MALFORMED, "form %u is unknown", form);
    if (n_pairs > (form == PS_PAIRS ? n_elems : 0))
        return REFUSE(REFUSED_MALFORMED, "%u pairs of %u elements, in form %u", n_pairs, n_elems, form);
    *out = (struct push_body){ (enum ps_form)form, n_elems, n_pairs };
    return RC_OK;
}

/* Magic, version and op; *op. */
static enum rc decode_kind(enum ps_op *op, const unsigned char *from, size_t n_bytes, enum refused *why)
{
    if (n_bytes < PS_HEADER_BYTES)
        return REFUSE(REFUSED_TRUNCATED, "%zu bytes, shorter than a header", n_bytes);
    if (bytes_get(from + OFFSET_MAGIC, 4) != MAGIC)
        return REFUSE(REFUSED_MALFORMED, "magic %#llx is not ours",
                      (unsigned long long)bytes_get(from + OFFSET_MAGIC, 4));
    if (bytes_get(from + OFFSET_VERSION, 2) != VERSION)
        return REFUSE(REFUSED_VERSION, "version %u, this program speaks %d",
                      (unsigned)bytes_get(from + OFFSET_VERSION, 2), VERSION);
    const unsigned number = (unsigned)bytes_get(from + OFFSET_OP, 2);
    if (number < PS_PUSH || number > PS_COPY)
        return REFUSE(REFUSED_MALFORMED, "op %u is unknown", number);
    *op = (enum ps_op)number;
    return RC_OK;
}

/* Fields that have one value in some messages. */
static enum rc check_fields(const struct ps_header *h, uint64_t reason, uint32_t is_last, enum refused *why)
{
    if (!ps_is_push(h->op) && !ps_is_answer(h->op) && h->step != 0)
        return REFUSE(REFUSED_MALFORMED, "step %u of op %u, which has none", h->step, h->op);
    const bool has_no_time = ps_op_is_request(h->op) || h->op == PS_LOST || h->op == PS_COPY;
    if ((has_no_time && h->apply_ns != 0) || h->batch > UINT32_MAX)
        return REFUSE(REFUSED_MALFORMED, "op %u says how long applying took", h->op);
    if (h->op == PS_REFUSED && (reason <= NOT_REFUSED || reason >= N_REFUSED))
        return REFUSE(REFUSED_MALFORMED, "reason %llu is unknown", (unsigned long long)reason);
    if (is_last > 1)
        return REFUSE(REFUSED_MALFORMED, "is_last is %u", is_last);
    if (!isfinite(h->lr))
        return REFUSE(REFUSED_MALFORMED, "the learning rate is not a finite number");
    return RC_OK;
}

bool ps_op_is_request(enum ps_op op)
{
    return ps_is_push(op) || op == PS_PULL || op == PS_FETCH || op == PS_LEAVE || op == PS_LOOK || op == PS_NEXT ||
           op == PS_JOIN;
}

enum rc ps_header_decode(struct ps_header *out, const void *bytes, size_t n_bytes, size_t n_body_bytes,
                         enum refused *why)
{
    const unsigned char *from = bytes;
    struct push_body body;
    enum ps_op op = PS_PUSH;
    enum rc rc;

    *why = NOT_REFUSED;
    TRY(decode_kind(&op, from, n_bytes, why));
    const uint32_t n_elems = (uint32_t)bytes_get(from + OFFSET_N_ELEMS, 4);
    TRY(decode_body(&body, from, op, n_elems, why));
    const uint64_t n_moments = op == PS_STATE ? bytes_get(from + OFFSET_N_MOMENTS, 8) : 0;
    if (n_moments > PS_MOST_MOMENTS)
        TRY(REFUSE(REFUSED_MALFORMED, "a state of %llu arrays beside the parameters", (unsigned long long)n_moments));
    const uint64_t n_payload_bytes = push_body_bytes(&body) * (1 + n_moments);
    const uint64_t n_carried_bytes = n_bytes - PS_HEADER_BYTES + n_body_bytes;
    if (n_carried_bytes != n_payload_bytes)
        TRY(REFUSE(n_carried_bytes < n_payload_bytes ? REFUSED_TRUNCATED : REFUSED_OVERSIZED,
                   "says %u elements, carries %llu bytes", n_elems, (unsigned long long)n_carried_bytes));
    const bool is_push = ps_is_push(op), is_request = ps_op_is_request(op), is_refused = op == PS_REFUSED;
    const bool has_staleness = !is_push && !is_refused && op != PS_STATE;
    const uint64_t time_ns = bytes_get(from + OFFSET_SENT_OR_HELD, 8), reason = bytes_get(from + OFFSET_WHY, 8);
    const uint64_t layout_or_queue_ns = bytes_get(from + OFFSET_LAYOUT, 8);
    const uint32_t lr_bits = ps_is_answer(op) ? 0 : (uint32_t)bytes_get(from + OFFSET_LR, 4);
    const uint32_t is_last = ps_is_answer(op) ? (uint32_t)bytes_get(from + OFFSET_IS_LAST, 4) : 0;
    struct ps_header h = { .op = op,
                           .n_elems = n_elems,
                           .chunk = (uint32_t)bytes_get(from + OFFSET_CHUNK, 4),
                           .clock = bytes_get(from + OFFSET_CLOCK, 8),
                           .staleness = has_staleness ? bytes_get(from + OFFSET_STALENESS, ps_has_next(op) ? 4 : 8) : 0,
                           .next = ps_has_next(op) ? bytes_get(from + OFFSET_NEXT, 4) : 0,
                           .n_moments = (uint32_t)n_moments,
                           .form = body.form,
                           .n_pairs = body.n_pairs,
                           .layout = is_request ? layout_or_queue_ns : 0,
                           .queue_ns = is_request ? 0 : layout_or_queue_ns,
                           .apply_ns = is_push ? 0 : bytes_get(from + OFFSET_APPLY, 8),
                           .batch = is_push ? bytes_get(from + OFFSET_BATCH, 8) : 0,
                           .step = (uint32_t)bytes_get(from + OFFSET_STEP, 4) };
    *(is_push ? &h.sent_ns : &h.held_ns) = time_ns;
    memcpy(&h.lr, &lr_bits, sizeof lr_bits);
    TRY(check_fields(&h, reason, is_last, why));
    h.is_last = is_last;
    h.why = is_refused ? (enum refused)reason : NOT_REFUSED;
    *out = h;
out:
    return rc;
}

void ps_forward_mark(void *header, const struct ps_mark *m)
{
    unsigned char *to = header;

    bytes_put(to + OFFSET_WORKER, (uint64_t)m->worker + 1, 4);
    bytes_put(to + OFFSET_SLOT, m->slot, 2);
    bytes_put(to + OFFSET_SLICE, (uint64_t)m->slice, 2);
}

enum rc ps_forward_unmark(void *header, struct ps_mark *out)
{
    unsigned char *from = header;
    const uint64_t number = bytes_get(from + OFFSET_WORKER, 4);

    if (number == 0 || number > INT32_MAX)
        return rc_raise(RC_MISMATCH, "parameter server message: forwarded, but not for whom");
    *out = (struct ps_mark){ (int)number - 1, (uint32_t)bytes_get(from + OFFSET_SLOT, 2),
                             (int)bytes_get(from + OFFSET_SLICE, 2) };
    memset(from + OFFSET_LAYOUT, 0, 8);
    return RC_OK;
}
