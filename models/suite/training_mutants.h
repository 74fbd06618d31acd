/* SPDX-License-Identifier: Apache-2.0 */
/* training_mutants.h - mistakes in the making of a program, one each, which training_suite() must catch. Tests only. */
#ifndef MODELS_SUITE_TRAINING_MUTANTS_H
#define MODELS_SUITE_TRAINING_MUTANTS_H

#include "models/engine/trainer.h"

struct training_mutant {
    const char *name;
    const char *model;                        /* the variant in which it shows */
    void (*plant)(struct network_trainer *t); /* aborts when there is nothing to plant it in */
};
/* The last one has no name. */
extern const struct training_mutant training_mutants[];

#endif
