/* SPDX-License-Identifier: Apache-2.0 */
/* stages.c - --stages S: every worker is a pipeline of S ranks; see stages.h. */
#include "harness/train/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/exchange/communicator.h"
#include "harness/net/transport.h"
#include "harness/train/job.h"
#include "harness/train/job_batch.h"
#include "harness/train/rank_state.h"
#include "harness/train/shard.h"
#include "harness/world/span.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network.h"
#include "models/engine/stage.h"
#include "models/replay/profile.h"

/* --- the job of a stage --- */

size_t job_stages_held(const struct train_job *job, size_t n_micro_batches)
{
    const struct pipeline_stage *s = &job->stages.env;

    return job->opts.stages > 1 ? stage_held(s->schedule, s->number, s->cuts.n_stages, n_micro_batches) : 0;
}

size_t job_stages_places(const struct train_job *job)
{
    const size_t n_held = job_stages_held(job, job->opts.accumulate);
    const bool is_device = compute_has_own_memory(job->compute) && !job->profile;

    return !is_device || job->opts.stages <= 1 ? 0 : n_held > DEVICE_PIPE_LEAST ? n_held : DEVICE_PIPE_LEAST;
}

bool job_stages_only_balance(const struct train_job *job, bool model_is_given)
{
    return job->opts.stages > 1 && job->opts.profile[0] != '\0' && model_is_given && job->workload->network;
}

/* What the nodes of the network cost: the times of p, or without it multiply-adds. cost: [n_nodes] */
static void find_costs(double *cost, const struct network *n, const struct profile *p)
{
    network_flops_of_nodes(n, cost);
    for (int i = 0; p && i < n->n_nodes; i++)
        cost[i] = (double)p->layer[i].forward_ns + (double)p->layer[i].backward_ns;
}

static void note_costs(struct job_stages *s, const double *cost, const struct profile *p)
{
    const int n = s->env.cuts.n_stages;
    double sum = 0;

    for (int i = 0, node = 0; i < n; i++) {
        s->cost_ratio[i] = 0;
        s->forward_s[i] = s->backward_s[i] = p ? 0 : (double)NAN;
        for (; node < s->env.cuts.end[i]; node++) {
            s->cost_ratio[i] += cost[node];
            s->forward_s[i] += p ? 1e-9 * (double)p->layer[node].forward_ns / p->batch : 0;
            s->backward_s[i] += p ? 1e-9 * (double)p->layer[node].backward_ns / p->batch : 0;
        }
        sum += s->cost_ratio[i];
    }
    for (int i = 0; i < n && sum > 0; i++)
        s->cost_ratio[i] *= n / sum;
}

/* What each stage has of all parameters, and passes on: of the network at 1/divisor of its bytes. */
static void note_bytes(struct job_stages *s, const struct network *whole, size_t divisor,
                       const struct profile *replayed)
{
    for (int i = 0; i < s->env.cuts.n_stages; i++) {
        const struct network_range r = network_stage_range(whole, &s->env.cuts, i);
        s->part[i] = (struct checkpoint_part){ r.first_param, r.n_params, r.first_state, r.n_state };
        if (i + 1 < s->env.cuts.n_stages)
            s->passed_elems[i] = profile_divided(network_passed_elems(whole, &s->env.cuts, i), divisor);
        if (s->passed_elems[i] > s->most_passed_elems)
            s->most_passed_elems = s->passed_elems[i];
    }
    s->whole_params = whole->n_params;
    s->whole_state = whole->n_state;
    if (!replayed)
        return;
    s->whole_params = s->whole_state = 0;
    for (int i = 0, layer = 0; i < s->env.cuts.n_stages; i++) {
        s->part[i] = (struct checkpoint_part){ .first_param = s->whole_params };
        for (; layer < s->env.cuts.end[i]; layer++)
            for (int k = 0; k < replayed->layer[layer].n_tensors; k++)
                s->part[i].n_params += replayed->layer[layer].tensor[k].n_elems;
        s->whole_params += s->part[i].n_params;
    }
}

struct memory_limits {    /* --memory-limit, of stages that are thought of */
    struct train_job job; /* what it points to is the job's, and read */
    const struct network *whole;
    enum rc rc; /* of what could not be counted */
};

static bool fits(void *arg, int number, int first_node, int end_node)
{
    struct memory_limits *l = arg;
    struct job_stages *s = &l->job.stages;
    const struct network_stages cuts = { .n_stages = number > 0 ? 2 : 1,
                                         .end = { number > 0 ? first_node : end_node, end_node } };
    const int at = number > 0;
    struct network *stage = NULL;
    size_t n_bytes = 0;
    enum rc rc;

    s->env.number = s->number = number;
    TRY(network_open_stage(&stage, l->whole, &cuts, at));
    TRY(job_shard_bytes(&n_bytes, &l->job, stage));
out:
    network_close(&stage);
    l->rc = l->rc == RC_OK ? rc : l->rc;
    return n_bytes <= l->job.opts.memory_limit;
}

/* So that the most expensive stage costs the least, and none needs more than --memory-limit. */
static enum rc balance(struct train_job *job, const struct network *whole, const double *cost)
{
    struct pipeline_stage *env = &job->stages.env;
    const int n_stages = (int)job->opts.stages;
    struct memory_limits within = { .job = *job, .whole = whole };
    const struct network_limits limits = { fits, &within };
    enum rc rc;

    if (job->opts.memory_limit == 0 || job->profile)
        return network_balance(&env->cuts, whole, cost, n_stages);
    within.job.stages.env.cuts.n_stages = n_stages;
    rc = network_balance_within(&env->cuts, whole, cost, n_stages, &limits);
    if (rc == RC_INVAL && within.rc == RC_OK)
        return rc_raise(RC_INVAL, "--memory-limit %llu: model %s cannot be cut into %d stages that need no more each",
                        (unsigned long long)job->opts.memory_limit, whole->name, n_stages);
    return rc == RC_OK ? within.rc : rc;
}

/* Where the network is cut, and what follows from that. times: NULL: none are known. */
static enum rc cut(struct train_job *job, const struct network *whole, size_t divisor, const struct profile *times)
{
    struct job_stages *s = &job->stages;
    double *cost = NULL;
    enum rc rc = RC_OK;

    if ((int)job->opts.stages > network_most_stages(whole))
        FAIL(RC_INVAL, "--stages %llu: model %s can be cut into %d at most", (unsigned long long)job->opts.stages,
             whole->name, network_most_stages(whole));
    cost = malloc((size_t)whole->n_nodes * sizeof *cost);
    if (!cost)
        FAIL(RC_NOMEM, "no memory for the stages of a network");
    find_costs(cost, whole, times);
    s->env.number = s->number;
    s->env.recomputes = job->opts.recompute;
    s->env.schedule = strcmp(job->opts.schedule, "gpipe") == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B;
    TRY(balance(job, whole, cost));
    note_costs(s, cost, times);
    note_bytes(s, whole, divisor, job->profile);
    s->env.in_elems = s->number > 0 ? s->passed_elems[s->number - 1] : 0;
    s->env.out_elems = s->passed_elems[s->number]; /* 0: the last one */
    /* between processes one that moves tensors while stages compute: MPI does so only while a rank waits in it */
    TRY(transport_find(&s->transport,
                       transport_auto(&job->world->module, job->world->module.caps & WORLD_LAUNCHED ? TR_ASYNC : 0)));
out:
    free(cost);
    return rc;
}

/* --profile of a network that is trained: each of its nodes, in its size. */
static enum rc load_times(struct profile **out, const struct train_job *job, const struct network *whole)
{
    const char *path = job->opts.profile;
    struct network *recorded = NULL;
    size_t divisor;
    enum rc rc;

    TRY(file_of_option(profile_load(out, path), "profile"));
    TRY(file_of_option(profile_open_network(&recorded, &divisor, *out, path), "profile"));
    if (strcmp(recorded->name, whole->name) != 0 || divisor > 1 || recorded->n_nodes != whole->n_nodes ||
        recorded->n_params != whole->n_params)
        FAIL(RC_INVAL, "--profile %s: is of %s with %zu parameters, and what is trained is %s with %zu", path,
             (*out)->model, profile_n_params(*out), whole->name, whole->n_params);
out:
    network_close(&recorded);
    return rc;
}

enum rc job_stages_resolve(struct train_job *job, struct network **network)
{
    struct network *whole = NULL, *stage = NULL;
    struct profile *times = NULL;
    size_t divisor = 1;
    enum rc rc = RC_OK;

    if (job->opts.stages <= 1)
        return RC_OK;
    if (job->profile) {
        TRY(file_of_option(profile_open_network(&whole, &divisor, job->profile, job->opts.profile), "profile"));
        TRY(cut(job, whole, divisor, job->profile));
        goto out;
    }
    if (job->opts.profile[0])
        TRY(load_times(&times, job, *network));
    TRY(cut(job, *network, divisor, times));
    TRY(network_open_stage(&stage, *network, &job->stages.env.cuts, job->stages.number));
    job->n_state = stage->n_state;
    network_close(network);
    *network = stage;
out:
    profile_close(&times);
    network_close(&whole);
    return rc;
}

size_t job_stages_replay_bytes(const struct train_job *job, size_t B)
{
    const struct pipeline_stage *s = &job->stages.env;
    const size_t most = s->in_elems > s->out_elems ? s->in_elems : s->out_elems;

    if (!job->profile || job->opts.stages <= 1)
        return 0;
    return (job_stages_held(job, job->opts.accumulate) * (s->in_elems + s->out_elems) + most) * B * sizeof(float);
}

double job_stages_imbalance(const struct train_job *job)
{
    double most = 0;

    for (int i = 0; i < job->stages.env.cuts.n_stages; i++)
        most = job->stages.cost_ratio[i] > most ? job->stages.cost_ratio[i] : most;
    return most;
}

void job_stages_role(char *out, size_t n_bytes, const struct train_job *job, bool is_worker)
{
    char stage[16] = "", shard[16] = "";

    if (job->opts.stages > 1)
        (void)snprintf(stage, sizeof stage, ", stage %d", job->stages.number);
    if (is_worker && job->shard.n_shards > 1)
        (void)snprintf(shard, sizeof shard, ", shard %d", job->shard.number);
    (void)snprintf(out, n_bytes, "%s%s%s", is_worker ? "worker" : "server", stage, shard);
}

int job_stages_rank(const struct train_job *job, int worker)
{
    return job->opts.stages > 1 ? worker * (int)job->opts.stages + job->stages.number : worker;
}

double job_stages_bubble_ratio(const struct train_job *job)
{
    return stage_bubble_ratio((int)job->opts.stages, job->opts.accumulate);
}

/*
 * The ranks of one pipeline, and how tensors get from stage to stage (models.P3).
 *
 * Each tensor is a message: its tag says which way it goes and of which micro-batch it is, so that those of two
 * directions and of later micro-batches wait for nobody.
 */

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
    const size_t n_steps = job->n_steps;

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

/* --- the bound --- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

bool stages_have_profile(const struct train_job *job)
{
    return !isnan(job->stages.forward_s[0]);
}

/* Of a micro-batch. */
static void fill_times(struct stage_times *out, const struct train_job *job, const struct stage_limits *limits)
{
    const struct job_stages *s = &job->stages;
    const double B = (double)job->opts.batch / (double)job->opts.accumulate;

    const bool is_profiled = stages_have_profile(job);

    for (int i = 0; i < s->env.cuts.n_stages; i++)
        out[i] = (struct stage_times){
            .forward_s = (is_profiled ? B * s->forward_s[i] : limits[i].forward_s) + limits[i].gather_s,
            .backward_s = (is_profiled ? B * s->backward_s[i] : limits[i].backward_s) + limits[i].scatter_s,
            .latency_s = limits[i].latency_s,
            .pass_s = limits[i].pass_s
        };
}

enum rc stages_find_bound(double *bound_s, const struct train_job *job, const struct stage_limits *limits)
{
    const struct job_stages *s = &job->stages;
    const int n = s->env.cuts.n_stages;
    struct stage_times times[NETWORK_MAX_STAGES] = { { 0 } };
    double step_s, longest_s = 0;
    enum rc rc = RC_OK;

    *bound_s = NAN;
    fill_times(times, job, limits);
    for (int i = 0; i < n; i++) {
        const bool is_known = stages_have_profile(job) || limits[i].forward_s > 0;
        if (!is_known || isnan(limits[i].exchange_s))
            return RC_OK;
        times[i].tail_s = train_waits_for_all(job) && !limits[i].overlaps ? limits[i].exchange_s : 0;
        longest_s = larger(longest_s, limits[i].exchange_s);
    }
    TRY(stage_least_period(&step_s, times, s->env.schedule, n, job->opts.accumulate));
    *bound_s = larger(step_s, longest_s);
out:
    return rc;
}

double stages_alone_samples_per_s(const struct train_job *job)
{
    const struct job_stages *s = &job->stages;
    double sample_s = 0;

    for (int i = 0; i < s->env.cuts.n_stages; i++)
        sample_s += s->forward_s[i] + s->backward_s[i];
    return sample_s > 0 ? 1 / sample_s : (double)NAN;
}

void record_stages(struct record *r, const struct train_job *job, const struct train_result *result)
{
    if (job->opts.stages <= 1)
        return;
    record_u64(r, "stages_count", job->opts.stages);
    record_text(r, "schedule", job->opts.schedule);
    record_f64(r, "stage_imbalance_ratio", job_stages_imbalance(job));
    record_f64(r, "bubble_ratio", job_stages_bubble_ratio(job));
    record_f64(r, "pipeline_bound_s", result->pipe_bound_s > 0 ? result->pipe_bound_s : NAN);
    record_text(r, "pipeline_bound_by", stages_have_profile(job) ? "profile" : "run");
}
