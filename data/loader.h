/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.h - the data loader: batches of images in the layout of networks, prepared in advance.
 *
 * With prefetch, a background thread prepares the next batch while the network computes with this one. Not in
 * sim, where ranks have no threads.
 *
 * Invariants
 *   F1  What loader_batch() returns is a pure function of (data set, seed, first, n_samples): prefetching
 *       changes when it is prepared, never its contents.
 *   F2  Nothing allocates after open.
 */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "harness/compute/compute.h"

struct loader;

struct loader_env { /* borrowed; outlives the loader */
    const struct dataset *dataset;
    const struct dataset_part *part; /* samples are numbered in this part (split.h); NULL: in all */
    uint64_t seed;
    size_t max_batch;
    uint64_t stride;         /* the batch after [first, ...) begins at first + stride: workers x batch */
    bool prefetch;           /* prepare the next batch in a background thread */
    struct compute *compute; /* batches are in memory of its host_open(), where its backend has that; may be NULL */
    /* Called with tick_arg, by the caller's task, for each sample it reads and every 20 ms that it waits: it is alive
     * (world/peers.h, P1). NULL: nothing. */
    void (*tick)(void *tick_arg);
    void *tick_arg;
};

enum rc loader_open(struct loader **out, const struct loader_env *env) MUST_CHECK;
/* Training samples first .. first + n_samples - 1 of the run: *x: float (C, B, H, W), *label: uint32_t (B),
 * both lent until the next call. Errors: those of reading the data set. */
enum rc loader_batch(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                     const uint32_t **label) MUST_CHECK;
/* The same of test samples first .. first + n_samples - 1 < n_test, in their order. */
enum rc loader_test_batch(struct loader *l, size_t first, size_t n_samples, const float **x,
                          const uint32_t **label) MUST_CHECK;
/* Total time that loader_batch() waited for the background thread; 0 without prefetch. */
uint64_t loader_waited_ns(const struct loader *l);
void loader_close(struct loader **l); /* NULL-safe, nulls */

#endif
