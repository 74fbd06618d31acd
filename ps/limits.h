/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many parameters a server may hold, and what memory workers and servers need. */
#ifndef PS_LIMITS_H
#define PS_LIMITS_H

#include "harness/exchange/sync_mode.h"

/* RC_INVAL: a slice is too large. A slice is sent whole, and a message counts its elements in 32 bits. */
enum rc ps_check_slices(const struct sync_env *env) MUST_CHECK;
/* The memory that a rank needs. A worker: its pushes and their replies, as messages of the transport, and the arrays
 * they are gathered in. A server: parameters and the optimiser's arrays; pushes and replies of each worker, as long as
 * the slice, because outstanding ones belong to different chunks; the state for worker 0. With replicas it needs the
 * same again for the slice that it follows. Slices that servers take over or follow after a loss are counted per host
 * (train/job_memory.c). */
struct memory_need ps_memory(const void *opts, const struct job_facts *facts);

#endif
