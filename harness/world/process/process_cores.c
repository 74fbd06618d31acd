/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_cores.c - the cores of a rank that is a process: its launcher's choice, or its share of its host's; see
 * process_cores.h.
 */
#include "harness/world/process/process_cores.h"

#include <stdlib.h>
#include <string.h>

#include "harness/world/cores.h"
#include "harness/world/thread_tasks.h"
#include "harness/world/world.h"

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

enum rc process_cores_bind(struct world *w, const struct world_opts *opts, const struct process_host *host)
{
    const int n = w->n_host_ranks, own = w->host_rank;
    const int n_workers = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : w->n_ranks;
    struct place *place = calloc((size_t)n, sizeof *place), mine;
    struct core_set all = { { 0 } };
    enum rc rc = RC_OK;

    TRY(host->agree_on_memory(w, place != NULL));
    memset(&mine, 0, sizeof mine); /* it is sent as bytes */
    mine.kind = !opts->bind_cores ? FREE : w->rank < n_workers ? WORKER : SERVER;
    cores_allowed_set(&mine.set);
    TRY(host->gather(w, &mine, place, sizeof *place));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < CORES_SET_WORDS; k++)
            all.word[k] |= place[i].set.word[k];
    w->n_host_cores = cores_in_set(&all);
    w->n_busy_host_ranks = n;
    if (bind_share(place, own, n, opts, &w->n_own_cores) != RC_OK)
        w->n_own_cores = 0; /* the reader of n_own_cores reports it */
    w->tasks->all = w->tasks->spare = all;
    cores_thread_set(&mine.set); /* as bound now */
    if (mine.kind == SERVER && w->n_own_cores == 0)
        mine.kind = FREE;
    TRY(host->gather(w, &mine, place, sizeof *place));
    for (int i = 0; i < n; i++)
        for (int k = 0; place[i].kind != FREE && k < CORES_SET_WORDS; k++)
            w->tasks->spare.word[k] &= ~place[i].set.word[k];
    w->tasks->knows_cores = true;
out:
    free(place);
    return rc;
}
