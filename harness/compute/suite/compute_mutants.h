/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mutants.h - backends with one planted bug each; the suite must catch them all. Tests only. */
#ifndef HARNESS_COMPUTE_SUITE_COMPUTE_MUTANTS_H
#define HARNESS_COMPUTE_SUITE_COMPUTE_MUTANTS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/compute/compute.h"

/* out := cpu or hollow with the bug called name; false: no such bug. Those called control_* are right: they are
 * what other bugs were planted in, and the suite must pass them. member := the operation that was replaced. */
bool compute_mutant(struct compute_backend *out, const char **member, const char *name);

/* The rest is between the files of the mutants. */
typedef void compute_any_function(void);

struct compute_mutant {
    const char *name;
    const struct compute_backend *base;
    const char *member;
    size_t at; /* the member that is replaced, and by what */
    compute_any_function *function;
};

#define COMPUTE_MUTANT(name, base, member, function)                                                                 \
    {                                                                                                                \
        name, &compute_##base, #member, offsetof(struct compute_backend, member), (compute_any_function *)(function) \
    }

extern const struct compute_mutant compute_mutants_convs[], compute_mutants_layers[];
extern const size_t compute_n_mutants_convs, compute_n_mutants_layers;

#endif
