/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_flows.h - messages as SimGrid's own flows on SimGrid's own platform: what sim_network.c is compared with. */
#ifndef HARNESS_WORLD_SUITE_SIMGRID_FLOWS_H
#define HARNESS_WORLD_SUITE_SIMGRID_FLOWS_H

#include <stdio.h>

#include "harness/world/suite/flows_kit.h"

/* A topology as SimGrid's XML. RC_IO, RC_NOMEM. */
enum rc simgrid_topology_write(FILE *f, const struct topology *t) MUST_CHECK;
/* arrived_s[i] := when flow[i] of k is there. Once a process. RC_IO, RC_NOMEM. */
enum rc simgrid_flows_play(const struct kit_flows *k, double *arrived_s) MUST_CHECK;

#endif
