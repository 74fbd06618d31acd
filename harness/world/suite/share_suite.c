/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_suite.c - the cases; the contract is in share_suite.h.
 *
 * A case calls the same collective operations on every rank, whatever failed before: no rank waits for another that has
 * left the case.
 */
#include "harness/world/suite/share_suite.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/world/share.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/task.h"

enum { N_ROUNDS = 200, LARGE_BYTES = (3 << 20) + 5, HUGE_BYTES = 2 << 20 };

#define SHORT_NS UINT64_C(5000000) /* of a wait that ends by its limit */

struct rig {
    struct suite s;
    struct world *group;
    uint64_t limit_ns;
};

static unsigned char *bytes(const struct share *share, int r)
{
    return share->peer[r];
}

static unsigned char pattern(int rank, size_t i)
{
    return (unsigned char)(1 + ((size_t)rank * 37 + i * 11 + (i >> 8)) % 251);
}

/* --- world.H1
 * ---------------------------------------------------------------------------------------------------------- */

struct place {
    int host, n_hosts, host_rank, group_rank;
};

static void check_places(struct rig *g, const struct place *own, const struct place *all)
{
    struct suite *s = &g->s;
    int n_on_host = 0, n_before = 0, n_leaders = 0, n_known = 0;

    for (int r = 0; r < s->w->n_ranks; r++) {
        n_on_host += all[r].host == own->host;
        n_before += r < s->w->rank && all[r].host == own->host;
        n_leaders += all[r].host_rank == 0;
        EXPECT(s, all[r].host >= 0 && all[r].host <= n_known); /* numbered as they come */
        n_known += all[r].host == n_known;
        EXPECT(s, (all[r].group_rank == 0) == (all[r].host_rank == 0));
    }
    EXPECT(s, own->n_hosts == n_leaders && own->n_hosts == n_known);
    EXPECT(s, n_on_host == s->w->n_host_ranks && n_before == s->w->host_rank);
}

static void case_host_groups(struct rig *g)
{
    struct suite *s = &g->s;
    struct world *w = s->w, *group = NULL;
    struct place own = { -1, -1, w->host_rank, -1 }, *all = calloc((size_t)w->n_ranks, sizeof *all);
    int *whole_rank = calloc((size_t)w->n_ranks, sizeof *whole_rank);

    EXPECT_OK(s, world_host_group(w, &group, &own.host, &own.n_hosts));
    if (EXPECT(s, all && whole_rank && group)) {
        own.group_rank = group->rank;
        EXPECT(s, group->n_ranks == w->n_host_ranks && group->rank == w->host_rank);
        EXPECT(s, group->host_rank == group->rank && group->n_host_ranks == group->n_ranks);
        EXPECT_OK(s, world_allgather(group, &w->rank, whole_rank, sizeof *whole_rank));
        for (int r = 1; r < group->n_ranks; r++)
            EXPECT(s, whole_rank[r] > whole_rank[r - 1]);
        EXPECT_OK(s, world_allgather(w, &own, all, sizeof own));
        check_places(g, &own, all);
    }
    world_split_close(&group);
    free(whole_rank);
    free(all);
}

/* --- world.H3, H4
 * ------------------------------------------------------------------------------------------------------ */

static size_t count_wrong(const struct share *share, int r, bool filled)
{
    size_t n_wrong = 0;

    for (size_t i = 0; i < share->n_bytes; i++)
        n_wrong += bytes(share, r)[i] != (filled ? pattern(r, i) : 0);
    return n_wrong;
}

/* Zeros, then what each owner writes, then what another rank writes. */
static void use_blocks(struct rig *g, const struct share *share, size_t n_bytes)
{
    struct suite *s = &g->s;
    const int n = g->group->n_ranks, rank = g->group->rank, next = (rank + 1) % n;
    bool ok = EXPECT(s, share != NULL);

    ok = ok && EXPECT(s, share->n_bytes == n_bytes && share->mine && share->mine == share->peer[rank]);
    for (int r = 0; ok && r < n; r++) {
        ok = EXPECT(s, (uintptr_t)bytes(share, r) % (n_bytes >= HUGE_BYTES ? HUGE_BYTES : SHARE_ALIGN_BYTES) == 0);
        ok = ok && EXPECT(s, count_wrong(share, r, false) == 0);
    }
    EXPECT_OK(s, world_barrier(g->group));
    for (size_t i = 0; ok && i < n_bytes; i++)
        ((unsigned char *)share->mine)[i] = pattern(rank, i);
    EXPECT_OK(s, world_barrier(g->group));
    for (int r = 0; ok && r < n; r++)
        ok = EXPECT(s, count_wrong(share, r, true) == 0);
    EXPECT_OK(s, world_barrier(g->group));
    if (ok && n_bytes > 0)
        bytes(share, next)[n_bytes - 1] = (unsigned char)(rank + 1);
    EXPECT_OK(s, world_barrier(g->group));
    for (int r = 0; ok && n_bytes > 0 && r < n; r++)
        EXPECT(s, bytes(share, r)[n_bytes - 1] == (unsigned char)((r + n - 1) % n + 1));
    EXPECT_OK(s, world_barrier(g->group));
}

static void case_blocks(struct rig *g)
{
    static const size_t n_bytes[] = { 0, 1, 64, 5000, LARGE_BYTES };

    for (size_t i = 0; i < sizeof n_bytes / sizeof *n_bytes; i++) {
        struct share *share = NULL;
        EXPECT_OK(&g->s, world_share_open(g->group, n_bytes[i], &share));
        use_blocks(g, share, n_bytes[i]);
        world_share_close(&share);
        world_share_close(&share); /* twice is once */
    }
}

/* Pages of the block that this process needs not fault in: an entry of pagemap has bit 63. Where a process may not read
 * that of itself: pages that have memory. */
static size_t count_present(unsigned char *block, size_t n_bytes, size_t *n_pages)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)block / page_bytes;
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t n_present = 0;

    *n_pages = ((uintptr_t)block + n_bytes - 1) / page_bytes - first + 1;
    for (size_t i = 0; i < *n_pages; i++) {
        unsigned char *page = block - (uintptr_t)block % page_bytes + i * page_bytes, resident = 0;
        uint64_t entry = 0;
        if (file < 0)
            n_present += mincore(page, page_bytes, &resident) == 0 && (resident & 1);
        else if (pread(file, &entry, sizeof entry, (off_t)((first + i) * sizeof entry)) == (ssize_t)sizeof entry)
            n_present += entry >> 63;
    }
    if (file >= 0)
        (void)close(file);
    return n_present;
}

static void case_touched(struct rig *g)
{
    static const size_t n_bytes[] = { 100000, LARGE_BYTES };

    for (size_t i = 0; i < sizeof n_bytes / sizeof *n_bytes; i++) {
        struct share *share = NULL;
        size_t n_pages;
        EXPECT_OK(&g->s, world_share_open(g->group, n_bytes[i], &share));
        EXPECT_OK(&g->s, world_barrier(g->group));
        for (int r = 0; share && r < g->group->n_ranks; r++)
            EXPECT(&g->s, count_present(bytes(share, r), n_bytes[i], &n_pages) == n_pages);
        EXPECT_OK(&g->s, world_barrier(g->group));
        world_share_close(&share);
    }
}

/* --- world.H5, H6
 * ------------------------------------------------------------------------------------------------------ */

/* A wait that nobody ends: its limit does. */
static void wait_for_limit(struct rig *g, struct share *share, uint64_t limit_ns)
{
    struct suite *s = &g->s;
    const uint64_t began_ns = world_now_ns(s->w);

    EXPECT(s, share_wait(share, share_seen(share), limit_ns) == RC_TIMEOUT);
    EXPECT(s, strstr(rc_message(), limit_ns ? "not rung within 0.005 s" : "not rung within 0 s") != NULL);
    const uint64_t waited_ns = world_now_ns(s->w) - began_ns;
    EXPECT(s, waited_ns >= limit_ns);
    EXPECT(s, waited_ns == limit_ns || !(s->w->ops->module.caps & WORLD_VIRTUAL_TIME));
}

static void case_rings(struct rig *g)
{
    struct suite *s = &g->s;
    const int n = g->group->n_ranks, rank = g->group->rank;
    struct share *share = NULL;
    uint32_t seen = 0;

    if (!EXPECT_OK(s, world_share_open(g->group, 0, &share)))
        return;
    wait_for_limit(g, share, SHORT_NS);
    wait_for_limit(g, share, 0);
    /* A ring before the wait is not lost, however often it is asked for. */
    seen = share_seen(share);
    share_ring(share, rank);
    EXPECT_OK(s, share_wait(share, seen, g->limit_ns));
    EXPECT_OK(s, share_wait(share, seen, 0));
    EXPECT(s, share_seen(share) == seen + 1);
    wait_for_limit(g, share, SHORT_NS);
    /* The rank that is rung wakes, and no other. */
    for (int r = 0; r < n; r++) {
        seen = share_seen(share);
        EXPECT_OK(s, world_barrier(g->group));
        if (rank == r)
            share_ring(share, (r + 1) % n);
        if (rank == (r + 1) % n)
            EXPECT_OK(s, share_wait(share, seen, g->limit_ns));
        EXPECT_OK(s, world_barrier(g->group));
        EXPECT(s, share_seen(share) == seen + (rank == (r + 1) % n));
    }
    world_share_close(&share);
}

/* A number goes around; plain memory, which the rings order. */
static void case_round_trips(struct rig *g)
{
    struct suite *s = &g->s;
    const int n = g->group->n_ranks, rank = g->group->rank, next = (rank + 1) % n;
    struct share *share = NULL;

    if (!EXPECT_OK(s, world_share_open(g->group, sizeof(int), &share)))
        return;
    const uint32_t start = share_seen(share);
    EXPECT_OK(s, world_barrier(g->group));
    for (int i = 0; s->n_failures == 0 && i < N_ROUNDS; i++) {
        if (i > 0 || rank > 0) {
            const uint32_t seen = start + (uint32_t)i - (rank == 0);
            while (s->n_failures == 0 && share_seen(share) == seen)
                EXPECT_OK(s, share_wait(share, seen, g->limit_ns));
            if (s->n_failures > 0) /* nothing orders what others write now */
                break;
            EXPECT(s, *(int *)share->mine == i * n + rank);
        }
        *(int *)share->peer[next] = i * n + rank + 1;
        share_ring(share, next);
    }
    EXPECT_OK(s, world_barrier(g->group));
    world_share_close(&share);
}

static enum rc wait_long(struct world *w, void *arg)
{
    struct share *share = arg;

    (void)w;
    return share_wait(share, share_seen(share), UINT64_MAX);
}

static void case_stopped_tasks(struct rig *g)
{
    struct suite *s = &g->s;
    struct share *share = NULL;
    struct task *waiter = NULL;

    if (!EXPECT_OK(s, world_share_open(g->group, 0, &share)))
        return;
    EXPECT_OK(s, world_spawn(&waiter, s->w, &(struct task_opts){ .name = "waiter", .fn = wait_long, .arg = share }));
    world_pause(s->w, SHORT_NS);
    world_stop_tasks(s->w, "the main task is tired");
    EXPECT(s, world_join(&waiter) == RC_PEER);
    EXPECT(s, strcmp(rc_message(), "the main task is tired") == 0);
    world_share_close(&share);
}

/* --- world.H7
 * ---------------------------------------------------------------------------------------------------------- */

static void case_two_shares(struct rig *g)
{
    struct suite *s = &g->s;
    struct share *a = NULL, *b = NULL;

    EXPECT_OK(s, world_share_open(g->group, 100, &a));
    EXPECT_OK(s, world_share_open(g->group, 100, &b));
    if (EXPECT(s, a && b)) {
        memset(a->mine, 1, 100);
        memset(b->mine, 2, 100);
    }
    EXPECT_OK(s, world_barrier(g->group));
    for (int r = 0; a && b && r < g->group->n_ranks; r++)
        EXPECT(s, bytes(a, r)[99] == 1 && bytes(b, r)[0] == 2);
    if (a && b) {
        share_ring(a, g->group->rank);
        wait_for_limit(g, b, SHORT_NS);
    }
    world_share_close(&a);
    EXPECT_OK(s, world_barrier(g->group));
    for (int r = 0; b && r < g->group->n_ranks; r++)
        EXPECT(s, bytes(b, r)[99] == 2);
    world_share_close(&b);
}

/* Rank 0 closes without the others, and they keep its block. */
static void case_closing(struct rig *g)
{
    struct suite *s = &g->s;
    struct share *a = NULL, *b = NULL;
    uint32_t seen;

    EXPECT_OK(s, world_share_open(g->group, LARGE_BYTES, &a));
    EXPECT_OK(s, world_share_open(g->group, 0, &b));
    if (!EXPECT(s, a && b))
        return;
    seen = share_seen(b);
    EXPECT_OK(s, world_barrier(g->group));
    if (g->group->rank == 0) {
        for (size_t i = 0; i < LARGE_BYTES; i++)
            ((unsigned char *)a->mine)[i] = pattern(0, i);
        world_share_close(&a);
        for (int r = 0; r < g->group->n_ranks; r++)
            share_ring(b, r);
    }
    if (EXPECT_OK(s, share_wait(b, seen, g->limit_ns)) && a)
        EXPECT(s, count_wrong(a, 0, true) == 0);
    world_share_close(&a);
    EXPECT_OK(s, world_barrier(g->group));
    world_share_close(&b);
}

/* --- world.H2
 * ---------------------------------------------------------------------------------------------------------- */

static void case_refusals(struct rig *g)
{
    static const size_t huge_bytes[] = { (size_t)1 << 50, SIZE_MAX / 2, SIZE_MAX };
    struct suite *s = &g->s;
    struct share *share = NULL;

    for (size_t i = 0; i < sizeof huge_bytes / sizeof *huge_bytes; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "a share of %zu bytes for each of %d ranks", huge_bytes[i],
                       g->group->n_ranks);
        EXPECT(s, world_share_open(g->group, huge_bytes[i], &share) == RC_NOMEM && !share);
        EXPECT(s, strstr(rc_message(), text) && strstr(rc_message(), " bytes available"));
    }
    if (g->group->n_ranks > 1) {
        const size_t n_bytes = g->group->rank == g->group->n_ranks - 1 ? 8 : 9;
        EXPECT(s, world_share_open(g->group, n_bytes, &share) == RC_MISMATCH && !share);
        EXPECT(s, strstr(rc_message(), "of 9 bytes on rank 0") && strstr(rc_message(), "of 8 on rank"));
    }
    if (s->w->n_host_ranks < s->w->n_ranks)
        EXPECT(s, world_share_open(s->w, 8, &share) == RC_INVAL && !share);
    EXPECT_OK(s, world_share_open(g->group, 8, &share));
    world_share_close(&share);
}

static const struct suite_case {
    const char *name;
    void (*run)(struct rig *g);
} cases[] = {
    { "host groups", case_host_groups }, { "blocks", case_blocks },
    { "touched", case_touched },         { "rings", case_rings },
    { "round trips", case_round_trips }, { "stopped tasks", case_stopped_tasks },
    { "two shares", case_two_shares },   { "closing", case_closing },
    { "refusals", case_refusals },
};

int share_suite(struct world *w, uint64_t limit_ns, const char **failed_case)
{
    struct rig g = { .s = { .w = w, .name = "opening a group" }, .limit_ns = limit_ns };
    int host, n_hosts;

    if (failed_case)
        *failed_case = NULL;
    EXPECT_OK(&g.s, world_host_group(w, &g.group, &host, &n_hosts));
    for (size_t i = 0; g.group && i < sizeof cases / sizeof *cases; i++) {
        g.s.name = cases[i].name;
        cases[i].run(&g);
        if (suite_failed_anywhere(&g.s)) {
            if (failed_case)
                *failed_case = g.s.name;
            break;
        }
    }
    world_split_close(&g.group);
    return g.s.n_failures;
}
