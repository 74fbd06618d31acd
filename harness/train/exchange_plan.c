/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_plan.c - buckets and pieces of a job, in words. */
#include "harness/train/exchange_plan.h"

#include <stdio.h>

#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"

struct plan {
    size_t n_buckets, n_pieces;
    uint64_t gradient_bytes, largest_bucket_bytes;
};

static uint64_t bucket_bytes(const struct buckets *b, const struct bucket *bucket)
{
    uint64_t n_elems = 0;

    for (size_t s = 0; s < bucket->n_segments; s++)
        n_elems += b->segment[bucket->first_segment + s].n_elems;
    return n_elems * sizeof(float);
}

static enum rc plan_of(struct plan *out, const struct train_job *job)
{
    struct buckets b = { 0 };
    enum rc rc;

    TRY(buckets_open(&b, job->segment, job->n_segments, &job->exchange.buckets));
    *out = (struct plan){ b.n_buckets, b.n_pieces, b.n_params * sizeof(float), 0 };
    for (size_t i = 0; i < b.n_buckets; i++) {
        const uint64_t n_bytes = bucket_bytes(&b, &b.bucket[i]);
        out->largest_bucket_bytes = n_bytes > out->largest_bucket_bytes ? n_bytes : out->largest_bucket_bytes;
    }
out:
    buckets_close(&b);
    return rc;
}

bool train_exchanges(const struct train_job *job)
{
    return mode_exchanges(&job->mode->module) && job->n_ranks > 1 && !(job->omitted & OMIT_AVERAGE);
}

static const char *on_off(bool is_on)
{
    return is_on ? "on" : "off";
}

/* Of pieces; "": they are not counted. */
static const char *flight_text(char *out, size_t n_bytes, int n_in_flight)
{
    out[0] = '\0';
    if (n_in_flight == 1)
        snprintf(out, n_bytes, ", one after the other");
    else if (n_in_flight > 1)
        snprintf(out, n_bytes, ", %d at once", n_in_flight);
    return out;
}

enum rc train_exchange_text(char *out, size_t n_bytes, const struct train_job *job, const struct overlap_choice *chosen)
{
    const struct exchange_opts *x = &job->exchange;
    char flight[32];
    struct plan plan;
    enum rc rc;

    TRY(plan_of(&plan, job));
    if (x->average_every > 0) {
        snprintf(out, n_bytes, "local SGD: parameters averaged after every %llu steps, %zu piece%s",
                 (unsigned long long)x->average_every, plan.n_pieces, plan.n_pieces == 1 ? "" : "s");
        return RC_OK;
    }
    if (plan.n_pieces == 1)
        snprintf(out, n_bytes, "all gradients at once, overlap %s%s", on_off(chosen->overlaps),
                 chosen->by_priority ? ", priority on" : "");
    else
        snprintf(out, n_bytes, "%zu bucket%s, %zu pieces%s, overlap %s%s%s%s, priority %s", plan.n_buckets,
                 plan.n_buckets == 1 ? "" : "s", plan.n_pieces, flight_text(flight, sizeof flight, chosen->n_in_flight),
                 on_off(chosen->overlaps), chosen->reason[0] ? " (auto: " : "", chosen->reason,
                 chosen->reason[0] ? ")" : "", on_off(chosen->by_priority));
out:
    return rc;
}

/* A segment alone can be cut only into pieces. */
static void say_one_piece(char *out, size_t n_bytes, const struct train_job *job, const struct plan *plan)
{
    const struct exchange_opts *x = &job->exchange;
    const char *options = x->overlap && x->priority ? "--overlap on and --priority on change"
                          : x->overlap              ? "--overlap on changes"
                                                    : "--priority on changes";

    snprintf(out, n_bytes, "%s nothing: the gradients, %llu bytes, are one piece; give %s--partition-bytes of less",
             options, (unsigned long long)plan->gradient_bytes, job->n_segments > 1 ? "--bucket-bytes or " : "");
}

/* The most that a worker sends of all gradients, as one piece, and in full. */
static void most_sent(const struct train_job *job, const struct plan *plan, uint64_t *bytes, uint64_t *full_bytes)
{
    const struct collective_group all = { job->n_workers, NULL };
    const size_t n_elems = (size_t)plan->gradient_bytes / sizeof(float);
    const struct collective_call call = compression_call(&job->exchange.compression, n_elems, job->n_workers);
    const struct collective_call full = { .type = COLL_ALLREDUCE, .n_elems = n_elems };
    const void *opts = module_options(&job->opts.modules, train_kinds, &job->collective->module);

    *bytes = *full_bytes = 0;
    for (int r = 0; r < job->n_workers; r++) {
        const uint64_t own_bytes = job->collective->predict(opts, &call, r, &all).bytes;
        const uint64_t own_full_bytes = job->collective->predict(opts, &full, r, &all).bytes;
        *bytes = own_bytes > *bytes ? own_bytes : *bytes;
        *full_bytes = own_full_bytes > *full_bytes ? own_full_bytes : *full_bytes;
    }
}

/* Pairs of all workers go to all of them: the more workers, the less is saved. */
static void say_longer_pairs(char *out, size_t n_bytes, const struct train_job *job, const struct plan *plan)
{
    char name[COMPRESSION_TEXT_BYTES];
    uint64_t bytes, full_bytes;

    if (!job->collective || job->exchange.compression.kind != COMPRESSION_TOPK)
        return;
    most_sent(job, plan, &bytes, &full_bytes);
    compression_text(name, sizeof name, &job->exchange.compression);
    if (bytes >= full_bytes && full_bytes > 0)
        snprintf(
            out, n_bytes,
            "--compression %s saves nothing: the pairs of %d workers are %llu bytes for each to send, gradients as "
            "they are %llu; give a smaller part",
            name, job->n_workers, (unsigned long long)bytes, (unsigned long long)full_bytes);
}

enum rc train_useless_exchange(char *out, size_t n_bytes, const struct train_job *job)
{
    const struct exchange_opts *x = &job->exchange;
    struct plan plan;
    enum rc rc = RC_OK;

    out[0] = '\0';
    if (!mode_exchanges(&job->mode->module) || job->omitted & OMIT_AVERAGE)
        return RC_OK;
    TRY(plan_of(&plan, job));
    say_longer_pairs(out, n_bytes, job, &plan);
    if (plan.n_pieces == 1 && (x->overlap || x->priority))
        say_one_piece(out, n_bytes, job, &plan);
    else if (x->buckets.partition_bytes >= plan.largest_bucket_bytes)
        snprintf(out, n_bytes, "--partition-bytes %llu changes nothing: the largest bucket has %llu bytes; give less",
                 (unsigned long long)x->buckets.partition_bytes, (unsigned long long)plan.largest_bucket_bytes);
out:
    return rc;
}
