/* SPDX-License-Identifier: Apache-2.0 */
/* max_batch.h - the largest batch that fits in memory, for the error that refuses a larger one. */
#ifndef HARNESS_TRAIN_MAX_BATCH_H
#define HARNESS_TRAIN_MAX_BATCH_H

#include <stddef.h>

#include "harness/base/rc.h"

enum { MAX_BATCH_TEXT_BYTES = 64 };

/* Bytes that a batch needs. Must not decrease with the batch. */
typedef enum rc max_batch_bytes_fn(const void *arg, size_t batch, double *n_bytes);

/* text := "--batch N fits", or that no batch fits. Candidates are all multiples of `unit` below too_large, which is a
 * multiple that does not fit. Errors: those of bytes(), which is called log2(too_large) times. */
enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, size_t unit, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg) MUST_CHECK;

#endif
