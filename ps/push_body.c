/* SPDX-License-Identifier: Apache-2.0 */
/* push_body.c - gradients into messages and out of them. */
#include "ps/push_body.h"

#include <string.h>

#include "harness/compute/compute.h"

static const enum wire_format wire_of[PS_N_FORMS] = { [PS_F16] = WIRE_F16, [PS_BF16] = WIRE_BF16 };

uint64_t push_body_bytes(const struct push_body *b)
{
    if (b->form == PS_PAIRS)
        return (uint64_t)b->n_pairs * (sizeof(uint32_t) + sizeof(float));
    return (uint64_t)b->n_elems * wire_elem_bytes(wire_of[b->form]);
}

bool push_body_is_of(const struct push_body *b, const struct compression *c)
{
    switch (b->form) {
    case PS_FLOATS:
        return c->kind == COMPRESSION_NONE || c->kind == COMPRESSION_TOPK;
    case PS_F16:
        return c->kind == COMPRESSION_FP16;
    case PS_BF16:
        return c->kind == COMPRESSION_BF16;
    case PS_PAIRS:
        return c->kind == COMPRESSION_TOPK;
    case PS_N_FORMS:
        break;
    }
    return false;
}

static size_t count_pairs(const float *sent, size_t n_elems)
{
    size_t n = 0;

    for (size_t i = 0; i < n_elems; i++)
        n += sent[i] != 0.0f;
    return n;
}

/* Pairs, unless they are longer than floats. */
static void pack_pairs(struct push_body *out, void *packed, const struct compression *c, const float *sent)
{
    const size_t n_elems = out->n_elems, n_pairs = sent ? count_pairs(sent, n_elems) : compression_pairs(c, n_elems);
    uint32_t *index = packed;

    if (2 * n_pairs > n_elems)
        return;
    out->form = PS_PAIRS;
    out->n_pairs = (uint32_t)n_pairs;
    if (sent)
        (void)compression_gather(index, (float *)(void *)(index + n_pairs), n_pairs, sent, n_elems);
}

enum rc push_body_pack(struct push_body *out, void *packed, const struct compression *c, struct compute *compute,
                       const float *sent, uint32_t n_elems)
{
    const enum wire_format wire = compression_wire(c);
    enum rc rc = RC_OK;

    *out = (struct push_body){ .form = PS_FLOATS, .n_elems = n_elems };
    if (c->kind == COMPRESSION_TOPK)
        pack_pairs(out, packed, c, sent);
    if (wire != WIRE_F32) {
        out->form = wire == WIRE_F16 ? PS_F16 : PS_BF16;
        compute_narrow(compute, packed, sent, n_elems, wire);
        TRY(compute_sync(compute));
    }
out:
    return rc;
}

enum rc push_body_check(const struct push_body *b, const void *body)
{
    const uint32_t *index = body;

    for (uint32_t i = 0; b->form == PS_PAIRS && body && i < b->n_pairs; i++)
        if (index[i] >= b->n_elems || (i > 0 && index[i] <= index[i - 1]))
            return rc_raise(RC_MISMATCH, "pair %u of %u is of element %u of %u, behind one of element %u", i,
                            b->n_pairs, index[i], b->n_elems, i > 0 ? index[i - 1] : 0);
    return RC_OK;
}

/* Of values of 16 or 32 bits: is there one whose exponent is all ones? No branch in the loop: it is vectorised. */
static bool has_exponent_16(const uint16_t *value, size_t n, uint16_t exponent)
{
    unsigned found = 0;

    for (size_t i = 0; i < n; i++)
        found |= (value[i] & exponent) == exponent;
    return found;
}

static bool has_exponent_32(const uint32_t *value, size_t n, uint32_t exponent)
{
    unsigned found = 0;

    for (size_t i = 0; i < n; i++)
        found |= (value[i] & exponent) == exponent;
    return found;
}

bool push_body_is_finite(const struct push_body *b, const void *body)
{
    enum { EXPONENT_F16 = 0x7c00, EXPONENT_BF16 = 0x7f80, EXPONENT_F32 = 0x7f800000 };

    if (!body)
        return true;
    switch (b->form) {
    case PS_FLOATS:
        return !has_exponent_32(body, b->n_elems, EXPONENT_F32);
    case PS_F16:
        return !has_exponent_16(body, b->n_elems, EXPONENT_F16);
    case PS_BF16:
        return !has_exponent_16(body, b->n_elems, EXPONENT_BF16);
    case PS_PAIRS:
        return !has_exponent_32((const uint32_t *)body + b->n_pairs, b->n_pairs, EXPONENT_F32);
    case PS_N_FORMS:
        break;
    }
    return false;
}

void push_body_unpack(const struct push_body *b, struct compute *compute, float *sum, const void *body, bool add)
{
    const uint32_t *index = body;
    const size_t n = b->n_elems;

    switch (b->form) {
    case PS_FLOATS:
        if (add)
            compute_accumulate(compute, sum, body, n);
        else
            compute_sum_arrays(compute, &(struct sum_arrays){ (const float *[]){ body }, (float *[]){ sum }, 1, 1, n });
        break;
    case PS_F16:
    case PS_BF16:
        compute_widen(compute, sum, body, n, wire_of[b->form], add);
        break;
    case PS_PAIRS:
        if (!add)
            compute_zero(compute, sum, n);
        if (sum)
            (void)compression_add(sum, n, index, (const float *)(const void *)(index + b->n_pairs), b->n_pairs);
        break;
    case PS_N_FORMS:
        break;
    }
}
