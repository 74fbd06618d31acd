/* SPDX-License-Identifier: Apache-2.0 */
/* wait_policy.c - may a rank spin while it waits: what is asked for, and whether the cores suffice. */
#include <stdlib.h>
#include <string.h>

#include "harness/world/child.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/world.h"

struct rank_need { /* of cores */
    char host[64];
    int32_t n_threads, n_host_cores;
};

static bool cores_suffice(const struct rank_need *rank, int n_ranks, int r)
{
    int64_t n_threads = 0;

    for (int i = 0; i < n_ranks; i++)
        if (strcmp(rank[i].host, rank[r].host) == 0)
            n_threads += rank[i].n_threads;
    return n_threads <= rank[r].n_host_cores;
}

enum rc world_has_cores(struct world *w, int n_threads, bool *out)
{
    struct rank_need own = { .n_threads = n_threads, .n_host_cores = w->n_host_cores };
    struct rank_need *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the threads of %d ranks", w->n_ranks);
    child_host_name(own.host, sizeof own.host);
    TRY(world_allgather(w, &own, all, sizeof own));
    *out = true;
    for (int r = 0; r < w->n_ranks; r++)
        *out = *out && cores_suffice(all, w->n_ranks, r);
out:
    free(all);
    return rc;
}

void world_set_wait(struct world *w, enum wait_policy policy)
{
    w->wait = policy;
}

bool world_may_spin(const struct world *w)
{
    const int n_tasks = 1 + (w->tasks ? atomic_load_explicit(&w->tasks->n_running, memory_order_relaxed) : 0);

    if (w->wait != WAIT_AUTO)
        return w->wait == WAIT_SPIN && w->n_host_cores > 0;
    return w->n_busy_host_ranks * n_tasks <= w->n_host_cores;
}
