/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alpha_beta.h - latency and rate of messages between neighbours, measured over the transport of a run; and from these
 * the least time of a step's messages. It does not measure a collective: one message is exchanged at a time.
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
    double alpha_s;   /* one way, for the smallest message: the latency */
    double message_s; /* one way, for a message of n_bytes, latency included */
    size_t n_bytes;
};

struct alpha_beta_env { /* borrowed */
    struct world *world;
    const struct transport_ops *transport;
    size_t message_bytes; /* size of the step's messages; >= 1 */
    bool is_hollow;       /* messages have sizes but no data */
    int timeout_ms;       /* per message */
    int n_players;        /* ranks 0 to n_players-1 take part; the rest get zeros; 0: all of world */
    bool is_alone;        /* one pair at a time in all of world: none shares a link, or the memory of a host */
};

/* Measure the path to the next rank and back. Every player plays with the next and with the previous one, one pair at a
 * time; pairs that share no rank play concurrently, unless is_alone. First the smallest message, then one of
 * message_bytes (at most 32 MiB if data is sent). Takes the fastest of at most 50 rounds per length (after one
 * discarded round): as many as move 256 MiB, at least 2. Collective over env->world, of 2 players or more; ends with a
 * barrier. Opens and closes a transport, and allocates two messages. Errors: those of the transport, RC_NOMEM. */
enum rc alpha_beta_measure(struct alpha_beta *out, const struct alpha_beta_env *env) MUST_CHECK;

/* Least times of the plan's messages. Times of other lengths than n_bytes are proportional. A message faster than the
 * smallest one counts as that. Pure. */
struct alpha_beta_times {
    double chain_s; /* of messages that must follow each other, each with its latency */
    double link_s;  /* of messages that share a link */
    double last_s;  /* of chain_s: of the last ones (wire_plan.n_last) */
};
struct alpha_beta_times alpha_beta_times(const struct alpha_beta *fit, const struct wire_plan *plan);
/* The longer one. Pure. */
double alpha_beta_step_s(const struct alpha_beta *fit, const struct wire_plan *plan);

#endif
