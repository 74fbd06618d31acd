/* SPDX-License-Identifier: Apache-2.0 */
/* limits.h - how many parameters a server may hold, and what memory workers and servers need. */
#ifndef PS_LIMITS_H
#define PS_LIMITS_H

#include "harness/exchange/sync_mode.h"

/* A message counts its elements in 32 bits: slices are sent whole. RC_INVAL. */
enum rc ps_check_slices(const struct sync_env *env) MUST_CHECK;
/* A worker: its pushes and their replies, as messages of the transport, and gathered before. A server: parameters, the
 * optimiser's arrays, and of each worker pushes and replies as long as the slice, as those that are under way at once
 * are of different pieces; of worker 0 the state; with replicas as much again, of the slice that it follows. What
 * servers take over and follow since others were lost is counted for each host (train/job_memory.c). */
struct memory_need ps_memory(const void *opts, const struct job_facts *facts);

#endif
