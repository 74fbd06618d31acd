/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_pipe.c - transfers between stages, and between the ranks of a group, for a compute with separate memory; see
 * device_pipe.h.
 */
#include "models/engine/device_pipe.h"

#include <stdlib.h>

/* --- between stages --- */

enum direction { DIRECTION_IN, DIRECTION_OUT, N_DIRECTIONS };

struct tensor { /* on its way in */
    float *to;
    size_t n_elems;
};

struct device_pipe {
    struct compute *compute;
    struct stage_pipe below;
    size_t n_places, most_elems;
    void *host;        /* float[N_DIRECTIONS][N_STAGE_WAYS][n_places][most_elems] */
    struct tensor *in; /* [N_STAGE_WAYS][n_places] */
};

static size_t place_of(const struct device_pipe *p, enum stage_way way, size_t micro_batch)
{
    return (size_t)way * p->n_places + micro_batch % p->n_places;
}

static float *host_of(const struct device_pipe *p, enum direction d, enum stage_way way, size_t micro_batch)
{
    const size_t place = (size_t)d * N_STAGE_WAYS * p->n_places + place_of(p, way, micro_batch);

    return (float *)p->host + place * p->most_elems;
}

static enum rc expect(void *arg, enum stage_way way, size_t micro_batch, float *x, size_t n_elems)
{
    struct device_pipe *p = arg;

    p->in[place_of(p, way, micro_batch)] = (struct tensor){ x, n_elems };
    return p->below.expect(p->below.arg, way, micro_batch, host_of(p, DIRECTION_IN, way, micro_batch), n_elems);
}

static enum rc take(void *arg, enum stage_way way, size_t micro_batch)
{
    struct device_pipe *p = arg;
    const struct tensor *t = &p->in[place_of(p, way, micro_batch)];
    enum rc rc;

    TRY(p->below.take(p->below.arg, way, micro_batch));
    compute_put(p->compute, t->to, host_of(p, DIRECTION_IN, way, micro_batch), t->n_elems * sizeof(float));
out:
    return rc;
}

static enum rc pass(void *arg, enum stage_way way, size_t micro_batch, const float *x, size_t n_elems)
{
    struct device_pipe *p = arg;
    float *host = host_of(p, DIRECTION_OUT, way, micro_batch);
    enum rc rc;

    TRY(compute_fetch(p->compute, host, x, n_elems * sizeof(float)));
    TRY(p->below.pass(p->below.arg, way, micro_batch, host, n_elems));
out:
    return rc;
}

static enum rc passed(void *arg, enum stage_way way, size_t micro_batch)
{
    struct device_pipe *p = arg;

    return p->below.passed(p->below.arg, way, micro_batch);
}

static void begins(void *arg, struct stage_action action)
{
    struct device_pipe *p = arg;

    if (p->below.begins != NULL)
        p->below.begins(p->below.arg, action);
}

static void ended(void *arg, struct stage_action action)
{
    struct device_pipe *p = arg;

    if (p->below.ended != NULL)
        p->below.ended(p->below.arg, action);
}

enum rc device_pipe_open(struct device_pipe **out, struct compute *c, const struct stage_pipe *below, size_t n_places,
                         size_t most_elems)
{
    struct device_pipe *p = calloc(1, sizeof *p);
    enum rc rc = RC_OK;

    if (p == NULL)
        return rc_raise(RC_NOMEM, "no memory for the tensors of a pipeline");
    *p = (struct device_pipe){ .compute = c, .below = *below, .n_places = n_places, .most_elems = most_elems };
    p->in = calloc(N_STAGE_WAYS * n_places, sizeof *p->in);
    if (p->in == NULL)
        FAIL(RC_NOMEM, "no memory for the tensors of a pipeline");
    TRY(compute_host_open(c, &p->host, (size_t)N_DIRECTIONS * N_STAGE_WAYS * n_places * most_elems * sizeof(float),
                          "tensors between stages"));
    *out = p;
    p = NULL;
out:
    device_pipe_close(&p);
    return rc;
}

void device_pipe_close(struct device_pipe **p)
{
    if (*p == NULL)
        return;
    compute_host_close((*p)->compute, &(*p)->host);
    free((*p)->in);
    free(*p);
    *p = NULL;
}

struct stage_pipe device_pipe_of(struct device_pipe *p)
{
    return (struct stage_pipe){ expect, take, pass, passed, p, begins, ended };
}

/* --- between the ranks of a group --- */

struct device_group {
    struct compute *compute;
    struct dense_shard below;
    void *own, *whole; /* of the host: float[most_elems], float[n_shards][most_elems] */
};

static size_t bytes_of_all(const struct device_group *g, const size_t *n_elems)
{
    size_t n = 0;

    for (int k = 0; k < g->below.n_shards; k++)
        n += n_elems[k];
    return n * sizeof(float);
}

static enum rc gather(void *arg, float *whole, const float *own, const size_t *n_elems)
{
    struct device_group *g = arg;
    const struct shard_group *below = &g->below.group;
    enum rc rc;

    TRY(compute_fetch(g->compute, g->own, own, n_elems[g->below.number] * sizeof *own));
    TRY(below->gather(below->arg, g->whole, g->own, n_elems));
    compute_put(g->compute, whole, g->whole, bytes_of_all(g, n_elems));
out:
    return rc;
}

static enum rc scatter(void *arg, float *own, float *whole, const size_t *n_elems)
{
    struct device_group *g = arg;
    const struct shard_group *below = &g->below.group;
    enum rc rc;

    TRY(compute_fetch(g->compute, g->whole, whole, bytes_of_all(g, n_elems)));
    TRY(below->scatter(below->arg, g->own, g->whole, n_elems));
    compute_put(g->compute, own, g->own, n_elems[g->below.number] * sizeof *own);
out:
    return rc;
}

enum rc device_group_open(struct device_group **out, struct compute *c, const struct dense_shard *below,
                          size_t most_elems)
{
    struct device_group *g = calloc(1, sizeof *g);
    enum rc rc = RC_OK;

    if (g == NULL)
        return rc_raise(RC_NOMEM, "no memory for the activations of a group");
    *g = (struct device_group){ .compute = c, .below = *below };
    TRY(compute_host_open(c, &g->own, most_elems * sizeof(float), "activations of a shard"));
    TRY(compute_host_open(c, &g->whole, (size_t)below->n_shards * most_elems * sizeof(float),
                          "activations of a group"));
    *out = g;
    g = NULL;
out:
    device_group_close(&g);
    return rc;
}

void device_group_close(struct device_group **g)
{
    if (*g == NULL)
        return;
    compute_host_close((*g)->compute, &(*g)->own);
    compute_host_close((*g)->compute, &(*g)->whole);
    free(*g);
    *g = NULL;
}

struct dense_shard device_group_of(struct device_group *g)
{
    return (struct dense_shard){ g->below.number, g->below.n_shards, { gather, scatter, g } };
}
