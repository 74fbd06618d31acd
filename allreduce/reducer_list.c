/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer_list.c - every reducer there is. ENTRY(name): the file name.c defines reducer_name; the build compiles it and
 * makes a test of each suite for it.
 */
#include "allreduce/reducer.h"

#define REDUCERS(ENTRY) \
    ENTRY(ring)         \
    ENTRY(root)

#define DECLARE(name) extern const struct reducer reducer_##name;
#define ADDRESS(name) &reducer_##name.module,

REDUCERS(DECLARE)

static const struct module *reducer_at(int i)
{
    static const struct module *const all[] = { REDUCERS(ADDRESS) NULL };

    return all[i];
}

const struct module_kind reducer_kind = { "reducer", reducer_at, NULL, "ring", NULL };
