/* SPDX-License-Identifier: Apache-2.0 */
/* wire.c - headers to bytes and back, byte by byte: the same on every machine. */
#include "ps/wire.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/base/bytes.h"

enum { MAGIC = 0x53504d47, VERSION = 7 }; /* "GMPS" */
enum {                                    /* in bytes; wire.h has the table */
       OFFSET_MAGIC = 0,
       OFFSET_VERSION = 4,
       OFFSET_OP = 6,
       OFFSET_N_ELEMS = 8,
       OFFSET_LR = 12,
       OFFSET_IS_LAST = 12,
       OFFSET_CLOCK = 16,
       OFFSET_STALENESS = 24,
       OFFSET_FORM = 24,
       OFFSET_N_PAIRS = 28,
       OFFSET_N_MOMENTS = 24,
       OFFSET_QUEUE = 32,
       OFFSET_APPLY = 40,
       OFFSET_SENT_OR_HELD = 48,
       OFFSET_PIECE = 56,
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
    else
        bytes_put(to + OFFSET_STALENESS, h->staleness, 8);
    bytes_put(to + OFFSET_QUEUE, h->queue_ns, 8);
    bytes_put(to + OFFSET_APPLY, h->apply_ns, 8);
    bytes_put(to + OFFSET_SENT_OR_HELD, ps_is_push(h->op) ? h->sent_ns : h->held_ns, 8);
    bytes_put(to + OFFSET_PIECE, h->piece, 4);
    bytes_put(to + OFFSET_STEP, h->step, 4);
}

/* The body that a PUSH says it has; of other messages: floats. */
static enum rc decode_body(struct push_body *out, const unsigned char *from, enum ps_op op, uint32_t n_elems)
{
    const uint32_t form = ps_is_push(op) ? (uint32_t)bytes_get(from + OFFSET_FORM, 4) : PS_FLOATS;
    const uint32_t n_pairs = ps_is_push(op) ? (uint32_t)bytes_get(from + OFFSET_N_PAIRS, 4) : 0;

    if (form >= PS_N_FORMS)
        return rc_raise(RC_MISMATCH, "parameter server message: form %u is unknown", form);
    if (n_pairs > (form == PS_PAIRS ? n_elems : 0))
        return rc_raise(RC_MISMATCH, "parameter server message: %u pairs of %u elements, in form %u", n_pairs, n_elems,
                        form);
    *out = (struct push_body){ (enum ps_form)form, n_elems, n_pairs };
    return RC_OK;
}

enum rc ps_header_decode(struct ps_header *out, const void *bytes, size_t n_bytes, size_t n_body_bytes)
{
    const unsigned char *from = bytes;

    if (n_bytes < PS_HEADER_BYTES)
        return rc_raise(RC_MISMATCH, "parameter server message: %zu bytes, shorter than a header", n_bytes);
    if (bytes_get(from + OFFSET_MAGIC, 4) != MAGIC)
        return rc_raise(RC_MISMATCH, "parameter server message: magic %#llx is not ours",
                        (unsigned long long)bytes_get(from + OFFSET_MAGIC, 4));
    if (bytes_get(from + OFFSET_VERSION, 2) != VERSION)
        return rc_raise(RC_MISMATCH, "parameter server message: version %u, this program speaks %d",
                        (unsigned)bytes_get(from + OFFSET_VERSION, 2), VERSION);
    const enum ps_op op = (enum ps_op)bytes_get(from + OFFSET_OP, 2);
    if (op < PS_PUSH || op > PS_TAKEN)
        return rc_raise(RC_MISMATCH, "parameter server message: op %u is unknown", (unsigned)op);
    const uint32_t n_elems = (uint32_t)bytes_get(from + OFFSET_N_ELEMS, 4);
    struct push_body body;
    const enum rc decoded = decode_body(&body, from, op, n_elems);
    if (decoded != RC_OK)
        return decoded;
    const uint64_t n_moments = op == PS_STATE ? bytes_get(from + OFFSET_N_MOMENTS, 8) : 0;
    if (n_moments > PS_MOST_MOMENTS)
        return rc_raise(RC_MISMATCH, "parameter server message: a state of %llu arrays beside the parameters",
                        (unsigned long long)n_moments);
    const uint64_t n_payload_bytes = push_body_bytes(&body) * (1 + n_moments);
    if (n_bytes - PS_HEADER_BYTES + n_body_bytes != n_payload_bytes)
        return rc_raise(RC_MISMATCH, "parameter server message: says %u elements, carries %zu bytes", n_elems,
                        n_bytes - PS_HEADER_BYTES + n_body_bytes);
    const bool has_step = ps_is_push(op) || ps_is_answer(op);
    const uint64_t time_ns = bytes_get(from + OFFSET_SENT_OR_HELD, 8);
    const uint32_t step = (uint32_t)bytes_get(from + OFFSET_STEP, 4);
    if (!has_step && step != 0)
        return rc_raise(RC_MISMATCH, "parameter server message: step %u of op %u, which has none", step, (unsigned)op);
    const uint32_t lr_bits = ps_is_answer(op) ? 0 : (uint32_t)bytes_get(from + OFFSET_LR, 4);
    const uint32_t is_last = ps_is_answer(op) ? (uint32_t)bytes_get(from + OFFSET_IS_LAST, 4) : 0;
    if (is_last > 1)
        return rc_raise(RC_MISMATCH, "parameter server message: is_last is %u", is_last);
    *out =
        (struct ps_header){ .op = op,
                            .n_elems = n_elems,
                            .piece = (uint32_t)bytes_get(from + OFFSET_PIECE, 4),
                            .clock = bytes_get(from + OFFSET_CLOCK, 8),
                            .staleness = ps_is_push(op) || op == PS_STATE ? 0 : bytes_get(from + OFFSET_STALENESS, 8),
                            .n_moments = (uint32_t)n_moments,
                            .is_last = is_last,
                            .form = body.form,
                            .n_pairs = body.n_pairs,
                            .queue_ns = bytes_get(from + OFFSET_QUEUE, 8),
                            .apply_ns = bytes_get(from + OFFSET_APPLY, 8),
                            .step = step };
    *(ps_is_push(op) ? &out->sent_ns : &out->held_ns) = time_ns;
    memcpy(&out->lr, &lr_bits, sizeof lr_bits);
    if (!isfinite(out->lr))
        return rc_raise(RC_MISMATCH, "parameter server message: the learning rate is not a finite number");
    return RC_OK;
}
