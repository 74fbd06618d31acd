/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_hub.h - a thread of the process of rank 0: it gathers the process group and executes its collectives
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

/* Listens at gang->root, or on gang->listening_fd, and starts the thread. *link_fd: one end of a connection for this
 * process, owned by the caller. gang is borrowed. Errors: RC_IO if it cannot listen there; RC_NOMEM. */
enum rc tcp_hub_open(struct tcp_hub **out, const struct gang *gang, enum on_loss on_loss, int *link_fd) MUST_CHECK;
/* If losses are reported: call before rank 0 calls TCP_BEGIN. From then on seat[n_ranks] shows the loss of a rank, and
 * the hub reads losses. Both NULL: stops that; when this returns the hub does not use them any more. NULL-safe in the
 * hub.
 */
void tcp_hub_watch(struct tcp_hub *h, struct peer_seat *seat, const struct peer_losses *losses);
/* The address at which a rank of another host has reached this one. Leaves out unchanged if no such address exists, or
 * before TCP_GO. */
void tcp_hub_reached_address(struct tcp_hub *h, char out[HOST_ADDRESS_BYTES]);
/* Connections so far that were not a member's. */
uint64_t tcp_hub_n_strangers(const struct tcp_hub *h);
/* Waits at most some seconds for members that have not left. NULL-safe, nulls. */
void tcp_hub_close(struct tcp_hub **h);

#endif
