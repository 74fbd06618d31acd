/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_cores.c - the cores of a rank that is a process: its launcher's choice, or an equal part of its host's. */
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

/* Where the launcher gave this rank cores of its own, keep them. Where several bound ranks have the same
 * set, give each an equal part of it. Where sets overlap in part, change nothing: *n_own_cores = 0. */
static enum rc bind_share(const struct core_set *set, const int *is_bound, int own, int n, int *n_own_cores)
{
    int slot = 0, n_slots = 0;

    *n_own_cores = 0;
    for (int i = 0; i < n; i++) {
        if (!is_bound[i] || !sets_overlap(&set[i], &set[own]))
            continue;
        if (memcmp(&set[i], &set[own], sizeof set[i]) != 0)
            return RC_OK;
        slot += i < own;
        n_slots++;
    }
    return n_slots > 0 && is_bound[own] ? cores_bind_self(slot, n_slots, n_own_cores) : RC_OK;
}

enum rc mpi_cores_bind(struct mpi_world *m, const struct world_opts *opts)
{
    const int n = m->base.n_host_ranks, own = m->base.host_rank;
    const int n_bound = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : m->base.n_ranks;
    const int bound = opts->bind_cores && m->base.rank < n_bound;
    struct core_set *set = NULL, all = { { 0 } };
    int *is_bound = NULL;
    enum rc rc = RC_OK;

    set = calloc((size_t)n, sizeof *set);
    is_bound = calloc((size_t)n, sizeof *is_bound);
    TRY(mpi_agree_on_memory(m, set && is_bound));
    cores_allowed_set(&set[own]);
    TRY_MPI_ALONE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, set, (int)sizeof *set, MPI_BYTE, m->host_comm));
    TRY_MPI_ALONE(MPI_Allgather(&bound, 1, MPI_INT, is_bound, 1, MPI_INT, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CORES_SET_WORDS; k++)
            all.word[k] |= set[i].word[k];
    m->base.n_host_cores = cores_in_set(&all);
    m->base.n_busy_host_ranks = n;
    if (bound && bind_share(set, is_bound, own, n, &m->base.n_own_cores) != RC_OK)
        m->base.n_own_cores = 0; /* the reader of n_own_cores reports it */
    m->self->tasks.all = m->self->tasks.spare = all;
    cores_thread_set(&set[own]); /* as bound now */
    TRY_MPI_ALONE(MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, set, (int)sizeof *set, MPI_BYTE, m->host_comm));
    for (int i = 0; i < n; i++)
        for (int k = 0; is_bound[i] && k < CORES_SET_WORDS; k++)
            m->self->tasks.spare.word[k] &= ~set[i].word[k];
    m->self->tasks.knows_cores = true;
out:
    free(is_bound);
    free(set);
    return rc;
}
