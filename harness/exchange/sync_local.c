/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_local.c - modes that exchange nothing: "single" (one worker) and "none" (every worker for
 * itself: the control, what compute alone would give).
 */
#include "harness/exchange/sync_mode.h"

const struct sync_mode sync_none = { .module.name = "none" };

const struct sync_mode sync_single = { .module.name = "single", .module.caps = MODE_SHARED_PARAMS | MODE_ONE_WORKER };
