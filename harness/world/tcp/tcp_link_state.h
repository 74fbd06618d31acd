/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_link_state.h - the state of a rank's connection with the hub. Private to tcp_link.c. */
#ifndef HARNESS_WORLD_TCP_TCP_LINK_STATE_H
#define HARNESS_WORLD_TCP_TCP_LINK_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "harness/world/tcp/tcp_link.h"
#include "harness/world/wait.h"

struct link_guest { /* a late joiner that has entered */
    int guest;
    unsigned char *bytes;
    size_t n_bytes;
    struct link_guest *next;
};

struct tcp_link {
    int own; /* rank in the run */
    int failure_exit_code;
    bool ends_no_process;
    int wake_fd; /* wakes the thread */
    bool is_started;
    pthread_t thread;
    struct doorbell bell; /* rung after each pass of the thread */
    pthread_mutex_t lock; /* protects what follows, except what has_failed publishes */
    struct tcp_stream *stream;
    bool is_broken;  /* the connection has ended */
    bool is_closing; /* this rank has left */
    bool has_left;   /* ... while other ranks continue */
    bool is_over;
    struct peer_losses *losses; /* of a late joiner, or of a member of a run with late joiners; else NULL */
    bool is_guest;              /* it learns of members' losses, a member of late joiners' */
    int n_ranks;
    bool is_host;
    struct link_guest *news, *told; /* a host's: not asked for yet; asked for last */
    atomic_int n_news;
    struct peer_seat *beats; /* a late joiner's own; NULL: not sent */
    uint64_t beat_ns;
    bool is_ready;
    bool has_result;
    struct tcp_message result;
    atomic_bool has_failed;
    int failed_rank; /* -1: rank 0's process, as the hub */
    enum rc failed_code;
    uint64_t failed_ns;
    char failed_why[RC_MESSAGE_BYTES];
};

#endif
