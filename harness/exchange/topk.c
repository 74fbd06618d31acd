/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk.c - by the bits: without its sign, a larger float has larger bits. Three counts of elements by 11, 11 and 9 of
 * them, each among those whose bits before are the threshold's, give the k-th largest, as the first digits of a radix
 * sort would; then one pass takes what is above it, and the first of those that equal it.
 */
#include "harness/exchange/topk.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "harness/compute/narrow.h"

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
