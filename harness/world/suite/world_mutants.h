/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_mutants.h - world threads with one planted bug each, which world_suite must catch. Test-only.
 *
 * Time is made up (world_mutants.c), so whether a bug is caught does not depend on the load of the machine.
 */
#ifndef HARNESS_WORLD_SUITE_WORLD_MUTANTS_H
#define HARNESS_WORLD_SUITE_WORLD_MUTANTS_H

struct world_ops;

struct world_mutant {
    const char *name;
    const struct world_ops *ops; /* to put in world.ops of every rank */
    const char *failed_case;     /* of world_suite; NULL: no bug, must pass */
};

/* Every mutant, ended by name NULL. */
const struct world_mutant *world_mutants(void);

#endif
