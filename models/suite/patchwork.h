/* SPDX-License-Identifier: Apache-2.0 */
/* patchwork.h - a made-up network of what no published one has, in one table. Tests only. */
#ifndef MODELS_SUITE_PATCHWORK_H
#define MODELS_SUITE_PATCHWORK_H

#include "models/workload.h"

extern const struct workload workload_patchwork;

#endif
