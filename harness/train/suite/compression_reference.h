/* SPDX-License-Identifier: Apache-2.0 */
/* compression_reference.h - what workers with compression send, by the definition, one element after the other.
 * Test-only. */
#ifndef HARNESS_TRAIN_SUITE_COMPRESSION_REFERENCE_H
#define HARNESS_TRAIN_SUITE_COMPRESSION_REFERENCE_H

#include <stddef.h>

#include "harness/base/range.h"
#include "harness/exchange/compression.h"

/* grad of the piece := what is sent of it and of the residual, which becomes the rest. Both: of all parameters. */
void reference_compress(const struct compression *c, struct range piece, float *grad, float *residual);
/* What every worker has of the sum of two, or of one: as messages hold it. */
float reference_sum(const struct compression *c, float first, float second, int n_workers);

#endif
