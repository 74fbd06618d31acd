/* SPDX-License-Identifier: Apache-2.0 */
/* sim_tasks.h - tasks as actors of the rank's host, and events in virtual time; the contract is in task.h. */
#ifndef HARNESS_WORLD_SIM_SIM_TASKS_H
#define HARNESS_WORLD_SIM_SIM_TASKS_H

#include <stdbool.h>

#include "harness/world/task.h"

extern const struct task_ops sim_task_ops;

/* Is the caller a task of w's rank beside its main one? */
bool sim_in_task(const struct world *w);
/* Ends such a caller alone, as one that failed (world.K4): its rank is stopped. Does not return. */
void sim_task_die(struct world *w);

#endif
