/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compression.h - which part of a gradient is sent, and which is kept for the next step: error feedback, for all modes.
 *
 *   none     every float as it is
 *   fp16     rounded to IEEE binary16 (compute/narrow.h)
 *   bf16     rounded to bfloat16
 *   topk:F   of each chunk of n elements the k = ceil(F n) largest in magnitude, of equals the first, as pairs of index
 *            and value; all other elements as zeros
 *
 * A worker keeps the part that it did not send, its residual. Before a chunk is exchanged:
 *
 *     given = gradient + residual;  sent = given as messages can hold it;  residual = given - sent
 *
 * (Seide et al., 1-bit SGD, Interspeech 2014; Lin et al., Deep Gradient Compression, ICLR 2018; that training converges
 * as without: Karimireddy et al., ICML 2019.) The gradient becomes `sent`. So a mode gets values that its messages hold
 * exactly, and can find pairs again: the elements that are not zero. If messages round sums in transfer (collective.h,
 * exchange.A10), no residual has the difference.
 *
 * Invariants
 *   R1  sent + residual is `given`, exactly. If `given` is larger than 16 bits can hold, only to the precision of
 *       floats.
 *   R2  Residuals belong to a worker, and are zeros at first. They depend only on gradients and chunks: not on timing,
 *       overlap, threads or world. They are in no checkpoint.
 *   R3  topk: at most k elements of `sent` are not zero. NaN counts as larger than any number, and is sent.
 */
#ifndef HARNESS_EXCHANGE_COMPRESSION_H
#define HARNESS_EXCHANGE_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/compute/narrow.h"
#include "harness/exchange/collective.h"

struct compute;

enum compression_kind { COMPRESSION_NONE, COMPRESSION_FP16, COMPRESSION_BF16, COMPRESSION_TOPK };

enum { COMPRESSION_TEXT_BYTES = 32 };

struct compression { /* zeroed: none */
    enum compression_kind kind;
    double ratio; /* topk: F, above 0, at most 1/2: a pair takes as much as two floats; else 0 */
};

/* "none", "fp16", "bf16", "topk:F". RC_INVAL names the valid values; the message begins with "--compression TEXT: ". */
enum rc compression_parse(struct compression *out, const char *text) MUST_CHECK;
/* Writes it as text, cut to out[n_bytes]; COMPRESSION_TEXT_BYTES are enough. */
void compression_text(char *out, size_t n_bytes, const struct compression *c);
/* The format of floats in its messages. */
enum wire_format compression_wire(const struct compression *c);
/* topk: k for a chunk of n_elems; 0 for 0. */
size_t compression_pairs(const struct compression *c, size_t n_elems);
/* The collective of n_ranks that exchanges a chunk of n_elems. topk: allgather of all pairs, a chunk each: k indices
 * (uint32_t), then the values. Pure. */
struct collective_call compression_call(const struct compression *c, size_t n_elems, int n_ranks);
/* Bytes of a worker's residual for n_params. */
size_t compression_residual_bytes(const struct compression *c, size_t n_params);

/* exchange.R1, R3. grad[n_elems] becomes `sent`; NULL, both: no data. Charges compute, which is synced. Allocates
 * nothing. */
enum rc compression_apply(const struct compression *c, struct compute *compute, float *grad, float *residual,
                          size_t n_elems) MUST_CHECK;
/* Finds the pairs of sent[n_elems], ascending, at most n_most; returns their number. */
size_t compression_gather(uint32_t *index, float *value, size_t n_most, const float *sent, size_t n_elems);
/* sum[n_elems] += pairs. Stops and returns false at the first `index` that is neither below n_elems nor
 * COMPRESSION_NO_PAIR. */
bool compression_add(float *sum, size_t n_elems, const uint32_t *index, const float *value, size_t n_pairs);
#define COMPRESSION_NO_PAIR UINT32_MAX

/* The k elements of an array that are largest in magnitude. */

enum { TOPK_BYTES = 24 }; /* of memory that topk_take() reads and writes per element */

/* For the k largest of left[n_elems] in magnitude, of equals the first ones: taken[i] = left[i], and left[i] becomes 0.
 * The other elements of taken become 0. NaN is larger than any number. k is at most n_elems. O(n_elems) for any values;
 * allocates nothing. */
void topk_take(float *taken, float *left, size_t n_elems, size_t k);

#endif
