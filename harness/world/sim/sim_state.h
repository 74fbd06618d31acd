/* SPDX-License-Identifier: Apache-2.0 */
/* sim_state.h - what the files of the engine share: the structures of a run, and of its ranks' actors. */
#ifndef HARNESS_WORLD_SIM_SIM_STATE_H
#define HARNESS_WORLD_SIM_SIM_STATE_H

#include "harness/cluster/topology.h"
#include "harness/world/sim/coroutine.h"
#include "harness/world/sim/sim_clock.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/sim_network.h"

enum { RANK_STACK_BYTES = 8 << 20 }; /* as threads have it; what is not used takes no memory */

struct sim_actor {          /* the main task of a rank, or one more */
    struct sim_event alarm; /* first member; its sleep ends */
    struct sim_rank *rank;
    struct coroutine *coroutine;
    struct sim_actor *next_ready;
    bool is_ready;         /* in the queue of those that will run at this instant */
    bool asleep;           /* in sim_wait(), not woken yet */
    const void *waits_for; /* ... for this; NULL: for anything */
    bool expired;          /* the alarm came */
    bool computes;         /* in sim_compute(), with other actors about */
    void (*fn)(void *arg); /* of a task; what follows, too */
    void *arg;
    bool has_ended;
    struct sim_actor *joiner; /* waits for its end */
    struct sim_actor *next;   /* of the rank */
};

struct sim_rank {
    struct engine *engine;
    int number, n_cores;
    double busy_s;                  /* with messages, until then */
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
    struct sim_actor *running;                  /* the one that does */
    struct sim_actor *first_ready, *last_ready; /* those that follow, in this order */
    struct sim_transfer **done;                 /* of one instant; room for all that are on their way */
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

/* Have body(a) run when it is a's turn. It ends by sim_hand_over(). RC_NOMEM. */
enum rc sim_actor_start(struct sim_actor *a, void (*body)(void *a)) MUST_CHECK;
/* RC_NOMEM. */
enum rc sim_actor_init(struct sim_actor *a, struct sim_rank *r) MUST_CHECK;
void sim_actor_fini(struct sim_actor *a);
/* Stop and join what is left of r's tasks. */
void sim_end_tasks(struct sim_rank *r);
/* Record the first failure of a run, and wake everybody. */
void sim_record_failure(struct engine *e, int rank, enum rc why, const char *message);

/* --- sim_schedule.c: one actor runs at a time, and decides itself when another does --- */

/* Have a run at this instant, after those that are to already. */
void sim_make_ready(struct sim_actor *a);
/* Let others run until the caller is made ready. */
void sim_block(struct engine *e);
/* The same, for this long at most. False: nobody made it ready before. */
bool sim_block_until(struct engine *e, double time_s);
/* Run the actors that are ready, and whom they make so, until nobody can run. RC_NOMEM. */
enum rc sim_play(struct engine *e) MUST_CHECK;
/* The last that the running actor does: let the next one run, or the caller of sim_run(). */
_Noreturn void sim_hand_over(struct engine *e);
/* Have room for one more transfer. RC_NOMEM. */
enum rc sim_reserve_transfer(struct engine *e) MUST_CHECK;

#endif
