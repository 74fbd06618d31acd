/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_suite.h - what the host groups and shares of every world must do (world.H1 to H7). Test-only.
 *
 * Call it from the body of every rank of w. Failed expectations are printed to standard error. It stops after the first
 * case that failed anywhere.
 */
#ifndef HARNESS_WORLD_SUITE_SHARE_SUITE_H
#define HARNESS_WORLD_SUITE_SHARE_SUITE_H

#include <stdint.h>

struct world;

/* Failures on this rank, plus one where another rank failed; 0: conforms. limit_ns: of waits that must end before it.
 * failed_case (may be NULL): its name, NULL: none. */
int share_suite(struct world *w, uint64_t limit_ns, const char **failed_case);

#endif
