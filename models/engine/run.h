/* SPDX-License-Identifier: Apache-2.0 */
/* run.h - runs a program over one batch. Internal to the networks. */
#ifndef MODELS_ENGINE_RUN_H
#define MODELS_ENGINE_RUN_H

#include "models/engine/program.h"

enum { NETWORK_PART_ALIGN_ELEMS = 64 }; /* 256 bytes: what memory of any backend is aligned to */

struct run { /* of one batch; every array in memory of the compute, NULL on one that touches none */
    struct compute *compute;
    const struct network *network;
    const struct program *program;
    char *memory; /* the block that the program was planned for */
    float *state; /* running means and variances */
    const float *param;
    float *grad;
    uint16_t *packed;                /* the weights, packed (X4), node by node; NULL: they are not */
    float *part;                     /* adds: the gradients of one node at a time, before they are added to grad */
    bool adds;                       /* this batch is not the first micro-batch (M8) */
    float share;                     /* of the mean loss: 1 / the number of micro-batches */
    int first_op, end_op;            /* of the program; end_op 0: to its end */
    const struct stage_pipe *pipe;   /* of a stage: to those beside it; NULL: none is */
    size_t micro_batch;              /* of a stage */
    const struct dense_shard *shard; /* of a shard; else NULL */
    const uint64_t *group_key;       /* [n_shards] of a shard: dropout_key of each rank of its group */
    const float *x;                  /* (C, B, H, W): images, or what the stage before has computed */
    const uint32_t *label;           /* (B); of a shard (K,B) */
    size_t B;
    uint64_t dropout_key;
    double *loss;      /* [n_losses + 1], the last one of no meaning: valid after the next sync */
    size_t *n_correct; /* of the first loss; NULL: not wanted */
    grad_ready_fn *ready;
    void *arg;
    void (*queued)(void *arg); /* called once all ops are called, before anything waits for them; NULL: nobody is */
    void *queued_arg;
    const struct training *training;         /* whose parameters may have to be awaited; NULL: they need not */
    const struct network_observer *observer; /* NULL: none */
    bool poison; /* host memory: fill the block, and each buffer after its last op, with NaN, so that reading it shows
                    (X1) */
};

/* Errors: those of ready, of await, of the pipe and of the shard's group. Allocates nothing. */
enum rc network_run(const struct run *r) MUST_CHECK;
/* Where OP_TAKE_GRAD, of which the program has one, has its tensor in r->memory, and elements of it. */
float *network_stage_grad(const struct run *r, size_t *n_elems);
/* Of run.part. */
size_t network_part_bytes(const struct network *n);
/* Bytes of its own memory that the compute takes to run n, beside what memory_open() gives: 0 of one that tells none.
 */
size_t network_scratch_bytes(struct compute *c, const struct network *n, size_t batch, bool with_gradients);

#endif
