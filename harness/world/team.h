/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.h - the threads of one rank: a parallel loop over numbered tasks.
 *
 * Not ranks: they share the rank's memory and cores, and know no world. In sim nobody uses them.
 *
 * Invariants
 *   G5  team_run() returns when every task 0 .. n_tasks-1 was run once. Which thread runs which task is not
 *       defined; tasks must not depend on one another.
 *   G6  Threads run on the cores of the thread that opened the team.
 *   G7  Between runs the threads spin for a moment, then sleep; while asleep they cost nothing.
 *   G8  Nothing allocates after open.
 */
#ifndef HARNESS_WORLD_TEAM_H
#define HARNESS_WORLD_TEAM_H

#include <stdbool.h>

#include "harness/base/rc.h"

struct team;

/* arg of team_run(); task; thread: 0 .. n_threads-1, 0 is the caller: for scratch of its own. */
typedef void team_fn(void *arg, int task, int thread);

/* n_threads >= 1, the caller among them; 1 starts none. may_spin: a core for each. RC_NOMEM. */
enum rc team_open(struct team **out, int n_threads, bool may_spin) MUST_CHECK;
int team_n_threads(const struct team *t);
void team_run(struct team *t, team_fn *fn, void *arg, int n_tasks);
void team_close(struct team **t); /* NULL-safe, nulls */

#endif
