/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mutants.h - backends with one planted bug each; compute_suite must catch them all. Tests only. */
#ifndef HARNESS_COMPUTE_SUITE_COMPUTE_MUTANTS_H
#define HARNESS_COMPUTE_SUITE_COMPUTE_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/compute/compute.h"

/* out := cpu or hollow with the bug called name; false: no such bug. Those called control_* are correct: other bugs
 * are planted in the same code, and the suite must pass them. member := the operation that was replaced. */
bool compute_mutant(struct compute_backend *out, const char **member, const char *name);

/* The rest is between the two files of mutants. */
typedef void compute_any_function(void);

struct compute_mutant {
    const char *name;
    const struct compute_backend *base;
    const char *member;
    size_t offset_bytes; /* of the member that is replaced in struct compute_backend */
    compute_any_function *function;
};

#define COMPUTE_MUTANT(base, member, function)                                         \
    {                                                                                  \
#function, &compute_##base, #member, offsetof(struct compute_backend, member), \
            (compute_any_function *)(function)                                         \
    }

extern const struct compute_mutant mutants_images[];
extern const size_t n_mutants_images;

#endif
