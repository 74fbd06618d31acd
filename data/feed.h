/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - batches by message: a driver reads the samples of all workers and pushes them, so that no worker opens a
 * file. As TensorFlowOnSpark's InputMode.SPARK feeds TensorFlow's workers from another process.
 *
 * The ranks of the transport's world are the workers, 0 to n - 1, and behind them the driver, n.
 *
 *   worker -> driver   FEED_GRANT, head: struct feed_want: this batch may come; or that this worker has ended
 *   driver -> worker   FEED_BATCH, head: struct feed_want, then uint32_t label[n_samples]; body: float x (C, B, H, W)
 *
 * Invariants
 *   V1  A batch holds what loader_read() reads where the driver is: the same bits as without a driver.
 *   V2  A worker's queue is bounded: at most queue_batches are granted and not yet taken. Taking one grants the next.
 *   V3  The driver pushes a worker's batches in the order in which they were granted. What was granted and is not
 *       wanted any more (another first sample is asked for) is received and dropped.
 *   V4  A driver serves until each worker has said that it has ended, or the world fails. A worker that ends receives
 *       what it has granted.
 */
#ifndef DATA_FEED_H
#define DATA_FEED_H

#include "data/loader.h"

struct transport;
struct transport_ops;
struct world;

enum { FEED_MAX_QUEUE = 64 };

struct feed_want {
    uint64_t first;     /* training samples of this worker from here on; or test samples, from 0 on */
    uint32_t n_samples; /* 0: the worker has ended */
    uint32_t is_test;
};

struct feed_env { /* the same on all ranks; borrowed during the calls below */
    struct world *world;
    size_t max_batch; /* of any worker */
    size_t n_features;
    size_t queue_batches; /* V2; 1 .. FEED_MAX_QUEUE */
    int timeout_ms;       /* of a worker: the longest wait for a batch; 0: as long as the world lives */
};

/* What carries the batches. Collective over the world. Errors: as transport_open_planned(). */
enum rc feed_transport_open(struct transport **out, const struct transport_ops *ops,
                            const struct feed_env *env) MUST_CHECK;

/* --- a worker --- */

struct feed_client;

/* t is lent; order: as of struct loader_env. RC_NOMEM. */
enum rc feed_client_open(struct feed_client **out, struct transport *t, const struct feed_env *env,
                         const struct batch_order *order) MUST_CHECK;
/* Where its loader gets batches from; lives as long as the client. Errors: as transport_wait(); RC_MISMATCH: the driver
 * has pushed another batch. */
struct loader_source feed_client_source(struct feed_client *c);
/* Receive what was granted, and tell the driver that this worker has ended. */
enum rc feed_client_end(struct feed_client *c) MUST_CHECK;
void feed_client_close(struct feed_client **c); /* NULL-safe, nulls */

/* --- the driver --- */

struct feed_drive { /* borrowed */
    struct transport *t;
    /* Of worker `rank`: its data set, part and seed. */
    struct loader_env (*reads)(void *arg, int rank);
    void *arg;
    uint64_t n_pushed; /* out: batches */
    uint64_t read_ns;  /* out: reading them, by the world's clock */
};
/* V4. Errors: those of reading, of the transport; RC_MISMATCH: a worker grants what is no batch of its. */
enum rc feed_drive(struct feed_drive *d, const struct feed_env *env) MUST_CHECK;

#endif
