/* SPDX-License-Identifier: Apache-2.0 */
/* layout_record.c - see layout_record.h. */
#include "harness/train/layout_record.h"

#include <math.h>

#include "harness/train/job_exchange.h"
#include "harness/train/layout.h"

double layout_shards_bytes(const struct train_job *job, const struct train_result *result)
{
    double most = 0;

    for (int k = 0; result->shard && result->n_steps > 0 && k < job->shard.n_shards; k++) {
        const struct shard_figures *f = &result->shard[k];
        const double n_bytes = (double)(f->gathered_bytes + f->scattered_bytes) / (double)result->n_steps;
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

/* Without stages, which have told it: of the worker that sends most activations; gradients, of all workers the mean. */
static struct moved_bytes moved_by_workers(const struct train_job *job, const struct train_result *result)
{
    return (struct moved_bytes){ layout_shards_bytes(job, result),
                                 compression_sent_bytes(job, result, 0, result->n_workers) / result->n_workers };
}

/* Of worker 0, its first rank: what it waits for the stages beside it, and for the others of its group to have shards'
 * activations; both are in what its steps call compute. */
static double waited_ratio(const struct train_result *result)
{
    const uint64_t shards_ns = result->shard ? result->shard[0].waited_ns : 0;
    const double steps_s = result->n_steps > 0
                               ? 1e-9 * (double)(result->stamp[result->n_steps - 1].end_ns - result->stamp[0].start_ns)
                               : 0;

    return steps_s > 0 ? (result->pipe_waited_s + 1e-9 * (double)shards_ns) / steps_s : (double)NAN;
}

void record_layout(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const bool has_stages = job->opts.stages > 1, has_shards = job->opts.shard_dense > 1;
    const struct layout layout = { job->n_workers, (int)job->opts.stages, (int)job->opts.shard_dense };
    char name[LAYOUT_TEXT_BYTES];

    if (!has_stages && !has_shards)
        return;
    const struct moved_bytes moved = has_stages ? result->moved : moved_by_workers(job, result);
    layout_text(name, &layout);
    record_text(r, "layout", name);
    if (result->n_hosts > 0)
        record_i64(r, "hosts_count", result->n_hosts);
    record_u64(r, "micro_batches_count", job->opts.accumulate);
    record_f64(r, "activations_bytes_per_step", moved.activations_bytes);
    record_f64(r, "gradients_bytes_per_step", moved.gradients_bytes);
    record_f64(r, "layout_waited_ratio", waited_ratio(result));
}
