/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - each op of a program as one call of the compute. */
#include "models/engine/run.h"

#include <assert.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/compute/dropout.h"
#include "models/engine/stage.h"
#include "models/layer.h"

/* An operand's array in memory of the compute; NULL: absent, or no memory is touched. */
static inline void *array_of(const struct run *r, struct view v)
{
    if (v.buffer < 0 || r->memory == NULL)
        return NULL;
    return r->memory + r->program->item[v.buffer].offset_bytes + v.offset_bytes * r->B;
}

static inline float *output_of(const struct run *r, const struct op *op, enum operand which)
{
    return array_of(r, op->v[which]);
}

static inline const float *input_of(const struct run *r, const struct op *op, enum operand which)
{
    return op->v[which].buffer == VIEW_IMAGE ? r->x : array_of(r, op->v[which]);
}

/* --- ops that exist only in a shard (network_shard.h) --- */

/* x(C,K,B) has this shard's channels and the images of all ranks. The elements of each rank's images have the masks
 * that they have in the whole network (models.D4). number: the node's number there. */
static void run_group_dropout(const struct run *r, const struct op *op, const struct node *n, uint64_t number)
{
    const size_t C = (size_t)n->C_out, K = (size_t)n->group, inner = node_out_elems(n) / C / K * r->B;
    const uint64_t first = (uint64_t)n->first_out * inner;
    float *x = output_of(r, op, OPERAND_OUT), *room = array_of(r, op->v[OPERAND_IN]);

    compute_swap_axes(r->compute, room, x, C, K, inner);
    for (size_t k = 0; k < K; k++)
        compute_dropout(r->compute, layer_at(room, k * C * inner), C * inner, 1.0f - n->drop_ratio,
                        dropout_key_from(rng_u64(r->group_key[k], RNG_DROPOUT, number), first));
    compute_swap_axes(r->compute, x, room, K, C, inner);
}

/* OP_JOIN_IMAGES, OP_PART_IMAGES, OP_ZERO_OTHERS */
static void run_group_join_images(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t K = (size_t)n->group, C = (size_t)n->C_out;

    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), K, C,
                      r->B * node_out_elems(n) / K / C);
}

static void run_group_part_images(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t K = (size_t)n->group, C = (size_t)n->C_out;

    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), C, K,
                      r->B * node_out_elems(n) / K / C);
}

static void run_group_zero_others(const struct run *r, const struct op *op, const struct node *n)
{
    const size_t n_elems = r->B * node_out_elems(n) / (size_t)n->group;

    for (int k = 0; k < n->group; k++)
        if (k != r->shard->number)
            compute_zero(r->compute, layer_at(output_of(r, op, OPERAND_OUT), (size_t)k * n_elems), n_elems);
}

/* OP_GATHER_IMAGES to OP_SCATTER_CHANNELS. Errors: the group's. */
static enum rc run_group_exchange(const struct run *r, const struct op *op, const struct node *n)
{
    const struct shard_group *g = &r->shard->group;
    size_t n_elems[NETWORK_MAX_SHARDS];
    enum rc rc;

    network_shard_pieces(n_elems, r->network, n, r->B);
    TRY(compute_sync(r->compute));
    if (op->kind == OP_GATHER_IMAGES || op->kind == OP_GATHER_CHANNELS)
        TRY(g->gather(g->arg, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), n_elems));
    else
        TRY(g->scatter(g->arg, output_of(r, op, OPERAND_OUT), array_of(r, op->v[OPERAND_IN]), n_elems));
out:
    return rc;
}

/* --- all ops --- */

#define RUNNING_MOMENTUM 0.1f /* as in the papers' reference implementations: 0.9 of the old */

typedef void op_fn(const struct run *r, const struct op *op, const struct node *n);

static uint16_t *packed_of(const struct run *r, struct view v)
{
    if (v.buffer < 0 || r->memory == NULL)
        return NULL;
    const size_t row_elems = packed_row_elems(r->program->buffer[v.buffer].n * r->B);
    return (uint16_t *)(void *)(r->memory + r->program->item[v.buffer].offset_bytes) + v.row * row_elems;
}

static uint16_t *packed_weight_of(const struct run *r, const struct node *n)
{
    return r->packed != NULL ? r->packed + n->packed_offset_elems : NULL;
}

static struct window window_of(const struct run *r, const struct node *n)
{
    struct window g = n->in;

    g.B = (int)r->B * n->group;
    return g;
}

static struct conv_shape conv_of(const struct run *r, const struct node *n)
{
    return (struct conv_shape){ .in = window_of(r, n), .C_out = n->C_out };
}

/* B out_h out_w, of all images of the node */
static size_t elems_per_channel(const struct run *r, const struct node *n)
{
    return r->B * (size_t)n->group * (size_t)n->out_h * (size_t)n->out_w;
}

static struct batch_norm norm_of(const struct run *r, const struct node *n)
{
    return (struct batch_norm){ .C = (size_t)n->C_out,
                                .n = elems_per_channel(r, n),
                                .epsilon = n->epsilon,
                                .momentum = RUNNING_MOMENTUM,
                                .relu = n->relu };
}

static const float *param_of(const struct run *r, struct segment s)
{
    return layer_at_const(r->param, s.offset_elems);
}

/* The place in r->part of an element of the node's gradients: aligned as it is in r->grad, whose bits may depend on it.
 */
static size_t place_in_part(const struct node *n, struct segment s)
{
    const size_t first = n->weight.offset_elems; /* models.Y1 */

    return s.offset_elems - first + first % NETWORK_PART_ALIGN_ELEMS;
}

/* Where the op writes the gradient of s, of its node. */
static float *grad_of(const struct run *r, const struct node *n, struct segment s)
{
    return r->adds ? layer_at(r->part, place_in_part(n, s)) : layer_at(r->grad, s.offset_elems);
}

/* models.M8: the gradient of s, which its op has written, joins those of the micro-batches before. */
static void add_part(const struct run *r, const struct node *n, struct segment s)
{
    if (r->adds)
        compute_accumulate(r->compute, layer_at(r->grad, s.offset_elems), layer_at(r->part, place_in_part(n, s)),
                           s.n_elems);
}

/* y(C_out,B,out_h,out_w) = w(C_out,C,kernel_h,kernel_w) * x(C,B,H,W), then the epilogue. In training a batch norm is an
 * op of its own after this one, and does the addition and the relu. */
static void run_conv(const struct run *r, const struct op *op, const struct node *n)
{
    const bool folded = op->v[OPERAND_SCALE].buffer != VIEW_NONE, plain = n->norm == NORM_BATCH && !folded;
    struct conv_forward call = { .shape = conv_of(r, n),
                                 .y = output_of(r, op, OPERAND_OUT),
                                 .x = input_of(r, op, OPERAND_IN),
                                 .weight = param_of(r, n->weight),
                                 .y_packed = packed_of(r, op->v[OPERAND_OUT_PACKED]),
                                 .x_packed = packed_of(r, op->v[OPERAND_IN_PACKED]),
                                 .weight_packed = packed_weight_of(r, n),
                                 .weight_is_packed = r->adds }; /* by the first micro-batch */

    if (!plain)
        call.epilogue = (struct epilogue){ .scale = folded ? input_of(r, op, OPERAND_SCALE) : NULL,
                                           .shift = folded                 ? input_of(r, op, OPERAND_SHIFT)
                                                    : n->norm == NORM_BIAS ? param_of(r, n->shift)
                                                                           : NULL,
                                           .add = input_of(r, op, OPERAND_ADD),
                                           .relu = n->relu };
    compute_conv(r->compute, &call);
}

static void run_norm(const struct run *r, const struct op *op, const struct node *n)
{
    const struct batch_norm_forward call = { .shape = norm_of(r, n),
                                             .z = output_of(r, op, OPERAND_OUT),
                                             .z_packed = packed_of(r, op->v[OPERAND_OUT_PACKED]),
                                             .mean = output_of(r, op, OPERAND_MEAN),
                                             .inv_std = output_of(r, op, OPERAND_INV_STD),
                                             .running_mean = layer_at(r->state, n->running_offset_elems),
                                             .running_var =
                                                 layer_at(r->state, n->running_offset_elems + (size_t)n->C_out),
                                             .y = input_of(r, op, OPERAND_IN),
                                             .gamma = param_of(r, n->gamma),
                                             .beta = param_of(r, n->shift),
                                             .add = input_of(r, op, OPERAND_ADD) };

    compute_batch_norm(r->compute, &call);
}

static void run_fold(const struct run *r, const struct op *op, const struct node *n)
{
    const struct batch_norm_fold call = { .shape = norm_of(r, n),
                                          .scale = output_of(r, op, OPERAND_SCALE),
                                          .shift = output_of(r, op, OPERAND_SHIFT),
                                          .gamma = param_of(r, n->gamma),
                                          .beta = param_of(r, n->shift),
                                          .running_mean = layer_at(r->state, n->running_offset_elems),
                                          .running_var =
                                              layer_at(r->state, n->running_offset_elems + (size_t)n->C_out) };

    compute_batch_norm_fold(r->compute, &call);
}

/* OP_MAX_POOL, OP_AVG_POOL, OP_ADAPTIVE_POOL */
static void run_pool(const struct run *r, const struct op *op, const struct node *n)
{
    const struct pool_forward call = { .window = window_of(r, n),
                                       .out_h = n->out_h,
                                       .out_w = n->out_w,
                                       .y = output_of(r, op, OPERAND_OUT),
                                       .y_packed = packed_of(r, op->v[OPERAND_OUT_PACKED]),
                                       .argmax = array_of(r, op->v[OPERAND_ARGMAX]),
                                       .x = input_of(r, op, OPERAND_IN) };

    if (op->kind == OP_MAX_POOL)
        compute_max_pool(r->compute, &call);
    else if (op->kind == OP_AVG_POOL)
        compute_avg_pool(r->compute, &call);
    else
        compute_adaptive_pool(r->compute, &call);
}

/* The same mask for the activation and for its gradient. */
static void run_dropout(const struct run *r, const struct op *op, const struct node *n)
{
    const uint64_t number = (uint64_t)r->network->first_node + (uint64_t)op->node - (uint64_t)n->n_gathers_before;

    if (n->group > 1)
        run_group_dropout(r, op, n, number);
    else
        compute_dropout(r->compute, output_of(r, op, OPERAND_OUT), r->B * node_out_elems(n), 1.0f - n->drop_ratio,
                        rng_u64(r->dropout_key, RNG_DROPOUT, number));
}

static void run_to_rows(const struct run *r, const struct op *op, const struct node *n)
{
    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), (size_t)n->in.C,
                      r->B * (size_t)n->group, 1);
}

static void run_from_rows(const struct run *r, const struct op *op, const struct node *n)
{
    compute_swap_axes(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN), r->B * (size_t)n->group,
                      (size_t)n->in.C, 1);
}

/* The loss of each rank of a group is the mean over its own images, as without shards: the gradients of dense layers
 * are then sums over the group of what its ranks would have (models.D3). */
static void run_loss(const struct run *r, const struct op *op, const struct node *n)
{
    const int own = r->shard != NULL ? r->shard->number : 0;
    const size_t n_elems = r->B * (size_t)n->in.C;

    for (int k = 0; k < n->group; k++) {
        const struct softmax_xent call = {
            .B = r->B,
            .K = (size_t)n->in.C,
            .mean_loss = &r->loss[k == own ? op->loss : r->program->n_losses],
            .n_correct = op->loss == 0 && k == own ? r->n_correct : NULL,
            .dlogits = layer_at(output_of(r, op, OPERAND_OUT), (size_t)k * n_elems),
            .logits = layer_at_const(input_of(r, op, OPERAND_IN), (size_t)k * n_elems),
            .label = r->label != NULL ? r->label + (size_t)k * r->B : NULL,
            .weight = op->loss_weight * r->share,
        };
        compute_softmax_xent(r->compute, &call);
    }
}

static void run_relu_grad(const struct run *r, const struct op *op, const struct node *n)
{
    compute_relu_grad(r->compute, output_of(r, op, OPERAND_DY), input_of(r, op, OPERAND_Z), r->B * node_out_elems(n));
}

static void run_bias_grad(const struct run *r, const struct op *op, const struct node *n)
{
    const struct conv_bias_grad call = { .C = (size_t)n->C_out,
                                         .n = elems_per_channel(r, n),
                                         .dbias = grad_of(r, n, n->shift),
                                         .dy = output_of(r, op, OPERAND_DY),
                                         .dy_packed = packed_of(r, op->v[OPERAND_OUT_PACKED]),
                                         .relu = input_of(r, op, OPERAND_Z) };

    compute_conv_bias_grad(r->compute, &call);
}

static void run_norm_grad(const struct run *r, const struct op *op, const struct node *n)
{
    const struct batch_norm_grad call = { .shape = norm_of(r, n),
                                          .dy = output_of(r, op, OPERAND_OUT),
                                          .dy_packed = packed_of(r, op->v[OPERAND_OUT_PACKED]),
                                          .dgamma = grad_of(r, n, n->gamma),
                                          .dbeta = grad_of(r, n, n->shift),
                                          .dz = output_of(r, op, OPERAND_DY),
                                          .y = input_of(r, op, OPERAND_IN),
                                          .z = input_of(r, op, OPERAND_Z),
                                          .gamma = param_of(r, n->gamma),
                                          .beta = param_of(r, n->shift),
                                          .mean = input_of(r, op, OPERAND_MEAN),
                                          .inv_std = input_of(r, op, OPERAND_INV_STD) };

    compute_batch_norm_grad(r->compute, &call);
}

static void run_weight_grad(const struct run *r, const struct op *op, const struct node *n)
{
    const struct conv_weight_grad call = { .shape = conv_of(r, n),
                                           .dweight = grad_of(r, n, n->weight),
                                           .dy = input_of(r, op, OPERAND_DY),
                                           .x = input_of(r, op, OPERAND_IN),
                                           .dy_packed = packed_of(r, op->v[OPERAND_DY_PACKED]),
                                           .x_packed = packed_of(r, op->v[OPERAND_IN_PACKED]) };

    compute_conv_weight_grad(r->compute, &call);
}

static void run_input_grad(const struct run *r, const struct op *op, const struct node *n)
{
    const struct conv_input_grad call = { .shape = conv_of(r, n),
                                          .dx = output_of(r, op, OPERAND_OUT),
                                          .dy = input_of(r, op, OPERAND_DY),
                                          .weight = param_of(r, n->weight),
                                          .add = op->add,
                                          .dy_packed = packed_of(r, op->v[OPERAND_DY_PACKED]),
                                          .weight_packed = packed_weight_of(r, n) };

    compute_conv_input_grad(r->compute, &call);
}

/* OP_MAX_POOL_GRAD, OP_AVG_POOL_GRAD, OP_ADAPTIVE_POOL_GRAD */
static void run_pool_grad(const struct run *r, const struct op *op, const struct node *n)
{
    const struct pool_grad call = { .window = window_of(r, n),
                                    .out_h = n->out_h,
                                    .out_w = n->out_w,
                                    .dx = output_of(r, op, OPERAND_OUT),
                                    .dy = input_of(r, op, OPERAND_DY),
                                    .argmax = array_of(r, op->v[OPERAND_ARGMAX]),
                                    .add = op->add };

    if (op->kind == OP_MAX_POOL_GRAD)
        compute_max_pool_grad(r->compute, &call);
    else if (op->kind == OP_AVG_POOL_GRAD)
        compute_avg_pool_grad(r->compute, &call);
    else
        compute_adaptive_pool_grad(r->compute, &call);
}

static void run_accumulate(const struct run *r, const struct op *op, const struct node *n)
{
    compute_accumulate(r->compute, output_of(r, op, OPERAND_OUT), input_of(r, op, OPERAND_IN),
                       r->B * node_out_elems(n));
}

static op_fn *const op_fns[N_OP_KINDS] = {
    [OP_CONV] = run_conv,
    [OP_NORM] = run_norm,
    [OP_FOLD] = run_fold,
    [OP_MAX_POOL] = run_pool,
    [OP_AVG_POOL] = run_pool,
    [OP_ADAPTIVE_POOL] = run_pool,
    [OP_DROPOUT] = run_dropout,
    [OP_TO_ROWS] = run_to_rows,
    [OP_LOSS] = run_loss,
    [OP_FROM_ROWS] = run_from_rows,
    [OP_RELU_GRAD] = run_relu_grad,
    [OP_BIAS_GRAD] = run_bias_grad,
    [OP_NORM_GRAD] = run_norm_grad,
    [OP_WEIGHT_GRAD] = run_weight_grad,
    [OP_INPUT_GRAD] = run_input_grad,
    [OP_MAX_POOL_GRAD] = run_pool_grad,
    [OP_AVG_POOL_GRAD] = run_pool_grad,
    [OP_ADAPTIVE_POOL_GRAD] = run_pool_grad,
    [OP_ACCUMULATE] = run_accumulate,
    [OP_JOIN_IMAGES] = run_group_join_images,
    [OP_PART_IMAGES] = run_group_part_images,
    [OP_ZERO_OTHERS] = run_group_zero_others,
};

/* --- between stages (models.P3) --- */

static bool is_of_pipe(enum op_kind kind)
{
    return kind >= OP_TAKE_VALUE && kind <= OP_PASS_GRAD;
}

/* Of a tensor that is passed on, for one image. */
static size_t pipe_elems(const struct run *r, enum op_kind kind)
{
    const struct network *n = r->network;

    return kind == OP_PASS_GRAD ? n->in_elems : node_out_elems(&n->node[n->out_node]);
}

static enum rc run_pipe(const struct run *r, const struct op *op)
{
    const struct stage_pipe *p = r->pipe;
    enum rc rc = RC_OK;

    if (op->kind == OP_TAKE_VALUE || op->kind == OP_TAKE_GRAD)
        return p->take(p->arg, op->kind == OP_TAKE_VALUE ? WAY_VALUE : WAY_GRAD, r->micro_batch);
    TRY(compute_sync(r->compute));
    TRY(p->pass(p->arg, op->kind == OP_PASS_VALUE ? WAY_VALUE : WAY_GRAD, r->micro_batch, input_of(r, op, OPERAND_IN),
                pipe_elems(r, op->kind) * r->B));
out:
    return rc;
}

float *network_stage_grad(const struct run *r, size_t *n_elems)
{
    const struct op *op = r->program->op;

    while (op->kind != OP_TAKE_GRAD)
        op++;
    *n_elems = pipe_elems(r, op->kind) * r->B;
    return output_of(r, op, OPERAND_OUT);
}

static bool is_of_group(enum op_kind kind)
{
    return kind >= OP_GATHER_IMAGES && kind <= OP_SCATTER_CHANNELS;
}

/* All bits set: NaN in float. */
static void poison_dead(const struct run *r, int op)
{
    for (int i = 0; i < r->program->n_buffers; i++)
        if (r->program->item[i].last_op == op)
            memset(r->memory + r->program->item[i].offset_bytes, 0xff, r->program->item[i].n_bytes);
}

static bool same_node_and_phase(const struct op *a, const struct op *b)
{
    return a->node == b->node && a->phase == b->phase;
}

static void notify_observer(const struct run *r, const struct op *op, bool begin)
{
    r->observer->node(r->observer->arg, op->node, op->phase, begin);
}

/* models.M7, of what the op reads first. */
static enum rc await_params(const struct run *r, const struct op *op)
{
    const struct node *n = &r->network->node[op->node];
    enum rc rc = RC_OK;

    if (r->training == NULL || op->phase != PHASE_FORWARD || (op->kind != OP_CONV && op->kind != OP_NORM))
        return RC_OK;
    if (op->kind == OP_CONV)
        TRY(layer_await(r->training, n->weight));
    if (op->kind == OP_NORM)
        TRY(layer_await(r->training, n->gamma));
    if (op->kind == OP_NORM || n->norm == NORM_BIAS)
        TRY(layer_await(r->training, n->shift));
out:
    return rc;
}

/* --- final gradients are passed to run.ready() ---
 *
 * If the compute has events, ready() is called while later ops still run. Consecutive segments share an event. A
 * gradient bucket has at least a COMPUTE_EVENTS-th of the parameters. So the ops between two events are worth a graph
 * (cuda.h), and a training step never has more than COMPUTE_EVENTS buckets open. */

struct gradient_buckets { /* zeros: none */
    struct {
        int first_op, last_op;
    } bucket[COMPUTE_EVENTS]; /* ring */
    int n_closed, n_passed_on;
    int first_op;   /* of the open bucket */
    size_t n_elems; /* in it so far; 0: no open bucket */
};

/* ready() for all segments of the oldest bucket, as of its event. */
static enum rc pass_on_oldest(struct gradient_buckets *g, const struct run *r)
{
    const int k = g->n_passed_on++ % COMPUTE_EVENTS;
    enum rc rc = RC_OK;

    compute_wait_event(r->compute, k);
    for (int i = g->bucket[k].first_op; rc == RC_OK && i <= g->bucket[k].last_op; i++)
        if (r->program->op[i].kind == OP_READY)
            rc = layer_ready(r->ready, r->arg, r->program->op[i].segment, r->grad);
    compute_wait_event(r->compute, -1);
    return rc;
}

/* models.M2: the event of a bucket is recorded after all ops that write its segments. That is done before the wait for
 * an older event, so that the compute has work meanwhile. op: an OP_READY. Errors: those of ready. */
static enum rc gradient_buckets_add(struct gradient_buckets *g, const struct run *r, int op)
{
    const struct segment s = r->program->op[op].segment;
    enum rc rc = RC_OK;

    if (r->ready == NULL)
        return RC_OK;
    if (!compute_has_events(r->compute))
        return layer_ready(r->ready, r->arg, s, r->grad);
    if (g->n_elems == 0)
        g->first_op = op;
    g->n_elems += s.n_elems;
    if (g->n_elems < r->network->n_params / COMPUTE_EVENTS && s.offset_elems > 0)
        return RC_OK;
    g->bucket[g->n_closed % COMPUTE_EVENTS].first_op = g->first_op;
    g->bucket[g->n_closed % COMPUTE_EVENTS].last_op = op;
    g->n_elems = 0;
    compute_record_event(r->compute, g->n_closed++ % COMPUTE_EVENTS);
    if (g->n_closed - g->n_passed_on == COMPUTE_EVENTS)
        TRY(pass_on_oldest(g, r));
out:
    return rc;
}

/* Call after the last op: passes on the remaining buckets. */
static enum rc gradient_buckets_end(struct gradient_buckets *g, const struct run *r)
{
    enum rc rc = RC_OK;

    while (g->n_passed_on < g->n_closed)
        TRY(pass_on_oldest(g, r));
out:
    return rc;
}

enum rc network_run(const struct run *r)
{
    struct gradient_buckets buckets = { .n_closed = 0 };
    const struct program *p = r->program;
    const bool poison = r->poison && r->memory != NULL;
    const int end = r->end_op > 0 ? r->end_op : p->n_ops;
    enum rc rc = RC_OK;

    if (poison && r->first_op == 0 && r->pipe == NULL) /* else a gradient may still be sent from there */
        memset(r->memory, 0xff, p->sums.planned_bytes);
    for (int i = r->first_op; i < end; i++) {
        const struct op *op = &p->op[i];
        if (r->observer != NULL && (i == r->first_op || !same_node_and_phase(op - 1, op)))
            notify_observer(r, op, true);
        TRY(await_params(r, op));
        if (op->kind == OP_READY) {
            add_part(r, &r->network->node[op->node], op->segment);
            TRY(gradient_buckets_add(&buckets, r, i));
        } else if (is_of_pipe(op->kind)) {
            TRY(run_pipe(r, op));
        } else if (is_of_group(op->kind)) {
            TRY(run_group_exchange(r, op, &r->network->node[op->node]));
        } else {
            op_fns[op->kind](r, op, &r->network->node[op->node]);
        }
        if (r->observer != NULL && (i + 1 == end || !same_node_and_phase(op, op + 1)))
            notify_observer(r, op, false);
        if (poison && op->kind != OP_PASS_GRAD && op->kind != OP_PASS_VALUE) /* which are still being sent */
            poison_dead(r, i);
    }
    if (r->queued != NULL)
        r->queued(r->queued_arg);
    TRY(gradient_buckets_end(&buckets, r));
out:
    return rc;
}

size_t network_part_bytes(const struct network *n)
{
    size_t most = 0;

    for (int i = 0; i < n->n_nodes; i++) {
        const size_t n_elems = n->node[i].weight.n_elems + n->node[i].shift.n_elems + n->node[i].gamma.n_elems;
        most = n_elems > most ? n_elems : most;
    }
    return (most + NETWORK_PART_ALIGN_ELEMS) * sizeof(float);
}

size_t network_scratch_bytes(struct compute *c, const struct network *n, size_t batch, bool with_gradients)
{
    const struct run r = { .compute = c, .network = n, .B = batch };
    size_t most_bytes = 0;

    for (int i = 0; c->ops->scratch_bytes != NULL && i < n->n_nodes; i++) {
        if (n->node[i].kind != NODE_CONV)
            continue;
        const struct conv_shape s = conv_of(&r, &n->node[i]);
        const size_t n_bytes = c->ops->scratch_bytes(c, &s, with_gradients);
        most_bytes = n_bytes > most_bytes ? n_bytes : most_bytes;
    }
    return most_bytes + c->ops->allowance_bytes;
}
