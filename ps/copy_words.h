/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_words.h - the words of a copy (copy.h): u64 each, little-endian, in one order for who writes and who reads them.
 *
 *   layout (layout.h), n_updates_before, n_granted, n_left, n_seen
 *   pushes by staleness, late ones, the greatest lead, those refused as not finite, copies and their bytes (copy.Y5)
 *   of each piece   clock, n_rolled_back, n_rounds_restored, round, slowest, n_slowest, n_kept; and of each worker its
 *                   clock, and whether it is out (clocks.h)
 *   of each worker  state, may_push, is_seen; and of each slot which of these it is: used, waiting, with a gradient
 *                   that is kept, not finite; and the header of its answer (wire.h)
 *
 * and of a run that hands out batches (leases.h):
 *
 *   of each worker  has_begun, asks, n_batches, asked
 *   repeated parts, batches of guests, changes; of each of the first MOST_WORKER_CHANGES of these: what, worker,
 *                   n_done_count, own_count
 *   of slice 0      n_begun, n_done, n_again, n_given; of each worker what it has and has ahead, each + 1, 0: none;
 *                   what was given back, in its order, then 0 up to most_given; when each round ended; with snapshots
 *                   the batch_set of those that are undone
 *   of each piece that is here   its batch_set
 */
#ifndef PS_COPY_WORDS_H
#define PS_COPY_WORDS_H

#include "ps/server_state.h"

/* A multiple of 8. Pure. */
size_t copy_words_bytes(const struct ps_server *s);
/* out[copy_words_bytes(s)] := those of s, which is as before behind it. */
void copy_words_write(unsigned char *out, struct ps_server *s);
/* Into s, a partial replica; *n_due: gradients that are kept and come behind the arrays. false: no slice of this run
 * has such words (copy.Y4), and s is of no use. */
bool copy_words_read(struct ps_server *s, unsigned char *words, int *n_due);

#endif
