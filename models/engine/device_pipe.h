/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_pipe.h - transfers between stages, and between the ranks of a group, for a compute with separate memory.
 * Tensors are copied through the host's memory, from which messages are sent.
 *
 * Invariants
 *   -   A passed tensor is in the host's memory before the pipe below gets it. A taken tensor is in the compute's
 *       memory when take() returns. So models.P3 holds above as it does below. The same for gather() and scatter().
 *   V2  Each way has n_places host buffers in each direction. Between expect() and take(), or between pass() and
 *       passed(), a stage has at most as many tensors of a way as it holds micro-batches (models.P2), or evaluates
 *       batches at once.
 */
#ifndef MODELS_ENGINE_DEVICE_PIPE_H
#define MODELS_ENGINE_DEVICE_PIPE_H

#include "harness/compute/compute.h"
#include "models/engine/stage.h"

enum { DEVICE_PIPE_LEAST = 2 }; /* n_places: batches evaluated at once */

struct device_pipe;
struct device_group;

/* below: a pipe for tensors in the host's memory, of at most most_elems; its arg is borrowed. RC_NOMEM. */
enum rc device_pipe_open(struct device_pipe **out, struct compute *c, const struct stage_pipe *below, size_t n_places,
                         size_t most_elems) MUST_CHECK;
void device_pipe_close(struct device_pipe **p); /* NULL-safe, nulls */
struct stage_pipe device_pipe_of(struct device_pipe *p);

/* The same for a group whose pieces have at most most_elems each. */
enum rc device_group_open(struct device_group **out, struct compute *c, const struct dense_shard *below,
                          size_t most_elems) MUST_CHECK;
void device_group_close(struct device_group **g);
struct dense_shard device_group_of(struct device_group *g);

#endif
