/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - the forward half of a network's program, and the lifetimes of its buffers. */
#include "models/engine/program.h"

#include <assert.h>
#include <stdlib.h>

#include "models/engine/program_builder.h"

enum { MAX_NODE_STEPS = 8, MAX_NODE_BUFFERS = 8 };

static const struct view no_view = { .buffer = VIEW_NONE };

struct step *writer_step(struct writer *w, enum step_kind kind, enum network_phase phase, int node)
{
    struct step *s = &w->p->step[w->p->n_steps++];

    *s = (struct step){ .kind = kind, .phase = phase, .node = node };
    for (int i = 0; i < N_OPERANDS; i++)
        s->v[i] = no_view;
    return s;
}

struct view writer_buffer(struct writer *w, size_t image_bytes, size_t fixed_bytes)
{
    const int i = w->p->n_buffers++;

    w->p->buffer[i] = (struct buffer){ .image_bytes = image_bytes, .fixed_bytes = fixed_bytes };
    return (struct view){ .buffer = i };
}

int writer_resolve(const struct writer *w, int node)
{
    while (node >= 0 && w->place[node].alias != node)
        node = w->place[node].alias;
    return node;
}

bool writer_wants_grad(const struct writer *w, int node)
{
    return node >= 0 && w->place[node].wants_grad;
}

static size_t value_bytes(const struct writer *w, int node)
{
    return node_out_elems(&w->n->node[node]) * sizeof(float);
}

struct view writer_value(struct writer *w, int node)
{
    const int i = writer_resolve(w, node);

    if (i == NODE_IMAGE)
        return (struct view){ .buffer = VIEW_IMAGE };
    struct place *p = &w->place[i];
    if (p->value.buffer == VIEW_NONE && p->owner != NODE_NONE) { /* Y3, X3 */
        p->value = writer_value(w, p->owner);
        p->value.at += p->at;
    } else if (p->value.buffer == VIEW_NONE) {
        p->value = writer_buffer(w, value_bytes(w, i), 0);
    }
    return p->value;
}

static bool is_identity(const struct node *n)
{
    return n->kind == NODE_ADAPTIVE_POOL && n->out_h == n->in.H && n->out_w == n->in.W;
}

static int consumers(const struct network *n, int node)
{
    int count = 0;

    for (int i = 0; i < n->n_nodes; i++) {
        count += n->node[i].kind != NODE_CONCAT && n->node[i].from == node;
        count += n->node[i].kind == NODE_CONV && n->node[i].add_from == node;
        for (int k = 0; n->node[i].kind == NODE_CONCAT && k < n->node[i].n_parts; k++)
            count += n->node[i].part[k] == node;
    }
    return count;
}

static void own_parts(struct writer *w, int concat)
{
    const struct node *n = &w->n->node[concat];
    size_t at = 0;

    for (int k = 0; k < n->n_parts; k++) {
        w->place[n->part[k]].owner = concat;
        w->place[n->part[k]].at = at;
        at += value_bytes(w, n->part[k]);
    }
}

/* Dropout works in place, so nobody else may want what it was given. */
static enum rc check_dropout(const struct writer *w, const struct node *n)
{
    bool is_alone = n->from >= 0;

    for (int i = n->from; is_alone; i = w->place[i].alias) {
        is_alone = i >= 0 && consumers(w->n, i) == 1 && w->n->node[i].kind != NODE_CONCAT;
        if (!is_alone || w->place[i].alias == i)
            break;
    }
    if (!is_alone)
        return rc_raise(RC_UNSUPPORTED, "network %s: dropout %s must be the only one that works on its input",
                        w->n->name, n->name);
    return RC_OK;
}

static enum rc check_parts(const struct writer *w, const struct node *n)
{
    for (int k = 0; k < n->n_parts; k++) {
        const int part = n->part[k];
        if (part < 0 || w->place[part].alias != part || w->place[part].owner != NODE_NONE)
            return rc_raise(RC_UNSUPPORTED, "network %s: part %d of %s must be the output of a node, used in no other",
                            w->n->name, k, n->name);
    }
    return RC_OK;
}

static enum rc describe(struct writer *w)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < w->n->n_nodes; i++) {
        const struct node *n = &w->n->node[i];
        struct place *p = &w->place[i];
        *p = (struct place){ NODE_NONE, i,       0,       false, n->kind == NODE_CONV, no_view, no_view, no_view,
                             no_view,   no_view, no_view, false };
        if (n->kind == NODE_DROPOUT)
            TRY(check_dropout(w, n));
        if (n->kind == NODE_CONCAT) {
            TRY(check_parts(w, n));
            own_parts(w, i);
        }
        if (n->kind == NODE_DROPOUT || is_identity(n))
            p->alias = n->from;
        for (int k = 0; n->kind == NODE_CONCAT && k < n->n_parts; k++)
            p->wants_grad |= w->place[n->part[k]].wants_grad;
        if (n->kind != NODE_CONCAT && n->from >= 0)
            p->wants_grad |= w->place[n->from].wants_grad;
        w->p->n_losses += n->kind == NODE_LOSS;
    }
out:
    return rc;
}

static void need(struct writer *w, int node)
{
    if (node >= 0)
        w->place[node].is_needed = true;
}

/* Inference ends at the first loss: a head that only serves another one is left out. */
static void mark_needed(struct writer *w)
{
    bool has_loss = false;

    for (int i = 0; i < w->n->n_nodes; i++)
        if (w->n->node[i].kind == NODE_LOSS && (w->training || !has_loss))
            has_loss = w->place[i].is_needed = true;
    for (int i = w->n->n_nodes - 1; i >= 0; i--) {
        const struct node *n = &w->n->node[i];
        if (!w->place[i].is_needed)
            continue;
        for (int k = 0; n->kind == NODE_CONCAT && k < n->n_parts; k++)
            need(w, n->part[k]);
        if (n->kind != NODE_CONCAT)
            need(w, n->from);
        if (n->kind == NODE_CONV)
            need(w, n->add_from);
    }
}

static struct view channels(struct writer *w, int C)
{
    return writer_buffer(w, 0, (size_t)C * sizeof(float));
}

static struct view value_to_add(struct writer *w, const struct node *n)
{
    return n->add_from != NODE_NONE ? writer_value(w, n->add_from) : no_view;
}

static void conv_training(struct writer *w, int i)
{
    const struct node *n = &w->n->node[i];
    struct place *p = &w->place[i];
    const bool norm = n->norm == NORM_BATCH;
    const struct view from = writer_value(w, n->from), plus = value_to_add(w, n);
    struct step *s;

    if (norm)
        p->inner = writer_buffer(w, value_bytes(w, i), 0);
    s = writer_step(w, STEP_CONV, PHASE_FORWARD, i);
    s->v[OUT] = norm ? p->inner : writer_value(w, i);
    s->v[IN] = from;
    if (!norm) {
        s->v[ADD] = plus;
        return;
    }
    p->mean = channels(w, n->C_out);
    p->inv_std = channels(w, n->C_out);
    s = writer_step(w, STEP_NORM, PHASE_FORWARD, i);
    s->v[OUT] = writer_value(w, i);
    s->v[IN] = p->inner;
    s->v[ADD] = plus;
    s->v[MEAN] = p->mean;
    s->v[INV_STD] = p->inv_std;
}

static void conv_inference(struct writer *w, int i)
{
    const struct node *n = &w->n->node[i];
    struct view scale = no_view, shift = no_view;
    struct step *s;

    if (n->norm == NORM_BATCH) {
        scale = channels(w, n->C_out);
        shift = channels(w, n->C_out);
        s = writer_step(w, STEP_FOLD, PHASE_FORWARD, i);
        s->v[SCALE] = scale;
        s->v[SHIFT] = shift;
    }
    s = writer_step(w, STEP_CONV, PHASE_FORWARD, i);
    s->v[OUT] = writer_value(w, i);
    s->v[IN] = writer_value(w, n->from);
    s->v[ADD] = value_to_add(w, n);
    s->v[SCALE] = scale;
    s->v[SHIFT] = shift;
}

static void pool(struct writer *w, int i, enum step_kind kind)
{
    const struct node *n = &w->n->node[i];
    struct step *s = writer_step(w, kind, PHASE_FORWARD, i);

    s->v[OUT] = writer_value(w, i);
    s->v[IN] = writer_value(w, n->from);
    if (kind == STEP_MAX_POOL) /* a byte for each element of the output */
        s->v[AT] = w->place[i].at_max = writer_buffer(w, node_out_elems(n), 0);
}

static void loss(struct writer *w, int i, int which)
{
    const struct node *n = &w->n->node[i];
    const size_t n_bytes = (size_t)n->in.C * sizeof(float);
    const struct view rows = writer_buffer(w, n_bytes, 0);
    struct step *s = writer_step(w, STEP_TO_ROWS, PHASE_FORWARD, i);

    s->v[OUT] = rows;
    s->v[IN] = writer_value(w, n->from);
    s = writer_step(w, STEP_LOSS, PHASE_FORWARD, i);
    s->v[IN] = rows;
    s->loss = which;
    s->loss_weight = n->loss_weight;
    if (w->training)
        s->v[OUT] = w->dlogits[which] = writer_buffer(w, n_bytes, 0);
}

static void forward(struct writer *w)
{
    int n_losses = 0;

    for (int i = 0; i < w->n->n_nodes; i++) {
        const struct node *n = &w->n->node[i];
        if (!w->place[i].is_needed)
            continue;
        if (n->kind == NODE_CONV && w->training)
            conv_training(w, i);
        else if (n->kind == NODE_CONV)
            conv_inference(w, i);
        else if (n->kind == NODE_MAX_POOL)
            pool(w, i, STEP_MAX_POOL);
        else if (n->kind == NODE_AVG_POOL)
            pool(w, i, STEP_AVG_POOL);
        else if (n->kind == NODE_ADAPTIVE_POOL && !is_identity(n))
            pool(w, i, STEP_ADAPTIVE_POOL);
        else if (n->kind == NODE_DROPOUT && w->training)
            writer_step(w, STEP_DROPOUT, PHASE_FORWARD, i)->v[OUT] = writer_value(w, i);
        else if (n->kind == NODE_LOSS)
            loss(w, i, n_losses++);
    }
}

enum rc program_open(struct program *out, const struct network *n, bool training)
{
    const size_t n_nodes = (size_t)n->n_nodes;
    struct program p = { 0 };
    struct writer w = { .n = n, .p = &p, .training = training };
    enum rc rc = RC_OK;

    p.step = calloc(n_nodes * MAX_NODE_STEPS + (size_t)n->n_segments, sizeof *p.step);
    p.buffer = calloc(n_nodes * MAX_NODE_BUFFERS, sizeof *p.buffer);
    p.item = calloc(n_nodes * MAX_NODE_BUFFERS, sizeof *p.item);
    w.place = calloc(n_nodes, sizeof *w.place);
    w.dlogits = calloc(n_nodes, sizeof *w.dlogits);
    if (p.step == NULL || p.buffer == NULL || p.item == NULL || w.place == NULL || w.dlogits == NULL)
        FAIL(RC_NOMEM, "network %s: no memory for its program", n->name);
    TRY(describe(&w));
    mark_needed(&w);
    forward(&w);
    if (training)
        TRY(writer_backward(&w));
    assert((size_t)p.n_steps <= n_nodes * MAX_NODE_STEPS + (size_t)n->n_segments);
    assert((size_t)p.n_buffers <= n_nodes * MAX_NODE_BUFFERS);
    *out = p;
    p = (struct program){ 0 };
out:
    free(w.place);
    free(w.dlogits);
    program_close(&p);
    return rc;
}

enum rc program_plan(struct program *p, size_t batch)
{
    for (int i = 0; i < p->n_buffers; i++)
        p->item[i] = (struct memory_item){ .n_bytes = p->buffer[i].image_bytes * batch + p->buffer[i].fixed_bytes,
                                           .birth = p->n_steps };
    for (int i = 0; i < p->n_steps; i++)
        for (int k = 0; k < N_OPERANDS; k++) {
            const int buffer = p->step[i].v[k].buffer;
            if (buffer < 0)
                continue;
            if (p->item[buffer].birth > i)
                p->item[buffer].birth = i;
            p->item[buffer].death = i; /* the last one stays */
        }
    return memory_plan(&p->sums, p->item, (size_t)p->n_buffers);
}

void program_close(struct program *p)
{
    free(p->step);
    free(p->buffer);
    free(p->item);
    *p = (struct program){ 0 };
}
