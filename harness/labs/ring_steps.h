/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_steps.h - an allreduce around a ring, reconstructed from the messages that its ranks sent. It says which chunk
 * each rank sent to which rank in which step, and whose addends every chunk of every rank then holds.
 *
 * It is not computed from what a ring should do. A chunk is what was sent from one place of the gradients. A message
 * received into a separate buffer was added to the chunk there. A message received into the gradients replaced the
 * chunk. An addend that would be counted twice is an error, and so are messages that do not form a ring.
 */
#ifndef HARNESS_LABS_RING_STEPS_H
#define HARNESS_LABS_RING_STEPS_H

#include "harness/labs/moved.h"

enum { RING_MOST_RANKS = 8, RING_MOST_STEPS = 2 * (RING_MOST_RANKS - 1) };

struct ring_message { /* of one step, by the rank that sent it */
    int to, chunk;
    bool adds;
    uint64_t n_bytes;
    double start_s, end_s; /* sent, and received */
};

struct ring_steps {
    int n_ranks, n_chunks, n_steps;
    struct ring_message sent[RING_MOST_STEPS][RING_MOST_RANKS];
    /* Before step s, and after the last: one bit for each rank whose addend is in the chunk. */
    uint32_t held[RING_MOST_STEPS + 1][RING_MOST_RANKS][RING_MOST_RANKS];
};

/* For one training step of n_ranks workers (2 .. RING_MOST_RANKS). RC_MISMATCH names rank and message that do not fit a
 * ring. */
enum rc ring_steps_find(struct ring_steps *out, const struct moved *m, int n_ranks) MUST_CHECK;
/* Does every chunk of every rank hold the addends of all ranks? */
bool ring_steps_are_whole(const struct ring_steps *s);

#endif
