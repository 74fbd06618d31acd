/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_suite.h - what every world must do: collectives, splits, clock, pauses.
 *
 * Test-only (library gm_world_testing). Call it from a rank body, on all ranks; it uses only the
 * world. How worlds end (world.W4, W5) needs worlds that end: ends_kit.h, world_mpi_test.c.
 * Failed expectations are printed to standard error. It stops after the first case that failed
 * anywhere.
 */
#ifndef HARNESS_WORLD_SUITE_WORLD_SUITE_H
#define HARNESS_WORLD_SUITE_WORLD_SUITE_H

struct world;

/* Failures on this rank, plus one where another rank failed; 0: conforms. Collective. failed_case
 * (may be NULL): its name, NULL: none. */
int world_suite(struct world *w, const char **failed_case);

#endif
