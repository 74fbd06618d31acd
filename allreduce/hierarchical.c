/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hierarchical.c - allreduce in the memory of each host, and by a ring, or halving and doubling, between hosts.
 *
 *     all ranks of a host    each adds a slice of all their vectors, and writes it to the first one (host_parts.h)
 *     first rank of each     allreduce of these sums (between_hosts.h)
 *     all ranks of a host    copy the result from the first one
 *
 * So a vector crosses a host's link as often as if the host had one rank: (h - 1) / h of it each way, twice, for h
 * hosts. On one host it is "shm".
 *
 * Additions: on each host in the order of its ranks; then by the ring chunk i of h in the order of hosts i, i + 1, ...
 * Every rank gets the same bits (A1), which depend on who shares a host.
 *
 * Compare two-level allreduce: Jia et al., Highly scalable deep learning training system with mixed-precision,
 * arXiv:1807.11205, 2018.
 */
#include <stdlib.h>

#include "allreduce/between_hosts.h"
#include "allreduce/host_parts.h"
#include "allreduce/ring.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_hierarchical;

/* SLOT_ELEMS: 1 MiB; of such a piece messages between hosts are large enough to fill a link. N_MEETINGS: of a host in a
 * call, before and behind its sum and before and behind copying that of all hosts. */
enum { SLOT_ELEMS = 1 << 18, N_MEETINGS = 4 };

struct hierarchical {
    struct collective base;
    struct host_parts host;
    struct between_hosts between;
};

static void hierarchical_close(struct collective **c)
{
    struct hierarchical *h = (struct hierarchical *)*c;

    between_hosts_close(&h->between);
    host_parts_close(&h->host);
    free(h);
    *c = NULL;
}

static struct memory_need hierarchical_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    /* two hosts are the fewest between which something is received */
    return (struct memory_need){ .worker_bytes = between_hosts_scratch_elems(facts->n_params, 2) * sizeof(float) };
}

static bool is_first(const struct hierarchical *h)
{
    return h->host.group->rank == 0;
}

static enum rc hierarchical_open(struct collective **out, const struct collective_env *env)
{
    struct hierarchical *h = calloc(1, sizeof *h);
    struct collective *base = &h->base;
    enum rc rc;

    if (!h)
        return rc_raise(RC_NOMEM, "collective hierarchical: no memory");
    TRY(host_parts_open(&h->host, env, SLOT_ELEMS));
    TRY(between_hosts_open(&h->between, env, h->host.group, h->host.host, h->host.n_hosts));
    *out = base;
    base = NULL;
out:
    if (base)
        hierarchical_close(&base);
    return rc;
}

/* Of the first rank of each host. */
static enum rc sum_of_hosts(struct hierarchical *h, const struct host_piece *piece)
{
    const size_t offset_elems = piece->range.offset_elems;
    float *data = host_parts_at(&h->host, piece, 0, offset_elems);
    const float *input = host_parts_brought_at(&h->host, piece, 0, offset_elems);
    const bool has_input = h->host.group->n_ranks == 1 && input != data; /* else the sum of the host is in data */

    return between_hosts_sum(&h->between, &h->base, data, has_input ? input : NULL, piece->range.n_elems);
}

static enum rc sum_of_host(struct hierarchical *h, const struct host_piece *piece)
{
    const struct world *group = h->host.group;
    const enum host_sum to = h->host.n_hosts > 1 ? HOST_SUM_TO_FIRST : HOST_SUM_TO_ALL;
    enum rc rc;

    TRY(host_parts_meet(&h->host));
    TRY(host_parts_sum(&h->host, &h->base.env, piece, host_parts_slice(piece->range, group->n_ranks, group->rank), to,
                       NULL));
    TRY(host_parts_meet(&h->host));
out:
    return rc;
}

static enum rc run_piece(struct hierarchical *h, const struct host_piece *piece, const float *input, float *data)
{
    const bool is_alone = h->host.group->n_ranks == 1, has_hosts = h->host.n_hosts > 1;
    enum rc rc = RC_OK;

    host_parts_put(&h->host, piece, input ? input : data, piece->range);
    if (!is_alone)
        TRY(sum_of_host(h, piece));
    if (has_hosts && is_first(h))
        TRY(sum_of_hosts(h, piece));
    if (has_hosts && !is_alone)
        TRY(host_parts_meet(&h->host));
    if (has_hosts && !is_first(h))
        TRY(host_parts_copy(&h->host, &h->base.env, piece, piece->range, 0, data));
    else
        host_parts_get(&h->host, piece, data, piece->range);
    if (has_hosts && !is_alone)
        TRY(host_parts_meet(&h->host));
out:
    return rc;
}

static enum rc hierarchical_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct hierarchical *h = (struct hierarchical *)c;
    enum rc rc = RC_OK;

    for (size_t done = 0; done < call->n_elems;) {
        const struct host_piece piece = host_parts_piece(&h->host, &c->env, call, data, done);
        TRY(run_piece(h, &piece, call->input, data));
        done += piece.range.n_elems;
    }
out:
    return rc;
}

/* --- costs --- */

/* Of the rank of m that adds a slice: in the memory of one host. */
static struct collective_cost slice_cost(size_t n_elems, struct host_place at, int index)
{
    const size_t n_slice = host_parts_slice((struct range){ 0, n_elems }, at.n_on_host, index).n_elems;
    const int n_results = at.n_hosts > 1 ? 1 : at.n_on_host;

    if (at.n_on_host == 1)
        return (struct collective_cost){ 0 };
    return (struct collective_cost){ .adds = (uint64_t)(at.n_on_host - 1) * n_slice,
                                     .memory_bytes = (uint64_t)(at.n_on_host + n_results) * n_slice * sizeof(float) };
}

static struct collective_cost hierarchical_predict(const void *opts, const struct collective_call *call, int rank,
                                                   const struct collective_group *group)
{
    const struct host_place at = host_place_of(group, rank);
    const struct collective_cost slice = slice_cost(call->n_elems, at, at.index);

    (void)opts;
    if (at.n_hosts == 1)
        return slice;
    return collective_cost_sum(slice, at.index > 0 ? host_parts_copy_cost(call->n_elems)
                                                   : between_hosts_cost(call, at.n_hosts, at.host));
}

/* The host that has most to add comes last to the ring. */
static struct collective_cost hierarchical_critical_path(const void *opts, const struct collective_call *call,
                                                         const struct collective_group *group)
{
    struct collective_cost slice = { 0 }, copy = { 0 };
    int n_hosts = 1;

    (void)opts;
    for (int r = 0; r < group->n_ranks; r++) {
        const struct host_place at = host_place_of(group, r);
        const struct collective_cost own = slice_cost(call->n_elems, at, at.index);
        slice.memory_bytes = own.memory_bytes > slice.memory_bytes ? own.memory_bytes : slice.memory_bytes;
        slice.adds = own.adds > slice.adds ? own.adds : slice.adds; /* of a host of more ranks, whose slices are less */
        n_hosts = at.n_hosts;
        if (n_hosts > 1 && at.index > 0)
            copy = host_parts_copy_cost(call->n_elems);
    }
    if (call->n_elems > 0 && slice.adds > 0)
        slice.meetings = n_hosts > 1 ? N_MEETINGS : 2;
    if (n_hosts == 1)
        return slice;
    const struct collective_cost ring = ring_allreduce_path(call->n_elems, n_hosts, 1, call->wire, group->is_least);
    return collective_cost_sum(collective_cost_sum(slice, ring), copy);
}

const struct collective_ops collective_hierarchical = {
    .module.name = "hierarchical",
    .module.caps = COLL_ALLREDUCE | COLL_SHARED | COLL_NARROW,
    .module.memory = hierarchical_memory,
    .open = hierarchical_open,
    .run = hierarchical_run,
    .predict = hierarchical_predict,
    .critical_path = hierarchical_critical_path,
    .close = hierarchical_close,
};
