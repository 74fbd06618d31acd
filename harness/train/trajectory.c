/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.c - what --trajectory writes: see trajectory.h. */
#include "harness/train/trajectory.h"

#include <math.h>

#include "harness/base/file.h"

static uint64_t first_start_ns(const struct train_result *r)
{
    uint64_t first = UINT64_MAX;

    for (int w = 0; w < r->n_workers; w++)
        if (r->stamp[(size_t)w * r->n_steps].start_ns < first)
            first = r->stamp[(size_t)w * r->n_steps].start_ns;
    return first;
}

static void write_row(FILE *to, const struct train_job *job, const struct train_result *r, int worker, size_t step)
{
    const struct step_stamp *own = r->stamp + (size_t)worker * r->n_steps;
    const float *param = r->trajectory + ((size_t)worker * (r->n_steps + 1) + step) * job->n_params;
    const bool is_last = step == r->n_steps;
    const uint64_t at_ns = is_last ? own[step - 1].end_ns : own[step].start_ns;
    const uint64_t samples_count =
        job->resume.samples_count + (uint64_t)step * (uint64_t)job->n_workers * job->opts.batch;

    fprintf(to, "%d,%zu,%.9f,%llu,%.17g", r->rank[worker].number, (size_t)job->resume.steps_count + step,
            1e-9 * (double)(at_ns - first_start_ns(r)), (unsigned long long)samples_count,
            is_last ? (double)NAN : own[step].loss);
    for (size_t i = 0; i < job->n_params; i++)
        fprintf(to, ",%.9g", (double)param[i]);
    fputc('\n', to);
}

enum rc trajectory_write(const char *path, const struct train_job *job, const struct train_result *result)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("worker,step,time_s,samples_count,loss", file.stream);
    for (int i = 0; job->workload->named->name[i]; i++)
        fprintf(file.stream, ",%s", job->workload->named->name[i]);
    fputc('\n', file.stream);
    for (int w = 0; w < result->n_workers && result->n_steps > 0; w++)
        for (size_t step = 0; step <= result->n_steps; step++)
            write_row(file.stream, job, result, w, step);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}
