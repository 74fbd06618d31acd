/* SPDX-License-Identifier: Apache-2.0 */
/* rank_hosts.c - on which hosts the ranks of a job are whose servers live beside workers. */
#include <stdlib.h>

#include "harness/train/rank_state.h"
#include "harness/world/share.h"

static int n_on_host(const struct rank *r, int host, int first, int end)
{
    int n = 0;

    for (int i = first; i < end; i++)
        n += r->host[i] == host;
    return n;
}

/* Each server needs a worker of its own on its host. */
static enum rc check_servers(const struct rank *r, int n_hosts)
{
    const struct train_job *job = r->job;

    for (int h = 0; h < n_hosts; h++) {
        const int n_workers = n_on_host(r, h, 0, job->n_workers);
        const int n_servers = n_on_host(r, h, job->n_workers, job->n_ranks);
        int rank = job->n_workers;

        if (n_servers <= n_workers)
            continue;
        while (r->host[rank] != h)
            rank++;
        return rc_raise(RC_INVAL,
                        "--colocate: the host of rank %d has %d server%s and %d worker%s; each server lives beside a "
                        "worker: have ranks %d to %d, the servers, started where ranks 0 to %d are, as mpirun --map-by "
                        "node does where the hosts divide %d workers evenly",
                        rank, n_servers, n_servers == 1 ? "" : "s", n_workers, n_workers == 1 ? "" : "s",
                        job->n_workers, job->n_ranks - 1, job->n_servers - 1, job->n_workers);
    }
    return RC_OK;
}

enum rc rank_find_hosts(struct rank *r)
{
    struct world *group = NULL;
    int host = 0, n_hosts = 0;
    enum rc rc = RC_OK;

    if (!r->job->servers_beside)
        return RC_OK;
    r->host = calloc((size_t)r->job->n_ranks, sizeof *r->host);
    if (!r->host)
        return rc_raise(RC_NOMEM, "no memory for the hosts of %d ranks", r->job->n_ranks);
    TRY(world_host_group(r->world, &group, &host, &n_hosts));
    TRY(world_allgather(r->world, &host, r->host, sizeof host));
    if (r->job->opts.colocate && !rank_is_virtual(r)) /* a described cluster has them so */
        TRY(check_servers(r, n_hosts));
    r->workers_share_hosts = n_hosts > 1 && n_hosts < r->job->n_workers; /* each host has a worker */
    if (n_hosts == 1) {                                                  /* nothing crosses a card */
        free(r->host);
        r->host = NULL;
    }
out:
    world_split_close(&group);
    return rc;
}
