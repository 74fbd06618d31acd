/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - one server rank: holds a slice of the parameters, applies gradients in order of arrival, replies. */
#ifndef PS_SERVER_H
#define PS_SERVER_H

#include "harness/exchange/sync_mode.h"

struct ps_server;

/* Copies env->slice_param and slice_state. RC_NOMEM. */
enum rc ps_server_open(struct ps_server **out, const struct sync_env *env) MUST_CHECK;
/* How long a server waits for a message from any rank: timeout_ms (0: no limit), or PS_SILENT_STEPS steps of step_ns if
 * that is longer. Pure. */
enum { PS_SILENT_STEPS = 20 };
int ps_server_silence_ms(int timeout_ms, uint64_t step_ns);
/* Serves until every worker has left. Errors name the worker: RC_TIMEOUT (no message from any rank for
 * ps_server_silence_ms()), RC_MISMATCH (P1, or a message out of order). */
enum rc ps_server_run(struct ps_server *s, uint64_t step_ns) MUST_CHECK;
/* What it has served so far. */
void ps_server_facts(const struct ps_server *s, struct server_facts *out);
void ps_server_close(struct ps_server **s); /* NULL-safe, nulls */

#endif
