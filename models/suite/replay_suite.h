/* SPDX-License-Identifier: Apache-2.0 */
/* replay_suite.h - what a workload that plays profiles promises. Test-only. */
#ifndef MODELS_SUITE_REPLAY_SUITE_H
#define MODELS_SUITE_REPLAY_SUITE_H

#include "models/workload.h"

/* Returns the number of failures; loud: tell each on standard error. */
int replay_suite(const struct workload *ops, bool loud);

/* *out := a wrong player of profiles, by name; "none": a right one written another way. False: no such name. */
bool replay_mutant(struct workload *out, const char *name);

#endif
