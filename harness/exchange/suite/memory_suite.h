/* SPDX-License-Identifier: Apache-2.0 */
/* memory_suite.h - what exchange_memory.h and initial_broadcast_shared() promise, on any version of them. Test-only. */
#ifndef HARNESS_EXCHANGE_SUITE_MEMORY_SUITE_H
#define HARNESS_EXCHANGE_SUITE_MEMORY_SUITE_H

#include "harness/exchange/exchange_memory.h"

struct memory_impl {
    const char *name;
    enum rc (*open)(struct exchange_memory *out, const struct exchange_memory_env *env);
    void (*close_gradients)(struct exchange_memory *m);
    enum rc (*broadcast)(const struct exchange_memory *m, const struct initial_array *a);
};
extern const struct memory_impl memory_impl_real;
/* With one bug; NULL: there is none of that name. */
const struct memory_impl *memory_mutant(const char *name);

enum { RANKS_PER_SIM_HOST = 2 };

/* Collective over w, of at least 3 ranks, of which the last is a server; sim: on hosts of RANKS_PER_SIM_HOST. Failures
 * of this rank; printed unless quiet.
 */
int memory_suite(struct world *w, const struct memory_impl *impl, bool quiet);

#endif
