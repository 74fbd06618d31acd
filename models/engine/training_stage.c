/* SPDX-License-Identifier: Apache-2.0 */
/*
 * training_stage.c - the gradient of one stage of a network (stage.h): forward and backward of its micro-batches by the
 * schedule, each in a block of memory of its own while it is held.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "models/engine/stage.h"
#include "models/engine/trainer.h"

static const struct pipeline_stage *stage_of(const struct network_trainer *t)
{
    return t->base.env.stage;
}

static bool is_first(const struct network_trainer *t)
{
    return t->network->in_elems == 0;
}

static bool is_last(const struct network_trainer *t)
{
    return t->network->out_node == NODE_NONE;
}

static size_t aligned(size_t n_bytes)
{
    return (n_bytes + MEMORY_ALIGN_BYTES - 1) / MEMORY_ALIGN_BYTES * MEMORY_ALIGN_BYTES;
}

static enum rc open_block(struct network_trainer *t, struct stage_block *b, size_t number)
{
    const struct training_env *env = &t->base.env;
    enum rc rc = RC_OK;

    if (!env->compute->ops->touches_memory)
        return RC_OK;
    b->memory = (char *)t->memory + number * aligned(t->train.sums.planned_bytes);
    b->x = is_first(t) ? malloc(network_images_bytes(t->network, env->max_batch)) : NULL;
    b->label = is_last(t) ? malloc(env->max_batch * sizeof *b->label) : NULL;
    if ((is_first(t) && b->x == NULL) || (is_last(t) && b->label == NULL))
        FAIL(RC_NOMEM, "model %s: no memory for the images of a stage", t->network->name);
out:
    return rc;
}

enum rc network_stage_open(struct network_trainer *t)
{
    enum rc rc = RC_OK;

    t->block = calloc(t->n_held, sizeof *t->block);
    if (t->block == NULL)
        FAIL(RC_NOMEM, "model %s: no memory for a stage", t->network->name);
    for (size_t i = 0; i < t->n_held; i++)
        TRY(open_block(t, &t->block[i], i));
out:
    return rc;
}

void network_stage_close(struct network_trainer *t)
{
    for (size_t i = 0; t->block != NULL && i < t->n_held; i++) {
        free(t->block[i].x);
        free(t->block[i].label);
    }
    free(t->block);
    t->block = NULL;
}

/* Begin to receive the value of a micro-batch, whose block is free; behind the last one: nothing. */
static enum rc expect_value(struct network_trainer *t, const struct run *r, size_t micro_batch, size_t n_parts)
{
    const struct stage_pipe *p = r->pipe;
    struct run next = *r;
    size_t n_elems;

    if (is_first(t) || micro_batch >= n_parts)
        return RC_OK;
    next.memory = t->block[micro_batch % t->n_held].memory;
    float *to = network_stage_tensor(&next, OP_TAKE_VALUE, &n_elems);
    return p->expect(p->arg, WAY_VALUE, micro_batch, to, n_elems);
}

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
    enum rc rc = RC_OK;

    if (!t->base.env.compute->ops->touches_memory)
        return RC_OK;
    if (is_first(t)) {
        TRY(network_load_batch(t, r, first));
        memcpy(b->x, r->x, network_images_bytes(t->network, r->B)); /* until its backward */
        if (b->label != NULL)
            memcpy(b->label, r->label, r->B * sizeof *b->label);
    } else if (is_last(t)) {
        TRY(network_read_labels(t, b->label, first, r->B));
    }
out:
    return rc;
}

static enum rc run_forward(struct network_trainer *t, struct run *r, uint64_t first, double *loss)
{
    struct stage_block *b = &t->block[r->micro_batch % t->n_held];
    const struct stage_pipe *p = r->pipe;
    size_t n_elems;
    enum rc rc;

    TRY(load(t, r, b, first));
    r->memory = b->memory;
    r->x = b->x;
    r->label = b->label;
    r->first_op = 0;
    r->end_op = t->train.n_forward;
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
    if (is_last(t))
        *loss += network_weighted_loss(t);
    else {
        float *to = network_stage_tensor(r, OP_TAKE_GRAD, &n_elems);
        TRY(p->expect(p->arg, WAY_GRAD, r->micro_batch, to, n_elems));
    }
out:
    return rc;
}

static enum rc run_backward(struct network_trainer *t, struct run *r, size_t n_parts)
{
    struct stage_block *b = &t->block[r->micro_batch % t->n_held];
    const struct stage_pipe *p = r->pipe;
    enum rc rc;

    r->memory = b->memory;
    r->x = b->x;
    r->label = b->label;
    r->first_op = t->train.n_forward;
    r->end_op = t->train.n_ops;
    r->adds = r->micro_batch > 0;
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
    if (!is_first(t))
        TRY(p->passed(p->arg, WAY_GRAD, r->micro_batch));
    TRY(expect_value(t, r, r->micro_batch + t->n_held, n_parts));
out:
    return rc;
}

enum rc network_stage_gradient(struct network_trainer *t, struct run *r, uint64_t first, double *mean_loss,
                               grad_ready_fn *ready)
{
    const struct pipeline_stage *s = stage_of(t);
    const size_t n_parts = workload_n_micro_batches(&t->base.env);
    double sum = 0.0;
    enum rc rc = RC_OK;

    r->pipe = &s->pipe;
    for (size_t i = 0; i < t->n_held; i++)
        TRY(expect_value(t, r, i, n_parts));
    for (size_t i = 0; i < 2 * n_parts; i++) {
        const struct stage_action a = stage_action_at(s->schedule, s->number, s->cuts.n_stages, n_parts, i);
        const uint64_t at = first + a.micro_batch * r->B;
        r->micro_batch = a.micro_batch;
        r->dropout_key = network_dropout_key(&t->base, at);
        r->training = a.micro_batch == 0 && t->base.await != NULL ? &t->base : NULL;
        r->ready = a.is_backward && a.micro_batch + 1 == n_parts ? ready : NULL;
        TRY(a.is_backward ? run_backward(t, r, n_parts) : run_forward(t, r, at, &sum));
    }
    *mean_loss = is_last(t) ? sum / (double)n_parts : NAN;
out:
    return rc;
}
