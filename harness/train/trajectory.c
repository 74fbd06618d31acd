/* SPDX-License-Identifier: Apache-2.0 */
/* trajectory.c - what --trajectory writes: see trajectory.h. */
#include "harness/train/trajectory.h"

#include <math.h>
#include <stdlib.h>

#include "harness/base/file.h"
#include "harness/train/rank_state.h"

/* --- the table --- */

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
out:
    return atomic_file_finish(&file, rc);
}

/* --- the parameters that each step of a worker begins with --- */

static size_t row_bytes(const struct rank *r)
{
    return r->job->n_params * sizeof *r->trajectory;
}

static bool is_recorded(const struct train_job *job)
{
    return job->opts.trajectory[0] != '\0';
}

/* Servers too, as a gather is collective: what they send is behind that of the workers, and never read. */
static enum rc open_rows(struct rank *r)
{
    const size_t n_rows = r->job->n_steps + 1;

    r->trajectory = calloc(n_rows, row_bytes(r));
    if (r->world->rank == 0)
        r->result.trajectory = calloc((size_t)r->world->n_ranks * n_rows, row_bytes(r));
    if (!r->trajectory || (r->world->rank == 0 && !r->result.trajectory))
        return rc_raise(RC_NOMEM, "no memory for the trajectories of %zu steps", r->job->n_steps);
    return RC_OK;
}

/* The parameters at the start of `step`, or after the last step the final ones. */
static enum rc note_params(struct rank *r, size_t step)
{
    return compute_fetch(r->compute, r->trajectory + step * r->job->n_params, r->param, row_bytes(r));
}

static enum rc gather_rows(struct rank *r, struct world *gathered)
{
    return world_gather(gathered, r->trajectory, r->result.trajectory, (r->n_done + 1) * row_bytes(r));
}

static void close_rows(struct rank *r)
{
    free(r->trajectory);
}

const struct step_hook hook_trajectory = { .name = "trajectory",
                                           .wanted = is_recorded,
                                           .open = open_rows,
                                           .at = { [BEFORE_STEP] = note_params, [AFTER_STEPS] = note_params },
                                           .gather = gather_rows,
                                           .close = close_rows };
