/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_collectives.c - how rank threads meet, and the groups in which they do.
 *
 * Ranks meet in a word that counts meetings and those who are in the next one. The last to come begins a new count,
 * which lets all go; who gives up before that takes itself out of the count. So a meeting takes place with all ranks of
 * the group or with none, and whoever gave up is not read from: its stack may be gone.
 * No sleep lasts longer than WAIT_SLICE_NS, so every wait sees a failure or a loss within that time.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/world/threads/threads_world.h"

enum { MEETING_SHIFT = 32 };

/* --- groups --- */

struct thread_group *thread_group_alloc(struct thread_run *run, int n_ranks)
{
    const size_t n = (size_t)n_ranks;
    struct thread_group *g = calloc(1, sizeof *g + n * sizeof g->slot[0]);

    if (!g)
        return NULL;
    g->run = run;
    g->n_ranks = n_ranks;
    g->number = calloc(n, sizeof *g->number);
    if (run->losses)
        g->roll = calloc(1, sizeof *g->roll + n * sizeof g->roll->present[0]);
    if (g->roll)
        pthread_mutex_init(&g->roll->lock, NULL);
    if (!g->number || (run->losses && !g->roll)) {
        thread_group_free(g);
        return NULL;
    }
    atomic_init(&g->n_users, n_ranks);
    return g;
}

void thread_group_free(struct thread_group *g)
{
    if (!g)
        return;
    if (g->roll)
        pthread_mutex_destroy(&g->roll->lock);
    free(g->roll);
    free(g->number);
    free(g);
}

/* A group that its ranks close; what a lost one leaves open is freed at the end of the run. */
static struct thread_group *part_alloc(struct thread_run *run, int n_ranks)
{
    struct thread_group *g = thread_group_alloc(run, n_ranks);

    if (!g)
        return NULL;
    pthread_mutex_lock(&run->lock);
    g->next = run->parts;
    if (g->next)
        g->next->previous = g;
    run->parts = g;
    pthread_mutex_unlock(&run->lock);
    return g;
}

static void part_release(struct thread_group *g)
{
    if (atomic_fetch_sub(&g->n_users, 1) != 1)
        return;
    pthread_mutex_lock(&g->run->lock);
    if (g->next)
        g->next->previous = g->previous;
    if (g->previous)
        g->previous->next = g->next;
    else
        g->run->parts = g->next;
    pthread_mutex_unlock(&g->run->lock);
    thread_group_free(g);
}

/* The world of rank `rank` of part g, which is w's own rank; NULL: no memory. */
static struct thread_world *part_world(struct world *w, struct thread_group *g, int rank)
{
    const struct thread_world *own = thread_world_of(w);
    struct thread_world *part = calloc(1, sizeof *part);

    if (!part)
        return NULL;
    part->base = own->base;
    part->run = own->run;
    part->run_rank = own->run_rank;
    part->group = g;
    part->base.number = g->number;
    part->base.rank = part->base.host_rank = rank;
    part->base.n_ranks = part->base.n_host_ranks = g->n_ranks;
    part->base.n_busy_host_ranks = g->n_ranks;
    return part;
}

void threads_split_close(struct world **w)
{
    part_release(thread_world_of(*w)->group);
    free(*w);
    *w = NULL;
}

/* --- meetings --- */

/* Join the meeting under way; returns how many were before it. */
static uint64_t come(struct thread_group *g)
{
    uint64_t meeting = atomic_load(&g->meeting), next;

    do {
        const uint64_t n_before = meeting >> MEETING_SHIFT, n_here = (uint32_t)meeting + 1;
        next = n_here < (uint64_t)g->n_ranks ? meeting + 1 : (n_before + 1) << MEETING_SHIFT;
    } while (!atomic_compare_exchange_strong(&g->meeting, &meeting, next));
    if ((uint32_t)next == 0)
        doorbell_ring(&g->bell);
    return meeting >> MEETING_SHIFT;
}

/* Leave the meeting that is the next after n_before others; false: it has taken place. */
static bool give_up(struct thread_group *g, uint64_t n_before)
{
    uint64_t meeting = atomic_load(&g->meeting);

    do
        if (meeting >> MEETING_SHIFT != n_before)
            return false;
    while (!atomic_compare_exchange_strong(&g->meeting, &meeting, meeting - 1));
    return true;
}

static bool has_met(const struct thread_group *g, uint64_t n_before)
{
    return atomic_load(&g->meeting) >> MEETING_SHIFT != n_before;
}

/* RC_OK while all ranks of w can still come. */
static enum rc check_all(struct world *w)
{
    enum rc rc;

    TRY(world_check(w));
    TRY(world_check_losses(w));
out:
    return rc;
}

enum rc threads_barrier(struct world *w)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    TRY(world_check_losses(w)); /* world.W8: a lost rank may have come before */
    const uint64_t n_before = come(g);
    while (!has_met(g, n_before)) {
        const uint32_t seen = doorbell_seen(&g->bell);
        if (has_met(g, n_before))
            break;
        rc = check_all(w);
        if (rc != RC_OK && give_up(g, n_before))
            goto out;
        rc = RC_OK;
        doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
out:
    return rc;
}

/* All ranks of the group are copying what others gave to a meeting: each comes, whatever became of the run. */
static void wait_for_readers(struct world *w)
{
    struct thread_group *g = thread_world_of(w)->group;
    const uint64_t n_before = come(g);

    while (!has_met(g, n_before)) {
        const uint32_t seen = doorbell_seen(&g->bell);
        world_tick(w);
        if (!has_met(g, n_before))
            doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
}

/* out: (n_ranks, n_bytes_each); NULL: this rank does not read the inputs. */
enum rc threads_allgather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], in);
    TRY(threads_barrier(w));
    for (int r = 0; out && r < g->n_ranks; r++)
        memcpy((char *)out + (size_t)r * n_bytes_each, atomic_load(&g->slot[r]), n_bytes_each);
    wait_for_readers(w); /* no rank may reuse `in` before */
out:
    return rc;
}

enum rc threads_gather(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return threads_allgather(w, in, w->rank == 0 ? out : NULL, n_bytes_each);
}

enum rc threads_broadcast(struct world *w, void *bytes, size_t n_bytes)
{
    struct thread_group *g = thread_world_of(w)->group;
    enum rc rc;

    atomic_store(&g->slot[w->rank], bytes);
    TRY(threads_barrier(w));
    if (w->rank > 0 && n_bytes > 0)
        memcpy(bytes, atomic_load(&g->slot[0]), n_bytes);
    wait_for_readers(w); /* rank 0 may not change its bytes before */
out:
    return rc;
}

/* --- parts --- */

struct claim { /* what a rank asks of a split; color < 0: to be in no part (world_split) */
    int color, key, rank;
};

/* Does the rank of a get the lower rank in the new world, if both have the same color? */
static bool goes_before(struct claim a, struct claim b)
{
    return a.key != b.key ? a.key < b.key : a.rank < b.rank;
}

/* The rank that `of` gets among the claims all[n] of its color; *n_ranks of them. */
static int place_of(const struct claim *all, int n, struct claim of, int *n_ranks)
{
    int rank = 0;

    *n_ranks = 0;
    for (int r = 0; r < n; r++)
        if (all[r].color == of.color) {
            *n_ranks += 1;
            rank += goes_before(all[r], of);
        }
    return rank;
}

/* The group of all ranks whose claims have this color. NULL: no memory. */
static struct thread_group *part_of(struct world *w, const struct claim *all, int color, int n_ranks)
{
    struct thread_group *g = part_alloc(thread_world_of(w)->run, n_ranks);

    for (int r = 0; g && r < w->n_ranks; r++)
        if (all[r].color == color)
            g->number[place_of(all, w->n_ranks, all[r], &n_ranks)] = world_number(w, r);
    return g;
}

/* Ranks of equal color form a world, ordered by key, then by rank. The first of them allocates its group, and all get
 * the address by a second allgather. */
enum rc threads_split(struct world *w, int color, int key, struct world **out)
{
    const struct claim mine = { color, key, w->rank };
    struct claim *all = calloc((size_t)w->n_ranks, sizeof *all);
    struct thread_group **groups = calloc((size_t)w->n_ranks, sizeof *groups);
    struct thread_group *led = NULL; /* the group this rank allocates, if it is the leader */
    struct thread_world *part;
    int rank, n_ranks, leader = w->rank;
    enum rc rc;

    if (!all || !groups)
        FAIL(RC_NOMEM, "no memory to split %d ranks", w->n_ranks);
    TRY(threads_allgather(w, &mine, all, sizeof mine));
    rank = place_of(all, w->n_ranks, mine, &n_ranks);
    for (int r = 0; r < w->n_ranks; r++)
        if (all[r].color == color && goes_before(all[r], all[leader]))
            leader = r;
    if (color >= 0 && leader == w->rank)
        led = part_of(w, all, color, n_ranks);
    TRY(threads_allgather(w, &led, groups, sizeof led));
    if (color < 0)
        goto out;
    if (!groups[leader])
        FAIL(RC_NOMEM, "no memory for a group of %d ranks", n_ranks);
    part = part_world(w, groups[leader], rank);
    if (!part)
        FAIL(RC_NOMEM, "no memory for a part of %d ranks", n_ranks);
    *out = &part->base;
out:
    free(groups);
    free(all);
    return rc;
}

/* --- survivors --- */

/* The group of the ranks on the roll that are not lost. NULL: no memory. */
static struct thread_group *survivors_of(struct world *w, const struct thread_roll *roll)
{
    struct thread_group *g = part_alloc(thread_world_of(w)->run, w->n_ranks);
    int n_ranks = 0;

    for (int r = 0; g && r < w->n_ranks; r++)
        if (roll->present[r] && !world_is_lost(w, r))
            g->number[n_ranks++] = world_number(w, r);
    if (g) {
        g->n_ranks = n_ranks;
        atomic_store(&g->n_users, n_ranks);
    }
    return g;
}

/* End the call where all ranks are present or lost; false: some are still to come. Under the roll's lock. */
static bool close_roll(struct world *w, struct thread_roll *roll)
{
    struct thread_group *g = thread_world_of(w)->group;

    for (int r = 0; r < w->n_ranks; r++)
        if (!roll->present[r] && !world_is_lost(w, r))
            return false;
    roll->made = survivors_of(w, roll);
    memset(roll->present, 0, (size_t)w->n_ranks * sizeof roll->present[0]);
    roll->n_calls++;
    doorbell_ring(&g->bell);
    return true;
}

/* Wait until the call is over that this rank is on the roll of; *out is then its result. */
static enum rc await_roll(struct world *w, uint64_t n_before, struct thread_group **out)
{
    struct thread_group *g = thread_world_of(w)->group;
    struct thread_roll *roll = g->roll;
    bool is_over = false;
    enum rc rc;

    for (;;) {
        const uint32_t seen = doorbell_seen(&g->bell);
        rc = world_check(w);
        pthread_mutex_lock(&roll->lock);
        is_over = roll->n_calls != n_before;
        if (rc != RC_OK && !is_over)
            roll->present[w->rank] = false;
        else if (rc == RC_OK)
            is_over = is_over || close_roll(w, roll);
        *out = roll->made;
        pthread_mutex_unlock(&roll->lock);
        if (rc != RC_OK || is_over)
            return rc;
        doorbell_wait(&g->bell, seen, world_may_spin(w), WAIT_SLICE_NS);
    }
}

enum rc threads_survivors(struct world *w, struct world **out)
{
    struct thread_roll *roll = thread_world_of(w)->group->roll;
    struct thread_group *made = NULL;
    struct thread_world *part;
    int rank = 0;
    enum rc rc;

    pthread_mutex_lock(&roll->lock);
    const uint64_t n_before = roll->n_calls;
    roll->present[w->rank] = true;
    pthread_mutex_unlock(&roll->lock);
    TRY(await_roll(w, n_before, &made));
    TRY(world_check(w)); /* not lost, so one of them: they close it, and nobody before this rank has */
    if (!made)
        FAIL(RC_NOMEM, "no memory for a group of survivors");
    while (made->number[rank] != thread_world_of(w)->run_rank)
        rank++;
    part = part_world(w, made, rank);
    if (!part)
        FAIL(RC_NOMEM, "no memory for a world of %d survivors", made->n_ranks);
    *out = &part->base;
out:
    return rc;
}
