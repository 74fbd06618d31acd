/* SPDX-License-Identifier: Apache-2.0 */
/* sim_platform.h - SimGrid started, with one host for all actors. Private to harness/world. */
#ifndef HARNESS_WORLD_SIM_SIM_PLATFORM_H
#define HARNESS_WORLD_SIM_SIM_PLATFORM_H

#include <simgrid/host.h>
#include <stdio.h>

#include "harness/base/rc.h"

#ifndef GRADMARK_SIM_THREADS
#define GRADMARK_SIM_THREADS 0 /* 1: each actor a thread, which sanitizers can follow */
#endif

/* Start SimGrid, once a process. */
void sim_platform_init(void);
/* Load what `write` puts into a file: SimGrid takes a platform only from one, by name. RC_IO; what `write` returns. */
enum rc sim_platform_load(enum rc (*write)(FILE *f, const void *arg), const void *arg) MUST_CHECK;
/* Both, for the host that all actors of a run are on. RC_IO. */
enum rc sim_platform_start(sg_host_t *out) MUST_CHECK;

#endif
