/* SPDX-License-Identifier: Apache-2.0 */
/* world_sim.h - the actors of a sim world, only for its own files and harness/net/transport_sim.c. */
#ifndef HARNESS_WORLD_SIM_WORLD_SIM_H
#define HARNESS_WORLD_SIM_WORLD_SIM_H

#include "harness/world/world.h"

struct sim_rank;

extern const struct world_ops world_sim;
extern const struct share_ops sim_share_ops;

/* The actor of rank r of w, whose ops must be world_sim. Cannot fail. */
struct sim_rank *world_sim_rank(struct world *w, int r);
/* A message of n_bytes leaves the rank of w for rank `peer` of w (world_cost). Cannot fail. */
void world_sim_sent(struct world *w, int peer, uint64_t n_bytes);
/* For share_ops. */
enum rc world_sim_host_group(struct world *w, struct world **out, int *host, int *n_hosts) MUST_CHECK;

#endif
