/* SPDX-License-Identifier: Apache-2.0 */
/* side.c - what all backends share of a side stream. */
#include "harness/compute/side.h"

enum rc compute_side_open(struct compute_side **out, struct compute *c, size_t n_marks)
{
    char names[128];
    enum rc rc;

    *out = NULL;
    if (!c->ops->side) {
        module_names_with(names, sizeof names, &compute_kind, COMPUTE_SIDE);
        FAIL(RC_UNSUPPORTED, "compute %s: has no stream for a library beside its operations; %s has",
             c->ops->module.name, names);
    }
    TRY(c->ops->side->open(out, c, n_marks));
    (*out)->ops = c->ops->side;
    (*out)->compute = c;
out:
    return rc;
}

void compute_side_close(struct compute_side **s)
{
    if (*s)
        (*s)->ops->close(s);
    *s = NULL;
}
