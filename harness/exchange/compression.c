/* SPDX-License-Identifier: Apache-2.0 */
/* compression.c - kind_keys, sizes, and error feedback; the k largest elements. */
#include "harness/exchange/compression.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/compute/compute.h"
#include "harness/compute/narrow.h"

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

/*
 * By the bits: without its sign, a larger float has larger bits. Three counts of elements by 11, 11 and 9 of
 * them, each among those whose bits before are the threshold's, give the k-th largest, as the first digits of a radix
 * sort would; then one pass takes what is above it, and the first of those that equal it.
 */

enum { N_DIGITS = 3, MOST_BINS = 1 << 11 };

static const struct digit {
    int shift, n_bits;
} digits[N_DIGITS] = { { 20, 11 }, { 9, 11 }, { 0, 9 } };

static uint32_t magnitude_bits(float x)
{
    return f32_bits(x) & F32_MAGNITUDE;
}

struct threshold {
    uint32_t bits;  /* what is above it is taken */
    size_t n_equal; /* of what equals it, so many */
};

/* The digit of the k-th largest of those that begin as t->bits do; *k becomes what is left to take in its bin. */
static void find_digit(struct threshold *t, const float *x, size_t n_elems, struct digit d, size_t *k)
{
    const uint32_t before = ~0u << (d.shift + d.n_bits), n_bins = 1u << d.n_bits;
    uint32_t count[MOST_BINS], bin = n_bins - 1; /* of at most 2^32 - 1 elements */

    memset(count, 0, n_bins * sizeof *count);
    for (size_t i = 0; i < n_elems; i++) {
        const uint32_t bits = magnitude_bits(x[i]);
        if (((bits ^ t->bits) & before) == 0)
            count[(bits >> d.shift) & (n_bins - 1)]++;
    }
    while (count[bin] < *k)
        *k -= count[bin--];
    t->bits |= bin << d.shift;
}

void topk_take(float *taken, float *left, size_t n_elems, size_t k)
{
    struct threshold t = { 0, k };

    assert(k >= 1 && k <= n_elems && n_elems <= UINT32_MAX);
    for (int i = 0; i < N_DIGITS; i++)
        find_digit(&t, left, n_elems, digits[i], &t.n_equal);
    for (size_t i = 0; i < n_elems; i++) {
        const uint32_t bits = magnitude_bits(left[i]);
        const bool is_equal = bits == t.bits && t.n_equal > 0;
        const bool is_taken = bits > t.bits || is_equal;
        t.n_equal -= is_equal;
        taken[i] = is_taken ? left[i] : 0.0f;
        left[i] = is_taken ? 0.0f : left[i];
    }
}
