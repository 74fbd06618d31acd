/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_clock.h - virtual time, and the order of events: a heap of events, each a member of the struct that it concerns.
 *
 * It knows nothing of ranks. For one thread only.
 *
 * Invariants
 *   -   Events come in the order of their times; those of one instant in the order in which they were set.
 *   C2  Two times are one instant if they differ by no more than rounding errors: sim_clock_instant_s().
 *   C3  Time never goes back: an event that is set in the past comes now.
 */
#ifndef HARNESS_WORLD_SIM_SIM_CLOCK_H
#define HARNESS_WORLD_SIM_SIM_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum sim_event_kind {
    EVENT_ACTOR, /* its sleep ends */
    EVENT_FLOW,  /* see sim_network.h */
    EVENT_LINK
};

struct sim_event { /* zeroed except its kind: not set */
    enum sim_event_kind kind;
    uint32_t place; /* in the heap, from 1; 0: not set */
};

struct sim_clock_entry {
    double time_s;
    uint64_t order;
    struct sim_event *event;
};

struct sim_clock {
    double now_s;
    struct sim_clock_entry *heap; /* [n + 1]: from 1 */
    size_t n, n_reserved, n_room; /* n <= n_reserved <= n_room */
    uint64_t n_set;               /* ever set */
};

void sim_clock_init(struct sim_clock *out);
void sim_clock_fini(struct sim_clock *c);
/* Unsets all events, so that their structs may be freed in any order. */
void sim_clock_clear(struct sim_clock *c);
/* Makes room for n more events, so that setting them cannot fail. RC_NOMEM. */
enum rc sim_clock_reserve(struct sim_clock *c, size_t n) MUST_CHECK;
/* Returns the room for n events, which are not set. */
void sim_clock_release(struct sim_clock *c, size_t n);
/* Sets e to time_s instead of any earlier time. There is room. */
void sim_clock_set(struct sim_clock *c, struct sim_event *e, double time_s);
/* Does nothing if it is not set. */
void sim_clock_unset(struct sim_clock *c, struct sim_event *e);
/* The time of e, which is set. */
double sim_clock_time_s(const struct sim_clock *c, const struct sim_event *e);
/* Advances to the next event, and takes it out; NULL: none. */
struct sim_event *sim_clock_advance(struct sim_clock *c);
/* Takes out one more event of the same instant; NULL: none. */
struct sim_event *sim_clock_more(struct sim_clock *c);
/* The maximum difference of two times near now that are one instant (world.C2). */
double sim_clock_instant_s(const struct sim_clock *c);

#endif
