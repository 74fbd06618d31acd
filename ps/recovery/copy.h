/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - copies a slice to a new standby (replica.h) in the middle of a run: all that its state machine needs, as the
 * holder has it between two changes. Private to this folder.
 *
 * Parts, in the order in which they are sent, with the tag of forwards:
 *   COPY   words: clocks, rounds, workers that have left, the last answer in each slot, which gradients are kept,
 *          grants of --stop-at-step, counts for the report. In an elastic run also: the work queue, which batches each
 *          part has gradients of, and which workers ask. As many parts as COPY_WORDS_BYTES need.
 *   COPY   float[n_elems], the parameters
 *   COPY   float[n_elems] of each array of the optimiser
 *   PUSH   each gradient that is kept for the open round, as it was pushed
 * A slice without elements has no arrays. In a no-data run, arrays are the same number of hollow bytes.
 *
 * Invariants
 *   Y1  The copy shows one moment. When it starts, no change is pending, and no worker waits for a batch that exists.
 *       From then on changes are forwarded, and the holder makes each one when its HELD arrives (replica.R2), which is
 *       after the HELD of the copy. So arrays and gradients are sent from their own memory. Pushes wait during the
 *       copy; pulls do not. Parameters whose chunks have several versions (V1) are gathered first, in an
 *       array that is freed with the copy.
 *   Y2  Changes forwarded since then arrive after the copy, in the same order (transport.T4).
 *   Y3  The copy counts as the first forward: its HELD is number 1.
 *   Y4  These are refused and change nothing (wire.P5): a part that is not the next one; a part of another length;
 *       words that no slice of this run has.
 *   Y5  Counts for the report belong to the slice, so they last as long as it does.
 *   Y6  In the copy, the last answer of a slot is silent (replica.R4), and so is a waiting request, which is a push or
 *       NEXT. (A PULL never waits: it is sent after the answer to the worker's push, when the worker may read.)
 *   Y7  The work queue in the copy (leases.h) must be one that can occur: each batch in one place, nothing with an
 *       absent worker; else Y4. The new standby also gets the times of rounds that ended before (leases.B11).
 */
#ifndef PS_RECOVERY_COPY_H
#define PS_RECOVERY_COPY_H

#include "ps/recovery/recovery.h"

enum { COPY_WORDS_BYTES = 4000 }; /* of a part with words; with its header within any plan (transport.T13) */

/* Sends slice s, which this server holds, to server number `heir`, and forwards changes from now on. */
enum rc copy_begin(struct ps_server *s, int heir) MUST_CHECK;
/* The HELD of the copy has arrived. */
enum rc copy_end(struct ps_server *s) MUST_CHECK;
/* Cancels unfinished transfers: the standby is lost, or the run is over. A partial replica: drops what has arrived. */
void copy_abandon(struct ps_server *s);
/* Takes COPY part m of slice m->slice, with header h, for the rank s. Errors: RC_MISMATCH (Y4, *why); RC_NOMEM. */
enum rc copy_take(struct ps_server *s, const struct message *m, int slice, const struct ps_header *h,
                  enum refused *why) MUST_CHECK;
/* The same for a gradient `a`, PUSH or GIVE; its message is taken from *a. */
enum rc copy_take_kept(struct ps_server *replica, struct arrival *a, const struct ps_header *h,
                       enum refused *why) MUST_CHECK;

#endif
