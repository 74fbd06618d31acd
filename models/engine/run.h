/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - runs a program over one batch. Internal to the networks. */
#ifndef MODELS_ENGINE_RUN_H
#define MODELS_ENGINE_RUN_H

#include "models/engine/program.h"

enum { NETWORK_PART_ALIGN_ELEMS = 64 }; /* 256 bytes: the alignment of memory of any backend */

struct run { /* of one batch; every array in memory of the compute, NULL on one that touches none */
    struct compute *compute;
    const struct network *network;
    const struct program *program;
    char *memory; /* the block planned for the program */
    float *state; /* running means and variances */
    const float *param;
    float *grad;
    uint16_t *packed;                /* the weights, packed (models.X4), node by node; NULL: not packed */
    float *part;                     /* adds: the gradients of one node, before they are added to grad */
    bool adds;                       /* this batch is not the first micro-batch (models.M8) */
    float share;                     /* share in the mean loss: 1 / the number of micro-batches */
    int first_op, end_op;            /* of the program; end_op 0: up to its end */
    const struct stage_pipe *pipe;   /* for a stage: to adjacent stages; else NULL */
    size_t micro_batch;              /* for a stage */
    const struct dense_shard *shard; /* for a shard; else NULL */
    const uint64_t *group_key;       /* [n_shards] for a shard: dropout_key of each rank of its group */
    const float *x;                  /* (C, B, H, W): images, or the previous stage's output */
    const uint32_t *label;           /* (B); for a shard (K,B) */
    size_t B;
    uint64_t dropout_key;
    double *loss;      /* the last one has no meaning; valid after the next sync */
    size_t *n_correct; /* of the first loss; NULL: not wanted */
    grad_ready_fn *ready;
    void *arg;
    void (*queued)(void *arg); /* called after all ops are called, before any wait for them; may be NULL */
    void *queued_arg;
    const struct training *training;         /* its parameters may have to be awaited; NULL: no wait needed */
    const struct network_observer *observer; /* NULL: none */
    bool poison; /* host memory: fill the block, and each buffer after its last op, with NaN, to make reads of it
                    visible (models.X1) */
};

/* Errors: those of ready, of await, of the pipe and of the shard's group. Allocates nothing. */
enum rc network_run(const struct run *r) MUST_CHECK;
/* The address in r->memory of the tensor of OP_TAKE_GRAD (the program has one), and its number of elements. */
float *network_stage_grad(const struct run *r, size_t *n_elems);
/* Size of run.part. */
size_t network_part_bytes(const struct network *n);
/* Bytes of memory that the compute takes to run n, in addition to memory_open(); 0 if it does not report this. */
size_t network_scratch_bytes(struct compute *c, const struct network *n, size_t batch, bool with_gradients);

#endif
