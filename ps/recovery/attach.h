/* SPDX-License-Identifier: Apache-2.0 */
/* attach.h - attaches what this folder does to a server (ps/recovery.h). */
#ifndef PS_RECOVERY_ATTACH_H
#define PS_RECOVERY_ATTACH_H

#include "harness/base/rc.h"

struct ps_server;

/* With replicas, or in an elastic run; else does nothing. With replicas also opens the slice that the rank `own`
 * follows. RC_NOMEM. */
enum rc recovery_attach(struct ps_server *own) MUST_CHECK;

#endif
