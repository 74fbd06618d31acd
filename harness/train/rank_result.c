/* SPDX-License-Identifier: Apache-2.0 */
/* rank_result.c - after the last step: what rank 0 keeps of a run, and gathers from the ranks that are left. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/host_memory.h"
#include "harness/report/timeline.h"
#include "harness/train/elastic.h"
#include "harness/train/messages.h"
#include "harness/train/omission.h"
#include "harness/train/places.h"
#include "harness/train/rank_state.h"
#include "harness/train/stages.h"
#include "harness/world/child.h"
#include "models/engine/training.h"

uint64_t rank_samples_before(const struct train_job *job, size_t step)
{
    return job->resume.samples_count + (uint64_t)step * (uint64_t)job->n_workers * job->opts.batch;
}

void rank_describe(const struct rank *r, struct checkpoint *c, size_t n_done)
{
    const struct train_job *job = r->job;

    snprintf(c->model, sizeof c->model, "%s", job->opts.model);
    c->seed = job->opts.seed;
    c->steps_count = job->resume.steps_count + n_done;
    c->samples_count = rank_samples_before(job, n_done);
    if (job->exchange.stop_at > 0 && c->kept.n_updates > 0) { /* workers have done steps of different numbers */
        c->samples_count = c->kept.n_updates * (job->opts.push_every > 1 ? job->opts.push_every : 1) * job->opts.batch;
        c->steps_count = c->samples_count / ((uint64_t)job->n_workers * job->opts.batch);
    }
}

/* Does this rank write a checkpoint behind the last step? */
static bool saves(const struct rank *r)
{
    return r->world->rank == 0 || r->job->omitted & OMIT_RANK0_SAVE || rank_shard_gives(r);
}

/* Get the final parameters, and the optimiser's arrays if a checkpoint of this rank needs it. Its memory is allocated
 * only now, so that training does not need it too. */
enum rc rank_finish_exchange(struct rank *r)
{
    struct checkpoint *c = &r->result.final;
    enum rc rc = RC_OK;

    if (saves(r) && r->param && r->job->keeps_moments && !r->job->opts.forward_only) {
        c->n_params = r->job->n_params;
        c->n_state = r->job->n_state;
        c->optimizer = r->job->optimizer;
        if (!c->param) /* else checkpoint.c has */
            TRY(checkpoint_alloc(c, true));
    }
    TRY(exchange_final(r->exchange, &c->kept));
out:
    return rc;
}

/* Fill the checkpoint *c from this rank. Closes the model first, to make room. */
static enum rc keep_params(struct rank *r, struct checkpoint *c)
{
    const struct train_job *job = r->job;
    size_t n_state = 0;
    const float *state = workload_state(r->training, &n_state);
    enum rc rc = RC_OK;

    c->n_params = job->n_params;
    c->n_state = n_state;
    c->optimizer = job->optimizer;
    if (!c->param)
        TRY(checkpoint_alloc(c, false));
    if (n_state > 0)
        TRY(compute_fetch(r->compute, c->state, state, n_state * sizeof(float)));
    workload_close(&r->training); /* frees activations, for the copy below */
    TRY(compute_fetch(r->compute, c->param, r->param, job->n_params * sizeof(float)));
    rank_describe(r, c, elastic_is_on(job) ? train_n_whole_steps(job, &r->result) : r->n_done);
out:
    return rc;
}

typedef enum rc join_fn(struct rank *r, struct checkpoint *whole, const struct checkpoint *own);

/* Where it is, the checkpoint of what shards or stages have takes the place of this rank's own. */
static enum rc join_places(struct rank *r, join_fn *join)
{
    struct checkpoint *own = &r->result.final, whole = { .param = NULL };
    enum rc rc;

    TRY(join(r, &whole, own));
    if (whole.param) {
        checkpoint_free(own);
        *own = whole;
    }
out:
    return rc;
}

/* Shards are evaluated as the whole network, or the whole stage, that they are parts of. */
static enum rc evaluate(struct rank *r)
{
    struct evaluation *out = &r->result.evaluation;
    enum rc rc;

    if (r->shard)
        TRY(rank_shard_evaluate(r, &r->result.final, out));
    else
        TRY(workload_evaluate(r->training, r->param, r->job->n_eval, out));
    TRY(rank_pipe_share_evaluation(r, out));
out:
    return rc;
}

/* Rank 0: evaluate the trained model with its own running means, and keep its parameters in the result; of a shard the
 * other way round. */
static enum rc evaluate_and_keep(struct rank *r)
{
    struct train_result *result = &r->result;
    const bool evaluates = r->job->n_eval > 0 && r->result.stop_signal == 0 && !r->is_corrupted;
    enum rc rc = RC_OK;

    result->evaluation = (struct evaluation){ NAN, NAN };
    result->n_threads = r->compute->env.n_threads;
    result->peak_rss_bytes = r->peak_is_own ? peak_rss_bytes() : NAN;
    result->data_wait_s = NAN;
    result->pipe_waited_s = 1e-9 * (double)r->pipe_waited_ns;
    result->n_held = network_most_held(r->training);
    if (!rank_is_virtual(r) && network_of(r->training))
        result->data_wait_s = 1e-9 * (double)r->data_waited_ns / (double)r->n_begun;
    result->has_params = r->param != NULL;
    if (result->has_params && r->shard) {
        TRY(keep_params(r, &result->final));
        TRY(join_places(r, rank_shard_join));
    }
    /* Who stops a run does not wait for that; parameters that nobody was to have are not judged. */
    if (evaluates)
        TRY(evaluate(r));
    if (result->has_params && !r->shard)
        TRY(keep_params(r, &result->final));
    if (result->has_params && r->pipe)
        TRY(join_places(r, rank_pipe_join));
out:
    return rc;
}

/* A rank of group 0 that is not the first gives its shard to that one. */
static enum rc give_shard(struct rank *r)
{
    enum rc rc = RC_OK;

    if (!rank_shard_gives(r) || !r->param)
        return RC_OK;
    TRY(keep_params(r, &r->result.final));
    TRY(join_places(r, rank_shard_join));
out:
    return rc;
}

/* The ranks that results are gathered from. */
static struct world *gathered(const struct rank *r)
{
    return r->left ? r->left : r->world;
}

enum rc rank_result_open(struct rank *r)
{
    struct train_result *result = &r->result;
    const size_t n_ranks = (size_t)r->world->n_ranks, n_steps = train_most_steps(r->job);

    r->stamp = malloc(n_steps * sizeof *r->stamp);
    if (!r->stamp)
        return rc_raise(RC_NOMEM, "no memory for the stamps of %zu steps", n_steps);
    memset(r->stamp, 0xff, n_steps * sizeof *r->stamp); /* touch every page before the first step */
    if (r->world->rank != 0)
        return RC_OK;
    result->stamp = malloc(n_ranks * n_steps * sizeof *result->stamp);
    result->lr = calloc(n_steps, sizeof *result->lr);
    result->rank = calloc(n_ranks, sizeof *result->rank);
    if (!result->stamp || !result->lr || !result->rank)
        return rc_raise(RC_NOMEM, "no memory for the stamps of %zu ranks x %zu steps", n_ranks, n_steps);
    memset(result->stamp, 0xff, n_ranks * n_steps * sizeof *result->stamp); /* what malloc gave may not be there yet */
    return RC_OK;
}

/* What of the result is known here: of the ranks that are left, and the steps that they have done. */
static void begin_result(struct rank *r)
{
    const struct train_job *job = r->job;
    const struct world *w = gathered(r);
    struct train_result *result = &r->result;

    result->n_ranks = w->n_ranks;
    result->n_steps = r->n_done;
    for (int i = 0; i < w->n_ranks; i++)
        result->n_workers += (r->left ? world_number(w, i) : i) < job->n_workers;
    for (size_t step = 0; step < r->n_done && !elastic_is_on(job); step++) /* else elastic.c has */
        result->lr[step] = schedule_lr(&job->schedule, rank_samples_before(job, step));
}

static void keep_least(double *least_s, uint64_t ns)
{
    if (ns > 0 && (*least_s == 0 || 1e-9 * (double)ns < *least_s))
        *least_s = 1e-9 * (double)ns;
}

/* Of all replicas of a stage: none of them can do better. */
static void find_least(struct train_result *result)
{
    result->least_forward_s = result->least_backward_s = 0;
    for (int i = 0; i < result->n_ranks; i++) {
        keep_least(&result->least_forward_s, result->rank[i].least_forward_ns);
        keep_least(&result->least_backward_s, result->rank[i].least_backward_ns);
    }
}

/* Gather time stamps and host names on rank 0. Servers send unused stamps, as a gather is collective; they are the last
 * ranks, behind those that are read. */
static enum rc gather_results(struct rank *r)
{
    struct train_rank_info *info = &r->info;
    struct train_result *result = &r->result;
    const bool root = r->world->rank == 0;
    enum rc rc = RC_OK;

    info->number = r->world->rank;
    info->own_cores_count = r->world->n_own_cores;
    info->memory = r->memory;
    snprintf(info->mpi_level, sizeof info->mpi_level, "%s", r->world->mpi_level ? r->world->mpi_level : "");
    info->steps_count = r->n_begun;
    info->stage_waited_ns = r->pipe_waited_ns;
    info->shard_waited_ns = rank_shard_waited_ns(r);
    info->least_forward_ns = r->least_forward_ns;
    info->least_backward_ns = r->least_backward_ns;
    info->counts = exchange_counts(r->exchange);
    info->sent_bytes = exchange_sent_bytes(r->exchange);
    (void)snprintf(info->encryption, sizeof info->encryption, "%s", exchange_encryption(r->exchange));
    info->full_bytes = exchange_full_bytes(r->exchange) * (rank_is_worker(r) ? 1 : (uint64_t)r->job->n_workers);
    child_host_name(info->host, sizeof info->host);
    if (root)
        begin_result(r);
    TRY(world_gather(gathered(r), r->stamp, root ? result->stamp : NULL, r->n_done * sizeof *r->stamp));
    TRY(world_gather(gathered(r), info, root ? result->rank : NULL, sizeof *info));
    TRY(rank_hooks_gather(r, gathered(r)));
    if (root) {
        find_least(result);
        TRY(rank_note_losses(r));
        TRY(evaluate_and_keep(r));
    } else
        TRY(give_shard(r));
    TRY(rank_shard_gather_figures(r));
out:
    return rc;
}

/* --omit rank0-save: one after the other (omission.h). */
static enum rc save_on_all(struct rank *r)
{
    struct checkpoint *c = &r->result.final;
    enum rc rc = RC_OK;

    if (!(r->job->omitted & OMIT_RANK0_SAVE))
        return RC_OK;
    if (r->world->rank > 0)
        TRY(keep_params(r, c));
    c->writer_rank = (uint64_t)r->world->rank;
    for (int i = 0; i < r->job->n_workers; i++) {
        if (i == r->world->rank)
            TRY(checkpoint_save(c, r->job->opts.save, world_tick_callback, r->world));
        TRY(world_barrier(r->world));
    }
out:
    return rc;
}

/* Rings are read by this task only now: the communicator has ended. */
static enum rc write_timeline(struct rank *r)
{
    struct world *w = r->job->opts.stages > 1 ? r->job->all : gathered(r); /* of all stages */
    struct span_ring *ring[EXCHANGE_N_RINGS + 2];
    struct record *facts = NULL;
    char role[32];
    enum rc rc = RC_OK;

    if (!r->job->opts.timeline[0])
        return RC_OK;
    for (int i = 0; i < EXCHANGE_N_RINGS; i++)
        ring[i] = exchange_ring(r->exchange, (enum exchange_task)i);
    ring[EXCHANGE_N_RINGS] = rank_pipe_ring(r);
    ring[EXCHANGE_N_RINGS + 1] = rank_shard_ring(r);
    job_stages_role(role, sizeof role, r->job, rank_is_worker(r));
    if (w->rank == 0) {
        facts = train_manifest(r->job);
        if (!facts)
            FAIL(RC_NOMEM, "no memory for the facts of the timeline");
        if (r->result.n_messages)
            record_u64(facts, "messages_sum_ns", messages_sum_ns(&r->result));
    }
    const struct timeline_opts timeline = { .path = r->job->opts.timeline,
                                            .role = role,
                                            .ring = ring,
                                            .n_rings = EXCHANGE_N_RINGS + 2,
                                            .facts = facts,
                                            .zero_ns = &r->result.timeline_zero_ns,
                                            .written = &r->result.timeline_rc };
    TRY(timeline_gather_and_write(w, &timeline));
    r->result.has_timeline = w->rank == 0 && r->result.timeline_rc == RC_OK;
    if (r->result.timeline_rc != RC_OK)
        snprintf(r->result.timeline_error, sizeof r->result.timeline_error, "%s", rc_message());
out:
    record_close(&facts);
    return rc;
}

enum rc rank_gather(struct rank *r)
{
    enum rc rc;

    TRY(gather_results(r)); /* first: what the training has come to is not lost with a timeline */
    TRY(save_on_all(r));
    TRY(rank_messages_gather(r, gathered(r)));
    TRY(write_timeline(r));
out:
    return rc;
}

void train_result_free(struct train_result *r)
{
    free(r->stamp);
    free(r->lr);
    free(r->round_ns);
    free(r->trajectory);
    free(r->message);
    free(r->n_messages);
    free(r->rank);
    free(r->loss);
    free(r->shard);
    places_free(r);
    checkpoint_free(&r->final);
    *r = (struct train_result){ 0 };
}
