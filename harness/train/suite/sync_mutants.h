/* SPDX-License-Identifier: Apache-2.0 */
/* sync_mutants.h - sync modes with one planted bug each, which sync_suite must catch. Test-only. */
#ifndef HARNESS_TRAIN_SUITE_SYNC_MUTANTS_H
#define HARNESS_TRAIN_SUITE_SYNC_MUTANTS_H

#include "harness/exchange/sync_mode.h"

enum { SYNC_N_MUTANTS = 8 };

/* *out := mutant i; its display name. Cannot fail for 0 <= i < SYNC_N_MUTANTS. */
const char *sync_mutant(struct sync_mode *out, int i);

#endif
