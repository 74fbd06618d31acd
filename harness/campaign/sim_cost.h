/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_cost.h - the cost of computing a simulation: one line on standard error, and --cost FILE as JSON. The file also
 * has the load of its links in the steps: the busiest of each kind (cluster/topology.h).
 *
 * Real seconds differ from run to run, so they are never in records, which must have equal bytes (L4).
 */
#ifndef HARNESS_CAMPAIGN_SIM_COST_H
#define HARNESS_CAMPAIGN_SIM_COST_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/world/world.h"

/* Check before a run in world `world` that path, the value of --cost ("": not given), can be used. RC_INVAL: the world
 * is not simulated, or path cannot be written. */
enum rc sim_cost_check(const char *path, const char *world, bool is_virtual) MUST_CHECK;
/* Print "gradmark VERB: simulated 240 messages in 0.0013 s: 1.8e+05 messages/s" to `to`, and write path unless it is
 * "". Does neither if nothing was simulated (real_ns 0). RC_IO, RC_NOMEM: nothing is at path. */
enum rc sim_cost_write(FILE *to, const char *verb, const char *path, const struct world_cost *cost) MUST_CHECK;
/* Add to *sum what sim_cost_write() wrote to path, and remove path. RC_MISMATCH: not such a file. */
enum rc sim_cost_take(struct world_cost *sum, const char *path) MUST_CHECK;

#endif
