/* SPDX-License-Identifier: Apache-2.0 */
/* rank_move.h - moves an array between two ranks over a transport that was planned for shorter messages. */
#ifndef HARNESS_TRAIN_RANK_MOVE_H
#define HARNESS_TRAIN_RANK_MOVE_H

#include <stdbool.h>

#include "harness/net/transport.h"

struct rank_move { /* equal on both sides except peer and sends */
    struct transport *transport;
    int peer;
    bool sends, is_hollow;
    uint32_t tag;      /* this tag and the next: unused between the two ranks */
    size_t most_elems; /* of a message */
    int timeout_ms;
};

/* x: float[n] on both sides. The receiver requests each message, so that no message arrives unexpected (transport.T13).
 * Errors: those of the transport. */
enum rc rank_move(const struct rank_move *how, float *x, size_t n) MUST_CHECK;
/* A message with n_elems of x, or with no data (hollow). */
struct xfer rank_message(bool is_hollow, const float *x, size_t n_elems, int peer, uint32_t tag);

#endif
