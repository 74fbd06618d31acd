/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - the operations of share.h for callers, and what all worlds do alike. */
#include "harness/world/share.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/host_memory.h"
#include "harness/world/share_block.h"
#include "harness/world/share_inner.h"
#include "harness/world/wait.h"

struct request { /* of one rank */
    size_t n_bytes, n_available_bytes;
};

enum rc world_host_group(struct world *w, struct world **out, int *host, int *n_hosts)
{
    if (out)
        *out = NULL;
    return w->ops->shares->host_group(w, out, host, n_hosts);
}

/* Every rank looks before any takes some, so that all see the same; equal arguments, so equal results. */
static enum rc check_requests(const struct request *of, int n_ranks, size_t n_bytes)
{
    /* Of a block, at least; and what comes with it is little. */
    const size_t n_all_bytes = n_bytes > SIZE_MAX / (size_t)n_ranks ? SIZE_MAX : n_bytes * (size_t)n_ranks;

    for (int r = 0; r < n_ranks; r++)
        if (of[r].n_bytes != of[0].n_bytes)
            return rc_raise(RC_MISMATCH, "a share of %zu bytes on rank 0 of this host, but of %zu on rank %d",
                            of[0].n_bytes, of[r].n_bytes, r);
    for (int r = 0; r < n_ranks; r++)
        if (n_all_bytes > of[r].n_available_bytes)
            return rc_raise(RC_NOMEM,
                            "a share of %zu bytes for each of %d ranks of this host: rank %d has %zu bytes available",
                            n_bytes, n_ranks, r, of[r].n_available_bytes);
    return RC_OK;
}

enum rc world_share_open(struct world *group, size_t n_bytes, struct share **out)
{
    const struct request own = { n_bytes, host_memory_available("") };
    struct request *all = NULL;
    enum rc rc;

    *out = NULL;
    if (group->n_host_ranks < group->n_ranks)
        FAIL(RC_INVAL, "a share of %d ranks, of which %d are on this host", group->n_ranks, group->n_host_ranks);
    all = calloc((size_t)group->n_ranks, sizeof *all);
    if (!all)
        FAIL(RC_NOMEM, "no memory to open a share of %d ranks", group->n_ranks);
    TRY(world_allgather(group, &own, all, sizeof own));
    TRY(check_requests(all, group->n_ranks, n_bytes));
    TRY(group->ops->shares->open(out, group, n_bytes));
out:
    free(all);
    return rc;
}

void world_share_close(struct share **sp)
{
    struct share *s = *sp;

    *sp = NULL;
    if (s)
        s->group->ops->shares->close(s);
}

void share_ring(struct share *s, int peer)
{
    assert(peer >= 0 && peer < s->group->n_ranks);
    s->group->ops->shares->ring(s, peer);
}

uint32_t share_seen(const struct share *s)
{
    return doorbell_seen(s->bell[s->group->rank]);
}

enum rc share_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    return s->group->ops->shares->wait(s, seen, limit_ns);
}

enum rc share_wait_counts(struct share *s, const _Atomic uint32_t *count, int n, uint32_t wanted, uint64_t limit_ns)
{
    enum rc rc = RC_OK;

    if (world_may_spin(s->group) && wait_spin_counts(count, n, wanted))
        return RC_OK;
    for (;;) {
        const uint32_t seen = share_seen(s);
        if (wait_counts_reached(count, n, wanted))
            break;
        TRY(share_wait(s, seen, limit_ns));
    }
out:
    return rc;
}

const char *share_kind_text(enum share_kind kind)
{
    static const char *const text[] = { "address space", "memfd", "file" };

    return text[kind];
}

enum rc share_agree(struct world *group, enum rc own)
{
    char message[RC_MESSAGE_BYTES] = "", (*messages)[RC_MESSAGE_BYTES] = NULL;
    const int code = own;
    int *codes = NULL, first = 0;
    enum rc rc;

    memcpy(message, rc_message(), strlen(rc_message()) + 1); /* before the collectives overwrite it */
    codes = calloc((size_t)group->n_ranks, sizeof *codes);
    if (!codes)
        FAIL(RC_NOMEM, "no memory for the results of %d ranks", group->n_ranks);
    TRY(world_allgather(group, &code, codes, sizeof code));
    while (first < group->n_ranks && codes[first] == RC_OK)
        first++;
    if (first == group->n_ranks)
        goto out;
    messages = calloc((size_t)group->n_ranks, sizeof *messages);
    if (!messages)
        FAIL(RC_NOMEM, "no memory for the messages of %d ranks", group->n_ranks);
    TRY(world_allgather(group, message, messages, sizeof message));
    messages[first][RC_MESSAGE_BYTES - 1] = '\0';
    rc = rc_raise((enum rc)codes[first], "rank %d of this host: %.450s", first, messages[first]);
out:
    free(messages);
    free(codes);
    return rc;
}

enum rc share_check_losses(const struct share *s)
{
    return world_check_losses(s->together ? s->together : s->group);
}

void share_bell_ring(struct share *s, int peer)
{
    doorbell_ring(s->bell[peer]);
}

enum rc share_bell_wait(struct share *s, uint32_t seen, uint64_t limit_ns)
{
    const uint64_t started_ns = wait_clock_ns();
    enum rc rc = RC_OK;

    while (share_seen(s) == seen) {
        TRY(world_check(s->group));
        TRY(share_check_losses(s));
        const uint64_t waited_ns = wait_clock_ns() - started_ns;
        if (waited_ns >= limit_ns)
            FAIL(RC_TIMEOUT, "share: not rung within %.3g s", 1e-9 * (double)limit_ns);
        const uint64_t left_ns = limit_ns - waited_ns;
        (void)doorbell_wait(s->bell[s->group->rank], seen, world_may_spin(s->group),
                            left_ns < WAIT_SLICE_NS ? left_ns : WAIT_SLICE_NS);
    }
out:
    return rc;
}
