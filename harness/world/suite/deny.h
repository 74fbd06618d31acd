/* SPDX-License-Identifier: Apache-2.0 */
/* deny.h - take system calls and rights from the calling thread, as other systems do. Test-only. */
#ifndef HARNESS_WORLD_SUITE_DENY_H
#define HARNESS_WORLD_SUITE_DENY_H

#include <stdbool.h>

/* From now on this call fails with `error`, or kills the process where that is 0. argument: which one must equal value
 * (its lower 32 bits), for the call to be denied; -1: any. False: this system has no such filters. */
bool deny_call(long call, int argument, unsigned value, int error);

/* Give up the right to look into processes that do not want it. False: refused. */
bool deny_trace(void);

#endif
