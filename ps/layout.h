/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - the facts that a worker and a server must agree on, so that a float means the same to both. */
#ifndef PS_LAYOUT_H
#define PS_LAYOUT_H

#include <stdint.h>

#include "harness/exchange/sync_mode.h"

/* A digest (FNV-1a, 64 bits) of the numbers of parameters, workers, servers and replicas, of the parts of chunks that
 * `server` has, and of consistency and compression. It detects mistakes, not attacks. Never 0. Cannot fail.
 */
uint64_t ps_layout_digest(const struct sync_env *env, int server);

#endif
