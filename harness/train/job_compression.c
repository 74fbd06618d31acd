/* SPDX-License-Identifier: Apache-2.0 */
/* job_compression.c - see job_compression.h. */
#include "harness/train/job_compression.h"

#include <math.h>
#include <stdio.h>

#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"
#include "harness/train/elastic.h"
#include "harness/train/exchange_plan.h"

/* NULL: it means something. */
static const char *why_not(const struct train_job *job)
{
    const struct train_opts *o = &job->opts;

    if (job->omitted & OMIT_AVERAGE)
        return "--omit average sends nothing";
    if (o->average_every > 0)
        return "--average-every sends parameters, of which nothing may be left out";
    if (o->save[0] || o->resume[0])
        return "every worker has its own rest of what it did not send, which no checkpoint holds: a run could not go "
               "on "
               "from --save as if it had not ended; leave out --save and --resume";
    if (job->collective && job->collective->module.caps & COLL_DEVICE)
        return "the reducer's messages go from device to device as they are; --reducer ring";
    if (job->collective && job->collective->module.caps & COLL_SHARED &&
        job->collective->module.caps & COLL_ALLGATHER && job->exchange.compression.kind == COMPRESSION_TOPK)
        return "the reducer sums in shared memory, where nothing is sent that could be less; --reducer ring";
    return NULL;
}

/* What the collective needs for it. */
static enum rc require_collective(const struct train_job *job)
{
    const struct collective_call call = compression_call(&job->exchange.compression, 1, 1);
    enum rc rc;

    TRY(collective_require(&collective_kind, job->collective, call.type));
    if (call.wire != WIRE_F32)
        TRY(collective_require_narrow(&collective_kind, job->collective));
out:
    return rc;
}

enum rc job_compression_resolve(struct train_job *job)
{
    struct compression *c = &job->exchange.compression;
    char message[RC_MESSAGE_BYTES];
    enum rc rc = RC_OK;

    if (!mode_exchanges(&job->mode->module))
        return RC_OK;
    TRY(compression_parse(c, job->opts.compression));
    if (c->kind == COMPRESSION_NONE)
        return RC_OK;
    const char *why = why_not(job);
    if (why)
        FAIL(RC_INVAL, "--compression %s: %s", job->opts.compression, why);
    if (job->collective && (rc = require_collective(job)) != RC_OK) {
        (void)snprintf(message, sizeof message, "%s", rc_message());
        FAIL(rc, "--compression %s: %.400s", job->opts.compression, message);
    }
out:
    return rc;
}

struct memory_need job_compression_memory(const struct train_job *job, size_t n_slice)
{
    const struct compression *c = &job->exchange.compression;
    const size_t n_params = job->n_params;
    struct memory_need need = { .worker_bytes = compression_residual_bytes(c, n_params) };

    if (c->kind == COMPRESSION_NONE)
        return need;
    if (job->n_servers > 0) { /* packed; unpacked */
        need.worker_bytes += n_params * sizeof(float);
        need.server_bytes = n_slice * sizeof(float);
    } else if (c->kind == COMPRESSION_TOPK)
        need.worker_bytes += compression_call(c, n_params, job->n_workers).n_elems * sizeof(float);
    else
        need.worker_bytes += n_params * wire_elem_bytes(compression_wire(c));
    return need;
}

/* Are the bytes of its messages known? */
static bool counts(const struct train_job *job)
{
    return train_exchanges(job) && !(job->collective && job->collective->module.caps & (COLL_DEVICE | COLL_OPAQUE));
}

/* Do workers end after different numbers of steps? */
static bool ends_apart(const struct train_job *job)
{
    return elastic_is_on(job) || job->exchange.stop_at > 0;
}

/* Steps of such a run in which rank i of the result sent what it did: of a server those of the mean worker. */
static double own_steps(const struct train_job *job, const struct train_result *r, int i)
{
    double n_steps = 0;

    if (i < r->n_workers)
        return (double)r->rank[i].steps_count;
    if (elastic_is_on(job))
        return (double)r->rank[i].served.batches_held_count / job->n_workers;
    for (int w = 0; w < r->n_workers; w++)
        n_steps += (double)r->rank[w].steps_count;
    return n_steps / r->n_workers;
}

double compression_sent_bytes(const struct train_job *job, const struct train_result *r, int first, int end)
{
    const bool is_apart = ends_apart(job);
    double n_bytes = 0;

    for (int i = first; i < end; i++)
        n_bytes += (double)r->rank[i].sent_bytes / (is_apart ? own_steps(job, r, i) : 1);
    return counts(job) ? n_bytes / (is_apart ? 1 : (double)r->n_steps) : NAN;
}

double compression_full_bytes(const struct train_job *job, const struct train_result *r, int first, int end)
{
    double n_bytes = 0;

    for (int i = first; i < end; i++)
        n_bytes += (double)r->rank[i].full_bytes;
    return counts(job) ? n_bytes : NAN;
}

static double sent_ratio(const struct train_job *job, const struct train_result *r, int first, int end)
{
    const double full_bytes = compression_full_bytes(job, r, first, end);

    return full_bytes > 0 ? compression_sent_bytes(job, r, first, end) / full_bytes : NAN;
}

const char *job_compression_text(char *out, size_t n_bytes, const struct train_job *job, const struct train_result *r)
{
    const double sent_bytes = compression_sent_bytes(job, r, 0, r->n_workers) / r->n_workers;
    const double ratio = sent_ratio(job, r, 0, r->n_workers);
    char name[COMPRESSION_TEXT_BYTES];

    out[0] = '\0';
    if (job->exchange.compression.kind == COMPRESSION_NONE || !counts(job))
        return out;
    compression_text(name, sizeof name, &job->exchange.compression);
    if (isnan(ratio))
        snprintf(out, n_bytes, "%s, but no message is sent: the reducer sums in the memory of the host", name);
    else
        snprintf(out, n_bytes, "%s: %.4g %s sent by a worker in a step, %.3g of what it would be without", name,
                 sent_bytes * (sent_bytes < 1e6 ? 1e-3 : 1e-6), sent_bytes < 1e6 ? "kB" : "MB", ratio);
    return out;
}

void record_compression(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const int n_workers = result->n_workers;
    char name[COMPRESSION_TEXT_BYTES];

    compression_text(name, sizeof name, &job->exchange.compression);
    record_text(r, "compression", train_exchanges(job) ? name : NULL);
    record_f64(r, "sent_bytes_per_step", compression_sent_bytes(job, result, 0, n_workers) / n_workers);
    record_f64(r, "sent_ratio", sent_ratio(job, result, 0, n_workers));
}

void record_sent_of_rank(struct record *r, const struct train_job *job, const struct train_result *result, int rank)
{
    record_f64(r, "sent_bytes_per_step", compression_sent_bytes(job, result, rank, rank + 1));
    record_f64(r, "sent_ratio", sent_ratio(job, result, rank, rank + 1));
}
