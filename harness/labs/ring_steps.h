/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_steps.h - an allreduce around a ring, repeated from the messages that its ranks sent: which chunk each sent to
 * whom in which step, and whose addends every chunk of every rank then holds.
 *
 * Not computed from what a ring should do: a chunk is what was sent from one place of the gradients, a message that was
 * received beside them was added to what was there, and one that was received into them has replaced it. An addend that
 * would be counted twice, and messages that are not of a ring, are errors.
 */
#ifndef HARNESS_LABS_RING_STEPS_H
#define HARNESS_LABS_RING_STEPS_H

#include "harness/labs/moved.h"

enum { RING_MOST_RANKS = 8, RING_MOST_STEPS = 2 * (RING_MOST_RANKS - 1) };

struct ring_message { /* of a step, by the rank that sent it */
    int to, chunk;
    bool adds;
    uint64_t n_bytes;
    double start_s, end_s; /* sent, and received */
};

struct ring_steps {
    int n_ranks, n_chunks, n_steps;
    struct ring_message sent[RING_MOST_STEPS][RING_MOST_RANKS];
    /* Before step s, and behind the last: a bit for each rank whose addend is in the chunk. */
    uint32_t held[RING_MOST_STEPS + 1][RING_MOST_RANKS][RING_MOST_RANKS];
};

/* Of one training step of n_ranks workers (2 .. RING_MOST_RANKS). RC_MISMATCH: rank and message that are of no ring. */
enum rc ring_steps_find(struct ring_steps *out, const struct moved *m, int n_ranks) MUST_CHECK;
/* Do all ranks hold, in all chunks, the addends of all? */
bool ring_steps_are_whole(const struct ring_steps *s);

#endif
