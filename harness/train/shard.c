/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.c - --shard-dense K: the outputs of the network's dense layers are split over groups of K workers
 * (models/engine/network_shard.h); see shard.h.
 */
#include "harness/train/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/loader.h"
#include "harness/bench/alpha_beta.h"
#include "harness/exchange/buckets.h"
#include "harness/net/transport.h"
#include "harness/train/job.h"
#include "harness/train/job_batch.h"
#include "harness/train/rank_state.h"
#include "harness/train/stages.h"
#include "harness/world/span.h"
#include "models/engine/device_pipe.h"
#include "models/engine/network_shard.h"
#include "models/replay/player.h"

/* --- the job of a shard --- */

/* --shard-dense is given; of stages one may have no dense layers, and so no shards. */
static bool is_asked_for(const struct train_job *job)
{
    return job->opts.shard_dense > 1;
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
    char others[128];

    divisors_text(others, sizeof others, job->n_workers);
    if (is_asked_for(job) && job->n_workers == 1)
        return rc_raise(RC_INVAL, "--shard-dense %d: one worker has no other worker to share with; --workers %d", K, K);
    if (is_asked_for(job) && job->n_workers % K != 0)
        return rc_raise(RC_INVAL, "--shard-dense %d: %d workers are no whole number of groups of %d; use %s", K,
                        job->n_workers, K, others);
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
        return rc_raise(RC_INVAL, "--shard-dense %d: model %s has a dense layer of %d outputs; use at most %d", K,
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

/* train.H3 */
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

static enum rc count_chunks(size_t *out, const struct train_job *job, int number)
{
    struct train_job own = { .segment = NULL };
    struct buckets b = { 0 };
    enum rc rc;

    TRY(job_shard_take(&own, job, number));
    TRY(buckets_open_cut(&b, own.segment, own.n_segments, &job->exchange.buckets, own.shard.n_common_params));
    *out = b.n_chunks;
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
    for (int k = 0; job_shard_is_cut(job) && !job->shard.chunks_differ && k < job->shard.n_shards; k++) {
        TRY(count_chunks(&n, &plain, k));
        n_first = k == 0 ? n : n_first;
        job->shard.chunks_differ = n != n_first;
        if (n != n_first && job->exchange.priority && (job->exchange.overlap || job->may_overlap))
            FAIL(RC_INVAL,
                 "--priority on: with --overlap %s worker 0 orders the chunks of all, and shard %d of --shard-dense %d "
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
    struct record *r = report_begin(to, "shard");

    record_i64(r, "shard", at.number);
    record_i64(r, "stage", at.stage);
    record_i64(r, "shards_count", at.n_shards);
    record_u64(r, "params_count", f->n_params);
    record_u64(r, "dense_params_count", f->n_params - f->n_common_params);
    record_f64(r, "gathered_bytes_per_step", (double)f->gathered_bytes / n_steps);
    record_f64(r, "scattered_bytes_per_step", (double)f->scattered_bytes / n_steps);
    record_f64(r, "waited_ratio", 1e-9 * (double)f->waited_ns / steps_s);
    return report_end(to);
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

/* --- arrays between two ranks --- */

struct xfer rank_message(bool is_hollow, const float *x, size_t n_elems, int peer, uint32_t tag)
{
    const size_t n_bytes = n_elems * sizeof *x;

    return (struct xfer){ .ptr = is_hollow ? NULL : (float *)(uintptr_t)x,
                          .n_bytes = is_hollow ? 0 : n_bytes,
                          .n_hollow_bytes = is_hollow ? n_bytes : 0,
                          .peer = peer,
                          .tag = tag };
}

enum rc rank_move(const struct rank_move *how, float *x, size_t n)
{
    struct transport *t = how->transport;
    float asked = 0;
    size_t done = 0;
    enum rc rc = RC_OK;

    while (done < n) {
        const size_t left = n - done, n_elems = left < how->most_elems ? left : how->most_elems;
        struct xfer ask = rank_message(how->is_hollow, &asked, 1, how->peer, how->tag + 1);
        struct xfer m = rank_message(how->is_hollow, x + done, n_elems, how->peer, how->tag);
        TRY(how->sends ? transport_recv(t, &ask) : transport_recv(t, &m));
        if (!how->sends)
            TRY(transport_send(t, &ask));
        TRY(transport_wait(t, &ask, how->timeout_ms));
        if (how->sends)
            TRY(transport_send(t, &m));
        TRY(transport_wait(t, &m, how->timeout_ms));
        done += n_elems;
    }
out:
    return rc;
}

/*
 * The ranks of a group of --shard-dense (shard.h), and how their activations cross
 * (models/engine/stage.h).
 *
 * A gather and a scatter are one message from each rank of the group to each other one: the bytes of a ring, and one
 * latency. Sums are added in the order of shards, whatever came first.
 */

enum { TAG_GATHER = 1, TAG_SCATTER, TAG_JOIN, MOST_AHEAD = 8 }; /* TAG_JOIN + 1, too: shard.h */

struct rank_shard {
    struct rank *rank;
    const struct train_job *whole; /* the job of all shards */
    struct train_job job;          /* of this one */
    struct dense_shard env;
    struct dense_shard given;    /* to the training: env, or by way of ... */
    struct device_group *device; /* ... this, where the compute has memory of its own; else NULL */
    struct compute *host;        /* then: what adds up chunks; else NULL */
    struct world *group, *same;  /* by shard; of the ranks that have this shard, by group */
    struct exchange_shard exchanged;
    struct transport *transport; /* of the group */
    struct xfer in[NETWORK_MAX_SHARDS], out[NETWORK_MAX_SHARDS];
    size_t most_elems; /* of a chunk */
    float *room;       /* [n_shards][most_elems]: chunks to be added up; hollow: NULL */
    struct shard_figures figures;
    bool is_still;          /* nothing crosses: computing alone is measured */
    struct span_ring *ring; /* NULL: no timeline */
};

static bool is_hollow(const struct rank_shard *s)
{
    return !s->rank->compute->ops->touches_memory;
}

/* The wait for a message is one of the run's, and names the shard that is waited for. */
static enum rc await(struct rank_shard *s, struct xfer *x)
{
    const int timeout_ms = train_message_limit_ms(s->whole), own = s->env.number;
    char message[RC_MESSAGE_BYTES];
    const enum rc rc = transport_wait(s->transport, x, timeout_ms);

    if (rc == RC_OK)
        return RC_OK;
    (void)snprintf(message, sizeof message, "%s", rc_message());
    return rc_raise(rc, "%.360s; shard %d waited for %s of shard %d, which is rank %d", message, own,
                    x->tag == TAG_GATHER ? "the activations" : "the gradients", x->peer,
                    job_stages_rank(s->whole, s->rank->world->rank - own + x->peer));
}

/* Into the timeline, until now. */
static void note(struct rank_shard *s, const char *what, uint64_t began_ns, uint64_t ended_ns)
{
    const struct rank *r = s->rank;
    const struct span span = { .start_ns = began_ns,
                               .end_ns = ended_ns,
                               .what = what,
                               .segment = -1,
                               .step = (uint32_t)(r->job->resume.steps_count + r->n_begun - 1) };

    span_ring_add(s->ring, &span);
}

/* The messages in s->in and s->out, of all others, have crossed. */
static enum rc await_all(struct rank_shard *s, const char *what)
{
    const uint64_t began_ns = world_now_ns(s->rank->world);
    enum rc rc = RC_OK;

    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(await(s, &s->in[k]));
    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(await(s, &s->out[k]));
    const uint64_t ended_ns = world_now_ns(s->rank->world);
    s->figures.waited_ns += ended_ns - began_ns;
    s->rank->shard_waited_ns += ended_ns - began_ns;
    note(s, what, began_ns, ended_ns);
out:
    return rc;
}

/* x + n, or NULL where there is no memory. */
static float *at(float *x, size_t n)
{
    return x ? x + n : NULL;
}

/* Begin to receive all, then to send: the next shard first, so that not all send to the same one. */
static enum rc post_all(struct rank_shard *s)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < s->env.n_shards; k++)
        if (k != s->env.number)
            TRY(transport_recv(s->transport, &s->in[k]));
    for (int i = 1; i < s->env.n_shards; i++)
        TRY(transport_send(s->transport, &s->out[(s->env.number + i) % s->env.n_shards]));
out:
    return rc;
}

static enum rc gather(void *arg, float *whole, const float *own, const size_t *n_elems)
{
    struct rank_shard *s = arg;
    const size_t n_own = n_elems[s->env.number];
    size_t offset = 0;
    enum rc rc;

    if (s->is_still)
        return RC_OK;
    for (int k = 0; k < s->env.n_shards; offset += n_elems[k++]) {
        s->in[k] = rank_message(is_hollow(s), at(whole, offset), n_elems[k], k, TAG_GATHER);
        s->out[k] = rank_message(is_hollow(s), own, n_own, k, TAG_GATHER);
        if (k == s->env.number && whole)
            memcpy(whole + offset, own, n_own * sizeof *own);
    }
    TRY(post_all(s));
    TRY(await_all(s, "gather"));
    s->figures.gathered_bytes += (uint64_t)(s->env.n_shards - 1) * n_own * sizeof *own;
out:
    return rc;
}

static enum rc scatter(void *arg, float *own, float *whole, const size_t *n_elems)
{
    struct rank_shard *s = arg;
    const size_t n_own = n_elems[s->env.number];
    const float *chunk[NETWORK_MAX_SHARDS];
    struct compute *adds = s->host ? s->host : s->rank->compute;
    size_t offset = 0;
    enum rc rc;

    if (s->is_still)
        return RC_OK;
    for (int k = 0; k < s->env.n_shards; offset += n_elems[k++]) {
        float *room = at(s->room, (size_t)k * s->most_elems);
        s->in[k] = rank_message(is_hollow(s), room, n_own, k, TAG_SCATTER);
        s->out[k] = rank_message(is_hollow(s), at(whole, offset), n_elems[k], k, TAG_SCATTER);
        chunk[k] = k == s->env.number ? at(whole, offset) : room;
        s->figures.scattered_bytes += k != s->env.number ? n_elems[k] * sizeof *own : 0;
    }
    TRY(post_all(s));
    TRY(await_all(s, "scatter"));
    if (own)
        memcpy(own, chunk[0], n_own * sizeof *own);
    for (int k = 1; k < s->env.n_shards; k++)
        compute_accumulate(adds, own, chunk[k], n_own);
    TRY(compute_sync(adds));
out:
    return rc;
}

/* --- open, close --- */

enum rc rank_shard_take(struct rank *r)
{
    const int K = r->job->shard.n_shards;
    struct rank_shard *s;
    enum rc rc = RC_OK;

    if (K <= 1)
        return RC_OK;
    s = calloc(1, sizeof *s);
    if (!s)
        return rc_raise(RC_NOMEM, "no memory for a shard");
    s->rank = r;
    s->whole = r->job;
    s->env = (struct dense_shard){ r->world->rank % K, K, { gather, scatter, s } };
    r->shard = s;
    TRY(job_shard_take(&s->job, r->job, s->env.number));
    r->job = &s->job;
out:
    return rc;
}

/* Of all steps that the timeline has. */
static size_t n_spans(const struct train_job *job)
{
    enum { MOST_SPANS = 1 << 18 };
    const size_t n_forward = (size_t)job->shard.traffic.n_gathers, n_backward = (size_t)job->shard.traffic.n_scatters;
    const size_t n_of_a_step = (2 * n_forward + n_backward) * job->opts.accumulate; /* forward twice: --recompute */
    const size_t n_steps = job->n_steps;

    return n_steps < MOST_SPANS / n_of_a_step ? n_steps * n_of_a_step : MOST_SPANS;
}

/* Of a compute with memory of its own the activations of a network are there; those of a replay are the host's. */
static enum rc open_device(struct rank_shard *s)
{
    const struct compute_backend *backend = s->rank->compute->ops;
    enum rc rc = RC_OK;

    s->given = s->env;
    if (!compute_has_own_memory(backend))
        return RC_OK;
    TRY(compute_open(&s->host, &compute_cpu, &(struct compute_env){ .n_threads = 1 }));
    if (s->whole->profile)
        return RC_OK;
    TRY(device_group_open(&s->device, s->rank->compute, &s->env, s->most_elems));
    s->given = device_group_of(s->device);
out:
    return rc;
}

enum rc rank_shard_open(struct rank *r)
{
    struct rank_shard *s = r->shard;
    enum rc rc = RC_OK;

    if (!s)
        return RC_OK;
    const int own = r->world->rank, group = own / s->env.n_shards;
    const size_t B = job_micro_batch_of(r->job, own);
    s->most_elems = r->job->shard.most_elems * B;
    const struct transport_plan plan = { .most_message_bytes = s->most_elems * sizeof(float),
                                         .most_messages = MOST_AHEAD };
    TRY(world_split(r->world, group, own, &s->group));
    TRY(world_split(r->world, s->env.number, own, &s->same));
    s->exchanged = (struct exchange_shard){ s->same, r->job->shard.n_common_params };
    if (!is_hollow(s)) {
        s->room = calloc((size_t)s->env.n_shards * s->most_elems, sizeof *s->room);
        if (!s->room)
            FAIL(RC_NOMEM, "no memory for the activations of %d shards", s->env.n_shards);
    }
    if (r->job->opts.timeline[0])
        TRY(span_ring_open(&s->ring, "shard", n_spans(&s->job)));
    TRY(transport_open_planned(&s->transport, s->job.shard.transport, s->group, &plan));
    s->transport->fails_together = true;
    TRY(open_device(s));
out:
    return rc;
}

void rank_shard_close(struct rank *r)
{
    struct rank_shard *s = r->shard;

    if (!s)
        return;
    transport_close(&s->transport);
    span_ring_close(&s->ring);
    device_group_close(&s->device);
    compute_close(&s->host);
    world_split_close(&s->same);
    world_split_close(&s->group);
    free(s->room);
    r->job = s->whole;
    job_shard_free(&s->job);
    free(s);
    r->shard = NULL;
}

const struct dense_shard *rank_shard_env(const struct rank *r)
{
    return r->shard ? &r->shard->given : NULL;
}

const struct exchange_shard *rank_shard_exchanged(const struct rank *r)
{
    return r->shard ? &r->shard->exchanged : NULL;
}

uint64_t rank_shard_waited_ns(const struct rank *r)
{
    return r->shard ? r->shard->figures.waited_ns : 0;
}

struct span_ring *rank_shard_ring(const struct rank *r)
{
    return r->shard ? r->shard->ring : NULL;
}

bool rank_shard_gives(const struct rank *r)
{
    return r->shard && r->world->rank < r->shard->env.n_shards;
}

/* --- what limits it --- */

void rank_shard_be_still(struct rank *r, bool is_still)
{
    if (r->shard)
        r->shard->is_still = is_still;
}

/* n exchanges one behind the other, each with a message to each of the others, all on the rank's own link. */
static struct alpha_beta_times least_times(const struct rank_shard *s, const struct alpha_beta *fit, int n,
                                           size_t n_elems)
{
    const double n_messages = (double)n * (s->env.n_shards - 1);
    const size_t B = job_micro_batch_of(&s->job, s->rank->world->rank);
    const struct wire_plan plan = { .message_bytes = (size_t)((double)(n_elems * B * sizeof(float)) / n_messages),
                                    .n_in_turn = n,
                                    .n_on_link = n_messages };

    return n > 0 ? alpha_beta_times(fit, &plan) : (struct alpha_beta_times){ 0 };
}

enum rc rank_shard_probe(struct rank *r, struct alpha_beta_times *gather, struct alpha_beta_times *scatter)
{
    const struct rank_shard *s = r->shard;
    struct alpha_beta fit;
    enum rc rc = RC_OK;

    *gather = *scatter = (struct alpha_beta_times){ 0 };
    if (!s)
        return RC_OK;
    const struct alpha_beta_env group = { .world = s->group,
                                          .transport = s->job.shard.transport,
                                          .message_bytes = s->most_elems * sizeof(float),
                                          .is_hollow = is_hollow(s),
                                          .timeout_ms = train_message_limit_ms(s->whole) };
    const struct shard_traffic *t = &s->job.shard.traffic;
    TRY(alpha_beta_measure(&fit, &group));
    *gather = least_times(s, &fit, t->n_gathers, t->gathered_elems);
    *scatter = least_times(s, &fit, t->n_scatters, t->scattered_elems);
out:
    return rc;
}

/* --- what group 0 has come to --- */

/* n elements from one shard to shard 0. */
static enum rc move_elems(struct rank_shard *s, float *x, size_t n, int from)
{
    const bool sends = s->env.number == from;
    const struct rank_move how = { .transport = s->transport,
                                   .peer = sends ? 0 : from,
                                   .sends = sends,
                                   .is_hollow = is_hollow(s),
                                   .tag = TAG_JOIN,
                                   .most_elems = s->most_elems,
                                   .timeout_ms = train_message_limit_ms(s->whole) };

    return rank_move(&how, x, n);
}

/* One array of n_params: whole of shard 0; own of each, n_own of shard k. */
static enum rc join_array(struct rank_shard *s, float *whole, float *own, const uint64_t *n_own)
{
    float *its = NULL;
    enum rc rc = RC_OK;

    if (s->env.number > 0)
        return move_elems(s, own, n_own[s->env.number], s->env.number);
    TRY(job_shard_paste(whole, own, s->whole, 0));
    for (int k = 1; k < s->env.n_shards; k++) {
        free(its);
        its = malloc(n_own[k] * sizeof *its);
        if (!its)
            FAIL(RC_NOMEM, "no memory for the parameters of shard %d", k);
        TRY(move_elems(s, its, n_own[k], k));
        TRY(job_shard_paste(whole, its, s->whole, k));
    }
out:
    free(its);
    return rc;
}

enum rc rank_shard_join(struct rank *r, struct checkpoint *whole, const struct checkpoint *own)
{
    struct rank_shard *s = r->shard;
    const uint64_t n = own->n_params;
    uint64_t n_own[NETWORK_MAX_SHARDS];
    struct checkpoint c = *own;
    enum rc rc = RC_OK;

    c.param = NULL;
    TRY(world_allgather(s->group, &n, n_own, sizeof n));
    if (s->env.number == 0) {
        c.n_params = s->whole->n_params;
        TRY(checkpoint_alloc(&c, own->kept.moments != NULL));
        if (c.n_state > 0)
            memcpy(c.state, own->state, c.n_state * sizeof *c.state);
    }
    TRY(join_array(s, c.param, own->param, n_own));
    for (size_t i = 0; own->kept.moments && i < (size_t)optimizer_n_moments(&own->optimizer); i++)
        TRY(join_array(s, s->env.number == 0 ? c.kept.moments + i * c.n_params : NULL, own->kept.moments + i * n,
                       n_own));
    if (s->env.number == 0) {
        *whole = c;
        c.param = NULL;
    }
out:
    free(c.param);
    return rc;
}

enum rc rank_shard_gather_figures(struct rank *r)
{
    struct rank_shard *s = r->shard;
    struct shard_figures *all;
    enum rc rc = RC_OK;

    if (!rank_shard_gives(r))
        return RC_OK;
    s->figures.n_params = s->job.n_params;
    s->figures.n_common_params = s->job.shard.n_common_params;
    all = calloc((size_t)s->env.n_shards, sizeof *all);
    if (!all)
        return rc_raise(RC_NOMEM, "no memory for the figures of %d shards", s->env.n_shards);
    TRY(world_allgather(s->group, &s->figures, all, sizeof *all));
    if (r->world->rank == 0) {
        r->result.shard = all;
        all = NULL;
    }
out:
    free(all);
    return rc;
}

/* The network, or the stage, is opened only now, when the shard's activations are gone. */
enum rc rank_shard_evaluate(struct rank *r, const struct checkpoint *whole, struct evaluation *out)
{
    const struct train_job *job = r->shard->whole;
    const bool is_stage = job->opts.stages > 1;
    const struct training_env env = { .compute = r->compute,
                                      .dataset = job->dataset,
                                      .seed = job->opts.seed,
                                      .max_batch = job_micro_batch_of(job, 0),
                                      .order = job_batch_order(job, 0),
                                      .forward_only = true,
                                      .network = job->network,
                                      .stage = is_stage ? &r->stage : NULL };
    struct training *training = NULL;
    void *param = NULL;
    size_t n_state = 0;
    enum rc rc;

    TRY(workload_open(&training, job->workload, &env));
    TRY(compute_memory_open(r->compute, &param, whole->n_params * sizeof(float), "the parameters of all shards"));
    compute_put(r->compute, param, whole->param, whole->n_params * sizeof(float));
    float *state = workload_state(training, &n_state);
    if (n_state > 0)
        compute_put(r->compute, state, whole->state, n_state * sizeof(float));
    TRY(workload_evaluate(training, param, job->n_eval, out));
out:
    compute_memory_close(r->compute, &param);
    workload_close(&training);
    return rc;
}
