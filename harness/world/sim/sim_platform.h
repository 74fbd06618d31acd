/* SPDX-License-Identifier: Apache-2.0 */
/* sim_platform.h - SimGrid's settings, and the hosts and links that it simulates. For sim_engine.c alone. */
#ifndef HARNESS_WORLD_SIM_SIM_PLATFORM_H
#define HARNESS_WORLD_SIM_SIM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"

struct topology;

#ifndef GRADMARK_SIM_THREADS
#define GRADMARK_SIM_THREADS 0 /* 1: each actor a thread, which sanitizers can follow */
#endif

/* Start SimGrid, for t; once a process. */
void sim_platform_start(const struct topology *t);
/* Make the hosts and links of t. RC_IO. */
enum rc sim_platform_load(const struct topology *t) MUST_CHECK;
/* out[n_bytes] := SimGrid's host of rank, for messages within its slot or to others. */
void sim_platform_host_name(char *out, size_t n_bytes, const struct topology *t, int rank, bool is_local);
/* Of a topology that is not flat: as XML. In sim_topology.c. RC_IO. */
enum rc sim_topology_write(FILE *f, const struct topology *t) MUST_CHECK;

#endif
