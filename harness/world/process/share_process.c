/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_process.c - shares of processes: each rank makes an object of the kernel, sends its address, and maps those of
 * the others. Calls no MPI but through the world's operations.
 *
 * A segment is what one object holds: the block, then on a cache line of its own the bell of its owner.
 */
#include "harness/world/process/share_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/world/host_load.h"
#include "harness/world/process/share_object.h"
#include "harness/world/share_block.h"
#include "harness/world/share_inner.h"
#include "harness/world/wait.h"

enum { LINE_BYTES = 128 };

struct process_share {
    struct share base;
    struct share_block *block; /* [n_ranks] */
    void **peer;
    struct doorbell **bell;
    char reason[RC_MESSAGE_BYTES];
};

struct way { /* to reach each other's memory */
    enum share_kind kind;
    bool named;
};

struct place { /* ranks for which all of it is equal can map each other's memory; no padding: compared as bytes */
    uint64_t process_namespace, ipc_namespace, launcher_host;
    char kernel[HOST_KERNEL_BYTES];
};

static struct place own_place(const struct world *w)
{
    struct place p = { host_namespace_id("pid"), host_namespace_id("ipc"), (uint64_t)w->host_first_rank, "" };

    host_kernel_id(p.kernel, "");
    return p;
}

static int first_at_place(const struct place *of, int r)
{
    int first = (int)of[r].launcher_host;

    while (memcmp(&of[first], &of[r], sizeof of[r]) != 0)
        first++;
    return first;
}

static enum rc host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    const struct place own = own_place(w);
    struct place *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the hosts of %d ranks", w->n_ranks);
    TRY(world_allgather(w, &own, all, sizeof own));
    const int first = first_at_place(all, w->rank);
    if (out)
        TRY(world_split(w, first, w->rank, out));
    *host = *n_hosts = 0;
    for (int r = 0; r < w->n_ranks; r++)
        if (first_at_place(all, r) == r) {
            *n_hosts += 1;
            *host += r < first;
        }
out:
    free(all);
    return rc;
}

static size_t bell_offset_bytes(size_t n_bytes)
{
    return share_round_up(n_bytes, LINE_BYTES);
}

static void set_rank(struct process_share *s, int r)
{
    char *memory = s->block[r].memory;

    s->peer[r] = memory;
    s->bell[r] = (struct doorbell *)(void *)(memory + bell_offset_bytes(s->base.n_bytes));
}

/* This rank's segment. */
static enum rc make_segment(struct process_share *s, struct share_object *object)
{
    const int rank = s->base.group->rank;
    const size_t n_bytes = bell_offset_bytes(s->base.n_bytes) + LINE_BYTES;
    enum rc rc;

    TRY(share_object_create(object, s->base.kind, n_bytes));
    TRY(share_block_map(&s->block[rank], object->fd, object->n_bytes));
    TRY(share_block_touch(&s->block[rank], object->fd));
    set_rank(s, rank);
    s->bell[rank]->between_processes = true;
out:
    return rc;
}

static enum rc map_segment(struct share_block *out, const struct share_address *a)
{
    int fd = -1;
    enum rc rc;

    TRY(share_object_open_peer(&fd, a));
    TRY(share_block_map(out, fd, a->n_bytes));
    TRY(share_block_touch(out, fd));
out:
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static enum rc map_peers(struct process_share *s, const struct share_address *of)
{
    enum rc rc = RC_OK;

    for (int r = 0; r < s->base.group->n_ranks; r++) {
        if (r == s->base.group->rank)
            continue;
        TRY(map_segment(&s->block[r], &of[r]));
        set_rank(s, r);
    }
out:
    return rc;
}

static void unmap_all(struct process_share *s)
{
    for (int r = 0; s->block && r < s->base.group->n_ranks; r++)
        share_block_unmap(&s->block[r]);
}

/* RC_UNSUPPORTED, on all ranks: another way may serve. */
static enum rc open_by(struct process_share *s, struct way way)
{
    struct world *group = s->base.group;
    struct share_address own = { .n_bytes = 0 }, *all = calloc((size_t)group->n_ranks, sizeof *all);
    struct share_object object = { .fd = -1 };
    enum rc rc;

    if (!all)
        FAIL(RC_NOMEM, "no memory for the addresses of %d ranks", group->n_ranks);
    s->base.kind = way.kind;
    TRY(share_agree(group, make_segment(s, &object)));
    TRY(share_agree(group, share_object_publish(&object, way.named, &own))); /* after what may take long: world.H8 */
    TRY(world_allgather(group, &own, all, sizeof own));
    TRY(share_agree(group, map_peers(s, all)));
out:
    share_object_close(&object);
    if (rc != RC_OK)
        unmap_all(s);
    free(all);
    return rc;
}

/* The first way that serves all ranks. reason: what the first one lacks. */
static enum rc open_by_any(struct process_share *s)
{
    static const struct way ways[] = { { SHARE_MEMFD, false }, { SHARE_FILE, false }, { SHARE_FILE, true } };
    enum rc rc = open_by(s, ways[0]);

    for (size_t i = 1; rc == RC_UNSUPPORTED && i < sizeof ways / sizeof *ways; i++) {
        if (i == 1)
            (void)snprintf(s->reason, sizeof s->reason, "%s", rc_message());
        s->base.reason = s->reason;
        rc = open_by(s, ways[i]);
    }
    if (rc == RC_UNSUPPORTED)
        rc = rc_raise(rc, "no memory can be shared: %.200s; %.200s", s->reason, rc_message());
    return rc;
}

static void close_share(struct share *base)
{
    struct process_share *s = (struct process_share *)base;

    unmap_all(s);
    free(s->block);
    free(s->peer);
    free(s->bell);
    free(s);
}

static enum rc open_share(struct share **out, struct world *group, size_t n_bytes)
{
    const size_t n = (size_t)group->n_ranks;
    struct process_share *s = calloc(1, sizeof *s);
    enum rc rc;

    if (!s)
        FAIL(RC_NOMEM, "no memory for a share of %zu ranks", n);
    s->base = (struct share){ .group = group, .n_bytes = n_bytes };
    s->block = calloc(n, sizeof *s->block);
    s->base.peer = s->peer = calloc(n, sizeof *s->peer);
    s->base.bell = s->bell = calloc(n, sizeof(struct doorbell *));
    if (!s->block || !s->peer || !s->bell)
        FAIL(RC_NOMEM, "no memory for a share of %zu ranks", n);
    TRY(open_by_any(s));
    s->base.mine = s->peer[group->rank];
    *out = &s->base;
    s = NULL;
out:
    if (s)
        close_share(&s->base);
    return rc;
}

const struct share_ops process_share_ops = {
    .host_group = host_group,
    .open = open_share,
    .ring = share_bell_ring,
    .wait = share_bell_wait,
    .close = close_share,
};
