/* SPDX-License-Identifier: Apache-2.0 */
/* sim_state.h - the state that the files of the engine share: the structures of a run, and of its ranks' actors. */
#ifndef HARNESS_WORLD_SIM_SIM_STATE_H
#define HARNESS_WORLD_SIM_SIM_STATE_H

#include "harness/cluster/topology.h"
#include "harness/world/sim/coroutine.h"
#include "harness/world/sim/sim_clock.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/sim_network.h"

enum { RANK_STACK_BYTES = 8 << 20 }; /* as for threads; unused parts take no memory */

struct sim_actor {          /* the main task of a rank, or another one */
    struct sim_event alarm; /* first member; its sleep ends */
    struct sim_rank *rank;
    struct coroutine *coroutine;
    struct sim_actor *next_ready;
    bool is_ready;         /* in the queue of actors that will run at this instant */
    bool asleep;           /* in sim_wait(), not woken yet */
    const void *waits_for; /* ... for this; NULL: for anything */
    bool expired;          /* the alarm came */
    bool computes;         /* in sim_compute(), with other actors about */
    void (*fn)(void *arg); /* of a task, as is what follows */
    void *arg;
    bool has_ended;
    struct sim_actor *joiner; /* waits for its end */
    struct sim_actor *next;   /* of the rank */
};

struct sim_rank {
    struct engine *engine;
    int number, n_cores;
    double busy_s;                  /* busy with messages until then */
    struct sim_transfer *first_out; /* its transfers whose bytes flow, one to a rank */
    struct sim_actor main;          /* first of the list of the rank's actors */
    int n_computing;
    bool stopped; /* sim_stop() */
    char why[RC_MESSAGE_BYTES];
    bool gone;
};

struct engine {
    const struct topology *topology;
    int n_ranks;
    struct sim_rank *rank;
    sim_body_fn *body;
    void *arg;
    struct sim_clock clock;
    struct sim_network *network;
    struct coroutine *caller;                   /* of sim_run() */
    struct sim_actor *running;                  /* the running actor */
    struct sim_actor *first_ready, *last_ready; /* the next ones, in this order */
    struct sim_transfer **done;                 /* transfers of one instant; room for all in transit */
    size_t n_done, n_done_room;
    size_t n_in_transit;
    int n_live;      /* actors that have not ended */
    uint64_t n_sent; /* transfers, including those that arrived */
    struct sim_owned *owned;
    bool failed, deadlocked;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
};

/* Runs body(a) when it is a's turn. It ends by sim_hand_over(). RC_NOMEM. */
enum rc sim_actor_start(struct sim_actor *a, void (*body)(void *a)) MUST_CHECK;
/* RC_NOMEM. */
enum rc sim_actor_init(struct sim_actor *a, struct sim_rank *r) MUST_CHECK;
void sim_actor_fini(struct sim_actor *a);
/* Stops and joins the remaining tasks of r. */
void sim_end_tasks(struct sim_rank *r);
/* Records the first failure of a run, and wakes every actor. */
void sim_record_failure(struct engine *e, int rank, enum rc why, const char *message);

/* --- sim_schedule.c: one actor runs at a time, and itself decides when another one does --- */

/* Lets a run at this instant, after the actors that are ready already. */
void sim_make_ready(struct sim_actor *a);
/* Lets other actors run until the caller is made ready. */
void sim_block(struct engine *e);
/* The same, at most until time_s. False: the time passed first. */
bool sim_block_until(struct engine *e, double time_s);
/* Runs the actors that are ready, and those that they make ready, until none can run. RC_NOMEM. */
enum rc sim_play(struct engine *e) MUST_CHECK;
/* The last call of the running actor: runs the next one, or the caller of sim_run(). */
_Noreturn void sim_hand_over(struct engine *e);
/* Makes room for one more transfer. RC_NOMEM. */
enum rc sim_reserve_transfer(struct engine *e) MUST_CHECK;

#endif
