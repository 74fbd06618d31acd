/* SPDX-License-Identifier: Apache-2.0 */
/*
 * background.h - one thread that runs a function on request while the caller continues. The thread is not a rank: it
 * shares the rank's memory and cores, and uses no world. Not used in sim.
 *
 * Invariants
 *   B1  fn runs once for each background_start(), never twice at a time, in the order of the starts.
 *   B2  What fn wrote can be read after background_wait() or background_close(); what the caller wrote before
 *       background_start() can be read in fn.
 *   B3  While the thread waits it sleeps in the kernel. Nothing allocates after open.
 */
#ifndef HARNESS_WORLD_BACKGROUND_H
#define HARNESS_WORLD_BACKGROUND_H

#include <stdint.h>

#include "harness/base/rc.h"

struct background;

/* Start the thread; it waits for background_start(). RC_NOMEM. */
enum rc background_open(struct background **out, void (*fn)(void *arg), void *arg) MUST_CHECK;
/* From now on the caller's waits call tick(arg) every 20 ms (world.P1); NULL, as after open: no calls. */
void background_set_tick(struct background *b, void (*tick)(void *arg), void *arg);
/* Run fn(arg) in the thread; waits first for the previous run to end. */
void background_start(struct background *b);
/* Wait until fn(arg) has ended; returns at once if it was not started. */
void background_wait(struct background *b);
void background_close(struct background **b); /* waits for the run under way; NULL-safe, nulls */

#endif
