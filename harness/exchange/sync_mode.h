/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_mode.h - what happens to a piece of the gradient between the ranks.
 * "none" (nothing: the control), "single" (one worker, nothing), "allreduce" (the sum over workers), "ps" (push, pull;
 * asynchronous). The queue before a mode and the update behind it are those of exchange.h, the same for all.
 * Synchronous modes average over workers; asynchronous ones apply each worker's own mean gradient. Nothing sums.
 *
 * Invariants
 *   S1  Order on a worker: open; then in every step exchange() once for each piece, in an order that is the same on
 *       every worker of a synchronous mode; then final once; then close. One task at a time calls (task.h, K6). With
 *       post(), that and end() are in place of exchange(): at most `most_in_flight` are posted and not ended.
 *   S2  After exchange() or end() returned RC_OK, of the elements of that piece: without servers grad is the sum over
 *       workers (env.shard: over those that have the piece); with servers param holds the values for the next step, at
 *       most `staleness` updates behind the newest, which the rule of env.consistency made (consistency.h).
 *   S3  One worker of every mode gives the same bits as "single", if nothing is compressed.
 *   S4  A server rank calls serve() once, which returns when every worker has called final().
 *   S5  Nothing of ours allocates between open and final, but snapshot(). (ZeroMQ does, inside the library, for each
 *       message.)
 *   S6  With env.compression exchange() gets gradients of which messages hold every value exactly (compression.h), and
 *       sends them so. Parameters are sent as they are.
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
#include "harness/exchange/lr_staleness.h"
#include "harness/exchange/periods.h"
#include "harness/exchange/placement.h"
#include "harness/exchange/refused.h"
#include "harness/exchange/staleness.h"

struct world;
struct transport;
struct collective_ops;
struct share;
struct span_ring;
struct sync;

struct sync_shard {              /* exchange.E14 */
    struct world *world;         /* NULL: there is none */
    struct transport *transport; /* of that world */
    size_t first_elem;
};

struct sync_env {                /* borrowed; outlives the sync */
    struct world *world;         /* n_workers + n_servers ranks; workers first; behind these n_guests */
    struct compute *compute;     /* works where messages are: in host memory, or hollow; of a collective with
                                    COLL_DEVICE: the device's */
    struct transport *transport; /* of world; its owner closes it before the sync; tags 0x7000 to 0x7fff are not
                                    the mode's */
    const struct collective_ops *collective; /* of a mode with MODE_COLLECTIVE; else NULL */
    const void *collective_opts;             /* its options; NULL: it has none */
    struct share *const *share;              /* [n_shares]: that have the arrays given to exchange() */
    int n_shares;
    struct sync_shard shard; /* of a mode with MODE_COLLECTIVE: pieces from first_elem on are summed over that world */
    const struct buckets *buckets;
    const struct placement *placement; /* of the parameters on the servers */
    struct consistency consistency;    /* of a mode with servers */
    enum lr_staleness lr_staleness;    /* likewise */
    int n_workers, n_servers;
    int n_guests; /* of a run with n_batches: workers that may join it (exchange.E15); 0: none may */
    const int
        *host; /* [n_workers + n_servers]: of each rank, a number; NULL: every rank has a network card of its own */
    size_t n_steps;                 /* of this run */
    uint64_t n_steps_before;        /* of the training, before it */
    struct periods periods;         /* of a mode with servers; wire_plan() counts by them */
    uint64_t stop_at;               /* likewise: updates of this run; 0: no limit (exchange.E11) */
    uint64_t n_batches;             /* likewise: of this run, which next_batch() hands out (exchange.E13), only with
                                       async; 0: it does not */
    struct compression compression; /* S6 */
    struct optimizer_rule optimizer;
    const float *slice_param; /* a server's: its slice (placement.h), the host's, lent during open; hollow: NULL */
    struct optimizer_state slice_state; /* likewise: float[n_moments][of the slice]; NULL: of a training that begins */
    int n_in_flight; /* of a mode with post(): pieces of a worker that are posted and not ended, at most; 0: 1 */
    int n_replicas;  /* of each slice: 0, or 1, on the next server (ps/replica.h) */
    const float *before_param; /* with one: as slice_param, of the server before, the last one before the first */
    float *before_moments;     /* likewise, as those of slice_state */
    const char *snapshots;   /* without replicas: a folder, where each server's slice is (ps/snapshot.h); NULL: none */
    uint64_t snapshot_every; /* updates */
    int timeout_ms;          /* per message; 0 waits for ever */
    struct span_ring *ring;  /* a server's: of its task; NULL: nothing is recorded */
    void (*tell)(void *arg, const char *line); /* Optional (may be NULL): default standard error. A server's: a line
                                                  about messages that it refused */
    void *tell_arg;
    /* Optional (may be NULL). A server's: before each push that it takes; step: of its worker. For drills. */
    void (*on_push)(void *arg, uint64_t step);
    void *on_push_arg;
    /* Optional (may be NULL). Of a server that has the book of batches, or follows it: round number `round`, n_workers
     * batches more, was done at ended_ns, no earlier than the round before. It may say so of a round again. */
    void (*on_round)(void *arg, size_t round, uint64_t ended_ns);
    void *on_round_arg;
};

/* Workers, as servers number them: those that begin with the run, then guests, whose ranks are behind the servers'. */
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

struct piece_cost {           /* what exchange() spent elsewhere, ns */
    uint64_t server_ns;       /* ps: waiting in the server's queue; the slowest server */
    uint64_t apply_ns;        /* ps: updating the parameters there */
    uint64_t held_ns;         /* ps: until its answer waited for other workers no more; the slowest server */
    uint32_t staleness_count; /* ps: updates by others between pull and apply; max over servers */
    uint32_t late_count;      /* ps: messages of it whose gradient was dropped */
    uint32_t applied_count;   /* ps: messages of it whose gradient was applied, or is in the mean that was */
    uint32_t refused_count;   /* ps: messages of it whose gradient was refused, as it was not finite */
    uint32_t lead_count;      /* ps: steps that the worker is then ahead of the slowest one; max over servers */
    bool is_last;             /* ps: it is to begin no other step */
};

struct piece_work { /* what exchange_part() or post() is to do */
    size_t k;       /* piece */
    unsigned parts; /* enum exchange_part; not 0 */
    float lr;
    float *param, *grad; /* as of exchange() */
};

enum { MOST_WORKER_CHANGES = 32 };

struct worker_change { /* of the workers of a run with n_batches, before all were done */
    enum worker_change_kind { WORKER_JOINED, WORKER_LEFT, WORKER_LOST } what;
    int32_t worker;                   /* as servers number it */
    uint64_t n_done_count, own_count; /* batches done then: by all, and by this one */
};

struct server_facts {                        /* of a server, since it began */
    uint32_t pushes_count[STALENESS_BINS];   /* that were applied, by staleness */
    uint64_t late_count;                     /* that were dropped */
    uint32_t lead_max_count;                 /* of any worker, as it was answered: steps ahead of the slowest one */
    uint64_t refused_count[N_REFUSED];       /* messages, by reason; and connections */
    uint64_t replicated_count, replicate_ns; /* pushes that waited for their replica; how long, together */
    uint64_t
        rolled_back_count; /* pushes of parts that were answered, and are not in the snapshot that it went on from */
    uint32_t n_taken_over; /* servers whose place it has taken; what they had served is counted here */
    uint64_t copies_count, copied_bytes; /* replicas made again of the slices that it holds (ps/copy.h) */
    uint32_t n_alone;                    /* of these slices, those that have no whole replica now */
    bool has_book;                       /* with env.n_batches: it hands them out, at the end of the run */
    bool follows_book;                   /* it has the same of another server, which has the book unless it is lost */
    /* Of these two: done; handed out again, as a worker was gone, or a server, which had not written them. */
    uint64_t batches_done_count, batches_again_count;
    uint64_t batches_held_count;  /* whose gradients every part of its slice has; of no part: n_batches */
    uint64_t batches_whole_count; /* of these, from the first one on, before one is missing */
    uint64_t guest_batches_count; /* likewise: done by those that joined */
    uint64_t changes_count;       /* likewise; the first of them: */
    struct worker_change change[MOST_WORKER_CHANGES];
    uint64_t repeated_parts_count; /* gradients of parts that were there, by a worker that was gone, and so dropped */
};

struct wire_plan { /* of the slowest path of a step: no less than n_in_turn t(message), nor than
                      n_on_link (t(message) - alpha) */
    size_t message_bytes;
    double n_in_turn; /* messages that wait for one another: each costs a latency */
    double n_on_link; /* messages that cross the busiest link, one way, one after the other */
};

enum mode_caps {
    MODE_SERVERS = 1u << 0,       /* at least one rank is a parameter server, which updates */
    MODE_SYNCHRONOUS = 1u << 1,   /* workers meet every step */
    MODE_SHARED_PARAMS = 1u << 2, /* all workers end with (or can fetch) the same parameters */
    MODE_ONE_WORKER = 1u << 3,    /* it has one worker: what efficiency is measured by */
    MODE_COLLECTIVE = 1u << 4,    /* it exchanges by a collective algorithm (collective.h) */
    MODE_EXCHANGES = 1u << 5,     /* something crosses between ranks; without: a worker updates by its own gradient */
};

/* Does anything cross between ranks? Where it does not and there are several workers, the mode is the control. */
static inline bool mode_exchanges(const struct module *mode)
{
    return (mode->caps & MODE_EXCHANGES) != 0;
}

struct sync_mode {             /* without MODE_EXCHANGES the functions are NULL */
    struct module module;      /* caps: enum mode_caps; memory: beside parameters, gradient and optimiser */
    unsigned collectives;      /* MODE_COLLECTIVE: what it calls, enum collective_type */
    const char *exchange_name; /* of exchange() in timelines: "reduce" */

    enum rc (*open)(struct sync **out, const struct sync_env *env); /* collective over world */
    /* S2, of piece k of env.buckets. param, grad: the host's float[n_params], of which the elements of other pieces are
     * neither read nor written; hollow: NULL. lr: of this step, for servers. *out is zeroed by the caller. */
    enum rc (*exchange)(struct sync *s, size_t k, float lr, float *param, float *grad, struct piece_cost *out);
    /* Of a mode with servers: some of exchange(), with both parts all of it. Without EXCHANGE_PULL param stays, and the
     * worker may go on by its own gradient: updates that it has pushed since it pulled are none by others, of which
     * staleness is. */
    enum rc (*exchange_part)(struct sync *s, const struct piece_work *work, struct piece_cost *out);
    /* Optional (may be NULL, both: pieces are exchanged one after the other): several at once, in place of exchange()
     * and exchange_part(). post() begins what exchange_part() does and waits for no other rank; param and grad are lent
     * until it is ended. At most most_in_flight are posted and not ended, of different pieces. Errors: those of
     * exchange_part(); nothing is posted any more. */
    int most_in_flight;
    enum rc (*post)(struct sync *s, const struct piece_work *work);
    /* End the one that was posted first. *out is zeroed by the caller. Errors: likewise. */
    enum rc (*end)(struct sync *s, float *param, struct piece_cost *out);
    /* Optional (may be NULL: env.n_batches is 0). With env.n_batches, of a worker, between two steps: the one before,
     * if there was one, is done; *out := the batch of the next one, of which its pushes are, or *is_over: all batches
     * are done. Waits while others have those that are not. */
    enum rc (*next_batch)(struct sync *s, uint64_t *out, bool *is_over);
    /* Optional (may be NULL: env.n_guests is 0). Of a guest, before anything else: it is a worker from now on, and
     * param is what the servers hold; *is_over: all batches are done, so that it has not joined, and only close() may
     * follow. RC_TIMEOUT: no server answers, as a run does that has ended. */
    enum rc (*join)(struct sync *s, float *param, bool *is_over);
    /* Of a mode with MODE_COLLECTIVE; in place of exchange() where its collective has COLL_DEVICE, of whole buckets.
     * queue() does not wait: bucket b of grad, float[n_params] in memory of the compute, is summed behind what the
     * calls of the compute wrote (collective.A7). wait(): calls of the compute from now on see the sum. Buckets are
     * queued in the same order on every worker. */
    enum rc (*queue)(struct sync *s, size_t b, float *grad);
    enum rc (*wait)(struct sync *s, size_t b);
    /* Optional (may be NULL: nothing to do). After the last step, on every worker; with servers: param (worker 0;
     * elsewhere may stay) := the final parameters, *state (NULL: not wanted; its moments are the caller's, NULL:
     * not wanted) := the optimiser's. The host's. */
    enum rc (*final)(struct sync *s, float *param, struct optimizer_state *state);
    /* Optional (may be NULL: the worker has all of it). On worker 0, between two steps, after all its exchange() have
     * returned: param, *state, as of final() := what the servers hold now, each of its own slice. No other worker
     * takes part; what it gets later is what it would have got. The host's. */
    enum rc (*snapshot)(struct sync *s, float *param, struct optimizer_state *state);
    /* Optional (may be NULL: mode has no servers): body of a server rank, S4. step_ns: what a step was measured to
     * take, 0: not known; a server whose workers are silent no longer than some steps waits on, whatever timeout_ms is.
     */
    enum rc (*serve)(struct sync *s, uint64_t step_ns);
    /* Optional (may be NULL: nothing is counted). On a server rank, behind serve(). */
    void (*served)(const struct sync *s, struct server_facts *out);
    /* The messages of a step, for its bound; zeros when there are none. Pure. */
    struct wire_plan (*wire_plan)(const struct sync *s);
    /* Optional (may be NULL: nothing was chosen). Which algorithms open() chose, and why: text[n_bytes]; "": none. */
    void (*explain)(const struct sync *s, char *text, size_t n_bytes);
    /* What exchange() of all pieces, or of a server their answers to one worker, sends from this rank without
     * compression: bytes. 0: not known. Pure. */
    uint64_t (*full_bytes)(const struct sync *s);
    void (*close)(struct sync **s);
};

struct sync { /* first member of each implementation's struct */
    const struct sync_mode *ops;
    struct sync_env env;
};

extern const struct sync_mode sync_none, sync_single;

#endif
