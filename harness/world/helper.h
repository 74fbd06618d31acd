/* SPDX-License-Identifier: Apache-2.0 */
/*
 * helper.h - one thread that runs a function when asked, while the caller goes on. No rank: it shares the
 * rank's memory and cores, and knows no world. Not used in sim.
 *
 * Invariants
 *   H4  fn runs once for each helper_start(), never twice at a time, in the order of the starts.
 *   H5  What fn wrote can be read after helper_wait() or helper_close(); what the caller wrote before
 *       helper_start() can be read in fn.
 *   H6  While it waits it sleeps. Nothing allocates after open.
 */
#ifndef HARNESS_WORLD_HELPER_H
#define HARNESS_WORLD_HELPER_H

#include <stdint.h>

#include "harness/base/rc.h"

struct helper;

/* RC_NOMEM. */
enum rc helper_open(struct helper **out, void (*fn)(void *arg), void *arg) MUST_CHECK;
/* Start fn(arg); waits for the one before to end first. */
void helper_start(struct helper *h);
/* Until fn(arg) has ended; at once if it was not started. */
void helper_wait(struct helper *h);
/* Time the caller spent in waits, in all. */
uint64_t helper_waited_ns(const struct helper *h);
void helper_close(struct helper **h); /* waits; NULL-safe, nulls */

#endif
