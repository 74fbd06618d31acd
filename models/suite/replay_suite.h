/* SPDX-License-Identifier: Apache-2.0 */
/* replay_suite.h - what a workload that plays profiles promises. Tests only. */
#ifndef MODELS_SUITE_REPLAY_SUITE_H
#define MODELS_SUITE_REPLAY_SUITE_H

#include "models/workload.h"

/* Returns the number of failures; print: prints each on standard error. */
int replay_suite(const struct workload *w, bool print);

/* The same of micro-batches (models.M8). */
int replay_micro_batches_suite(const struct workload *w, bool print);

/* *out := a wrong player of profiles, by name, whose functions are kept in *ops; "none": a right one written another
 * way. False: no such name. */
bool replay_mutant(struct workload *out, struct training_ops *ops, const char *name);

#endif
