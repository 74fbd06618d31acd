/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_link_state.h - the state of a rank's connection with the hub. Private to tcp_link.c. */
#ifndef HARNESS_WORLD_TCP_TCP_LINK_STATE_H
#define HARNESS_WORLD_TCP_TCP_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "harness/world/tcp/tcp_link.h"
#include "harness/world/wait.h"

struct tcp_link {
    int own; /* rank in the run */
    int failure_exit_code;
    int wake_fd; /* wakes the thread */
    bool is_started;
    pthread_t thread;
    struct doorbell bell; /* rung when the thread has looked */
    pthread_mutex_t lock; /* of what follows, but for what has_failed publishes */
    struct tcp_stream *stream;
    bool is_broken;  /* it has ended */
    bool is_closing; /* this rank has left */
    bool has_left;   /* ... before the others */
    bool is_over;
    bool has_result;
    struct tcp_message result;
    atomic_bool has_failed;
    int failed_rank; /* -1: rank 0's process, as the hub */
    enum rc failed_code;
    uint64_t failed_ns;
    char failed_why[RC_MESSAGE_BYTES];
};

#endif
