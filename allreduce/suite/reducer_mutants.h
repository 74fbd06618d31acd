/* SPDX-License-Identifier: Apache-2.0 */
/* reducer_mutants.h - ring reducers with one planted bug each, which reducer_suite must catch. Test-only. */
#ifndef ALLREDUCE_SUITE_REDUCER_MUTANTS_H
#define ALLREDUCE_SUITE_REDUCER_MUTANTS_H

struct reducer;

/* NULL-terminated; names begin with "bug-". */
const struct reducer *const *reducer_mutants(void);

#endif
