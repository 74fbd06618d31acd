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
#include "harness/train/job_batch.h"
#include "harness/train/job_stages.h"
#include "harness/train/rank_move.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network.h"

struct rank_pipe {
    struct rank *rank;
    struct transport *transport;
    struct device_pipe *device; /* NULL: tensors are where messages are sent from */
    size_t n_micro_batches;
    size_t most_elems;      /* of a tensor */
    struct span_ring *ring; /* NULL: no timeline */
    uint64_t action_began_ns;
    uint64_t others_ns;    /* others_ns() when it began */
    bool acts;             /* an action of a gradient is in progress */
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

static bool is_hollow(const struct rank_pipe *p)
{
    return !p->rank->compute->ops->touches_memory;
}

static enum rc expect(void *arg, enum stage_way way, size_t micro_batch, float *x, size_t n_elems)
{
    struct rank_pipe *p = arg;
    struct xfer *in = xfer_of(p->in, p, way, micro_batch);

    *in = rank_message(is_hollow(p), x, n_elems, neighbour(p, way, false), tag_of(way, micro_batch));
    return transport_recv(p->transport, in);
}

/* Into the timeline, of this micro-batch, until now. */
static void note(const struct rank_pipe *p, const char *what, size_t micro_batch, uint64_t began_ns)
{
    const struct rank *r = p->rank;
    const struct span s = { .start_ns = began_ns,
                            .end_ns = world_now_ns(r->world),
                            .what = what,
                            .segment = (int32_t)micro_batch,
                            .step = (uint32_t)(r->job->resume.steps_count + r->n_begun - 1) };

    span_ring_add(p->ring, &s);
}

/* What has passed so far within actions, and was no computing. */
static uint64_t others_ns(const struct rank *r)
{
    return r->pipe_waited_ns + r->pipe_sending_ns + r->shard_waited_ns;
}

static void begins(void *arg, struct stage_action action)
{
    struct rank_pipe *p = arg;

    const struct rank *r = p->rank;
    const uint64_t step = r->job->resume.steps_count + r->n_begun - 1;

    world_set_duty(r->world,
                   &(struct peer_duty){ action.is_backward ? PHASE_PART_BACKWARD : PHASE_PART_FORWARD, (int64_t)step,
                                        peer_part(r->job->stages.number, action.micro_batch) });
    if (!action.is_backward)
        rank_drill(r, PHASE_STEP, step, (int64_t)action.micro_batch);
    p->action_began_ns = world_now_ns(p->rank->world);
    p->others_ns = others_ns(r);
    p->acts = true;
}

static void ended(void *arg, struct stage_action action)
{
    struct rank_pipe *p = arg;
    struct rank *r = p->rank;
    const uint64_t passed_ns = world_now_ns(r->world) - p->action_began_ns;
    const uint64_t computed_ns = passed_ns - (others_ns(r) - p->others_ns);
    uint64_t *least_ns = action.is_backward ? &r->least_backward_ns : &r->least_forward_ns;

    *least_ns = *least_ns == 0 || computed_ns < *least_ns ? computed_ns : *least_ns;
    p->acts = false;
    note(p, action.is_backward ? "backward" : "forward", action.micro_batch, p->action_began_ns);
}

/* "stage 2 waited for the gradient of micro-batch 0 of stage 1" */
static void await_text(char *out, size_t n_bytes, const struct rank *r, const struct xfer *x)
{
    (void)snprintf(out, n_bytes, "stage %d waited for %s of micro-batch %u %s stage %d", r->job->stages.number,
                   x->tag % 2 == WAY_VALUE ? "the output" : "the gradient", (unsigned)(x->tag / 2),
                   x->receives ? "of" : "to be taken by", x->peer);
}

/* A stage that has died cannot say what it was doing, so those that wait for it do. */
static void tell_lost(const struct rank *r, const struct xfer *x)
{
    const int number = world_number(r->job->pipe, x->peer);
    char waited[128], text[96], line[288];
    struct peer_duty duty;

    if (!r->world->peers || !peer_duty_of(r->world->peers, number, &duty))
        return;
    await_text(waited, sizeof waited, r, x);
    peer_duty_text(&duty, text, sizeof text);
    (void)snprintf(line, sizeof line, "%s: rank %d, %s", waited, number, text);
    peer_tell(&(struct peer_opts){ 0 }, line);
}

/* Waits are those of the run's messages, and name the stage that is waited for. */
static enum rc await(struct rank_pipe *p, struct xfer *x)
{
    struct rank *r = p->rank;
    const uint64_t began_ns = world_now_ns(r->world);
    const enum rc rc = transport_wait(p->transport, x, train_message_limit_ms(r->job));
    char message[RC_MESSAGE_BYTES], waited[128];

    r->pipe_waited_ns += world_now_ns(r->world) - began_ns;
    if (p->acts)
        note(p, "wait", x->tag / 2, began_ns);
    if (rc == RC_OK)
        return RC_OK;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    if (rc == RC_PEER)
        tell_lost(r, x);
    await_text(waited, sizeof waited, r, x);
    return rc_raise(rc, "%.360s; %s", message, waited);
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
    const uint64_t began_ns = world_now_ns(p->rank->world);

    *out = rank_message(is_hollow(p), x, n_elems, neighbour(p, way, true), tag_of(way, micro_batch));
    const enum rc rc = transport_send(p->transport, out);
    p->rank->pipe_sending_ns += world_now_ns(p->rank->world) - began_ns;
    return rc;
}

static enum rc passed(void *arg, enum stage_way way, size_t micro_batch)
{
    struct rank_pipe *p = arg;

    return await(p, xfer_of(p->out, p, way, micro_batch));
}

/* Of all steps that the timeline has: forward and backward of a micro-batch, and a wait for each tensor that is taken
 * or passed on. */
static size_t n_spans(const struct train_job *job)
{
    enum { MOST_SPANS = 1 << 18, OF_A_MICRO_BATCH = 6 };
    const size_t n_of_a_step = OF_A_MICRO_BATCH * job->opts.accumulate;
    const size_t n_steps = span_steps_count(&job->timeline_steps, job->resume.steps_count, job->n_steps);

    return n_steps < MOST_SPANS / n_of_a_step ? n_steps * n_of_a_step : MOST_SPANS;
}

/* Of a compute with memory of its own the tensors of a network are there; those of a replay are the host's. */
static enum rc open_device(struct rank_pipe *p, struct stage_pipe *pipe)
{
    const struct train_job *job = p->rank->job;
    enum rc rc = RC_OK;

    if (job_stages_places(job) == 0)
        return RC_OK;
    TRY(device_pipe_open(&p->device, p->rank->compute, pipe, job_stages_places(job), p->most_elems));
    *pipe = device_pipe_of(p->device);
out:
    return rc;
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
    if (r->job->opts.timeline[0])
        TRY(span_ring_open(&p->ring, "stage", n_spans(r->job)));
    span_ring_keep(p->ring, &r->job->timeline_steps);
    r->stage.pipe = (struct stage_pipe){ expect, take, pass, passed, p, begins, ended };
    TRY(open_device(p, &r->stage.pipe));
out:
    return rc;
}

struct span_ring *rank_pipe_ring(const struct rank *r)
{
    return r->pipe ? r->pipe->ring : NULL;
}

void rank_pipe_close(struct rank *r)
{
    if (!r->pipe)
        return;
    transport_close(&r->pipe->transport);
    device_pipe_close(&r->pipe->device);
    span_ring_close(&r->pipe->ring);
    free(r->pipe->in);
    free(r->pipe->out);
    free(r->pipe);
    r->pipe = NULL;
}

/* --- what the stages of worker 0 have come to --- */

/* n elements from one stage to the first. */
static enum rc move_elems(struct rank_pipe *p, float *x, size_t n, int from)
{
    const bool sends = p->rank->job->stages.number == from;
    const struct rank_move how = { .transport = p->transport,
                                   .peer = sends ? 0 : from,
                                   .sends = sends,
                                   .is_hollow = is_hollow(p),
                                   .tag = tag_of(WAY_VALUE, p->n_micro_batches), /* behind those of micro-batches */
                                   .most_elems = p->most_elems,
                                   .timeout_ms = train_message_limit_ms(p->rank->job) };

    return rank_move(&how, x, n);
}

/* One array of the checkpoint. whole: of stage 0; own: of each. */
static enum rc join_array(struct rank_pipe *p, float *whole, float *own, bool is_state)
{
    const struct job_stages *s = &p->rank->job->stages;
    enum rc rc = RC_OK;

    for (int i = 0; i < s->env.cuts.n_stages; i++) {
        const size_t first = is_state ? s->part[i].first_state : s->part[i].first_param;
        const size_t n = is_state ? s->part[i].n_state : s->part[i].n_params;
        if (i == 0 && s->number == 0 && n > 0)
            memcpy(whole, own, n * sizeof *own);
        else if (i > 0 && (s->number == 0 || s->number == i))
            TRY(move_elems(p, s->number == 0 ? whole + first : own, n, i));
    }
out:
    return rc;
}

enum rc rank_pipe_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own)
{
    const struct job_stages *s = &r->job->stages;
    const bool has_moments = own->kept.moments != NULL;
    enum rc rc = RC_OK;

    if (s->number == 0) {
        *whole = *own;
        whole->n_params = s->whole_params;
        whole->n_state = s->whole_state;
        whole->param = NULL;
        TRY(checkpoint_alloc(whole, has_moments));
    }
    TRY(join_array(r->pipe, whole->param, own->param, false));
    for (size_t i = 0; has_moments && i < (size_t)optimizer_n_moments(&own->optimizer); i++)
        TRY(join_array(r->pipe, s->number == 0 ? whole->kept.moments + i * whole->n_params : NULL,
                       own->kept.moments + i * own->n_params, false));
    TRY(join_array(r->pipe, whole->state, own->state, true));
out:
    if (rc != RC_OK && s->number == 0)
        checkpoint_free(whole);
    return rc;
}

enum rc rank_pipe_share_evaluation(struct rank *r, struct evaluation *e)
{
    const int n_stages = r->job->stages.env.cuts.n_stages;
    struct evaluation all[NETWORK_MAX_STAGES];
    enum rc rc = RC_OK;

    if (!r->pipe)
        return RC_OK;
    TRY(world_allgather(r->job->pipe, e, all, sizeof *e));
    *e = all[n_stages - 1];
out:
    return rc;
}

static enum rc share_losses(struct rank *r)
{
    const size_t n = r->n_done;
    const int last = r->job->stages.env.cuts.n_stages - 1;
    double *own = NULL, *all = NULL;
    enum rc rc = RC_OK;

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

/* The last step ends where the stage that ends last has: behind another one's exchange, maybe. */
static enum rc share_end(struct rank *r)
{
    struct step_stamp *last = &r->stamp[r->n_done - 1];
    const uint64_t own_ns = last->end_ns - r->stamp[0].start_ns;
    uint64_t all_ns[NETWORK_MAX_STAGES], most_ns = own_ns;
    enum rc rc;

    TRY(world_allgather(r->job->pipe, &own_ns, all_ns, sizeof own_ns));
    for (int i = 0; i < r->job->stages.env.cuts.n_stages; i++)
        most_ns = all_ns[i] > most_ns ? all_ns[i] : most_ns;
    last->end_ns += most_ns - own_ns;
out:
    return rc;
}

enum rc rank_pipe_share_stamps(struct rank *r)
{
    enum rc rc = RC_OK;

    if (!r->pipe || r->n_done == 0)
        return RC_OK;
    TRY(share_losses(r));
    TRY(share_end(r));
out:
    return rc;
}
