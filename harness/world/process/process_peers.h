/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_peers.h - a thread of each process that watches the ranks of the run (peers.h): those of its host in memory
 * that they share, those of others by heartbeats over TCP (heartbeat.h). Private to harness/world.
 *
 * It calls no MPI, and asks nothing of the launcher. Where a rank is lost, process_peers_check() fails, and so do this
 * process's waits; a process that has not ended some seconds later is stuck in a call, and is ended here.
 */
#ifndef HARNESS_WORLD_PROCESS_PROCESS_PEERS_H
#define HARNESS_WORLD_PROCESS_PROCESS_PEERS_H

#include <stdbool.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"

struct world;
struct process_peers;
struct world_opts;

/* Begin to watch; sets w->peers. With w->losses the loss of a rank is entered there, that of a process of this host
 * also when it has ended, and one that has not is killed; the loss of rank 0 or of this rank, and world_abort() of any,
 * end the run. failure_exit_code: of a process that is ended. Collective
 * over w. Where the ranks of a host cannot share memory, the first of the host says why, and
 * they are heard of as if each had a host of its own. */
enum rc process_peers_open(struct process_peers **out, struct world *w, const struct world_opts *opts,
                           int failure_exit_code) MUST_CHECK;
/* RC_PEER once the run has failed by the loss of a rank, and names it. Cheap. NULL-safe (RC_OK). */
enum rc process_peers_check(const struct process_peers *p) MUST_CHECK;
/* Is this rank itself one that was lost, and the run goes on without it? NULL-safe (false). */
bool process_peers_lost_self(const struct process_peers *p);
/* The rank by whose loss the run has failed; false: it has not, or p is NULL. */
bool process_peers_failure(const struct process_peers *p, int *rank, const char **why);
/* With w->losses: this rank has failed; tell the others, who end. NULL-safe. */
void process_peers_fail(struct process_peers *p);
/* All ranks have met for the last time, or this one leaves before (world_leave()): nobody is silent any more. What is
 * left has opts.abort_ns to end, else the process is ended. NULL-safe. */
void process_peers_leave(struct process_peers *p);
/* Nothing is watched any more. NULL-safe, nulls. */
void process_peers_close(struct process_peers **p);

#endif
