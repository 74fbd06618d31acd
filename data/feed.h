/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - batches by message: a driver reads the samples of all workers and pushes them, so that no worker opens a
 * file. TensorFlowOnSpark's InputMode.SPARK does the same for TensorFlow's workers.
 *
 * The ranks of the transport's world are the workers, 0 to n - 1, then the driver, n.
 *
 *   worker -> driver   FEED_GRANT, head: struct feed_want: this batch may come; or that this worker has ended
 *   driver -> worker   FEED_BATCH, head: struct feed_want, then uint32_t label[n_samples]; body: float x (C, B, H, W)
 *
 * Invariants
 *   V1  A batch holds what loader_read() reads on the driver: the same bits as without a driver.
 *   V2  A worker's queue is bounded: at most queue_batches are granted and not yet taken. Taking one grants the next.
 *   V3  The driver pushes a worker's batches in the order of the grants. A granted batch that is no longer needed (the
 *       worker asks for another first sample) is received and dropped.
 *   V4  A driver serves until each worker has reported its end, or the world fails. A worker that ends first receives
 *       all that it has granted.
 */
#ifndef DATA_FEED_H
#define DATA_FEED_H

#include "data/loader.h"

struct transport;
struct transport_ops;
struct world;

enum { FEED_MAX_QUEUE = 64 };

struct feed_want {
    uint64_t first;     /* training samples of this worker from here on; or test samples, from index 0 */
    uint32_t n_samples; /* 0: the worker has ended */
    uint32_t is_test;
};

struct feed_env { /* equal on all ranks; borrowed during the calls below */
    struct world *world;
    size_t max_batch; /* of any worker */
    size_t n_features;
    size_t queue_batches; /* data.V2; 1 .. FEED_MAX_QUEUE */
    int timeout_ms;       /* of a worker: the longest wait for a batch; 0: until the world ends */
};

/* Open the transport of the batches. Collective over the world. Errors: as transport_open_planned(). */
enum rc feed_transport_open(struct transport **out, const struct transport_ops *ops,
                            const struct feed_env *env) MUST_CHECK;

/* --- a worker --- */

struct feed_client;

/* t is borrowed; order: as in struct loader_env. RC_NOMEM. */
enum rc feed_client_open(struct feed_client **out, struct transport *t, const struct feed_env *env,
                         const struct batch_order *order) MUST_CHECK;
/* The source of its loader's batches; lives as long as the client. Errors: as transport_wait(); RC_MISMATCH: the driver
 * pushed another batch. */
struct loader_source feed_client_source(struct feed_client *c);
/* Receive what was granted, and report to the driver that this worker has ended. */
enum rc feed_client_end(struct feed_client *c) MUST_CHECK;
void feed_client_close(struct feed_client **c); /* NULL-safe, nulls */

/* --- the driver --- */

struct feed_drive { /* borrowed */
    struct transport *t;
    /* Data set, part and seed of worker `rank`. */
    struct loader_env (*reads)(void *arg, int rank);
    void *arg;
    uint64_t n_pushed; /* out: batches */
    uint64_t read_ns;  /* out: time to read them, by the world's clock */
};
/* data.V4. Errors: those of reading, of the transport; RC_MISMATCH: a worker grants a batch that is not its own. */
enum rc feed_drive(struct feed_drive *d, const struct feed_env *env) MUST_CHECK;

#endif
