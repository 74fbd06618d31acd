/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - the options of a training run, and their checks, before any world exists. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "allreduce/sync_allreduce.h"
#include "harness/net/transport.h"
#include "harness/train/train.h"
#include "ps/ps.h"

#ifndef GRADMARK_DATA_DIR
#error "GRADMARK_DATA_DIR names the folder of the shipped data sets"
#endif

enum { MAX_RANKS = 65536 };

const struct opt train_opt_table[] = {
    OPT_CHOICE_(struct train_opts, world, "world", "auto", "auto|threads|mpi|sim",
                "where ranks live; auto: mpi under mpirun or srun, else threads"),
    OPT_U64_(struct train_opts, workers, "workers", "", 1, MAX_RANKS, "ranks",
             "workers; without it: 1, in mpi all ranks that are not servers"),
    OPT_U64_(struct train_opts, servers, "servers", "", 1, 1024, "ranks", "parameter servers, ps only; without it: 1"),
    OPT_CHOICE_(struct train_opts, mode, "mode", "single", "none|single|ps|allreduce",
                "how gradients become parameters; none: every worker for itself, the control"),
    OPT_CHOICE_(struct train_opts, reducer, "reducer", "ring", "ring|root", "allreduce algorithm"),
    OPT_CHOICE_(struct train_opts, transport, "transport", "auto", "auto|inproc|zmq|mpi|sim",
                "what carries messages; auto: zmq for ps, inproc or mpi for allreduce, sim in sim"),
    OPT_CHOICE_(struct train_opts, model, "model", "lenet", "linear|lenet", "network and its data set"),
    OPT_CHOICE_(struct train_opts, compute, "compute", "cpu", "cpu|hollow",
                "arithmetic; hollow (sim only): its time passes, nothing is computed"),
    OPT_U64_(struct train_opts, batch, "batch", "", 1, 1 << 20, "samples",
             "batch of each worker and step; without it: the model's, linear 100, lenet 32"),
    OPT_U64_(struct train_opts, steps, "steps", "200", 1, 100000000, "steps",
             "steps of each worker, those of a resumed checkpoint included"),
    OPT_F64_(struct train_opts, lr, "lr", "", 1e-12, 1e6, "", "learning rate of one worker; without it: the model's"),
    OPT_CHOICE_(struct train_opts, lr_scaling, "lr-scaling", "none", "none|linear|sqrt",
                "rate for W workers: lr, lr W, lr sqrt W"),
    OPT_F64_(struct train_opts, warmup_epochs, "warmup-epochs", "0", 0, 1000, "epochs",
             "rise from lr to the scaled rate over these"),
    OPT_F64_(struct train_opts, momentum, "momentum", "", 0, 0.9999, "", "without it: lenet 0.9, linear 0"),
    OPT_F64_(struct train_opts, weight_decay, "weight-decay", "0", 0, 1, "",
             "added to the gradient, times the parameter"),
    OPT_F64_(struct train_opts, target_loss, "target-loss", "", -1e9, 1e9, "",
             "report when the mean training loss of 10 steps first was this low"),
    OPT_U64_(struct train_opts, seed, "seed", "1", 0, 9007199254740992.0, "",
             "of samples, their order, and parameters"),
    OPT_TEXT_(struct train_opts, cluster, "cluster", "", "FILE",
              "description of the simulated cluster (YAML), sim only"),
    OPT_TEXT_(struct train_opts, data, "data", "", "FILE", "data file instead of the shipped one"),
    OPT_TEXT_(struct train_opts, save, "save", "", "FILE", "write a checkpoint after the last step"),
    OPT_TEXT_(struct train_opts, resume, "resume", "", "FILE",
              "go on from a checkpoint; mode, workers and batch may be others, model and seed not"),
    OPT_U64_(struct train_opts, record_every, "record-every", "1", 1, 100000000, "steps",
             "write every so manieth step record; the first and the last always"),
    OPT_U64_(struct train_opts, timeout_s, "timeout-s", "120", 1, 86400, "s", "give up on a silent peer after this"),
    OPT_BOOL_(struct train_opts, bind, "bind", "true", "give each worker cores of its own"),
    OPT_U64_(struct train_opts, drill_rank, "drill-rank", "", 0, MAX_RANKS, "rank",
             "failure drill: this rank dies without a word"),
    OPT_U64_(struct train_opts, drill_step, "drill-step", "1", 0, 100000000, "steps", "failure drill: at this step"),
    OPT_END_,
};

const struct opt_rule train_opt_rules[] = {
    { "servers", "mode", "ps" },
    { "reducer", "mode", "allreduce" },
    { "cluster", "world", "sim" },
};
const int train_n_opt_rules = sizeof train_opt_rules / sizeof *train_opt_rules;

static const struct sync_mode *mode_by_name(const char *name)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_ps, &sync_allreduce };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
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

static enum rc resolve_data(struct train_job *job)
{
    struct train_opts *o = &job->opts;

    if (strcmp(job->workload->dataset, "line") == 0) {
        if (o->data[0])
            return rc_raise(RC_INVAL, "--data %s: model %s draws its data from --seed", o->data, o->model);
        return dataset_open_line(&job->dataset, o->seed);
    }
    return dataset_open_digits(&job->dataset, o->data[0] ? o->data : GRADMARK_DATA_DIR "/digits.csv");
}

static enum rc check_resume(const struct train_job *job, size_t n_params)
{
    const struct checkpoint *c = &job->resume;
    const char *path = job->opts.resume;

    if (strcmp(c->model, job->opts.model) != 0)
        return rc_raise(RC_INVAL, "--resume %s: is of model %s, not %s", path, c->model, job->opts.model);
    if (c->n_params != n_params)
        return rc_raise(RC_INVAL, "--resume %s: has %zu parameters, model %s has %zu", path, c->n_params,
                        job->opts.model, n_params);
    if (c->seed != job->opts.seed)
        return rc_raise(RC_INVAL, "--resume %s: is of --seed %llu, not %llu", path, (unsigned long long)c->seed,
                        (unsigned long long)job->opts.seed);
    if (c->steps_count >= job->opts.steps)
        return rc_raise(RC_INVAL, "--steps %llu: %s has done %llu already", (unsigned long long)job->opts.steps, path,
                        (unsigned long long)c->steps_count);
    return RC_OK;
}

/* Open the workload once, here, to know its parameters and that it can be opened at all. */
static enum rc resolve_resume(struct train_job *job)
{
    struct compute *compute = NULL;
    struct training *training = NULL;
    enum rc rc;

    TRY(compute_open(&compute, job->compute, &(struct compute_env){ 0 }));
    const struct training_env env = {
        .compute = compute, .dataset = job->dataset, .seed = job->opts.seed, .max_batch = 1
    };
    TRY(workload_open(&training, job->workload, &env));
    if (job->opts.resume[0]) {
        TRY(checkpoint_load(&job->resume, job->opts.resume));
        TRY(check_resume(job, workload_n_params(training)));
    }
    if ((size_t)job->n_servers > workload_n_params(training))
        FAIL(RC_INVAL, "--servers %d: model %s has only %zu parameters to share out", job->n_servers, job->opts.model,
             workload_n_params(training));
out:
    workload_close(&training);
    compute_close(&compute);
    return rc;
}

static void resolve_numbers(struct train_job *job)
{
    struct train_opts *o = &job->opts;

    if (o->batch == 0)
        o->batch = (uint64_t)job->workload->default_batch;
    if (isnan(o->lr))
        o->lr = job->workload->default_lr;
    if (isnan(o->momentum))
        o->momentum = job->workload->default_momentum;
    job->schedule = (struct schedule){ .lr = o->lr,
                                       .factor = schedule_factor(o->lr_scaling, job->n_workers),
                                       .warmup_epochs = o->warmup_epochs,
                                       .n_train = job->dataset->n_train };
    job->n_steps = o->steps - job->resume.steps_count;
}

static enum rc check_combinations(const struct train_job *job, bool drill_given)
{
    const struct train_opts *o = &job->opts;

    if (o->save[0] && !job->mode->shared_params && job->n_workers > 1)
        return rc_raise(RC_INVAL, "--save %s: mode none keeps a model per worker; use --workers 1 or another mode",
                        o->save);
    if ((o->save[0] || o->resume[0]) && !job->compute->touches_memory)
        return rc_raise(RC_INVAL, "--save, --resume: a hollow run has no parameters; use --compute cpu");
    if (drill_given && o->drill_rank >= (uint64_t)job->n_ranks)
        return rc_raise(RC_INVAL, "--drill-rank %llu: ranks are 0 to %d", (unsigned long long)o->drill_rank,
                        job->n_ranks - 1);
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
    TRY(workload_find(&job.workload, opts->model));
    TRY(compute_find(&job.compute, opts->compute));
    TRY(resolve_cluster(&job));
    TRY(resolve_data(&job));
    TRY(resolve_resume(&job));
    resolve_numbers(&job);
    TRY(check_combinations(&job, drill_given));
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
    checkpoint_free(&job->resume);
    *job = (struct train_job){ 0 };
}

struct world_opts train_world_opts(const struct train_job *job)
{
    return (
        struct world_opts){ .bind_cores = job->opts.bind, .n_bound_ranks = job->n_workers, .cluster = &job->cluster };
}
