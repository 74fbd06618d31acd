/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_hierarchical.c - allreduce by NCCL among the GPUs of each host, and by our own messages between hosts.
 *
 *     run      ncclReduce to the first rank of the host (nccl_group.h)
 *     join     first rank of each host: copies that sum to its host's memory, sums it over hosts (between_hosts.h), and
 *              copies the result back; all ranks of the host: ncclBroadcast from the first one
 *     wait     until that is there
 *
 * So a vector crosses a host's link as often as if the host had one rank, as in "hierarchical", and never the memory of
 * a host that is alone: there it is "nccl". Groups are joined in the order in which they ended, by end() of the next
 * one, and the last by wait(): while a device computes what is behind the next group, this rank is between hosts with
 * the one before. No other task can do that, as a compute and its side stream have one thread, and all ranks of a host
 * are to queue what NCCL does in one order.
 *
 * Additions: on each host in NCCL's order, then as in "hierarchical". Every rank gets the same bits (A1).
 */
#include <stdlib.h>
#include <string.h>

#include "allreduce/between_hosts.h"
#include "allreduce/nccl_group.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_nccl_hierarchical;

struct piece { /* of a group */
    float *data;
    size_t n_elems;
};

struct group_pieces {
    struct piece *piece; /* [n_allocated] */
    size_t n, n_allocated;
    bool is_joined; /* since its last end */
};

struct nccl_hierarchical {
    struct collective base;
    struct world *host; /* the ranks of this one */
    int host_index, n_hosts;
    struct nccl_group nccl;
    struct group_pieces *group; /* [n_groups + 1]: the last one is that which has begun */
    size_t *ended;              /* [n_groups + 1]: a ring of groups, those from n_joined to n_ended not joined yet */
    size_t n_ended, n_joined;
    struct compute *cpu;          /* of first ranks among several hosts, as what follows */
    struct collective over_hosts; /* what between_hosts works for: on copies in host memory */
    struct between_hosts between;
    float *copy; /* [max_elems] */
};

static struct nccl_hierarchical *self(struct collective *c)
{
    return (struct nccl_hierarchical *)c;
}

static bool is_first(const struct nccl_hierarchical *h)
{
    return h->host->rank == 0;
}

/* --- open, close --- */

static void nccl_hierarchical_close(struct collective **c)
{
    struct nccl_hierarchical *h = self(*c);
    void *copy = h->copy;

    nccl_group_close(&h->nccl);
    between_hosts_close(&h->between);
    if (copy)
        compute_host_close(h->base.env.compute, &copy);
    compute_close(&h->cpu);
    for (size_t i = 0; h->group && i <= h->base.env.n_groups; i++)
        free(h->group[i].piece);
    free(h->group);
    free(h->ended);
    world_split_close(&h->host);
    free(h);
    *c = NULL;
}

/* Of a first rank: what sums copies, as what is staged is summed (exchange.h). */
static enum rc open_copies(struct nccl_hierarchical *h, const struct collective_env *env)
{
    struct compute_env cpu = env->compute->env;
    void *copy = NULL;
    enum rc rc;

    cpu.precision = PRECISION_FP32;
    cpu.opts = NULL;
    TRY(compute_open(&h->cpu, &compute_cpu, &cpu));
    TRY(compute_host_open(env->compute, &copy, env->max_elems * sizeof *h->copy, "the host's copy of a bucket"));
    h->copy = copy;
out:
    return rc;
}

static enum rc open_hosts(struct nccl_hierarchical *h, const struct collective_env *env)
{
    enum rc rc;

    TRY(world_host_group(env->transport->world, &h->host, &h->host_index, &h->n_hosts));
    TRY(between_hosts_open(&h->between, env, h->host, h->host_index, h->n_hosts));
    if (h->n_hosts > 1 && is_first(h))
        TRY(open_copies(h, env));
    h->over_hosts = (struct collective){ .ops = &collective_nccl_hierarchical, .env = *env };
    h->over_hosts.env.compute = h->cpu;
    h->over_hosts.env.n_shares = 0;
out:
    return rc;
}

static enum rc nccl_hierarchical_open(struct collective **out, const struct collective_env *env)
{
    struct nccl_hierarchical *h = calloc(1, sizeof *h);
    struct collective *base = &h->base;
    enum rc rc;

    if (!h)
        return rc_raise(RC_NOMEM, "collective nccl-hierarchical: no memory");
    h->base.env = *env;
    h->group = calloc(env->n_groups + 1, sizeof *h->group);
    h->ended = calloc(env->n_groups + 1, sizeof *h->ended);
    if (!h->group || !h->ended)
        FAIL(RC_NOMEM, "collective nccl-hierarchical: no memory for %zu groups", env->n_groups);
    TRY(open_hosts(h, env));
    TRY(nccl_group_open(&h->nccl, collective_nccl_hierarchical.module.name, env, h->host));
    *out = base;
    base = NULL;
out:
    if (base)
        nccl_hierarchical_close(&base);
    return rc;
}

static enum rc nccl_hierarchical_check(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    (void)facts;
    return nccl_check_library(collective_nccl_hierarchical.module.name);
}

static struct memory_need nccl_hierarchical_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .worker_bytes = (between_hosts_scratch_elems(facts->n_params, 2) + facts->n_params) *
                                                 sizeof(float) };
}

/* --- groups --- */

static struct group_pieces *begun(const struct nccl_hierarchical *h)
{
    return &h->group[h->base.env.n_groups];
}

static enum rc nccl_hierarchical_begin(struct collective *c)
{
    struct nccl_hierarchical *h = self(c);

    begun(h)->n = 0;
    return nccl_group_begin(&h->nccl);
}

/* A step's groups have as many pieces as those of the step before. */
static enum rc note_piece(struct group_pieces *g, float *data, size_t n_elems)
{
    if (g->n == g->n_allocated) {
        const size_t n = 2 * g->n + 4;
        struct piece *larger = realloc(g->piece, n * sizeof *larger);
        if (!larger)
            return rc_raise(RC_NOMEM, "collective nccl-hierarchical: no memory for %zu pieces", n);
        g->piece = larger;
        g->n_allocated = n;
    }
    g->piece[g->n++] = (struct piece){ data, n_elems };
    return RC_OK;
}

static enum rc nccl_hierarchical_run(struct collective *c, const struct collective_call *call, float *data)
{
    struct nccl_hierarchical *h = self(c);
    enum rc rc;

    if (h->n_hosts == 1)
        return nccl_group_sum(&h->nccl, data, call->n_elems);
    TRY(nccl_group_sum_to_first(&h->nccl, data, call->n_elems));
    if (call->n_elems > 0)
        rc = nccl_group_give_up(&h->nccl, note_piece(begun(h), data, call->n_elems));
out:
    return rc;
}

/* The sum of this host becomes that of all. */
static enum rc sum_hosts(struct nccl_hierarchical *h, const struct piece *p)
{
    struct compute *device = h->base.env.compute;
    enum rc rc;

    TRY(compute_fetch(device, h->copy, p->data, p->n_elems * sizeof *h->copy));
    TRY(between_hosts_sum(&h->between, &h->over_hosts, h->copy, NULL, p->n_elems));
    TRY(compute_sync(h->cpu));
    compute_put(device, p->data, h->copy, p->n_elems * sizeof *h->copy);
out:
    return rc;
}

static enum rc spread_in_host(struct nccl_hierarchical *h, size_t group)
{
    const struct group_pieces *g = &h->group[group];
    enum rc rc;

    TRY(nccl_group_begin(&h->nccl)); /* behind the copies */
    for (size_t i = 0; i < g->n; i++)
        TRY(nccl_group_spread(&h->nccl, g->piece[i].data, g->piece[i].n_elems));
    TRY(nccl_group_end(&h->nccl, group));
out:
    return rc;
}

/* The group that ended first of those that are not joined. */
static enum rc join_oldest(struct nccl_hierarchical *h)
{
    const size_t group = h->ended[h->n_joined++ % h->base.env.n_groups];
    struct group_pieces *g = &h->group[group];
    enum rc rc;

    TRY(nccl_group_wait(&h->nccl, group));
    for (size_t i = 0; i < g->n && is_first(h); i++)
        TRY(nccl_group_give_up(&h->nccl, sum_hosts(h, &g->piece[i])));
    TRY(spread_in_host(h, group));
    g->is_joined = true;
out:
    return rc;
}

static enum rc nccl_hierarchical_end(struct collective *c, size_t group)
{
    struct nccl_hierarchical *h = self(c);
    const struct group_pieces before = h->group[group];
    enum rc rc;

    h->group[group] = *begun(h); /* and its memory for that of the next one to begin */
    h->group[group].is_joined = h->n_hosts == 1;
    *begun(h) = before;
    TRY(nccl_group_end(&h->nccl, group));
    if (h->n_hosts > 1)
        h->ended[h->n_ended++ % h->base.env.n_groups] = group;
    while (h->n_ended > h->n_joined + 1)
        TRY(join_oldest(h));
out:
    return rc;
}

static enum rc nccl_hierarchical_wait(struct collective *c, size_t group)
{
    struct nccl_hierarchical *h = self(c);
    enum rc rc = RC_OK;

    while (!h->group[group].is_joined && h->n_joined < h->n_ended)
        TRY(join_oldest(h));
    TRY(nccl_group_wait(&h->nccl, group));
out:
    return rc;
}

static const struct collective_group_ops groups = { .begin = nccl_hierarchical_begin,
                                                    .end = nccl_hierarchical_end,
                                                    .wait = nccl_hierarchical_wait };

const struct collective_ops collective_nccl_hierarchical = {
    .module.name = "nccl-hierarchical",
    .module.caps = COLL_ALLREDUCE | COLL_DEVICE | COLL_THREADS,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .module.check = nccl_hierarchical_check,
    .module.memory = nccl_hierarchical_memory,
    .open = nccl_hierarchical_open,
    .run = nccl_hierarchical_run,
    .predict = collective_no_cost,
    .critical_path = collective_no_path,
    .close = nccl_hierarchical_close,
    .group = &groups,
};
