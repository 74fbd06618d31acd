/* SPDX-License-Identifier: Apache-2.0 */
/* compression.c - kind_keys, sizes, and error feedback; what of it is topk's is in topk.c. */
#include "harness/exchange/compression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/compute/compute.h"
#include "harness/exchange/topk.h"

#define MOST_RATIO 0.5

static const char *const kind_keys[] = { [COMPRESSION_NONE] = "none",
                                         [COMPRESSION_FP16] = "fp16",
                                         [COMPRESSION_BF16] = "bf16",
                                         [COMPRESSION_TOPK] = "topk:F",
                                         NULL };

/* The number behind "topk:". */
static enum rc parse_ratio(struct compression *out, const char *text, const char *number)
{
    double ratio;

    if (!text_to_f64(number, &ratio) || !(ratio > 0 && ratio <= MOST_RATIO))
        return rc_raise(RC_INVAL,
                        "--compression %s: F of topk:F is the part of the gradient that is sent: above 0, and at most "
                        "%g, as a pair of index and value takes as much as two values",
                        text, MOST_RATIO);
    *out = (struct compression){ COMPRESSION_TOPK, ratio };
    return RC_OK;
}

enum rc compression_parse(struct compression *out, const char *text)
{
    if (strncmp(text, "topk:", 5) == 0)
        return parse_ratio(out, text, text + 5);
    for (int kind = COMPRESSION_NONE; kind < COMPRESSION_TOPK; kind++)
        if (strcmp(text, kind_keys[kind]) == 0) {
            *out = (struct compression){ (enum compression_kind)kind, 0 };
            return RC_OK;
        }
    const char *nearest = text_nearest(text, kind_keys);
    return rc_raise(RC_INVAL, "--compression %s: must be none, fp16, bf16 or topk:F%s%s%s", text,
                    nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

void compression_text(char *out, size_t n_bytes, const struct compression *c)
{
    if (c->kind == COMPRESSION_TOPK)
        snprintf(out, n_bytes, "topk:%.10g", c->ratio);
    else
        snprintf(out, n_bytes, "%s", kind_keys[c->kind]);
}

enum wire_format compression_wire(const struct compression *c)
{
    if (c->kind == COMPRESSION_FP16)
        return WIRE_F16;
    return c->kind == COMPRESSION_BF16 ? WIRE_BF16 : WIRE_F32;
}

/* The product is rounded down a little: 0.01 of 100 is one pair, although no double is 0.01. */
size_t compression_pairs(const struct compression *c, size_t n_elems)
{
    const double wanted = c->ratio * (double)n_elems * (1 - 1e-12);

    return c->kind == COMPRESSION_TOPK ? (size_t)ceil(wanted) : 0;
}

struct collective_call compression_call(const struct compression *c, size_t n_elems, int n_ranks)
{
    if (c->kind == COMPRESSION_TOPK)
        return (struct collective_call){ .type = COLL_ALLGATHER,
                                         .n_elems = 2 * compression_pairs(c, n_elems) * (size_t)n_ranks };
    return (struct collective_call){ .type = COLL_ALLREDUCE, .n_elems = n_elems, .wire = compression_wire(c) };
}

size_t compression_residual_bytes(const struct compression *c, size_t n_params)
{
    return c->kind == COMPRESSION_NONE ? 0 : n_params * sizeof(float);
}

enum rc compression_apply(const struct compression *c, struct compute *compute, float *grad, float *residual,
                          size_t n_elems)
{
    const enum wire_format wire = compression_wire(c);
    enum rc rc = RC_OK;

    if (c->kind == COMPRESSION_NONE || n_elems == 0)
        return RC_OK;
    if (wire != WIRE_F32)
        compute_round(compute, grad, residual, n_elems, wire, true);
    else
        compute_accumulate(compute, residual, grad, n_elems);
    TRY(compute_sync(compute));
    if (c->kind == COMPRESSION_TOPK && grad)
        topk_take(grad, residual, n_elems, compression_pairs(c, n_elems));
out:
    return rc;
}

size_t compression_gather(uint32_t *index, float *value, size_t n_most, const float *sent, size_t n_elems)
{
    size_t n = 0;

    for (size_t i = 0; i < n_elems && n < n_most; i++)
        if (sent[i] != 0.0f) {
            index[n] = (uint32_t)i;
            value[n++] = sent[i];
        }
    return n;
}

bool compression_add(float *sum, size_t n_elems, const uint32_t *index, const float *value, size_t n_pairs)
{
    for (size_t i = 0; i < n_pairs; i++) {
        if (index[i] == COMPRESSION_NO_PAIR)
            continue;
        if (index[i] >= n_elems)
            return false;
        sum[index[i]] += value[i];
    }
    return true;
}
