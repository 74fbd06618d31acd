/* SPDX-License-Identifier: Apache-2.0 */
/* share_process.h - shares of processes. Private to harness/world. */
#ifndef HARNESS_WORLD_PROCESS_SHARE_PROCESS_H
#define HARNESS_WORLD_PROCESS_SHARE_PROCESS_H

#include "harness/world/share.h"

extern const struct share_ops process_share_ops;

#endif
