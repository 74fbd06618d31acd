/* SPDX-License-Identifier: Apache-2.0 */
/* note.c - gm_note: the path of a rank, for lessons (harness/labs/answer.c reads it). */
#include <errno.h>
#include <string.h>

#include "harness/lib/job.h"
#include "harness/world/world.h"

static enum rc open_notes(struct gm_job *job)
{
    char path[64];

    (void)snprintf(path, sizeof path, "path_%d.csv", job->world->rank);
    job->notes = fopen(path, "we");
    if (!job->notes)
        return rc_raise(RC_IO, "gm_note: %s: %s", path, strerror(errno));
    (void)fputs("step,lr,loss,first,last,mean,n_combined,n_broadcasts\n", job->notes);
    return RC_OK;
}

int gm_note(struct gm_job *job, size_t step, float lr, double loss, const float *param, size_t n_params)
{
    double sum = 0;
    enum rc rc = RC_OK;

    if (!job || !param || n_params == 0)
        FAIL(RC_INVAL, "gm_note: a job, and at least one parameter are needed");
    if (!job->notes)
        TRY(open_notes(job));
    for (size_t i = 0; i < n_params; i++)
        sum += (double)param[i];
    (void)fprintf(job->notes, "%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%llu,%llu\n", step, (double)lr, loss, (double)param[0],
                  (double)param[n_params - 1], sum / (double)n_params, (unsigned long long)job->n_combined,
                  (unsigned long long)job->n_broadcasts);
    if (fflush(job->notes) != 0)
        FAIL(RC_IO, "gm_note: path_%d.csv: %s", job->world->rank, strerror(errno));
out:
    return rc;
}
