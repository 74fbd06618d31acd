/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stage.c - the replay of one stage of a pipeline: the times of its layers pass micro-batch by micro-batch, in
 * the order of the schedule (engine/stage.h), and activations and their gradients cross, by size.
 *
 * What is sent is the same for every micro-batch, and nobody reads it: it can be on its way while the next one is
 * computed. One gradient at a time: the next is not sent before.
 */
#include <stdlib.h>

#include "models/replay/player.h"

struct playing { /* a gradient under way */
    struct replay *replay;
    const struct replay_backward *last;
    size_t B, n_parts;
};

static const struct stage_pipe *pipe_of(const struct replay *t)
{
    return &t->base.env.stage->pipe;
}

static bool is_last(const struct replay *t)
{
    return t->base.env.stage->out_elems == 0;
}

/* float[n_elems * most samples of a micro-batch], all of it touched; NULL: nothing is kept. */
static enum rc open_tensor(float **out, const struct replay *t, size_t n_elems)
{
    const size_t n = n_elems * t->base.env.max_batch;

    if (n == 0 || !t->base.env.compute->ops->touches_memory)
        return RC_OK;
    *out = malloc(n * sizeof **out);
    if (*out == NULL)
        return rc_raise(RC_NOMEM, "model replay: no memory for what passes between stages: %zu values", n);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = t->pattern[i % PATTERN_ELEMS];
    return RC_OK;
}

enum rc replay_stage_open(struct replay *t)
{
    const struct pipeline_stage *s = t->base.env.stage;
    enum rc rc = RC_OK;

    t->n_held = stage_held(s->schedule, s->number, s->cuts.n_stages, workload_n_micro_batches(&t->base.env));
    t->room = calloc(t->n_held, sizeof *t->room);
    if (t->room == NULL)
        FAIL(RC_NOMEM, "model replay: no memory for a stage");
    TRY(open_tensor(&t->sent, t, s->in_elems > s->out_elems ? s->in_elems : s->out_elems));
    for (size_t i = 0; i < t->n_held; i++) {
        TRY(open_tensor(&t->room[i].value, t, s->in_elems));
        TRY(open_tensor(&t->room[i].grad, t, s->out_elems));
    }
out:
    return rc;
}

void replay_stage_close(struct replay *t)
{
    for (size_t i = 0; t->room != NULL && i < t->n_held; i++) {
        free(t->room[i].value);
        free(t->room[i].grad);
    }
    free(t->room);
    free(t->sent);
    t->room = NULL;
    t->sent = NULL;
}

static enum rc expect_value(void *arg, size_t micro_batch)
{
    const struct playing *g = arg;
    const struct replay *t = g->replay;
    const struct stage_pipe *p = pipe_of(t);

    return p->expect(p->arg, WAY_VALUE, micro_batch, t->room[micro_batch % t->n_held].value,
                     t->base.env.stage->in_elems * g->B);
}

static enum rc forward(void *arg, size_t micro_batch)
{
    const struct playing *g = arg;
    struct replay *t = g->replay;
    const struct pipeline_stage *s = t->base.env.stage;
    const struct stage_pipe *p = pipe_of(t);
    const size_t n_elems = s->out_elems * g->B;
    enum rc rc = RC_OK;

    if (s->number > 0)
        TRY(p->take(p->arg, WAY_VALUE, micro_batch));
    TRY(replay_forward(t, g->B, micro_batch == 0 && t->base.await != NULL));
    TRY(compute_sync(t->base.env.compute));
    if (is_last(t))
        return RC_OK;
    TRY(p->expect(p->arg, WAY_GRAD, micro_batch, t->room[micro_batch % t->n_held].grad, n_elems));
    TRY(p->pass(p->arg, WAY_VALUE, micro_batch, t->sent, n_elems));
out:
    return rc;
}

static enum rc backward(void *arg, size_t micro_batch)
{
    const struct playing *g = arg;
    struct replay *t = g->replay;
    const struct pipeline_stage *s = t->base.env.stage;
    const struct stage_pipe *p = pipe_of(t);
    enum rc rc = RC_OK;

    if (!is_last(t)) {
        TRY(p->passed(p->arg, WAY_VALUE, micro_batch));
        TRY(p->take(p->arg, WAY_GRAD, micro_batch));
    }
    if (micro_batch + 1 == g->n_parts)
        TRY(replay_last_backward(t, g->last));
    else
        TRY(replay_pass_backward(t, g->B));
    TRY(compute_sync(t->base.env.compute));
    if (s->number == 0)
        return RC_OK;
    if (micro_batch > 0)
        TRY(p->passed(p->arg, WAY_GRAD, micro_batch - 1));
    TRY(p->pass(p->arg, WAY_GRAD, micro_batch, t->sent, s->in_elems * g->B));
    if (micro_batch + 1 == g->n_parts)
        TRY(p->passed(p->arg, WAY_GRAD, micro_batch));
out:
    return rc;
}

enum rc replay_stage_gradient(struct replay *t, const struct replay_backward *b)
{
    const size_t n_parts = workload_n_micro_batches(&t->base.env);
    struct replay_backward last = *b;
    struct playing g = { .replay = t, .last = &last, .B = b->n_samples / n_parts, .n_parts = n_parts };
    const struct stage_player player = { expect_value, forward, backward, &g };

    last.n_samples = g.B;
    return stage_play(t->base.env.stage, n_parts, &player);
}
