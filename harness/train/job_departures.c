/* SPDX-License-Identifier: Apache-2.0 */
/* job_departures.c - see job_departures.h. */
#include "harness/train/job_departures.h"

#include "harness/train/alternation.h"
#include "harness/train/integrity.h"
#include "harness/train/job_split.h"
#include "harness/train/local_sgd.h"
#include "harness/train/omission.h"

enum rc job_departures_parse(struct train_job *job)
{
    enum rc rc;

    TRY(omission_parse(&job->omitted, job->opts.omit, "omit"));
    TRY(job_split_parse(job));
out:
    return rc;
}

enum rc job_departures_check(struct train_job *job)
{
    enum rc rc;

    TRY(job_split_resolve(job));
    TRY(omission_check(job));
    TRY(local_sgd_check(job));
    TRY(integrity_check(job));
    TRY(alternation_check(job));
    if (job->omitted & OMIT_SCALING)
        job->schedule.factor = 1;
out:
    return rc;
}
