/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy_words.h - the words of a copy (copy.h): u64, little-endian. Writer and reader use this order.
 *
 *   layout (layout.h), n_updates_before, n_granted, n_left, n_seen
 *   pushes by staleness, late pushes, the greatest lead, pushes refused as not finite, copies and their bytes (copy.Y5)
 *   per piece       clock, round, slowest, n_slowest, n_kept; and per worker its clock, and whether it is out
 *                   (clocks.h)
 *   per worker      state, may_push, is_seen; and per slot its flags: used, waiting, with a kept gradient, not finite;
 *                   and the header of its answer (wire.h)
 *
 * In an elastic run (leases.h) these follow:
 *
 *   per worker      has_begun, asks, n_batches, asked
 *   repeated parts, batches of late joiners, changes. For each of the first MOST_WORKER_CHANGES changes: what, worker,
 *                   n_done_count, own_count
 *   slice 0         n_begun, n_done, n_again, n_given. Per worker its batch and its batch ahead, each + 1 (0: none).
 *                   Batches given back, in order, then 0 up to most_given. The end of each round.
 *   per local piece its batch_set
 */
#ifndef PS_RECOVERY_COPY_WORDS_H
#define PS_RECOVERY_COPY_WORDS_H

#include "ps/recovery/recovery.h"

/* A multiple of 8. Pure. */
size_t copy_words_bytes(const struct ps_server *s);
/* Writes the words of s to out[copy_words_bytes(s)]; leaves s unchanged. */
void copy_words_write(unsigned char *out, struct ps_server *s);
/* Reads the words into s, a partial replica. *n_due: kept gradients that come after the arrays. Returns false if no
 * slice of this run has such words (copy.Y4); s is then unusable. */
bool copy_words_read(struct ps_server *s, unsigned char *words, int *n_due);

#endif
