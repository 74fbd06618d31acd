/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_engine.h - ranks as coroutines: virtual time, waits, failures, and transfers of bytes.
 *
 * Only for harness/world/sim/world_sim.c and harness/net/transport_sim.c; it knows nothing of groups,
 * messages or tags.
 *
 * Invariants
 *   -   One actor runs at a time. Others run only inside sim_pass, sim_compute, sim_wait and sim_join, and once the
 *       caller ends. So plain data shared by ranks is consistent between those calls. The actor that is woken first
 *       runs first.
 *   E2  n bytes between two ranks, alone, take topology_message_time_s(): on a plain description
 *       link_latency_s + n / link_bytes_per_s, within a host local_latency_s + n / local_bytes_per_s. Messages that
 *       cross a link at the same time share its rate evenly, unless another link slows one of them (sim_network.h has
 *       the exact rule). Messages from one rank to another go in sequence, as on a connection. For its protocol's
 *       message_s a message occupies the process of its sender before the transfer, and that of its receiver after it.
 *       There messages take turns in the order of arrival.
 *   E3  A deadlock ends the run: when the last live rank begins to wait without a deadline and no transfer is in
 *       transit, the run fails with RC_TIMEOUT.
 *   -   The same calls give the same virtual times, to the digit.
 */
#ifndef HARNESS_WORLD_SIM_SIM_ENGINE_H
#define HARNESS_WORLD_SIM_SIM_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/cluster/cluster.h"
#include "harness/world/sim/sim_network.h"

struct topology;
struct sim_rank;  /* one rank and its actors; lives until sim_run() returns */
struct sim_actor; /* a task of a rank, beside its main one */

#define SIM_NEVER UINT64_MAX

/* Each rank and each task has a separate stack: two mappings each. */
enum { SIM_RANKS_MAX = CLUSTER_MAX_RANKS };

typedef enum rc sim_body_fn(struct sim_rank *self, void *arg);

/* Runs body on an actor for each rank of t, which outlives the run. Returns when all have ended, with the first failure
 * as "rank R: ...". *n_sent: transfers that sim_send() accepted, set in every case. RC_INVAL: too many ranks.
 * RC_NOMEM. */
enum rc sim_run(uint64_t *n_sent, const struct topology *t, sim_body_fn *body, void *arg) MUST_CHECK;

int sim_number(const struct sim_rank *r); /* 0 <= number < n_ranks */
struct sim_rank *sim_rank_at(const struct sim_rank *any, int number);

/* Virtual clock. Cannot fail. */
uint64_t sim_now_ns(const struct sim_rank *any);
/* Advances the virtual time of the caller, a task of `self`. <= 0: not at all, and no other rank runs. */
void sim_pass(struct sim_rank *self, double seconds);

/* Advances it by `seconds` of work on one core of the caller's rank, `self`; by more if more tasks compute than it has
 * cores. */
void sim_compute(struct sim_rank *self, double seconds);

/* Waits, in any task of `self`, until another actor calls sim_wake(self, what), or the run fails, or `self` is stopped,
 * or the clock reaches deadline_ns (SIM_NEVER: none). False: the deadline came first. Spurious wake-ups happen: loop on
 * the condition and on sim_check(). */
bool sim_wait(struct sim_rank *self, const void *what, uint64_t deadline_ns);
/* Wakes the tasks of r that wait for `what`, which is only an address, and those that wait for NULL. NULL: all. */
void sim_wake(struct sim_rank *r, const void *what);

/* Runs fn(arg) as one more actor of the caller's rank. The main task joins it. RC_NOMEM. */
enum rc sim_spawn(struct sim_actor **out, struct sim_rank *self, const char *name, void (*fn)(void *arg),
                  void *arg) MUST_CHECK;
/* The arg of the calling task; NULL: it is the main one. */
void *sim_task_arg(struct sim_rank *self);
/* Ends the calling task, which is not the main one, as if its fn returned; does not return. Leaks as sim_die(). */
void sim_exit_task(struct sim_rank *self);
/* Waits until fn has returned, also if the run failed; frees, nulls. */
void sim_join(struct sim_actor **a);
/* Ends all sim_wait() of r's tasks until all are joined; sim_check() then gives the reason. Does nothing if r has one
 * task. */
void sim_stop(struct sim_rank *r, const char *why);

/* RC_OK while no rank failed; then RC_PEER naming the first failed rank (RC_TIMEOUT under world.E3). RC_PEER once
 * `self` was stopped. */
enum rc sim_check(const struct sim_rank *self) MUST_CHECK;
/* The same without a message. */
bool sim_failed(const struct sim_rank *self);
/* Records that `self` failed, unless a rank did before, and wakes every actor. */
void sim_fail(struct sim_rank *self, enum rc why, const char *message);
/* Ends this rank's actor at once, as a failure with this message; does not return. Leaks what the rank's stack owns. */
void sim_die(struct sim_rank *self, const char *message);
/* The sim_wait() of all other ranks return, so that they check the ranks that they wait for. */
void sim_wake_all(struct sim_rank *self);
/* Ends this rank's actor at once, without a failure; does not return. Before that, acts as sim_wake_all(). Leaks as
 * sim_die(). */
void sim_leave(struct sim_rank *self);
/* True once r returned from its body, left or died: its stack is gone. */
bool sim_gone(const struct sim_rank *r);

struct sim_transfer {     /* first member of a transfer's struct; owned by the sender's side until arrived() */
    struct sim_flow flow; /* from here on the engine's, and first */
    enum { TRANSFER_STARTS, TRANSFER_FLOWS, TRANSFER_ENTERS } stage;
    struct sim_rank *from, *to;
    struct sim_transfer *next_out;                   /* the sender's next flowing transfer, to another rank */
    struct sim_transfer *first_behind, *last_behind; /* transfers to the same rank that wait until its bytes have
                                                        gone */
    struct sim_transfer *next_behind;
    double message_s;                               /* the time that it occupies either process */
    void (*arrived)(struct sim_transfer *transfer); /* given */
};

/* Transfers n_bytes from self to `to`, starting now (world.E2), and calls transfer->arrived(transfer) when
 * all have arrived, during another actor's wait: it may call sim_wake(), but must not wait. Transfers that
 * arrive at one instant do so in the order in which they were sent. A transfer in transit when the run
 * ends never arrives: its owner frees it. RC_NOMEM: nothing was sent. */
enum rc sim_send(struct sim_rank *self, struct sim_rank *to, uint64_t n_bytes,
                 struct sim_transfer *transfer) MUST_CHECK;

/* Does the sender of n_bytes wait until they have arrived, by the description of the cluster? Pure. */
bool sim_sender_waits(const struct sim_rank *self, const struct sim_rank *to, uint64_t n_bytes);

struct sim_owned { /* first member of a struct that ranks share; freed at the end of the run at the latest */
    void (*destroy)(struct sim_owned *o);
    struct sim_owned *previous, *next;
};
/* Calls o->destroy(o) after the last rank has ended: a dead rank cannot do it. */
void sim_own(struct sim_rank *any, struct sim_owned *o);
/* Undoes sim_own(), to free o earlier. */
void sim_disown(struct sim_rank *any, struct sim_owned *o);

#endif
