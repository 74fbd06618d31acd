/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy.h - a slice in the middle of a run to a new heir (replica.h): all that its state machine needs, as the holder
 * has it between two changes. Of server*.c alone.
 *
 * Parts, in the order in which they are sent, by the tag of forwards:
 *   COPY   words: clocks, rounds, who has left, what was answered last in each slot, which gradients are kept, grants
 *          of --stop-at-step, what was counted for the report; of a run that hands out batches the book, of which
 *          batches each part has the gradients, and who asks; in as many parts as COPY_WORDS_BYTES need
 *   COPY   float[n_elems], the parameters
 *   COPY   float[n_elems] of each array of the optimiser
 *   PUSH   for each gradient that is kept for the open round: as it was pushed
 * A slice of no elements has no arrays. Hollow, arrays are as many hollow bytes.
 *
 * Invariants
 *   Y1  The copy is of one moment: no change is pending when it begins, nobody waits for a batch that is there, and
 *       from then on changes are forwarded, and made when HELD says so (replica.R2), which comes behind the HELD of
 *       the copy. So arrays and gradients are sent from where they are; and pushes wait as long as copying takes, not
 *       pulls. Parameters whose pieces are in several versions (server_version.c) are gathered first, in an array
 *       that is freed with the copy.
 *   Y2  What is forwarded since comes behind it, in the same order (transport.T4).
 *   Y3  The copy counts as the first forward: its HELD is number 1.
 *   Y4  A part that is not the next one, or not as long, or words that no slice of this run has, are refused and
 *       change nothing (wire.P5).
 *   Y5  Counts of the report go with the slice: so they are there as long as it is.
 *   Y6  What was answered last in a slot is silent in the copy (replica.R4), as is who waits: that is a push, or NEXT.
 *       (A PULL comes behind the answer to the worker's push, when it may read, and so never waits.)
 *   Y7  The book in the copy (leases.h) is one that can have become so: each batch in one place, nothing with a worker
 *       that is not there; else Y4. The new heir has the times of rounds that ended before, too (leases.B11).
 */
#ifndef PS_COPY_H
#define PS_COPY_H

#include "ps/server_state.h"

enum { COPY_WORDS_BYTES = 4000 }; /* of a part with words: with its header within any plan (transport.T13) */

/* Send slice s, which it holds, to server number `heir`, and forward what comes from now on. */
enum rc copy_begin(struct ps_server *s, int heir) MUST_CHECK;
/* HELD of it has come. */
enum rc copy_end(struct ps_server *s) MUST_CHECK;
/* Take back what is not there yet: the heir is lost, or the run is over. Of a partial replica: forget what has come. */
void copy_abandon(struct ps_server *s);
/* Part m of slice m->slice for the rank s, with the header h: COPY. RC_MISMATCH: Y4, *why. RC_NOMEM. */
enum rc copy_take(struct ps_server *s, const struct message *m, int slice, const struct ps_header *h,
                  enum refused *why) MUST_CHECK;
/* The same of a gradient, `a`: PUSH or GIVE; its message is taken from *a. */
enum rc copy_take_kept(struct ps_server *replica, struct arrival *a, const struct ps_header *h,
                       enum refused *why) MUST_CHECK;

#endif
