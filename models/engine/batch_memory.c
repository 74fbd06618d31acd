/* SPDX-License-Identifier: Apache-2.0 */
/* batch_memory.c - the memory that a batch needs, computed before any is allocated. */
#include <stdint.h>

#include "models/engine/run.h"
#include "models/engine/trainer.h"

#define GIB (1024.0 * 1024.0 * 1024.0)

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t network_images_bytes(const struct network *n, size_t B)
{
    const size_t size = (size_t)n->opts.image_size;

    return B * (size_t)n->C_in * size * size * sizeof(float);
}

size_t network_packed_bytes(const struct network *n)
{
    return n->n_packed_elems * sizeof(uint16_t);
}

enum rc network_program_open(struct program *out, const struct compute *c, const struct network *n, bool training)
{
    enum rc rc;

    TRY(program_open(out, n, training));
    if (compute_takes_packed(c))
        program_pack(out, n);
out:
    return rc;
}

/* Images, labels and packed weights in the compute's memory, and what it takes itself. */
static size_t device_bytes(struct compute *c, const struct network *n, size_t batch, bool with_gradients)
{
    const bool is_whole = n->in_elems == 0 && n->out_node == NODE_NONE; /* stages have batches in their blocks */
    /* the next one is uploaded beside the work on this one */
    const size_t n_batches = !is_whole ? 0 : c->ops->upload != NULL ? 2 : 1;

    if (!c->ops->touches_memory || c->ops->host_memory)
        return 0;
    return (compute_takes_packed(c) && with_gradients ? network_packed_bytes(n) : 0) +
           n_batches * (network_images_bytes(n, batch) + batch * sizeof(uint32_t)) +
           network_scratch_bytes(c, n, batch, with_gradients);
}

static enum rc plan_both(struct network_memory *out, struct compute *c, struct program *train, struct program *infer,
                         const struct network *n, size_t batch)
{
    const size_t params_bytes = n->n_params * sizeof(float), copies = train->n_ops > 0 ? 3 : 1;
    enum rc rc;

    TRY(program_plan(infer, batch));
    if (train->n_ops > 0)
        TRY(program_plan(train, batch));
    *out = (struct network_memory){ .planned_bytes = larger(train->sums.planned_bytes, infer->sums.planned_bytes),
                                    .unplanned_bytes = larger(train->sums.unplanned_bytes, infer->sums.unplanned_bytes),
                                    .live_bytes = larger(train->sums.live_bytes, infer->sums.live_bytes),
                                    .params_bytes = copies * params_bytes,
                                    .state_bytes = n->n_state * sizeof(float),
                                    .device_bytes = device_bytes(c, n, batch, train->n_ops > 0) };
out:
    return rc;
}

/* What the training itself will allocate. Parameters, gradients and velocity are the caller's, who checks their sum or
 * has allocated them already. */
static size_t own_bytes(const struct network_memory *m)
{
    return m->planned_bytes + m->state_bytes + m->part_bytes + m->device_bytes;
}

/* Of a training: *m for a batch of its own, or one smaller. */
static enum rc plan(struct network_memory *m, struct network_trainer *t, size_t batch)
{
    const struct network_step step = {
        .n_samples = batch, .n_micro_batches = 1, .n_held = t->n_held, .recomputes = t->recomputes
    };
    enum rc rc;

    TRY(plan_both(m, t->base.env.compute, &t->train, &t->infer, t->network, batch));
    if (network_adds_parts(&t->base.env))
        m->part_bytes = network_part_bytes(t->network);
    if (t->n_held > 0)
        m->planned_bytes = network_stage_bytes(t->network, m, &step);
out:
    return rc;
}

/* The largest batch within available bytes; 0: none. */
static enum rc max_batch_within(size_t *out, struct network_trainer *t, size_t available)
{
    size_t fits = 0, too_large = t->base.env.max_batch;
    struct network_memory m;
    enum rc rc = RC_OK;

    while (too_large - fits > 1) {
        const size_t batch = fits + (too_large - fits) / 2;
        TRY(plan(&m, t, batch));
        if (own_bytes(&m) <= available)
            fits = batch;
        else
            too_large = batch;
    }
    *out = fits;
out:
    return rc;
}

enum rc network_memory_plan(struct network_trainer *t)
{
    struct compute *c = t->base.env.compute;
    size_t available = SIZE_MAX, fits;
    enum rc rc;

    TRY(plan(&t->sums, t, t->base.env.max_batch));
    if (c->ops->touches_memory)
        available = c->ops->memory_available(c);
    if (own_bytes(&t->sums) <= available)
        return RC_OK;
    TRY(max_batch_within(&fits, t, available));
    if (fits == 0)
        FAIL(RC_NOMEM, "model %s: batch %zu needs %.2f GiB, %.2f GiB are available; not even a batch of 1 fits",
             t->network->name, t->base.env.max_batch, (double)own_bytes(&t->sums) / GIB, (double)available / GIB);
    FAIL(RC_NOMEM, "model %s: batch %zu needs %.2f GiB, %.2f GiB are available; a batch of %zu fits", t->network->name,
         t->base.env.max_batch, (double)own_bytes(&t->sums) / GIB, (double)available / GIB, fits);
out:
    return rc;
}

enum rc network_memory_needed(struct network_memory *out, struct compute *c, const struct network *n,
                              const struct network_step *step)
{
    const size_t n_parts = step->n_micro_batches, n_samples = (step->n_samples + n_parts - 1) / n_parts;
    struct network_step part = *step;
    struct program train = { 0 }, infer = { 0 };
    enum rc rc;

    TRY(network_program_open(&infer, c, n, false));
    if (!step->forward_only)
        TRY(network_program_open(&train, c, n, true));
    TRY(plan_both(out, c, &train, &infer, n, n_samples));
    if (n_parts > 1 && !step->forward_only)
        out->part_bytes = network_part_bytes(n);
    part.n_samples = n_samples;
    if (step->n_held > 0)
        out->planned_bytes = network_stage_bytes(n, out, &part);
out:
    program_close(&train);
    program_close(&infer);
    return rc;
}
