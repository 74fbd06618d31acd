/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eager_steps.h - how long ranks take whose messages go in steps, where a rank that is ahead sends at once. For
 * predictions, in bytes of a link. Not what latencies, additions and copies take.
 *
 * In each step a rank sends one message at most, and one at most is sent to it. It begins a step as soon as it has
 * received what the steps before bring; that what it sent has arrived it does not wait for (a send that ends before it
 * has arrived, as most do). Each rank has a link each way; messages that are on it at the same time share it equally,
 * but those from one rank to another, which go one after the other, as on a connection.
 */
#ifndef ALLREDUCE_EAGER_STEPS_H
#define ALLREDUCE_EAGER_STEPS_H

#include <stdint.h>

enum { EAGER_MOST_RANKS = 128, EAGER_MOST_STEPS = 16 };

struct eager_send {
    int to;
    uint64_t n_bytes; /* 0: nothing is sent */
};

struct eager_steps {
    int n_ranks, n_steps; /* at most EAGER_MOST_... */
    struct eager_send (*send)(const void *arg, int rank, int step);
    const void *arg;
};

/* What a link carries from the first send to the last receive. Pure, but for `send`; about 50 KiB of stack. Messages
 * that differ by a few bytes count as equal. Cost: O(messages on their way) for each time at which some arrive. */
uint64_t eager_steps_bytes(const struct eager_steps *of);

#endif
