/* SPDX-License-Identifier: Apache-2.0 */
/* timeline_suite.h - what timeline.h promises of packed spans and of the file, checked on any implementation. Tests
 * only. */
#ifndef HARNESS_REPORT_SUITE_TIMELINE_SUITE_H
#define HARNESS_REPORT_SUITE_TIMELINE_SUITE_H

#include "harness/report/timeline.h"

struct timeline_impl {
    enum rc (*pack)(void **out, size_t *n_bytes, const struct timeline_source *from);
    enum rc (*unpack)(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank);
    enum rc (*write)(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                     const struct record *facts);
};

/* Number of checks that failed, each printed on standard error. */
int timeline_suite(const struct timeline_impl *impl);

extern const struct timeline_impl timeline_impl_real; /* timeline.c */
struct timeline_mutant {
    const char *name;
    struct timeline_impl impl;
};
extern const struct timeline_mutant timeline_mutants[]; /* wrong ones; the last has no name */

#endif
