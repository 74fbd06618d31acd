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

struct loader_want {
    bool is_test;
    uint64_t first; /* training samples of the run, or test samples */
    size_t n_samples;
};

/* Batches from another source: feed.h. fetch() writes the batch that loader_read() would read; it prefetches by
 * itself. */
struct loader_source {
    enum rc (*fetch)(void *arg, const struct loader_want *want, float *x, uint32_t *label);
    void *arg;
};

struct loader_env { /* borrowed; outlives the loader */
    const struct dataset *dataset;
    const struct dataset_part *part; /* samples are numbered in this part (split.h); NULL: in the whole data set */
    uint64_t seed;
    size_t max_batch;
    struct batch_order order;           /* of training samples; stride 0: the next batch is not known */
    const struct loader_source *source; /* NULL: the data set is read here; otherwise only its shape is used */
    bool prefetch;                      /* without a source: prepare the next batch in a background thread */
    struct compute *compute; /* batches are in its host_open() memory, if its backend has that; may be NULL */
    /* Called with tick_arg by the caller's task, for each sample it reads and every 20 ms of a wait, as a sign of life
     * (world.P1). NULL: nothing. */
    void (*tick)(void *tick_arg);
    uint64_t (*now_ns)(void *tick_arg); /* clock for measuring waits; NULL: waits are not measured */
    void *tick_arg;
};

enum rc loader_open(struct loader **out, const struct loader_env *env) MUST_CHECK;
/* Training samples first .. first + n_samples - 1 of the run: *x: float (C, B, H, W), *label: uint32_t (B),
 * both lent until the next call. Errors: those of reading the data set. */
enum rc loader_batch(struct loader *l, uint64_t first, size_t n_samples, const float **x,
                     const uint32_t **label) MUST_CHECK;
/* The same for test samples first .. first + n_samples - 1 < n_test, in their order. */
enum rc loader_test_batch(struct loader *l, size_t first, size_t n_samples, const float **x,
                          const uint32_t **label) MUST_CHECK;
/* Time that loader_batch() made its caller wait: for the background thread, for the source, or to read the samples
 * itself. */
uint64_t loader_waited_ns(const struct loader *l); /* total; 0 without a clock */
struct loader_wait {
    uint64_t start_ns, end_ns; /* by env.now_ns() */
};
struct loader_wait loader_last_wait(const struct loader *l); /* zeros: no wait yet */
/* Read a batch of env's data set, part and seed. x: float (C, B, H, W), label: uint32_t (B). Needs no loader. Errors:
 * those of reading the data set. */
enum rc loader_read(const struct loader_env *env, const struct loader_want *want, float *x, uint32_t *label) MUST_CHECK;
void loader_close(struct loader **l); /* NULL-safe, nulls */

#endif
