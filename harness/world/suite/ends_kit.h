/* SPDX-License-Identifier: Apache-2.0 */
/* ends_kit.h - how a world of any kind ends whose rank 1 fails or dies: world.W4, W5, K4, K5. Test-only. */
#ifndef HARNESS_WORLD_SUITE_ENDS_KIT_H
#define HARNESS_WORLD_SUITE_ENDS_KIT_H

struct world_opts;
struct world_ops;

/* Rank 1 returns an error, aborts or dies: every wait of every other rank ends, whatever it waits for, and the error of
 * the run is the first failure. */
void ends_are_told(const struct world_ops *world, const struct world_opts *opts);
/* The same where the main tasks wait for tasks that wait; also of a task that dies, and of one that is left behind. */
void ends_are_told_to_tasks(const struct world_ops *world, const struct world_opts *opts);

#endif
