/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_local.c - shares of ranks in one address space: threads, and the actors of sim.
 *
 * A region holds the blocks and bells of one share. Rank 0 allocates it, each rank adds its block, and the last rank to
 * close frees it. The run has a list of its regions, for the ranks that died: nobody can close for them (world.H7).
 */
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "harness/world/share_block.h"
#include "harness/world/share_inner.h"
#include "harness/world/wait.h"

enum { LINE_BYTES = 128 }; /* a processor may fetch two lines of its cache at once */

struct local_bell {
    alignas(LINE_BYTES) struct doorbell bell;
};

struct local_share { /* of one rank */
    struct share base;
    struct share_region *region;
    struct share_block block;
};

struct share_region {
    struct share_run *run;
    struct share_region *previous, *next;
    int n_ranks;
    _Atomic int n_users;
    struct local_share *share; /* [n_ranks] */
    struct local_bell *bell;   /* [n_ranks] */
    void **peer;               /* [n_ranks]: the blocks */
    struct doorbell **bell_of; /* [n_ranks]: the bells */
};

void share_run_init(struct share_run *run)
{
    run->first = NULL;
    pthread_mutex_init(&run->lock, NULL);
}

static void region_free(struct share_region *g)
{
    for (int r = 0; g->share && r < g->n_ranks; r++)
        share_block_unmap(&g->share[r].block);
    free(g->share);
    free(g->bell);
    free(g->peer);
    free(g->bell_of);
    free(g);
}

void share_run_fini(struct share_run *run)
{
    while (run->first) {
        struct share_region *g = run->first;
        run->first = g->next;
        region_free(g);
    }
    pthread_mutex_destroy(&run->lock);
}

static void run_add(struct share_run *run, struct share_region *g)
{
    pthread_mutex_lock(&run->lock);
    g->next = run->first;
    if (g->next)
        g->next->previous = g;
    run->first = g;
    pthread_mutex_unlock(&run->lock);
}

static void run_remove(struct share_run *run, struct share_region *g)
{
    pthread_mutex_lock(&run->lock);
    if (g->next)
        g->next->previous = g->previous;
    if (g->previous)
        g->previous->next = g->next;
    else
        run->first = g->next;
    pthread_mutex_unlock(&run->lock);
}

static enum rc region_open(struct share_region **out, struct share_run *run, int n_ranks)
{
    const size_t n = (size_t)n_ranks;
    struct share_region *g = calloc(1, sizeof *g);
    enum rc rc = RC_OK;

    if (!g)
        FAIL(RC_NOMEM, "no memory for a share of %d ranks", n_ranks);
    g->run = run;
    g->n_ranks = n_ranks;
    atomic_store(&g->n_users, n_ranks);
    g->share = calloc(n, sizeof *g->share);
    g->bell = aligned_alloc(LINE_BYTES, n * sizeof *g->bell);
    g->peer = calloc(n, sizeof *g->peer);
    g->bell_of = calloc(n, sizeof *g->bell_of);
    if (!g->share || !g->bell || !g->peer || !g->bell_of)
        FAIL(RC_NOMEM, "no memory for a share of %d ranks", n_ranks);
    for (size_t r = 0; r < n; r++) {
        g->bell[r] = (struct local_bell){ .bell = { 0 } };
        g->bell_of[r] = &g->bell[r].bell;
    }
    run_add(run, g);
    *out = g;
    g = NULL;
out:
    if (g)
        region_free(g);
    return rc;
}

static void region_leave(struct share_region *g)
{
    if (atomic_fetch_sub(&g->n_users, 1) > 1)
        return;
    run_remove(g->run, g);
    region_free(g);
}

/* Of rank 0, on every rank; left to the run where a rank ends meanwhile. */
static enum rc find_region(struct share_region **out, struct world *group)
{
    struct share_region *own = NULL, **all = calloc((size_t)group->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for a share of %d ranks", group->n_ranks);
    TRY(share_agree(group, group->rank == 0 ? region_open(&own, group->shares, group->n_ranks) : RC_OK));
    TRY(world_allgather(group, &own, all, sizeof own));
    *out = all[0];
out:
    free(all);
    return rc;
}

static enum rc add_block(struct share_region *g, struct world *group, size_t n_bytes)
{
    struct local_share *s = &g->share[group->rank];
    const size_t n_mapped_bytes = share_round_up(n_bytes > 0 ? n_bytes : 1, share_page_bytes());
    enum rc rc = RC_OK;

    if (n_mapped_bytes == 0)
        FAIL(RC_NOMEM, "a share of %zu bytes", n_bytes);
    TRY(share_block_map(&s->block, -1, n_mapped_bytes));
    TRY(share_block_touch(&s->block, -1));
    g->peer[group->rank] = s->block.memory;
    s->region = g;
    s->base = (struct share){ .group = group,
                              .mine = s->block.memory,
                              .peer = g->peer,
                              .n_bytes = n_bytes,
                              .kind = SHARE_ADDRESS_SPACE,
                              .bell = g->bell_of };
out:
    return rc;
}

enum rc share_local_open(struct share **out, struct world *group, size_t n_bytes)
{
    struct share_region *g = NULL;
    enum rc rc;

    TRY(find_region(&g, group));
    TRY(share_agree(group, add_block(g, group, n_bytes)));
    *out = &g->share[group->rank].base;
    g = NULL;
out:
    if (g)
        region_leave(g);
    return rc;
}

void share_local_close(struct share *s)
{
    region_leave(((struct local_share *)s)->region);
}

static enum rc one_host(struct world *w, struct world **out, int *host, int *n_hosts)
{
    enum rc rc = RC_OK;

    if (out)
        TRY(world_split(w, 0, w->rank, out));
    *host = 0;
    *n_hosts = 1;
out:
    return rc;
}

const struct share_ops thread_share_ops = {
    .host_group = one_host,
    .open = share_local_open,
    .ring = share_bell_ring,
    .wait = share_bell_wait,
    .close = share_local_close,
};
