/* SPDX-License-Identifier: Apache-2.0 */
/* sim_platform.h - SimGrid's settings, and the hosts and links that it simulates. For sim_engine.c alone. */
#ifndef HARNESS_WORLD_SIM_SIM_PLATFORM_H
#define HARNESS_WORLD_SIM_SIM_PLATFORM_H

#include "harness/base/rc.h"

struct cluster;

#ifndef GRADMARK_SIM_THREADS
#define GRADMARK_SIM_THREADS 0 /* 1: each actor a thread, which sanitizers can follow */
#endif

/* Start SimGrid; once a process. */
void sim_platform_start(void);
/* Make the hosts "host-0" .. "host-N" of c. RC_IO. */
enum rc sim_platform_load(const struct cluster *c, int n_hosts) MUST_CHECK;

#endif
