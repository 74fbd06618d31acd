/* SPDX-License-Identifier: Apache-2.0 */
/* stopped_mode.c - counts the calls of sum(). */
#include "harness/train/suite/stopped_mode.h"

#include <stdlib.h>

#include "allreduce/sync_allreduce.h"
#include "harness/exchange/collective.h"
#include "harness/world/world.h"

struct stopped {
    struct sync base;
    struct sync *inner;
    uint64_t n_calls; /* so far */
};

static struct stopped *self(struct sync *s)
{
    return (struct stopped *)s;
}

static void stopped_close(struct sync **s)
{
    struct stopped *p = self(*s);

    if (p->inner)
        sync_allreduce.close(&p->inner);
    free(p);
    *s = NULL;
}

static enum rc stopped_open(struct sync **out, const struct sync_env *env)
{
    struct stopped *p = calloc(1, sizeof *p);
    struct sync_env inner = *env;
    struct sync *base = &p->base;
    enum rc rc;

    if (!p)
        return rc_raise(RC_NOMEM, "mode stopped: no memory");
    p->base = (struct sync){ .ops = &sync_stopped, .env = *env };
    inner.collective_opts = NULL;
    TRY(sync_allreduce.open(&p->inner, &inner));
    *out = base;
    base = NULL;
out:
    if (base)
        stopped_close(&base);
    return rc;
}

static enum rc stopped_sum(struct sync *s, size_t k, float *grad)
{
    const struct stopped_plan *plan = s->env.collective_opts;
    const bool is_late = plan->late_ranks >> s->env.world->rank & 1u;
    const uint64_t i = self(s)->n_calls++;
    enum rc rc = RC_OK;

    if (i <= plan->n_calls)
        TRY(sync_allreduce.collective->sum(self(s)->inner, k, grad));
    if (i < plan->n_calls || (i == plan->n_calls && is_late) || (is_late && plan->bug == STOPPED_RUNS_AHEAD))
        return RC_OK;
    FAIL(RC_PEER, "a rank was lost at call %llu", (unsigned long long)i);
out:
    return rc;
}

static struct wire_plan stopped_wire_plan(const struct sync *s)
{
    (void)s;
    return (struct wire_plan){ 0 };
}

static void stopped_explain(const struct sync *s, char *text, size_t n_bytes)
{
    (void)s, (void)n_bytes;
    text[0] = '\0';
}

static const struct collective_mode collective_mode = {
    .types = COLL_ALLREDUCE,
    .sum = stopped_sum,
    .explain = stopped_explain,
};

const struct sync_mode sync_stopped = {
    .module.name = "stopped",
    .module.caps = MODE_SYNCHRONOUS | MODE_SHARED_PARAMS | MODE_COLLECTIVE | MODE_EXCHANGES,
    .exchange_name = "reduce",
    .collective = &collective_mode,
    .open = stopped_open,
    .wire_plan = stopped_wire_plan,
    .close = stopped_close,
};
