/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer_suite.h - what every reducer must do, over whatever transport: A1 to A5.
 *
 * Test-only. Call it from a rank body, on all ranks; it opens and closes its own transport. Input is a small
 * integer function of (rank, index), so that any order of summation is exact and comparison is bitwise; no two
 * ranks or indices hold the same pattern, so that a reversed or shifted result shows.
 */
#ifndef ALLREDUCE_SUITE_REDUCER_SUITE_H
#define ALLREDUCE_SUITE_REDUCER_SUITE_H

struct world;
struct transport_ops;
struct reducer;

/* Failures on this rank; the failed expectations are printed to standard error unless quiet. Collective. */
int reducer_suite(struct world *w, const struct transport_ops *transport, const struct reducer *ops, int quiet);

#endif
