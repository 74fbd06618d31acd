/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_hub.h - a thread of the process of rank 0: it gathers the gang, and is where its collectives meet
 * (tcp_protocol.h). Private to harness/world/tcp.
 */
#ifndef HARNESS_WORLD_TCP_TCP_HUB_H
#define HARNESS_WORLD_TCP_TCP_HUB_H

#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/world/host_address.h"
#include "harness/world/peers.h"
#include "harness/world/tcp/gang.h"

struct tcp_hub;

/* Listen at gang->root, or on gang->listening_fd, and begin. *link_fd: one end of a connection for this process, which
 * the caller owns. gang is borrowed. RC_IO: nobody can listen there; RC_NOMEM. */
enum rc tcp_hub_open(struct tcp_hub **out, const struct gang *gang, enum on_loss on_loss, int *link_fd) MUST_CHECK;
/* Where losses are reported, before rank 0 calls TCP_BEGIN: from that on the loss of a rank is shown in seat[n_ranks],
 * and read in losses; both NULL: not any more, and when this returns the hub does not use them. NULL-safe in the hub.
 */
void tcp_hub_watch(struct tcp_hub *h, struct peer_seat *seat, const struct peer_losses *losses);
/* The address at which a rank of another host has reached this one; out stays as it is where there is none, or before
 * TCP_GO. */
void tcp_hub_reached_address(struct tcp_hub *h, char out[HOST_ADDRESS_BYTES]);
/* Connections that were none of a member's so far. */
uint64_t tcp_hub_n_strangers(const struct tcp_hub *h);
/* Waits some seconds at most for members that have not left. NULL-safe, nulls. */
void tcp_hub_close(struct tcp_hub **h);

#endif
