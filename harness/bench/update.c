/* SPDX-License-Identifier: Apache-2.0 */
/*
 * update.c - the optimiser's update of n_elems parameters, for timing, without memory for all of them; see update.h.
 */
#include "harness/bench/update.h"

enum { MAX_RANGE_ELEMS = 4 << 20 };

enum rc update_open(struct update *u, struct compute *c, size_t n_elems, const struct optimizer_rule *rule)
{
    const bool real = c->ops->touches_memory;
    enum rc rc;

    u->compute = c;
    u->n_elems = n_elems;
    u->n_range_elems = real && n_elems > MAX_RANGE_ELEMS ? MAX_RANGE_ELEMS : n_elems;
    TRY(optimizer_init(&u->optimizer, c, u->n_range_elems, rule, NULL));
    if (real) {
        TRY(compute_memory_open(c, &u->param, u->n_range_elems * sizeof(float), "probe of the update"));
        TRY(compute_memory_open(c, &u->grad, u->n_range_elems * sizeof(float), "probe of the update"));
    }
out:
    return rc;
}

enum rc update_run(struct update *u)
{
    enum rc rc = RC_OK;

    for (size_t n_done = 0; n_done < u->n_elems; n_done += u->n_range_elems) {
        const size_t n_left = u->n_elems - n_done;
        u->optimizer.n_params = n_left < u->n_range_elems ? n_left : u->n_range_elems;
        TRY(optimizer_step(&u->optimizer, u->param, u->grad));
    }
out:
    return rc;
}

void update_close(struct update *u)
{
    if (u->compute) {
        compute_memory_close(u->compute, &u->param);
        compute_memory_close(u->compute, &u->grad);
        optimizer_fini(&u->optimizer);
    }
    *u = (struct update){ 0 };
}
