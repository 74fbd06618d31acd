/* SPDX-License-Identifier: Apache-2.0 */
/* collective.c - the checks that all algorithms share. */
#include "harness/exchange/collective.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum rc collective_find(const struct collective_ops **out, const struct module_kind *kind, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, kind, name));
    *out = (const struct collective_ops *)m;
out:
    return rc;
}

const char *collective_type_name(enum collective_type type)
{
    static const struct {
        enum collective_type type;
        const char *key;
    } names[] = {
        { COLL_ALLREDUCE, "allreduce" },
        { COLL_REDUCE_SCATTER, "reduce-scatter" },
        { COLL_ALLGATHER, "allgather" },
        { COLL_BROADCAST, "broadcast" },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].key;
    return "unknown type";
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Within a host nobody waits. */
uint64_t collective_eager_bytes(const struct world *w)
{
    return w->n_host_ranks < w->n_ranks ? w->eager_bytes : 0;
}

bool collective_may_wait(const struct collective_group *group, uint64_t n_bytes)
{
    return group->may_wait || (group->eager_bytes > 0 && n_bytes > group->eager_bytes);
}

struct collective_cost collective_cost_most(struct collective_cost a, struct collective_cost b)
{
    return (struct collective_cost){ .msgs = greater(a.msgs, b.msgs),
                                     .bytes = greater(a.bytes, b.bytes),
                                     .adds = greater(a.adds, b.adds),
                                     .memory_bytes = greater(a.memory_bytes, b.memory_bytes),
                                     .meetings = greater(a.meetings, b.meetings),
                                     .beside_bytes = greater(a.beside_bytes, b.beside_bytes),
                                     .beside_memory_bytes = greater(a.beside_memory_bytes, b.beside_memory_bytes) };
}

struct collective_cost collective_no_cost(const void *opts, const struct collective_call *call, int rank,
                                          const struct collective_group *group)
{
    (void)opts;
    (void)call;
    (void)rank;
    (void)group;
    return (struct collective_cost){ 0 };
}

struct collective_cost collective_no_path(const void *opts, const struct collective_call *call,
                                          const struct collective_group *group)
{
    return collective_no_cost(opts, call, 0, group);
}

struct collective_cost collective_cost_sum(struct collective_cost a, struct collective_cost b)
{
    return (struct collective_cost){ .msgs = a.msgs + b.msgs,
                                     .bytes = a.bytes + b.bytes,
                                     .adds = a.adds + b.adds,
                                     .memory_bytes = a.memory_bytes + b.memory_bytes,
                                     .meetings = a.meetings + b.meetings,
                                     .beside_bytes = a.beside_bytes + b.beside_bytes,
                                     .beside_memory_bytes = a.beside_memory_bytes + b.beside_memory_bytes };
}

struct collective_cost collective_send_cost(size_t n_elems, enum wire_format wire)
{
    const uint64_t n = n_elems;

    return (struct collective_cost){ .bytes = n * wire_elem_bytes(wire),
                                     .memory_bytes = wire == WIRE_F32 ? 0 : n * COLL_NARROW_BYTES };
}

struct collective_cost collective_receive_cost(size_t n_elems, enum wire_format wire, bool adds)
{
    const uint64_t n = n_elems, widen_bytes = adds ? COLL_WIDEN_ADD_BYTES : COLL_NARROW_BYTES;
    const uint64_t plain_bytes = adds ? COLL_ADD_BYTES : 0;

    return (struct collective_cost){ .adds = adds ? n : 0,
                                     .memory_bytes = n * (wire == WIRE_F32 ? plain_bytes : widen_bytes) };
}

struct collective_cost collective_round_cost(size_t n_elems, enum wire_format wire)
{
    return (struct collective_cost){ .memory_bytes = wire == WIRE_F32 ? 0 : (uint64_t)n_elems * COLL_ROUND_BYTES };
}

static enum rc refuse_type(const struct module_kind *kind, const struct collective_ops *ops, enum collective_type type)
{
    const char *name = collective_type_name(type);
    char others[256];

    module_names_with(others, sizeof others, kind, type);
    if (!others[0])
        return rc_raise(RC_UNSUPPORTED, "%s %s has no %s, and no other %s has it", kind->what, ops->module.name, name,
                        kind->what);
    return rc_raise(RC_UNSUPPORTED, "%s %s has no %s; %s has", kind->what, ops->module.name, name, others);
}

enum rc collective_require(const struct module_kind *kind, const struct collective_ops *ops, unsigned types)
{
    for (unsigned type = 1; type < COLL_TYPES_END; type <<= 1)
        if (types & type & ~ops->module.caps)
            return refuse_type(kind, ops, (enum collective_type)type);
    return RC_OK;
}

enum rc collective_check_hosts(const struct module_kind *kind, const struct collective_ops *ops,
                               const struct collective_hosts *hosts)
{
    const int n_ranks = hosts->n_ranks, n_host_ranks = hosts->n_host_ranks;
    const bool sums_in_memory = ops->module.caps & COLL_SHARED && !(ops->module.caps & COLL_OPAQUE);

    if (sums_in_memory && hosts->memories_are_apart)
        return rc_raise(RC_INVAL,
                        "%s %s: sums in memory that the ranks of a host share, but in this cluster each has its own, "
                        "as a GPU; use another %s, such as ring",
                        kind->what, ops->module.name, kind->what);
    if (!(ops->module.caps & COLL_ONE_HOST) || n_host_ranks <= 0 || n_ranks <= n_host_ranks)
        return RC_OK;
    return rc_raise(
        RC_INVAL,
        "%s %s: sums in the memory of one host, but a host has %d of the %d ranks; use another %s, or all ranks "
        "on one host",
        kind->what, ops->module.name, n_host_ranks, n_ranks, kind->what);
}

enum rc collective_require_narrow(const struct module_kind *kind, const struct collective_ops *ops)
{
    char others[256];

    if (ops->module.caps & COLL_NARROW)
        return RC_OK;
    module_names_with(others, sizeof others, kind, COLL_NARROW);
    return rc_raise(RC_UNSUPPORTED, "%s %s has no messages of 16 bits; %s has", kind->what, ops->module.name,
                    others[0] ? others : "none");
}

/* Every page is touched (exchange.A4). */
static enum rc open_halves(uint16_t **out, const struct collective_ops *ops, const struct collective_env *env)
{
    const size_t n_bytes = env->max_elems * sizeof **out;

    *out = NULL;
    if (!env->narrow || !env->compute->ops->touches_memory || n_bytes == 0)
        return RC_OK;
    *out = malloc(n_bytes);
    if (!*out)
        return rc_raise(RC_NOMEM, "collective %s: no memory for messages of %zu elements", ops->module.name,
                        env->max_elems);
    memset(*out, 0, n_bytes);
    return RC_OK;
}

enum rc collective_open(struct collective **out, const struct collective_ops *ops, const struct collective_env *env)
{
    uint16_t *halves = NULL;
    enum rc rc;

    *out = NULL;
    TRY(collective_require(env->kind, ops, env->types));
    if (env->narrow)
        TRY(collective_require_narrow(env->kind, ops));
    TRY(open_halves(&halves, ops, env));
    TRY(ops->open(out, env));
    (*out)->ops = ops;
    (*out)->env = *env;
    (*out)->halves = halves;
    halves = NULL;
out:
    free(halves);
    return rc;
}

enum rc collective_check(const struct collective *c, const struct collective_call *call)
{
    const char *name = c->ops->module.name, *type = collective_type_name(call->type);
    const int n_ranks = c->env.transport->world->n_ranks;
    enum rc rc;

    TRY(collective_require(c->env.kind, c->ops, call->type));
    if (!(call->type & c->env.types))
        FAIL(RC_INVAL, "collective %s was opened without %s", name, type);
    if (call->n_elems > c->env.max_elems)
        FAIL(RC_INVAL, "collective %s: %zu elements, opened for %zu", name, call->n_elems, c->env.max_elems);
    if (call->type == COLL_BROADCAST && (call->root < 0 || call->root >= n_ranks))
        FAIL(RC_INVAL, "collective %s: broadcast from rank %d of %d", name, call->root, n_ranks);
    if (call->wire != WIRE_F32 && (!c->env.narrow || call->type != COLL_ALLREDUCE))
        FAIL(RC_INVAL, "collective %s: %s with 16 bits a float, %s", name, type,
             c->env.narrow ? "which allreduce alone has" : "opened without them");
    if (call->input && (call->type != COLL_ALLREDUCE || call->wire != WIRE_F32 || c->ops->module.caps & COLL_DEVICE))
        FAIL(RC_INVAL, "collective %s: %s%s out of place; it works in place", name, type,
             call->wire != WIRE_F32 ? " with 16 bits a float" : "");
out:
    return rc;
}

/* exchange.A13, with one rank. */
static enum rc copy_input(struct collective *c, const struct collective_call *call, float *data)
{
    compute_sum_arrays(c->env.compute, &(struct sum_arrays){ (const float *[]){ call->input }, (float *[]){ data }, 1,
                                                             1, call->n_elems });
    return compute_sync(c->env.compute);
}

enum rc collective_run(struct collective *c, const struct collective_call *call, float *data)
{
    enum rc rc;

    TRY(collective_check(c, call));
    c->wire = call->wire;
    if (call->input && c->env.transport->world->n_ranks == 1)
        return copy_input(c, call, data);
    TRY(c->ops->run(c, call, data));
out:
    return rc;
}

void collective_close(struct collective **c)
{
    uint16_t *halves = c && *c ? (*c)->halves : NULL;

    if (c && *c)
        (*c)->ops->close(c);
    free(halves);
}

const struct collective_ops *collective_chosen(const struct collective *c, const struct collective_call *call)
{
    return c->ops->chosen ? c->ops->chosen(c, call) : c->ops;
}

void collective_explain(const struct collective *c, const struct collective_call *call, char *text, size_t n_bytes)
{
    text[0] = '\0';
    if (c->ops->explain)
        c->ops->explain(c, call, text, n_bytes);
}

enum rc collective_begin(struct collective *c)
{
    return c->ops->group->begin(c);
}

enum rc collective_end(struct collective *c, size_t group)
{
    assert(group < c->env.n_groups);
    return c->ops->group->end(c, group);
}

enum rc collective_wait(struct collective *c, size_t group)
{
    assert(group < c->env.n_groups);
    return c->ops->group->wait(c, group);
}
