/* SPDX-License-Identifier: Apache-2.0 */
/* rank_hosts.c - on which hosts the ranks of a job with servers are, and what that says of its wire. */
#include <stdlib.h>

#include "harness/cluster/topology.h"
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

/* host[n_ranks] := the slot of each, as the description of a simulated cluster has it; the number of slots. No word is
 * sent: that would take virtual time. */
static int described_hosts(int *host, const struct train_job *job)
{
    struct topology t;
    int n_hosts = 0;

    topology_init(&t, &job->cluster, job->n_workers, job->n_ranks);
    for (int i = 0; i < job->n_ranks; i++) {
        bool is_new = true;
        host[i] = topology_slot(&t, i);
        for (int k = 0; k < i && is_new; k++)
            is_new = host[k] != host[i];
        n_hosts += is_new;
    }
    return n_hosts;
}

static enum rc gather_hosts(struct rank *r, int *n_hosts)
{
    struct world *group = NULL;
    int host = 0;
    enum rc rc;

    TRY(world_host_group(r->world, &group, &host, n_hosts));
    TRY(world_allgather(r->world, &host, r->host, sizeof host));
out:
    world_split_close(&group);
    return rc;
}

static bool has_server_beside_worker(const struct rank *r)
{
    const struct train_job *job = r->job;
    bool has = false;

    for (int i = job->n_workers; i < job->n_ranks && !has; i++)
        has = n_on_host(r, r->host[i], 0, job->n_workers) > 0;
    return has;
}

/* The plan of the wire has a server's link carry the messages of all its workers, at the rate between neighbours; or,
 * with servers_beside, those of other hosts. */
static bool has_no_wire_limit(const struct rank *r, int n_hosts)
{
    const struct train_job *job = r->job;

    if (n_hosts > 1) /* --colocate: each host has a worker */
        return job->servers_beside ? n_hosts < job->n_workers : has_server_beside_worker(r);
    return job->n_ranks > 2 && rank_is_virtual(r) && job->cluster.local_sharing != SHARING_RANK;
}

enum rc rank_find_hosts(struct rank *r)
{
    const struct train_job *job = r->job;
    int n_hosts = 0;
    enum rc rc = RC_OK;

    if (job->n_servers == 0 || world_is_guest(r->world))
        return RC_OK;
    r->host = calloc((size_t)job->n_ranks, sizeof *r->host);
    if (!r->host)
        return rc_raise(RC_NOMEM, "no memory for the hosts of %d ranks", job->n_ranks);
    if (rank_is_virtual(r) && !job->servers_beside)
        n_hosts = described_hosts(r->host, job);
    else
        TRY(gather_hosts(r, &n_hosts));
    if (job->opts.colocate && !rank_is_virtual(r)) /* a described cluster has them so */
        TRY(check_servers(r, n_hosts));
    r->has_no_wire_limit = has_no_wire_limit(r, n_hosts);
    if (n_hosts == 1 || !job->servers_beside) { /* nothing crosses a card, or all may */
        free(r->host);
        r->host = NULL;
    }
out:
    return rc;
}
