/* SPDX-License-Identifier: Apache-2.0 */
/* moved.h - a training in a child process, and every message between its ranks, read back. */
#ifndef HARNESS_LABS_MOVED_H
#define HARNESS_LABS_MOVED_H

#include <stddef.h>
#include <stdint.h>

#include "harness/labs/lab.h"

enum { MOVED_COMMAND_BYTES = 512 };

struct moved_message { /* one end of a message: a row of train/messages.h */
    int rank, peer;
    double step; /* NaN: belongs to no step */
    bool is_received, adds;
    uint32_t tag;
    double start_s, end_s;
    uint64_t n_bytes;
    double offset_bytes; /* in the gradients of the rank; NaN: not in them */
};

struct moved {
    char command[MOVED_COMMAND_BYTES]; /* as a student types it */
    struct moved_message *message;     /* owned */
    size_t n;
};

/* Train with these options: NAME.csv in the folder holds the messages. RC_PEER: it failed, as its own message says;
 * RC_MISMATCH: FILE:LINE is not a row of messages; RC_NOMEM. */
enum rc moved_run(struct moved *out, const struct lab_env *env, const char *name, const char *options) MUST_CHECK;
/* Read a file that --messages wrote into *out; its command is kept. */
enum rc moved_read(struct moved *out, const char *path) MUST_CHECK;
void moved_close(struct moved *m); /* accepts a zeroed one */

struct moved_bytes {            /* of message bodies, during the steps */
    uint64_t worker_mean_bytes; /* bytes sent per worker, mean, rounded down */
    uint64_t busiest_bytes;     /* the most that one rank sends, or receives */
    double took_s;              /* from the start of the first message to the end of the last */
};

/* For n_workers workers, and servers after them in rank order; only workers record messages. Cannot fail. */
struct moved_bytes moved_sum(const struct moved *m, int n_workers, int n_ranks);

#endif
