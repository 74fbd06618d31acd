/* SPDX-License-Identifier: Apache-2.0 */
/*
 * halving_doubling.c - the collective "halving-doubling": halving_doubling_members.h among all ranks.
 *
 * Cost per rank of an allreduce among 2^k ranks: 2 k messages, 2 n (p - 1) / p elements, half as many additions: the
 * bytes of ring at the latencies of a tree. Of another number of ranks, with k of the power of two below it: 2
 * latencies and n elements more on the slowest path, and what ranks that run ahead take of its links
 * (halving_doubling_path()). It has no broadcast: nothing in one is halved.
 */
#include <stdlib.h>

#include "allreduce/halving_doubling_members.h"
#include "harness/base/arena.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_halving_doubling;

struct halving_doubling {
    struct collective base;
    struct arena arena;
    float *scratch;
    uint32_t n_steps;
};

static struct memory_need halving_doubling_memory(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    return (struct memory_need){ .worker_bytes =
                                     halving_doubling_scratch_elems(COLL_ALLREDUCE, facts->n_params, facts->n_workers) *
                                     sizeof(float) };
}

static enum rc halving_doubling_open(struct collective **out, const struct collective_env *env)
{
    const size_t n_elems = halving_doubling_scratch_elems(env->types, env->max_elems, env->transport->world->n_ranks);
    struct halving_doubling *hd = calloc(1, sizeof *hd);
    enum rc rc;

    if (!hd)
        return rc_raise(RC_NOMEM, "collective halving-doubling: no memory");
    TRY(arena_open(&hd->arena, arena_floats_bytes(n_elems)));
    hd->scratch = arena_floats(&hd->arena, n_elems);
    *out = &hd->base;
    hd = NULL;
out:
    free(hd);
    return rc;
}

static void halving_doubling_close(struct collective **c)
{
    struct halving_doubling *hd = (struct halving_doubling *)*c;

    arena_close(&hd->arena);
    free(hd);
    *c = NULL;
}

static enum rc run_among_all(struct collective *c, const struct collective_call *call, float *data)
{
    struct halving_doubling *hd = (struct halving_doubling *)c;
    const struct world *w = c->env.transport->world;
    const struct halving_doubling_members all = { .collective = c,
                                                  .n_members = w->n_ranks,
                                                  .index = w->rank,
                                                  .data = data,
                                                  .input = call->input,
                                                  .n_elems = call->n_elems,
                                                  .scratch = hd->scratch };

    return halving_doubling_run(&all, call->type, &hd->n_steps);
}

static struct collective_cost halving_doubling_predict(const void *opts, const struct collective_call *call, int rank,
                                                       const struct collective_group *group)
{
    (void)opts;
    return halving_doubling_cost(call, group->n_ranks, rank);
}

static struct collective_cost halving_doubling_critical_path(const void *opts, const struct collective_call *call,
                                                             const struct collective_group *group)
{
    (void)opts;
    return halving_doubling_path(call, group->n_ranks);
}

const struct collective_ops collective_halving_doubling = {
    .module.name = "halving-doubling",
    .module.caps = HALVING_DOUBLING_TYPES | COLL_NARROW | COLL_PAIRS,
    .module.memory = halving_doubling_memory,
    .open = halving_doubling_open,
    .run = run_among_all,
    .predict = halving_doubling_predict,
    .critical_path = halving_doubling_critical_path,
    .close = halving_doubling_close,
};
