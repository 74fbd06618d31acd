/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suite_mutants.h - operations of worlds, tasks and shares with one bug each, which world_suite, task_suite and
 * share_suite must catch. Test-only; they have mutable globals (world.W2), so no library holds them.
 */
#ifndef HARNESS_WORLD_SUITE_SUITE_MUTANTS_H
#define HARNESS_WORLD_SUITE_SUITE_MUTANTS_H

struct suite_mutant {
    const char *name;        /* NULL: behind the last */
    const void *ops;         /* struct world_ops, task_ops or share_ops, to put in place of a rank's own */
    const char *failed_case; /* of the suite; NULL: no bug, must pass */
};

const struct suite_mutant *world_mutants(void);
const struct suite_mutant *task_mutants(void);
const struct suite_mutant *share_mutants(void);

#endif
