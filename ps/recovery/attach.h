/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - attaches what this folder does to a server (ps/recovery.h). */
#ifndef PS_RECOVERY_ATTACH_H
#define PS_RECOVERY_ATTACH_H

#include "harness/exchange/sync_mode.h"

struct ps_server;

/* Memory that a server needs for it, beside the slices. Pure. */
size_t recovery_bytes(const struct job_facts *facts);

/* With replicas, or in an elastic run; else does nothing. With replicas also opens the slice that the rank `own`
 * follows. RC_NOMEM. */
enum rc recovery_attach(struct ps_server *own) MUST_CHECK;

#endif
