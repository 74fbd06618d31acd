/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compression.h - what of a gradient is sent, and what is kept back for the next step: error feedback, above all modes.
 *
 *   none     every float as it is
 *   fp16     rounded to IEEE binary16 (compute/narrow.h)
 *   bf16     rounded to bfloat16
 *   topk:F   of each piece of n elements the k = ceil(F n) largest in magnitude, of equals the first, as pairs of index
 *            and value; the others as zeros
 *
 * A worker keeps what it did not send, its residual: before a piece is exchanged
 *
 *     given = gradient + residual;  sent = what messages can hold of given;  residual = given - sent
 *
 * (Seide et al., 1-bit SGD, Interspeech 2014; Lin et al., Deep Gradient Compression, ICLR 2018; that training converges
 * as without: Karimireddy et al., ICML 2019.) The gradient becomes `sent`, so that a mode gets values that its messages
 * hold exactly, and can find pairs again: they are what is not zero. Sums that messages round on their way
 * (collective.h, A10) are in nobody's residual.
 *
 * Invariants
 *   R1  sent + residual is `given`, exactly; but as near as floats are where that is larger than 16 bits can hold.
 *   R2  Residuals are a worker's own, zeros at first, and depend on gradients and pieces alone: not on timing, overlap,
 *       threads or world. They are in no checkpoint.
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

/* "none", "fp16", "bf16", "topk:F". RC_INVAL: what would be right; the message begins with "--compression TEXT: ". */
enum rc compression_parse(struct compression *out, const char *text) MUST_CHECK;
/* The same back, cut to out[n_bytes]; COMPRESSION_TEXT_BYTES hold it. */
void compression_text(char *out, size_t n_bytes, const struct compression *c);
/* Of the floats of its messages. */
enum wire_format compression_wire(const struct compression *c);
/* topk: k, of a piece of n_elems; 0 of none. */
size_t compression_pairs(const struct compression *c, size_t n_elems);
/* How a piece of n_elems is exchanged by a collective of n_ranks: topk by allgather of all pairs, a chunk each: its k
 * indices (uint32_t), then their values. Pure. */
struct collective_call compression_call(const struct compression *c, size_t n_elems, int n_ranks);
/* Bytes of a worker's residual for n_params. */
size_t compression_residual_bytes(const struct compression *c, size_t n_params);

/* R1, R3. grad[n_elems] becomes `sent`; NULL, both: hollow. Charges compute, which is synced. Allocates nothing. */
enum rc compression_apply(const struct compression *c, struct compute *compute, float *grad, float *residual,
                          size_t n_elems) MUST_CHECK;
/* The pairs of sent[n_elems], ascending, at most n_most; returns how many there are. */
size_t compression_gather(uint32_t *index, float *value, size_t n_most, const float *sent, size_t n_elems);
/* sum[n_elems] += pairs. The first `index` that is neither below n_elems nor COMPRESSION_NO_PAIR ends it; then false.
 */
bool compression_add(float *sum, size_t n_elems, const uint32_t *index, const float *value, size_t n_pairs);
#define COMPRESSION_NO_PAIR UINT32_MAX

#endif
