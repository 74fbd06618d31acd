/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h - how the gradients of a step become the parameters of the next, segment by segment.
 *
 *     backward: submit(last segment) ... submit(first segment)      next forward: await(first) ... await(last)
 *                     \                                                        ^
 *                      buckets -> queue (chunks, priority)  ->  mode: sum | push, pull  ->  update
 *
 * A mode (sync_mode.h) defines what ranks send to each other. The queue and the update are common to all modes. The
 * worker updates by what the mode left in the gradient, or the servers update.
 *
 * Invariants
 *   E1  With overlap a communicator, a separate task, exchanges and updates; submit() and begin() never wait. Without
 *       overlap there is no such task: await() does the work in the caller, in the order of the queue. A collective
 *       with COLL_DEVICE needs no task. With overlap submit() queues a whole bucket on the device; it may then transfer
 *       earlier buckets between hosts while the device computes. Without overlap the first await() queues all buckets.
 *       await() waits until the sum is there, and updates.
 *   E2  After await(s) returned RC_OK, param of segment s holds the values for the next step, and its gradient may be
 *       written.
 *   E3  Buckets and chunks, and so the bits, are a pure function of options and layout (buckets.h): with or without
 *       overlap or priority, in every world. open() finds and names a rank that has another plan, mode
 *       or reducer.
 *   E4  The exchange allocates parameters and gradients, in memory of the compute or (opts.shared_memory) of shares of
 *       each host's workers: exchange_memory.h. It has copies in host memory only if a mode exchanges and neither the
 *       host nor the collective can reach the compute's memory: of gradients, and with servers of parameters.
 *   E5  Our code allocates nothing between start() and final(), except a growing log of messages.
 *   E6  Workers of a synchronous mode exchange chunks in the same order. Without priority that is the order of submits,
 *       which is the same on every worker. With priority and overlap, worker 0 chooses the order and sends it to the
 *       other workers.
 *   E7  If workers of a synchronous mode stop when one of them is lost, they are at most one step apart, in every
 *       chunk: no chunk of a step is summed before every worker has submitted it, and none submits before all its
 *       chunks of the step before are updated. So the last step that all have done is the least number of
 *       exchange_stop(). To go back to it (exchange_undo_to) the values before the last update of each chunk are
 *       enough. They are kept if env.keeps_undo.
 *   E8  Local SGD (Stich 2019): with opts.average_every K, with MODE_COLLECTIVE and without overlap, a worker updates
 *       by its own gradient in every step. After steps K, 2 K, ... of the training and after the last one of the run
 *       the parameters of all workers become their weighted mean; each worker keeps a separate optimiser state.
 *   E9  With opts.compression, before a chunk of the gradient is exchanged, it becomes what messages can hold of it and
 *       of the residual of earlier steps (compression.h). Not with average_every, nor with COLL_DEVICE.
 *       exchange_undo_to() does not restore the residual; nothing is exchanged after it.
 *  E10  With opts.periods a worker pushes and pulls only in some of its steps. In steps without a pull it continues
 *       with its own gradient. Only with consistency async, where no worker waits for a push.
 *  E11  With opts.stop_at N the servers make exactly N updates of each parameter, including those of the training
 *       before this one. The first server counts the pushes that workers have begun or may begin, and informs each
 *       worker when it must begin no more (exchange_cost.is_last). Without overlap, which begins a step before it
 *       knows. If a worker is lost before the first server has its push, its push is granted to another worker that has
 *       not ended.
 *  E12  In a mode with servers opts.n_in_flight chunks are posted and not completed at once, up to the maximum of the
 *       mode; else one. They are posted in the order of the queue, each as soon as it is there and fewer are posted
 *       (with overlap: and no chunk is being waited for), and completed in that order. The bits are the same as one
 *       after another: chunks are independent.
 *  E13  With opts.n_batches N the run is elastic: it has N batches, which are assigned while it runs. Before each step
 *       a worker takes one (exchange_next_batch()); it waits for one that was not assigned ahead. The batches of a lost
 *       worker are assigned again, so that each parameter counts the gradient of each batch once (ps.B4).
 *       Without overlap and periods, which delay gradients, and only with consistency async.
 *  E14  With env.shard the parameters from shard.first_elem on are shards: different ones on the ranks of this world,
 *       each the same on all ranks of its shard.world. Their gradients are summed over that world, all others over this
 *       one, and no bucket has both; the update divides each sum by the number of all workers. Each rank has written
 *       the initial values of its shard itself: start() shares only the parameters before them. One task of a rank
 *       exchanges both, in the order of the queue. That order has the chunks of shards before the common ones. Ranks
 *       may have different numbers of chunks of shards; with E6's order of worker 0, which sends numbers, all have
 *       equally many. So when ranks meet in a chunk, the chunks before it are common to them or need no wait, and no
 *       rank waits for ever. Only with MODE_COLLECTIVE and a collective without COLL_DEVICE, without average_every,
 *       compression, shared memory and undo.
 *  E15  With opts.n_guests up to n_guests more workers may join the running run as late joiners (world.W9). Other
 *       ranks agree in exchange_open() and start(). For a late joiner, the servers check its layout (ps/layout.h) when
 *       it joins, and it gets their parameters. It may join, leave and be lost like any other worker (ps.B8).
 */
#ifndef HARNESS_EXCHANGE_EXCHANGE_H
#define HARNESS_EXCHANGE_EXCHANGE_H

#include <string.h>

#include "harness/base/range.h"
#include "harness/exchange/compression.h"
#include "harness/exchange/exchange_memory.h"
#include "harness/exchange/periods.h"
#include "harness/exchange/sync_mode.h"

struct transport_ops;
struct span_ring;
struct message_log;
struct exchange;

struct exchange_opts {
    struct bucket_opts buckets;
    bool spreads;  /* neighbouring chunks of a bucket go to different servers, as far as servers have ranges */
    bool overlap;  /* exchange.E1 */
    bool priority; /* the waiting chunk that the next forward pass needs first goes first; else the oldest */
    struct placement_opts placement; /* of parameters on servers */
    struct consistency consistency;  /* of a mode with servers */
    enum lr_staleness lr_staleness;  /* likewise */
    struct compression compression;  /* exchange.E9 */
    uint64_t average_every;          /* exchange.E8; 0: gradients are averaged in every step */
    struct periods periods;          /* of a mode with servers, exchange.E10 */
    uint64_t stop_at;                /* likewise, exchange.E11; 0: nowhere */
    uint64_t n_batches;              /* likewise, exchange.E13; 0: each worker has the same number of batches */
    int n_guests;                    /* with n_batches, exchange.E15 */
    int n_replicas;                  /* likewise: standbys of each server (sync_mode.h) */
    int n_in_flight;                 /* exchange.E12; 0: one */
    bool shared_memory;              /* other workers of its host can map a worker's parameters and gradients */
};

/* Fault injection: in this step one bit of one element of the gradient is flipped, after the exchange and before the
 * update. The element is the first from elem_index on, within its chunk, whose parameter that changes. The bit is the
 * one that changes it by about an eighth; with adagrad and adam, whose first update depends only on the sign, it is the
 * sign. With servers: that element of the parameters, until it is pulled again. Without average_every. */
struct gradient_flip {
    uint64_t step; /* as counted by begin() */
    size_t elem_index;
};

struct exchange_shard {  /* exchange.E14 */
    struct world *world; /* of the ranks with the same shard; part of env.world, in its order */
    size_t first_elem;   /* where a segment begins; 0: all parameters are shards */
};

struct exchange_env {    /* borrowed; outlives the exchange */
    struct world *world; /* n_workers + n_servers ranks; workers first */
    struct compute *compute;
    const struct sync_mode *mode;
    const struct transport_ops *transport;   /* NULL for modes that exchange nothing */
    const struct collective_ops *collective; /* of a mode with MODE_COLLECTIVE; else NULL */
    const void *collective_opts;             /* its options; NULL: none */
    const struct segment *segment;           /* [n_segments], forward order */
    size_t n_segments;
    int n_workers, n_servers;
    const int
        *host; /* [n_workers + n_servers]: the host number of each rank; NULL: each rank has a separate network card */
    bool has_other_pairs; /* of the collective: pairs other than neighbours, and some of one host */
    struct exchange_opts opts;
    float
        weight; /* weight of this worker's gradient (with average_every: of its parameters) in the mean of all; 0: 1 */
    struct optimizer_rule optimizer;
    const struct gradient_flip *flip;   /* NULL: none; lent during open() */
    const struct exchange_shard *shard; /* NULL: all workers have the same parameters; lent during open() */
    bool forward_only;                  /* nothing is exchanged or updated; there are no gradients */
    int timeout_ms;                     /* per message; 0: no limit */
    /* exchange.E7; only in a synchronous mode with memory, else nothing is kept */
    bool keeps_undo;
    bool timeline;                             /* record spans (exchange_ring) */
    bool messages;                             /* record messages (exchange_messages) */
    void (*on_push)(void *arg, uint64_t step); /* sync_env.on_push; NULL: nothing */
    void *on_push_arg;
    void (*on_round)(void *arg, size_t round, uint64_t ended_ns); /* sync_env.on_round; NULL: nothing */
    void *on_round_arg;
    size_t n_steps;          /* of this run; determines the size of rings */
    uint64_t n_steps_before; /* of the training, before it */
};

/* The owner of a ring. */
enum exchange_task {
    EXCHANGE_MAIN,         /* the main task: waits, and inline work; a server's: its work */
    EXCHANGE_QUEUE,        /* the next chunk, while it waits */
    EXCHANGE_COMMUNICATOR, /* with overlap */
    EXCHANGE_N_RINGS
};

/* Where a step's time went except computation, on the worker's clock, ns. */
struct exchange_cost {
    uint64_t waited_ns;       /* in await() */
    uint64_t apply_ns;        /* of waited_ns: updating parameters, here or (ps) at the slowest server */
    uint64_t server_ns;       /* of waited_ns: ps: in the server's queue; the slowest server */
    uint64_t exchange_ns;     /* of waited_ns: exchanging, without the part at the server, including held_ns */
    uint64_t hidden_ns;       /* exchanging while the worker did not wait for it */
    uint64_t held_ns;         /* of waited_ns: ps: waiting for the pushes of other workers; the slowest server */
    uint32_t staleness_count; /* ps: updates by other workers between pull and apply; max over servers and chunks */
    uint32_t late_count;      /* ps: messages whose gradient was dropped */
    uint32_t applied_count;   /* ps: messages whose gradient was applied */
    uint32_t refused_count;   /* ps: messages whose gradient was refused because it was not finite */
    uint32_t lead_count;      /* ps: steps ahead of the slowest worker; max over servers and chunks */
    bool keeps_gradient;      /* exchange.E10: it is pushed with that of a later step */
    bool is_last;             /* exchange.E11: this worker must begin no further step */
};

/* The initial state of all ranks: rank 0's, except for shards (exchange.E14), where each rank has its own. Lent during
 * start(). */
struct initial_state {
    float *running; /* of a worker: float[n_running] in memory of the compute (workload_state); NULL: none */
    size_t n_running;
    struct optimizer_state state; /* float[n_moments][n_params]; NULL, on every rank: a new training; n_updates: the
                                     same on every rank */
};

/* Allocates memory and makes the plan; collective over world. Errors: RC_INVAL if mode and ranks do not fit;
 * RC_MISMATCH if a rank has another plan (exchange.E3), which the message names; RC_NOMEM; RC_UNSUPPORTED if memory
 * cannot be shared. */
enum rc exchange_open(struct exchange **out, const struct exchange_env *env) MUST_CHECK;
/* float[n_params], for operations of the compute; NULL on servers and in no-data runs; no gradients if forward_only. */
float *exchange_param(const struct exchange *x);
float *exchange_grad(const struct exchange *x);
/* Collective, once: sends rank 0's parameters (which it has written to exchange_param()) and initial state to all
 * ranks, and opens the mode. No virtual time passes. */
enum rc exchange_start(struct exchange *x, const struct initial_state *from) MUST_CHECK;
/* exchange.E15, for a late joiner, after start(): as server_mode.join(); the parameters are those of the servers. */
enum rc exchange_join(struct exchange *x, bool *is_over) MUST_CHECK;
/* exchange.E13, for a worker, between two steps: as server_mode.next_batch(). */
enum rc exchange_next_batch(struct exchange *x, uint64_t *out, bool *is_over) MUST_CHECK;
/* Begins a step of a worker. lr: the step's rate. Zeroes the cost. */
enum rc exchange_begin(struct exchange *x, uint64_t step, float lr) MUST_CHECK;
/* world_check(), for a worker that does not wait; if the communicator's work failed, its error. */
enum rc exchange_check(struct exchange *x) MUST_CHECK;
/* Does it work beside the caller (exchange.E1)? Then a step begins before the last one's parameters are there: the
 * forward pass awaits them, and the caller awaits all of them only after the last step. */
bool exchange_overlaps(const struct exchange *x);
/* Is it useful to submit segments one by one, while others are being computed? Else submit all at once. */
bool exchange_wants_segments(const struct exchange *x);
/* For a worker of a mode with MODE_COLLECTIVE, between two steps. true: from the next step on gradients are not
 * exchanged, and each worker updates by its own; false: they are exchanged again. Equal on all workers. Used to measure
 * the cost of the exchange; parameters then differ between workers. Not with exchange.E6's order by priority, which is
 * sent in every step, nor with average_every. */
void exchange_leave_out(struct exchange *x, bool is_left_out);
/* The gradient of s, a segment of the layout, is final. Syncs the compute (compute.C2). s NULL: all gradients are final
 * since now_ns, by the world's clock, no segment was submitted, and the caller has synced the compute. */
enum rc exchange_submit(struct exchange *x, const struct segment *s, uint64_t now_ns) MUST_CHECK;
/* exchange.E2. Syncs the compute before it waits. */
enum rc exchange_await(struct exchange *x, struct segment s) MUST_CHECK;
/* *now_ns: the caller's last reading of the clock; on return, the last reading here. Inline, a step reads the clock
 * only four times; a reading costs 40 ns of a step that may take 6 us. */
enum rc exchange_await_all(struct exchange *x, uint64_t *now_ns) MUST_CHECK;
/* The cost since begin(). */
struct exchange_cost exchange_cost(const struct exchange *x);
/* For worker 0, between two steps: param (the host's float[n_params]) and *state := the result of final() if no worker
 * did anything more. Waits for outstanding work. Later results are not changed by it. */
enum rc exchange_snapshot(struct exchange *x, float *param, struct optimizer_state *state) MUST_CHECK;
/* After the last step, on every worker: param (worker 0; may be unchanged elsewhere) := the final parameters, *state :=
 * the optimiser's. Its moments are the caller's, float[n_moments][n_params], or NULL: not wanted; *state may be NULL
 * too. Frees the gradients. */
enum rc exchange_final(struct exchange *x, struct optimizer_state *state) MUST_CHECK;
/* For a worker, instead of the rest of a step that failed, or after the last one. Ends all work; of the calls above
 * only final() may follow. *n_steps: steps since start() that every parameter here has gone through. Errors: of the
 * communicator's end, if it had done all its work. */
enum rc exchange_stop(struct exchange *x, uint64_t *n_steps) MUST_CHECK;
/* After stop(): parameters and optimiser's state := those after n_steps steps (exchange.E7). RC_INVAL: a chunk has gone
 * through fewer, or through two more; nothing is changed then. */
enum rc exchange_undo_to(struct exchange *x, uint64_t n_steps) MUST_CHECK;
/* Body of a server rank (exchange.S4). step_ns: measured time of a step; 0: not known. */
enum rc exchange_serve(struct exchange *x, uint64_t step_ns) MUST_CHECK;
/* For a server rank, after serve(): facts about its work. */
struct server_facts exchange_served(const struct exchange *x);
/* Lent; NULL: none. The main task may add spans to its own ring; the other rings are read only after final(). A ring
 * holds the last spans, those of all steps up to some hundred thousand spans. */
struct span_ring *exchange_ring(const struct exchange *x, enum exchange_task task);
/* Every message of this rank since start(), with its place in the gradients; after final(), lent. NULL: not
 * recorded. */
const struct message_log *exchange_messages(const struct exchange *x);
/* The protection of sent data, as in transport_encryption(); for another library's collectives "clear" or "local". "":
 * nothing is sent, or time is virtual. After start(). */
enum { ENCRYPTION_BYTES = 8 };
const char *exchange_encryption(const struct exchange *x);
/* After start(): the algorithms that were chosen for the chunks, and why: text[n_bytes]; "": there was no choice. */
void exchange_explain(const struct exchange *x, char *text, size_t n_bytes);
/* Bytes of messages for chunks that this worker has sent so far; for a server all bytes that it has sent. 0 for a
 * reducer of another library, or on a device, where they are not known. */
uint64_t exchange_sent_bytes(const struct exchange *x);
/* Bytes that it would send in a step without compression; 0 if nothing is sent, or it is not known. */
uint64_t exchange_full_bytes(const struct exchange *x);
/* For a worker of a mode with servers: its steps so far that have pushed, pulled, or done both. */
struct period_counts exchange_counts(const struct exchange *x);
/* The messages of a step, for its lower bound; zeros if nothing is exchanged. */
struct wire_plan exchange_wire_plan(const struct exchange *x);
void exchange_close(struct exchange **x); /* NULL-safe, nulls */

/* The memory of the parameters; servers: MEMORY_NONE. Reads /proc: slow. */
struct exchange_memory_facts exchange_memory_of(const struct exchange *x);

/* Bytes of host copies (exchange.E4) that a worker needs for n_params. Pure. */
size_t exchange_staging_bytes(const struct sync_mode *mode, const struct collective_ops *collective,
                              const struct compute_backend *compute, size_t n_params);
/* Bytes in host memory that a worker needs for env.keeps_undo. Pure. */
size_t exchange_undo_bytes(const struct sync_mode *mode, const struct compute_backend *compute,
                           const struct optimizer_rule *rule, size_t n_params);

/* Text for the result of exchange_encryption(). */

/* "" if nothing crosses a network. Cannot fail. */
static inline const char *encryption_words(const char *encryption)
{
    if (strcmp(encryption, "curve") == 0)
        return "CURVE: an observer of the network sees only lengths and times";
    if (strcmp(encryption, "clear") == 0)
        return "none: an observer of the network can read all data";
    return "";
}

#endif
