/* SPDX-License-Identifier: Apache-2.0 */
/* program_builder.h - shared by the forward and the backward half of building a program. Internal to program*.c. */
#ifndef MODELS_ENGINE_PROGRAM_BUILDER_H
#define MODELS_ENGINE_PROGRAM_BUILDER_H

#include "models/engine/program.h"

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
