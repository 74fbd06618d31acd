/* SPDX-License-Identifier: Apache-2.0 */
/* job_stages.c - see job_stages.h. */
#include "harness/train/job_stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/net/transport.h"
#include "harness/train/job_shard.h"
#include "harness/train/job_work.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network.h"
#include "models/engine/stage_timing.h"
#include "models/replay/profile.h"

const char *job_stages_why_not(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const struct {
        bool is_given;
        const char *why;
    } refused[] = {
        { !job->workload->network && !job->profile, "the model is no network, whose layers could be cut apart" },
        { o->forward_only, "--forward-only computes no gradients; leave out one of the two" },
        { job->n_drivers > 0, "--input feed pushes whole samples to one rank; --input direct" },
        { job->split_opts.kind != SPLIT_IID, "--split gives samples to ranks, not to pipelines" },
        { job->omitted != 0, "--omit leaves out what ranks do that have all of the network" },
        { o->alternate_exchange > 0, "--alternate-exchange takes turns that the stages would not take together" },
        { o->average_every > 0, "--average-every averages what each rank has of a whole network" },
        { o->trajectory[0] != '\0' || o->messages[0] != '\0',
          "--trajectory and --messages are of the ranks of one stage" },
        { job->on_loss == ON_LOSS_REPORT, "a pipeline cannot continue without one of its stages; use --on-loss abort" },
        { o->colocate, "--colocate puts servers beside workers, which are several ranks here" },
        { o->stop_at_step > 0, "--stop-at-step counts the updates of one stage's servers" },
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return refused[i].why;
    return NULL;
}

enum rc job_stages_check(const struct train_job *job)
{
    const char *why = job->opts.stages > 1 ? job_stages_why_not(job) : NULL;

    if (why)
        return rc_raise(RC_INVAL, "--stages %llu: %s", (unsigned long long)job->opts.stages, why);
    if (job->opts.recompute && job->profile)
        return rc_raise(RC_INVAL, "--recompute: model replay keeps no activations; leave out one of the two");
    if (job->opts.recompute && job->opts.stages <= 1)
        return rc_raise(RC_INVAL, "--recompute: a rank that has all of a network holds one micro-batch at a time, of "
                                  "which nothing is computed again; with --stages 2 or more");
    return RC_OK;
}

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
