/* SPDX-License-Identifier: Apache-2.0 */
/* sync_allreduce.h - the synchronous mode: average the gradients over all workers, apply, continue. */
#ifndef ALLREDUCE_SYNC_ALLREDUCE_H
#define ALLREDUCE_SYNC_ALLREDUCE_H

#include "harness/exchange/sync_mode.h"

/* env.transport and env.collective are required; no servers. */
extern const struct sync_mode sync_allreduce;

#endif
