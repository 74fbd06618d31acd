/* SPDX-License-Identifier: Apache-2.0 */
/* simgrid_platform.h - SimGrid started, with a platform: tests compare the world sim with it. */
#ifndef HARNESS_WORLD_SUITE_SIMGRID_PLATFORM_H
#define HARNESS_WORLD_SUITE_SIMGRID_PLATFORM_H

#include <stdio.h>

#include "harness/base/rc.h"

/* Start SimGrid, once a process. */
void simgrid_platform_init(void);
/* Load what `write` puts into a file: SimGrid takes a platform only from one, by name. RC_IO; what `write` returns. */
enum rc simgrid_platform_load(enum rc (*write)(FILE *f, const void *arg), const void *arg) MUST_CHECK;

#endif
