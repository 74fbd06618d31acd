/* SPDX-License-Identifier: Apache-2.0 */
/* share_mutants.h - thread_share_ops with one planted bug each, which share_suite must catch. Test-only. */
#ifndef HARNESS_WORLD_SUITE_SHARE_MUTANTS_H
#define HARNESS_WORLD_SUITE_SHARE_MUTANTS_H

struct share_ops;

struct share_mutant {
    const char *name;
    const struct share_ops *ops;
    const char *failed_case; /* of share_suite; NULL: no bug, must pass */
};

/* Every mutant, ended by name NULL. */
const struct share_mutant *share_mutants(void);

#endif
