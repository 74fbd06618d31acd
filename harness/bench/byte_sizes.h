/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_sizes.h - parses sizes in bytes: a comma list of sizes and of sweeps.
 *
 *     4Ki,64Mi       these two
 *     4:1Gi:x4       4, 16, 64, ... to 1 GiB; without the factor: x2
 */
#ifndef HARNESS_BENCH_BYTE_SIZES_H
#define HARNESS_BENCH_BYTE_SIZES_H

#include <stddef.h>

#include "harness/base/rc.h"

enum { BYTE_SIZES_MAX = 64 };

/* Sizes in the order of the text, each a multiple of multiple_bytes, at least that, at most most_bytes. RC_INVAL names
 * the word and valid ones. */
enum rc byte_sizes_parse(size_t out[BYTE_SIZES_MAX], int *n, const char *text, size_t multiple_bytes,
                         size_t most_bytes) MUST_CHECK;

#endif
