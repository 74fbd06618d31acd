/* SPDX-License-Identifier: Apache-2.0 */
/* collective_mutants.h - rings with one planted bug each, which collective_suite must catch. Test-only. */
#ifndef ALLREDUCE_SUITE_COLLECTIVE_MUTANTS_H
#define ALLREDUCE_SUITE_COLLECTIVE_MUTANTS_H

#include "harness/exchange/collective.h"

struct collective_mutant {
    struct collective_ops ops; /* the name begins with "bug-" */
    enum collective_type type; /* whose run or cost is wrong; other types are right */
    const char *found_as;      /* how what the suite finds begins: "A1" */
};

/* NULL: there is none of this name. */
const struct collective_mutant *collective_mutant_find(const char *name);

#endif
