/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_list.c - every algorithm there is. ENTRY(name): the file name.c defines collective_name; the build
 * compiles it and makes a test of each suite for it.
 */
#include "allreduce/collective_list.h"

#include "harness/exchange/collective.h"

#define COLLECTIVES(ENTRY) \
    ENTRY(ring)            \
    ENTRY(root)

#define DECLARE(name) extern const struct collective_ops collective_##name;
#define ADDRESS(name) &collective_##name.module,

COLLECTIVES(DECLARE)

static const struct module *collective_at(int i)
{
    static const struct module *const all[] = { COLLECTIVES(ADDRESS) NULL };

    return all[i];
}

const struct module_kind collective_kind = { "reducer", collective_at, NULL, "ring", NULL };
