/* SPDX-License-Identifier: Apache-2.0 */
/* range.h - a range of the elements of an array, and the one rule by which an array is cut into parts. */
#ifndef HARNESS_BASE_RANGE_H
#define HARNESS_BASE_RANGE_H

#include <stddef.h>

struct range { /* elements offset_elems to offset_elems + n_elems - 1 */
    size_t offset_elems, n_elems;
};

/*
 * Part i of n_elems cut into n_parts, in order and without gaps: from element floor(n_elems i / n_parts) on. Lengths
 * differ by at most one; parts are empty if n_parts > n_elems.
 *
 *   n_parts  at least 1
 *   i        0 to n_parts - 1
 *
 * Cannot fail. n_elems i is never computed, so any n_elems is allowed (n_parts^2 must not overflow).
 */
static inline struct range range_part(size_t n_elems, int n_parts, int i)
{
    const size_t p = (size_t)n_parts, k = (size_t)i;
    const size_t n_whole = n_elems / p, n_rest = n_elems % p;
    const size_t begin = n_whole * k + n_rest * k / p;
    const size_t end = n_whole * (k + 1) + n_rest * (k + 1) / p;

    return (struct range){ begin, end - begin };
}

/* The range of one tensor of a model in the flat vector of parameters, and in that of gradients. */

struct segment {
    size_t offset_elems, n_elems; /* of float[n_params] */
};

#endif
