/* SPDX-License-Identifier: Apache-2.0 */
/* training_mutants.c - programs with one mistake each. */
#include "models/suite/training_mutants.h"

#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute.h"

/* The nth op of a kind, from 0. */
static int find(const struct program *p, enum op_kind kind, int nth)
{
    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].kind == kind && nth-- == 0)
            return i;
    abort();
}

static int find_adding(const struct program *p, enum op_kind kind)
{
    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].kind == kind && p->op[i].add)
            return i;
    abort();
}

static void drop_op(struct program *p, int i)
{
    p->n_ops--;
    memmove(&p->op[i], &p->op[i + 1], (size_t)(p->n_ops - i) * sizeof *p->op);
}

static void swap_ops(struct program *p, int i, int k)
{
    const struct op op = p->op[i];

    p->op[i] = p->op[k];
    p->op[k] = op;
}

/* Two nodes contribute to a gradient; the second forgets the first. */
static void fan_out_overwrites(struct network_trainer *t)
{
    t->train.op[find_adding(&t->train, OP_INPUT_GRAD)].add = false;
}

/* The first contribution adds to what lay there. */
static void first_adds(struct network_trainer *t)
{
    t->train.op[find(&t->train, OP_INPUT_GRAD, 0)].add = true;
}

static void accumulate_lost(struct network_trainer *t)
{
    drop_op(&t->train, find(&t->train, OP_ACCUMULATE, 0));
}

static void shortcut_lost(struct network_trainer *t)
{
    for (int i = 0; i < t->train.n_ops; i++)
        if (t->train.op[i].kind == OP_NORM && t->train.op[i].v[OPERAND_ADD].buffer >= 0) {
            t->train.op[i].v[OPERAND_ADD].buffer = VIEW_NONE;
            return;
        }
    abort();
}

static void aux_weight_forgotten(struct network_trainer *t)
{
    t->train.op[find(&t->train, OP_LOSS, 0)].loss_weight = 1.0f;
    t->train.op[find(&t->train, OP_LOSS, 1)].loss_weight = 1.0f;
}

static void dropout_in_evaluation(struct network_trainer *t)
{
    const struct op drop = t->train.op[find(&t->train, OP_DROPOUT, 0)];
    struct program *p = &t->infer;
    const int from = t->network->node[drop.node].from;

    for (int i = 0; i < p->n_ops; i++)
        if (p->op[i].node >= from && p->op[i].v[OPERAND_OUT].buffer >= 0) {
            memmove(&p->op[i + 2], &p->op[i + 1], (size_t)(p->n_ops - i - 1) * sizeof *p->op);
            p->op[i + 1] = drop;
            p->op[i + 1].v[OPERAND_OUT] = p->op[i].v[OPERAND_OUT];
            p->n_ops++;
            return;
        }
    abort();
}

static void ready_too_early(struct network_trainer *t)
{
    const int i = find(&t->train, OP_WEIGHT_GRAD, 1);

    swap_ops(&t->train, i, i + 1);
}

/* The input of the node in the middle is free as soon as the forward pass was there. */
static void freed_too_early(struct network_trainer *t)
{
    struct program *p = &t->train;
    const int n_convs = find(p, OP_LOSS, 0) / 2, i = find(p, OP_WEIGHT_GRAD, n_convs / 8 + 1);
    struct memory_item *it = &p->item[p->op[i].v[OPERAND_IN].buffer];

    it->last_op = it->first_op + 2;
    if (memory_plan(&p->sums, p->item, (size_t)p->n_buffers) != RC_OK)
        abort();
}

static void slice_at_start(struct network_trainer *t)
{
    for (int i = 0; i < t->train.n_ops; i++)
        if (t->train.op[i].v[OPERAND_OUT].offset_bytes > 0) {
            t->train.op[i].v[OPERAND_OUT].offset_bytes = 0;
            return;
        }
    abort();
}

/* The running values stay: the norm gets momentum 0. */
static void lazy_norm(struct compute *c, const struct batch_norm_forward *op)
{
    struct batch_norm_forward still = *op;

    still.shape.momentum = 0.0f;
    compute_cpu.batch_norm(c, &still);
}

static void running_values_stay(struct network_trainer *t)
{
    static struct compute_backend lazy;

    lazy = *t->base.env.compute->ops;
    lazy.batch_norm = lazy_norm;
    t->base.env.compute->ops = &lazy;
}

/* The loss is evaluated from what the training program computes: batch statistics. */
static void evaluates_with_batch_statistics(struct network_trainer *t)
{
    struct program was = t->infer;

    if (program_open(&t->infer, t->network, true) != RC_OK || program_plan(&t->infer, t->base.env.max_batch) != RC_OK)
        abort();
    while (t->infer.op[t->infer.n_ops - 1].phase == PHASE_BACKWARD)
        t->infer.n_ops--;
    program_close(&was);
}

const struct training_mutant training_mutants[] = {
    { "fan_out_overwrites", "resnet8", fan_out_overwrites },
    { "first_adds", "vgg16", first_adds },
    { "accumulate_lost", "patchwork", accumulate_lost },
    { "shortcut_lost", "resnet50", shortcut_lost },
    { "aux_weight_forgotten", "inception3", aux_weight_forgotten },
    { "dropout_in_evaluation", "alexnet", dropout_in_evaluation },
    { "ready_too_early", "lenet", ready_too_early },
    { "freed_too_early", "resnet8", freed_too_early },
    { "slice_at_start", "inception3", slice_at_start },
    { "running_values_stay", "resnet8", running_values_stay },
    { "evaluates_with_batch_statistics", "resnet8", evaluates_with_batch_statistics },
    { NULL, NULL, NULL },
};
