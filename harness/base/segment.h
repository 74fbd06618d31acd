/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - the range of one tensor of a model in the flat vector of parameters, and in that of gradients. */
#ifndef HARNESS_BASE_SEGMENT_H
#define HARNESS_BASE_SEGMENT_H

#include <stddef.h>

struct segment {
    size_t offset_elems, n_elems; /* of float[n_params] */
};

#endif
