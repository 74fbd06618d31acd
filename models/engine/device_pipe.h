/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_pipe.h - between stages, and between the ranks of a group, whose compute has memory of its own: tensors go by
 * the host's memory, from which messages are sent.
 *
 * Invariants
 *   V1  What is passed on is in the host's memory before the pipe below gets it, and what is taken is in the compute's
 *       when take() returns: stage.P3 holds above as it does below. The same of gather() and scatter().
 *   V2  Each way has n_places of host memory in each direction. A stage has no more tensors of a way between expect()
 *       and take(), or between pass() and passed(), than it holds micro-batches (stage.P2), or evaluates batches at
 *       once.
 */
#ifndef MODELS_ENGINE_DEVICE_PIPE_H
#define MODELS_ENGINE_DEVICE_PIPE_H

#include "harness/compute/compute.h"
#include "models/engine/shard.h"
#include "models/engine/stage.h"

enum { DEVICE_PIPE_LEAST = 2 }; /* n_places: batches that are evaluated at once */

struct device_pipe;
struct device_group;

/* below: of tensors in the host's memory, of at most most_elems; its arg is borrowed. RC_NOMEM. */
enum rc device_pipe_open(struct device_pipe **out, struct compute *c, const struct stage_pipe *below, size_t n_places,
                         size_t most_elems) MUST_CHECK;
void device_pipe_close(struct device_pipe **p); /* NULL-safe, nulls */
struct stage_pipe device_pipe_of(struct device_pipe *p);

/* Likewise, of one whose pieces have at most most_elems each. */
enum rc device_group_open(struct device_group **out, struct compute *c, const struct dense_shard *below,
                          size_t most_elems) MUST_CHECK;
void device_group_close(struct device_group **g);
struct dense_shard device_group_of(struct device_group *g);

#endif
