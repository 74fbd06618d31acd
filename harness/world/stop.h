/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - a process that receives SIGINT, SIGTERM or SIGHUP ends early and keeps its results; the ranks of a run end
 * after the same step.
 *
 * A launcher passes these signals on to all its processes, at times that differ, or a user sends one to a single rank.
 * So the ranks agree, without messages of their own: in their seats (peers.h) they show how many steps they have begun,
 * and that the run is to stop.
 *
 * Invariants
 *   Z1  All ranks that begin steps end after the same number of them: the most that any had begun when it first saw
 *       that the run stops. It is at least 1, and every step that was begun is done by all.
 *   Z2  Where all seats are in one memory (peers.cell is NULL) no rank waits for another to find that number. Else the
 *       process of rank 0 finds it, by the heartbeats between hosts, and a rank that is about to begin a step waits for
 *       it, some heartbeats long.
 *   Z3  Without a signal, beginning a step costs one store and two loads, and nothing that others read or write.
 *   Z4  STOP_AT_ONCE, of ranks that need not end after the same step: each ends before its next one.
 *       STOP_ALONE: a signal of the rank's process is the rank's alone, unless its launcher stops the whole run
 *       (stop_by_launcher()); the others do not hear of it.
 */
#ifndef HARNESS_WORLD_STOP_H
#define HARNESS_WORLD_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct peers;
struct world;

/* --- the process --- */

/* From now on these signals do not end the process; one that was ignored stays so. Cannot fail. */
void stop_catch(void);
/* The same for the first of them. The next one ends the process as if none were caught, if it comes STOP_AGAIN_MS later
 * or more: some senders, timeout(1) among them, send one twice. */
void stop_catch_first(void);
enum { STOP_AGAIN_MS = 200 };
/* As before stop_catch(): they end the process, and none has been received. */
void stop_release(void);
/* Has one of them been received since then? */
bool stop_wanted(void);
/* Which one, the first; 0: none. */
int stop_signal(void);
/* "SIGTERM". */
const char *stop_signal_name(int number);

/* The launcher of the run stops all of it: as if this process had received the signal, which is then no rank's alone.
 */
void stop_by_launcher(int number);
/* Was it? */
bool stop_is_of_launcher(void);

/* --- the ranks of a run --- */

enum stop_rule { STOP_TOGETHER /* Z1 */, STOP_AT_ONCE, STOP_ALONE };
/* What a signal does to this rank and the others from now on; before, and without this: Z1. Of all ranks of a run that
 * begin steps none or all have STOP_TOGETHER. */
void world_set_stop(struct world *w, enum stop_rule rule);
/* Z4, of a rank that is about to begin a step: does the run stop? The others hear of it. */
bool world_stops_now(struct world *w);
/* Of a rank with STOP_ALONE: the signal that is for it alone; 0: none. */
int world_own_signal(const struct world *w);

/* This rank is about to begin its n_begun-th step (from 1 on, one more with each call). *out: it is to; false: it ends,
 * and so do all others, after as many steps as this one has done. Or it goes on to a later one, where all others do so
 * by the same rule: from here on the answer is false on all ranks. Ranks whose steps nobody counts (parameter servers)
 * do not call. RC_UNSUPPORTED: a signal came, but hosts do not hear of each other; RC_PEER: the run failed. */
enum rc world_begin_step(struct world *w, int64_t n_begun, bool *out) MUST_CHECK;
/* The signal for which the ranks stop; 0: none, as far as this rank knows. */
int world_stop_signal(const struct world *w);

/* Of a watcher whose seats are not all in one memory: show the signal of this process, or of any rank, to the ranks of
 * the own cell, and in the cell of rank 0 find the number of steps (Z1) once all ranks show it. True: that is under
 * way, and needs a look soon. Cheap. */
bool stop_look(struct peers *p);

#endif
