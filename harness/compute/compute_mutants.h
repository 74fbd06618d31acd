/* SPDX-License-Identifier: Apache-2.0 */
/* compute_mutants.h - backends with one planted bug each; the suite must catch them all. Tests only. */
#ifndef HARNESS_COMPUTE_COMPUTE_MUTANTS_H
#define HARNESS_COMPUTE_COMPUTE_MUTANTS_H

#include <stdbool.h>

#include "harness/compute/compute.h"

/* out := cpu or hollow with the bug called name; false: no such bug. */
bool compute_mutant(struct compute_backend *out, const char *name);

#endif
