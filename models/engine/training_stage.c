/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_stage.c - the gradient of one stage of a network (stage.h): forward and backward of its micro-batches by the
 * schedule, each in a block of memory of its own while it is held, or all in one (models.P4).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "models/engine/device_pipe.h"
#include "models/engine/stage.h"
#include "models/engine/trainer.h"

static const struct pipeline_stage *stage_of(const struct network_trainer *t)
{
    return t->base.env.stage;
}

static bool is_first(const struct network *n)
{
    return n->in_elems == 0;
}

static bool is_last(const struct network *n)
{
    return n->out_node == NODE_NONE;
}

/* --- memory --- */

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + MEMORY_ALIGN_BYTES - 1) / MEMORY_ALIGN_BYTES * MEMORY_ALIGN_BYTES;
}

/* Of what a stage reads; of what it computes. */
static size_t input_bytes(const struct network *n, size_t B)
{
    return aligned(is_first(n) ? network_images_bytes(n, B) : n->in_elems * B * sizeof(float));
}

static size_t output_bytes(const struct network *n, size_t B)
{
    return is_last(n) ? 0 : aligned(node_out_elems(&n->node[n->out_node]) * B * sizeof(float));
}

static size_t label_bytes(const struct network *n, size_t B)
{
    return is_last(n) ? aligned(B * sizeof(uint32_t)) : 0;
}

/* Does it compute anything again? */
static bool recomputes(const struct network_step *step)
{
    return step->recomputes && step->n_held > 1;
}

/* Of the activations of one micro-batch. */
static size_t block_bytes(const struct network_trainer *t)
{
    const size_t train = t->train.sums.planned_bytes, infer = t->infer.sums.planned_bytes;

    return aligned(train > infer ? train : infer);
}

size_t network_stage_bytes(const struct network *n, const struct network_memory *m, const struct network_step *step)
{
    const size_t n_blocks = recomputes(step) ? 1 : step->n_held, B = step->n_samples;

    return n_blocks * aligned(m->planned_bytes) + step->n_held * (input_bytes(n, B) + label_bytes(n, B)) +
           (recomputes(step) ? output_bytes(n, B) + aligned(n->n_state * sizeof(float)) : 0);
}

/* t->memory: the blocks, their inputs, their labels, what is spare. */
static void place_blocks(struct network_trainer *t)
{
    const size_t B = t->base.env.max_batch, n_blocks = t->recomputes ? 1 : t->n_held;
    char *inputs = (char *)t->memory + n_blocks * block_bytes(t);
    char *labels = inputs + t->n_held * input_bytes(t->network, B);
    char *spare = labels + t->n_held * label_bytes(t->network, B);

    for (size_t i = 0; i < t->n_held; i++) {
        t->block[i].memory = (char *)t->memory + (i % n_blocks) * block_bytes(t);
        t->block[i].x = (float *)(void *)(inputs + i * input_bytes(t->network, B));
        if (is_last(t->network))
            t->block[i].label = (uint32_t *)(void *)(labels + i * label_bytes(t->network, B));
    }
    if (t->recomputes) {
        t->spare.grad = is_last(t->network) ? NULL : (float *)(void *)spare;
        t->spare.state = t->network->n_state > 0 ? spare + output_bytes(t->network, B) : NULL;
        if (t->spare.state != NULL)
            compute_zero(t->base.env.compute, t->spare.state, t->network->n_state);
    }
}

enum { MOST_AHEAD = DEVICE_PIPE_LEAST }; /* of an evaluation */

enum rc network_stage_open(struct network_trainer *t)
{
    struct compute *c = t->base.env.compute;
    enum rc rc = RC_OK;

    t->block = calloc(t->n_held, sizeof *t->block);
    t->read_label = calloc(t->base.env.max_batch, sizeof *t->read_label);
    if (t->block == NULL || t->read_label == NULL)
        FAIL(RC_NOMEM, "model %s: no memory for a stage", t->network->name);
    if (t->memory == NULL)
        goto out;
    place_blocks(t);
    TRY(compute_memory_open(c, &t->signal, (MOST_AHEAD + 1) * sizeof(float), "what stages tell each other"));
    TRY(compute_sync(c));
out:
    return rc;
}

void network_stage_close(struct network_trainer *t)
{
    compute_memory_close(t->base.env.compute, &t->signal);
    free(t->read_label);
    free(t->block);
    t->block = NULL;
}

static struct stage_block *block_of(struct network_trainer *t, size_t micro_batch)
{
    return &t->block[micro_batch % t->n_held];
}

/* --- what goes to and comes from other stages --- */

struct gradient { /* of a stage, under way */
    struct network_trainer *trainer;
    struct run *run;
    size_t n_parts;
    uint64_t first;
    double loss;          /* of the micro-batches so far, added up */
    grad_ready_fn *ready; /* of the last backward */
    size_t n_held;        /* micro-batches, now */
};

static enum rc expect_value(void *arg, size_t micro_batch)
{
    const struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    const struct stage_pipe *p = g->run->pipe;

    return p->expect(p->arg, WAY_VALUE, micro_batch, block_of(t, micro_batch)->x, t->network->in_elems * g->run->B);
}

/* Behind its forward: begin to receive its gradient, where nothing else is written. */
static enum rc expect_grad(struct network_trainer *t, const struct run *r)
{
    size_t n_elems;
    float *to;

    if (is_last(t->network))
        return RC_OK;
    to = network_stage_grad(r, &n_elems);
    return r->pipe->expect(r->pipe->arg, WAY_GRAD, r->micro_batch, t->recomputes ? t->spare.grad : to, n_elems);
}

/* models.P3: what was passed on of the micro-batch in this block may be written over. */
static enum rc await_sent(const struct stage_pipe *p, struct stage_block *b, enum stage_way way)
{
    enum rc rc = RC_OK;

    if (b->sends[way])
        TRY(p->passed(p->arg, way, b->micro_batch));
    b->sends[way] = false;
out:
    return rc;
}

/* Of all blocks that share the memory of b. */
static enum rc await_memory(struct network_trainer *t, const struct stage_pipe *p, struct stage_block *b)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < t->n_held; i++)
        for (int way = 0; way < N_STAGE_WAYS; way++)
            if (t->recomputes || &t->block[i] == b)
                TRY(await_sent(p, &t->block[i], (enum stage_way)way));
out:
    return rc;
}

/* --- a micro-batch --- */

enum rc network_read_labels(const struct network_trainer *t, uint32_t *label, uint64_t first, size_t B)
{
    const struct training_env *env = &t->base.env;
    const struct dataset *d = env->dataset;
    enum rc rc = RC_OK;

    for (size_t k = 0; k < B; k++) {
        const size_t i = dataset_part_index(d, env->part, env->seed, first + k);
        label[k] = d->ops->label(d, i);
        if (label[k] >= d->n_classes)
            FAIL(RC_INVAL, "data set %s: image %zu has label %u; there are %zu classes", d->name, i, label[k],
                 d->n_classes);
    }
out:
    return rc;
}

/* Images and labels of a micro-batch, as far as this stage needs any. */
static enum rc load(struct network_trainer *t, struct run *r, struct stage_block *b, uint64_t first)
{
    struct compute *c = t->base.env.compute;
    const uint32_t *label = t->read_label;
    enum rc rc = RC_OK;

    if (!c->ops->touches_memory)
        return RC_OK;
    if (is_first(t->network)) {
        TRY(loader_batch(t->loader, first, r->B, &r->x, &label));
        compute_put(c, b->x, r->x, network_images_bytes(t->network, r->B)); /* until its backward */
    } else if (is_last(t->network) && r->shard == NULL) {
        TRY(network_read_labels(t, t->read_label, first, r->B));
    }
    if (is_last(t->network) && r->shard == NULL)
        compute_put(c, b->label, label, r->B * sizeof *label);
out:
    return rc;
}

static enum rc run_ops(struct run *r, const struct stage_block *b, int first_op, int end_op)
{
    enum rc rc;

    r->memory = b->memory;
    r->x = b->x;
    if (r->shard == NULL) /* it has those of its group */
        r->label = b->label;
    r->first_op = first_op;
    r->end_op = end_op;
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
out:
    return rc;
}

/* What of a run follows from the micro-batch. */
static enum rc choose(const struct gradient *g, size_t micro_batch)
{
    const uint64_t first = g->first + micro_batch * g->run->B;
    struct run *r = g->run;
    enum rc rc = RC_OK;

    r->micro_batch = micro_batch;
    r->dropout_key = network_dropout_key(&g->trainer->base, first);
    r->training = NULL;
    r->ready = NULL;
    r->adds = micro_batch > 0;
    if (r->shard != NULL)
        TRY(network_group_load(g->trainer, r, first, g->n_parts * r->B));
out:
    return rc;
}

static enum rc run_forward(void *arg, size_t micro_batch)
{
    struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    struct stage_block *b = block_of(t, micro_batch);
    struct run *r = g->run;
    enum rc rc;

    TRY(choose(g, micro_batch));
    r->training = micro_batch == 0 && t->base.await != NULL ? &t->base : NULL;
    g->n_held++;
    t->most_held = g->n_held > t->most_held ? g->n_held : t->most_held;
    TRY(await_memory(t, r->pipe, b));
    b->micro_batch = micro_batch;
    TRY(load(t, r, b, g->first + micro_batch * r->B));
    TRY(run_ops(r, b, 0, t->train.n_forward));
    b->sends[WAY_VALUE] = !is_last(t->network);
    if (is_last(t->network))
        g->loss += network_weighted_loss(t);
    /* With one place for gradients, the one of the next micro-batch to go backward is expected: run_backward(). */
    if (!t->recomputes || micro_batch == 0)
        TRY(expect_grad(t, r));
out:
    return rc;
}

/* models.P4: its activations once more, of what was taken, and passing on nothing. */
static enum rc run_again(struct network_trainer *t, struct run *r, struct stage_block *b)
{
    const int first = is_first(t->network) ? 0 : 1;                     /* OP_TAKE_VALUE */
    const int end = t->train.n_forward - (is_last(t->network) ? 0 : 1); /* OP_PASS_VALUE */
    float *const state = r->state;
    size_t n_elems;
    enum rc rc;

    r->state = t->spare.state;
    TRY(run_ops(r, b, first, end));
    r->state = state;
    if (is_last(t->network))
        return RC_OK;
    float *grad = network_stage_grad(r, &n_elems);
    TRY(r->pipe->take(r->pipe->arg, WAY_GRAD, r->micro_batch));
    if (grad != NULL)
        compute_swap_axes(r->compute, grad, t->spare.grad, 1, 1, n_elems); /* a copy */
out:
    r->state = state;
    return rc;
}

static enum rc run_backward(void *arg, size_t micro_batch)
{
    struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    struct stage_block *b = block_of(t, micro_batch);
    const bool has_taken = t->recomputes && !is_last(t->network);
    struct run *r = g->run;
    enum rc rc;

    TRY(choose(g, micro_batch));
    if (t->recomputes) {
        struct run next = *r;
        TRY(await_memory(t, r->pipe, b));
        TRY(run_again(t, r, b));
        next.micro_batch++;
        if (next.micro_batch < g->n_parts)
            TRY(expect_grad(t, &next));
    } else {
        TRY(await_sent(r->pipe, b, WAY_VALUE));
    }
    r->ready = micro_batch + 1 == g->n_parts ? g->ready : NULL;
    TRY(run_ops(r, b, t->train.n_forward + has_taken, t->train.n_ops));
    b->sends[WAY_GRAD] = !is_first(t->network);
    g->n_held--;
out:
    return rc;
}

enum rc network_stage_gradient(struct network_trainer *t, struct run *r, uint64_t first, double *mean_loss,
                               grad_ready_fn *ready)
{
    const struct pipeline_stage *s = stage_of(t);
    struct gradient g = {
        .trainer = t, .run = r, .n_parts = workload_n_micro_batches(&t->base.env), .first = first, .ready = ready
    };
    const struct stage_player player = { expect_value, run_forward, run_backward, &g };
    enum rc rc;

    r->pipe = &s->pipe;
    TRY(stage_play(s, g.n_parts, &player));
    for (size_t i = 0; i < t->n_held; i++)
        TRY(await_memory(t, r->pipe, &t->block[i]));
    *mean_loss = is_last(t->network) ? g.loss / (double)g.n_parts : NAN;
out:
    return rc;
}

/* --- evaluation --- */

/* Batches go through the stages one behind the other; a stage tells the one before it, by a gradient of one element,
 * that it is through with one, so that none is more than so many ahead (net.T13). */
struct evaluating {
    size_t n_ahead; /* at most MOST_AHEAD */
    size_t n_begun;
    float *signal; /* [MOST_AHEAD + 1], of no meaning: heard of each place, and told; NULL: hollow */
};

/* Number i of them. */
static float *signal_at(const struct evaluating *e, size_t i)
{
    return e->signal != NULL ? e->signal + i : NULL;
}

/* The batch that had the place of the next one is through: here, and in the stage behind. */
static enum rc await_place(const struct network *n, const struct stage_pipe *p, size_t place)
{
    enum rc rc = RC_OK;

    if (!is_last(n))
        TRY(p->take(p->arg, WAY_GRAD, place));
    if (!is_first(n))
        TRY(p->passed(p->arg, WAY_GRAD, place));
out:
    return rc;
}

/* models.P3: what the last batch has passed on lies where the next one computes. */
static enum rc await_last_sent(const struct network *n, const struct stage_pipe *p, const struct evaluating *e)
{
    if (is_last(n) || e->n_begun == 0)
        return RC_OK;
    return p->passed(p->arg, WAY_VALUE, (e->n_begun - 1) % e->n_ahead);
}

/* What this stage needs of it, into the first block. */
static enum rc load_test_batch(struct network_trainer *t, const struct run *r, size_t first)
{
    const float *x;
    const uint32_t *label;
    enum rc rc = RC_OK;

    if (t->loader == NULL || !(is_first(t->network) || is_last(t->network)))
        return RC_OK;
    TRY(loader_test_batch(t->loader, first, r->B, &x, &label));
    if (is_first(t->network))
        compute_put(r->compute, t->block[0].x, x, network_images_bytes(t->network, r->B));
    if (is_last(t->network))
        compute_put(r->compute, t->block[0].label, label, r->B * sizeof *label);
out:
    return rc;
}

/* One batch of the test set, [first, first + r->B). */
static enum rc evaluate_batch(struct network_trainer *t, struct evaluating *e, struct run *r, size_t first)
{
    const struct network *n = t->network;
    const struct stage_pipe *p = r->pipe;
    const size_t place = e->n_begun % e->n_ahead;
    enum rc rc = RC_OK;

    TRY(await_last_sent(n, p, e));
    if (e->n_begun++ >= e->n_ahead)
        TRY(await_place(n, p, place));
    r->micro_batch = place;
    r->x = t->block[0].x;
    r->label = t->block[0].label;
    TRY(load_test_batch(t, r, first));
    if (!is_first(n))
        TRY(p->expect(p->arg, WAY_VALUE, place, t->block[0].x, n->in_elems * r->B));
    if (!is_last(n))
        TRY(p->expect(p->arg, WAY_GRAD, place, signal_at(e, place), 1));
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
    if (!is_first(n))
        TRY(p->pass(p->arg, WAY_GRAD, place, signal_at(e, MOST_AHEAD), 1));
out:
    return rc;
}

enum rc network_stage_evaluate(struct network_trainer *t, const float *param, size_t n_samples, struct evaluation *out)
{
    const size_t n_parts = workload_n_micro_batches(&t->base.env);
    struct evaluating e = { .n_ahead = n_parts < MOST_AHEAD ? n_parts : MOST_AHEAD, .signal = t->signal };
    size_t n_correct = 0;
    double sum = 0.0;
    enum rc rc = RC_OK;

    for (size_t done = 0; done < n_samples; done += t->base.env.max_batch) {
        const size_t left = n_samples - done;
        struct run r = network_run_of(t, &t->infer, param, left < t->base.env.max_batch ? left : t->base.env.max_batch);
        r.pipe = &stage_of(t)->pipe;
        r.n_correct = &t->n_correct;
        TRY(evaluate_batch(t, &e, &r, done));
        if (is_last(t->network)) {
            sum += t->loss[0] * (double)r.B;
            n_correct += t->n_correct;
        }
    }
    TRY(await_last_sent(t->network, &stage_of(t)->pipe, &e));
    for (size_t i = 0; i < e.n_ahead && i < e.n_begun; i++)
        TRY(await_place(t->network, &stage_of(t)->pipe, i));
    const bool knows = is_last(t->network) && n_samples > 0;
    out->loss = knows ? sum / (double)n_samples : NAN;
    out->accuracy_ratio = knows ? (double)n_correct / (double)n_samples : NAN;
out:
    return rc;
}
