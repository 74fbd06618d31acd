/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat.h - cells of ranks that show each other their seats: a star over TCP, never MPI, with the process of
 * rank 0 in the middle (beat_hub.h, beat_leaf.h). It is encrypted with a key that the bootstrap of the run distributes.
 * Private to harness/world.
 *
 * Each rank is judged by the processes of its cell. The hub also judges the ranks of other cells, and every process
 * judges rank 0, a little later. So a cell that sends nothing is noticed, and a cell that receives nothing from the hub
 * ends.
 */
#ifndef HARNESS_WORLD_PROCESS_HEARTBEAT_H
#define HARNESS_WORLD_PROCESS_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"

struct world;
struct heartbeat;

/* cell[w->n_ranks] (beat_frame.h) and seat[w->n_ranks] are borrowed. slack_ns[w->n_ranks]: set, for a watch of this
 * process. Collective over w, which is the world of the run; ends within seconds. Cells that cannot reach the hub are
 * not watched by other cells; rank 0 reports that once, or with ON_LOSS_REPORT it is RC_UNSUPPORTED. Otherwise RC_OK,
 * RC_PEER; *out stays NULL if there is nothing to do. */
enum rc heartbeat_open(struct heartbeat **out, struct world *w, const int *cell, struct peer_seat *seat,
                       const struct peer_opts *opts, uint64_t interval_ns, uint64_t *slack_ns) MUST_CHECK;
/* Call before and after each look at the seats, by one thread at a time. They never wait. NULL-safe. */
void heartbeat_receive(struct heartbeat *h, uint64_t now_ns);
void heartbeat_send(struct heartbeat *h, uint64_t now_ns);
/* Do all cells get each other's states? The same on all ranks. NULL-safe (false). */
bool heartbeat_reaches_all(const struct heartbeat *h);
void heartbeat_close(struct heartbeat **h); /* NULL-safe, nulls */

#endif
