/* SPDX-License-Identifier: Apache-2.0 */
/* process_kit.h - what the tests of worlds of processes ask of both, mpi and tcp, beside the suites. Test-only. */
#ifndef HARNESS_WORLD_SUITE_PROCESS_KIT_H
#define HARNESS_WORLD_SUITE_PROCESS_KIT_H

#include "harness/world/cores.h"
#include "harness/world/world.h"

/* The case of this name, collective over w: suite, tasks; bind (2 workers of one thread, and a server), beside (a
 * worker and a server, on one core). Its failures; 0: it is none of these. */
int process_case(struct world *w, const char *name);
/* How rank 1 of 3 fails in the case of this name, which is not to return RC_OK then: error, abort, die, hang (world.W4,
 * W5, P3); task_fails*: world.K4, in which the others wait for what never comes. RC_OK: it is none of these. */
enum rc process_fail(struct world *w, const char *name) MUST_CHECK;
/* Behind a run: failures, where the process has other cores than before. */
int process_cores_again(const struct core_set *before);

#endif
