/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_pipe.c - the ranks of one pipeline, and how tensors get from stage to stage (models/engine/stage.h, P3).
 *
 * Each tensor is a message: its tag says which way it goes and of which micro-batch it is, so that those of two
 * directions and of later micro-batches wait for nobody.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/communicator.h"
#include "harness/net/transport.h"
#include "harness/train/job_accumulate.h"
#include "harness/train/job_stages.h"
#include "harness/train/rank_state.h"
#include "models/engine/network.h"

struct rank_pipe {
    struct rank *rank;
    struct transport *transport;
    size_t n_micro_batches;
    size_t most_elems;     /* of a tensor */
    struct xfer *in, *out; /* [N_STAGE_WAYS][n_micro_batches] */
};

/* The stage that sends tensors of this way to this one, or gets them from it. */
static int neighbour(const struct rank_pipe *p, enum stage_way way, bool sends)
{
    const int own = p->rank->job->stages.number;

    return (way == WAY_VALUE) == sends ? own + 1 : own - 1;
}

static struct xfer *xfer_of(struct xfer *all, const struct rank_pipe *p, enum stage_way way, size_t micro_batch)
{
    return &all[(size_t)way * p->n_micro_batches + micro_batch];
}

static uint32_t tag_of(enum stage_way way, size_t micro_batch)
{
    return (uint32_t)(2 * micro_batch + (size_t)way);
}

/* A tensor of n_elems: real bytes, or those of a compute that has no memory. */
static struct xfer message_of(const struct rank_pipe *p, float *x, size_t n_elems, int peer, uint32_t tag)
{
    const size_t n_bytes = n_elems * sizeof *x;
    const bool is_hollow = !p->rank->compute->ops->touches_memory;

    return (struct xfer){ .ptr = is_hollow ? NULL : x,
                          .n_bytes = is_hollow ? 0 : n_bytes,
                          .n_hollow_bytes = is_hollow ? n_bytes : 0,
                          .peer = peer,
                          .tag = tag };
}

static enum rc expect(void *arg, enum stage_way way, size_t micro_batch, float *x, size_t n_elems)
{
    struct rank_pipe *p = arg;
    struct xfer *in = xfer_of(p->in, p, way, micro_batch);

    *in = message_of(p, x, n_elems, neighbour(p, way, false), tag_of(way, micro_batch));
    return transport_recv(p->transport, in);
}

/* Waits are those of the run's messages, and name the stage that is waited for. */
static enum rc await(struct rank_pipe *p, struct xfer *x)
{
    struct rank *r = p->rank;
    const uint64_t began_ns = world_now_ns(r->world);
    char message[RC_MESSAGE_BYTES];
    const enum rc rc = transport_wait(p->transport, x, train_message_limit_ms(r->job));

    r->pipe_waited_ns += world_now_ns(r->world) - began_ns;
    if (rc == RC_OK)
        return RC_OK;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "%.380s; stage %d, for %s of micro-batch %u of stage %d", message, r->job->stages.number,
                    x->tag % 2 == WAY_VALUE ? "the output" : "the gradient", (unsigned)(x->tag / 2), x->peer);
}

static enum rc take(void *arg, enum stage_way way, size_t micro_batch)
{
    struct rank_pipe *p = arg;

    return await(p, xfer_of(p->in, p, way, micro_batch));
}

static enum rc pass(void *arg, enum stage_way way, size_t micro_batch, const float *x, size_t n_elems)
{
    struct rank_pipe *p = arg;
    struct xfer *out = xfer_of(p->out, p, way, micro_batch);

    *out = message_of(p, (float *)(uintptr_t)x, n_elems, neighbour(p, way, true), tag_of(way, micro_batch));
    return transport_send(p->transport, out);
}

static enum rc passed(void *arg, enum stage_way way, size_t micro_batch)
{
    struct rank_pipe *p = arg;

    return await(p, xfer_of(p->out, p, way, micro_batch));
}

enum rc rank_pipe_open(struct rank *r)
{
    const struct job_stages *s = &r->job->stages;
    const size_t n = r->job->opts.accumulate, B = job_micro_batch_of(r->job, r->world->rank);
    const struct transport_plan plan = { .most_message_bytes = s->most_passed_elems * B * sizeof(float),
                                         .most_messages = N_STAGE_WAYS * n };
    struct rank_pipe *p;
    enum rc rc = RC_OK;

    if (s->env.cuts.n_stages <= 1 || !rank_is_worker(r))
        return RC_OK;
    p = r->pipe = calloc(1, sizeof *p);
    if (!p)
        FAIL(RC_NOMEM, "no memory for a pipeline");
    p->rank = r;
    p->n_micro_batches = n;
    p->most_elems = s->most_passed_elems * B;
    p->in = calloc(N_STAGE_WAYS * n, sizeof *p->in);
    p->out = calloc(N_STAGE_WAYS * n, sizeof *p->out);
    if (!p->in || !p->out)
        FAIL(RC_NOMEM, "no memory for the messages of %zu micro-batches", n);
    TRY(transport_open_planned(&p->transport, s->transport, r->job->pipe, &plan));
    p->transport->fails_together = true;
    r->stage = s->env;
    r->stage.pipe = (struct stage_pipe){ expect, take, pass, passed, p };
out:
    return rc;
}

void rank_pipe_close(struct rank *r)
{
    if (!r->pipe)
        return;
    transport_close(&r->pipe->transport);
    free(r->pipe->in);
    free(r->pipe->out);
    free(r->pipe);
    r->pipe = NULL;
}

/* --- what the stages of worker 0 have come to --- */

/* n elements from one stage to the first: in messages no longer than a tensor's (T13). */
static enum rc move_elems(struct rank_pipe *p, float *x, size_t n, int from)
{
    const bool sends = p->rank->job->stages.number == from;
    size_t done = 0;
    enum rc rc = RC_OK;

    while (done < n) {
        const size_t left = n - done, n_elems = left < p->most_elems ? left : p->most_elems;
        struct xfer m = message_of(p, x + done, n_elems, sends ? 0 : from, tag_of(WAY_VALUE, p->n_micro_batches));
        TRY(sends ? transport_send(p->transport, &m) : transport_recv(p->transport, &m));
        TRY(transport_wait(p->transport, &m, train_message_limit_ms(p->rank->job)));
        done += n_elems;
    }
out:
    return rc;
}

/* One array of the checkpoint. whole: of stage 0; own: of each. */
static enum rc join_array(struct rank_pipe *p, float *whole, float *own, bool is_state)
{
    const struct job_stages *s = &p->rank->job->stages;
    enum rc rc = RC_OK;

    for (int i = 0; i < s->env.cuts.n_stages; i++) {
        const size_t first = is_state ? s->range[i].first_state : s->range[i].first_param;
        const size_t n = is_state ? s->range[i].n_state : s->range[i].n_params;
        if (i == 0 && s->number == 0 && n > 0)
            memcpy(whole, own, n * sizeof *own);
        else if (i > 0 && (s->number == 0 || s->number == i))
            TRY(move_elems(p, s->number == 0 ? whole + first : own, n, i));
    }
out:
    return rc;
}

enum rc rank_pipe_join(struct rank *r, struct checkpoint *c)
{
    const struct job_stages *s = &r->job->stages;
    struct checkpoint whole = *c;
    enum rc rc = RC_OK;

    whole.param = NULL;
    if (!r->pipe || !c->param)
        return RC_OK;
    if (s->number == 0) {
        whole.n_params = s->whole_params;
        whole.n_state = s->whole_state;
        TRY(checkpoint_alloc(&whole, c->kept.moments != NULL));
    }
    TRY(join_array(r->pipe, whole.param, c->param, false));
    for (size_t i = 0; c->kept.moments && i < (size_t)optimizer_n_moments(&c->optimizer); i++)
        TRY(join_array(r->pipe, whole.kept.moments + i * whole.n_params, c->kept.moments + i * c->n_params, false));
    TRY(join_array(r->pipe, whole.state, c->state, true));
    if (s->number == 0) {
        checkpoint_free(c);
        *c = whole;
        whole.param = NULL;
    }
out:
    free(whole.param);
    return rc;
}

enum rc rank_pipe_share_losses(struct rank *r)
{
    const size_t n = r->n_done;
    const int last = r->job->stages.env.cuts.n_stages - 1;
    double *own = NULL, *all = NULL;
    enum rc rc = RC_OK;

    if (!r->pipe)
        return RC_OK;
    own = calloc(n > 0 ? n : 1, sizeof *own);
    all = malloc((n > 0 ? n : 1) * (size_t)(last + 1) * sizeof *all);
    if (!own || !all)
        FAIL(RC_NOMEM, "no memory for the losses of %zu steps", n);
    for (size_t i = 0; i < n; i++)
        own[i] = r->stamp[i].loss;
    TRY(world_allgather(r->job->pipe, own, all, n * sizeof *own));
    for (size_t i = 0; i < n; i++)
        r->stamp[i].loss = all[(size_t)last * n + i];
out:
    free(own);
    free(all);
    return rc;
}
