/* SPDX-License-Identifier: Apache-2.0 */
/* sim_state.h - what sim_engine.c and sim_actors.c share: the structures of a run, and of its ranks' actors. */
#ifndef HARNESS_WORLD_SIM_SIM_STATE_H
#define HARNESS_WORLD_SIM_SIM_STATE_H

#include <simgrid/actor.h>
#include <simgrid/semaphore.h>

#include "harness/cluster/topology.h"
#include "harness/world/sim/sim_engine.h"
#include "harness/world/sim/sim_platform.h"

enum {
    RANK_STACK_BYTES = (GRADMARK_SIM_THREADS ? 8 : 1) << 20,
    SERVICE_STACK_BYTES = (GRADMARK_SIM_THREADS ? 1024 : 128) << 10, /* workers and the timekeeper */
};

struct sim_actor { /* the main task of a rank, or one more */
    struct sim_rank *rank;
    sg_sem_t bell;         /* one token for each time another actor set `asleep` to false */
    bool asleep;           /* in sim_wait(), not woken yet */
    bool must_ring;        /* ... no more, but the token is still to come */
    bool expired;          /* ... woken by the timekeeper: the deadline has passed */
    uint64_t deadline_ns;  /* of the sleep; SIM_NEVER: none */
    sg_sem_t core;         /* a token: the number of actors that compute on this rank has changed */
    bool computes;         /* in sim_compute(), with other actors about */
    bool must_tell;        /* ... and has still to be told of a change */
    void (*fn)(void *arg); /* of a task; what follows, too */
    void *arg;
    bool has_ended, is_joined;
    sg_sem_t ended;         /* a token once fn has returned */
    struct sim_actor *next; /* of the rank */
};

struct sim_rank {
    struct engine *engine;
    int number, n_cores;
    sg_host_t host, local_host; /* of messages to other slots, and within its own */
    double busy_s;              /* with messages, until then */
    struct sim_actor main;      /* first of the list of the rank's actors */
    int n_computing;
    bool stopped; /* sim_stop() */
    char why[RC_MESSAGE_BYTES];
    bool gone;
};

struct worker;

struct engine {
    const struct topology *topology;
    int n_ranks;
    struct sim_rank *rank;
    sim_body_fn *body;
    void *arg;
    int n_live;        /* actors of ranks that have not ended */
    int n_stuck;       /* of these: asleep without a deadline, or joining another */
    int n_in_transit;  /* transfers */
    uint64_t n_sent;   /* transfers, including those that arrived */
    sg_sem_t tick;     /* the timekeeper waits on it */
    uint64_t alarm_ns; /* at this time; SIM_NEVER: it waits until `tick` is released */
    struct worker *idle_workers, *all_workers;
    struct sim_owned *owned;
    bool failed, deadlocked;
    int failed_rank;
    enum rc why;
    char message[RC_MESSAGE_BYTES];
};

/* Start an actor of SimGrid that runs body with `data` (sg_actor_get_data()). */
void sim_start_actor(const char *name, sg_host_t host, unsigned n_stack_bytes, xbt_main_func_t body, void *data);
void sim_actor_init(struct sim_actor *a, struct sim_rank *r);
void sim_actor_fini(struct sim_actor *a);
/* The first actor of r of which `is` holds; NULL: none. */
struct sim_actor *sim_actor_that(struct sim_rank *r, bool (*is)(const struct sim_actor *a));
/* The actor that runs, which is one of rank r. */
struct sim_actor *sim_self(struct sim_rank *r);
/* Stop and join what is left of r's tasks. */
void sim_end_tasks(struct sim_rank *r);
/* Fail the run when every live actor waits without a deadline and nothing is in transit (G3). */
void sim_break_deadlock(struct engine *e);

#endif
