/* SPDX-License-Identifier: Apache-2.0 */
/* job_stages.c - see job_stages.h. */
#include "harness/train/job_stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "models/engine/network.h"

const char *job_stages_why_not(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const struct {
        bool is_given;
        const char *why;
    } refused[] = {
        { !job->workload->network, "the model is no network, whose layers could be cut apart" },
        { o->forward_only, "--forward-only computes no gradients; leave out one of the two" },
        { !job->compute->host_memory, "stages are built for memory of the host only; --compute cpu" },
        { job->n_drivers > 0, "--input feed pushes whole samples to one rank; --input direct" },
        { job->split_opts.kind != SPLIT_IID, "--split gives samples to ranks, not to pipelines" },
        { job->omitted != 0, "--omit leaves out what ranks do that have all of the network" },
        { o->alternate_exchange > 0, "--alternate-exchange takes turns that the stages would not take together" },
        { o->average_every > 0, "--average-every averages what each rank has of a whole network" },
        { o->trajectory[0] != '\0' || o->messages[0] != '\0',
          "--trajectory and --messages are of the ranks of one stage" },
        { o->restarts > 0, "--restarts begins a training again on one rank; --save-every, and --resume by hand" },
        { job->on_loss == ON_LOSS_REPORT, "a pipeline cannot go on without one of its stages; --on-loss abort" },
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

enum rc job_stages_resolve(struct train_job *job, struct network **network)
{
    struct job_stages *s = &job->stages;
    struct network *whole = *network, *stage = NULL;
    double *cost = NULL;
    enum rc rc = RC_OK;

    if (job->opts.stages <= 1)
        return RC_OK;
    if ((int)job->opts.stages > network_most_stages(whole))
        FAIL(RC_INVAL, "--stages %llu: model %s can be cut into %d at most", (unsigned long long)job->opts.stages,
             job->opts.model, network_most_stages(whole));
    cost = malloc((size_t)whole->n_nodes * sizeof *cost);
    if (!cost)
        FAIL(RC_NOMEM, "no memory for the stages of a network");
    network_flops_of_nodes(whole, cost);
    s->env.number = s->number;
    s->env.recomputes = job->opts.recompute;
    s->env.schedule = strcmp(job->opts.schedule, "gpipe") == 0 ? SCHEDULE_GPIPE : SCHEDULE_1F1B;
    s->whole_params = whole->n_params;
    s->whole_state = whole->n_state;
    TRY(network_balance(&s->env.cuts, whole, cost, (int)job->opts.stages));
    for (int i = 0; i < s->env.cuts.n_stages; i++) {
        const struct network_range r = network_stage_range(whole, &s->env.cuts, i);
        s->part[i] = (struct checkpoint_part){ r.first_param, r.n_params, r.first_state, r.n_state };
    }
    TRY(network_open_stage(&stage, whole, &s->env.cuts, s->number));
    for (int i = 0; i + 1 < (int)job->opts.stages; i++) {
        const size_t n_elems = network_passed_elems(whole, &s->env.cuts, i);
        s->most_passed_elems = n_elems > s->most_passed_elems ? n_elems : s->most_passed_elems;
    }
    TRY(transport_find(&s->transport, transport_auto(&job->world->module, 0)));
    job->n_state = stage->n_state;
    network_close(network);
    *network = stage;
out:
    free(cost);
    return rc;
}

void job_stages_role(char *out, size_t n_bytes, const struct train_job *job, bool is_worker)
{
    const char *role = is_worker ? "worker" : "server";

    if (job->opts.stages > 1)
        (void)snprintf(out, n_bytes, "%s, stage %d", role, job->stages.number);
    else
        (void)snprintf(out, n_bytes, "%s", role);
}

double job_stages_bubble_ratio(const struct train_job *job)
{
    const double S = (double)job->opts.stages, M = (double)job->opts.accumulate;

    return (S - 1) / (M + S - 1);
}
