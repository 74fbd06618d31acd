/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - one server rank: holds a slice of the parameters, applies gradients in order of arrival, replies. */
#ifndef PS_SERVER_H
#define PS_SERVER_H

#include "harness/exchange/sync_mode.h"

struct transport;
struct ps_server;

/* Copies its slice of env->param_init. transport is borrowed. RC_NOMEM. */
enum rc ps_server_open(struct ps_server **out, const struct sync_env *env, struct transport *transport) MUST_CHECK;
/* Serve until every worker has left. Errors name the worker: RC_TIMEOUT (nothing heard from anybody
 * for timeout_ms), RC_MISMATCH (P1, or a message out of order). */
enum rc ps_server_run(struct ps_server *s) MUST_CHECK;
void ps_server_close(struct ps_server **s); /* NULL-safe, nulls */

#endif
