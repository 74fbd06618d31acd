/* SPDX-License-Identifier: Apache-2.0 */
/* max_batch.h - the largest batch that there is memory for: what a refusal of a larger one recommends. */
#ifndef HARNESS_TRAIN_MAX_BATCH_H
#define HARNESS_TRAIN_MAX_BATCH_H

#include <stddef.h>

#include "harness/base/rc.h"

enum { MAX_BATCH_TEXT_BYTES = 64 };

/* Bytes that a batch needs; no fewer than a smaller one. */
typedef enum rc max_batch_bytes_fn(const void *arg, size_t batch, double *n_bytes);

/* text := "--batch N fits", or that none does; all multiples of `unit` below too_large, which is one and does not fit,
 * are candidates. Errors: those of bytes(), which is asked about log2(too_large) times. */
enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, size_t unit, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg) MUST_CHECK;

#endif
