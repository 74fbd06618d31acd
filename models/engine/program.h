/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a training step (or an inference) of a network as a list of ops: which operation on which buffers.
 *
 * The lifetimes of the buffers are computed from the list, and the same list is what runs: a plan cannot disagree
 * with the work. Internal to the engine; a program is built for any batch and planned for one.
 *
 * Invariants
 *   X1  A buffer lives from the first op that names it to the last one. What its memory held before is never read.
 *   X2  The first op that contributes to a gradient overwrites it (add false); later ops add.
 *   X3  Parts of a concatenation write slices of its buffer, and read slices of its gradient; nothing is copied.
 *   X4  With a compute that takes packed arrays (compute.h), arrays read only by products are kept packed alone; arrays
 *       also read by other ops are kept both ways. The writer packs once, for all readers.
 */
#ifndef MODELS_ENGINE_PROGRAM_H
#define MODELS_ENGINE_PROGRAM_H

#include "models/engine/memory_plan.h"
#include "models/engine/training.h"

enum op_kind {                        /* operands used, without OPERAND_ */
               OP_CONV,               /* OUT IN [ADD] [SCALE SHIFT]; epilogue: bias or folded norm, add, relu */
               OP_NORM,               /* OUT IN [ADD] MEAN INV_STD */
               OP_FOLD,               /* SCALE SHIFT are written */
               OP_MAX_POOL,           /* OUT IN ARGMAX */
               OP_AVG_POOL,           /* OUT IN */
               OP_ADAPTIVE_POOL,      /* OUT IN */
               OP_DROPOUT,            /* OUT in place: the activation, or its gradient; [IN]: space of the same size */
               OP_TO_ROWS,            /* OUT(B,K) IN(K,B) */
               OP_LOSS,               /* [OUT](B,K): the gradient; IN(B,K) */
               OP_FROM_ROWS,          /* OUT(K,B) IN(B,K) */
               OP_RELU_GRAD,          /* DY in place, Z: the relu's output */
               OP_BIAS_GRAD,          /* DY in place [Z] */
               OP_NORM_GRAD,          /* OUT IN: the norm's input; DY in place, [Z] MEAN INV_STD */
               OP_WEIGHT_GRAD,        /* DY IN */
               OP_INPUT_GRAD,         /* OUT DY */
               OP_MAX_POOL_GRAD,      /* OUT DY ARGMAX */
               OP_AVG_POOL_GRAD,      /* OUT DY */
               OP_ADAPTIVE_POOL_GRAD, /* OUT DY */
               OP_ACCUMULATE,         /* OUT += IN */
               OP_READY,              /* no operand: the gradient of segment is final */
               OP_TAKE_VALUE,         /* no operand: the image, from the previous stage (stage.h) */
               OP_PASS_VALUE,         /* IN: to the next stage */
               OP_TAKE_GRAD,          /* OUT: from the next stage */
               OP_PASS_GRAD,          /* IN: to the previous stage */
               OP_GATHER_IMAGES,      /* OUT(K,C,B,H,W) IN(C,B,H,W): of all ranks of the group (stage.h) */
               OP_GATHER_CHANNELS,    /* OUT(C,KB) IN: this shard's channels of it */
               OP_SCATTER_IMAGES,     /* OUT(C,B,H,W) IN(K,C,B,H,W), which changes: summed over the group */
               OP_SCATTER_CHANNELS,   /* OUT: this shard's channels of IN(C,KB), which changes: summed over the group */
               OP_JOIN_IMAGES,        /* OUT(C,KB,H,W) IN(K,C,B,H,W) */
               OP_PART_IMAGES,        /* OUT(K,C,B,H,W) IN(C,KB,H,W) */
               OP_ZERO_OTHERS,        /* OUT(K,C,B,H,W) in place: zeroes all but this rank's (C,B,H,W) */
               N_OP_KINDS
};

enum operand {
    OPERAND_OUT,
    OPERAND_IN,
    OPERAND_ADD,
    OPERAND_DY,
    OPERAND_Z,
    OPERAND_MEAN,
    OPERAND_INV_STD,
    OPERAND_ARGMAX,
    OPERAND_OUT_PACKED, /* these three: models.X4 */
    OPERAND_IN_PACKED,
    OPERAND_DY_PACKED,
    N_OPERANDS,
    OPERAND_SCALE = OPERAND_MEAN, /* inference has no batch statistics */
    OPERAND_SHIFT = OPERAND_INV_STD
};

enum { VIEW_NONE = -1, VIEW_IMAGE = -2 };

struct view {            /* what an operand is */
    int buffer;          /* VIEW_NONE: absent; VIEW_IMAGE: the batch */
    size_t offset_bytes; /* in the buffer, for one image: times the batch */
    size_t row;          /* of a packed buffer: its first */
};

struct op {
    enum op_kind kind;
    enum network_phase phase;
    int node;
    int loss; /* OP_LOSS: number of the loss, in order of the nodes */
    bool add; /* *_GRAD: OUT += */
    float loss_weight;
    struct segment segment; /* OP_READY */
    struct view v[N_OPERANDS];
};

struct buffer {
    size_t image_bytes; /* times the batch */
    size_t fixed_bytes; /* and these */
    size_t rows, n;     /* of a packed one: (rows, n times the batch); rows 0: not packed */
};

struct program { /* owned */
    struct op *op;
    struct buffer *buffer;
    struct memory_item *item; /* [n_buffers]: offsets for the batch of program_plan() */
    int n_ops, n_buffers, n_losses;
    int n_forward; /* number of forward ops, which come first; the rest are backward */
    struct memory_sums sums;
};

/* Training: forward, all losses, backward. Otherwise: inference up to the first loss. Errors: RC_NOMEM; RC_UNSUPPORTED:
 * the table needs an unsupported operation (names the node). */
enum rc program_open(struct program *out, const struct network *n, bool training) MUST_CHECK;
/* Make the program's operations pack what products read (models.X4). At most once, before it is planned. */
void program_pack(struct program *p, const struct network *n);
/* models.X1: lifetimes from the ops, then offsets for this batch. */
enum rc program_plan(struct program *p, size_t batch) MUST_CHECK;
void program_close(struct program *p); /* accepts an empty one; leaves it empty */

/* Shared by the forward and the backward half of building a program. Internal to program*.c. */

struct node_state {       /* of one node while the program is built */
    int owner;            /* the concatenation it is a part of, or NODE_NONE */
    int alias;            /* the node whose output it keeps unchanged, or changes in place; else itself */
    size_t offset_bytes;  /* of its slice in its owner's output, for one image */
    bool is_needed;       /* for the losses of this program */
    bool wants_grad;      /* it, or a node before it, has parameters */
    struct view value;    /* its output */
    struct view conv_out; /* NORM_BATCH in training: the convolution's output */
    struct view mean, inv_std, argmax;
    struct view grad; /* of its output; a part uses a slice of its owner's */
    bool has_grad;    /* an op has written grad; later ones add to it */
};

struct program_builder {
    const struct network *n;
    struct program *p;
    struct node_state *state; /* [n_nodes] */
    struct node_state input;  /* of NODE_IMAGE, if that is another stage's output */
    struct view *dlogits;     /* [n_losses] */
    bool training;
};

/* Append an op of a node; its operands are VIEW_NONE. The pointer is valid until the next call. */
struct op *program_add_op(struct program_builder *b, enum op_kind kind, enum network_phase phase, int node);
struct view program_add_buffer(struct program_builder *b, size_t image_bytes, size_t fixed_bytes);
/* The output of a node; creates its buffer at the first call. */
struct view program_value(struct program_builder *b, int node);
/* The node that a node's alias finally refers to; NODE_IMAGE is unchanged. */
int program_resolve(const struct program_builder *b, int node);
bool program_wants_grad(const struct program_builder *b, int node);
/* Add a dropout on x: the output of its node, or the gradient of that. */
void program_add_dropout(struct program_builder *b, enum network_phase phase, int node, struct view x);
/* node: resolved; NODE_IMAGE: in a stage that takes a value. */
struct node_state *program_state(struct program_builder *b, int node);
const struct node_state *program_state_const(const struct program_builder *b, int node);

/* program_backward.c */
enum rc program_add_backward(struct program_builder *b);

#endif
