/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - the forward half of a program, and the lifetimes of its buffers. */
#include "models/engine/program.h"

#include <assert.h>
#include <stdlib.h>

enum { MAX_NODE_OPS = 8, MAX_NODE_BUFFERS = 8 + 2 }; /* two more when packed */
enum { STAGE_OPS = 4, STAGE_BUFFERS = 2 };           /* beside those: taken and passed on; gradients of what is */

static const struct view no_view = { .buffer = VIEW_NONE };

struct op *program_add_op(struct program_builder *b, enum op_kind kind, enum network_phase phase, int node)
{
    struct op *op = &b->p->op[b->p->n_ops++];

    *op = (struct op){ .kind = kind, .phase = phase, .node = node };
    for (int i = 0; i < N_OPERANDS; i++)
        op->v[i] = no_view;
    return op;
}

struct view program_add_buffer(struct program_builder *b, size_t image_bytes, size_t fixed_bytes)
{
    const int i = b->p->n_buffers++;

    b->p->buffer[i] = (struct buffer){ .image_bytes = image_bytes, .fixed_bytes = fixed_bytes };
    return (struct view){ .buffer = i };
}

int program_resolve(const struct program_builder *b, int node)
{
    while (node >= 0 && b->state[node].alias != node)
        node = b->state[node].alias;
    return node;
}

const struct node_state *program_state_const(const struct program_builder *b, int node)
{
    return node == NODE_IMAGE ? &b->input : &b->state[node];
}

struct node_state *program_state(struct program_builder *b, int node)
{
    return node == NODE_IMAGE ? &b->input : &b->state[node];
}

/* Images have no gradient; what another stage computes has. */
bool program_wants_grad(const struct program_builder *b, int node)
{
    return node >= NODE_IMAGE && program_state_const(b, node)->wants_grad;
}

static size_t value_bytes(const struct program_builder *b, int node)
{
    return node_out_elems(&b->n->node[node]) * sizeof(float);
}

struct view program_value(struct program_builder *b, int node)
{
    const int i = program_resolve(b, node);

    if (i == NODE_IMAGE)
        return (struct view){ .buffer = VIEW_IMAGE };
    struct node_state *p = program_state(b, i);
    if (p->value.buffer == VIEW_NONE && p->owner != NODE_NONE) { /* models.Y3, X3 */
        p->value = program_value(b, p->owner);
        p->value.offset_bytes += p->offset_bytes;
    } else if (p->value.buffer == VIEW_NONE) {
        p->value = program_add_buffer(b, value_bytes(b, i), 0);
    }
    return p->value;
}

/* Does the node leave its input unchanged? */
static bool is_identity(const struct node *n)
{
    return n->kind == NODE_ADAPTIVE_POOL && n->out_h == n->in.H && n->out_w == n->in.W;
}

/* How many inputs of nodes are the output of this node. */
static int count_consumers(const struct network *n, int node)
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

/* Does node i work in place, or change nothing? A pool of one element before a dropout makes a copy where it reads a
 * concatenation: there the dropout would change the outputs of the parts. */
static bool is_alias(const struct program_builder *b, int i)
{
    const struct node *n = &b->n->node[i];
    const int from = program_resolve(b, n->from);
    bool has_dropout = false;

    for (int k = i + 1; k < b->n->n_nodes; k++)
        has_dropout |= b->n->node[k].kind == NODE_DROPOUT && b->n->node[k].from == i;
    return n->kind == NODE_DROPOUT ||
           (is_identity(n) && !(has_dropout && from >= 0 && b->n->node[from].kind == NODE_CONCAT));
}

/* models.X3: the outputs of the parts are consecutive slices of the output of concat. */
static void set_owner_of_parts(struct program_builder *b, int concat)
{
    const struct node *n = &b->n->node[concat];
    size_t offset_bytes = 0;

    for (int k = 0; k < n->n_parts; k++) {
        b->state[n->part[k]].owner = concat;
        b->state[n->part[k]].offset_bytes = offset_bytes;
        offset_bytes += value_bytes(b, n->part[k]);
    }
}

/* Dropout works in place, so no other node may read its input. */
static enum rc check_dropout(const struct program_builder *b, const struct node *n)
{
    bool is_alone = n->from >= 0;

    for (int i = n->from; is_alone; i = b->state[i].alias) {
        is_alone = i >= 0 && count_consumers(b->n, i) == 1 && b->n->node[i].kind != NODE_CONCAT;
        if (!is_alone || b->state[i].alias == i)
            break;
    }
    if (!is_alone)
        return rc_raise(RC_UNSUPPORTED, "network %s: dropout %s must be the only one that works on its input",
                        b->n->name, n->name);
    return RC_OK;
}

/* A part of a concatenation must have an output of its own, which becomes a slice of the concatenation's. */
static enum rc check_parts(const struct program_builder *b, const struct node *n)
{
    for (int k = 0; k < n->n_parts; k++) {
        const int part = n->part[k];
        if (part < 0 || b->state[part].alias != part || b->state[part].owner != NODE_NONE)
            return rc_raise(RC_UNSUPPORTED, "network %s: part %d of %s must be the output of a node, used in no other",
                            b->n->name, k, n->name);
    }
    return RC_OK;
}

static struct node_state empty_state(int node)
{
    return (struct node_state){ .owner = NODE_NONE,
                                .alias = node,
                                .value = no_view,
                                .conv_out = no_view,
                                .mean = no_view,
                                .inv_std = no_view,
                                .argmax = no_view,
                                .grad = no_view };
}

/* Set owner, alias, offset_bytes and wants_grad of all nodes; count the losses. */
static enum rc init_states(struct program_builder *b)
{
    enum rc rc = RC_OK;

    b->input = empty_state(NODE_IMAGE);
    b->input.wants_grad = b->n->in_elems > 0;
    for (int i = 0; i < b->n->n_nodes; i++) {
        const struct node *n = &b->n->node[i];
        struct node_state *p = &b->state[i];
        *p = empty_state(i);
        p->wants_grad = n->kind == NODE_CONV;
        if (n->kind == NODE_DROPOUT)
            TRY(check_dropout(b, n));
        if (n->kind == NODE_CONCAT) {
            TRY(check_parts(b, n));
            set_owner_of_parts(b, i);
        }
        if (is_alias(b, i))
            p->alias = n->from;
        for (int k = 0; n->kind == NODE_CONCAT && k < n->n_parts; k++)
            p->wants_grad |= b->state[n->part[k]].wants_grad;
        if (n->kind != NODE_CONCAT)
            p->wants_grad |= program_wants_grad(b, n->from);
        b->p->n_losses += n->kind == NODE_LOSS;
    }
out:
    return rc;
}

static void set_needed(struct program_builder *b, int node)
{
    if (node >= 0)
        b->state[node].is_needed = true;
}

/* Set is_needed, from the losses backwards. Inference ends at the first loss: nodes that only other losses need are
 * left out. */
static void find_needed(struct program_builder *b)
{
    bool has_loss = false;

    for (int i = 0; i < b->n->n_nodes; i++)
        if (b->n->node[i].kind == NODE_LOSS && (b->training || !has_loss))
            has_loss = b->state[i].is_needed = true;
    set_needed(b, b->n->out_node);
    for (int i = b->n->n_nodes - 1; i >= 0; i--) {
        const struct node *n = &b->n->node[i];
        if (!b->state[i].is_needed)
            continue;
        for (int k = 0; n->kind == NODE_CONCAT && k < n->n_parts; k++)
            set_needed(b, n->part[k]);
        if (n->kind != NODE_CONCAT)
            set_needed(b, n->from);
        if (n->kind == NODE_CONV)
            set_needed(b, n->add_from);
    }
}

/* A buffer of float[C], of the same size for any batch. */
static struct view add_channels(struct program_builder *b, int C)
{
    return program_add_buffer(b, 0, (size_t)C * sizeof(float));
}

static struct view value_to_add(struct program_builder *b, const struct node *n)
{
    return n->add_from != NODE_NONE ? program_value(b, n->add_from) : no_view;
}

/* Convolution with its bias, sum and relu in the epilogue; or convolution, then batch norm with sum and relu. */
static void add_conv_training(struct program_builder *b, int i)
{
    const struct node *n = &b->n->node[i];
    struct node_state *p = &b->state[i];
    const bool norm = n->norm == NORM_BATCH;
    const struct view from = program_value(b, n->from), plus = value_to_add(b, n);
    struct op *op;

    if (norm)
        p->conv_out = program_add_buffer(b, value_bytes(b, i), 0);
    op = program_add_op(b, OP_CONV, PHASE_FORWARD, i);
    op->v[OPERAND_OUT] = norm ? p->conv_out : program_value(b, i);
    op->v[OPERAND_IN] = from;
    if (!norm) {
        op->v[OPERAND_ADD] = plus;
        return;
    }
    p->mean = add_channels(b, n->C_out);
    p->inv_std = add_channels(b, n->C_out);
    op = program_add_op(b, OP_NORM, PHASE_FORWARD, i);
    op->v[OPERAND_OUT] = program_value(b, i);
    op->v[OPERAND_IN] = p->conv_out;
    op->v[OPERAND_ADD] = plus;
    op->v[OPERAND_MEAN] = p->mean;
    op->v[OPERAND_INV_STD] = p->inv_std;
}

/* Convolution; a batch norm is folded into scale and shift of its epilogue. */
static void add_conv_inference(struct program_builder *b, int i)
{
    const struct node *n = &b->n->node[i];
    struct view scale = no_view, shift = no_view;
    struct op *op;

    if (n->norm == NORM_BATCH) {
        scale = add_channels(b, n->C_out);
        shift = add_channels(b, n->C_out);
        op = program_add_op(b, OP_FOLD, PHASE_FORWARD, i);
        op->v[OPERAND_SCALE] = scale;
        op->v[OPERAND_SHIFT] = shift;
    }
    op = program_add_op(b, OP_CONV, PHASE_FORWARD, i);
    op->v[OPERAND_OUT] = program_value(b, i);
    op->v[OPERAND_IN] = program_value(b, n->from);
    op->v[OPERAND_ADD] = value_to_add(b, n);
    op->v[OPERAND_SCALE] = scale;
    op->v[OPERAND_SHIFT] = shift;
}

static void add_pool(struct program_builder *b, int i, enum op_kind kind)
{
    const struct node *n = &b->n->node[i];
    struct op *op = program_add_op(b, kind, PHASE_FORWARD, i);

    op->v[OPERAND_OUT] = program_value(b, i);
    op->v[OPERAND_IN] = program_value(b, n->from);
    if (kind == OP_MAX_POOL) /* a byte for each element of the output */
        op->v[OPERAND_ARGMAX] = b->state[i].argmax = program_add_buffer(b, node_out_elems(n), 0);
}

/* What the ranks of a group have, then in the order that dense layers read. */
static void add_gather_images(struct program_builder *b, int i)
{
    const struct view blocks = program_add_buffer(b, value_bytes(b, i), 0);
    struct op *op = program_add_op(b, OP_GATHER_IMAGES, PHASE_FORWARD, i);

    op->v[OPERAND_OUT] = blocks;
    op->v[OPERAND_IN] = program_value(b, b->n->node[i].from);
    op = program_add_op(b, OP_JOIN_IMAGES, PHASE_FORWARD, i);
    op->v[OPERAND_OUT] = program_value(b, i);
    op->v[OPERAND_IN] = blocks;
}

static void add_gather_channels(struct program_builder *b, int i)
{
    struct op *op = program_add_op(b, OP_GATHER_CHANNELS, PHASE_FORWARD, i);

    op->v[OPERAND_OUT] = program_value(b, i);
    op->v[OPERAND_IN] = program_value(b, b->n->node[i].from);
}

/* This rank's images among those of all, which are put in order before them. */
static void add_own_images(struct program_builder *b, int i)
{
    const int from = b->n->node[i].from;
    struct view own = program_add_buffer(b, value_bytes(b, from), 0);
    struct op *op = program_add_op(b, OP_PART_IMAGES, PHASE_FORWARD, from);

    op->v[OPERAND_OUT] = own;
    op->v[OPERAND_IN] = program_value(b, from);
    own.offset_bytes += (size_t)b->n->shard * value_bytes(b, i);
    b->state[i].value = own;
}

void program_add_dropout(struct program_builder *b, enum network_phase phase, int node, struct view x)
{
    struct op *op = program_add_op(b, OP_DROPOUT, phase, node);

    op->v[OPERAND_OUT] = x;
    if (b->n->node[node].group > 1)
        op->v[OPERAND_IN] = program_add_buffer(b, value_bytes(b, node), 0);
}

/* Transpose the logits to (B, K), compute loss number `which` and, in training, its gradient. */
static void add_loss(struct program_builder *b, int i, int which)
{
    const struct node *n = &b->n->node[i];
    const size_t n_bytes = (size_t)n->in.C * (size_t)n->group * sizeof(float);
    const struct view rows = program_add_buffer(b, n_bytes, 0);
    struct op *op = program_add_op(b, OP_TO_ROWS, PHASE_FORWARD, i);

    op->v[OPERAND_OUT] = rows;
    op->v[OPERAND_IN] = program_value(b, n->from);
    op = program_add_op(b, OP_LOSS, PHASE_FORWARD, i);
    op->v[OPERAND_IN] = rows;
    op->loss = which;
    op->loss_weight = n->loss_weight;
    if (b->training)
        op->v[OPERAND_OUT] = b->dlogits[which] = program_add_buffer(b, n_bytes, 0);
}

/* The forward ops of all needed nodes, in order, between what a stage takes and passes on. */
static void add_forward(struct program_builder *b)
{
    int n_losses = 0;

    if (b->n->in_elems > 0)
        program_add_op(b, OP_TAKE_VALUE, PHASE_FORWARD, 0);

    for (int i = 0; i < b->n->n_nodes; i++) {
        const struct node *n = &b->n->node[i];
        if (!b->state[i].is_needed)
            continue;
        if (n->kind == NODE_CONV && b->training)
            add_conv_training(b, i);
        else if (n->kind == NODE_CONV)
            add_conv_inference(b, i);
        else if (n->kind == NODE_MAX_POOL)
            add_pool(b, i, OP_MAX_POOL);
        else if (n->kind == NODE_AVG_POOL)
            add_pool(b, i, OP_AVG_POOL);
        else if (n->kind == NODE_ADAPTIVE_POOL && b->state[i].alias == i)
            add_pool(b, i, OP_ADAPTIVE_POOL);
        else if (n->kind == NODE_DROPOUT && b->training)
            program_add_dropout(b, PHASE_FORWARD, i, program_value(b, i));
        else if (n->kind == NODE_GATHER_IMAGES)
            add_gather_images(b, i);
        else if (n->kind == NODE_GATHER_CHANNELS)
            add_gather_channels(b, i);
        else if (n->kind == NODE_OWN_IMAGES)
            add_own_images(b, i);
        else if (n->kind == NODE_LOSS)
            add_loss(b, i, n_losses++);
    }
    if (b->n->out_node != NODE_NONE)
        program_add_op(b, OP_PASS_VALUE, PHASE_FORWARD, b->n->n_nodes - 1)->v[OPERAND_IN] =
            program_value(b, b->n->out_node);
}

enum rc program_open(struct program *out, const struct network *n, bool training)
{
    const size_t n_nodes = (size_t)n->n_nodes;
    const size_t most_ops = n_nodes * MAX_NODE_OPS + (size_t)n->n_segments + STAGE_OPS;
    const size_t most_buffers = n_nodes * MAX_NODE_BUFFERS + STAGE_BUFFERS;
    struct program p = { 0 };
    struct program_builder b = { .n = n, .p = &p, .training = training };
    enum rc rc = RC_OK;

    p.op = calloc(most_ops, sizeof *p.op);
    p.buffer = calloc(most_buffers, sizeof *p.buffer);
    p.item = calloc(most_buffers, sizeof *p.item);
    b.state = calloc(n_nodes, sizeof *b.state);
    b.dlogits = calloc(n_nodes, sizeof *b.dlogits);
    if (p.op == NULL || p.buffer == NULL || p.item == NULL || b.state == NULL || b.dlogits == NULL)
        FAIL(RC_NOMEM, "network %s: no memory for its program", n->name);
    TRY(init_states(&b));
    find_needed(&b);
    add_forward(&b);
    p.n_forward = p.n_ops;
    if (training)
        TRY(program_add_backward(&b));
    assert((size_t)p.n_ops <= most_ops && (size_t)p.n_buffers <= most_buffers);
    *out = p;
    p = (struct program){ 0 };
out:
    free(b.state);
    free(b.dlogits);
    program_close(&p);
    return rc;
}

static size_t buffer_bytes(const struct buffer *b, size_t batch)
{
    return b->image_bytes * batch + b->fixed_bytes + b->rows * packed_row_elems(b->n * batch) * sizeof(uint16_t);
}

enum rc program_plan(struct program *p, size_t batch)
{
    for (int i = 0; i < p->n_buffers; i++)
        p->item[i] = (struct memory_item){ .n_bytes = buffer_bytes(&p->buffer[i], batch), .first_op = p->n_ops };
    for (int i = 0; i < p->n_ops; i++)
        for (int k = 0; k < N_OPERANDS; k++) {
            const int buffer = p->op[i].v[k].buffer;
            if (buffer < 0)
                continue;
            if (p->item[buffer].first_op > i)
                p->item[buffer].first_op = i;
            p->item[buffer].last_op = i; /* the last one stays */
        }
    for (int i = 0; i < p->n_buffers; i++)
        if (p->item[i].first_op == p->n_ops) /* no op names it: models.X4 */
            p->item[i] = (struct memory_item){ 0 };
    return memory_plan(&p->sums, p->item, (size_t)p->n_buffers);
}

void program_close(struct program *p)
{
    free(p->op);
    free(p->buffer);
    free(p->item);
    *p = (struct program){ 0 };
}
