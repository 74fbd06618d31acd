/* SPDX-License-Identifier: Apache-2.0 */
/* collective_list_skeleton.c - the program's list of algorithms and one line more; takes its place in a test. */
#include "allreduce/collective_list.h"
#include "harness/exchange/collective.h"

extern const struct collective_ops collective_ring, collective_root, collective_skeleton;

static const struct module *collective_at(int i)
{
    static const struct module *const all[] = { &collective_ring.module, &collective_root.module,
                                                &collective_skeleton.module, NULL };

    return all[i];
}

const struct module_kind collective_kind = { "reducer", collective_at, NULL, "ring", NULL };
