/* SPDX-License-Identifier: Apache-2.0 */
/* task_mutants.h - thread_task_ops with one planted bug each, which task_suite must catch. Test-only. */
#ifndef HARNESS_WORLD_SUITE_TASK_MUTANTS_H
#define HARNESS_WORLD_SUITE_TASK_MUTANTS_H

struct task_ops;

struct task_mutant {
    const char *name;
    const struct task_ops *ops;
    const char *failed_case; /* of task_suite; NULL: no bug, must pass */
};

/* Every mutant, ended by name NULL. */
const struct task_mutant *task_mutants(void);

#endif
