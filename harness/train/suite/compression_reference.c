/* SPDX-License-Identifier: Apache-2.0 */
/* compression_reference.c - see compression_reference.h. */
#include "harness/train/suite/compression_reference.h"

#include <math.h>
#include <stdbool.h>

static float rounded(const struct compression *c, float x)
{
    return c->kind == COMPRESSION_FP16 ? f32_of_f16(f16_of_f32(x)) : f32_of_bf16(bf16_of_f32(x));
}

/* Is element i one of the k largest, of equals the first? */
static bool is_among(const float *given, size_t n, size_t i, size_t k)
{
    size_t n_before = 0;

    for (size_t j = 0; j < n; j++)
        n_before += fabsf(given[j]) > fabsf(given[i]) || (j < i && fabsf(given[j]) == fabsf(given[i]));
    return n_before < k;
}

void reference_compress(const struct compression *c, struct range piece, float *grad, float *residual)
{
    float *given = residual + piece.offset_elems, *sent = grad + piece.offset_elems;
    const size_t n = piece.n_elems, k = (size_t)ceil(c->ratio * (double)n);

    if (c->kind == COMPRESSION_NONE)
        return;
    for (size_t i = 0; i < n; i++)
        given[i] += sent[i];
    for (size_t i = 0; i < n; i++)
        if (c->kind == COMPRESSION_TOPK)
            sent[i] = is_among(given, n, i, k) ? given[i] : 0.0f;
        else
            sent[i] = rounded(c, given[i]);
    for (size_t i = 0; i < n; i++)
        given[i] -= sent[i];
}

float reference_sum(const struct compression *c, float first, float second, int n_workers)
{
    const bool is_rounded = n_workers > 1 && (c->kind == COMPRESSION_FP16 || c->kind == COMPRESSION_BF16);

    return is_rounded ? rounded(c, first + second) : first + second;
}
