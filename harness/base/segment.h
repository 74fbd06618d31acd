/* SPDX-License-Identifier: Apache-2.0 */
/* segment.h - a named part of the flat parameter vector, the same part of the gradient: one tensor of a model. */
#ifndef HARNESS_BASE_SEGMENT_H
#define HARNESS_BASE_SEGMENT_H

#include <stddef.h>

struct segment {
    size_t offset_elems, n_elems; /* of float[n_params] */
};

#endif
