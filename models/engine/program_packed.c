/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_packed.c - which ops of a program pack what they write, and which read it so (models.X4).
 *
 * Of the gradients it is that of a convolution's output, which two products read: the op that goes through its norm or
 * bias packs it. Of the values it is those that convolutions read, where a convolution's epilogue, a norm or a pool
 * writes them, and where it pays: that a pointwise convolution's operand is not packed for each product, or that floats
 * are not kept at all. (im2col packs on its way, from floats as well.) What dropout changes in place is not packed, nor
 * is the batch.
 */
#include "models/engine/program.h"

static const struct view no_view = { .buffer = VIEW_NONE };

static int add_packed(struct program *p, size_t rows, size_t n)
{
    p->buffer[p->n_buffers] = (struct buffer){ .rows = rows, .n = n };
    return p->n_buffers++;
}

static size_t plane_of(const struct node *n)
{
    return (size_t)n->out_h * (size_t)n->out_w;
}

/* --- gradients --- */

static bool reads_gradient(const struct op *op)
{
    return op->kind == OP_WEIGHT_GRAD || op->kind == OP_INPUT_GRAD;
}

/* Op i masks or normalises the gradient of its node's output: what it leaves is packed, for the products behind it. A
 * norm's needs no other array; a bias's is masked in place, where the gradient of a shortcut may be. */
static void pack_gradient(struct program *p, const struct network *net, int i)
{
    struct op *op = &p->op[i];
    const struct node *n = &net->node[op->node];
    const struct view packed = { .buffer = add_packed(p, (size_t)n->C_out, plane_of(n)) };

    op->v[OPERAND_OUT_PACKED] = packed;
    if (op->kind == OP_NORM_GRAD)
        op->v[OPERAND_OUT] = no_view;
    for (int k = i + 1; k < p->n_ops && p->op[k].node == op->node; k++)
        if (reads_gradient(&p->op[k])) {
            p->op[k].v[OPERAND_DY] = no_view;
            p->op[k].v[OPERAND_DY_PACKED] = packed;
        }
}

/* --- values --- */

static bool writes_value(const struct op *op)
{
    return op->kind == OP_CONV || op->kind == OP_NORM || op->kind == OP_MAX_POOL || op->kind == OP_AVG_POOL ||
           op->kind == OP_ADAPTIVE_POOL;
}

static bool reads_value(const struct op *op)
{
    return op->kind == OP_CONV || op->kind == OP_WEIGHT_GRAD;
}

struct uses {          /* of a buffer */
    int writer;        /* an op that writes it; -1: none */
    bool only_written; /* as a whole or in slices, by ops that can pack it, and changed by no other */
    bool is_read;      /* by products */
    bool is_operand;   /* of one of them, as it is */
    bool is_needed;    /* as floats: by others, or by its writer */
};

static bool is_pointwise(const struct window *g)
{
    return g->kernel_h == 1 && g->kernel_w == 1 && g->stride_h == 1 && g->stride_w == 1;
}

static void note_use(struct uses *u, const struct network *net, const struct op *op, int i, enum operand which)
{
    if (which == OPERAND_OUT && writes_value(op)) {
        u->writer = i;
        u->is_needed |= op->kind == OP_CONV; /* its product is summed there */
    } else if (which == OPERAND_OUT || which == OPERAND_DY) {
        u->only_written = false;
    } else if (which == OPERAND_IN && reads_value(op)) {
        u->is_read = true;
        u->is_operand |= is_pointwise(&net->node[op->node].in);
    } else {
        u->is_needed = true;
    }
}

static struct uses uses_of(const struct program *p, const struct network *net, int buffer)
{
    struct uses u = { .writer = -1, .only_written = true };

    for (int i = 0; i < p->n_ops; i++)
        for (int k = 0; k < N_OPERANDS; k++)
            if (p->op[i].v[k].buffer == buffer)
                note_use(&u, net, &p->op[i], i, (enum operand)k);
    return u;
}

/* Writers of the buffer pack what they write, and products read that. */
static void pack_value(struct program *p, const struct network *net, int buffer, const struct uses *u)
{
    const size_t plane = plane_of(&net->node[p->op[u->writer].node]), row_bytes = plane * sizeof(float);
    const int packed = add_packed(p, p->buffer[buffer].image_bytes / row_bytes, plane);

    for (int i = 0; i < p->n_ops; i++) {
        struct op *op = &p->op[i];
        struct view *out = &op->v[OPERAND_OUT], *in = &op->v[OPERAND_IN];
        if (writes_value(op) && out->buffer == buffer) {
            op->v[OPERAND_OUT_PACKED] = (struct view){ .buffer = packed, .row = out->offset_bytes / row_bytes };
            if (!u->is_needed)
                *out = no_view;
        }
        if (reads_value(op) && in->buffer == buffer) {
            op->v[OPERAND_IN_PACKED] = (struct view){ .buffer = packed, .row = in->offset_bytes / row_bytes };
            *in = no_view;
        }
    }
}

void program_pack(struct program *p, const struct network *n)
{
    const int n_buffers = p->n_buffers;

    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].kind == OP_NORM_GRAD || p->op[i].kind == OP_BIAS_GRAD)
            pack_gradient(p, n, i);
    for (int i = 0; i < n_buffers; i++) {
        const struct uses u = uses_of(p, n, i);
        if (u.writer >= 0 && u.only_written && u.is_read && (u.is_operand || !u.is_needed))
            pack_value(p, n, i, &u);
    }
}
