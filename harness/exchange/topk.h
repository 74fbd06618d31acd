/* SPDX-License-Identifier: Apache-2.0 */
/* topk.h - the k elements of an array that are largest in magnitude. */
#ifndef HARNESS_EXCHANGE_TOPK_H
#define HARNESS_EXCHANGE_TOPK_H

#include <stddef.h>

enum { TOPK_BYTES = 24 }; /* of memory that topk_take() reads and writes per element */

/* For the k largest of left[n_elems] in magnitude, of equals the first ones: taken[i] = left[i], and left[i] becomes 0.
 * The other elements of taken become 0. NaN is larger than any number. k is at most n_elems. O(n_elems) for any values;
 * allocates nothing. */
void topk_take(float *taken, float *left, size_t n_elems, size_t k);

#endif
