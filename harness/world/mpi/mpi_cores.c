/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_cores.c - the cores of a rank that is a process: its launcher's choice, or its share of its host's. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/cores.h"
#include "harness/world/mpi/mpi_check.h"
#include "harness/world/mpi/mpi_world.h"

static bool sets_overlap(const struct core_set *a, const struct core_set *b)
{
    for (int i = 0; i < CORES_SET_WORDS; i++)
        if (a->word[i] & b->word[i])
            return true;
    return false;
}

struct place { /* of a rank of this host, before any is bound */
    enum { FREE, WORKER, SERVER } kind;
    struct core_set set;
};

/* Of server `own` among the n ranks of this host: the worker beside which it lives; own: it has none here. */
static int worker_beside(const struct place *place, int own, int n)
{
    int n_workers = 0, n_before = 0;

    for (int i = 0; i < n; i++) {
        n_workers += place[i].kind == WORKER;
        n_before += i < own && place[i].kind == SERVER;
    }
    for (int i = 0, k = 0; i < n && n_workers > 0; i++)
        if (place[i].kind == WORKER && k++ == n_before % n_workers)
            return i;
    return own;
}

/* Where the launcher gave this rank cores of its own, keep them, but no more than n_threads. Where several have the
 * same set, share it out. Where sets of workers overlap in part, change nothing: *n_own_cores = 0. So it stays for a
 * server whose set is no worker's. A server that shares cores gets those that its worker gets, whatever the launcher
 * gave it; it owns none. */
static enum rc bind_share(const struct place *place, int own, int n, const struct world_opts *opts, int *n_own_cores)
{
    const bool is_guest = place[own].kind == SERVER && opts->shares_cores;
    const int like = is_guest ? worker_beside(place, own, n) : own; /* whose set is shared out */
    const bool is_worker = place[like].kind == WORKER;
    int n_workers = 0, n_servers = 0, n_before = 0;
    enum rc rc = RC_OK;

    *n_own_cores = 0;
    for (int i = 0; i < n; i++) {
        if (place[i].kind == FREE || !sets_overlap(&place[i].set, &place[like].set))
            continue;
        if (memcmp(&place[i].set, &place[like].set, sizeof place[i].set) != 0) {
            if (place[i].kind == WORKER)
                return RC_OK;
            continue;
        }
        n_before += i < like && place[i].kind == place[like].kind;
        n_workers += place[i].kind == WORKER;
        n_servers += place[i].kind == SERVER;
    }
    if (place[own].kind == FREE || n_workers == 0)
        return RC_OK;
    const struct core_shares s =
        cores_share_out(cores_in_set(&place[like].set), n_workers, opts->n_threads, opts->shares_cores ? 0 : n_servers);
    if (is_guest)
        return s.n_each > 0 ? cores_bind_self_within(&place[like].set, n_before * s.n_each, s.n_each) : RC_OK;
    const int n_own = is_worker ? s.n_each : n_before < s.n_servers;
    if (n_own > 0)
        TRY(cores_bind_self(is_worker ? n_before * s.n_each : n_workers * s.n_each + n_before, n_own));
    *n_own_cores = n_own;
out:
    return rc;
}

enum rc mpi_cores_bind(struct mpi_world *m, const struct world_opts *opts)
{
    const int n = m->base.n_host_ranks, own = m->base.host_rank;
    const int n_workers = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : m->base.n_ranks;
    struct place *place = NULL;
    struct core_set all = { { 0 } };
    enum rc rc = RC_OK;

    place = calloc((size_t)n, sizeof *place);
    TRY(mpi_agree_on_memory(m, place != NULL));
    place[own].kind = !opts->bind_cores ? FREE : m->base.rank < n_workers ? WORKER : SERVER;
    cores_allowed_set(&place[own].set);
    TRY_MPI_ALONE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, place, (int)sizeof *place, MPI_BYTE, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CORES_SET_WORDS; k++)
            all.word[k] |= place[i].set.word[k];
    m->base.n_host_cores = cores_in_set(&all);
    m->base.n_busy_host_ranks = n;
    if (bind_share(place, own, n, opts, &m->base.n_own_cores) != RC_OK)
        m->base.n_own_cores = 0; /* the reader of n_own_cores reports it */
    m->self->tasks.all = m->self->tasks.spare = all;
    cores_thread_set(&place[own].set); /* as bound now */
    if (place[own].kind == SERVER && m->base.n_own_cores == 0)
        place[own].kind = FREE;
    TRY_MPI_ALONE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, place, (int)sizeof *place, MPI_BYTE, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; place[i].kind != FREE && k < CORES_SET_WORDS; k++)
            m->self->tasks.spare.word[k] &= ~place[i].set.word[k];
    m->self->tasks.knows_cores = true;
out:
    free(place);
    return rc;
}
