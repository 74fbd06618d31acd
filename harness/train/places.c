/* SPDX-License-Identifier: Apache-2.0 */
/* places.c - see places.h. */
#include "harness/train/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/collective.h"
#include "harness/train/disturbed.h"
#include "harness/train/job_exchange.h"
#include "harness/train/result.h"
#include "harness/train/servers_record.h"
#include "harness/train/stages.h"

/* --- from the stages to the first --- */

struct stage_facts { /* what all stages have alike, but for the shards */
    uint64_t n_ranks, n_workers, n_steps, n_shards;
};

/* n_bytes of each stage, one behind the other; NULL: not the first stage. The caller frees them. */
static enum rc gather_bytes(void **all, struct world *pipe, const void *own, size_t n_bytes)
{
    void *room = NULL;
    enum rc rc = RC_OK;

    *all = NULL;
    if (pipe->rank == 0 && n_bytes > 0) {
        room = malloc((size_t)pipe->n_ranks * n_bytes);
        if (!room)
            FAIL(RC_NOMEM, "no memory for what %d stages have come to", pipe->n_ranks);
    }
    if (n_bytes > 0)
        TRY(world_gather(pipe, own, room, n_bytes));
    *all = room;
    room = NULL;
out:
    free(room);
    return rc;
}

/* Figures of as many shards as --shard-dense says; of a stage without: zeros. */
static enum rc gather_shards(void **all, struct world *pipe, const struct train_job *job,
                             const struct train_result *own)
{
    const size_t n = job->opts.shard_dense > 1 ? (size_t)job->opts.shard_dense : 0;
    struct shard_figures *figures = calloc(n + 1, sizeof *figures);
    enum rc rc = RC_OK;

    if (!figures)
        FAIL(RC_NOMEM, "no memory for the figures of %zu shards", n);
    if (own->shard)
        memcpy(figures, own->shard, n * sizeof *figures);
    TRY(gather_bytes(all, pipe, figures, n * sizeof *figures));
out:
    free(figures);
    return rc;
}

enum rc places_gather(struct train_result *whole, struct world *pipe, const struct train_job *job,
                      const struct train_result *own)
{
    const struct stage_facts facts = { (uint64_t)own->n_ranks, (uint64_t)own->n_workers, own->n_steps,
                                       (uint64_t)job->shard.n_shards };
    struct stage_facts all[NETWORK_MAX_STAGES];
    void *stamp = NULL, *rank = NULL, *shard = NULL;
    enum rc rc;

    TRY(world_allgather(pipe, &facts, all, sizeof facts));
    for (int i = 0; i < pipe->n_ranks; i++)
        if (all[i].n_ranks != facts.n_ranks || all[i].n_workers != facts.n_workers || all[i].n_steps != facts.n_steps)
            FAIL(RC_BUG, "stage %d has done %llu steps with %llu workers, and another one %zu with %d", i,
                 (unsigned long long)all[i].n_steps, (unsigned long long)all[i].n_workers, own->n_steps,
                 own->n_workers);
    TRY(gather_bytes(&stamp, pipe, own->stamp, facts.n_workers * facts.n_steps * sizeof *own->stamp));
    TRY(gather_bytes(&rank, pipe, own->rank, facts.n_ranks * sizeof *own->rank));
    TRY(gather_shards(&shard, pipe, job, own));
    if (pipe->rank > 0)
        goto out;
    whole->n_stages = pipe->n_ranks;
    for (int i = 0; i < pipe->n_ranks; i++)
        whole->n_shards_of[i] = (int)all[i].n_shards;
    whole->stage_stamp = stamp;
    whole->stage_rank = rank;
    whole->stage_shard = shard;
    stamp = rank = shard = NULL;
out:
    free(stamp);
    free(rank);
    free(shard);
    return rc;
}

void places_free(struct train_result *r)
{
    free(r->stage_stamp);
    free(r->stage_rank);
    free(r->stage_shard);
    r->stage_stamp = NULL;
    r->stage_rank = NULL;
    r->stage_shard = NULL;
}

/* --- records --- */

static bool is_virtual(const struct train_job *job)
{
    return job->world->module.caps & WORLD_VIRTUAL_TIME;
}

/* In sim, how this machine holds the memory is not the simulated one's (L4). */
static void record_exchange_memory(struct record *r, const struct train_job *job, const struct exchange_memory_facts *m)
{
    const bool is_real = !is_virtual(job);

    record_text(r, "exchange_memory", memory_kind_text(m->kind));
    record_text(r, "exchange_pages", is_real && m->has_pages ? pages_text(m->pages) : NULL);
    record_text(r, "exchange_shared_by", is_real && m->way[0] ? m->way : NULL);
    record_text(r, "exchange_shared_reason", is_real && m->reason[0] ? m->reason : NULL);
}

/* K1 */
static void record_place(struct record *r, const struct train_job *job, int number, bool is_worker)
{
    const int S = job->opts.stages > 1 ? (int)job->opts.stages : 1, n_behind = number - job->n_workers;
    const int n_shards = job->shard.n_shards > 1 ? job->shard.n_shards : 1;

    if (is_worker) {
        record_i64(r, "rank", job_stages_rank(job, number));
        record_text(r, "role", "worker");
        record_i64(r, "worker_index", number);
        record_i64(r, "stage_index", job->stages.number);
        record_i64(r, "shard_index", number % n_shards);
        return;
    }
    record_i64(r, "rank", S > 1 ? S * job->n_workers + job->stages.number * job->n_servers + n_behind : number);
    record_text(r, "role", "server");
    record_null(r, "worker_index");
    record_i64(r, "stage_index", job->stages.number);
    record_null(r, "shard_index");
}

/* Of a step, in the mean of all; not known of who computes nothing. */
static void record_waits(struct record *r, const struct train_job *job, const struct train_rank_info *info,
                         bool is_worker)
{
    const double n_steps = is_worker ? (double)info->steps_count : 0;

    record_f64(r, "stage_wait_s", job->opts.stages > 1 ? 1e-9 * (double)info->stage_waited_ns / n_steps : NAN);
    record_f64(r, "shard_wait_s", job->shard.n_shards > 1 ? 1e-9 * (double)info->shard_waited_ns / n_steps : NAN);
}

static void record_parts(struct record *r, const struct step_parts *parts)
{
    record_f64(r, "exchange_s", parts->step_mean_s - parts->compute_s);
    record_f64(r, "wait_s", parts->wait_s);
    record_f64(r, "wire_s", parts->wire_s);
    record_f64(r, "server_s", parts->server_s);
    record_f64(r, "apply_s", parts->apply_s);
    record_f64(r, "rest_s", parts->rest_s);
    record_f64(r, "exposed_comm_s", parts->exposed_s);
    record_f64(r, "hidden_comm_s", parts->hidden_s);
}

/* One rank; of a worker the parts of its mean step (NaN: a server). */
static enum rc write_rank(struct report *to, const struct train_job *job, const struct train_result *result, int i,
                          const struct step_parts *parts)
{
    const struct step_stamp *stamp = result->stamp + (size_t)i * result->n_steps;
    const struct train_rank_info *info = &result->rank[i];
    const struct disturbance host = disturbance_of_rank(job, result, i);
    const bool is_worker = i < result->n_workers;
    double staleness = 0, n_pushes = 0;
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "rank"));
    record_place(r, job, info->number, is_worker);
    record_text(r, "host", is_virtual(job) ? NULL : info->host);
    record_i64(r, "own_cores_count", info->own_cores_count);
    record_text(r, "device", info->device[0] ? info->device : NULL);
    record_text(r, "mpi_thread_level", info->mpi_level[0] ? info->mpi_level : NULL);
    record_exchange_memory(r, job, &info->memory);
    record_disturbance(r, job, &host);
    record_part_of_rank(r, job, info->number, is_worker);
    record_f64(r, "step_mean_s", parts->step_mean_s);
    record_f64(r, "compute_s", parts->compute_s);
    record_waits(r, job, info, is_worker);
    recorded_input_of_rank(r, job, result, i);
    record_parts(r, parts);
    for (size_t step = 0; is_worker && step < result->n_steps; step++) {
        staleness += stamp[step].staleness_count;
        n_pushes += step_has_staleness(&stamp[step]);
    }
    record_sent_of_rank(r, job, result, i);
    record_periods_of_rank(r, job, result, i);
    record_f64(r, "staleness_mean_count",
               is_worker && job->mode->module.caps & MODE_SERVERS ? staleness / n_pushes : NAN);
    record_server_of_rank(r, job, result, i);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

/* Of one stage, with its job and its result. */
static enum rc write_ranks(struct report *to, const struct train_job *job, const struct train_result *result,
                           struct steps steps)
{
    static const struct step_parts none = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
    struct step_parts *parts = malloc(steps.n_workers * sizeof *parts);
    enum rc rc;

    if (!parts)
        return rc_raise(RC_NOMEM, "no memory for the parts of a step of %zu workers", steps.n_workers);
    steps.stamp = result->stamp;
    TRY(steps_worker_parts(parts, &steps));
    for (int i = 0; i < result->n_ranks; i++)
        TRY(write_rank(to, job, result, i, i < result->n_workers ? &parts[i] : &none));
out:
    free(parts);
    return rc;
}

enum rc places_write_ranks(struct report *to, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s)
{
    struct train_job of_stage = *job;
    struct train_result its = *r;
    enum rc rc;

    TRY(write_ranks(to, job, r, s->steps));
    for (int i = 1; i < r->n_stages; i++) {
        of_stage.stages.number = i;
        of_stage.shard.n_shards = r->n_shards_of[i];
        its.stamp = r->stage_stamp + (size_t)i * (size_t)r->n_workers * r->n_steps;
        its.rank = r->stage_rank + (size_t)i * (size_t)r->n_ranks;
        TRY(write_ranks(to, &of_stage, &its, s->steps));
    }
out:
    return rc;
}
