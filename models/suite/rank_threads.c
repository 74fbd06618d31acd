/* SPDX-License-Identifier: Apache-2.0 */
/* rank_threads.c - see rank_threads.h. */
#include "models/suite/rank_threads.h"

#include <string.h>

/* --- pipelines --- */

static struct thread_line *line_of(const struct thread_stage *s, enum stage_way way, bool sends)
{
    return (way == WAY_VALUE) == sends ? s->behind : s->before;
}

/* With the lock held: copy once both are there. */
static enum rc meet(struct thread_line *l, enum stage_way way, struct thread_parcel *p)
{
    if (p->from == NULL || p->to == NULL || (l->is_late && way == WAY_VALUE && !p->is_awaited))
        return RC_OK;
    if (p->n_from != p->n_to)
        return RC_BUG;
    memcpy(p->to, p->from, p->n_to * sizeof *p->to);
    p->is_there = true;
    (void)pthread_cond_broadcast(&l->changed);
    return RC_OK;
}

/* With the lock held: until its place is free of the tensor before. */
static void await_place(struct thread_line *l, const struct thread_parcel *p)
{
    while (p->is_there)
        (void)pthread_cond_wait(&l->changed, &l->lock);
}

static enum rc expect(void *arg, enum stage_way way, size_t micro_batch, float *x, size_t n_elems)
{
    struct thread_line *l = line_of(arg, way, false);
    struct thread_parcel *p = &l->parcel[way][micro_batch];

    (void)pthread_mutex_lock(&l->lock);
    await_place(l, p);
    p->to = x;
    p->n_to = n_elems;
    const enum rc rc = meet(l, way, p);
    (void)pthread_mutex_unlock(&l->lock);
    return rc;
}

static enum rc pass(void *arg, enum stage_way way, size_t micro_batch, const float *x, size_t n_elems)
{
    struct thread_line *l = line_of(arg, way, true);
    struct thread_parcel *p = &l->parcel[way][micro_batch];

    (void)pthread_mutex_lock(&l->lock);
    await_place(l, p);
    p->from = x;
    p->n_from = n_elems;
    const enum rc rc = meet(l, way, p);
    (void)pthread_mutex_unlock(&l->lock);
    return rc;
}

static enum rc await(struct thread_line *l, enum stage_way way, size_t micro_batch, bool sends)
{
    struct thread_parcel *p = &l->parcel[way][micro_batch];
    enum rc rc = RC_OK;

    (void)pthread_mutex_lock(&l->lock);
    p->is_awaited = p->is_awaited || sends;
    if (sends && !p->is_there)
        rc = meet(l, way, p);
    while (!p->is_there && rc == RC_OK)
        (void)pthread_cond_wait(&l->changed, &l->lock);
    if (++p->n_ended == 2) {
        *p = (struct thread_parcel){ .n_ended = 0 };
        (void)pthread_cond_broadcast(&l->changed);
    }
    (void)pthread_mutex_unlock(&l->lock);
    return rc;
}

static enum rc take(void *arg, enum stage_way way, size_t micro_batch)
{
    return await(line_of(arg, way, false), way, micro_batch, false);
}

static enum rc passed(void *arg, enum stage_way way, size_t micro_batch)
{
    return await(line_of(arg, way, true), way, micro_batch, true);
}

struct stage_pipe thread_pipe(struct thread_stage *own)
{
    return (struct stage_pipe){ expect, take, pass, passed, own, NULL, NULL };
}

/* --- groups --- */

static enum rc gather(void *arg, float *whole, const float *own, const size_t *n_elems)
{
    struct thread_shard *s = arg;
    struct thread_group *g = s->group;
    enum rc rc = RC_OK;

    g->own[s->number] = own;
    g->n_elems[s->number] = n_elems[s->number];
    s->n_sent_elems += (size_t)(g->n_shards - 1) * n_elems[s->number];
    (void)pthread_barrier_wait(&g->all);
    for (int k = 0; k < g->n_shards; whole += n_elems[k++]) {
        if (g->n_elems[k] != n_elems[k])
            rc = RC_BUG;
        else
            memcpy(whole, g->own[k], n_elems[k] * sizeof *whole);
    }
    (void)pthread_barrier_wait(&g->all);
    return rc;
}

static enum rc scatter(void *arg, float *own, float *whole, const size_t *n_elems)
{
    struct thread_shard *s = arg;
    struct thread_group *g = s->group;
    size_t offset = 0;

    for (int k = 0; k < s->number; k++)
        offset += n_elems[k];
    g->whole[s->number] = whole;
    for (int k = 0; k < g->n_shards; k++)
        s->n_sent_elems += k != s->number ? n_elems[k] : 0;
    (void)pthread_barrier_wait(&g->all);
    for (size_t i = 0; i < n_elems[s->number]; i++) {
        own[i] = 0.0f;
        for (int k = 0; k < g->n_shards; k++)
            own[i] += g->whole[k][offset + i];
    }
    (void)pthread_barrier_wait(&g->all);
    return RC_OK;
}

struct dense_shard thread_shard_env(struct thread_shard *own)
{
    return (struct dense_shard){ own->number, own->group->n_shards, { gather, scatter, own } };
}
