/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task_suite.h - what the tasks and events of every world must do (world.K1 to K4). Test-only.
 *
 * Call it from the body of every rank; ranks do not meet in it. Failed expectations are printed to standard error. It
 * stops after the first case that failed.
 */
#ifndef HARNESS_WORLD_SUITE_TASK_SUITE_H
#define HARNESS_WORLD_SUITE_TASK_SUITE_H

struct world;

/* Failures on this rank; 0: conforms. failed_case (may be NULL): its name, NULL: none. */
int task_suite(struct world *w, const char **failed_case);

#endif
