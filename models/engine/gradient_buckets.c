/* SPDX-License-Identifier: Apache-2.0 */
/* gradient_buckets.c - see gradient_buckets.h. */
#include "models/engine/gradient_buckets.h"

#include "models/layer.h"

/* ready() for all segments of the oldest bucket, as of its event. */
static enum rc pass_on_oldest(struct gradient_buckets *g, const struct run *r)
{
    const int k = g->n_passed_on++ % COMPUTE_EVENTS;
    enum rc rc = RC_OK;

    compute_wait_event(r->compute, k);
    for (int i = g->bucket[k].first_op; rc == RC_OK && i <= g->bucket[k].last_op; i++)
        if (r->program->op[i].kind == OP_READY)
            rc = layer_ready(r->ready, r->arg, r->program->op[i].segment, r->grad);
    compute_wait_event(r->compute, -1);
    return rc;
}

enum rc gradient_buckets_add(struct gradient_buckets *g, const struct run *r, int op)
{
    const struct segment s = r->program->op[op].segment;
    enum rc rc = RC_OK;

    if (r->ready == NULL)
        return RC_OK;
    if (!compute_has_events(r->compute))
        return layer_ready(r->ready, r->arg, s, r->grad);
    if (g->n_elems == 0)
        g->first_op = op;
    g->n_elems += s.n_elems;
    if (g->n_elems < r->network->n_params / COMPUTE_EVENTS && s.offset_elems > 0)
        return RC_OK;
    g->bucket[g->n_closed % COMPUTE_EVENTS].first_op = g->first_op;
    g->bucket[g->n_closed % COMPUTE_EVENTS].last_op = op;
    g->n_elems = 0;
    compute_record_event(r->compute, g->n_closed++ % COMPUTE_EVENTS);
    if (g->n_closed - g->n_passed_on == COMPUTE_EVENTS)
        TRY(pass_on_oldest(g, r));
out:
    return rc;
}

enum rc gradient_buckets_end(struct gradient_buckets *g, const struct run *r)
{
    enum rc rc = RC_OK;

    while (g->n_passed_on < g->n_closed)
        TRY(pass_on_oldest(g, r));
out:
    return rc;
}
