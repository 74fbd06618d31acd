/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_memory.c - will it fit? Counted before anything is allocated: all workers and servers of this host.
 *
 * Not counted: the program itself, the library's packing buffers, messages on their way inside a transport, unless
 * it says what it allocates for them (module.memory).
 */
#include "harness/train/job.h"

#include <stdio.h>

#include "allreduce/nccl_state.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"
#include "harness/train/elastic.h"
#include "harness/train/input.h"
#include "harness/train/job_batch.h"
#include "harness/train/job_exchange.h"
#include "harness/train/omission.h"
#include "harness/train/rank_state.h"
#include "harness/train/result.h"
#include "harness/train/rules.h"
#include "harness/train/stages.h"
#include "models/engine/training.h"

/* --- the largest batch that fits --- */

enum rc max_batch_text(char text[MAX_BATCH_TEXT_BYTES], size_t too_large, size_t unit, double available_bytes,
                       max_batch_bytes_fn *bytes, const void *arg)
{
    size_t fits = 0, exceeds = too_large / unit; /* units */
    enum rc rc = RC_OK;

    while (fits + 1 < exceeds) {
        const size_t middle = fits + (exceeds - fits) / 2;
        double n_bytes;
        TRY(bytes(arg, middle * unit, &n_bytes));
        *(n_bytes <= available_bytes ? &fits : &exceeds) = middle;
    }
    if (fits > 0)
        snprintf(text, MAX_BATCH_TEXT_BYTES, "--batch %zu fits", fits * unit);
    else
        snprintf(text, MAX_BATCH_TEXT_BYTES, "not even --batch %zu fits", unit);
out:
    return rc;
}

/* --- what a job needs --- */

enum { N_BATCHES_MADE = 2 }; /* by the data loader: this one and the next */

static size_t floats(size_t n)
{
    return n * sizeof(float);
}

/* What the modules in use allocate, and compression. */
static struct memory_need module_need(const struct train_job *job)
{
    struct job_facts facts = train_job_facts(job);
    const struct memory_need compression = job_compression_memory(job, facts.n_server_params);
    if (job->opts
            .elastic) { /* batches of a checkpoint that the run goes on from are counted, too: it is not read yet */
        facts.n_batches = job->opts.steps * (uint64_t)job->n_workers;
        facts.n_chunks = job->n_chunks;
        if (job->opts.most_workers != UINT64_MAX && job->opts.most_workers > (uint64_t)job->n_workers)
            facts.n_workers = (int)job->opts.most_workers; /* a server has as much for each that may join */
    }
    struct memory_need need = module_memory(&job->opts.modules, train_kinds, job->used, &facts);

    need.worker_bytes += compression.worker_bytes;
    need.server_bytes += compression.server_bytes;
    return need;
}

static size_t checkpoint_bytes(const struct train_job *job)
{
    return floats((1 + (size_t)optimizer_n_moments(&job->optimizer)) * job->n_params + job->n_state);
}

/* Of one worker, beside parameters and activations; micro_batch: samples that are computed at once. */
static size_t exchange_bytes(const struct train_job *job, const struct network *n, size_t micro_batch)
{
    size_t n_bytes = module_need(job).worker_bytes + job_periods_bytes(job);
    const size_t K = (size_t)job->shard.n_shards;
    const size_t n_crossing = job->profile && K > 0 ? 2 * K + 1 : K; /* chunks: shard.c, replay_stage.c */

    if (n)
        n_bytes += N_BATCHES_MADE * micro_batch *
                   floats((size_t)n->C_in * (size_t)n->opts.image_size * (size_t)n->opts.image_size);
    if (job->on_loss == ON_LOSS_REPORT)
        n_bytes += exchange_undo_bytes(job->mode, job->compute, &job->optimizer, job->n_params);
    if (job->opts.verify_every > 0 && !job->compute->host_memory)
        n_bytes += floats(job->n_params);
    n_bytes += n_crossing * micro_batch * floats(job->shard.most_elems);
    if (compute_has_own_memory(job->compute) && !job->profile) /* engine/device_pipe.h */
        n_bytes += (K > 0 ? K + 1 : 0) * micro_batch * floats(job->shard.most_elems) +
                   2 * N_STAGE_WAYS * job_stages_places(job) * micro_batch * floats(job->stages.most_passed_elems);
    if (job->omitted & OMIT_RANK0_SAVE)
        n_bytes += checkpoint_bytes(job);
    return n_bytes + exchange_staging_bytes(job->mode, job->collective, job->compute, job->n_params);
}

/* How many of the workers and servers are on this host: in mpi as the launcher reports it, or one if it does not. */
static void ranks_here(const struct train_job *job, size_t *n_workers, size_t *n_servers)
{
    const struct launcher l = world_launcher();

    *n_workers = (size_t)job->n_workers;
    *n_servers = (size_t)job->n_servers;
    if (job->world->module.caps & WORLD_SHARED_MEMORY)
        return;
    const size_t here = l.n_host_ranks > 0 ? (size_t)l.n_host_ranks : 1;
    if (here < *n_workers + *n_servers) {
        *n_workers = here < *n_workers ? here : *n_workers;
        *n_servers = here - *n_workers;
    }
}

/* Of the servers of this host. With --replicas 1 each has two slices; where servers of other hosts are lost, one after
 * the other, those here may come to have all of them: two times each, or one server alone once (ps.R9). */
static size_t servers_bytes(const struct train_job *job, size_t n_here, size_t server_bytes)
{
    const size_t n_all = (size_t)job->n_servers;

    if (job->exchange.n_replicas == 0 || n_here == 0 || n_here == n_all)
        return n_here * server_bytes;
    return n_here > 1 ? n_all * server_bytes : n_all * server_bytes / 2;
}

/* Of the steps of n ranks, of which with --elastic each may do all. Those of a checkpoint that the run goes on from are
 * counted too: it is not read yet. */
static size_t stamp_bytes(const struct train_job *job, size_t n_ranks)
{
    const size_t n_batches = job->opts.steps * (size_t)job->n_workers;
    const size_t n_steps = job->opts.elastic ? n_batches : job->opts.steps;
    const size_t n_bytes = n_ranks * n_steps * sizeof(struct step_stamp);

    return job->opts.trajectory[0] ? n_bytes + n_ranks * (job->opts.steps + 1) * floats(job->n_params) : n_bytes;
}

/* Beside what every worker has: among it the results of all ranks, for which there must be room at the end. */
static size_t rank_0_bytes(const struct train_job *job)
{
    const size_t n_results_bytes = stamp_bytes(job, (size_t)job->n_ranks) + floats(job->opts.steps) +
                                   (size_t)job->n_ranks * sizeof(struct train_rank_info);

    const size_t split_bytes =
        job->split_opts.kind != SPLIT_IID && job->dataset ? job->dataset->n_train * sizeof(size_t) : 0;

    /* The parameters of all shards, twice where they are evaluated; and those of one on its way. */
    const size_t n_copies = 2 + (job->opts.save[0] != '\0' ? (size_t)optimizer_n_moments(&job->optimizer) : 0);

    /* Behind the last step the first stage gets those of all. */
    const size_t n_results = 1 + (job->opts.stages > 1 && job->stages.number == 0 ? job->opts.stages : 0);

    return n_results * n_results_bytes + split_bytes + n_copies * floats(job->shard.whole_params) +
           (job->opts.save[0] != '\0' ? checkpoint_bytes(job) : 0) + module_need(job).rank_0_bytes +
           job_input_driver_bytes(job) + (train_goes_back(job) ? floats(N_KEPT_STATES * job->n_state) : 0);
}

/* Every process reads the checkpoint it goes on from; in threads there is one. */
static size_t resume_bytes(const struct train_job *job, size_t n_ranks)
{
    const size_t n_processes = job->world->module.caps & WORLD_SHARED_MEMORY ? 1 : n_ranks;

    return job->opts.resume[0] != '\0' ? n_processes * checkpoint_bytes(job) : 0;
}

/* How many of the workers are on one device. RC_INVAL: more than one, and nobody asked for it. Of processes, which may
 * each see another device, only the run itself can tell that (rank_check_devices). */
static enum rc workers_on_device(size_t *out, const struct train_job *job, size_t n_workers)
{
    const bool sees_all = (job->world->module.caps & WORLD_SHARED_MEMORY) != 0;
    int n_devices = 1;
    enum rc rc = RC_OK;

    *out = 1;
    if (!job->compute->device_count || !(job->opts.share_device || sees_all))
        return RC_OK;
    TRY(job->compute->device_count(&n_devices));
    *out = (n_workers + (size_t)n_devices - 1) / (size_t)n_devices;
    if (*out > 1 && !job->opts.share_device)
        FAIL(RC_INVAL, "--workers %d: there %s %d %s%s here; use %d, or --share-device", job->n_workers,
             n_devices == 1 ? "is" : "are", n_devices, job->compute->device_kind, n_devices == 1 ? "" : "s", n_devices);
out:
    return rc;
}

/* Of a worker, on its device: what a library of its own takes there. */
static size_t library_bytes(const struct train_job *job)
{
    return job->collective && job->collective->module.caps & COLL_DEVICE ? NCCL_ALLOWANCE_BYTES : 0;
}

/* Of a batch in so many micro-batches. */
static enum rc count_bytes(struct train_memory *out, struct compute *c, const struct train_job *job,
                           const struct network *n, size_t batch, size_t n_micro_batches)
{
    /* parameters, gradients, the optimiser's arrays */
    const size_t n_copies = job->opts.forward_only ? 1 : 2 + (size_t)optimizer_n_moments(&job->optimizer);
    const struct network_step of_step = { .n_samples = batch,
                                          .n_micro_batches = n_micro_batches,
                                          .forward_only = job->opts.forward_only,
                                          .n_held = job_stages_held(job, n_micro_batches),
                                          .recomputes = job->opts.recompute };
    struct network_memory needed = { 0 };
    size_t n_workers, n_servers, n_sharing;
    enum rc rc = RC_OK;

    if (n)
        TRY(network_memory_needed(&needed, c, n, &of_step));
    ranks_here(job, &n_workers, &n_servers);
    TRY(workers_on_device(&n_sharing, job, n_workers));
    out->activations_bytes = needed.planned_bytes + needed.part_bytes + needed.device_bytes +
                             job_stages_replay_bytes(job, batch / n_micro_batches);
    out->params_bytes = n_copies * floats(job->n_params) + needed.state_bytes;
    out->exchange_bytes = exchange_bytes(job, n, batch / n_micro_batches);
    out->server_bytes = module_need(job).server_bytes;
    /* Where the compute has memory of its own, it is that of one device. */
    out->host_bytes = job->compute->host_memory
                          ? n_workers * train_worker_bytes(out) + servers_bytes(job, n_servers, out->server_bytes) +
                                rank_0_bytes(job) + resume_bytes(job, n_workers + n_servers) +
                                stamp_bytes(job, n_workers + n_servers)
                          : n_sharing * (out->activations_bytes + out->params_bytes + library_bytes(job));
out:
    return rc;
}

struct candidate {
    struct compute *compute;
    const struct train_job *job;
    const struct network *network;
    size_t n_micro_batches;
};

static enum rc bytes_of_batch(const void *arg, size_t batch, double *n_bytes)
{
    const struct candidate *c = arg;
    struct train_memory m = { 0 };
    enum rc rc;

    TRY(count_bytes(&m, c->compute, c->job, c->network, batch, c->n_micro_batches));
    *n_bytes = (double)m.host_bytes;
out:
    return rc;
}

/* The least number of micro-batches in which the batch fits -> ", and this one with --accumulate 4"; none
 * does, or there are no gradients to add up: "". */
static enum rc accumulate_text(char text[MAX_BATCH_TEXT_BYTES], struct candidate c)
{
    const size_t batch = c.job->opts.batch;
    enum rc rc = RC_OK;

    text[0] = '\0';
    if (c.network == NULL || c.job->opts.forward_only || c.job->split_opts.kind == SPLIT_UNEQUAL)
        return RC_OK;
    for (c.n_micro_batches++; c.n_micro_batches <= batch; c.n_micro_batches++) {
        double n_bytes;
        if (batch % c.n_micro_batches != 0)
            continue;
        TRY(bytes_of_batch(&c, batch, &n_bytes));
        if (n_bytes > (double)c.job->memory.available_bytes)
            continue;
        snprintf(text, MAX_BATCH_TEXT_BYTES, ", and this one with --accumulate %zu", c.n_micro_batches);
        break;
    }
out:
    return rc;
}

static enum rc refuse(struct compute *c, const struct train_job *job, const struct network *n)
{
    const struct train_memory *m = &job->memory;
    const struct candidate candidate = { c, job, n, job->opts.accumulate };
    char remedy[MAX_BATCH_TEXT_BYTES], in_parts[MAX_BATCH_TEXT_BYTES];
    enum rc rc;

    if (stamp_bytes(job, 1) > m->available_bytes / 4 / (size_t)job->n_ranks)
        FAIL(RC_INVAL,
             "--%s %llu: the times of so many steps of %d rank%s need %.2f GB of memory here, %.2f GB are available; "
             "fewer steps, and --save and --resume to go on, need less",
             job->opts.stop_at_step > 0 ? "stop-at-step" : "steps",
             (unsigned long long)(job->opts.stop_at_step > 0 ? job->opts.stop_at_step : job->opts.steps), job->n_ranks,
             job->n_ranks == 1 ? "" : "s", (double)stamp_bytes(job, 2 * (size_t)job->n_ranks) * 1e-9,
             (double)m->available_bytes * 1e-9);
    TRY(max_batch_text(remedy, job->opts.batch, job->opts.accumulate, (double)m->available_bytes, bytes_of_batch,
                       &candidate));
    TRY(accumulate_text(in_parts, candidate));
    if (job->profile)
        snprintf(remedy, sizeof remedy, "in sim, --compute hollow needs none");
    rc = rc_raise(RC_INVAL,
                  "--batch %llu: %d worker%s of model %s need %.2f GB of memory here, %.2f GB are available; %s%s",
                  (unsigned long long)job->opts.batch, job->n_workers, job->n_workers == 1 ? "" : "s", job->opts.model,
                  (double)m->host_bytes * 1e-9, (double)m->available_bytes * 1e-9, remedy, in_parts);
out:
    return rc;
}

/* Of the rank that needs most. */
static size_t most_bytes_of_rank(const struct train_memory *m)
{
    return train_worker_bytes(m) > m->server_bytes ? train_worker_bytes(m) : m->server_bytes;
}

enum rc job_memory_of_rank(size_t *out, const struct train_job *job, const struct network *n)
{
    const struct compute_env env = { .precision = job->precision };
    struct compute *compute = NULL;
    struct train_memory m = { 0 };
    enum rc rc;

    TRY(compute_open(&compute, job->compute, &env));
    TRY(count_bytes(&m, compute, job, n, job_most_batch(job), job->opts.accumulate));
    *out = most_bytes_of_rank(&m);
out:
    compute_close(&compute);
    return rc;
}

/* *out: can the network be cut into so many stages, none of which needs more than --memory-limit? */
static enum rc stages_fit(bool *out, const struct train_job *job, int n_stages)
{
    struct train_job stage = *job; /* what it points to is the job's, and read */
    struct network *n = NULL;
    enum rc rc;

    stage.opts.stages = (uint64_t)n_stages;
    TRY(network_open(&n, job->workload->network, &job->network));
    rc = job_stages_resolve(&stage, &n);
    *out = rc == RC_OK;
    if (rc == RC_INVAL) /* it cannot */
        rc = RC_OK;
out:
    network_close(&n);
    return rc;
}

/* "; --stages 2 would fit", of a job that has none yet. */
static enum rc stages_text(char *out, size_t n_bytes, const struct train_job *job, const struct network *n)
{
    const int most = n ? network_most_stages(n) : 0;
    bool fit = false;
    enum rc rc = RC_OK;

    out[0] = '\0';
    if (!n || job->opts.stages > 1 || train_rules_why(job, "stages"))
        return RC_OK;
    for (int n_stages = 2; n_stages <= most && n_stages <= NETWORK_MAX_STAGES && !fit; n_stages++) {
        TRY(stages_fit(&fit, job, n_stages));
        if (fit)
            (void)snprintf(out, n_bytes, "; --stages %d would fit", n_stages);
    }
    if (!fit)
        (void)snprintf(out, n_bytes, "; nor would any number of --stages fit, with %llu micro-batch%s",
                       (unsigned long long)job->opts.accumulate, job->opts.accumulate == 1 ? "" : "es");
out:
    return rc;
}

/* --memory-limit, of counted bytes. */
static enum rc check_limit(const struct train_job *job, const struct network *n)
{
    const struct train_memory *m = &job->memory;
    char stage[32] = "", remedy[96];
    enum rc rc = RC_OK;

    if (job->opts.memory_limit == 0 || most_bytes_of_rank(m) <= job->opts.memory_limit)
        return RC_OK;
    TRY(stages_text(remedy, sizeof remedy, job, n));
    if (job->opts.stages > 1)
        (void)snprintf(stage, sizeof stage, " in stage %d of %llu", job->stages.number,
                       (unsigned long long)job->opts.stages);
    if (train_worker_bytes(m) <= job->opts.memory_limit)
        FAIL(RC_INVAL, "--memory-limit %llu: a server of model %s%s needs %zu bytes; more --servers need less each",
             (unsigned long long)job->opts.memory_limit, job->opts.model, stage, m->server_bytes);
    FAIL(RC_INVAL,
         "--memory-limit %llu: a worker of model %s%s needs %zu bytes (activations %zu, parameters and gradients %zu, "
         "exchange %zu)%s",
         (unsigned long long)job->opts.memory_limit, job->opts.model, stage, train_worker_bytes(m),
         m->activations_bytes, m->params_bytes, m->exchange_bytes, remedy);
out:
    return rc;
}

/* job->n_chunks, where memory goes by it. */
static enum rc count_chunks(struct train_job *job)
{
    const struct bucket_opts opts = { job->opts.bucket_bytes, job_partition_bytes(job) };
    struct buckets b = { 0 };
    enum rc rc = RC_OK;

    if (!job->opts.elastic || job->n_segments == 0)
        return RC_OK;
    TRY(buckets_open(&b, job->segment, job->n_segments, &opts));
    job->n_chunks = b.n_chunks;
out:
    buckets_close(&b);
    return rc;
}

enum rc job_memory_resolve(struct train_job *job, const struct network *n)
{
    const struct launcher l = world_launcher();
    struct compute_env env = { .precision = job->precision,
                               .opts = module_options(&job->opts.modules, train_kinds, &job->compute->module) };
    const bool is_process = job->world->module.caps & WORLD_LAUNCHED;
    struct compute *compute = NULL;
    enum rc rc = RC_OK;

    TRY(count_chunks(job));
    if (is_process && l.rank >= job->n_workers && l.rank < job->n_ranks && !job->compute->host_memory)
        goto out; /* a server, which uses no device */
    /* Its own device: a process keeps memory of one that it has used. */
    if (is_process)
        TRY(rank_device_number(&env.device, job->compute, l.host_rank >= 0 ? l.host_rank : l.rank));
    TRY(compute_open(&compute, job->compute, &env)); /* can it be had at all, in this precision? */
    if (job->compute->touches_memory || job->opts.memory_limit > 0)
        TRY(count_bytes(&job->memory, compute, job, n, job_most_batch(job), job->opts.accumulate));
    TRY(check_limit(job, n));
    if (job->compute->touches_memory)
        job->memory.available_bytes = compute->ops->memory_available(compute);
    if (job->compute->touches_memory && job->memory.host_bytes > job->memory.available_bytes)
        TRY(refuse(compute, job, n));
out:
    compute_close(&compute);
    return rc;
}

enum rc job_memory_vary(struct train_job *job, const struct train_job *base)
{
    const size_t n_bytes = exchange_bytes(job, NULL, 0), n_base_bytes = exchange_bytes(base, NULL, 0);
    struct train_memory *m = &job->memory;
    size_t n_workers, n_servers;

    if (!job->compute->touches_memory || !job->compute->host_memory)
        return RC_OK;
    ranks_here(job, &n_workers, &n_servers);
    m->exchange_bytes += n_bytes - n_base_bytes; /* unsigned: a smaller one is taken off */
    m->host_bytes += n_workers * (n_bytes - n_base_bytes) + rank_0_bytes(job) - rank_0_bytes(base);
    if (m->host_bytes > m->available_bytes)
        return rc_raise(RC_INVAL, "needs %.2f GB of memory here, %.2f GB are available", (double)m->host_bytes * 1e-9,
                        (double)m->available_bytes * 1e-9);
    return RC_OK;
}
