/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_clock.h - virtual time, and what happens when: a heap of events, each a member of what it happens to.
 *
 * It does not know ranks. Not for several threads.
 *
 * Invariants
 *   C1  Events come in the order of their times; those of one instant in the order in which they were set.
 *   C2  Two times are one instant where they differ by no more than arithmetic does: sim_clock_instant_s().
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

struct sim_event { /* zeroed but for its kind: not set */
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
    uint64_t n_set;               /* ever */
};

void sim_clock_init(struct sim_clock *out);
void sim_clock_fini(struct sim_clock *c);
/* No event is set any more, so that what they are members of may be freed in any order. */
void sim_clock_clear(struct sim_clock *c);
/* Make room for n more events, so that setting them cannot fail. RC_NOMEM. */
enum rc sim_clock_reserve(struct sim_clock *c, size_t n) MUST_CHECK;
/* Give room of n events back, which are not set. */
void sim_clock_release(struct sim_clock *c, size_t n);
/* Have e come at time_s, and at no other time. There is room. */
void sim_clock_set(struct sim_clock *c, struct sim_event *e, double time_s);
/* No-op where it is not set. */
void sim_clock_unset(struct sim_clock *c, struct sim_event *e);
/* When e, which is set, comes. */
double sim_clock_time_s(const struct sim_clock *c, const struct sim_event *e);
/* Advance to the next event, and take it out; NULL: there is none. */
struct sim_event *sim_clock_advance(struct sim_clock *c);
/* Take out one more of the same instant; NULL: there is none. */
struct sim_event *sim_clock_more(struct sim_clock *c);
/* How far apart two times of now are one instant (C2). */
double sim_clock_instant_s(const struct sim_clock *c);

#endif
