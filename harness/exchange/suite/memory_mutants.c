/* SPDX-License-Identifier: Apache-2.0 */
/* memory_mutants.c - exchange_memory.h with one bug each; the suite must catch each. */
#include <string.h>

#include "harness/exchange/suite/memory_suite.h"
#include "harness/world/share.h"
#include "harness/world/world.h"

/* It does without, and says nothing. */
static enum rc open_accepting(struct exchange_memory *out, const struct exchange_memory_env *env)
{
    struct exchange_memory_env other = *env;

    other.wants_shared = env->wants_shared && env->compute->ops->host_memory;
    return exchange_memory_open(out, &other);
}

/* Nobody else can reach it, but it is called shared. */
static enum rc open_unshared(struct exchange_memory *out, const struct exchange_memory_env *env)
{
    struct exchange_memory_env other = *env;

    other.wants_shared = false;
    return exchange_memory_open(out, &other);
}

static enum rc open_and(struct exchange_memory *out, const struct exchange_memory_env *env,
                        void (*break_it)(struct exchange_memory *m))
{
    enum rc rc;

    TRY(exchange_memory_open(out, env));
    if (out->param && out->grad)
        break_it(out);
out:
    return rc;
}

/* Peers find gradients where parameters should be. */
static void swap_shares(struct exchange_memory *m)
{
    struct share *param = m->shared_param;

    m->shared_param = m->shared_grad;
    m->shared_grad = param;
}

static void swap_back_and_close(struct exchange_memory *m)
{
    if (m->param && m->grad)
        swap_shares(m);
    exchange_memory_close_gradients(m);
}

static void leave_a_value(struct exchange_memory *m)
{
    const float one = 1.0f;

    compute_put(m->env.compute, m->grad + m->env.n_params - 1, &one, sizeof one);
}

static void forget_host_grad(struct exchange_memory *m)
{
    if (m->host_grad != m->grad)
        exchange_memory_close_copy(m, &m->host_grad);
}

static void forget_host_param(struct exchange_memory *m)
{
    if (m->host_param != m->param)
        exchange_memory_close_copy(m, &m->host_param);
}

static void copy_always(struct exchange_memory *m)
{
    if (m->host_grad == m->grad)
        (void)!exchange_memory_open_copy(m, &m->host_grad, "copy");
}

static void call_it_private(struct exchange_memory *m)
{
    if (m->kind == MEMORY_DEVICE)
        m->kind = MEMORY_PRIVATE;
}

#define OPEN_AND(what)                                                                                 \
    static enum rc open_and_##what(struct exchange_memory *out, const struct exchange_memory_env *env) \
    {                                                                                                  \
        return open_and(out, env, what);                                                               \
    }
OPEN_AND(swap_shares)
OPEN_AND(leave_a_value)
OPEN_AND(forget_host_grad)
OPEN_AND(forget_host_param)
OPEN_AND(copy_always)
OPEN_AND(call_it_private)

static void keep_gradients(struct exchange_memory *m)
{
    (void)m;
}

/* The first worker of a host goes on before the others have copied. */
static enum rc broadcast_and_go(const struct exchange_memory *m, const struct initial_array *a)
{
    enum rc rc = RC_OK;

    if (m->leaders && m->leaders->n_ranks > 1)
        TRY(initial_broadcast(m->leaders, a));
    if (!m->host)
        return RC_OK;
    TRY(world_barrier(m->host));
    if (m->host->rank > 0)
        compute_put(a->compute, a->memory, m->shared_param->peer[0], a->n_elems * sizeof(float));
out:
    return rc;
}

/* The others of a host are forgotten. */
static enum rc broadcast_to_leaders(const struct exchange_memory *m, const struct initial_array *a)
{
    return m->leaders ? initial_broadcast(m->leaders, a) : RC_OK;
}

/* So are other hosts, and the servers. */
static enum rc broadcast_in_host(const struct exchange_memory *m, const struct initial_array *a)
{
    struct exchange_memory alone = *m;

    alone.leaders = NULL;
    return initial_broadcast_shared(&alone, a);
}

/* A worker copies from its neighbour, which may not have it yet. */
static enum rc broadcast_from_neighbour(const struct exchange_memory *m, const struct initial_array *a)
{
    enum rc rc = RC_OK;

    if (m->leaders && m->leaders->n_ranks > 1)
        TRY(initial_broadcast(m->leaders, a));
    if (!m->host)
        return RC_OK;
    TRY(world_barrier(m->host));
    if (m->host->rank > 0)
        compute_put(a->compute, a->memory, m->shared_param->peer[m->host->rank - 1], a->n_elems * sizeof(float));
    TRY(world_barrier(m->host));
out:
    return rc;
}

const struct memory_impl memory_impl_real = { "none", exchange_memory_open, exchange_memory_close_gradients,
                                              initial_broadcast_shared };

#define REST exchange_memory_close_gradients, initial_broadcast_shared
#define OPEN_AND_CLOSE exchange_memory_open, exchange_memory_close_gradients

const struct memory_impl *memory_mutant(const char *name)
{
    static const struct memory_impl mutants[] = {
        { "accepts-device", open_accepting, REST },
        { "not-shared", open_unshared, REST },
        { "swapped", open_and_swap_shares, swap_back_and_close, initial_broadcast_shared },
        { "not-zero", open_and_leave_a_value, REST },
        { "no-copy-of-gradients", open_and_forget_host_grad, REST },
        { "no-copy-of-parameters", open_and_forget_host_param, REST },
        { "copies-always", open_and_copy_always, REST },
        { "another-kind", open_and_call_it_private, REST },
        { "keeps-gradients", exchange_memory_open, keep_gradients, initial_broadcast_shared },
        { "goes-on", OPEN_AND_CLOSE, broadcast_and_go },
        { "leaders-alone", OPEN_AND_CLOSE, broadcast_to_leaders },
        { "own-host-alone", OPEN_AND_CLOSE, broadcast_in_host },
        { "from-neighbour", OPEN_AND_CLOSE, broadcast_from_neighbour },
    };

    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        if (strcmp(mutants[i].name, name) == 0)
            return &mutants[i];
    return NULL;
}
