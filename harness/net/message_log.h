/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message_log.h - every message that a transport has moved: its peer, times, and place in an array. The wrappers of one
 * transport add to it (net.T14). It allocates as it grows.
 */
#ifndef HARNESS_NET_MESSAGE_LOG_H
#define HARNESS_NET_MESSAGE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

#define MESSAGE_ELSEWHERE UINT64_MAX /* offset_bytes: not in the array */
#define MESSAGE_NO_STEP UINT32_MAX

struct logged_message {
    uint64_t start_ns, end_ns; /* posted (of recv_message: arrived), and ended, by the world's clock */
    uint64_t n_bytes;          /* of the body, including hollow bytes */
    uint64_t n_head_bytes;
    uint64_t offset_bytes; /* place in the array where the body was sent from, or received to */
    uint32_t tag, step;
    int32_t peer;
    uint32_t is_received; /* 1, or 0: sent */
    uint32_t is_added;    /* 1: received values were added to what was there */
    uint32_t unused;      /* 0 */
};

struct message_log {
    struct logged_message *message; /* [n], in the order in which they ended */
    size_t n, n_room;
    const void *array; /* borrowed; NULL: none */
    size_t array_bytes;
    uint32_t step;       /* of messages added from now on; its owner sets it */
    bool is_out_of_room; /* there was no memory for some messages */
};

/* step: MESSAGE_NO_STEP. RC_NOMEM. */
enum rc message_log_open(struct message_log **out) MUST_CHECK;
/* Adds a message; its offset is that of ptr in the array. *m: all but offset_bytes and step. Cannot fail: see
 * is_out_of_room. */
void message_log_add(struct message_log *log, const struct logged_message *m, const void *ptr);
void message_log_close(struct message_log **log); /* NULL-safe, nulls */

#endif
