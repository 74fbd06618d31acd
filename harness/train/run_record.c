/* SPDX-License-Identifier: Apache-2.0 */
/* run_record.c - what a summary says of how a run went, beside its figures: stopped, saved, started again. */
#include "harness/train/run_record.h"

#include <math.h>
#include <stdio.h>

#include "harness/net/transport.h"
#include "harness/train/job_batch.h"
#include "harness/train/omission.h"
#include "harness/world/stop.h"

void record_for_lessons(struct record *r, const struct train_job *job)
{
    char omitted[OMISSIONS_BYTES];

    omission_text(omitted, sizeof omitted, job->omitted);
    record_text(r, "for_lessons_without", omitted[0] ? omitted : NULL);
}

void record_transport(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const bool omits_average = job->omitted & OMIT_AVERAGE; /* then nothing was exchanged */
    const char *encryption = omits_average ? "" : result->rank[0].encryption;

    record_text(r, "transport", omits_average ? transport_of_nothing : job->opts.transport);
    record_text(r, "encryption", encryption[0] ? encryption : NULL);
}

void record_part_of_rank(struct record *r, const struct train_job *job, int rank, bool is_worker)
{
    if (!is_worker || job->split_opts.kind == SPLIT_IID) {
        record_null(r, "part_samples_count");
        record_null(r, "part_batch_count");
        return;
    }
    record_u64(r, "part_samples_count", split_part(&job->split, rank).n_samples);
    record_u64(r, "part_batch_count", job_batch_of(job, rank));
}

void record_run(struct record *r, const struct train_job *job, const struct train_result *result)
{
    const struct train_saves *s = &result->saves;
    const bool saves = job->opts.save_every > 0;

    record_for_lessons(r, job);
    record_text(r, "stopped_by", result->stop_signal ? stop_signal_name(result->stop_signal) : NULL);
    if (!saves) {
        record_null(r, "saves_count");
        record_null(r, "failed_saves_count");
    } else {
        record_u64(r, "saves_count", s->n_written);
        record_u64(r, "failed_saves_count", s->n_failed);
    }
    record_f64(r, "saving_s", saves ? s->spent_s : NAN);
    record_u64(r, "restarts_count", job->restarts.n);
    record_u64_array(r, "restarted_from_steps", job->restarts.from_steps, job->restarts.n);
}

const char *run_restarts_text(char *out, size_t n_bytes, const struct train_restarts *restarts)
{
    size_t n;

    out[0] = '\0';
    if (restarts->n == 0)
        return out;
    n = (size_t)snprintf(out, n_bytes, "%zu, as ranks had died: from step", restarts->n);
    for (size_t i = 0; i < restarts->n && n < n_bytes; i++)
        n += (size_t)snprintf(out + n, n_bytes - n, "%s %llu", i > 0 ? "," : "",
                              (unsigned long long)restarts->from_steps[i]);
    return out;
}
