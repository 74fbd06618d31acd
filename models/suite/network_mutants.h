/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network_mutants.h - planted mistakes in the tables of networks, for tests only. A test program that links this links
 * the builder with --wrap for each function below that has a __wrap_ form; one mutant is on at a time.
 */
#ifndef MODELS_SUITE_NETWORK_MUTANTS_H
#define MODELS_SUITE_NETWORK_MUTANTS_H

#include <stdbool.h>

#include "models/workload.h"

struct network_mutant {
    const char *name;
    const struct workload *workload; /* the network that shows it */
    struct network_opts opts;
};

/* NULL: no such mutant; it is on from here on. */
const struct network_mutant *network_mutant_start(const char *name);
/* Mutants that change what was opened, not the calls that build it. */
void network_mutant_change(struct network *n);
/* From here on every dropout keeps everything: what is left can be compared with another program. */
void network_mutants_keep_all(void);

#endif
