/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - the list of modes, and the kinds of modules that a training chooses from. */
#include "allreduce/collective_list.h"
#include "allreduce/sync_allreduce.h"
#include "harness/net/transport.h"
#include "harness/train/train.h"
#include "ps/ps.h"

const struct sync_mode *train_mode_at(int i)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_ps, &sync_allreduce, NULL };

    return all[i];
}

static const struct module *module_at(int i)
{
    return train_mode_at(i) ? &train_mode_at(i)->module : NULL;
}

const struct module_kind mode_kind = { "mode", module_at, NULL, "single", "none,single,ps,allreduce" };

const struct module_kind *const train_kinds[] = {
    [TRAIN_WORLD] = &world_kind,
    [TRAIN_TRANSPORT] = &transport_kind,
    [TRAIN_COMPUTE] = &compute_kind,
    [TRAIN_MODEL] = &workload_kind,
    [TRAIN_MODE] = &mode_kind,
    [TRAIN_COLLECTIVE] = &collective_kind,
    [TRAIN_OPTIMIZER] = &optimizer_modules,
    [TRAIN_N_KINDS] = NULL,
};
