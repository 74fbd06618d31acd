/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - from options to a job, and all checks, before any world exists: world, ranks, transport, resuming. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/file.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/train/alternation.h"
#include "harness/train/elastic.h"
#include "harness/train/input.h"
#include "harness/train/integrity.h"
#include "harness/train/job.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/messages.h"
#include "harness/train/omission.h"
#include "harness/train/shard.h"
#include "harness/train/train.h"
#include "harness/world/host_address.h"
#include "models/replay/profile.h"

/* --- numbers of ranks --- */

int train_default_servers(bool colocate, int n_workers)
{
    if (!colocate)
        return 1;
    return n_workers < TRAIN_MAX_SERVERS ? n_workers : TRAIN_MAX_SERVERS;
}

/* Under a launcher, without --workers: the ranks that are no servers. */
static enum rc workers_of_launched(struct train_opts *o, bool has_servers, uint64_t n_launched)
{
    const bool shares_evenly = has_servers && o->colocate && o->servers == 0;
    const uint64_t n_servers = !has_servers ? 0 : o->servers > 0 ? o->servers : 1;

    if (shares_evenly && n_launched % 2 > 0)
        return rc_raise(RC_INVAL,
                        "--colocate: %llu ranks were launched, which are not as many workers as servers; launch an "
                        "even number, or give --servers",
                        (unsigned long long)n_launched);
    if (n_launched <= n_servers)
        return rc_raise(RC_INVAL, "--mode %s: %llu ranks were launched, %llu servers and a worker need %llu", o->mode,
                        (unsigned long long)n_launched, (unsigned long long)n_servers,
                        (unsigned long long)n_servers + 1);
    o->workers = shares_evenly ? n_launched / 2 : n_launched - n_servers;
    return RC_OK;
}

static enum rc wrong_launch(const struct train_job *job, int n_launched)
{
    const bool one_each = job->opts.colocate && job->has_default_servers;
    const int n_left = n_launched - job->n_drivers - job->n_workers;
    char servers[64] = "";

    if (one_each && n_left >= 1 && n_left <= job->n_workers)
        snprintf(servers, sizeof servers, ", or give --servers %d", n_left);
    else
        snprintf(servers, sizeof servers, ", as mpirun -np %d does", train_n_ranks(job));
    return rc_raise(RC_INVAL, "--workers %d: with %d server%s%s%s that is %d ranks, but %d %s launched; launch %d%s",
                    job->n_workers, job->n_servers, job->n_servers == 1 ? "" : "s",
                    one_each ? ", one beside each worker," : "", job->n_drivers > 0 ? " and the driver" : "",
                    train_n_ranks(job), n_launched, n_launched == 1 ? "was" : "were", train_n_ranks(job), servers);
}

/* Workers, servers and ranks, from options or defaults; they fit together. n_given_ranks: ranks the launcher started,
 * 0: none. RC_INVAL. */
static enum rc resolve_ranks(struct train_job *job, int n_given_ranks)
{
    struct train_opts *o = &job->opts;
    const bool launched = job->world->module.caps & WORLD_LAUNCHED;
    const bool has_servers = job->mode->module.caps & MODE_SERVERS;
    const int n_launched = n_given_ranks > 0 ? n_given_ranks : 1;
    enum rc rc = RC_OK;

    if (launched && n_launched <= job->n_drivers)
        FAIL(RC_INVAL, "--input feed: 1 rank was launched, a worker and the driver are 2");
    if (launched && o->workers == 0)
        TRY(workers_of_launched(o, has_servers, (uint64_t)(n_launched - job->n_drivers)));
    if (o->workers == 0)
        o->workers = 1;
    if (!has_servers)
        o->servers = 0;
    else if (o->servers == 0) {
        job->has_default_servers = true;
        o->servers = (uint64_t)train_default_servers(o->colocate, (int)o->workers);
    }
    if (job->mode->module.caps & MODE_ONE_WORKER && o->workers != 1)
        FAIL(RC_INVAL,
             "--workers %llu: mode %s has one worker; use --mode allreduce or --mode ps (--mode none: no exchange, for "
             "comparison)",
             (unsigned long long)o->workers, o->mode);
    if (o->colocate && o->servers > o->workers)
        FAIL(RC_INVAL,
             "--servers %llu --colocate: one server lives beside a worker, and there %s %llu worker%s; give "
             "--servers %llu at most, or more --workers",
             (unsigned long long)o->servers, o->workers == 1 ? "is" : "are", (unsigned long long)o->workers,
             o->workers == 1 ? "" : "s", (unsigned long long)o->workers);
    job->n_workers = (int)o->workers;
    job->n_servers = (int)o->servers;
    job->n_ranks = job->n_workers + job->n_servers;
    if (launched && train_n_ranks(job) != n_launched)
        TRY(wrong_launch(job, n_launched));
out:
    return rc;
}

/* --- options that change what a mode does by default --- */

/* --omit, --split: before data and batch are known. */
static enum rc parse_departures(struct train_job *job)
{
    enum rc rc;

    TRY(omission_parse(&job->omitted, job->opts.omit, "omit"));
    TRY(job_split_parse(job));
out:
    return rc;
}

/* Of a job whose data, batch, collective and scaling are known. */
static enum rc check_departures(struct train_job *job)
{
    enum rc rc;

    TRY(job_split_resolve(job));
    TRY(omission_check(job));
    TRY(local_sgd_check(job));
    TRY(integrity_check(job));
    TRY(alternation_check(job));
    if (job->omitted & OMIT_SCALING)
        job->schedule.factor = 1;
out:
    return rc;
}

/* --- modules, and all combinations --- */

static enum rc resolve_mode(struct train_job *job)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &mode_kind, job->opts.mode));
    job->mode = (const struct sync_mode *)m;
out:
    return rc;
}

static enum rc resolve_transport(struct train_job *job)
{
    struct train_opts *o = &job->opts;
    const bool exchanges = mode_exchanges(&job->mode->module), is_auto = strcmp(o->transport, "auto") == 0;
    char others[64];
    enum rc rc = RC_OK;

    module_names_with(others, sizeof others, &mode_kind, MODE_SERVERS);
    if (!exchanges && !is_auto)
        return rc_raise(RC_INVAL, "--transport %s: mode %s sends nothing; needs --mode %s or a synchronous one",
                        o->transport, o->mode, others);
    if (!exchanges) {
        o->transport = transport_of_nothing;
        return transport_check_encrypts(NULL, job->security == SECURITY_ON);
    }
    if (is_auto) /* servers want one that moves messages while workers compute */
        o->transport = transport_auto(&job->world->module, job->mode->module.caps & MODE_SERVERS ? TR_ASYNC : 0);
    if (!o->transport)
        FAIL(RC_UNSUPPORTED, "--mode %s: no transport of this program can carry it in world %s", o->mode, o->world);
    TRY(transport_find(&job->transport, o->transport));
    TRY(module_check_world(&transport_kind, &job->transport->module, &world_kind, &job->world->module));
    TRY(transport_check_encrypts(job->transport, job->security == SECURITY_ON));
    TRY(transport_check_host(job->transport, &job->world->module, o->interface));
out:
    return rc;
}

static enum rc resolve_world(struct train_job *job, int n_given_ranks)
{
    struct train_opts *o = &job->opts;
    enum rc rc;

    TRY(world_choose(&job->world, o->world, n_given_ranks > 0));
    o->world = job->world->module.name;
    if (!(job->world->module.caps & WORLD_LAUNCHED) && n_given_ranks > 1)
        FAIL(RC_INVAL, "--world %s: %d processes were launched; use --world %s, or start without the launcher",
             o->world, n_given_ranks, world_of_launcher());
    if (job->world->module.caps & WORLD_VIRTUAL_TIME && o->threads > 1)
        FAIL(RC_INVAL, "--threads %llu: world sim computes with one; flops_per_s of the cluster is the speed of a host",
             (unsigned long long)o->threads);
    TRY(host_address_check_option(o->interface, &job->world->module));
    job->security = world_security_option(o->insecure, o->secure);
out:
    return rc;
}

static enum rc resolve_compute(struct train_job *job)
{
    enum rc rc;

    TRY(compute_find(&job->compute, job->opts.compute));
    TRY(module_check_world(&compute_kind, &job->compute->module, &world_kind, &job->world->module));
out:
    return rc;
}

/* What a description says is overruled; not what is given beside it. */
static enum rc place_servers_beside(struct cluster *c, const struct cluster_sources *given)
{
    if (c->server_placement != SERVERS_BESIDE && given->text[cluster_key_find("server_placement")][0] != '\0')
        return rc_raise(RC_INVAL,
                        "--colocate: servers live beside workers, but --cluster-set server_placement=own gives them "
                        "hosts of their own; leave one of the two out, or use server_placement=beside");
    return cluster_set(c, NULL, "server_placement=beside");
}

static enum rc resolve_cluster(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    struct cluster_sources given = { 0 };
    enum rc rc;

    TRY(file_of_option(cluster_find(&job->cluster, NULL, o->cluster), "cluster"));
    TRY(cluster_set(&job->cluster, &given, o->cluster_set.text));
    job->cluster.seed = o->seed;
    if (o->colocate)
        TRY(place_servers_beside(&job->cluster, &given));
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        TRY(cluster_check(&job->cluster, job->n_workers, job->n_ranks));
    job->servers_beside = o->colocate || (job->world->module.caps & WORLD_VIRTUAL_TIME && job->n_servers > 0 &&
                                          job->cluster.server_placement == SERVERS_BESIDE);
out:
    return rc;
}

/* Without a profile, the time of computing comes from the description. */
static enum rc check_compute_rates(const struct train_job *job)
{
    if (!(job->world->module.caps & WORLD_VIRTUAL_TIME) || job->workload->module.caps & WORKLOAD_PLAYS_PROFILE)
        return RC_OK;
    return file_of_option(cluster_check_compute(&job->cluster), "cluster");
}

static enum rc resolve_numbers(struct train_job *job)
{
    enum { EPOCH_OF_NO_DATA = SYNTHETIC_IMAGES };
    struct train_opts *o = &job->opts;
    double warmup_epochs;
    enum rc rc;

    if (isnan(o->lr))
        o->lr = job->workload->default_lr;
    TRY(lr_scaling_parse(&job->scaling, &warmup_epochs, o->lr_scaling));
    job->schedule = (struct schedule){ .lr = o->lr,
                                       .factor = lr_scaling_factor(job->scaling, job->n_workers),
                                       .warmup_epochs = warmup_epochs,
                                       .n_train = job->dataset ? job->dataset->n_train : EPOCH_OF_NO_DATA };
    TRY(check_departures(job));
    TRY(check_compute_rates(job));
out:
    return rc;
}

static bool memories_are_apart(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME && cluster_memories_are_apart(&job->cluster, job->n_workers);
}

/* Are parameters and gradients in memory that the workers of a host share? Where an algorithm adds in it. */
static bool shares_memory(const struct train_job *job)
{
    return job->n_workers > 1 && job->shard.n_shards <= 1 && job->collective &&
           job->collective->module.caps & COLL_SHARED && job->compute->touches_memory && job->compute->host_memory &&
           !memories_are_apart(job);
}

/* How gradients are exchanged, where the mode does that. */
static void resolve_exchange(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    struct exchange_opts *x = &job->exchange; /* of which servers, compression and periods are resolved */

    if (!mode_exchanges(&job->mode->module))
        return;
    x->buckets = (struct bucket_opts){ .bucket_bytes = o->bucket_bytes, .partition_bytes = job_partition_bytes(job) };
    x->spreads = x->buckets.partition_bytes != o->partition_bytes;
    x->average_every = o->average_every;
    x->shared_memory = shares_memory(job);
    x->overlap = strcmp(o->overlap, "on") == 0;
    x->priority = strcmp(o->priority, "on") == 0;
}

struct job_facts train_job_facts(const struct train_job *job)
{
    return (struct job_facts){ .n_workers = job->n_workers,
                               .n_servers = job->n_servers,
                               .n_params = job->n_params,
                               .n_server_params = placement_most_elems(&job->placement),
                               .n_scattered_params = placement_is_scattered(&job->placement) ? job->n_params : 0,
                               .n_moments = optimizer_n_moments(&job->optimizer),
                               .n_replicas = job->exchange.n_replicas,
                               .sends_in_tasks =
                                   mode_exchanges(&job->mode->module) && strcmp(job->opts.overlap, "on") == 0,
                               .outlives_losses = job->on_loss == ON_LOSS_REPORT };
}

static enum rc check_modules(const struct train_job *job, const struct opt_group *group, int n_groups)
{
    const struct job_facts facts = train_job_facts(job);
    enum rc rc;

    TRY(module_refuse_unused(group, n_groups, train_kinds, job->used));
    TRY(module_check_all(&job->opts.modules, train_kinds, job->used, &facts));
out:
    return rc;
}

/* A collective in the memory of a device needs a compute that has one. */
static enum rc require_device(const struct train_job *job)
{
    char names[128];

    if (!(job->collective->module.caps & COLL_DEVICE) || job->compute->module.caps & COMPUTE_SIDE)
        return RC_OK;
    module_names_with(names, sizeof names, &compute_kind, COMPUTE_SIDE);
    return rc_raise(RC_INVAL, "--reducer %s: sums in the memory of GPUs; needs --compute %s, but that is %s",
                    job->collective->module.name, names, job->compute->module.name);
}

static enum rc resolve_collective(struct train_job *job)
{
    enum rc rc = RC_OK;

    if (!(job->mode->module.caps & MODE_COLLECTIVE))
        return RC_OK;
    TRY(collective_find(&job->collective, &collective_kind, job->opts.reducer));
    TRY(collective_require(&collective_kind, job->collective, job->mode->collective->types));
    TRY(module_check_world(&collective_kind, &job->collective->module, &world_kind, &job->world->module));
    TRY(require_device(job));
out:
    return rc;
}

/* Of the ranks of one group: of a layout it is not known here which of them share a host. */
static enum rc check_hosts(const struct train_job *job)
{
    const bool is_layout = job->opts.stages > 1 || job->opts.shard_dense > 1;
    const unsigned caps = job->world->module.caps;
    const int n_host_ranks = caps & WORLD_VIRTUAL_TIME ? job->cluster.n_ranks_per_host
                             : caps & WORLD_LAUNCHED   ? world_launcher().n_host_ranks
                                                       : 0;

    const struct collective_hosts hosts = { job->n_workers, n_host_ranks, memories_are_apart(job) };

    if (!job->collective || is_layout)
        return RC_OK;
    return rc_prefix(collective_check_hosts(&collective_kind, job->collective, &hosts), "--");
}

/* Mode and world, and what depends on them alone: compute, ranks, transport, collective, cluster. */
static enum rc resolve_modules(struct train_job *job, int n_given_ranks)
{
    enum rc rc;

    TRY(resolve_mode(job));
    TRY(resolve_world(job, n_given_ranks));
    TRY(resolve_compute(job));
    TRY(job_input_resolve(job));
    TRY(resolve_ranks(job, n_given_ranks));
    TRY(job_servers_parse(job));
    TRY(job_on_loss_resolve(job));
    TRY(resolve_transport(job));
    TRY(resolve_collective(job));
    TRY(resolve_cluster(job));
    TRY(check_hosts(job));
    TRY(parse_departures(job));
    TRY(job_compression_resolve(job));
out:
    return rc;
}

/* How it exchanges, and with whom. */
static enum rc resolve_exchanging(struct train_job *job)
{
    enum rc rc;

    resolve_exchange(job);
    TRY(job_overlap_resolve(job));
    TRY(job_shard_find_order(job));
    TRY(job_servers_check(job));
    TRY(job_compression_check(job));
    job->wait = train_wait_policy(job->opts.wait);
out:
    return rc;
}

/* Which steps there are, and what happens in which. */
static enum rc resolve_steps(struct train_job *job, const struct opt_group *group, int n_groups)
{
    enum rc rc;

    TRY(job_resume_resolve(job));
    job->n_steps = job_periods_n_steps(job);
    TRY(elastic_resolve(job, group, n_groups));
    TRY(job_faults_check(job));
out:
    return rc;
}

enum rc train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group, int n_groups,
                      int n_given_ranks)
{
    if (opts->stages > 1)
        return rc_raise(RC_UNSUPPORTED, "--stages %llu: gradmark train alone runs pipelines",
                        (unsigned long long)opts->stages);
    return train_prepare_stage(out, opts, group, n_groups, n_given_ranks, 0);
}

enum rc train_prepare_stage(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                            int n_groups, int n_given_ranks, int stage)
{
    struct train_job job = { .opts = *opts, .stages.number = stage };
    enum rc rc;

    TRY(resolve_modules(&job, n_given_ranks));
    TRY(global_batch_resolve(&job, group, n_groups));
    TRY(global_batch_explain(&job, job_work_resolve(&job, group, n_groups)));
    TRY(check_modules(&job, group, n_groups));
    TRY(resolve_numbers(&job));
    TRY(job_faults_resolve(&job));
    TRY(resolve_exchanging(&job));
    TRY(resolve_steps(&job, group, n_groups));
    TRY(job_messages_resolve(&job));
    job.keeps_moments = job.opts.save[0] != '\0';
    *out = job;
    job = (struct train_job){ 0 };
out:
    train_job_free(&job);
    return rc;
}

enum rc train_vary(struct train_job *out, const struct train_job *base, const struct train_opts *opts)
{
    struct train_job job = *base;
    enum rc rc;

    job.opts = *opts;
    TRY(resolve_collective(&job));
    job.used[TRAIN_COLLECTIVE] = job.collective ? &job.collective->module : NULL;
    TRY(check_modules(&job, NULL, 0));
    resolve_exchange(&job);
    TRY(job_overlap_resolve(&job));
    TRY(job_memory_vary(&job, base));
    *out = job;
out:
    return rc;
}

void train_job_free(struct train_job *job)
{
    dataset_close(&job->dataset);
    profile_close(&job->profile);
    checkpoint_free(&job->resume);
    free(job->segment);
    free(job->segment_name);
    placement_close(&job->placement);
    split_close(&job->split);
    free(job->batch_of);
    *job = (struct train_job){ 0 };
}

struct world_opts train_world_opts(const struct train_job *job)
{
    const unsigned needs = (job->transport ? job->transport->module.needs_world : 0) |
                           (job->collective ? job->collective->module.needs_world : 0);
    const bool uses_mpi = needs & WORLD_HAS_MPI;

    return (struct world_opts){ .bind_cores = job->opts.bind,
                                .n_bound_ranks = job->n_workers,
                                .shares_cores = job->opts.colocate,
                                .n_threads = (int)job->opts.threads,
                                .has_tasks = (job->exchange.overlap || job->may_overlap) && uses_mpi,
                                .tasks_are_optional = job->may_overlap,
                                .interface = job->opts.interface,
                                .security = job->security,
                                .cluster = &job->cluster,
                                .on_loss = job->on_loss,
                                .n_guests = job->exchange.n_guests,
                                .n_servers = job->n_servers,
                                .stall = { .warn_ns = (uint64_t)(0.5e9 * job->opts.stall_abort_s),
                                           .abort_ns = (uint64_t)(1e9 * job->opts.stall_abort_s) } };
}

enum rc train_explain_refusal(const struct world_opts *world, enum rc ran)
{
    char why[RC_MESSAGE_BYTES];

    const bool wants_tasks = world->has_tasks && !world->tasks_are_optional;
    const bool reports = world->on_loss == ON_LOSS_REPORT && (world->mpi_comm || !wants_tasks);

    if (ran != RC_UNSUPPORTED || (!wants_tasks && !reports))
        return ran;
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(ran, "%s: %.480s", reports ? "--on-loss report" : "--overlap on", why);
}
