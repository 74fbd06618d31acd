/* SPDX-License-Identifier: Apache-2.0 */
/* compute_update.c - the wrappers of what optimisers do: see compute.h. */
#include <assert.h>

#include "harness/compute/compute_races.h"

/* n_elems: read plus written. */
static void count_elems(struct compute *c, double n_elems)
{
    compute_tick(c);
    c->since_sync.bytes += sizeof(float) * n_elems;
}

void compute_sgd_step(struct compute *c, float *p, float *v, const float *g, size_t n, const struct sgd *s)
{
    assert(v || s->momentum == 0.0f || !c->ops->touches_memory);
    count_elems(c, (s->momentum != 0.0f ? 5.0 : 3.0) * (double)n);
    says_reads(c, g, (double)n);
    says_writes(c, p, (double)n);
    says_writes(c, v, (double)n);
    if (!c->env.gemm_only && c->ops->sgd_step)
        c->ops->sgd_step(c, p, v, g, n, s);
}

void compute_adagrad_step(struct compute *c, float *p, float *sum, const float *g, size_t n, const struct adagrad *s)
{
    assert(s->epsilon > 0.0f && (sum || !c->ops->touches_memory));
    count_elems(c, 5.0 * (double)n);
    says_reads(c, g, (double)n);
    says_writes(c, p, (double)n);
    says_writes(c, sum, (double)n);
    if (!c->env.gemm_only && c->ops->adagrad_step)
        c->ops->adagrad_step(c, p, sum, g, n, s);
}

void compute_adam_step(struct compute *c, float *p, float *m, float *v, const float *g, size_t n, const struct adam *s)
{
    assert(s->epsilon > 0.0f && ((m && v) || !c->ops->touches_memory));
    count_elems(c, 7.0 * (double)n);
    says_reads(c, g, (double)n);
    says_writes(c, p, (double)n);
    says_writes(c, m, (double)n);
    says_writes(c, v, (double)n);
    if (!c->env.gemm_only && c->ops->adam_step)
        c->ops->adam_step(c, p, m, v, g, n, s);
}
