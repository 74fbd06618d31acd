/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_hub.h - the process of rank 0 as the middle of a star: it receives the state of the ranks of other cells
 * (beat_frame.h) and answers with what other cells must know. Private to harness/world. Uses no clock and no MPI.
 *
 * A cell has one connection, the newest that sent a frame of this run. Other connections are strangers: few are kept,
 * and only for a short time. A frame to the cells has rank 0, and all ranks that are not alive or have failed.
 */
#ifndef HARNESS_WORLD_PROCESS_BEAT_HUB_H
#define HARNESS_WORLD_PROCESS_BEAT_HUB_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/world/process/beat_connection.h"

struct beat_hub;

/* Listens at address->host; sets address->port. run, what it refers to, and seat[run->n_ranks] are borrowed; run->token
 * may be set later, before the first call of receive. RC_IO, RC_NOMEM. */
enum rc beat_hub_open(struct beat_hub **out, const struct beat_run *run, struct peer_seat *seat,
                      struct beat_address *address) MUST_CHECK;
/* Shows received states in the seats. Never waits. */
void beat_hub_receive(struct beat_hub *h, uint64_t now_ns);
/* Answers all cells. Never waits. */
void beat_hub_send(struct beat_hub *h);
/* Number of cells with a connection. */
int beat_hub_n_cells(const struct beat_hub *h);
void beat_hub_close(struct beat_hub **h); /* NULL-safe, nulls */

#endif
