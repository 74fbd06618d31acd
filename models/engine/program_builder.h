/* SPDX-License-Identifier: Apache-2.0 */
/* program_builder.h - what the two halves of a program's making share. Internal to program*.c. */
#ifndef MODELS_ENGINE_PROGRAM_BUILDER_H
#define MODELS_ENGINE_PROGRAM_BUILDER_H

#include "models/engine/program.h"

struct place {         /* of one node */
    int owner;         /* the concatenation it is a part of, or NODE_NONE */
    int alias;         /* the node whose output it leaves as it is, or changes in place; else itself */
    size_t at;         /* bytes per image before it in its owner's output */
    bool is_needed;    /* for the losses of this program */
    bool wants_grad;   /* there are parameters at or before it */
    struct view value; /* its output */
    struct view inner; /* NORM_BATCH in training: what the convolution gives */
    struct view mean, inv_std, at_max;
    struct view grad; /* of its output; for a part: its owner has it */
    bool has_grad;    /* grad was written, later ones add */
};

struct writer {
    const struct network *n;
    struct program *p;
    struct place *place;
    struct view *dlogits; /* [n_losses] */
    bool training;
};

/* Append a step of a node; its operands are VIEW_NONE. Lent until the next one. */
struct step *writer_step(struct writer *w, enum step_kind kind, enum network_phase phase, int node);
struct view writer_buffer(struct writer *w, size_t image_bytes, size_t fixed_bytes);
/* The output of a node, made when first asked for. */
struct view writer_value(struct writer *w, int node);
/* The node that an alias stands for; NODE_IMAGE stays. */
int writer_resolve(const struct writer *w, int node);
bool writer_wants_grad(const struct writer *w, int node);

/* program_backward.c */
enum rc writer_backward(struct writer *w);

#endif
