/* SPDX-License-Identifier: Apache-2.0 */
/* rank_move.h - an array from one rank to another over a transport that was planned for shorter messages. */
#ifndef HARNESS_TRAIN_RANK_MOVE_H
#define HARNESS_TRAIN_RANK_MOVE_H

#include <stdbool.h>

#include "harness/net/transport.h"

struct rank_move { /* the same on both sides but for peer and sends */
    struct transport *transport;
    int peer;
    bool sends, is_hollow;
    uint32_t tag;      /* and the next one: free between the two */
    size_t most_elems; /* of a message */
    int timeout_ms;
};

/* x: float[n], of both. The receiver asks for each message, so that none lies there unawaited (transport.T13). Errors:
 * those of the transport. */
enum rc rank_move(const struct rank_move *how, float *x, size_t n) MUST_CHECK;
/* n_elems of x, or as many hollow ones. */
struct xfer rank_message(bool is_hollow, const float *x, size_t n_elems, int peer, uint32_t tag);

#endif
