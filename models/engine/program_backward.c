/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_backward.c - the backward half of a program.
 *
 * Nodes are visited last to first, so the gradient of a node's output is complete when the node is visited. The first
 * contribution to a gradient overwrites it, the others add (models.X2). Where a convolution adds another node's output
 * before its relu, that node's gradient is the same buffer: nothing is copied.
 */
#include <stddef.h>

#include "models/engine/program.h"

static struct op *add_backward_op(struct program_builder *b, enum op_kind kind, int node)
{
    return program_add_op(b, kind, PHASE_BACKWARD, node);
}

static void add_ready(struct program_builder *b, int node, struct segment s)
{
    if (s.n_elems > 0)
        add_backward_op(b, OP_READY, node)->segment = s;
}

/* The gradient of a node's output: of a part, a slice of its owner's (models.X3). */
static struct view grad_of(struct program_builder *b, int node)
{
    const int i = program_resolve(b, node);
    struct node_state *p = program_state(b, i);

    if (p->owner == NODE_NONE) {
        const size_t n_elems = i == NODE_IMAGE ? b->n->in_elems : node_out_elems(&b->n->node[i]);
        if (p->grad.buffer == VIEW_NONE)
            p->grad = program_add_buffer(b, n_elems * sizeof(float), 0);
        return p->grad;
    }
    struct view v = grad_of(b, p->owner);
    v.offset_bytes += p->offset_bytes;
    return v;
}

/* Of own images, where it is to be among those of all ranks of the group. */
static void place_own_grad(struct program_builder *b, int node)
{
    struct node_state *p = program_state(b, node);
    const size_t n_bytes = node_out_elems(&b->n->node[node]) * sizeof(float);

    p->grad = program_add_buffer(b, (size_t)b->n->n_shards * n_bytes, 0);
    p->grad.offset_bytes += (size_t)b->n->shard * n_bytes;
}

static bool has_grad(const struct program_builder *b, int node)
{
    const struct node_state *p = program_state_const(b, program_resolve(b, node));

    return p->owner == NODE_NONE ? p->has_grad : has_grad(b, p->owner);
}

/* The op writes the gradient of node `to`: overwrites it if it is the first to do so, else adds (models.X2). */
static enum rc contribute(struct program_builder *b, struct op *op, int to)
{
    struct node_state *p = program_state(b, program_resolve(b, to));

    op->add = has_grad(b, to);
    if (!op->add && p->owner != NODE_NONE)
        return rc_raise(RC_UNSUPPORTED, "network %s: %s works on %s after the concatenation of it was used", b->n->name,
                        b->n->node[op->node].name, b->n->node[to].name);
    op->v[OPERAND_OUT] = grad_of(b, to);
    p->has_grad = true;
    return RC_OK;
}

/* dz, already multiplied by the relu's mask, is also the gradient of the node whose output was added. */
static enum rc add_from_backward(struct program_builder *b, int node, struct view dz)
{
    const struct node *n = &b->n->node[node];
    struct node_state *p;
    struct op *op;

    if (n->add_from == NODE_NONE || !program_wants_grad(b, n->add_from))
        return RC_OK;
    p = program_state(b, program_resolve(b, n->add_from));
    if (n->norm != NORM_BATCH && program_resolve(b, n->from) == program_resolve(b, n->add_from))
        return rc_raise(RC_UNSUPPORTED, "network %s: %s without batch norm adds its own input", b->n->name, n->name);
    if (p->owner == NODE_NONE && !p->has_grad) {
        p->grad = dz;
        p->has_grad = true;
        return RC_OK;
    }
    op = add_backward_op(b, OP_ACCUMULATE, node);
    op->v[OPERAND_IN] = dz;
    return contribute(b, op, n->add_from);
}

/* Ops for the gradients of norm or bias, and through the relu. Returns the gradient of the convolution's output. */
static struct view norm_backward(struct program_builder *b, int node, struct view dz)
{
    const struct node *n = &b->n->node[node];
    const struct node_state *p = &b->state[node];
    const struct view value = program_value(b, node);
    struct view dy = dz;
    struct op *op;

    if (n->norm == NORM_BATCH) {
        if (n->add_from != NODE_NONE) /* dz stays: it is the gradient of the node whose output was added */
            dy = program_add_buffer(b, node_out_elems(n) * sizeof(float), 0);
        op = add_backward_op(b, OP_NORM_GRAD, node);
        op->v[OPERAND_OUT] = dy;
        op->v[OPERAND_IN] = p->conv_out;
        op->v[OPERAND_MEAN] = p->mean;
        op->v[OPERAND_INV_STD] = p->inv_std;
        if (n->add_from != NODE_NONE)
            op->v[OPERAND_Z] = value;
    } else if (n->norm == NORM_BIAS) {
        op = add_backward_op(b, OP_BIAS_GRAD, node);
        if (n->relu)
            op->v[OPERAND_Z] = value;
    } else if (n->relu) {
        op = add_backward_op(b, OP_RELU_GRAD, node);
        op->v[OPERAND_Z] = value;
    } else {
        return dy;
    }
    op->v[OPERAND_DY] = dz;
    add_ready(b, node, n->shift);
    add_ready(b, node, n->gamma);
    return dy;
}

/* The weight is ready only when its last reader, the gradient of the input, is through (models.M2). */
static enum rc conv_backward(struct program_builder *b, int node)
{
    const struct node *n = &b->n->node[node];
    const struct view dz = grad_of(b, node), dy = norm_backward(b, node, dz);
    struct op *op;
    enum rc rc;

    TRY(add_from_backward(b, node, dz));
    op = add_backward_op(b, OP_WEIGHT_GRAD, node);
    op->v[OPERAND_DY] = dy;
    op->v[OPERAND_IN] = program_value(b, n->from);
    if (program_wants_grad(b, n->from)) {
        op = add_backward_op(b, OP_INPUT_GRAD, node);
        op->v[OPERAND_DY] = dy;
        TRY(contribute(b, op, n->from));
    }
    add_ready(b, node, n->weight);
out:
    return rc;
}

static enum rc pool_backward(struct program_builder *b, int node, enum op_kind kind)
{
    struct op *op;

    if (!b->state[node].wants_grad)
        return RC_OK;
    op = add_backward_op(b, kind, node);
    op->v[OPERAND_DY] = grad_of(b, node);
    op->v[OPERAND_ARGMAX] = b->state[node].argmax;
    return contribute(b, op, b->n->node[node].from);
}

static enum rc loss_backward(struct program_builder *b, int node, int which)
{
    const int from = b->n->node[node].from;
    enum rc rc = RC_OK;

    if (!program_wants_grad(b, from))
        return RC_OK;
    struct op *op = add_backward_op(b, OP_FROM_ROWS, node);
    op->v[OPERAND_IN] = b->dlogits[which];
    TRY(contribute(b, op, from));
    if (op->add)
        FAIL(RC_UNSUPPORTED, "network %s: %s is not the only one that works on its logits", b->n->name,
             b->n->node[node].name);
out:
    return rc;
}

/* Each rank has what its own outputs say of the gradient; of this rank's images or channels all of them count. */
static enum rc scatter(struct program_builder *b, int node, struct view parts, enum op_kind kind)
{
    const struct node *n = &b->n->node[node];
    struct op *op = add_backward_op(b, kind, node);
    enum rc rc;

    op->v[OPERAND_IN] = parts;
    TRY(contribute(b, op, n->from));
    if (op->add)
        FAIL(RC_UNSUPPORTED, "network %s: what %s gathers has other readers", b->n->name, n->name);
out:
    return rc;
}

static enum rc gather_images_backward(struct program_builder *b, int node)
{
    const struct view parts = program_add_buffer(b, node_out_elems(&b->n->node[node]) * sizeof(float), 0);
    struct op *op = add_backward_op(b, OP_PART_IMAGES, node);

    op->v[OPERAND_OUT] = parts;
    op->v[OPERAND_IN] = grad_of(b, node);
    return scatter(b, node, parts, OP_SCATTER_IMAGES);
}

/* Of the logits every rank has the whole gradient: this shard's channels of it are a slice. */
static enum rc gather_channels_backward(struct program_builder *b, int node)
{
    const struct node *n = &b->n->node[node], *from = &b->n->node[n->from];
    struct node_state *p = program_state(b, program_resolve(b, n->from));

    if (b->n->node[node + 1].kind != NODE_LOSS)
        return scatter(b, node, grad_of(b, node), OP_SCATTER_CHANNELS);
    p->grad = grad_of(b, node);
    p->grad.offset_bytes += (size_t)from->first_out * (size_t)n->group * sizeof(float);
    p->has_grad = true;
    return RC_OK;
}

/* Of the other ranks' images each of them has the gradient; what a rank gives to the scatter is of its own alone. */
static enum rc own_images_backward(struct program_builder *b, int node)
{
    const int from = b->n->node[node].from;
    struct view all = grad_of(b, node);
    struct op *op = add_backward_op(b, OP_ZERO_OTHERS, from);

    all.offset_bytes = 0;
    op->v[OPERAND_OUT] = all;
    op = add_backward_op(b, OP_JOIN_IMAGES, from);
    op->v[OPERAND_IN] = all;
    return contribute(b, op, from);
}

static enum rc node_backward(struct program_builder *b, int i, int *which)
{
    const struct node *n = &b->n->node[i];

    if (n->kind == NODE_LOSS)
        return loss_backward(b, i, --*which);
    if (n->kind == NODE_CONCAT)
        return RC_OK;
    if (b->state[i].wants_grad && !has_grad(b, i))
        return rc_raise(RC_UNSUPPORTED, "network %s: no loss depends on %s", b->n->name, n->name);
    if (n->kind == NODE_CONV)
        return conv_backward(b, i);
    if (n->kind == NODE_DROPOUT && b->state[i].wants_grad)
        program_add_dropout(b, PHASE_BACKWARD, i, grad_of(b, i));
    if (n->kind == NODE_DROPOUT || b->state[i].alias != i)
        return RC_OK;
    if (n->kind == NODE_GATHER_IMAGES)
        return gather_images_backward(b, i);
    if (n->kind == NODE_GATHER_CHANNELS)
        return gather_channels_backward(b, i);
    if (n->kind == NODE_OWN_IMAGES)
        return own_images_backward(b, i);
    return pool_backward(b, i,
                         n->kind == NODE_MAX_POOL   ? OP_MAX_POOL_GRAD
                         : n->kind == NODE_AVG_POOL ? OP_AVG_POOL_GRAD
                                                    : OP_ADAPTIVE_POOL_GRAD);
}

enum rc program_add_backward(struct program_builder *b)
{
    const int out = b->n->out_node, last = b->n->n_nodes - 1;
    int which = b->p->n_losses;
    enum rc rc = RC_OK;

    if (out != NODE_NONE) {
        if (b->n->node[out].kind == NODE_OWN_IMAGES)
            place_own_grad(b, out);
        const struct view grad = grad_of(b, out), value = program_value(b, out);
        struct op *op = add_backward_op(b, OP_TAKE_GRAD, last);
        op->v[OPERAND_OUT] = grad;
        op->v[OPERAND_IN] = value; /* until then it may still be sent (models.P3) */
        program_state(b, program_resolve(b, out))->has_grad = true;
    }
    for (int i = last; i >= 0; i--)
        TRY(node_backward(b, i, &which));
    if (b->n->in_elems > 0)
        add_backward_op(b, OP_PASS_GRAD, 0)->v[OPERAND_IN] = grad_of(b, NODE_IMAGE);
out:
    return rc;
}
