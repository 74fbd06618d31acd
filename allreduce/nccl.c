/* SPDX-License-Identifier: Apache-2.0 */
/* nccl.c - NVIDIA's library, in the memory of the GPUs: one communicator over all ranks (nccl_group.h). */
#include <stdlib.h>

#include "allreduce/nccl_group.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

extern const struct collective_ops collective_nccl;

struct nccl {
    struct collective base;
    struct nccl_group group;
};

static struct nccl_group *group_of(struct collective *c)
{
    return &((struct nccl *)c)->group;
}

static void nccl_close(struct collective **c)
{
    nccl_group_close(group_of(*c));
    free(*c);
    *c = NULL;
}

static enum rc nccl_open(struct collective **out, const struct collective_env *env)
{
    struct nccl *n = calloc(1, sizeof *n);
    struct collective *base = &n->base;
    enum rc rc;

    if (!n)
        return rc_raise(RC_NOMEM, "collective nccl: no memory");
    TRY(nccl_group_open(&n->group, collective_nccl.module.name, env, env->transport->world));
    *out = base;
    base = NULL;
out:
    if (base)
        nccl_close(&base);
    return rc;
}

static enum rc nccl_check(const void *opts, const struct job_facts *facts)
{
    (void)opts;
    (void)facts;
    return nccl_check_library(collective_nccl.module.name);
}

static enum rc nccl_begin(struct collective *c)
{
    return nccl_group_begin(group_of(c));
}

static enum rc nccl_run(struct collective *c, const struct collective_call *call, float *data)
{
    return nccl_group_sum(group_of(c), data, call->n_elems);
}

static enum rc nccl_end(struct collective *c, size_t group)
{
    return nccl_group_end(group_of(c), group);
}

static enum rc nccl_wait(struct collective *c, size_t group)
{
    return nccl_group_wait(group_of(c), group);
}

static const struct collective_group_ops groups = { .begin = nccl_begin, .end = nccl_end, .wait = nccl_wait };

const struct collective_ops collective_nccl = {
    .module.name = "nccl",
    .module.caps = COLL_ALLREDUCE | COLL_DEVICE | COLL_THREADS,
    .module.refuses_world = WORLD_VIRTUAL_TIME,
    .module.check = nccl_check,
    .open = nccl_open,
    .run = nccl_run,
    .predict = collective_no_cost,
    .critical_path = collective_no_path,
    .close = nccl_close,
    .group = &groups,
};
