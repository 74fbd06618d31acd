/* SPDX-License-Identifier: Apache-2.0 */
/* reducer.c - the checks that reducers share. */
#include "allreduce/reducer.h"

enum rc reducer_find(const struct reducer **out, const char *name)
{
    const struct module *m;
    enum rc rc;

    TRY(module_find(&m, &reducer_kind, name));
    *out = (const struct reducer *)m;
out:
    return rc;
}

enum rc reducer_open(struct reduction **out, const struct reducer *ops, const struct reduce_env *env, size_t max_elems)
{
    *out = NULL;
    const enum rc rc = ops->open(out, env, max_elems);
    if (rc == RC_OK) {
        (*out)->ops = ops;
        (*out)->env = *env;
        (*out)->max_elems = max_elems;
    }
    return rc;
}

enum rc reducer_run(struct reduction *r, float *data, size_t n_elems)
{
    if (n_elems > r->max_elems)
        return rc_raise(RC_INVAL, "reducer %s: %zu elements, opened for %zu", r->ops->module.name, n_elems,
                        r->max_elems);
    return r->ops->run(r, data, n_elems);
}

void reducer_close(struct reduction **r)
{
    if (r && *r)
        (*r)->ops->close(r);
}
