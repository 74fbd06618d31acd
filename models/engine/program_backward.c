/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_backward.c - the backward half of a network's program.
 *
 * Nodes are walked last to first, so every gradient of an output is complete when its node's turn comes. The
 * first contribution overwrites, the others add; what is added before a relu hands its gradient over without
 * copying it.
 */
#include <stddef.h>

#include "models/engine/program_builder.h"

static struct step *step_back(struct writer *w, enum step_kind kind, int node)
{
    return writer_step(w, kind, PHASE_BACKWARD, node);
}

static void ready(struct writer *w, int node, struct segment s)
{
    if (s.n_elems > 0)
        step_back(w, STEP_READY, node)->segment = s;
}

/* Where the gradient of a node's output lies: for a part, in its owner's (X3). */
static struct view grad_of(struct writer *w, int node)
{
    const int i = writer_resolve(w, node);
    struct place *p = &w->place[i];

    if (p->owner == NODE_NONE) {
        if (p->grad.buffer == VIEW_NONE)
            p->grad = writer_buffer(w, node_out_elems(&w->n->node[i]) * sizeof(float), 0);
        return p->grad;
    }
    struct view v = grad_of(w, p->owner);
    v.at += p->at;
    return v;
}

static bool has_grad(const struct writer *w, int node)
{
    const struct place *p = &w->place[writer_resolve(w, node)];

    return p->owner == NODE_NONE ? p->has_grad : has_grad(w, p->owner);
}

/* The step contributes to the gradient of `to`: overwriting it if it is the first (X2). */
static enum rc contribute(struct writer *w, struct step *s, int to)
{
    struct place *p = &w->place[writer_resolve(w, to)];

    s->add = has_grad(w, to);
    if (!s->add && p->owner != NODE_NONE)
        return rc_raise(RC_UNSUPPORTED, "network %s: %s works on %s after the concatenation of it was used", w->n->name,
                        w->n->node[s->node].name, w->n->node[to].name);
    s->v[OUT] = grad_of(w, to);
    p->has_grad = true;
    return RC_OK;
}

/* dz, by now behind the relu's mask, is the gradient of what was added. */
static enum rc hand_over(struct writer *w, int node, struct view dz)
{
    const struct node *n = &w->n->node[node];
    struct place *p;
    struct step *s;

    if (n->add_from == NODE_NONE || !writer_wants_grad(w, n->add_from))
        return RC_OK;
    p = &w->place[writer_resolve(w, n->add_from)];
    if (n->norm != NORM_BATCH && writer_resolve(w, n->from) == writer_resolve(w, n->add_from))
        return rc_raise(RC_UNSUPPORTED, "network %s: %s without batch norm adds its own input", w->n->name, n->name);
    if (p->owner == NODE_NONE && !p->has_grad) {
        p->grad = dz;
        p->has_grad = true;
        return RC_OK;
    }
    s = step_back(w, STEP_ACCUMULATE, node);
    s->v[IN] = dz;
    return contribute(w, s, n->add_from);
}

/* Gradients of norm or bias, and through the relu. Returns the gradient of the convolution's output. */
static struct view norm_backward(struct writer *w, int node, struct view dz)
{
    const struct node *n = &w->n->node[node];
    const struct place *p = &w->place[node];
    const struct view value = writer_value(w, node);
    struct view dy = dz;
    struct step *s;

    if (n->norm == NORM_BATCH) {
        if (n->add_from != NODE_NONE) /* dz lives on as the gradient of what was added */
            dy = writer_buffer(w, node_out_elems(n) * sizeof(float), 0);
        s = step_back(w, STEP_NORM_GRAD, node);
        s->v[OUT] = dy;
        s->v[IN] = p->inner;
        s->v[MEAN] = p->mean;
        s->v[INV_STD] = p->inv_std;
        if (n->add_from != NODE_NONE)
            s->v[Z] = value;
    } else if (n->norm == NORM_BIAS) {
        s = step_back(w, STEP_BIAS_GRAD, node);
        if (n->relu)
            s->v[Z] = value;
    } else if (n->relu) {
        s = step_back(w, STEP_RELU_GRAD, node);
        s->v[Z] = value;
    } else {
        return dy;
    }
    s->v[DY] = dz;
    ready(w, node, n->shift);
    ready(w, node, n->gamma);
    return dy;
}

static enum rc conv_backward(struct writer *w, int node)
{
    const struct node *n = &w->n->node[node];
    const struct view dz = grad_of(w, node), dy = norm_backward(w, node, dz);
    struct step *s;
    enum rc rc;

    TRY(hand_over(w, node, dz));
    s = step_back(w, STEP_WEIGHT_GRAD, node);
    s->v[DY] = dy;
    s->v[IN] = writer_value(w, n->from);
    ready(w, node, n->weight);
    if (writer_wants_grad(w, n->from)) {
        s = step_back(w, STEP_INPUT_GRAD, node);
        s->v[DY] = dy;
        TRY(contribute(w, s, n->from));
    }
out:
    return rc;
}

static enum rc pool_backward(struct writer *w, int node, enum step_kind kind)
{
    struct step *s;

    if (!w->place[node].wants_grad)
        return RC_OK;
    s = step_back(w, kind, node);
    s->v[DY] = grad_of(w, node);
    s->v[AT] = w->place[node].at_max;
    return contribute(w, s, w->n->node[node].from);
}

static enum rc loss_backward(struct writer *w, int node, int which)
{
    const int from = w->n->node[node].from;
    enum rc rc = RC_OK;

    if (!writer_wants_grad(w, from))
        return RC_OK;
    struct step *s = step_back(w, STEP_FROM_ROWS, node);
    s->v[IN] = w->dlogits[which];
    TRY(contribute(w, s, from));
    if (s->add)
        FAIL(RC_UNSUPPORTED, "network %s: %s is not the only one that works on its logits", w->n->name,
             w->n->node[node].name);
out:
    return rc;
}

static enum rc node_backward(struct writer *w, int i, int *which)
{
    const struct node *n = &w->n->node[i];

    if (n->kind == NODE_LOSS)
        return loss_backward(w, i, --*which);
    if (n->kind == NODE_CONCAT)
        return RC_OK;
    if (w->place[i].wants_grad && !has_grad(w, i))
        return rc_raise(RC_UNSUPPORTED, "network %s: no loss depends on %s", w->n->name, n->name);
    if (n->kind == NODE_CONV)
        return conv_backward(w, i);
    if (n->kind == NODE_DROPOUT && w->place[i].wants_grad)
        step_back(w, STEP_DROPOUT, i)->v[OUT] = grad_of(w, i);
    if (n->kind == NODE_DROPOUT || w->place[i].alias != i)
        return RC_OK;
    return pool_backward(w, i,
                         n->kind == NODE_MAX_POOL   ? STEP_MAX_POOL_GRAD
                         : n->kind == NODE_AVG_POOL ? STEP_AVG_POOL_GRAD
                                                    : STEP_ADAPTIVE_POOL_GRAD);
}

enum rc writer_backward(struct writer *w)
{
    int which = w->p->n_losses;
    enum rc rc = RC_OK;

    for (int i = w->n->n_nodes - 1; i >= 0; i--)
        TRY(node_backward(w, i, &which));
out:
    return rc;
}
