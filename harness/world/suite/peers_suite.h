/* SPDX-License-Identifier: Apache-2.0 */
/* peers_suite.h - what seats and watches must do (world.P2 to P5, P7 to P9), at times that the suite makes up.
 * Test-only. */
#ifndef HARNESS_WORLD_SUITE_PEERS_SUITE_H
#define HARNESS_WORLD_SUITE_PEERS_SUITE_H

#include "harness/world/peers.h"

struct peers_ops { /* functions of a mutant; NULL: those of peers.h */
    void (*tick)(struct peer_seat *s);
    void (*set_duty)(struct peer_seat *s, const struct peer_duty *duty);
    void (*end)(struct peer_seat *s, enum peer_state state);
    enum rc (*next)(struct peers *p, struct peer_event *out);
    int (*look)(struct peer_watch *w, uint64_t now_ns, char why[RC_MESSAGE_BYTES]);
    bool (*lose)(struct peer_losses *l, int rank, const char *why);
};

struct peers_mutant {
    const char *name;
    const char *failed_case; /* the first that must fail */
    struct peers_ops ops;
};
/* Ends with a name of NULL. */
const struct peers_mutant *peers_mutants(void);

/* Failures; 0: conforms. It stops after the first case that failed; failed_case (may be NULL): its name. */
int peers_suite(const struct peers_ops *ops, const char **failed_case);

#endif
