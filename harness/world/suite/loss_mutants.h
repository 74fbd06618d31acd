/* SPDX-License-Identifier: Apache-2.0 */
/* loss_mutants.h - the world of threads with one planted bug each, which loss_suite must catch. Test-only. */
#ifndef HARNESS_WORLD_SUITE_LOSS_MUTANTS_H
#define HARNESS_WORLD_SUITE_LOSS_MUTANTS_H

#include "harness/world/share.h"
#include "harness/world/world.h"

struct loss_mutant {
    const char *name;
    struct world_ops bug; /* the operations that have it; NULL: as in world_threads */
    enum rc (*share_wait)(struct share *s, uint32_t seen, uint64_t limit_ns); /* likewise */
    const char *failed_case; /* of loss_suite; NULL: no bug, must pass */
};

struct loss_mutant_ops {
    struct world_ops world;
    struct share_ops shares;
};

/* Every mutant, ended by name NULL. */
const struct loss_mutant *loss_mutants(void);
/* out->world: what to put in world.ops of every rank, whose operations are `real`. */
void loss_mutant_apply(const struct loss_mutant *m, const struct world_ops *real, struct loss_mutant_ops *out);

#endif
