/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_body.h - the body of a PUSH: the gradient of a part of a slice, in the form that the run's compression gives it
 * (exchange/compression.h).
 *
 *   form    body, of n_elems
 *   FLOATS  float[n_elems]
 *   F16     uint16_t[n_elems], IEEE binary16
 *   BF16    uint16_t[n_elems], bfloat16
 *   PAIRS   uint32_t index[n_pairs], ascending, then float value[n_pairs]; what is not named is 0
 *
 * With topk a worker sends pairs, or floats where those are shorter: the largest of a chunk may all be on one server.
 */
#ifndef PS_PUSH_BODY_H
#define PS_PUSH_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/exchange/compression.h"

enum { PUSH_PAIR_BYTES = 16, PUSH_FIND_BYTES = 4 }; /* of memory: to add a pair; to look for pairs in an element */

enum ps_form { PS_FLOATS, PS_F16, PS_BF16, PS_PAIRS, PS_N_FORMS };

struct push_body {
    enum ps_form form;
    uint32_t n_elems, n_pairs; /* n_pairs: of PAIRS, else 0 */
};

uint64_t push_body_bytes(const struct push_body *b);
/* May a worker of a run with this compression send it? */
bool push_body_is_of(const struct push_body *b, const struct compression *c);
/* The body for sent[n_elems], a part of a chunk. sent is NULL in a no-data run: then the pairs of a chunk count as
 * spread evenly. Unless the form is FLOATS, the body is written to packed, which has room for float[n_elems]. Charges
 * compute, which is synced, except for the search for pairs. */
enum rc push_body_pack(struct push_body *out, void *packed, const struct compression *c, struct compute *compute,
                       const float *sent, uint32_t n_elems) MUST_CHECK;
/* RC_MISMATCH: the indices of its pairs do not ascend, or an index is n_elems or more. body: NULL in a no-data run. */
enum rc push_body_check(const struct push_body *b, const void *body) MUST_CHECK;
/* Is every value of the body finite? true if body is NULL (no data). Reads the body once, before the update: some 30
 * GB/s on one core of an EPYC of 2025. For 553 MB that is 20 ms; the update takes 47 ms and sending 380 ms. Cannot
 * fail. */
bool push_body_is_finite(const struct push_body *b, const void *body);
/* sum[n_elems] = body; with add, sum += body. The body was checked. Both NULL in a no-data run. Charges compute, which
 * the caller syncs, except for pairs (PUSH_PAIR_BYTES each). */
void push_body_unpack(const struct push_body *b, struct compute *compute, float *sum, const void *body, bool add);

#endif
