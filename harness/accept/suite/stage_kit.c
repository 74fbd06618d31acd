/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_kit.c - see stage_kit.h. The judges are replaced (linker option --wrap): stages only ask them whether more
 * repeats are wanted.
 */
#include "harness/accept/suite/stage_kit.h"

#include <signal.h>
#include <string.h>

#include "harness/accept/outliers.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"

enum rc __wrap_blame_open_pairs(const struct tournament *t, const struct blame_terms *terms, bool *open, int *n_open);
bool __wrap_outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms);

/* Of the one run of a process that is under way. */
static const struct kit_run *running;

enum rc __wrap_blame_open_pairs(const struct tournament *t, const struct blame_terms *terms, bool *open, int *n_open)
{
    (void)terms;
    *n_open = 0;
    for (int from = 0; from < t->n_nodes; from++)
        for (int to = 0; to < t->n_nodes; to++) {
            const bool is = from != to && running->is_pair_open && running->is_pair_open(t->n_repeats, from, to);
            open[from * t->n_nodes + to] = is;
            *n_open += is;
        }
    return RC_OK;
}

bool __wrap_outliers_open(const struct acceptance *a, int metric, const struct blame_terms *terms)
{
    (void)terms;
    return running->is_metric_open && running->is_metric_open(a->metric[metric].n_repeats);
}

struct criteria kit_criteria(void)
{
    return (struct criteria){ .stage_limit_s = 1e6,
                              .false_discovery_ratio = 0.01,
                              .least_effect_ratio = 0.1,
                              .least_repeats_count = 3,
                              .most_repeats_count = 5,
                              .noise_quantum_s = 200e-6,
                              .noise_s = 6e-3,
                              .pairwise_message_bytes = 1 << 20 };
}

static void charge(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

static void note_progress(void *arg, double done_ratio, const char *what)
{
    struct kit_run *run = arg;

    if (!(done_ratio >= 0 && done_ratio <= 1)) {
        fprintf(stderr, "stage_kit: %s: progress of %g is none\n", what, done_ratio);
        abort();
    }
    run->progress = done_ratio;
    if (run->n_progress++ == run->signal_at && run->signal != 0)
        (void)raise(run->signal);
}

struct job {
    struct kit_run *run;
    struct inject inject;
    const struct transport_ops *transport;
    const struct compute_backend *backend;
    const struct cluster *cluster;
};

static enum rc run_stages(struct stage_env *env, struct kit_run *run)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < KIT_MAX_STAGES && run->stage[i]; i++) {
        env->started_ns = world_now_ns(env->world);
        TRY(run->stage[i](env));
        if (env->out)
            run->took_ns = world_now_ns(env->world) - env->started_ns;
    }
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct kit_run *run = job->run;
    const struct compute_env of = { .charge = w->ops->charge ? charge : NULL, .arg = w, .n_threads = 1 };
    struct fleet fleet = { .n_nodes = 0 };
    struct compute *compute = NULL;
    struct stage_env env;
    enum rc rc;

    TRY(fleet_open(&fleet, w, run->node_per_rank));
    TRY(compute_open(&compute, job->backend, &of));
    env = (struct stage_env){ .world = w,
                              .fleet = &fleet,
                              .criteria = &run->criteria,
                              .inject = &job->inject,
                              .transport = job->transport,
                              .backend = job->backend,
                              .cluster = job->cluster,
                              .compute = compute,
                              .n_threads = 1,
                              .wait = run->wait,
                              .timeout_ms = w->ops->module.caps & WORLD_VIRTUAL_TIME ? WAIT_FOREVER
                                            : run->timeout_ms > 0                    ? run->timeout_ms
                                                                                     : 120000,
                              .progress = note_progress,
                              .progress_arg = run };
    if (w->rank == 0) {
        TRY(acceptance_open(&run->accepted, fleet.n_nodes, fleet.n_ranks));
        fleet_describe(&run->accepted, &fleet);
        env.out = &run->accepted;
    }
    TRY(run_stages(&env, run));
    if (w->rank == 0) {
        memcpy(run->ended, env.ended, sizeof run->ended);
        run->fleet = fleet;
        fleet = (struct fleet){ .n_nodes = 0 };
    }
out:
    compute_close(&compute);
    fleet_close(&fleet);
    return rc;
}

enum rc kit_run_stages(struct kit_run *run)
{
    struct job job = { .run = run };
    const struct world_ops *world;
    struct cluster cluster;
    struct world_opts opts = { .cluster = NULL };
    enum rc rc;

    running = run;
    TRY(world_find(&world, run->world));
    TRY(transport_find(&job.transport, run->transport));
    TRY(compute_find(&job.backend, run->compute));
    TRY(inject_parse(&job.inject, run->inject ? run->inject : ""));
    cluster_default(&cluster);
    TRY(cluster_set(&cluster, NULL, run->cluster ? run->cluster : ""));
    cluster.seed = 7;
    job.cluster = opts.cluster = world->module.caps & WORLD_VIRTUAL_TIME ? &cluster : NULL;
    opts.stall = (struct peer_opts){ .warn_ns = run->stall_ns, .abort_ns = run->stall_ns };
    TRY(world_run(world, &opts, run->n_ranks, body, &job));
out:
    return rc;
}

void kit_must_run(struct kit_run *run)
{
    if (kit_run_stages(run) != RC_OK)
        fail_msg("%s", rc_message());
}

void kit_close(struct kit_run *run)
{
    acceptance_close(&run->accepted);
    fleet_close(&run->fleet);
}

double kit_metric(const struct kit_run *run, int metric, int rank, int repeat)
{
    const struct rank_metric *m = &run->accepted.metric[metric];

    assert_non_null(m->value);
    assert_true(repeat < m->n_repeats);
    return m->value[rank * m->n_repeats + repeat];
}
