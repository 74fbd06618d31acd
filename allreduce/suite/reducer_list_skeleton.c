/* SPDX-License-Identifier: Apache-2.0 */
/* reducer_list_skeleton.c - the program's list of reducers and one line more; takes its place in a test. */
#include "allreduce/reducer.h"

extern const struct reducer reducer_ring, reducer_root, reducer_skeleton;

static const struct module *reducer_at(int i)
{
    static const struct module *const all[] = { &reducer_ring.module, &reducer_root.module, &reducer_skeleton.module,
                                                NULL };

    return all[i];
}

const struct module_kind reducer_kind = { "reducer", reducer_at, NULL, "ring", NULL };
