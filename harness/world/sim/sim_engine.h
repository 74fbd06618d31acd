/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.h - ranks as SimGrid actors: virtual time, waiting, failing, and bytes on the way.
 *
 * Only for harness/world/sim/world_sim.c and harness/net/transport_sim.c; it knows nothing of groups,
 * messages or tags. Nothing else in the project calls SimGrid.
 *
 * Invariants
 *   G1  One actor runs at a time; others run only inside sim_pass, sim_wait, sim_wake, sim_send,
 *       sim_fail. Plain data shared by ranks is therefore consistent between those calls.
 *   G2  n bytes between two idle hosts take link_latency_s + n / link_bytes_per_s, between two ranks
 *       of one host local_latency_s + n / local_bytes_per_s; messages that cross a host's link at
 *       the same time, in one direction, share its rate evenly.
 *   G3  No state in which every rank waits for ever is kept: when the last one would begin to, and no
 *       parcel is on its way, the run fails with RC_TIMEOUT.
 *   G4  The same calls give the same times, to the digit.
 */
#ifndef HARNESS_WORLD_SIM_SIM_ENGINE_H
#define HARNESS_WORLD_SIM_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/cluster/cluster.h"

struct cluster;
struct sim_rank; /* one rank and its actor; lives until sim_run() returns */

#define SIM_NEVER UINT64_MAX

/* Each rank has a stack of its own, and so has each parcel on its way: two mappings each. */
enum { SIM_RANKS_MAX = CLUSTER_MAX_RANKS };

typedef enum rc sim_body_fn(struct sim_rank *self, void *arg);

/* Run body on n_ranks actors, rank r on host r / n_ranks_per_host. Returns when all have ended, with
 * the first failure as "rank R: ...". *n_sent: parcels that sim_send() took, set in every case.
 * RC_INVAL: the ranks do not fit. RC_UNSUPPORTED: the second call in this process, SimGrid being one
 * engine a process. */
enum rc sim_run(uint64_t *n_sent, const struct cluster *c, int n_ranks, sim_body_fn *body, void *arg) MUST_CHECK;

int sim_number(const struct sim_rank *r); /* 0 <= number < n_ranks */
struct sim_rank *sim_rank_at(const struct sim_rank *any, int number);

/* Virtual clock. Cannot fail. */
uint64_t sim_now_ns(void);
/* Let virtual time pass for the caller; <= 0: none, and no other rank runs. */
void sim_pass(double seconds);

/* Wait until another rank calls sim_wake(self), or the run fails, or the clock reaches deadline_ns
 * (SIM_NEVER: none). False: the deadline came first. Also wakes for nothing: loop on the
 * condition and on sim_check(). */
bool sim_wait(struct sim_rank *self, uint64_t deadline_ns);
/* No-op unless r is in sim_wait(). */
void sim_wake(struct sim_rank *r);

/* RC_OK while no rank failed; then RC_PEER naming the first that did (RC_TIMEOUT under G3). */
enum rc sim_check(const struct sim_rank *self) MUST_CHECK;
/* The same without a message. */
bool sim_failed(const struct sim_rank *self);
/* Record that `self` failed, unless a rank did before, and wake everybody. */
void sim_fail(struct sim_rank *self, enum rc why, const char *message);
/* End this rank's actor here and now, as a failure; does not return. What the rank's stack owns is lost. */
void sim_die(struct sim_rank *self);
/* True once r returned from its body or died: its stack is gone. */
bool sim_gone(const struct sim_rank *r);

struct sim_parcel { /* first member of what is sent; owned by the sender's side until arrived() */
    void (*arrived)(struct sim_parcel *p);
};

/* Let n_bytes travel from self's host to `to`'s, starting now, and call p->arrived(p) when they are
 * there; it may sim_wake() as its last act. A parcel still on its way when the run ends never arrives:
 * its owner frees it. RC_NOMEM: nothing was sent. */
enum rc sim_send(struct sim_rank *self, struct sim_rank *to, uint64_t n_bytes, struct sim_parcel *p) MUST_CHECK;

struct sim_owned { /* first member of what ranks share; freed at the end of the run at the latest */
    void (*destroy)(struct sim_owned *o);
    struct sim_owned *previous, *next;
};
/* Have o->destroy(o) called after the last rank ended: a rank that dies cannot do it. */
void sim_own(struct sim_rank *any, struct sim_owned *o);
/* Take o back (to free it earlier). */
void sim_disown(struct sim_rank *any, struct sim_owned *o);

#endif
