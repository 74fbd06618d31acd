/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha_beta.h - latency and rate of messages between neighbours, measured over the transport of a run, and the least
 * time of a step's messages that follows from them. Not a measurement of a collective: what is exchanged here is one
 * message at a time.
 *
 * A message is timed by ping-pong (ping_pong.h): there and back, halved.
 *
 * Source of the model, t(n) = alpha + beta n: Hockney, Parallel Computing 20, 1994.
 */
#ifndef HARNESS_BENCH_ALPHA_BETA_H
#define HARNESS_BENCH_ALPHA_BETA_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/exchange/sync_mode.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct alpha_beta {
    double alpha_s;   /* one way, of the smallest message: the latency */
    double message_s; /* one way, of one of n_bytes, latency included */
    size_t n_bytes;
};

struct alpha_beta_env { /* borrowed */
    struct world *world;
    const struct transport_ops *transport;
    size_t message_bytes; /* of the messages that the step sends; >= 1 */
    bool is_hollow;       /* messages have sizes and no data */
    int timeout_ms;       /* of each message */
    int n_players;        /* ranks 0 to n_players-1 play, others watch, and get zeros; 0: all of world */
};

/* Of the path to the next rank and back: every player plays with the next, and with the one before, one pair at a time;
 * pairs that share no rank play at once. First the smallest message, then one of message_bytes, or of 32 MiB where that
 * is less and data is sent. The fastest of at most 50 rounds of each length (after one that is discarded), as many as
 * move 256 MiB, 2 at least. Collective over env->world, of 2 players or more; ends with a barrier. Opens and closes a
 * transport, and allocates two messages. Errors: those of the transport, RC_NOMEM. */
enum rc alpha_beta_measure(struct alpha_beta *out, const struct alpha_beta_env *env) MUST_CHECK;

/* Least time of the plan's messages: the longer of those that must go one after the other, each with its latency, and
 * of those that share a link. The time of other lengths than n_bytes follows in proportion. A message that was faster
 * than the smallest one needed no more than that. Pure. */
double alpha_beta_step_s(const struct alpha_beta *fit, const struct wire_plan *plan);

#endif
