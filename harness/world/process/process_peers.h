/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_peers.h - a thread of each process that watches the ranks of the run (peers.h): those of its host in shared
 * memory, those of other hosts by heartbeats over TCP (heartbeat.h). Private to harness/world.
 *
 * It calls neither MPI nor the launcher. If a rank is lost, process_peers_check() fails, and so do this process's
 * waits. A process that has not ended some seconds later is stuck in a call, and is ended here.
 */
#ifndef HARNESS_WORLD_PROCESS_PROCESS_PEERS_H
#define HARNESS_WORLD_PROCESS_PROCESS_PEERS_H

#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"

struct world;
struct process_peers;
struct world_opts;

/* Starts to watch; sets w->peers. With w->losses the loss of a rank is entered there. For a process of this host that
 * is also done when it has ended; one that has not ended is killed. The loss of rank 0 or of this rank, and
 * world_abort() of any, end the run. failure_exit_code: of a process that is ended. Collective over w. If the ranks of
 * a host cannot share memory, the first of the host reports why, and they are watched as if each had a separate
 * host. */
enum rc process_peers_open(struct process_peers **out, struct world *w, const struct world_opts *opts,
                           int failure_exit_code) MUST_CHECK;
/* RC_PEER once the run has failed by the loss of a rank, and names it. Cheap. NULL-safe (RC_OK). */
enum rc process_peers_check(const struct process_peers *p) MUST_CHECK;
/* Is this rank itself lost, while the run continues without it? NULL-safe (false). */
bool process_peers_lost_self(const struct process_peers *p);
/* The rank whose loss has failed the run; false: it has not failed, or p is NULL. */
bool process_peers_failure(const struct process_peers *p, int *rank, const char **why);
/* With w->losses: this rank has failed; informs the other ranks, which end. NULL-safe. */
void process_peers_fail(struct process_peers *p);
/* The last meeting, of all ranks of the run that are not lost; sets *are_all if no rank is. Collective; ranks sleep in
 * it. */
enum rc process_peers_meet_at_end(struct world *w, bool *are_all) MUST_CHECK;
/* All ranks have met for the last time, or this one leaves before (world_leave()): no rank counts as silent any more.
 * The process is ended if it has not ended after opts.abort_ns. NULL-safe. */
void process_peers_leave(struct process_peers *p);
/* Ends the watch. NULL-safe, nulls. */
void process_peers_close(struct process_peers **p);

#endif
