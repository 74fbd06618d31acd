/* SPDX-License-Identifier: Apache-2.0 */
/* global_batch.c - see global_batch.h. */
#include "harness/train/global_batch.h"

#include <stdio.h>
#include <string.h>

/* N does not divide among the workers: the nearest that do. */
static enum rc refuse_rest(unsigned long long n, unsigned long long n_workers)
{
    const unsigned long long below = n - n % n_workers, above = below + n_workers;
    char below_text[32] = "";

    if (below > 0)
        snprintf(below_text, sizeof below_text, "%llu and ", below);
    return rc_raise(RC_INVAL,
                    "--global-batch %llu: cannot be shared out evenly to %llu workers; %s%llu can, or other --workers",
                    n, n_workers, below_text, above);
}

enum rc global_batch_resolve(struct train_job *job, const struct opt_group *group, int n_groups)
{
    const unsigned long long n = job->opts.global_batch, n_workers = (unsigned long long)job->n_workers;

    if (n == 0)
        return RC_OK;
    if (opt_given(group, n_groups, "batch"))
        return rc_raise(
            RC_INVAL,
            "--global-batch %llu: --batch %llu is the batch of each worker (weak scaling); give one of the two", n,
            (unsigned long long)job->opts.batch);
    if (n % n_workers != 0)
        return refuse_rest(n, n_workers);
    if (n / n_workers > TRAIN_MAX_BATCH)
        return rc_raise(RC_INVAL, "--global-batch %llu: is %llu for each of %llu workers; a worker can have %d", n,
                        n / n_workers, n_workers, TRAIN_MAX_BATCH);
    job->opts.batch = n / n_workers;
    return RC_OK;
}

enum rc global_batch_explain(const struct train_job *job, enum rc resolved)
{
    static const char about[] = "--batch ";
    char why[RC_MESSAGE_BYTES];

    if (resolved == RC_OK || job->opts.global_batch == 0 || strncmp(rc_message(), about, strlen(about)) != 0)
        return resolved;
    (void)snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(resolved, "--global-batch %llu: of each worker, %.440s", (unsigned long long)job->opts.global_batch,
                    why);
}

bool global_batch_is_shared(const struct train_job *job)
{
    return job->opts.global_batch > 0 && job->n_workers > 1;
}

const char *scaling_text(bool is_strong)
{
    return is_strong ? "strong" : "weak";
}
