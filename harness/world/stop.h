/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop.h - a process that receives SIGINT, SIGTERM or SIGHUP ends early and keeps its results; the ranks of a run end
 * after the same step.
 *
 * A launcher passes these signals on to all its processes, at different times, or a user sends one to a single rank.
 * So the ranks agree, without extra messages: their seats (peers.h) show how many steps they have begun, and that the
 * run must stop.
 *
 * Invariants
 *   Z1  All ranks that begin steps end after the same number of them: the most that any had begun when it first saw
 *       that the run stops. It is at least 1, and every step that was begun is done by all.
 *   Z2  If all seats are in one memory (peers.cell is NULL) no rank waits for another to find that number. Else the
 *       process of rank 0 finds it, by the heartbeats between hosts. A rank that is about to begin a step waits for it,
 *       for some heartbeats.
 *   -   Without a signal, the start of a step costs one store and two loads of data that other ranks do not access.
 *   Z4  STOP_AT_ONCE, for ranks that need not end after the same step: each ends before its next one.
 *       STOP_ALONE: a signal to the rank's process stops only that rank, unless its launcher stops the whole run
 *       (stop_by_launcher()); the other ranks do not see it.
 *   Z5  A handler never runs on a stack that is used for computation: that of the thread that called stop_catch(), of
 *       ranks and tasks that are threads (world_threads.c, thread_tasks.c), of the threads of a pool, and of a
 *       background thread. Threads that only pass messages on have no such stack. A matrix product whose code oneDNN
 *       has made at run time may keep values further below the stack pointer than the ABI allows. A handler on the same
 *       stack overwrites them, and then the product overwrites the heap.
 */
#ifndef HARNESS_WORLD_STOP_H
#define HARNESS_WORLD_STOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct peers;
struct world;

/* --- the process --- */

/* From now on these signals do not end the process; an ignored one stays ignored. Cannot fail. */
void stop_catch(void);
/* The same for the first signal. The next one ends the process as usual if it comes STOP_AGAIN_MS later or more: some
 * senders, such as timeout(1), send one twice. */
void stop_catch_first(void);
enum { STOP_AGAIN_MS = 200 };
/* Restores the state before stop_catch(): the signals end the process, and none has been received. */
void stop_release(void);
/* Has a signal been received since stop_catch()? */
bool stop_wanted(void);
/* The first signal received; 0: none. */
int stop_signal(void);
/* "SIGTERM". */
const char *stop_signal_name(int number);

/* The launcher stops the whole run: as if this process had received the signal, which then stops every rank. */
void stop_by_launcher(int number);
/* Has the launcher stopped the run? */
bool stop_is_of_launcher(void);

/* --- the ranks of a run --- */

enum stop_rule { STOP_TOGETHER /* world.Z1 */, STOP_AT_ONCE, STOP_ALONE };
/* The effect of a signal on this rank and the other ranks from now on; before that: world.Z1. Among all ranks of a run
 * that begin steps, either none or all have STOP_TOGETHER. */
void world_set_stop(struct world *w, enum stop_rule rule);
/* world.Z4, for a rank that is about to begin a step: does the run stop? Other ranks then see that. */
bool world_stops_now(struct world *w);
/* For a rank with STOP_ALONE: the signal that stops only this rank; 0: none. */
int world_own_signal(const struct world *w);

/* This rank is about to begin its n_begun-th step (from 1 on, one more with each call). *out true: begin it. false:
 * this rank ends after the steps that it has done, and all other ranks end after the same number of steps. After a
 * signal it may still be true for some steps, until this rank has done as many as the other ranks. Ranks whose steps
 * are not counted (parameter servers) do not call. Errors: RC_UNSUPPORTED if a signal came but the hosts have no
 * heartbeats; RC_PEER if the run failed. */
enum rc world_begin_step(struct world *w, int64_t n_begun, bool *out) MUST_CHECK;
/* The signal that stops the ranks; 0: none known to this rank. */
int world_stop_signal(const struct world *w);

/* For a watcher whose seats are not all in one memory. Shows the signal of this process, or of any rank, to the ranks
 * of the same cell. In the cell of rank 0, finds the number of steps (world.Z1) once all ranks show the signal. Returns
 * true while that is in progress and needs a look soon. Cheap. */
bool stop_look(struct peers *p);

/* --- the stacks on which signal handlers run, in each thread that computes (world.Z5) --- */

enum { STOP_STACK_BYTES = 1 << 16 };

struct stop_stack {
    void *memory; /* NULL: none */
    bool is_open;
    stack_t before;
};

/* Allocates its memory; without memory, handlers run on the thread's own stack. */
void stop_stack_init(struct stop_stack *out);
/* From now on handlers that interrupt this thread run there. Does not allocate. */
void stop_stack_open(struct stop_stack *s);
/* Restores the state before stop_stack_init(); called by the thread that opened it, before it ends. The argument is a
 * struct stop_stack, as pthread_cleanup_push() needs it. A second call does nothing. */
void stop_stack_close(void *stack);

#endif
