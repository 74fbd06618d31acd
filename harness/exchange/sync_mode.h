/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_mode.h - what the ranks do with a chunk of the gradient.
 * "none" (nothing: the control), "single" (one worker, nothing), "allreduce" (the sum over workers), "ps" (push, pull;
 * asynchronous). The queue before a mode and the update after it are those of exchange.h, the same for all modes.
 * Synchronous modes average over workers; asynchronous ones apply each worker's own mean gradient. No mode applies a
 * sum.
 *
 * A mode has one of two interfaces: struct collective_mode (workers sum), struct server_mode (servers update), or none
 * (ranks exchange nothing). struct sync_mode has what both have in common.
 *
 * Invariants
 *   S1  Order on a worker: open; then in every step each chunk once, by sum() or by post() and complete(), in an order
 *       that is the same on every worker of a synchronous mode; with servers then final once; then close. One task at
 *       a time calls (world.K6). At most env.n_in_flight chunks are posted and not completed.
 *   S2  After sum() returned RC_OK, the elements of that chunk are the sum over workers (env.shard: over those that
 *       have the chunk). After complete() param holds, for that chunk, the values for the next step, at most
 *       `staleness` updates older than the newest, made by the rule of env.consistency (consistency.h).
 *   S3  One worker of every mode gives the same bits as "single", if nothing is compressed.
 *   S4  A server rank calls serve() once, which returns when every worker has called final().
 *   S5  Our code allocates nothing between open and final, except snapshot(). (ZeroMQ does, inside the library, for
 *       each message.)
 *   S6  With env.compression sum() and post() get gradients whose values messages hold exactly (compression.h), and
 *       send them so. Parameters are sent as they are.
 */
#ifndef HARNESS_EXCHANGE_SYNC_MODE_H
#define HARNESS_EXCHANGE_SYNC_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/compute/compute.h"
#include "harness/compute/optimizer.h"
#include "harness/exchange/buckets.h"
#include "harness/exchange/compression.h"
#include "harness/exchange/consistency.h"
#include "harness/exchange/periods.h"
#include "harness/exchange/placement.h"
#include "harness/exchange/refused.h"

struct world;
struct transport;
struct collective_ops;
struct share;
struct span_ring;
struct sync;

struct sync_shard {              /* exchange.E14 */
    struct world *world;         /* NULL: none */
    struct transport *transport; /* of that world */
    size_t first_elem;
};

struct sync_env {                /* borrowed; outlives the sync */
    struct world *world;         /* n_workers + n_servers ranks; workers first; then up to n_guests late joiners */
    struct compute *compute;     /* works in the memory of messages: host memory, or no-data; for a collective with
                                    COLL_DEVICE: the device's */
    struct transport *transport; /* of world; its owner closes it before the sync; tags 0x7000 to 0x7fff are not
                                    the mode's */
    const struct collective_ops *collective; /* of a mode with MODE_COLLECTIVE; else NULL */
    const void *collective_opts;             /* its options; NULL: none */
    struct share *const *share;              /* [n_shares]: with the arrays given to sum() */
    int n_shares;
    struct sync_shard shard; /* of a mode with MODE_COLLECTIVE: chunks from first_elem on are summed over that world */
    const struct buckets *buckets;
    const struct placement *placement; /* of the parameters on the servers */
    struct consistency consistency;    /* of a mode with servers */
    enum lr_staleness lr_staleness;    /* likewise */
    int n_workers, n_servers;
    int n_guests; /* of a run with n_batches: workers that may join it (exchange.E15); 0: none */
    const int
        *host; /* [n_workers + n_servers]: the host number of each rank; NULL: each rank has a separate network card */
    bool has_other_pairs;           /* as in exchange_env */
    size_t n_steps;                 /* of this run */
    uint64_t n_steps_before;        /* of the training, before it */
    struct periods periods;         /* of a mode with servers; wire_plan() counts by them */
    uint64_t stop_at;               /* likewise: updates of this run; 0: no limit (exchange.E11) */
    uint64_t n_batches;             /* likewise: of this run, which next_batch() assigns (exchange.E13), only with
                                       async; 0: no assignment */
    struct compression compression; /* exchange.S6 */
    struct optimizer_rule optimizer;
    const float *slice_param; /* a server's slice (placement.h), in host memory, lent during open; NULL: no data */
    struct optimizer_state slice_state; /* likewise: float[n_moments][of the slice]; NULL: a new training */
    int n_in_flight; /* of a mode with servers: maximum chunks of a worker that are posted and not completed; 0: 1 */
    int n_replicas;  /* of each slice: 0, or 1, on the next server (ps/recovery/replica.h) */
    const float *before_param; /* with one: as slice_param, of the previous server (of server 0: the last one) */
    float *before_moments;     /* likewise, as in slice_state */
    int timeout_ms;            /* per message; 0: no limit */
    struct span_ring *ring;    /* a server's, for its task; NULL: nothing is recorded */
    void (*tell)(void *arg, const char *line); /* Optional (may be NULL): default standard error. A server's: gets a
                                                  line about refused messages */
    void *tell_arg;
    /* Optional (may be NULL). A server calls it before each push that it takes; step: of its worker. For fault
     * injection. */
    void (*on_push)(void *arg, uint64_t step);
    void *on_push_arg;
    /* Optional (may be NULL). For a server that has the work queue of batches, or replicates it: round number `round`,
     * n_workers more batches, was done at ended_ns, no earlier than the round before. May be called again for a
     * round. */
    void (*on_round)(void *arg, size_t round, uint64_t ended_ns);
    void *on_round_arg;
};

/* Workers, as servers number them: first those that begin with the run, then late joiners, whose ranks follow the
 * servers'. */
static inline int sync_most_workers(const struct sync_env *e)
{
    return e->n_workers + e->n_guests;
}

static inline int sync_rank_of(const struct sync_env *e, int worker)
{
    return worker < e->n_workers ? worker : worker + e->n_servers;
}

/* -1: it is a server. */
static inline int sync_worker_of(const struct sync_env *e, int rank)
{
    return rank < e->n_workers ? rank : rank < e->n_workers + e->n_servers ? -1 : rank - e->n_servers;
}

struct chunk_cost {           /* what a chunk cost at the servers, ns */
    uint64_t server_ns;       /* ps: waiting in the server's queue; the slowest server */
    uint64_t apply_ns;        /* ps: updating the parameters there */
    uint64_t held_ns;         /* ps: the wait of its answer for other workers; the slowest server */
    uint32_t staleness_count; /* ps: updates by other workers between pull and apply; max over servers */
    uint32_t late_count;      /* ps: its messages whose gradient was dropped */
    uint32_t applied_count;   /* ps: its messages whose gradient was applied, alone or in a mean */
    uint32_t refused_count;   /* ps: its messages whose gradient was refused because it was not finite */
    uint32_t lead_count;      /* ps: steps that the worker is then ahead of the slowest one; max over servers */
    bool is_last;             /* ps: the worker must begin no further step */
};

struct chunk_work {     /* of post() */
    size_t k;           /* chunk */
    unsigned push_pull; /* enum push_pull; not 0 */
    float lr;           /* of this step, for the servers */
    /* float[n_params] in host memory, or NULL (no data); elements of other chunks are neither read nor written. */
    float *param, *grad;
};

enum { MOST_WORKER_CHANGES = 32 };

struct worker_change { /* of the workers of a run with n_batches, before every batch was done */
    enum worker_change_kind { WORKER_JOINED, WORKER_LEFT, WORKER_LOST } what;
    int32_t worker;                   /* as servers number it */
    uint64_t n_done_count, own_count; /* batches done by then: by all, and by this one */
};

struct server_facts {                        /* of a server, since it began */
    uint32_t pushes_count[STALENESS_BINS];   /* applied pushes, by staleness */
    uint64_t late_count;                     /* dropped pushes */
    uint32_t lead_max_count;                 /* of any worker, when it was answered: steps ahead of the slowest one */
    uint64_t refused_count[N_REFUSED];       /* messages, by reason; and connections */
    uint64_t replicated_count, replicate_ns; /* pushes that waited for their replica; total time */
    uint32_t n_taken_over;                   /* servers that it has replaced; their work is counted here */
    uint64_t copies_count, copied_bytes;     /* new replicas of the slices that it holds (ps/recovery/copy.h) */
    uint32_t n_alone;                        /* of these slices, those without a complete replica now */
    bool has_book;                           /* with env.n_batches: it owns the work queue at the end of the run */
    bool follows_book;                       /* it replicates the queue of another server, which owns it unless it is
                                            lost */
    /* Of these two queues: batches done; batches assigned again after the loss of a worker. */
    uint64_t batches_done_count, batches_again_count;
    uint64_t batches_held_count;  /* batches whose gradients every part of its slice has; no part: n_batches */
    uint64_t batches_whole_count; /* number of these from the first one on, up to the first missing one */
    uint64_t guest_batches_count; /* likewise: done by late joiners */
    uint64_t changes_count;       /* likewise; the first of them: */
    struct worker_change change[MOST_WORKER_CHANGES];
    uint64_t repeated_parts_count; /* dropped gradients of parts that were present already, by a worker that was gone */
};

struct wire_plan { /* the slowest path of a step: it takes at least n_in_turn t(message), and at least n_on_link
                      (t(message) - alpha) */
    size_t message_bytes;
    double n_in_turn; /* sequential messages: each costs a latency */
    double n_on_link; /* messages that cross the busiest link in one direction, in sequence */
    double n_last;    /* of n_in_turn: of the first parameters, whose gradient is the last one of a step, and which the
                         next step begins with; 0: not known */
};

enum mode_caps {
    MODE_SERVERS = 1u << 0,       /* at least one rank is a parameter server, and makes the updates */
    MODE_SYNCHRONOUS = 1u << 1,   /* workers meet every step */
    MODE_SHARED_PARAMS = 1u << 2, /* all workers end with the same parameters, or can fetch them */
    MODE_ONE_WORKER = 1u << 3,    /* it has one worker: the reference for efficiency */
    MODE_COLLECTIVE = 1u << 4,    /* it exchanges by a collective algorithm (collective.h) */
    MODE_EXCHANGES = 1u << 5,     /* ranks exchange data; else a worker updates by its own gradient */
};

/* Do ranks exchange data? A mode with several workers that does not is the control. */
static inline bool mode_exchanges(const struct module *mode)
{
    return (mode->caps & MODE_EXCHANGES) != 0;
}

/* Of a mode with MODE_COLLECTIVE, on every rank. */
struct collective_mode {
    unsigned types; /* the collectives that it calls: enum collective_type */

    /* exchange.S2, for chunk k of env.buckets. grad: float[n_params] in host memory, or NULL (no data); the elements of
     * other chunks are neither read nor written. */
    enum rc (*sum)(struct sync *s, size_t k, float *grad);
    /* Both replace sum() if the collective has COLL_DEVICE; for whole buckets. queue() does not wait: it sums bucket b
     * of grad, float[n_params] in memory of the compute, after earlier calls of the compute (exchange.A7). wait():
     * later calls of the compute see the sum. Buckets are queued in the same order on every worker. */
    enum rc (*queue)(struct sync *s, size_t b, float *grad);
    enum rc (*wait)(struct sync *s, size_t b);
    /* The algorithms that open() chose, and why: text[n_bytes]; "": there was no choice. */
    void (*explain)(const struct sync *s, char *text, size_t n_bytes);
};

/* Of a mode with MODE_SERVERS. Optional functions may be NULL: then the option is not set. */
struct server_mode {
    /* --- on a worker --- */

    /* At most most_in_flight chunks are posted and not completed, all different. post() does not wait for another
     * rank; param and grad are lent until the chunk is completed. Without EXCHANGE_PULL param is unchanged, and the
     * worker may continue with its own gradient; updates that it has pushed since it pulled do not count in staleness,
     * which counts only those of other workers. After an error nothing is posted any more. */
    int most_in_flight;
    int usual_in_flight;          /* the maximum if it is not chosen */
    size_t usual_partition_bytes; /* likewise, of a chunk over a transport with TR_CUTS */
    enum rc (*post)(struct sync *s, const struct chunk_work *work);
    /* Completes the chunk that was posted first. *out is zeroed by the caller. Errors: likewise. */
    enum rc (*complete)(struct sync *s, float *param, struct chunk_cost *out);
    /* Optional: env.n_batches. Between two steps: the previous batch, if any, is done. *out := the next batch, to which
     * the next pushes belong, or *is_over: every batch is done. Waits while other workers have the remaining batches.
     */
    enum rc (*next_batch)(struct sync *s, uint64_t *out, bool *is_over);
    /* Optional: env.n_guests. For a late joiner, before anything else: it is a worker from now on, and param is what
     * the servers hold. *is_over: every batch is done; it has not joined, and only close() may follow. RC_TIMEOUT: no
     * server answers, because the run has ended. */
    enum rc (*join)(struct sync *s, float *param, bool *is_over);
    /* On worker 0, between two steps, with nothing posted: param, *state, as in final() := what the servers hold now,
     * each for its own slice. No other worker takes part, and later results are unchanged. In host memory. */
    enum rc (*snapshot)(struct sync *s, float *param, struct optimizer_state *state);
    /* After the last step, on every worker: param (worker 0; may be unchanged elsewhere) := the final parameters.
     * *state (NULL: not wanted; its moments are the caller's, NULL: not wanted) := the optimiser's. In host memory. */
    enum rc (*final)(struct sync *s, float *param, struct optimizer_state *state);

    /* --- on a server --- */

    /* Its body, exchange.S4. step_ns: measured time of a step, 0: not known. A server waits on, despite timeout_ms,
     * while its workers are silent no longer than some steps. */
    enum rc (*serve)(struct sync *s, uint64_t step_ns);
    /* After serve(): facts about its work. */
    void (*served)(const struct sync *s, struct server_facts *out);
};

struct sync_mode {             /* without MODE_EXCHANGES it has the module alone */
    struct module module;      /* caps: enum mode_caps; memory: beside parameters, gradient and optimiser */
    const char *exchange_name; /* of a chunk's exchange in timelines: "reduce" */
    const struct collective_mode *collective; /* with MODE_COLLECTIVE; else NULL */
    const struct server_mode *servers;        /* with MODE_SERVERS; else NULL */

    enum rc (*open)(struct sync **out, const struct sync_env *env); /* collective over world */
    /* The messages of a step, for its lower bound; zeros if there are none. Pure. */
    struct wire_plan (*wire_plan)(const struct sync *s);
    /* Bytes that this rank sends for all chunks of a step without compression, or for a server in its answers to one
     * worker. 0: not known. Pure. */
    uint64_t (*full_bytes)(const struct sync *s);
    void (*close)(struct sync **s);
};

struct sync { /* first member of each implementation's struct */
    const struct sync_mode *ops;
    struct sync_env env;
};

extern const struct sync_mode sync_none, sync_single;

#endif
