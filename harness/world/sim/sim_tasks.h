/* SPDX-License-Identifier: Apache-2.0 */
/* sim_tasks.h - tasks as actors of the rank's host, and events in virtual time; the contract is in task.h. */
#ifndef HARNESS_WORLD_SIM_SIM_TASKS_H
#define HARNESS_WORLD_SIM_SIM_TASKS_H

#include "harness/world/task.h"

extern const struct task_ops sim_task_ops;

#endif
