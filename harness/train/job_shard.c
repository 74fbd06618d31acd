/* SPDX-License-Identifier: Apache-2.0 */
/* job_shard.c - see job_shard.h. */
#include "harness/train/job_shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exchange/buckets.h"
#include "harness/net/transport.h"
#include "harness/train/job_memory.h"
#include "harness/train/job_work.h"
#include "models/engine/network_shard.h"
#include "models/replay/replay_shard.h"

/* --shard-dense is given; of stages one may have no dense layers, and so no shards. */
static bool is_asked_for(const struct train_job *job)
{
    return job->opts.shard_dense > 1;
}

/* Options that shards have not: what the run is for them, or why. NULL: none is given. */
static const char *why_not(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    const struct {
        bool is_given;
        const char *why;
    } refused[] = {
        { o->sets > 0, "not with --sets" },
        { !job->workload->network && !job->profile, "the model is no network, whose dense layers could be cut" },
        { !(job->mode->module.caps & MODE_COLLECTIVE),
          "gradients of shards are summed over the workers that have them; --mode allreduce" },
        { job->collective && job->collective->module.caps & COLL_DEVICE,
          "reducers on GPUs sum what all workers have; --reducer ring" },
        { job->n_drivers > 0, "--input feed pushes samples to workers that need labels of others; --input direct" },
        { job->split_opts.kind != SPLIT_IID, "--split gives workers samples that the others of a group do not know" },
        { job->omitted != 0, "--omit leaves out what ranks do that have all of the network" },
        { strcmp(o->exchange_memory, "shared") == 0, "workers have different parameters; --exchange-memory private" },
        { job->exchange.compression.kind != COMPRESSION_NONE, "compression is built for whole gradients alone" },
        { o->average_every > 0, "--average-every averages what each rank has of a whole network" },
        { o->alternate_exchange > 0, "--alternate-exchange lets workers part, and those of a group compute together" },
        { o->verify_every > 0, "--verify-every compares parameters, of which workers have different ones" },
        { o->messages[0] != '\0', "--messages notes those of gradients alone" },
        { job->on_loss == ON_LOSS_REPORT, "a group cannot continue without one of its shards; use --on-loss abort" },
    };

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].is_given)
            return refused[i].why;
    return NULL;
}

/* The divisors of n above 1 -> "2 or 4", "3". */
static void divisors_text(char *text, size_t n_bytes, int n)
{
    size_t n_written = 0;

    text[0] = '\0';
    for (int k = 2; k <= n && n_written < n_bytes; k++)
        if (n % k == 0)
            n_written +=
                (size_t)snprintf(text + n_written, n_bytes - n_written, "%s%d", n_written > 0 ? " or " : "", k);
}

enum rc job_shard_check(const struct train_job *job)
{
    const int K = (int)job->opts.shard_dense;
    const char *why = is_asked_for(job) ? why_not(job) : NULL;
    char others[128];

    if (why)
        return rc_raise(RC_INVAL, "--shard-dense %d: %s", K, why);
    divisors_text(others, sizeof others, job->n_workers);
    if (is_asked_for(job) && job->n_workers == 1)
        return rc_raise(RC_INVAL, "--shard-dense %d: one worker has nobody to share with; --workers %d", K, K);
    if (is_asked_for(job) && job->n_workers % K != 0)
        return rc_raise(RC_INVAL, "--shard-dense %d: %d workers are no whole number of groups of %d; %s would be right",
                        K, job->n_workers, K, others);
    return RC_OK;
}

/* The whole network that the job trains, or replays at 1/divisor of its bytes. */
static enum rc open_whole(struct network **out, size_t *divisor, const struct train_job *job)
{
    *divisor = 1;
    return job->profile ? profile_open_network(out, divisor, job->profile, job->opts.profile)
                        : network_open(out, job->workload->network, &job->network);
}

/* What the job's ranks have shards of: its stage, or the whole network. */
static enum rc open_uncut(struct network **out, size_t *divisor, const struct train_job *job)
{
    struct network *whole = NULL;
    enum rc rc;

    TRY(open_whole(&whole, divisor, job));
    if (job->opts.stages > 1) {
        TRY(network_open_stage(out, whole, &job->stages.env.cuts, job->stages.number));
    } else {
        *out = whole;
        whole = NULL;
    }
out:
    network_close(&whole);
    return rc;
}

/* Of the segments in the first n_elems of the network. */
static size_t divided_params(const struct network *n, size_t n_elems, size_t divisor)
{
    size_t sum = 0;

    for (int i = 0; i < n->n_segments && n->segment[i].offset_elems < n_elems; i++)
        sum += profile_divided(n->segment[i].n_elems, divisor);
    return sum;
}

static enum rc open_both(struct network **uncut, struct network **shard, size_t *divisor, const struct train_job *job,
                         int number)
{
    enum rc rc;

    TRY(open_uncut(uncut, divisor, job));
    TRY(network_open_shard(shard, *uncut, number, job->shard.n_shards));
out:
    return rc;
}

/* Has the whole network dense layers for so many shards? */
static enum rc check_network(const struct network *whole, const struct train_job *job)
{
    const int K = (int)job->opts.shard_dense;
    const char *model = job->profile ? job->profile->model : job->opts.model;

    if (network_most_shards(whole) == 0)
        return rc_raise(RC_INVAL,
                        "--shard-dense %d: model %s does not end in dense layers that are its only way to a loss%s", K,
                        model, job->opts.aux ? "; leave out --aux" : "");
    if (network_most_shards(whole) < K)
        return rc_raise(RC_INVAL,
                        "--shard-dense %d: model %s has a dense layer of %d outputs; at most %d would be right", K,
                        model, network_most_shards(whole), network_most_shards(whole));
    return RC_OK;
}

enum rc job_shard_resolve(struct train_job *job)
{
    const int K = (int)job->opts.shard_dense;
    struct network *whole = NULL, *uncut = NULL;
    size_t divisor;
    enum rc rc = RC_OK;

    if (!is_asked_for(job))
        return RC_OK;
    rc = open_whole(&whole, &divisor, job);
    if (rc != RC_OK && job->profile) {
        char why[RC_MESSAGE_BYTES];
        (void)snprintf(why, sizeof why, "%s", rc_message());
        FAIL(rc, "--shard-dense %d: %.400s", K, why);
    }
    TRY(rc);
    TRY(check_network(whole, job));
    TRY(open_uncut(&uncut, &divisor, job));
    if (network_most_shards(uncut) == 0) /* a stage without dense layers: all its ranks have all of it */
        goto out;
    job->shard = (struct job_shard){ .n_shards = K,
                                     .n_common_params = divided_params(uncut, network_common_params(uncut), divisor),
                                     .whole_params = divided_params(uncut, uncut->n_params, divisor) };
    TRY(transport_find(&job->shard.transport, transport_auto(&job->world->module, 0)));
out:
    network_close(&whole);
    network_close(&uncut);
    return rc;
}

/* The shard with the most rows, and what *own of its rank follows from it. */
static enum rc open_largest(struct network **out, struct train_job *own, const struct network *uncut, size_t divisor)
{
    const int n_shards = own->shard.n_shards;
    struct network *shard = NULL;
    enum rc rc = RC_OK;

    for (int k = 0; k < n_shards; k++) {
        network_close(&shard);
        TRY(network_open_shard(&shard, uncut, k, n_shards));
        const size_t n_params = divided_params(shard, shard->n_params, divisor);
        if (k == 0 || n_params > own->n_params) {
            own->n_params = n_params;
            own->shard.number = k;
        }
    }
    network_close(&shard);
    TRY(network_open_shard(&shard, uncut, own->shard.number, n_shards));
    own->shard.most_elems = profile_divided(network_shard_most_elems(shard), divisor);
    *out = shard;
    shard = NULL;
out:
    network_close(&shard);
    return rc;
}

enum rc job_shard_memory(struct train_job *job, const struct network *network)
{
    struct train_job own = *job;
    struct network *uncut = NULL, *shard = NULL;
    size_t divisor;
    enum rc rc;

    if (!job_shard_is_cut(job))
        return job_memory_resolve(job, network);
    TRY(open_uncut(&uncut, &divisor, job));
    TRY(open_largest(&shard, &own, uncut, divisor));
    TRY(job_memory_resolve(&own, job->profile ? NULL : shard));
    job->memory = own.memory;
    job->shard.most_elems = own.shard.most_elems;
out:
    network_close(&uncut);
    network_close(&shard);
    return rc;
}

enum rc job_shard_bytes(size_t *out, const struct train_job *job, const struct network *stage)
{
    struct train_job own = *job;
    struct network *shard = NULL;
    enum rc rc;

    own.n_params = stage->n_params;
    if (!is_asked_for(job) || network_most_shards(stage) == 0)
        return job_memory_of_rank(out, &own, stage);
    own.shard = (struct job_shard){ .n_shards = (int)job->opts.shard_dense, .whole_params = stage->n_params };
    TRY(open_largest(&shard, &own, stage, 1));
    TRY(job_memory_of_rank(out, &own, shard));
out:
    network_close(&shard);
    return rc;
}

/* --- one rank's --- */

/* To where they are, or from there; at 1/divisor of their elements slices may end behind the last one. */
static void move_segments(float *own, float *whole, const struct network *n, const struct network *shard,
                          size_t divisor, bool cuts)
{
    for (int i = 0; i < n->n_segments; i++) {
        const struct range r = network_shard_range(n, i, shard->shard, shard->n_shards);
        const size_t n_whole = profile_divided(n->segment[i].n_elems, divisor);
        const size_t n_own = profile_divided(shard->segment[i].n_elems, divisor);
        const size_t first = (r.offset_elems - n->segment[i].offset_elems) / divisor, n_left = n_whole - first;
        memcpy(cuts ? own : whole + first, cuts ? whole + first : own, (n_own < n_left ? n_own : n_left) * sizeof *own);
        own += n_own;
        whole += n_whole;
    }
}

static enum rc move_params(float *own, float *whole, const struct train_job *job, int number, bool cuts)
{
    struct network *n = NULL, *shard = NULL;
    size_t divisor;
    enum rc rc;

    TRY(open_both(&n, &shard, &divisor, job, number));
    move_segments(own, whole, n, shard, divisor, cuts);
out:
    network_close(&n);
    network_close(&shard);
    return rc;
}

enum rc job_shard_cut(float *own, const float *whole, const struct train_job *job, int number)
{
    return move_params(own, (float *)(uintptr_t)whole, job, number, true);
}

enum rc job_shard_paste(float *whole, const float *own, const struct train_job *job, int number)
{
    return move_params((float *)(uintptr_t)own, whole, job, number, false);
}

/* H3 */
static enum rc cut_checkpoint(struct checkpoint *own, const struct checkpoint *whole, const struct train_job *job,
                              int number)
{
    const size_t n_own = own->n_params;
    enum rc rc;

    *own = *whole;
    own->n_params = n_own;
    own->param = own->state = NULL;
    TRY(checkpoint_alloc(own, whole->kept.moments != NULL));
    TRY(job_shard_cut(own->param, whole->param, job, number));
    for (size_t k = 0; whole->kept.moments && k < (size_t)optimizer_n_moments(&whole->optimizer); k++)
        TRY(job_shard_cut(own->kept.moments + k * n_own, whole->kept.moments + k * whole->n_params, job, number));
    if (whole->n_state > 0)
        memcpy(own->state, whole->state, whole->n_state * sizeof *own->state);
out:
    return rc;
}

enum rc job_shard_take(struct train_job *out, const struct train_job *job, int number)
{
    struct train_job own = *job;
    struct network *whole = NULL, *shard = NULL;
    size_t divisor, n_elems = 0;
    enum rc rc;

    own.segment = NULL;
    own.resume =
        (struct checkpoint){ .steps_count = job->resume.steps_count, .samples_count = job->resume.samples_count };
    TRY(open_both(&whole, &shard, &divisor, job, number));
    own.shard.number = number;
    own.shard.most_elems = profile_divided(network_shard_most_elems(shard), divisor);
    own.shard.traffic = network_shard_traffic(shard);
    own.shard.traffic.gathered_elems = profile_divided(own.shard.traffic.gathered_elems, divisor);
    own.shard.traffic.scattered_elems = profile_divided(own.shard.traffic.scattered_elems, divisor);
    own.n_params = divided_params(shard, shard->n_params, divisor);
    own.segment = malloc(own.n_segments * sizeof *own.segment);
    if (!own.segment)
        FAIL(RC_NOMEM, "no memory for the layout of %zu segments", own.n_segments);
    for (size_t i = 0; i < own.n_segments; i++) {
        const size_t n = profile_divided(shard->segment[i].n_elems, divisor);
        own.segment[i] = shard->segment[i];
        own.segment[i].offset_elems = n_elems;
        own.segment[i].n_elems = n;
        n_elems += n;
    }
    own.resume.n_params = own.n_params;
    if (job->resume.param)
        TRY(cut_checkpoint(&own.resume, &job->resume, job, number));
    *out = own;
    own = (struct train_job){ 0 };
out:
    network_close(&whole);
    network_close(&shard);
    job_shard_free(&own);
    return rc;
}

void job_shard_free(struct train_job *own)
{
    free(own->segment);
    own->segment = NULL;
    checkpoint_free(&own->resume);
}

enum rc job_shard_explain(const struct train_job *job, enum rc rc)
{
    const int K = (int)job->opts.shard_dense, S = job->opts.stages > 1 ? (int)job->opts.stages : 1;
    char message[RC_MESSAGE_BYTES];
    const char *named = strstr(rc_message(), "rank ");
    char *end = NULL;

    if (!job_shard_is_cut(job) || (rc != RC_PEER && rc != RC_TIMEOUT) || strstr(rc_message(), "shard ") || !named)
        return rc;
    const int rank = (int)strtol(named + strlen("rank "), &end, 10);
    if (end == named + strlen("rank ") || rank % S != job->stages.number) /* of another stage */
        return rc;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "%.400s; rank %d has shard %d of group %d", message, rank, rank / S % K, rank / S / K);
}

/* --- what the shards of a job have in common --- */

static enum rc count_pieces(size_t *out, const struct train_job *job, int number)
{
    struct train_job own = { .segment = NULL };
    struct buckets b = { 0 };
    enum rc rc;

    TRY(job_shard_take(&own, job, number));
    TRY(buckets_open_cut(&b, own.segment, own.n_segments, &job->exchange.buckets, own.shard.n_common_params));
    *out = b.n_pieces;
out:
    buckets_close(&b);
    job_shard_free(&own);
    return rc;
}

enum rc job_shard_find_order(struct train_job *job)
{
    struct train_job plain = *job;
    size_t n_first = 0, n = 0;
    enum rc rc = RC_OK;

    plain.resume.param = NULL; /* nothing of it is looked at */
    for (int k = 0; job_shard_is_cut(job) && !job->shard.pieces_differ && k < job->shard.n_shards; k++) {
        TRY(count_pieces(&n, &plain, k));
        n_first = k == 0 ? n : n_first;
        job->shard.pieces_differ = n != n_first;
        if (n != n_first && job->exchange.priority && (job->exchange.overlap || job->may_overlap))
            FAIL(RC_INVAL,
                 "--priority on: with --overlap %s worker 0 orders the pieces of all, and shard %d of --shard-dense %d "
                 "has %zu where shard 0 has %zu; --priority off",
                 job->opts.overlap, k, job->shard.n_shards, n, n_first);
    }
out:
    return rc;
}

/* --- what shards have come to --- */

struct shard_place { /* in group 0 */
    int stage, number, n_shards;
};

static enum rc write_one(struct report *to, const struct train_result *result, const struct shard_figures *f,
                         struct shard_place at)
{
    const double n_steps = (double)result->n_steps;
    const double steps_s = 1e-9 * (double)(result->stamp[result->n_steps - 1].end_ns - result->stamp[0].start_ns);
    struct record *r = NULL;
    enum rc rc;

    TRY(record_open(&r, "shard"));
    record_i64(r, "shard", at.number);
    record_i64(r, "stage", at.stage);
    record_i64(r, "shards_count", at.n_shards);
    record_u64(r, "params_count", f->n_params);
    record_u64(r, "dense_params_count", f->n_params - f->n_common_params);
    record_f64(r, "gathered_bytes_per_step", (double)f->gathered_bytes / n_steps);
    record_f64(r, "scattered_bytes_per_step", (double)f->scattered_bytes / n_steps);
    record_f64(r, "waited_ratio", 1e-9 * (double)f->waited_ns / steps_s);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

enum rc job_shard_write(struct report *to, const struct train_job *job, const struct train_result *r)
{
    enum rc rc = RC_OK;

    const int K = (int)job->opts.shard_dense;

    for (int k = 0; r->n_stages == 0 && r->shard && r->n_steps > 0 && k < K; k++)
        TRY(write_one(to, r, &r->shard[k], (struct shard_place){ 0, k, K }));
    for (int i = 0; r->stage_shard && r->n_steps > 0 && i < r->n_stages; i++)
        for (int k = 0; k < r->n_shards_of[i]; k++)
            TRY(write_one(to, r, &r->stage_shard[i * K + k], (struct shard_place){ i, k, K }));
out:
    return rc;
}
