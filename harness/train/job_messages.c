/* SPDX-License-Identifier: Apache-2.0 */
/* job_messages.c - see job_messages.h. */
#include "harness/train/job_messages.h"

#include <stdint.h>
#include <string.h>

#include "harness/base/host_memory.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/collective.h"
#include "harness/net/message_log.h"

enum { OTHER_MESSAGES = 8 }; /* of a pair of ranks, in all: the end of a run, and its checkpoints */

/* Of all ranks, of one piece: what collectives send. */
static size_t of_collective(const struct train_job *job, size_t n_elems)
{
    const struct collective_call call = compression_call(&job->exchange.compression, n_elems, job->n_workers);
    const void *opts = module_options(&job->opts.modules, train_kinds, &job->collective->module);
    const struct collective_group all = { job->n_workers, NULL };
    size_t n = 0;

    for (int r = 0; r < job->n_workers; r++)
        n += job->collective->predict(opts, &call, r, &all).msgs;
    return n;
}

/* Of all workers, of one piece: a gradient to each server that has a part of it, and its answer. */
static size_t of_servers(const struct train_job *job, struct range piece)
{
    size_t n = 0;

    for (int s = 0; s < job->n_servers; s++)
        if (placement_part(&job->placement, s, piece).n_elems > 0)
            n += 2 * (size_t)job->n_workers;
    return n;
}

/* Messages of a step in which all pieces are exchanged. */
static enum rc of_step(size_t *out, const struct train_job *job)
{
    const bool may_be_ordered = job->may_overlap && strcmp(job->opts.priority, "off") != 0;
    const bool is_ordered = (job->exchange.overlap && job->exchange.priority) || may_be_ordered; /* by worker 0 */
    struct buckets b = { 0 };
    enum rc rc;

    *out = 0;
    TRY(buckets_open(&b, job->segment, job->n_segments, &job->exchange.buckets));
    for (size_t k = 0; k < b.n_pieces; k++) {
        *out += job->n_servers > 0 ? of_servers(job, b.piece[k]) : 0;
        *out += job->collective ? of_collective(job, b.piece[k].n_elems) : 0;
        *out += job->collective && is_ordered ? (size_t)job->n_workers - 1 : 0;
    }
out:
    buckets_close(&b);
    return rc;
}

/* Steps with an exchange, at most. */
static uint64_t exchanges_of(const struct train_job *job)
{
    const uint64_t every = job->opts.average_every;

    return every > 0 ? job->n_steps / every + 1 : job->n_steps;
}

enum rc job_messages_count(size_t *out, const struct train_job *job)
{
    const size_t n_pairs = (size_t)job->n_workers * (size_t)(job->n_servers > 0 ? job->n_servers : 1);
    const size_t n_max = SIZE_MAX / 4 / sizeof(struct logged_message);
    size_t n_of_step;
    enum rc rc;

    TRY(of_step(&n_of_step, job));
    const double n = 2 * ((double)n_of_step * (double)exchanges_of(job) + OTHER_MESSAGES * (double)n_pairs);
    *out = n < (double)n_max ? (size_t)n : SIZE_MAX;
out:
    return rc;
}

/* The notes of the ranks of this host; all of them on rank 0, and its part of a round from each. */
static double bytes_of(const struct train_job *job, size_t n)
{
    const struct launcher l = world_launcher();
    const bool has_all = !(job->world->module.caps & WORLD_LAUNCHED);
    const int n_here = has_all || l.n_host_ranks == 0 ? job->n_ranks : l.n_host_ranks;
    const double of_round = MESSAGES_OF_A_ROUND + (double)job->n_ranks;

    return (double)sizeof(struct logged_message) * ((double)n * (1 + (double)n_here / job->n_ranks) + 2 * of_round);
}

enum rc job_messages_resolve(struct train_job *job)
{
    const bool plans = job->compute->touches_memory && job->compute->host_memory;
    const double needed_bytes = plans ? (double)job->memory.host_bytes : 0;
    double available_bytes;
    size_t n;
    enum rc rc = RC_OK;

    if (job->opts.messages[0] == '\0')
        return RC_OK;
    TRY(job_messages_count(&n, job));
    const double n_bytes = bytes_of(job, n);
    available_bytes = (double)(plans ? job->memory.available_bytes : host_memory_available(""));
    if (needed_bytes + n_bytes > available_bytes)
        FAIL(RC_INVAL,
             "--messages %.80s: the messages of %llu steps of %d ranks are %.3g, whose notes need %.2f GB of memory "
             "here, %.2f GB are available; fewer --steps, or fewer workers",
             job->opts.messages, (unsigned long long)job->n_steps, job->n_ranks, (double)n / 2, n_bytes * 1e-9,
             (available_bytes - needed_bytes) * 1e-9);
    if (plans)
        job->memory.host_bytes += (size_t)n_bytes;
out:
    return rc;
}
