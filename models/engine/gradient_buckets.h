/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gradient_buckets.h - passes final gradients from a running program to run.ready().
 *
 * If the compute has events, ready() is called while later ops still run. Consecutive segments share an event. A
 * gradient bucket has at least a COMPUTE_EVENTS-th of the parameters. So the ops between two events are worth a graph
 * (cuda.h), and a training step never has more than COMPUTE_EVENTS buckets open. Private to run.c.
 */
#ifndef MODELS_ENGINE_GRADIENT_BUCKETS_H
#define MODELS_ENGINE_GRADIENT_BUCKETS_H

#include "models/engine/run.h"

struct gradient_buckets { /* zeros: none */
    struct {
        int first_op, last_op;
    } bucket[COMPUTE_EVENTS]; /* ring */
    int n_closed, n_passed_on;
    int first_op;   /* of the open bucket */
    size_t n_elems; /* in it so far; 0: no open bucket */
};

/* M2: the event of a bucket is recorded after all ops that write its segments. That is done before the wait for an
 * older event, so that the compute has work meanwhile. op: an OP_READY. Errors: those of ready. */
enum rc gradient_buckets_add(struct gradient_buckets *g, const struct run *r, int op) MUST_CHECK;
/* Call after the last op: passes on the remaining buckets. */
enum rc gradient_buckets_end(struct gradient_buckets *g, const struct run *r) MUST_CHECK;

#endif
