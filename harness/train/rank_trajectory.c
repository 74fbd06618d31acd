/* SPDX-License-Identifier: Apache-2.0 */
/* rank_trajectory.c - for --trajectory: the parameters that each step of a worker begins with. */
#include <stdlib.h>

#include "harness/train/rank_state.h"

static size_t row_bytes(const struct rank *r)
{
    return r->job->n_params * sizeof *r->trajectory;
}

/* Servers too, as a gather is collective: what they send is behind that of the workers, and never read. */
enum rc rank_trajectory_open(struct rank *r)
{
    const size_t n_rows = r->job->n_steps + 1;

    if (!r->job->opts.trajectory[0])
        return RC_OK;
    r->trajectory = calloc(n_rows, row_bytes(r));
    if (r->world->rank == 0)
        r->result.trajectory = calloc((size_t)r->world->n_ranks * n_rows, row_bytes(r));
    if (!r->trajectory || (r->world->rank == 0 && !r->result.trajectory))
        return rc_raise(RC_NOMEM, "no memory for the trajectories of %zu steps", r->job->n_steps);
    return RC_OK;
}

enum rc rank_trajectory_note(struct rank *r, size_t step)
{
    if (!r->trajectory)
        return RC_OK;
    return compute_fetch(r->compute, r->trajectory + step * r->job->n_params, r->param, row_bytes(r));
}

enum rc rank_trajectory_gather(struct rank *r, struct world *gathered)
{
    if (!r->trajectory)
        return RC_OK;
    return world_gather(gathered, r->trajectory, r->result.trajectory, (r->n_done + 1) * row_bytes(r));
}
