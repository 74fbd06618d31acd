/* SPDX-License-Identifier: Apache-2.0 */
/* reducer.c - the list of reducers and the checks they share. */
#include "allreduce/reducer.h"

#include <string.h>

#include "harness/base/text.h"

extern const struct reducer reducer_root, reducer_ring;

const struct reducer *const *reducer_all(void)
{
    static const struct reducer *const all[] = { &reducer_ring, &reducer_root, NULL };
    return all;
}

enum rc reducer_find(const struct reducer **out, const char *name)
{
    enum { MAX_REDUCERS = 16 };
    const char *known[MAX_REDUCERS + 1] = { NULL };
    int n_known = 0;

    for (const struct reducer *const *r = reducer_all(); *r && n_known < MAX_REDUCERS; r++) {
        if (strcmp((*r)->name, name) == 0) {
            *out = *r;
            return RC_OK;
        }
        known[n_known++] = (*r)->name;
    }
    const char *nearest = text_nearest(name, known);
    return rc_raise(RC_INVAL, "reducer %s: no such reducer; the nearest is %s", name, nearest ? nearest : known[0]);
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
        return rc_raise(RC_INVAL, "reducer %s: %zu elements, opened for %zu", r->ops->name, n_elems, r->max_elems);
    return r->ops->run(r, data, n_elems);
}

void reducer_close(struct reduction **r)
{
    if (r && *r)
        (*r)->ops->close(r);
}
