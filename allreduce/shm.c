/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm.c - collectives of the ranks of one host, straight out of one another's memory (host_parts.h).
 *
 *     type             all meet, then rank r                                          and all meet again
 *     allreduce        adds slice r of all ranks, writes the sum to all of them
 *     reduce-scatter   adds chunk r of all ranks, writes the sum to its own
 *     allgather        reads chunk k of each rank k
 *     broadcast        reads all from the root
 *
 * One pass: each element of each rank is read once and each result is written once, by one rank. A rank's lines are in
 * the cache of who has just read them when the sum is written, so nothing is fetched twice. Slices begin on cache
 * lines. Sums are added in the order of ranks 0, 1, ...: the bits of "root", on every rank (A1).
 *
 * Out of place (A13) the sum is written past the caches, which do not have the lines of the results.
 *
 * Data that is in no share goes through slots, piece by piece, and is copied there and back; those copies are not in
 * the costs, which are those of data in shares.
 *
 * In a short allreduce each rank adds all elements of all ranks by itself, after one meeting (host_parts.h): p times as
 * many additions in all.
 *
 * No message is sent. Other calls have two meetings (a piece), each a store to and a read from every other rank.
 */
#include <stdlib.h>

#include "allreduce/host_parts.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_shm;

enum { SLOT_ELEMS = 1 << 15 }; /* 128 KiB, which stay in the second-level cache from who writes to who reads them */

struct shm {
    struct collective base;
    struct host_parts host;
};

static void shm_close(struct collective **c)
{
    struct shm *shm = (struct shm *)*c;

    host_parts_close(&shm->host);
    free(shm);
    *c = NULL;
}

static enum rc shm_open(struct collective **out, const struct collective_env *env)
{
    struct shm *shm = calloc(1, sizeof *shm);
    struct collective *base = &shm->base;
    enum rc rc;

    if (!shm)
        return rc_raise(RC_NOMEM, "collective shm: no memory");
    TRY(host_parts_open(&shm->host, env, SLOT_ELEMS));
    if (shm->host.n_hosts > 1)
        FAIL(RC_UNSUPPORTED,
             "reducer shm: the ranks are on %d hosts, which have no memory in common; reducer hierarchical sums in the "
             "memory of each host, and between hosts by messages",
             shm->host.n_hosts);
    *out = base;
    base = NULL;
out:
    if (base)
        shm_close(&base);
    return rc;
}

static struct range chunk_of(const struct collective_call *call, int rank, int n_ranks)
{
    return range_part(call->n_elems, n_ranks, rank);
}

/* What others need of this rank, into its slot where there is one. */
static void bring(struct shm *shm, const struct collective_call *call, const struct host_piece *piece,
                  const float *data)
{
    const struct world *group = shm->host.group;
    struct range range = piece->range;

    if (call->type == COLL_ALLGATHER)
        range = host_parts_common(range, chunk_of(call, group->rank, group->n_ranks));
    if (call->type != COLL_BROADCAST || call->root == group->rank)
        host_parts_put(&shm->host, piece, call->input ? call->input : data, range);
}

static enum rc gather(struct shm *shm, const struct collective_call *call, const struct host_piece *piece, float *data)
{
    const struct world *group = shm->host.group;
    enum rc rc = RC_OK;

    for (int i = 1; i < group->n_ranks; i++) {
        const int r = (group->rank + i) % group->n_ranks;
        const struct range range = host_parts_common(piece->range, chunk_of(call, r, group->n_ranks));
        TRY(host_parts_copy(&shm->host, &shm->base.env, piece, range, r, data));
    }
out:
    return rc;
}

static enum rc work(struct shm *shm, const struct collective_call *call, const struct host_piece *piece, float *data)
{
    struct host_parts *host = &shm->host;
    const struct collective_env *env = &shm->base.env;
    const int p = host->group->n_ranks, rank = host->group->rank;

    switch (call->type) {
    case COLL_ALLREDUCE:
        return host_parts_sum(host, env, piece, host_parts_slice(piece->range, p, rank), HOST_SUM_TO_ALL, NULL);
    case COLL_REDUCE_SCATTER:
        return host_parts_sum(host, env, piece, host_parts_common(piece->range, chunk_of(call, rank, p)),
                              HOST_SUM_TO_OWN, data);
    case COLL_ALLGATHER:
        return gather(shm, call, piece, data);
    case COLL_BROADCAST:
        return rank == call->root ? RC_OK : host_parts_copy(host, env, piece, piece->range, call->root, data);
    case COLL_TYPES_END:
        break;
    }
    return RC_OK;
}

static bool is_short(const struct collective_call *call, int n_ranks)
{
    return call->type == COLL_ALLREDUCE && host_parts_is_short(call->n_elems, n_ranks);
}

static enum rc shm_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct shm *shm = (struct shm *)c;
    enum rc rc = RC_OK;

    if (shm->host.group->n_ranks == 1)
        return RC_OK;
    if (is_short(call, shm->host.group->n_ranks))
        return host_parts_sum_short(&shm->host, &c->env, data, call->input ? call->input : data, call->n_elems);
    for (size_t done = 0; done < call->n_elems;) {
        const struct host_piece piece = host_parts_piece(&shm->host, &c->env, call, data, done);
        bring(shm, call, &piece, data);
        TRY(host_parts_meet(&shm->host));
        TRY(work(shm, call, &piece, data));
        TRY(host_parts_meet(&shm->host));
        if (call->type == COLL_ALLREDUCE)
            host_parts_get(&shm->host, &piece, data, piece.range);
        done += piece.range.n_elems;
    }
out:
    return rc;
}

/* Of what rank r adds: each element of each rank is read, and n_results are written. */
static struct collective_cost sum_cost(size_t n_elems, int n_ranks, int n_results)
{
    return (struct collective_cost){ .adds = (uint64_t)(n_ranks - 1) * n_elems,
                                     .memory_bytes = (uint64_t)(n_ranks + n_results) * n_elems * sizeof(float) };
}

static struct collective_cost shm_predict(const void *opts, const struct collective_call *call, int rank,
                                          const struct collective_group *group)
{
    const int p = group->n_ranks;
    const size_t n_elems = call->n_elems, n_chunk = chunk_of(call, rank, p).n_elems;

    (void)opts;
    if (p == 1)
        return (struct collective_cost){ 0 };
    if (is_short(call, p))
        return sum_cost(n_elems, p, 1);
    switch (call->type) {
    case COLL_ALLREDUCE:
        return sum_cost(host_parts_slice((struct range){ 0, n_elems }, p, rank).n_elems, p, p);
    case COLL_REDUCE_SCATTER:
        return sum_cost(n_chunk, p, 1);
    case COLL_ALLGATHER:
        return host_parts_copy_cost(n_elems - n_chunk);
    case COLL_BROADCAST:
        return host_parts_copy_cost(rank == call->root ? 0 : n_elems);
    case COLL_TYPES_END:
        break;
    }
    return (struct collective_cost){ 0 };
}

/* All ranks work at once: the one that has most. They meet before and, unless the call is short, behind. */
static struct collective_cost shm_critical_path(const void *opts, const struct collective_call *call,
                                                const struct collective_group *group)
{
    struct collective_cost most = { 0 };

    for (int r = 0; r < group->n_ranks; r++) {
        const struct collective_cost cost = shm_predict(opts, call, r, group);
        if (cost.memory_bytes > most.memory_bytes)
            most = cost;
    }
    most.meetings = group->n_ranks == 1 || call->n_elems == 0 ? 0 : is_short(call, group->n_ranks) ? 1 : 2;
    return most;
}

const struct collective_ops collective_shm = {
    .module.name = "shm",
    .module.caps = COLL_ALLREDUCE | COLL_REDUCE_SCATTER | COLL_ALLGATHER | COLL_BROADCAST | COLL_SHARED | COLL_ONE_HOST,
    .open = shm_open,
    .run = shm_run,
    .predict = shm_predict,
    .critical_path = shm_critical_path,
    .close = shm_close,
};
