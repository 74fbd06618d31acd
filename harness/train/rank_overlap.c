/* SPDX-License-Identifier: Apache-2.0 */
/* rank_overlap.c - the exchange of a rank, once it is known on how many hosts the workers are, and who has cores. */
#include "harness/train/job_exchange.h"
#include "harness/train/rank_state.h"
#include "harness/world/share.h"

static enum rc count_hosts(int *n_hosts, struct world *w)
{
    struct world *group = NULL;
    int host;
    enum rc rc;

    TRY(world_host_group(w, &group, &host, n_hosts));
out:
    world_split_close(&group);
    return rc;
}

enum rc rank_choose_overlap(struct rank *r)
{
    const struct train_job *job = r->job;
    const bool needs_tasks = train_world_opts(job).has_tasks;
    int n_hosts = 1;
    enum rc rc = RC_OK;

    if (job->may_overlap) /* in allreduce, whose ranks all are workers */
        TRY(count_hosts(&n_hosts, r->world));
    r->result.overlap = job_overlap_choose(job, n_hosts, r->world->has_tasks || !needs_tasks, r->world->mpi_level);
    r->exchanging = job->exchange;
    r->exchanging.overlap = r->result.overlap.overlaps;
    r->exchanging.priority = r->result.overlap.by_priority;
out:
    return rc;
}

void rank_choose_flight(struct rank *r)
{
    const struct train_job *job = r->job;
    const bool has_cores = r->has_cores && r->ranks_have_cores && !job->opts.colocate;
    const int most = train_exchanges(job) ? job->mode->most_in_flight : 0, given = job->exchange.n_in_flight;
    const int n = given > 0 ? given : rank_is_virtual(r) || has_cores ? most : 1;

    r->exchanging.n_in_flight = r->result.overlap.n_in_flight = most > 0 ? n : 0;
}
