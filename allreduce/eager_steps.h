/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eager_steps.h - predicts the time, in bytes of a link, of messages in steps, if a rank that is ahead sends at once.
 * It leaves out latencies, additions and copies.
 *
 * In each step a rank sends at most one message and receives at most one. It begins a step as soon as it has received
 * the messages of earlier steps. It does not wait for the arrival of messages that it sent (most sends end before
 * that), unless `waits` says so. Each rank has a link in each direction. Messages on a link at the same time share it
 * equally, but messages from one rank to another go in sequence, as on a connection.
 */
#ifndef ALLREDUCE_EAGER_STEPS_H
#define ALLREDUCE_EAGER_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum { EAGER_MOST_RANKS = 128, EAGER_MOST_STEPS = 16 };

struct eager_send {
    int to;
    uint64_t n_bytes; /* 0: no message */
};

struct eager_steps {
    int n_ranks, n_steps; /* at most EAGER_MOST_... */
    bool waits;           /* a step ends only when what the rank sent in it has arrived, too */
    struct eager_send (*send)(const void *arg, int rank, int step);
    const void *arg;
};

/* The bytes that a link could carry from the first send to the last receive. Pure, except `send`; about 50 KiB of
 * stack. Messages that differ by a few bytes count as equal. Cost: O(messages in transfer) for each time at which some
 * arrive. */
uint64_t eager_steps_bytes(const struct eager_steps *of);

#endif
