/* SPDX-License-Identifier: Apache-2.0 */
/* rank_probe.c - what limits a run, measured before its first step and after its last, which leaves no trace in it. */
#include <math.h>
#include <stdlib.h>

#include "harness/bench/alpha_beta.h"
#include "harness/exchange/exchange.h"
#include "harness/train/job_batch.h"
#include "harness/train/probe.h"
#include "harness/train/rank_state.h"
#include "models/engine/training.h"

typedef enum rc probe_fn(struct train_limits *out, const struct probe_env *env);

/* The probe computes gradients, into grad, which changes running means: they are restored. */
static enum rc probe(struct train_limits *out, struct rank *r, float *grad, probe_fn *measure, double activations_s)
{
    const struct probe_env env = { .world = r->world,
                                   .job = r->job,
                                   .compute = r->compute,
                                   .training = r->training,
                                   .wire = exchange_wire_plan(r->exchange),
                                   .activations_s = activations_s,
                                   .param = r->param,
                                   .grad = grad };
    size_t n_state = 0;
    float *state = r->training ? workload_state(r->training, &n_state) : NULL, *kept = NULL;
    enum rc rc;

    if (state) {
        kept = malloc(n_state * sizeof *kept);
        if (!kept)
            return rc_raise(RC_NOMEM, "no memory for a copy of %zu running means", n_state);
        TRY(compute_fetch(r->compute, kept, state, n_state * sizeof *kept));
    }
    TRY(measure(out, &env));
    if (state)
        compute_put(r->compute, state, kept, n_state * sizeof *kept);
out:
    free(kept);
    return rc;
}

/* Of shards: none computes the network alone, and what a gradient takes is measured while nothing crosses. */
static enum rc probe_shards(struct train_limits *out, struct rank *r, float *grad)
{
    double gather_s, scatter_s;
    enum rc rc;

    TRY(rank_shard_probe(r, &gather_s, &scatter_s));
    rank_shard_be_still(r, true);
    TRY(probe(out, r, grad, probe_limits_again, (double)r->job->opts.accumulate * (gather_s + scatter_s)));
    out->baseline_step_s = NAN;
out:
    rank_shard_be_still(r, false);
    return rc;
}

/* No limit by the wire, where it would be one that runs exceed:
 *   - servers beside workers, and several of these on a host: what the host sends goes over a card that its workers
 *     share, or over several: how many it has is told by nothing that can be measured here, and a worker's rate is that
 *     of one of them, or a part of it;
 *   - a server with ranks of its own on the host of a worker, and others elsewhere: what that worker sends crosses no
 *     card, and where workers do not wait for each other it alone may do more steps than the link of the server
 *     carries;
 *   - all on one simulated host whose messages do not share the rate of a rank (local_sharing): what neighbours measure
 *     is then a part of the host's rate that a server, to whom all send at once, is not held to; or each message has a
 *     rate of its own. */
static void drop_wire_limit(struct train_limits *l, const struct rank *r)
{
    if (r->has_no_wire_limit)
        l->wire_s = NAN;
}

/* What a step takes, as rank 0 has found it, to all: servers wait by it. */
static enum rc share_step(struct rank *r)
{
    const struct train_limits *l = &r->result.limits;
    double step_s = l->compute_s + l->wire_s + l->server_s;
    enum rc rc;

    TRY(world_broadcast(r->world, &step_s, sizeof step_s));
    r->step_ns = (uint64_t)(1e9 * step_s);
out:
    return rc;
}

/* Of a stage: how long tensors are on their way to the next one, and its exchange; it does not compute alone. */
static enum rc probe_stage(struct rank *r)
{
    const struct job_stages *s = &r->job->stages;
    const struct alpha_beta_env neighbours = {
        .world = r->job->pipe,
        .transport = s->transport,
        .message_bytes = s->most_passed_elems * job_micro_batch_of(r->job, r->world->rank) * sizeof(float),
        .is_hollow = !r->compute->ops->touches_memory,
        .timeout_ms = train_message_limit_ms(r->job)
    };
    struct alpha_beta fit;
    enum rc rc;

    TRY(probe(&r->result.limits, r, r->grad, probe_exchange, 0));
    drop_wire_limit(&r->result.limits, r);
    TRY(rank_shard_probe(r, &r->result.gather_s, &r->result.scatter_s));
    if (!r->pipe)
        return RC_OK;
    TRY(alpha_beta_measure(&fit, &neighbours));
    const struct wire_plan one = { .message_bytes = neighbours.message_bytes, .n_on_link = 1 };
    r->result.pipe_latency_s = fit.alpha_s < fit.message_s ? fit.alpha_s : fit.message_s;
    r->result.pipe_pass_s = alpha_beta_step_s(&fit, &one);
out:
    return rc;
}

enum rc rank_probe(struct rank *r)
{
    enum rc rc;

    if (r->job->is_trial && r->job->n_servers == 0) /* servers wait by what it measures */
        return RC_OK;
    rank_enter(r, PHASE_PROBE, 0);
    if (r->job->opts.stages > 1)
        return probe_stage(r);
    if (r->shard)
        return probe_shards(&r->result.limits, r, r->grad);
    TRY(probe(&r->result.limits, r, r->grad, probe_limits, 0));
    if (r->job->n_servers > 0)
        TRY(share_step(r));
    drop_wire_limit(&r->result.limits, r);
out:
    return rc;
}

/* The run's own gradients are gone: exchange_final() has freed them. */
enum rc rank_probe_again(struct rank *r)
{
    const bool has_grad = r->training && r->param && !r->job->opts.forward_only;
    void *grad = NULL;
    enum rc rc = RC_OK;

    if (rank_is_virtual(r) || r->job->is_trial || r->job->opts.stages > 1 || r->job->on_loss == ON_LOSS_REPORT ||
        r->n_done < r->job->n_steps)
        return RC_OK;
    if (has_grad)
        TRY(compute_memory_open(r->compute, &grad, r->job->n_params * sizeof(float), "gradient of the probe"));
    TRY(r->shard ? probe_shards(&r->result.limits_after, r, grad)
                 : probe(&r->result.limits_after, r, grad, probe_limits_again, 0));
    drop_wire_limit(&r->result.limits_after, r);
    r->result.has_limits_after = true;
out:
    compute_memory_close(r->compute, &grad);
    return rc;
}
