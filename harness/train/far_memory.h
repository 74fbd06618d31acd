/* SPDX-License-Identifier: Apache-2.0 */
/*
 * far_memory.h - a cpu whose memory the host cannot reach, as a GPU's: its pointers lie 2^62 bytes off, where no
 * address is valid, so that whoever follows one ends at once. Test-only.
 */
#ifndef HARNESS_TRAIN_FAR_MEMORY_H
#define HARNESS_TRAIN_FAR_MEMORY_H

#include "harness/compute/compute.h"

extern const struct compute_backend compute_far;

#endif
