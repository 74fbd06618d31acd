/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - what worker and server have to agree on before a float means the same to both. */
#ifndef PS_LAYOUT_H
#define PS_LAYOUT_H

#include <stdint.h>

#include "harness/exchange/sync_mode.h"

/* A digest (FNV-1a, 64 bits) of how many parameters, workers, servers and replicas there are, of which parts of the
 * pieces `server` has, and of consistency and compression. Against mistakes: it keeps no attacker out. Never 0. Cannot
 * fail.
 */
uint64_t ps_layout_digest(const struct sync_env *env, int server);

#endif
