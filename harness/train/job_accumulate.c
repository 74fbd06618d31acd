/* SPDX-License-Identifier: Apache-2.0 */
/* job_accumulate.c - see job_accumulate.h. */
#include "harness/train/job_accumulate.h"

#include <stdio.h>

#include "harness/base/text.h"
#include "harness/train/job_split.h"

static enum rc refuse_parts(const struct train_job *job, int worker, size_t batch)
{
    const unsigned long long n = job->opts.accumulate;
    char whose[128] = "", fitting[48], right[80] = "a batch of one sample has no parts";

    if (job->split_opts.kind == SPLIT_UNEQUAL)
        snprintf(whose, sizeof whose, " that worker %d has of --split %.80s", worker, job->opts.split);
    text_near_divisors(fitting, sizeof fitting, n, batch);
    if (batch > 1)
        snprintf(right, sizeof right, "%s would be right", fitting);
    return rc_raise(RC_INVAL, "--accumulate %llu: the batch of %zu samples%s has no %llu equal parts; %s", n, batch,
                    whose, n, right);
}

enum rc job_accumulate_check(const struct train_job *job)
{
    const unsigned long long n = job->opts.accumulate;

    if (n <= 1)
        return RC_OK;
    if (job->opts.forward_only)
        return rc_raise(RC_INVAL,
                        "--accumulate %llu: --forward-only computes no gradients; --batch %llu is the same work", n,
                        job->opts.batch / n > 0 ? (unsigned long long)job->opts.batch / n : 1);
    for (int w = 0; w < (job->split_opts.kind == SPLIT_UNEQUAL ? job->n_workers : 1); w++)
        if (job_batch_of(job, w) % n != 0)
            return refuse_parts(job, w, job_batch_of(job, w));
    return RC_OK;
}

size_t job_micro_batch_of(const struct train_job *job, int worker)
{
    return job_batch_of(job, worker) / job->opts.accumulate;
}

size_t job_most_micro_batch(const struct train_job *job)
{
    return job_most_batch(job) / job->opts.accumulate;
}

struct batch_order job_batch_order(const struct train_job *job, int worker)
{
    return (struct batch_order){ .first = job_first_sample(job, worker, 0),
                                 .stride = job_batch_stride(job, worker),
                                 .n_micro_batches = job->opts.accumulate };
}

void job_batch_text(char *out, size_t n_bytes, const struct train_job *job)
{
    size_t n = (size_t)snprintf(out, n_bytes, "batch %llu each", (unsigned long long)job->opts.batch);

    if (job->opts.accumulate > 1)
        n +=
            (size_t)snprintf(out + n, n_bytes - n, ", in %llu micro-batches", (unsigned long long)job->opts.accumulate);
    if (job->opts.global_batch > 0)
        snprintf(out + n, n_bytes - n, ", %llu in all (strong scaling)", (unsigned long long)job->opts.global_batch);
}
