/* SPDX-License-Identifier: Apache-2.0 */
/* layout_record.c - see layout_record.h. */
#include "harness/train/layout_record.h"

#include <math.h>

#include "harness/train/job_compression.h"
#include "harness/train/layout.h"

/* Of shards: of the worker of group 0 that sends most activations; gradients, of all workers the mean. */
static struct moved_bytes moved_by_shards(const struct train_job *job, const struct train_result *result)
{
    struct moved_bytes moved = { 0, compression_sent_bytes(job, result, 0, result->n_workers) / result->n_workers };

    for (int k = 0; result->shard && result->n_steps > 0 && k < job->shard.n_shards; k++) {
        const struct shard_figures *f = &result->shard[k];
        const double n_bytes = (double)(f->gathered_bytes + f->scattered_bytes) / (double)result->n_steps;
        moved.activations_bytes = n_bytes > moved.activations_bytes ? n_bytes : moved.activations_bytes;
    }
    return moved;
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
    struct moved_bytes moved = result->moved;
    char name[LAYOUT_TEXT_BYTES];

    if (!has_stages && !has_shards)
        return;
    if (has_shards) {
        const struct moved_bytes by_shards = moved_by_shards(job, result);
        moved.activations_bytes = fmax(moved.activations_bytes, by_shards.activations_bytes);
        moved.gradients_bytes = fmax(moved.gradients_bytes, by_shards.gradients_bytes);
    }
    layout_text(name, &layout);
    record_text(r, "layout", name);
    record_u64(r, "micro_batches_count", job->opts.accumulate);
    record_f64(r, "activations_bytes_per_step", moved.activations_bytes);
    record_f64(r, "gradients_bytes_per_step", moved.gradients_bytes);
    record_f64(r, "layout_waited_ratio", waited_ratio(result));
}
