/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_stage.c - the replay of one stage of a pipeline: the times of its layers pass micro-batch by micro-batch, in
 * the order of the schedule (engine/stage.h), and activations and their gradients cross, by size.
 *
 * What is sent is the same for every micro-batch, and nobody reads it: it can be on its way while the next one is
 * computed. One gradient at a time: the next is not sent before.
 */
#include <stdlib.h>
#include <string.h>

#include "models/engine/stage.h"
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

struct crossing {
    int node;  /* the gather */
    int layer; /* of the profile: that reads it (images), or that it gathers (channels) */
};

struct replay_shard {
    const struct dense_shard *env;
    struct compute *compute;
    struct network *network; /* the shard */
    struct profile *profile;
    size_t divisor; /* of the network's bytes (models.J4) */
    struct crossing crossing[2 * NETWORK_MAX_SHARDS];
    int n_crossings;
    float *own, *whole; /* zeros, as many as may cross; hollow: NULL */
};

/* The layers that it is a shard of: all, or a stage's. */
struct layers {
    int first, end;
};

static struct layers layers_of(const struct training_env *env)
{
    const struct pipeline_stage *s = env->stage;

    if (s == NULL)
        return (struct layers){ 0, env->profile->n_layers };
    return (struct layers){ s->number > 0 ? s->cuts.end[s->number - 1] : 0, s->cuts.end[s->number] };
}

/* A copy of p whose tensors have, in these layers, the lengths of the shard's segments, at 1/divisor of them. */
static enum rc cut_profile(struct profile **out, const struct profile *p, struct layers of, const struct network *shard,
                           size_t divisor)
{
    struct profile *cut = NULL;
    int s = 0;
    enum rc rc;

    TRY(profile_open(&cut, p->n_layers));
    struct profile_layer *layer = cut->layer;
    *cut = *p;
    cut->layer = layer;
    for (int i = 0; i < p->n_layers; i++) {
        struct profile_layer *to = &cut->layer[i];
        *to = p->layer[i];
        to->tensor = NULL;
        to->n_tensors = 0;
        TRY(profile_layer_tensors(to, p->layer[i].n_tensors));
        for (int k = 0; k < to->n_tensors; k++) {
            to->tensor[k] = p->layer[i].tensor[k];
            if (i >= of.first && i < of.end)
                to->tensor[k].n_elems = profile_divided(shard->segment[s++].n_elems, divisor);
        }
    }
    *out = cut;
    cut = NULL;
out:
    profile_close(&cut);
    return rc;
}

/* The layer that segment s of those from layer `first` on is of. */
static int layer_of(const struct profile *p, int first, int s)
{
    int layer = first;

    while (s >= p->layer[layer].n_tensors)
        s -= p->layer[layer++].n_tensors;
    return layer;
}

/* Images cross before the layer of the first dense node, channels behind that of the dense node before them. */
static void find_crossings(struct replay_shard *s, int first_layer)
{
    const struct network *n = s->network;
    int dense = NODE_NONE;

    for (int i = 0; i < n->n_nodes; i++) {
        const struct node *d = &n->node[i];
        if (d->kind == NODE_CONV)
            dense = i;
        if (d->kind != NODE_GATHER_IMAGES && d->kind != NODE_GATHER_CHANNELS)
            continue;
        const int of = d->kind == NODE_GATHER_IMAGES ? i + 1 : dense;
        s->crossing[s->n_crossings++] =
            (struct crossing){ i, layer_of(s->profile, first_layer, n->node[of].first_segment) };
    }
}

static enum rc open_memory(struct replay_shard *s, size_t max_batch)
{
    const size_t n = network_shard_most_elems(s->network) * max_batch;

    if (!s->compute->ops->touches_memory)
        return RC_OK;
    s->own = calloc(n, sizeof *s->own);
    s->whole = calloc((size_t)s->env->n_shards * n, sizeof *s->whole);
    return s->own != NULL && s->whole != NULL ? RC_OK : rc_raise(RC_NOMEM, "model replay: no memory for activations");
}

static enum rc open_network(struct replay_shard *s, const struct training_env *env)
{
    struct network *whole = NULL, *stage = NULL;
    enum rc rc;

    TRY(profile_open_network(&whole, &s->divisor, env->profile, "the profile"));
    if (env->stage != NULL)
        TRY(network_open_stage(&stage, whole, &env->stage->cuts, env->stage->number));
    TRY(network_open_shard(&s->network, stage != NULL ? stage : whole, s->env->number, s->env->n_shards));
out:
    network_close(&whole);
    network_close(&stage);
    return rc;
}

enum rc replay_shard_open(struct replay_shard **out, const struct training_env *env)
{
    struct replay_shard *s = calloc(1, sizeof *s);
    const struct layers of = layers_of(env);
    enum rc rc;

    if (s == NULL)
        return rc_raise(RC_NOMEM, "model replay: no memory for a shard");
    s->env = env->shard;
    s->compute = env->compute;
    TRY(open_network(s, env));
    TRY(cut_profile(&s->profile, env->profile, of, s->network, s->divisor));
    find_crossings(s, of.first);
    TRY(open_memory(s, env->max_batch));
    *out = s;
    s = NULL;
out:
    replay_shard_close(&s);
    return rc;
}

void replay_shard_close(struct replay_shard **sp)
{
    struct replay_shard *s = *sp;

    if (s == NULL)
        return;
    network_close(&s->network);
    profile_close(&s->profile);
    free(s->own);
    free(s->whole);
    free(s);
    *sp = NULL;
}

const struct profile *replay_shard_profile(const struct replay_shard *s)
{
    return s->profile;
}

static enum rc cross(const struct replay_shard *s, const struct crossing *c, bool is_backward, size_t n_samples)
{
    const struct shard_group *g = &s->env->group;
    size_t n_elems[NETWORK_MAX_SHARDS];
    enum rc rc;

    network_shard_pieces(n_elems, s->network, &s->network->node[c->node], n_samples);
    for (int k = 0; k < s->env->n_shards; k++)
        n_elems[k] = profile_divided(n_elems[k], s->divisor);
    TRY(compute_sync(s->compute));
    TRY(is_backward ? g->scatter(g->arg, s->own, s->whole, n_elems) : g->gather(g->arg, s->whole, s->own, n_elems));
out:
    return rc;
}

/* Images are before the forward time of their layer and behind its backward time, channels the other way round. */
static bool is_due(const struct replay_shard *s, const struct crossing *c, int layer, bool is_behind_forward)
{
    return c->layer == layer && (s->network->node[c->node].kind == NODE_GATHER_CHANNELS) == is_behind_forward;
}

enum rc replay_shard_forward(const struct replay_shard *s, int layer, bool ends, size_t n_samples)
{
    enum rc rc = RC_OK;

    for (int i = 0; s != NULL && i < s->n_crossings; i++)
        if (is_due(s, &s->crossing[i], layer, ends))
            TRY(cross(s, &s->crossing[i], false, n_samples));
out:
    return rc;
}

/* Of the logits every rank has the gradient: nothing crosses. */
enum rc replay_shard_backward(const struct replay_shard *s, int layer, bool ends, size_t n_samples)
{
    enum rc rc = RC_OK;

    for (int i = s != NULL ? s->n_crossings - 1 : -1; i >= 0; i--)
        if (is_due(s, &s->crossing[i], layer, !ends) && s->network->node[s->crossing[i].node + 1].kind != NODE_LOSS)
            TRY(cross(s, &s->crossing[i], true, n_samples));
out:
    return rc;
}
