/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - batches of images as networks want them, made ready ahead of time.
 *
 * A helper thread fills the next batch while the network works on this one (where the world has
 * threads to give: not in sim).
 *
 * Invariants
 *   F1  What feed_batch() gives is a pure function of (data set, seed, first, n_samples): prefetching
 *       changes when, never what.
 *   F2  Nothing allocates after open.
 */
#ifndef DATA_FEED_H
#define DATA_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"

struct feed;

struct feed_env { /* borrowed; outlives the feed */
    const struct dataset *dataset;
    uint64_t seed;
    size_t max_batch;
    uint64_t stride; /* the batch after [first, ...) begins at first + stride: workers x batch */
    bool prefetch;   /* have a helper thread */
};

enum rc feed_open(struct feed **out, const struct feed_env *env) MUST_CHECK;
/* Training samples first .. first + n_samples - 1 of the run: *x: float (C, B, H, W), *label: uint32_t (B),
 * both lent until the next call. Errors: those of reading the data set. */
enum rc feed_batch(struct feed *f, uint64_t first, size_t n_samples, const float **x,
                   const uint32_t **label) MUST_CHECK;
/* The same of test samples first .. first + n_samples - 1 < n_test, in their order. */
enum rc feed_test(struct feed *f, size_t first, size_t n_samples, const float **x, const uint32_t **label) MUST_CHECK;
/* Time feed_batch() had to wait for the helper thread, in all: 0 when the data is never late. Without one it is
 * not measured: 0. */
uint64_t feed_waited_ns(const struct feed *f);
void feed_close(struct feed **f); /* NULL-safe, nulls */

#endif
