/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_kit.h - a run of workers and servers of which some die at a given call of the transport. The program that
 * uses it wraps transport_send, transport_wait and transport_recv_divided.
 */
#ifndef PS_RECOVERY_SUITE_REPLICA_KIT_H
#define PS_RECOVERY_SUITE_REPLICA_KIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/exchange/consistency.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum {
    N_WORKERS = 3,
    MOST_SERVERS = 4,
    MOST_VICTIMS = 3,
    MOST_GUESTS = 2,
    MOST_WORKERS = N_WORKERS + MOST_GUESTS, /* as servers number them */
    MOST_RANKS = MOST_WORKERS + MOST_SERVERS,
    N_PARAMS = 24,
    MOST_CHUNKS = 12, /* of 2 parameters */
    N_STEPS = 4,
    LOOKS_AT = 2,
    SPOILER = 1, /* a worker, which pushes NaN in this step, in parameter 0: */
    SPOILED_STEP = 1,
    OPEN_STEP = 2,   /* of plan.opens */
    OPENER_DIES = 1, /* the server */
    STOPS_AT = N_WORKERS * N_STEPS - 2,
    N_BATCHES = N_WORKERS * N_STEPS,
    LIMIT_S = 20
};

struct guest { /* of an elastic run; its rank is behind the servers' */
    bool comes;
    uint64_t at_ns; /* it joins so long after the others began, of virtual time */
};

struct victim {
    int rank;     /* -1: nobody */
    int n_call;   /* of its calls of the transport, at which it dies: even, before the call; odd, behind it */
    bool follows; /* calls count from when the victim before has died ... */
    bool waits;   /* ... and each slice is in two places again */
};

struct plan { /* of a run */
    const struct world_ops *world;
    const struct transport_ops *transport;
    struct consistency rule;
    int n_servers;
    int n_chunks;    /* all as long; at most MOST_CHUNKS */
    int n_in_flight; /* of a worker, at most PS_CREDITS */
    bool stops;      /* at STOPS_AT updates, in place of N_STEPS steps */
    bool splits;     /* pushes, then pulls */
    bool spoils;
    bool opens; /* server OPENER_DIES dies in step OPEN_STEP, when each server has a push of worker 0 and of no other
                   worker; those go on when each slice is in two places again */
    struct victim victim[MOST_VICTIMS];
    struct guest guest[MOST_GUESTS];
    int leaver; /* a worker, as servers number them, that leaves after leaves_after batches; 0: none does */
    int leaves_after;
    int late_hearer; /* a worker of an elastic run that looks for the answer to its LEAVE of slice 0 when worker 0
                            * has all it needs; 0: none does */
    uint64_t seed;   /* of pauses; 0: none */
    bool is_elastic; /* in place of replicas, unless it replicates: N_BATCHES are handed out, and batch b is
                                step b / N_WORKERS of worker b modulo that */
    bool replicates; /* such a run has replicas, too */
};

struct outcome { /* in memory that a copy of this process shares */
    bool is_done;
    char message[RC_MESSAGE_BYTES]; /* else */
    float final[N_PARAMS], moment[N_PARAMS];
    uint64_t n_updates; /* as worker 0 is told */
    int n_begun[MOST_WORKERS], n_ended[MOST_WORKERS];
    atomic_int n_joined, n_late_guests, n_left;
    uint64_t n_pushes; /* that servers which are left have counted, by themselves or for another one */
    uint64_t n_late;
    uint32_t n_taken_over, lead_max; /* lead_max: steps that a worker was ahead of the slowest when it was answered */
    uint64_t n_batches_done, n_again, n_held, n_repeated; /* of an elastic run: server_facts; n_held: the least */
    bool knows_book;                                      /* likewise: some server that is left has it, or follows it */
    int n_books;                                          /* of an elastic run: servers that are left with the book */
    int n_asked[MOST_RANKS];                              /* of an elastic run: NEXT */
    int n_calls[MOST_RANKS];                              /* of a rank, twice as many, so far */
    bool is_counting[MOST_RANKS];
    bool is_leaving[MOST_RANKS]; /* it has sent LEAVE to server 0, and not looked for the answer */
    atomic_bool is_served;       /* worker 0 has all it needs */
    atomic_int n_died;
    atomic_bool has_opened[MOST_SERVERS]; /* plan.opens: it has a push of step OPEN_STEP */
    atomic_int n_sent[MOST_RANKS][MOST_RANKS], n_received[MOST_RANKS][MOST_RANKS]; /* [from][to] messages of servers */
    int n_since[MOST_VICTIMS]; /* calls of a victim that follows, counted so far */
    atomic_bool is_dead[MOST_RANKS];
    atomic_bool is_safe[MOST_SERVERS]; /* of a slice: it is in two places, as far as its holder has said */
    atomic_bool may_end;               /* a server died that held a slice which was not */
    int n_copies; /* replicas made again, as records have it, and their bytes; slices that have none */
    uint64_t n_copied_bytes;
    int n_alone;
    atomic_bool has_last_words;
    char last_words[RC_MESSAGE_BYTES];                                 /* a line about a slice that is lost */
    float grad[MOST_WORKERS][N_PARAMS], param[MOST_WORKERS][N_PARAMS]; /* of workers: not lost with them */
};

/* The plan of the next run, which the caller fills. */
extern struct plan plan;

/* Memory that copies of this process share; false: there is none. */
bool replica_kit_open(void);
/* `plan` in a copy of this process: false where it does not end well, which out->message is about. */
bool replica_run(struct outcome *out);
/* Nobody dies. */
void plan_spare_all(void);
bool plan_is_sync(void);
/* Does the worker push NaN in this step? */
bool plan_is_spoiled(int worker, int step);
/* Of parameter i. */
float plan_gradient(int worker, int step, int i);
float plan_initial(int i);
/* Parameter i of an elastic run in which each batch counted once. */
float plan_summed(int i);
/* Who dies, and is a worker; -1: nobody. */
int plan_lost_worker(void);

#endif
