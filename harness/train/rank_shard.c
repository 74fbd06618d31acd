/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_shard.c - the ranks of a group of --shard-dense (job_shard.h), and how their activations cross
 * (models/engine/shard.h).
 *
 * A gather and a scatter are one message from each rank of the group to each other one: the bytes of a ring, and one
 * latency. Sums are added in the order of shards, whatever came first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "harness/bench/alpha_beta.h"
#include "harness/net/transport.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_shard.h"
#include "harness/train/job_stages.h"
#include "harness/train/rank_move.h"
#include "harness/train/rank_state.h"
#include "harness/world/span.h"
#include "models/engine/device_pipe.h"

enum { TAG_GATHER = 1, TAG_SCATTER, TAG_JOIN, MOST_AHEAD = 8 }; /* TAG_JOIN + 1, too: rank_move.h */

struct rank_shard {
    struct rank *rank;
    const struct train_job *whole; /* the job of all shards */
    struct train_job job;          /* of this one */
    struct dense_shard env;
    struct dense_shard given;    /* to the training: env, or by way of ... */
    struct device_group *device; /* ... this, where the compute has memory of its own; else NULL */
    struct compute *host;        /* then: what adds up pieces; else NULL */
    struct world *group, *same;  /* by shard; of the ranks that have this shard, by group */
    struct exchange_shard exchanged;
    struct transport *transport; /* of the group */
    struct xfer in[NETWORK_MAX_SHARDS], out[NETWORK_MAX_SHARDS];
    size_t most_elems; /* of a piece */
    float *room;       /* [n_shards][most_elems]: pieces to be added up; hollow: NULL */
    struct shard_figures figures;
    bool is_still;          /* nothing crosses: computing alone is measured */
    struct span_ring *ring; /* NULL: no timeline */
};

static bool is_hollow(const struct rank_shard *s)
{
    return !s->rank->compute->ops->touches_memory;
}

/* The wait for a message is one of the run's, and names the shard that is waited for. */
static enum rc await(struct rank_shard *s, struct xfer *x)
{
    const int timeout_ms = train_message_limit_ms(s->whole), own = s->env.number;
    char message[RC_MESSAGE_BYTES];
    const enum rc rc = transport_wait(s->transport, x, timeout_ms);

    if (rc == RC_OK)
        return RC_OK;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "%.360s; shard %d waited for %s of shard %d, which is rank %d", message, own,
                    x->tag == TAG_GATHER ? "the activations" : "the gradients", x->peer,
                    job_stages_rank(s->whole, s->rank->world->rank - own + x->peer));
}

/* Into the timeline, until now. */
static void note(struct rank_shard *s, const char *what, uint64_t began_ns, uint64_t ended_ns)
{
    const struct rank *r = s->rank;
    const struct span span = { .start_ns = began_ns,
                               .end_ns = ended_ns,
                               .what = what,
                               .segment = -1,
                               .step = (uint32_t)(r->job->resume.steps_count + r->n_begun - 1) };

    span_ring_add(s->ring, &span);
}

/* The messages in s->in and s->out, of all others, have crossed. */
static enum rc await_all(struct rank_shard *s, const char *what)
{
    const uint64_t began_ns = world_now_ns(s->rank->world);
    enum rc rc = RC_OK;

    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(await(s, &s->in[k]));
    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(await(s, &s->out[k]));
    const uint64_t ended_ns = world_now_ns(s->rank->world);
    s->figures.waited_ns += ended_ns - began_ns;
    s->rank->shard_waited_ns += ended_ns - began_ns;
    note(s, what, began_ns, ended_ns);
out:
    return rc;
}

/* x + n, or NULL where there is no memory. */
static float *at(float *x, size_t n)
{
    return x ? x + n : NULL;
}

/* Begin to receive all, then to send: the next shard first, so that not all send to the same one. */
static enum rc post_all(struct rank_shard *s)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(transport_recv(s->transport, &s->in[k]));
    for (int i = 1; i < s->env.n_shards; i++)
        TRY(transport_send(s->transport, &s->out[(s->env.number + i) % s->env.n_shards]));
out:
    return rc;
}

static enum rc gather(void *arg, float *whole, const float *own, const size_t *n_elems)
{
    struct rank_shard *s = arg;
    const size_t n_own = n_elems[s->env.number];
    size_t offset = 0;
    enum rc rc;

    if (s->is_still)
        return RC_OK;
    for (int k = 0; k < s->env.n_shards; offset += n_elems[k++]) {
        s->in[k] = rank_message(is_hollow(s), at(whole, offset), n_elems[k], k, TAG_GATHER);
        s->out[k] = rank_message(is_hollow(s), own, n_own, k, TAG_GATHER);
        if (k == s->env.number && whole)
            memcpy(whole + offset, own, n_own * sizeof *own);
    }
    TRY(post_all(s));
    TRY(await_all(s, "gather"));
    s->figures.gathered_bytes += (uint64_t)(s->env.n_shards - 1) * n_own * sizeof *own;
out:
    return rc;
}

static enum rc scatter(void *arg, float *own, float *whole, const size_t *n_elems)
{
    struct rank_shard *s = arg;
    const size_t n_own = n_elems[s->env.number];
    const float *piece[NETWORK_MAX_SHARDS];
    struct compute *adds = s->host ? s->host : s->rank->compute;
    size_t offset = 0;
    enum rc rc;

    if (s->is_still)
        return RC_OK;
    for (int k = 0; k < s->env.n_shards; offset += n_elems[k++]) {
        float *room = at(s->room, (size_t)k * s->most_elems);
        s->in[k] = rank_message(is_hollow(s), room, n_own, k, TAG_SCATTER);
        s->out[k] = rank_message(is_hollow(s), at(whole, offset), n_elems[k], k, TAG_SCATTER);
        piece[k] = k == s->env.number ? at(whole, offset) : room;
        s->figures.scattered_bytes += k != s->env.number ? n_elems[k] * sizeof *own : 0;
    }
    TRY(post_all(s));
    TRY(await_all(s, "scatter"));
    if (own)
        memcpy(own, piece[0], n_own * sizeof *own);
    for (int k = 1; k < s->env.n_shards; k++)
        compute_accumulate(adds, own, piece[k], n_own);
    TRY(compute_sync(adds));
out:
    return rc;
}

/* --- open, close --- */

enum rc rank_shard_take(struct rank *r)
{
    const int K = r->job->shard.n_shards;
    struct rank_shard *s;
    enum rc rc = RC_OK;

    if (K <= 1)
        return RC_OK;
    s = calloc(1, sizeof *s);
    if (!s)
        return rc_raise(RC_NOMEM, "no memory for a shard");
    s->rank = r;
    s->whole = r->job;
    s->env = (struct dense_shard){ r->world->rank % K, K, { gather, scatter, s } };
    r->shard = s;
    TRY(job_shard_take(&s->job, r->job, s->env.number));
    r->job = &s->job;
out:
    return rc;
}

/* Of all steps that the timeline has. */
static size_t n_spans(const struct train_job *job)
{
    enum { MOST_SPANS = 1 << 18 };
    const size_t n_forward = (size_t)job->shard.traffic.n_gathers, n_backward = (size_t)job->shard.traffic.n_scatters;
    const size_t n_of_a_step = (2 * n_forward + n_backward) * job->opts.accumulate; /* forward twice: --recompute */
    const size_t n_steps = span_steps_count(&job->timeline_steps, job->resume.steps_count, job->n_steps);

    return n_steps < MOST_SPANS / n_of_a_step ? n_steps * n_of_a_step : MOST_SPANS;
}

/* Of a compute with memory of its own the activations of a network are there; those of a replay are the host's. */
static enum rc open_device(struct rank_shard *s)
{
    const struct compute_backend *backend = s->rank->compute->ops;
    enum rc rc = RC_OK;

    s->given = s->env;
    if (!compute_has_own_memory(backend))
        return RC_OK;
    TRY(compute_open(&s->host, &compute_cpu, &(struct compute_env){ .n_threads = 1 }));
    if (s->whole->profile)
        return RC_OK;
    TRY(device_group_open(&s->device, s->rank->compute, &s->env, s->most_elems));
    s->given = device_group_of(s->device);
out:
    return rc;
}

enum rc rank_shard_open(struct rank *r)
{
    struct rank_shard *s = r->shard;
    enum rc rc = RC_OK;

    if (!s)
        return RC_OK;
    const int own = r->world->rank, group = own / s->env.n_shards;
    const size_t B = job_micro_batch_of(r->job, own);
    s->most_elems = r->job->shard.most_elems * B;
    const struct transport_plan plan = { .most_message_bytes = s->most_elems * sizeof(float),
                                         .most_messages = MOST_AHEAD };
    TRY(world_split(r->world, group, own, &s->group));
    TRY(world_split(r->world, s->env.number, own, &s->same));
    s->exchanged = (struct exchange_shard){ s->same, r->job->shard.n_common_params };
    if (!is_hollow(s)) {
        s->room = calloc((size_t)s->env.n_shards * s->most_elems, sizeof *s->room);
        if (!s->room)
            FAIL(RC_NOMEM, "no memory for the activations of %d shards", s->env.n_shards);
    }
    if (r->job->opts.timeline[0])
        TRY(span_ring_open(&s->ring, "shard", n_spans(&s->job)));
    span_ring_keep(s->ring, &s->job.timeline_steps);
    TRY(transport_open_planned(&s->transport, s->job.shard.transport, s->group, &plan));
    s->transport->fails_together = true;
    TRY(open_device(s));
out:
    return rc;
}

void rank_shard_close(struct rank *r)
{
    struct rank_shard *s = r->shard;

    if (!s)
        return;
    transport_close(&s->transport);
    span_ring_close(&s->ring);
    device_group_close(&s->device);
    compute_close(&s->host);
    world_split_close(&s->same);
    world_split_close(&s->group);
    free(s->room);
    r->job = s->whole;
    job_shard_free(&s->job);
    free(s);
    r->shard = NULL;
}

const struct dense_shard *rank_shard_env(const struct rank *r)
{
    return r->shard ? &r->shard->given : NULL;
}

const struct exchange_shard *rank_shard_exchanged(const struct rank *r)
{
    return r->shard ? &r->shard->exchanged : NULL;
}

uint64_t rank_shard_waited_ns(const struct rank *r)
{
    return r->shard ? r->shard->figures.waited_ns : 0;
}

struct span_ring *rank_shard_ring(const struct rank *r)
{
    return r->shard ? r->shard->ring : NULL;
}

bool rank_shard_gives(const struct rank *r)
{
    return r->shard && r->world->rank < r->shard->env.n_shards;
}

/* --- what limits it --- */

void rank_shard_be_still(struct rank *r, bool is_still)
{
    if (r->shard)
        r->shard->is_still = is_still;
}

/* n exchanges one behind the other, each with a message to each of the others, all on the rank's own link. */
static double least_s(const struct rank_shard *s, const struct alpha_beta *fit, int n, size_t n_elems)
{
    const double n_messages = (double)n * (s->env.n_shards - 1);
    const size_t B = job_micro_batch_of(&s->job, s->rank->world->rank);
    const struct wire_plan plan = { .message_bytes = (size_t)((double)(n_elems * B * sizeof(float)) / n_messages),
                                    .n_in_turn = n,
                                    .n_on_link = n_messages };

    return n > 0 ? alpha_beta_step_s(fit, &plan) : 0;
}

enum rc rank_shard_probe(struct rank *r, double *gather_s, double *scatter_s)
{
    const struct rank_shard *s = r->shard;
    struct alpha_beta fit;
    enum rc rc = RC_OK;

    *gather_s = *scatter_s = 0;
    if (!s)
        return RC_OK;
    const struct alpha_beta_env group = { .world = s->group,
                                          .transport = s->job.shard.transport,
                                          .message_bytes = s->most_elems * sizeof(float),
                                          .is_hollow = is_hollow(s),
                                          .timeout_ms = train_message_limit_ms(s->whole) };
    const struct shard_traffic *t = &s->job.shard.traffic;
    TRY(alpha_beta_measure(&fit, &group));
    *gather_s = least_s(s, &fit, t->n_gathers, t->gathered_elems);
    *scatter_s = least_s(s, &fit, t->n_scatters, t->scattered_elems);
out:
    return rc;
}

/* --- what group 0 has come to --- */

/* n elements from one shard to shard 0. */
static enum rc move_elems(struct rank_shard *s, float *x, size_t n, int from)
{
    const bool sends = s->env.number == from;
    const struct rank_move how = { .transport = s->transport,
                                   .peer = sends ? 0 : from,
                                   .sends = sends,
                                   .is_hollow = is_hollow(s),
                                   .tag = TAG_JOIN,
                                   .most_elems = s->most_elems,
                                   .timeout_ms = train_message_limit_ms(s->whole) };

    return rank_move(&how, x, n);
}

/* One array of n_params: whole of shard 0; own of each, n_own of shard k. */
static enum rc join_array(struct rank_shard *s, float *whole, float *own, const uint64_t *n_own)
{
    float *its = NULL;
    enum rc rc = RC_OK;

    if (s->env.number > 0)
        return move_elems(s, own, n_own[s->env.number], s->env.number);
    TRY(job_shard_paste(whole, own, s->whole, 0));
    for (int k = 1; k < s->env.n_shards; k++) {
        free(its);
        its = malloc(n_own[k] * sizeof *its);
        if (!its)
            FAIL(RC_NOMEM, "no memory for the parameters of shard %d", k);
        TRY(move_elems(s, its, n_own[k], k));
        TRY(job_shard_paste(whole, its, s->whole, k));
    }
out:
    free(its);
    return rc;
}

enum rc rank_shard_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own)
{
    struct rank_shard *s = r->shard;
    const uint64_t n = own->n_params;
    uint64_t n_own[NETWORK_MAX_SHARDS];
    struct checkpoint c = *own;
    enum rc rc = RC_OK;

    c.param = NULL;
    TRY(world_allgather(s->group, &n, n_own, sizeof n));
    if (s->env.number == 0) {
        c.n_params = s->whole->n_params;
        TRY(checkpoint_alloc(&c, own->kept.moments != NULL));
        if (c.n_state > 0)
            memcpy(c.state, own->state, c.n_state * sizeof *c.state);
    }
    TRY(join_array(s, c.param, own->param, n_own));
    for (size_t i = 0; own->kept.moments && i < (size_t)optimizer_n_moments(&own->optimizer); i++)
        TRY(join_array(s, s->env.number == 0 ? c.kept.moments + i * c.n_params : NULL, own->kept.moments + i * n,
                       n_own));
    if (s->env.number == 0) {
        *whole = c;
        c.param = NULL;
    }
out:
    free(c.param);
    return rc;
}

enum rc rank_shard_gather_figures(struct rank *r)
{
    struct rank_shard *s = r->shard;
    struct shard_figures *all;
    enum rc rc = RC_OK;

    if (!rank_shard_gives(r))
        return RC_OK;
    s->figures.n_params = s->job.n_params;
    s->figures.n_common_params = s->job.shard.n_common_params;
    all = calloc((size_t)s->env.n_shards, sizeof *all);
    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the figures of %d shards", s->env.n_shards);
    TRY(world_allgather(s->group, &s->figures, all, sizeof *all));
    if (r->world->rank == 0) {
        r->result.shard = all;
        all = NULL;
    }
out:
    free(all);
    return rc;
}

/* The network, or the stage, is opened only now, when the shard's activations are gone. */
enum rc rank_shard_evaluate(struct rank *r, const struct checkpoint *whole, struct evaluation *out)
{
    const struct train_job *job = r->shard->whole;
    const bool is_stage = job->opts.stages > 1;
    const struct training_env env = { .compute = r->compute,
                                      .dataset = job->dataset,
                                      .seed = job->opts.seed,
                                      .max_batch = job_micro_batch_of(job, 0),
                                      .order = job_batch_order(job, 0),
                                      .forward_only = true,
                                      .network = job->network,
                                      .stage = is_stage ? &r->stage : NULL };
    struct training *training = NULL;
    void *param = NULL;
    size_t n_state = 0;
    enum rc rc;

    TRY(workload_open(&training, job->workload, &env));
    TRY(compute_memory_open(r->compute, &param, whole->n_params * sizeof(float), "the parameters of all shards"));
    compute_put(r->compute, param, whole->param, whole->n_params * sizeof(float));
    float *state = workload_state(training, &n_state);
    if (n_state > 0)
        compute_put(r->compute, state, whole->state, n_state * sizeof(float));
    TRY(workload_evaluate(training, param, job->n_eval, out));
out:
    compute_memory_close(r->compute, &param);
    workload_close(&training);
    return rc;
}
