/* SPDX-License-Identifier: Apache-2.0 */
/* rank_hosts.c - what a rank finds out about hosts: who is where, who shares a device, who waits how. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/topology.h"
#include "harness/train/job_exchange.h"
#include "harness/train/rank_state.h"
#include "harness/world/child.h"
#include "harness/world/share.h"

/* --- hosts of a job with servers, or with a collective --- */

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

/* Neighbours are measured. In an algorithm that has other pairs these may be within hosts where neighbours are not; and
 * a rank gets messages of several at once, which need not share a rate there (local_sharing). */
static enum rc find_hosts_of_collective(struct rank *r)
{
    const struct train_job *job = r->job;
    const unsigned caps = job->collective->module.caps;
    const size_t n_ranks = (size_t)r->world->n_ranks;
    int host, n_hosts;
    enum rc rc;

    TRY(world_host_group(r->world, NULL, &host, &n_hosts));
    r->links.has_one_link =
        n_hosts == (int)n_ranks || (n_hosts == 1 && rank_is_virtual(r) && job->cluster.local_sharing != SHARING_NONE);
    if (!(caps & COLL_CIRCLE) && n_ranks > 2 && n_hosts < (int)n_ranks) {
        r->links.has_other_pairs = n_hosts > 1;
        r->links.has_no_wire_limit = rank_is_virtual(r) && job->cluster.local_sharing != SHARING_RANK;
    }
    if (!(caps & COLL_SHARED))
        goto out;
    r->host = calloc(n_ranks, sizeof *r->host);
    if (!r->host)
        FAIL(RC_NOMEM, "no memory for the hosts of %zu ranks", n_ranks);
    TRY(world_allgather(r->world, &host, r->host, sizeof host));
out:
    return rc;
}

enum rc rank_find_hosts(struct rank *r)
{
    const struct train_job *job = r->job;
    int n_hosts = 0;
    enum rc rc = RC_OK;

    if (job->collective)
        return find_hosts_of_collective(r);
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
    r->links.has_no_wire_limit = has_no_wire_limit(r, n_hosts);
    r->links.next_is_near =
        n_hosts > 1 && !job->servers_beside && r->host[r->world->rank] == r->host[(r->world->rank + 1) % job->n_ranks];
    if (n_hosts == 1 || !job->servers_beside) { /* nothing crosses a card, or all may */
        free(r->host);
        r->host = NULL;
    }
out:
    return rc;
}

/*
 * Which device each worker computes on, and whether workers share one. A launcher may show each process
 * one GPU of its own, each as number 0, or all of the host: so numbers tell nothing, and bus ids are compared.
 */

struct seat { /* of a worker; device "": none */
    char host[64], kernel[HOST_KERNEL_BYTES], device[COMPUTE_DEVICE_ID_BYTES];
    int32_t n_visible;
};

enum rc rank_device_number(int *out, const struct compute_backend *compute, int host_rank)
{
    int n_devices = 1;
    enum rc rc = RC_OK;

    if (compute->device_count)
        TRY(compute->device_count(&n_devices));
    *out = host_rank % n_devices;
out:
    return rc;
}

/* Hosts that are namespaces of one system, such as containers, share its devices. */
static bool is_same_device(const char *device_a, const char *host_a, const char *kernel_a, const char *device_b,
                           const char *host_b, const char *kernel_b)
{
    const bool knows_kernels = kernel_a[0] && kernel_b[0];

    return device_a[0] && strcmp(device_a, device_b) == 0 &&
           (knows_kernels ? strcmp(kernel_a, kernel_b) == 0 : strcmp(host_a, host_b) == 0);
}

static enum rc refuse_sharing(const struct rank *r, const struct seat *seat)
{
    for (int b = 0; b < r->job->n_workers; b++)
        for (int a = 0; a < b; a++)
            if (is_same_device(seat[a].device, seat[a].host, seat[a].kernel, seat[b].device, seat[b].host,
                               seat[b].kernel))
                return rc_raise(
                    RC_INVAL,
                    "--workers %d: workers %d and %d are both on %s %s of host %s, where worker %d sees %d; "
                    "start at most one for each, or give --share-device",
                    r->job->n_workers, a, b, r->job->compute->device_kind, seat[b].device, seat[b].host, b,
                    (int)seat[b].n_visible);
    return RC_OK;
}

enum rc rank_check_devices(struct rank *r)
{
    struct world *all = rank_all(r);
    const size_t n_ranks = (size_t)all->n_ranks;
    struct seat own = { .n_visible = 0 }, *seat = NULL;
    int n_visible = 0;
    enum rc rc = RC_OK;

    if (!r->job->compute->device_count || world_is_guest(r->world)) /* of every rank's job */
        return RC_OK;
    if (rank_is_worker(r)) {
        r->compute->ops->device_id(r->compute, own.device);
        TRY(compute_sync(r->compute)); /* it was to be had */
        TRY(r->compute->ops->device_count(&n_visible));
    }
    own.n_visible = n_visible;
    child_host_name(own.host, sizeof own.host);
    host_kernel_id(own.kernel, "");
    memcpy(r->info.device, own.device, sizeof own.device);
    seat = malloc(n_ranks * sizeof *seat);
    if (!seat)
        FAIL(RC_NOMEM, "no memory for the devices of %zu ranks", n_ranks);
    TRY(world_allgather(all, &own, seat, sizeof own));
    if (!r->job->opts.share_device)
        TRY(refuse_sharing(r, seat));
out:
    free(seat);
    return rc;
}

int train_most_on_device(const struct train_result *r)
{
    int n_most = 0;

    for (int a = 0; a < r->n_workers; a++) {
        const struct train_rank_info *of = r->rank;
        int n = 0;
        for (int b = 0; b < r->n_workers; b++)
            n += is_same_device(of[a].device, of[a].host, of[a].kernel, of[b].device, of[b].host, of[b].kernel);
        n_most = n > n_most ? n : n_most;
    }
    return n_most;
}

/* --- overlap, and outstanding chunks --- */

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
    const struct server_mode *servers = job->mode->servers;
    const int most = train_exchanges(job) && servers ? servers->usual_in_flight : 0, given = job->exchange.n_in_flight;
    const int n = given > 0 ? given : rank_is_virtual(r) || has_cores ? most : 1;

    r->exchanging.n_in_flight = r->result.overlap.n_in_flight = most > 0 ? n : 0;
}

/*
 * How ranks wait for each other: by the same rule in every mode.
 *
 * auto, for a run by itself: all ranks spin where every host has a core for each thread of its workers, and for each
 * rank, servers included; else all sleep. Threads of a worker are those of --threads, one that exchanges beside
 * computing, and one of a library that has its own (exchange.A11). Threads of a pool do not count beside a server:
 * while their worker waits for it they have nothing to do. compare chooses spin or sleep for all points that it
 * compares (campaign/wait.c).
 * spin: a server spins only where it has a core too; on a worker's it takes time from who gives it work.
 * Servers beside workers (--colocate) run on the workers' cores: with auto all ranks sleep, with spin the servers do.
 * The threads of a worker's pool wait for each other as part of computing: they spin where each has a core of its own,
 * whatever the mode and the policy.
 */

enum wait_policy train_wait_policy(const char *text)
{
    return strcmp(text, "spin") == 0 ? WAIT_SPIN : strcmp(text, "sleep") == 0 ? WAIT_SLEEP : WAIT_AUTO;
}

/* A server on a core that a worker needs only takes time from it by spinning. */
static enum wait_policy own_policy(const struct rank *r, enum wait_policy of_workers)
{
    return rank_is_worker(r) || (r->ranks_have_cores && !r->job->opts.colocate) ? of_workers : WAIT_SLEEP;
}

/* Trainings at once share the cores of a host, and so does a driver. */
static struct world *sharing_cores(const struct rank *r)
{
    return r->job->all ? r->job->all : r->feed.own ? r->feed.all : r->world;
}

enum rc rank_needs_core(struct rank *r)
{
    bool has_cores;
    enum rc rc;

    TRY(world_has_cores(sharing_cores(r), 1, &has_cores)); /* as rank_choose_wait() of the others asks */
    TRY(world_has_cores(sharing_cores(r), 1, &has_cores));
    world_set_wait(r->feed.world, WAIT_SLEEP); /* workers compute meanwhile, on cores that they may need */
out:
    return rc;
}

/* Of a worker, beside those that compute. */
static int n_exchange_threads(const struct rank *r)
{
    const struct collective_ops *collective = r->job->collective;

    return r->exchanging.overlap + (collective && collective->module.caps & COLL_THREADS);
}

enum rc rank_choose_wait(struct rank *r)
{
    const int n_beside = rank_is_worker(r) ? n_exchange_threads(r) : 0;
    const int n_threads = rank_is_worker(r) ? rank_n_threads(r) + n_beside : 0;
    struct world *all = sharing_cores(r);
    enum wait_policy policy = r->job->wait;
    enum rc rc = RC_OK;

    if (rank_is_virtual(r))
        return RC_OK;
    TRY(world_has_cores(all, n_threads, &r->has_cores));
    TRY(world_has_cores(all, 1 + n_beside, &r->ranks_have_cores));
    if (policy == WAIT_AUTO)
        policy = r->has_cores && r->ranks_have_cores && !r->job->opts.colocate ? WAIT_SPIN : WAIT_SLEEP;
    world_set_wait(r->world, own_policy(r, policy));
    if (r->feed.client)
        world_set_wait(r->feed.world, r->world->wait);
    r->result.wait = policy;
out:
    return rc;
}

/* With overlap the communicators need cores too: where there is none for them, they run on those of the pools. */
bool rank_pool_may_spin(const struct rank *r)
{
    return rank_n_threads(r) <= r->world->n_own_cores && (r->has_cores || !r->exchanging.overlap);
}
