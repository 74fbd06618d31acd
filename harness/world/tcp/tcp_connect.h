/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_connect.h - how a rank finds the hub and is admitted. Private to tcp_link.c. */
#ifndef HARNESS_WORLD_TCP_TCP_CONNECT_H
#define HARNESS_WORLD_TCP_TCP_CONNECT_H

#include "harness/world/tcp/tcp_link.h"

/* As tcp_link_open(). */
enum rc tcp_connect(struct tcp_stream **out, const struct tcp_link_opts *opts, int *host_of) MUST_CHECK;
/* Sleeps until the next message. RC_TIMEOUT: none came until limit_ns, of wait_clock_ns(). */
enum rc tcp_await_message(struct tcp_stream *s, struct tcp_message *out, uint64_t limit_ns) MUST_CHECK;

#endif
