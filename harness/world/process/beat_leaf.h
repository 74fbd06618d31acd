/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_leaf.h - a process of a cell other than rank 0's, at the rim of the star (beat_hub.h): it sends the seats of its
 * cell's ranks, and shows the hub's knowledge of other ranks. Private to harness/world. Uses no clock and no MPI.
 *
 * One process of a cell has the connection: that of the lowest rank that is alive, or if none is, of the lowest that is
 * not lost. So the cell still reports if the previous process is stopped or killed. A connection that ended, or brought
 * nothing for a while, is made again. If the hub's port is closed then, rank 0 has ended and is lost.
 */
#ifndef HARNESS_WORLD_PROCESS_BEAT_LEAF_H
#define HARNESS_WORLD_PROCESS_BEAT_LEAF_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/world/process/beat_connection.h"

struct beat_leaf;

/* run, what it refers to, and seat[run->n_ranks] are borrowed. retry_ns: how long a connection may bring nothing.
 * RC_NOMEM. */
enum rc beat_leaf_open(struct beat_leaf **out, const struct beat_run *run, struct peer_seat *seat, int own_rank,
                       const struct beat_address *hub, uint64_t retry_ns) MUST_CHECK;
/* Shows received states in the seats. Never waits. */
void beat_leaf_receive(struct beat_leaf *l, uint64_t now_ns);
/* Sends the seats of the cell's ranks; connects if needed. Never waits. Returns true if it has sent. */
bool beat_leaf_send(struct beat_leaf *l, uint64_t now_ns);
/* Must this process keep the connection? */
bool beat_leaf_leads(const struct beat_leaf *l);
/* Has the hub ever answered? */
bool beat_leaf_has_heard(const struct beat_leaf *l);
/* The errno of the last attempt to connect; 0: none has failed. */
int beat_leaf_error(const struct beat_leaf *l);
void beat_leaf_close(struct beat_leaf **l); /* NULL-safe, nulls */

#endif
