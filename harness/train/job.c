/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - from options to a job, and all checks, before any world exists: world, ranks, transport, resuming. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "harness/net/transport.h"
#include "harness/train/job_work.h"
#include "harness/train/train.h"
#include "models/profile.h"

static const struct sync_mode *mode_by_name(const char *name)
{
    for (const struct sync_mode *const *m = train_modes(); *m; m++)
        if (strcmp((*m)->name, name) == 0)
            return *m;
    return NULL;
}

static const char *auto_transport(const struct train_job *job)
{
    if (strcmp(job->world->name, "sim") == 0)
        return "sim";
    if (job->mode->needs_servers)
        return "zmq";
    return strcmp(job->world->name, "mpi") == 0 ? "mpi" : "inproc";
}

static enum rc resolve_transport(struct train_job *job)
{
    struct train_opts *o = &job->opts;
    const bool exchanges = job->mode->needs_servers || job->mode->synchronous;
    enum rc rc = RC_OK;

    if (!exchanges && strcmp(o->transport, "auto") != 0)
        return rc_raise(RC_INVAL, "--transport %s: mode %s sends nothing; needs --mode ps or allreduce", o->transport,
                        o->mode);
    if (!exchanges) {
        o->transport = "none";
        return RC_OK;
    }
    if (strcmp(o->transport, "auto") == 0)
        o->transport = auto_transport(job);
    TRY(transport_find(&job->transport, o->transport));
    const bool sim_world = strcmp(job->world->name, "sim") == 0, sim_net = strcmp(o->transport, "sim") == 0;
    if (sim_world != sim_net)
        FAIL(RC_INVAL, "--transport %s: cannot run in world %s", o->transport, job->world->name);
    if (strcmp(o->transport, "mpi") == 0 && strcmp(job->world->name, "mpi") != 0)
        FAIL(RC_INVAL, "--transport mpi: needs --world mpi, but that is %s", job->world->name);
    if (strcmp(o->transport, "inproc") == 0 && strcmp(job->world->name, "threads") != 0)
        FAIL(RC_INVAL, "--transport inproc: needs --world threads, but that is %s", job->world->name);
out:
    return rc;
}

static enum rc resolve_world(struct train_job *job, int n_given_ranks)
{
    struct train_opts *o = &job->opts;
    enum rc rc;

    if (strcmp(o->world, "auto") == 0)
        o->world = n_given_ranks > 0 ? "mpi" : "threads";
    TRY(world_find(&job->world, o->world));
    if (strcmp(o->world, "mpi") != 0 && n_given_ranks > 1)
        FAIL(RC_INVAL, "--world %s: %d processes were launched; use --world mpi, or start without the launcher",
             o->world, n_given_ranks);
    if (strcmp(o->world, "sim") == 0 && o->threads > 1)
        FAIL(RC_INVAL,
             "--threads %llu: world sim computes with one; the cluster's flops_per_s tells how fast a host is",
             (unsigned long long)o->threads);
    if (strcmp(o->compute, "hollow") == 0 && strcmp(o->world, "sim") != 0)
        FAIL(RC_INVAL, "--compute hollow: needs --world sim, but that is %s", o->world);
out:
    return rc;
}

/* Workers, servers, ranks: given or worked out, and whether they fit together. */
static enum rc resolve_ranks(struct train_job *job, int n_given_ranks)
{
    struct train_opts *o = &job->opts;
    const bool mpi = strcmp(job->world->name, "mpi") == 0;

    if (!job->mode->needs_servers)
        o->servers = 0;
    else if (o->servers == 0)
        o->servers = 1;
    const int n_launched = n_given_ranks > 0 ? n_given_ranks : 1;
    if (mpi && o->workers == 0) {
        if ((uint64_t)n_launched <= o->servers)
            return rc_raise(RC_INVAL, "--mode ps: %d ranks were launched, %llu servers and a worker need %llu",
                            n_launched, (unsigned long long)o->servers, (unsigned long long)o->servers + 1);
        o->workers = (uint64_t)n_launched - o->servers;
    }
    if (o->workers == 0)
        o->workers = 1;
    if (strcmp(o->mode, "single") == 0 && o->workers != 1)
        return rc_raise(RC_INVAL, "--workers %llu: mode single has one worker; --mode none is the control for more",
                        (unsigned long long)o->workers);
    job->n_workers = (int)o->workers;
    job->n_servers = (int)o->servers;
    job->n_ranks = job->n_workers + job->n_servers;
    if (mpi && job->n_ranks != n_launched)
        return rc_raise(RC_INVAL, "--workers %d: with %d servers that is %d ranks, but %d were launched",
                        job->n_workers, job->n_servers, job->n_ranks, n_launched);
    return RC_OK;
}

static enum rc resolve_cluster(struct train_job *job)
{
    enum rc rc = RC_OK;

    cluster_default(&job->cluster);
    if (job->opts.cluster[0])
        TRY(cluster_load(&job->cluster, job->opts.cluster));
    if (strcmp(job->opts.world, "sim") == 0)
        TRY(cluster_check(&job->cluster, job->n_ranks));
out:
    return rc;
}

static enum rc check_resume(const struct train_job *job)
{
    const struct checkpoint *c = &job->resume;
    const char *path = job->opts.resume;

    if (strcmp(c->model, job->opts.model) != 0)
        return rc_raise(RC_INVAL, "--resume %s: is of model %s, not %s", path, c->model, job->opts.model);
    if (c->n_params != job->n_params)
        return rc_raise(RC_INVAL, "--resume %s: has %zu parameters, model %s has %zu", path, c->n_params,
                        job->opts.model, job->n_params);
    if (c->n_state != job->n_state)
        return rc_raise(RC_INVAL, "--resume %s: has %zu running means and variances, model %s has %zu", path,
                        c->n_state, job->opts.model, job->n_state);
    if (c->seed != job->opts.seed)
        return rc_raise(RC_INVAL, "--resume %s: is of --seed %llu, not %llu", path, (unsigned long long)c->seed,
                        (unsigned long long)job->opts.seed);
    if (c->steps_count >= job->opts.steps)
        return rc_raise(RC_INVAL, "--steps %llu: %s has done %llu already", (unsigned long long)job->opts.steps, path,
                        (unsigned long long)c->steps_count);
    return RC_OK;
}

static enum rc resolve_resume(struct train_job *job)
{
    enum rc rc = RC_OK;

    if (job->opts.resume[0]) {
        TRY(checkpoint_load(&job->resume, job->opts.resume));
        TRY(check_resume(job));
    }
    if ((size_t)job->n_servers > job->n_params)
        FAIL(RC_INVAL, "--servers %d: model %s has only %zu parameters to share out", job->n_servers, job->opts.model,
             job->n_params);
out:
    return rc;
}

static void resolve_numbers(struct train_job *job)
{
    enum { MOST_STEPS = 200, EPOCH_OF_NO_DATA = SYNTHETIC_IMAGES };
    struct train_opts *o = &job->opts;

    if (o->steps == 0)
        o->steps = job->workload->default_steps < MOST_STEPS ? (uint64_t)job->workload->default_steps : MOST_STEPS;
    if (isnan(o->lr))
        o->lr = job->workload->default_lr;
    if (isnan(o->momentum))
        o->momentum = job->workload->default_momentum;
    job->schedule = (struct schedule){ .lr = o->lr,
                                       .factor = schedule_factor(o->lr_scaling, job->n_workers),
                                       .warmup_epochs = o->warmup_epochs,
                                       .n_train = job->dataset ? job->dataset->n_train : EPOCH_OF_NO_DATA };
}

static enum rc check_combinations(const struct train_job *job, bool drill_given)
{
    const struct train_opts *o = &job->opts;

    if (o->save[0] && !job->mode->shared_params && job->n_workers > 1)
        return rc_raise(RC_INVAL, "--save %s: mode none keeps a model per worker; use --workers 1 or another mode",
                        o->save);
    if ((o->save[0] || o->resume[0]) && !job->compute->touches_memory)
        return rc_raise(RC_INVAL, "--save, --resume: a hollow run has no parameters; use --compute cpu");
    if (o->forward_only && (job->mode->needs_servers || job->mode->synchronous))
        return rc_raise(RC_INVAL,
                        "--forward-only: mode %s exchanges gradients, and there are none; use --mode single or none",
                        o->mode);
    if (o->forward_only && o->save[0])
        return rc_raise(RC_INVAL, "--save %s: --forward-only changes no parameters; there is nothing to save", o->save);
    if (drill_given && o->drill_rank >= (uint64_t)job->n_ranks)
        return rc_raise(RC_INVAL, "--drill-rank %llu: ranks are 0 to %d", (unsigned long long)o->drill_rank,
                        job->n_ranks - 1);
    return RC_OK;
}

/* What would change nothing of this run is refused, not passed over. opts: as given. */
static enum rc refuse_useless(const struct train_job *job, const struct train_opts *opts, const struct opt_group *group,
                              int n_groups)
{
    const bool infers = opts->forward_only, hollow = !job->compute->touches_memory;
    const struct {
        const char *name;
        bool is_useless;
        const char *why;
    } rule[] = {
        { "lr", infers, "--forward-only updates no parameters" },
        { "momentum", infers, "--forward-only updates no parameters" },
        { "weight-decay", infers, "--forward-only updates no parameters" },
        { "lr-scaling", infers, "--forward-only updates no parameters" },
        { "warmup-epochs", infers, "--forward-only updates no parameters" },
        { "warmup-epochs", opts->warmup_epochs > 0 && strcmp(opts->lr_scaling, "none") == 0,
          "rises to a scaled rate; needs --lr-scaling linear or sqrt" },
        { "target-loss", infers, "--forward-only updates no parameters; its loss does not fall" },
        { "target-loss", job->profile != NULL, "model replay plays recorded times; it has no loss" },
        { "target-loss", hollow, "a hollow run has no loss; use --compute cpu" },
        { "eval-samples", opts->eval_samples > 0 && job->profile,
          "model replay plays recorded times; nothing is learnt" },
        { "eval-samples", opts->eval_samples > 0 && hollow, "a hollow run has no parameters; use --compute cpu" },
        { "drill-step", !opt_given(group, n_groups, "drill-rank"), "needs --drill-rank, the rank that dies at it" },
    };

    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].is_useless && opt_given(group, n_groups, rule[i].name))
            return rc_raise(RC_INVAL, "--%s: %s", rule[i].name, rule[i].why);
    return RC_OK;
}

enum rc train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group, int n_groups,
                      int n_given_ranks)
{
    struct train_job job = { .opts = *opts };
    const bool drill_given = opt_given(group, n_groups, "drill-rank");
    enum rc rc;

    job.mode = mode_by_name(opts->mode);
    if (!job.mode)
        FAIL(RC_BUG, "mode %s is in the option table but not in the list", opts->mode);
    TRY(resolve_world(&job, n_given_ranks));
    TRY(resolve_ranks(&job, n_given_ranks));
    TRY(resolve_transport(&job));
    if (job.mode->synchronous)
        TRY(reducer_find(&job.reducer, opts->reducer));
    TRY(compute_find(&job.compute, opts->compute));
    TRY(resolve_cluster(&job));
    TRY(check_combinations(&job, drill_given));
    TRY(job_work_resolve(&job, group, n_groups));
    TRY(refuse_useless(&job, opts, group, n_groups));
    resolve_numbers(&job);
    TRY(resolve_resume(&job));
    job.n_steps = job.opts.steps - job.resume.steps_count;
    job.keeps_velocity = job.opts.save[0] != '\0';
    if (!drill_given)
        job.opts.drill_rank = UINT64_MAX;
    *out = job;
    job = (struct train_job){ 0 };
out:
    train_job_free(&job);
    return rc;
}

void train_job_free(struct train_job *job)
{
    dataset_close(&job->dataset);
    profile_close(&job->profile);
    checkpoint_free(&job->resume);
    *job = (struct train_job){ 0 };
}

struct world_opts train_world_opts(const struct train_job *job)
{
    return (
        struct world_opts){ .bind_cores = job->opts.bind, .n_bound_ranks = job->n_workers, .cluster = &job->cluster };
}
