/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.h - a network's step written out: which operation on which buffers, one after the other.
 *
 * The lifetimes of the buffers are read off the list, and the same list is what runs: a plan cannot disagree
 * with the work. Internal to the networks; programs are made for any batch and planned for one.
 *
 * Invariants
 *   X1  A buffer lives from the first step that names it to the last one. What it held before is never read.
 *   X2  A step writes a gradient that several nodes contribute to (add false) before others add to it.
 *   X3  Parts of a concatenation write their slices of its buffer, and find their gradient there; nothing is
 *       copied.
 */
#ifndef MODELS_ENGINE_PROGRAM_H
#define MODELS_ENGINE_PROGRAM_H

#include "models/engine/memory_plan.h"
#include "models/engine/training.h"

enum step_kind {                          /* operands used */
                 STEP_CONV,               /* OUT IN [ADD] [SCALE SHIFT]; epilogue: bias or folded norm, add, relu */
                 STEP_NORM,               /* OUT IN [ADD] MEAN INV_STD */
                 STEP_FOLD,               /* SCALE SHIFT are written */
                 STEP_MAX_POOL,           /* OUT IN AT */
                 STEP_AVG_POOL,           /* OUT IN */
                 STEP_ADAPTIVE_POOL,      /* OUT IN */
                 STEP_DROPOUT,            /* OUT in place: the activation, or its gradient */
                 STEP_TO_ROWS,            /* OUT(B,K) IN(K,B) */
                 STEP_LOSS,               /* [OUT](B,K): the gradient; IN(B,K) */
                 STEP_FROM_ROWS,          /* OUT(K,B) IN(B,K) */
                 STEP_RELU_GRAD,          /* DY in place, Z: the relu's output */
                 STEP_BIAS_GRAD,          /* DY in place [Z] */
                 STEP_NORM_GRAD,          /* OUT IN: the norm's input; DY in place, [Z] MEAN INV_STD */
                 STEP_WEIGHT_GRAD,        /* DY IN */
                 STEP_INPUT_GRAD,         /* OUT DY */
                 STEP_MAX_POOL_GRAD,      /* OUT DY AT */
                 STEP_AVG_POOL_GRAD,      /* OUT DY */
                 STEP_ADAPTIVE_POOL_GRAD, /* OUT DY */
                 STEP_ACCUMULATE,         /* OUT += IN */
                 STEP_READY,              /* nothing: segment is final */
                 N_STEP_KINDS
};

enum operand { OUT, IN, ADD, DY, Z, MEAN, INV_STD, AT, N_OPERANDS, SCALE = MEAN, SHIFT = INV_STD };

enum { VIEW_NONE = -1, VIEW_IMAGE = -2 };

struct view {   /* what an operand is */
    int buffer; /* VIEW_NONE: absent; VIEW_IMAGE: the batch */
    size_t at;  /* bytes per image before it */
};

struct step {
    enum step_kind kind;
    enum network_phase phase;
    int node;
    int loss; /* STEP_LOSS: which */
    bool add; /* *_GRAD: OUT += */
    float loss_weight;
    struct segment segment; /* STEP_READY */
    struct view v[N_OPERANDS];
};

struct buffer {
    size_t image_bytes; /* times the batch */
    size_t fixed_bytes; /* and these */
};

struct program { /* owned */
    struct step *step;
    struct buffer *buffer;
    struct memory_item *item; /* [n_buffers]: where, for the batch of program_plan() */
    int n_steps, n_buffers, n_losses;
    struct memory_sums sums;
};

/* Training: forward, all losses, backward. Not training: inference as far as the first loss. Errors: RC_NOMEM;
 * RC_UNSUPPORTED: a table that asks for what is not done here (names the node). */
enum rc program_open(struct program *out, const struct network *n, bool training) MUST_CHECK;
/* X1: lifetimes from the steps, then places for this batch. */
enum rc program_plan(struct program *p, size_t batch) MUST_CHECK;
void program_close(struct program *p); /* NULL-safe on an empty one; leaves it empty */

#endif
