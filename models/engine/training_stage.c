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

struct gradient { /* of a stage, under way */
    struct network_trainer *trainer;
    struct run *run;
    size_t n_parts;
    uint64_t first;
    double loss;          /* of the micro-batches so far, added up */
    grad_ready_fn *ready; /* of the last backward */
};

static enum rc expect_value(void *arg, size_t micro_batch)
{
    const struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    const struct stage_pipe *p = g->run->pipe;
    struct run next = *g->run;
    size_t n_elems;

    next.memory = t->block[micro_batch % t->n_held].memory;
    float *to = network_stage_tensor(&next, OP_TAKE_VALUE, &n_elems);
    return p->expect(p->arg, WAY_VALUE, micro_batch, to, n_elems);
}

/* Labels of the batch, whose images another stage reads. */
static enum rc read_labels(const struct network_trainer *t, uint32_t *label, uint64_t first, size_t B)
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
static enum rc load(struct network_trainer *t, struct run *r, const struct stage_block *b, uint64_t first)
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
        TRY(read_labels(t, b->label, first, r->B));
    }
out:
    return rc;
}

/* What of a run follows from the micro-batch. */
static void choose(const struct gradient *g, size_t micro_batch)
{
    struct network_trainer *t = g->trainer;
    const struct stage_block *b = &t->block[micro_batch % t->n_held];
    struct run *r = g->run;

    r->micro_batch = micro_batch;
    r->dropout_key = network_dropout_key(&t->base, g->first + micro_batch * r->B);
    r->training = micro_batch == 0 && t->base.await != NULL ? &t->base : NULL;
    r->memory = b->memory;
    r->x = b->x;
    r->label = b->label;
}

static enum rc run_forward(void *arg, size_t micro_batch)
{
    struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    struct run *r = g->run;
    const struct stage_pipe *p = r->pipe;
    size_t n_elems;
    enum rc rc;

    TRY(load(t, r, &t->block[micro_batch % t->n_held], g->first + micro_batch * r->B));
    choose(g, micro_batch);
    r->ready = NULL;
    r->first_op = 0;
    r->end_op = t->train.n_forward;
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
    if (is_last(t))
        g->loss += network_weighted_loss(t);
    else {
        float *to = network_stage_tensor(r, OP_TAKE_GRAD, &n_elems);
        TRY(p->expect(p->arg, WAY_GRAD, micro_batch, to, n_elems));
    }
out:
    return rc;
}

static enum rc run_backward(void *arg, size_t micro_batch)
{
    struct gradient *g = arg;
    struct network_trainer *t = g->trainer;
    struct run *r = g->run;
    const struct stage_pipe *p = r->pipe;
    enum rc rc;

    choose(g, micro_batch);
    r->ready = micro_batch + 1 == g->n_parts ? g->ready : NULL;
    r->first_op = t->train.n_forward;
    r->end_op = t->train.n_ops;
    r->adds = micro_batch > 0;
    TRY(network_run(r));
    TRY(compute_sync(r->compute));
    if (!is_first(t))
        TRY(p->passed(p->arg, WAY_GRAD, micro_batch));
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
    *mean_loss = is_last(t) ? g.loss / (double)g.n_parts : NAN;
out:
    return rc;
}
