/* SPDX-License-Identifier: Apache-2.0 */
/* job_input.c - see job_input.h. */
#include "harness/train/job_input.h"

#include <string.h>

#include "harness/net/transport.h"
#include "harness/train/job_accumulate.h"
#include "harness/train/job_split.h"

int train_n_drivers(const char *input)
{
    return strcmp(input, "feed") == 0;
}

enum rc job_input_resolve(struct train_job *job)
{
    const struct train_opts *o = &job->opts;
    enum rc rc = RC_OK;

    job->n_drivers = train_n_drivers(o->input);
    if (job->n_drivers == 0)
        return RC_OK;
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        FAIL(RC_INVAL,
             "--input feed: in world %s reading samples takes no time, and no cluster has a place for the driver; "
             "direct would be right",
             o->world);
    if (strcmp(o->on_loss, "abort") != 0)
        FAIL(RC_INVAL, "--input feed: the driver ends with the first rank that is lost; needs --on-loss abort");
    const char *transport = transport_auto(&job->world->module, TR_ASYNC); /* batches come while workers compute */
    if (!transport)
        FAIL(RC_UNSUPPORTED, "--input feed: no transport of this program can carry batches in world %s", o->world);
    TRY(transport_find(&job->feed_transport, transport));
    TRY(module_check_world(&transport_kind, &job->feed_transport->module, &world_kind, &job->world->module));
out:
    return rc;
}

enum rc job_input_check(const struct train_job *job)
{
    const char *input = job->opts.input;

    if (strcmp(input, "direct") == 0)
        return RC_OK;
    if (!job->workload->network)
        return rc_raise(RC_INVAL, "--input %s: model %s %s", input, job->opts.model,
                        job->profile ? "repeats recorded times; it reads no samples"
                                     : "computes its samples from --seed, and reads none");
    if (job->n_drivers > 0 && !job->compute->touches_memory)
        return rc_raise(RC_INVAL, "--input feed: a hollow run reads no samples; use --compute cpu");
    return RC_OK;
}

enum rc job_input_replace(struct train_job *job)
{
    const struct dataset *d = job->dataset;
    const struct synthetic_opts opts = {
        .C = d->C, .H = d->H, .W = d->W, .n_classes = (int)d->n_classes, .n_train = d->n_train, .n_test = d->n_test
    };
    struct dataset *made = NULL;
    enum rc rc;

    TRY(dataset_open_synthetic(&made, &opts, job->opts.seed));
    dataset_close(&job->dataset);
    job->dataset = made;
out:
    return rc;
}

size_t job_input_driver_bytes(const struct train_job *job)
{
    const size_t n_samples = job_most_micro_batch(job), n_queued = (size_t)job->n_workers * job->opts.feed_queue;
    const size_t sample_bytes = job->dataset ? job->dataset->n_features * sizeof(float) + sizeof(uint32_t) : 0;

    return job->n_drivers > 0 ? (n_queued + 1) * n_samples * sample_bytes : 0;
}
