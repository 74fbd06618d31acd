/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_suite.h - what every collective algorithm must do, over whatever transport: A1 to A6, for each of its
 * types.
 *
 * Test-only. Call it from a rank body, on all ranks; it opens and closes its own transports: one as it is and, if it
 * adds received values in place, one that does not. Addends are a small integer function of (rank, index), so that any
 * order of summation is exact and comparison is bitwise; no two ranks or indices hold the same pattern, so that a
 * reversed or shifted result shows. What is copied are arbitrary bits, NaN and -0 among them.
 */
#ifndef ALLREDUCE_SUITE_COLLECTIVE_SUITE_H
#define ALLREDUCE_SUITE_COLLECTIVE_SUITE_H

struct world;
struct transport_ops;
struct collective_ops;

struct collective_finding { /* the first failed expectation of a rank */
    const char *type;       /* "reduce-scatter"; NULL: none has failed */
    char what[128];         /* begins with the invariant: "A1: ..." */
};

/* option: some of an algorithm, as typed, blanks between: "--ring.segment-bytes=8"; NULL: all at their defaults.
 * Failures on this rank; the failed expectations are printed to standard error unless quiet. Collective. The program
 * counts its allocations (harness/base/suite/test_allocations.h). */
int collective_suite(struct world *w, const struct transport_ops *transport, const struct collective_ops *ops,
                     const char *option, int quiet, struct collective_finding *first);

#endif
