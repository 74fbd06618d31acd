/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.h - how the gradients of a step become the parameters of the next, segment by segment.
 *
 *     backward: submit(last segment) ... submit(first segment)      next forward: await(first) ... await(last)
 *                     \                                                        ^
 *                      buckets -> queue (pieces, priority)  ->  mode: sum | push, pull  ->  update
 *
 * A mode (sync_mode.h) says what crosses between ranks; queue and update are written once, above all of them. The
 * update is the worker's, on what the mode left in the gradient, or the servers'.
 *
 * Invariants
 *   E1  With overlap a communicator, a task of its own, exchanges and updates; submit() and begin() never wait. Without
 *       there is no task: await() does the work in the caller, in the order of the queue. A collective with COLL_DEVICE
 *       needs none: with overlap submit() queues a whole bucket on the device (and may be between hosts then with those
 *       before, while the device computes what it has), without the first await() all; await() waits until the sum is
 *       there, and updates.
 *   E2  After await(s) returned RC_OK, param of segment s holds the values for the next step, and its gradient may be
 *       written.
 *   E3  Which segments form a bucket, which pieces it is cut into, and so the bits, are a pure function of options and
 *       layout (buckets.h): with overlap or without, with priority or without, for any cycle, in every world. A rank
 *       that has another plan, mode or reducer is found by open() and named.
 *   E4  The exchange allocates parameters and gradients, in memory of the compute or (opts.shared_memory) of shares of
 *       each host's workers: exchange_memory.h. It has copies in host memory only where a mode exchanges and the host
 *       cannot reach the compute's memory, nor the collective: of gradients, and with servers of parameters.
 *   E5  Nothing of ours allocates between start() and final(), but a log of messages as it grows.
 *   E6  Workers of a synchronous mode exchange pieces in the same order. Without priority that is the order of submits,
 *       which is the same everywhere; with priority and overlap, worker 0 chooses and tells the others.
 *   E7  Workers of a synchronous mode that stop when one of them is lost are at most one step apart, in every piece: no
 *       piece of a step is summed anywhere before every worker has submitted it, and none submits before all its pieces
 *       of the step before are updated. So the step that all have done is the least number of exchange_stop(), and to
 *       go back to it (exchange_undo_to) the values before the last update of each piece are enough. They are kept
 *       where env.keeps_undo.
 *   E8  Local SGD (Stich 2019): with opts.average_every K, of a mode with MODE_COLLECTIVE and without overlap, a worker
 *       updates by its own gradient in every step. Behind steps K, 2 K, ... of the training and the last one of the run
 *       the parameters of all workers become their weighted mean; each keeps an optimiser's state of its own.
 *   E9  With opts.compression a piece of the gradient is what messages can hold of it and of what was left of the steps
 *       before (compression.h), from before it is exchanged on. Not with average_every, nor with COLL_DEVICE. What is
 *       left is not taken back by exchange_undo_to(), behind which nothing is exchanged.
 *  E10  With opts.periods a worker pushes and pulls in some of its steps alone, and goes on by its own gradient in
 *       those that do not pull. Only with consistency async, where nobody waits for a push.
 *  E11  With opts.stop_at N the servers make exactly N updates of each parameter, those of the training before this
 *       one included: the first server counts the pushes that workers have begun or may begin, and tells each of them
 *       when it is to begin no more (exchange_cost.is_last). Without overlap, which begins a step before it knows. A
 *       worker that is lost before the first server has its push begins one less, which another gets that has not
 *       ended.
 *  E12  Of a mode with post() opts.n_in_flight pieces are under way at once, or as many as the mode lets; else one is.
 *       They begin in the order of the queue, each as soon as it is there and fewer are under way (with overlap: and
 *       none is being waited for), and end in that order. Every bit is that of one after the other: a piece knows of no
 *       other.
 *  E13  With opts.n_batches N the run is of N batches, and who computes which is decided while it runs: before each
 *       step a worker takes one (exchange_next_batch()), for which it waits where none was handed out ahead. What a
 *       worker has that is lost another one gets, so that in each parameter the gradient of each batch counts, once
 *       (ps/leases.h); what a server had and has lost, as another one goes on from its snapshot, comes again. Without
 *       overlap and periods, which keep back gradients, and only with consistency async.
 *  E14  With env.shard the parameters from shard.first_elem on are shards: different ones on the ranks of this world,
 *       each the same on all ranks of its shard.world. Their gradients are summed over that world, all others over this
 *       one, and no bucket has both; the update divides each sum by the number of all workers. What they begin with
 *       each rank has written itself: start() shares what is before them. One task of a rank exchanges both, in the
 *       order of the queue. That order has the pieces of shards, of which ranks may have different numbers, before the
 *       common ones; with E6's order of worker 0, which tells numbers, all ranks have equally many pieces. So ranks
 *       that meet in a piece have those before it in common, or not to wait for, and none waits for ever. Of a mode
 *       with MODE_COLLECTIVE whose collective has not COLL_DEVICE, without average_every, compression, shared memory
 *       and undo.
 *  E15  With opts.n_guests so many workers more may join the run while it goes on (world.W9): what exchange_open() and
 *       start() agree on with others is, for a guest, that servers check its layout (ps/layout.h) when it joins, and
 *       its parameters are then theirs. It may come, go and be lost as any other worker (ps/leases.h).
 */
#ifndef HARNESS_EXCHANGE_EXCHANGE_H
#define HARNESS_EXCHANGE_EXCHANGE_H

#include "harness/base/segment.h"
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
    bool overlap;      /* E1 */
    bool priority;     /* of the pieces that wait, the one that the next forward pass needs first goes first; else the
                          oldest */
    uint64_t cycle_ns; /* with both: how long an idle communicator waits for more important pieces (communicator.Y4) */
    struct placement_opts placement; /* of parameters on servers */
    struct consistency consistency;  /* of a mode with servers */
    enum lr_staleness lr_staleness;  /* likewise */
    struct compression compression;  /* E9 */
    uint64_t average_every;          /* E8; 0: gradients are averaged, in every step */
    struct periods periods;          /* of a mode with servers, E10 */
    uint64_t stop_at;                /* likewise, E11; 0: nowhere */
    uint64_t n_batches;              /* likewise, E13; 0: each worker has as many, of its own */
    int n_guests;                    /* with n_batches, E15 */
    int n_replicas;                  /* likewise: of what each server holds (sync_mode.h) */
    const char *snapshots;           /* likewise; NULL: none */
    uint64_t snapshot_every;
    int n_in_flight;    /* E12; 0: one */
    bool shared_memory; /* parameters and gradients of a worker can be mapped by the others of its host */
};

/* A failure to order: in this step a bit of one element of the gradient, behind the exchange and before the update, is
 * another one. The element is the first from elem_index on, of its piece, whose parameter that changes; the bit is that
 * which changes it by an eighth, about, and with adagrad and adam, whose first update is of the sign alone, that of the
 * sign. Beside servers: that element of the parameters, until it is pulled again. Without average_every. */
struct gradient_flip {
    uint64_t step; /* as begin() counts */
    size_t elem_index;
};

struct exchange_shard {  /* E14 */
    struct world *world; /* of the ranks that have the same shard; part of env.world, in its order */
    size_t first_elem;   /* where a segment begins; 0: all are shards */
};

struct exchange_env {    /* borrowed; outlives the exchange */
    struct world *world; /* n_workers + n_servers ranks; workers first */
    struct compute *compute;
    const struct sync_mode *mode;
    const struct transport_ops *transport;   /* NULL for modes that exchange nothing */
    const struct collective_ops *collective; /* of a mode with MODE_COLLECTIVE; else NULL */
    const void *collective_opts;             /* its options; NULL: it has none */
    const struct segment *segment;           /* [n_segments], forward order */
    size_t n_segments;
    int n_workers, n_servers;
    const int
        *host; /* [n_workers + n_servers]: of each rank, a number; NULL: every rank has a network card of its own */
    struct exchange_opts opts;
    float
        weight; /* how this worker's gradient, or with average_every its parameters, counts in the mean of all; 0: 1 */
    struct optimizer_rule optimizer;
    const struct gradient_flip *flip;          /* NULL: none; lent during open() */
    const struct exchange_shard *shard;        /* NULL: all workers have the same parameters; lent during open() */
    bool forward_only;                         /* nothing is exchanged or updated; there are no gradients */
    int timeout_ms;                            /* per message; 0 waits for ever */
    bool keeps_undo;                           /* E7; of a synchronous mode with memory, else nothing is kept */
    bool timeline;                             /* record spans (exchange_ring) ... */
    const struct span_steps *timeline_steps;   /* ... of these steps alone; NULL: of all; lent during open() */
    bool messages;                             /* note messages (exchange_messages) */
    void (*on_push)(void *arg, uint64_t step); /* sync_env.on_push; NULL: nothing */
    void *on_push_arg;
    void (*on_round)(void *arg, size_t round, uint64_t ended_ns); /* sync_env.on_round; NULL: nothing */
    void *on_round_arg;
    size_t n_steps;          /* of this run, which rings are sized for */
    uint64_t n_steps_before; /* of the training, before it */
};

/* Whose ring. */
enum exchange_task {
    EXCHANGE_MAIN,         /* of the main task: waits, and what is done inline; a server's: its work */
    EXCHANGE_QUEUE,        /* the piece that goes next, while it waits */
    EXCHANGE_COMMUNICATOR, /* with overlap */
    EXCHANGE_N_RINGS
};

/* Where a step's time went that was not computing, on the worker's clock, ns. */
struct exchange_cost {
    uint64_t waited_ns;       /* in await() */
    uint64_t apply_ns;        /* of waited_ns: updating parameters, here or (ps) at the slowest server */
    uint64_t server_ns;       /* of waited_ns: ps: in the server's queue; the slowest server */
    uint64_t exchange_ns;     /* of waited_ns: exchanging, less what of it was at the server, held_ns too */
    uint64_t hidden_ns;       /* exchanging while the worker did not wait for it */
    uint64_t held_ns;         /* of waited_ns: ps: for other workers, whose turn it was; the slowest server */
    uint32_t staleness_count; /* ps: updates by others between pull and apply; max over servers and pieces */
    uint32_t late_count;      /* ps: messages whose gradient was dropped */
    uint32_t applied_count;   /* ps: messages whose gradient was applied */
    uint32_t refused_count;   /* ps: messages whose gradient was refused, as it was not finite */
    uint32_t lead_count;      /* ps: steps ahead of the slowest worker; max over servers and pieces */
    bool keeps_gradient;      /* E10: it is pushed with that of a later step */
    bool is_last;             /* E11: this worker is to begin no other step */
};

/* What all ranks begin with; rank 0's are taken, but of E14 each its own. Lent during start(). */
struct initial_state {
    float *running; /* of a worker: float[n_running] in memory of the compute (workload_state); NULL: none here */
    size_t n_running;
    struct optimizer_state state; /* float[n_moments][n_params]; NULL: of a training that begins, on every rank;
                                     n_updates: the same on every rank */
};

/* Memory and plan; collective over world. RC_INVAL: mode and ranks do not fit; RC_MISMATCH: a rank has another plan
 * (E3), which the message names; RC_NOMEM; RC_UNSUPPORTED: memory cannot be shared. */
enum rc exchange_open(struct exchange **out, const struct exchange_env *env) MUST_CHECK;
/* float[n_params], for operations of the compute; NULL on servers and hollow; no gradients where forward_only. */
float *exchange_param(const struct exchange *x);
float *exchange_grad(const struct exchange *x);
/* Collective, once: rank 0's parameters (it has written exchange_param()) and initial state go to all ranks, and the
 * mode is opened. No virtual time passes. */
enum rc exchange_start(struct exchange *x, const struct initial_state *from) MUST_CHECK;
/* E15, of a guest, behind start(): as sync_mode.join(); the parameters are those of the servers. */
enum rc exchange_join(struct exchange *x, bool *is_over) MUST_CHECK;
/* E13, of a worker, between two steps: as sync_mode.next_batch(). */
enum rc exchange_next_batch(struct exchange *x, uint64_t *out, bool *is_over) MUST_CHECK;
/* Of a step of a worker. lr: the step's rate. Zeroes the cost. */
enum rc exchange_begin(struct exchange *x, uint64_t step, float lr) MUST_CHECK;
/* world_check(), of a worker that waits for nobody; where the communicator's work failed, its error. */
enum rc exchange_check(struct exchange *x) MUST_CHECK;
/* Does it work beside the caller (E1)? Then a step begins before the last one's parameters are there: the forward pass
 * awaits them, and the caller all of them after the last step only. */
bool exchange_overlaps(const struct exchange *x);
/* Does it gain from segments one by one, while the others are being computed? Else submit_all() does. */
bool exchange_wants_segments(const struct exchange *x);
/* Of a worker of a mode with MODE_COLLECTIVE, between two steps: from the next one on gradients are not exchanged, and
 * each updates by its own; false: they are again. All workers alike. To measure what the exchange costs: parameters
 * part. Not with E6's order by priority, which crosses in every step, nor with average_every. */
void exchange_leave_out(struct exchange *x, bool is_left_out);
/* The gradient of s, a segment of the layout, is final. Syncs the compute (compute.C2). */
enum rc exchange_submit(struct exchange *x, struct segment s) MUST_CHECK;
/* All gradients are final since now_ns, by the world's clock; none was submitted. The caller has synced the compute. */
void exchange_submit_all(struct exchange *x, uint64_t now_ns);
/* E2. Syncs the compute before it waits. */
enum rc exchange_await(struct exchange *x, struct segment s) MUST_CHECK;
/* *now_ns: the clock as the caller has just read it; at the end, as it was read last: inline, a step reads it four
 * times in all, and a reading costs 40 ns of a step that may take 6 us. */
enum rc exchange_await_all(struct exchange *x, uint64_t *now_ns) MUST_CHECK;
/* Since begin(). */
struct exchange_cost exchange_cost(const struct exchange *x);
/* Of worker 0, between two steps: param (the host's float[n_params]) and *state := what final() would give it if no
 * worker did anything more. Waits for what is under way. Nothing that comes later is changed by it. */
enum rc exchange_snapshot(struct exchange *x, float *param, struct optimizer_state *state) MUST_CHECK;
/* After the last step, on every worker: param (worker 0; elsewhere may stay) := the final parameters, *state := the
 * optimiser's: its moments are the caller's, float[n_moments][n_params], or NULL: not wanted, as *state may be. Frees
 * the gradients. */
enum rc exchange_final(struct exchange *x, struct optimizer_state *state) MUST_CHECK;
/* Of a worker, in place of the rest of a step that failed, or after the last one: nothing is worked on any more, and of
 * the calls above only final() may follow. *n_steps: steps since start() that every parameter here has gone through.
 * Errors: of the communicator's end, where it had done all its work. */
enum rc exchange_stop(struct exchange *x, uint64_t *n_steps) MUST_CHECK;
/* After stop(): parameters and optimiser's state := those after n_steps steps (E7). RC_INVAL: some piece has gone
 * through fewer, or through two more; nothing is changed then. */
enum rc exchange_undo_to(struct exchange *x, uint64_t n_steps) MUST_CHECK;
/* Body of a server rank (S4). step_ns: what a step was measured to take; 0: not known. */
enum rc exchange_serve(struct exchange *x, uint64_t step_ns) MUST_CHECK;
/* Of a server rank, behind serve(): what it has served. */
struct server_facts exchange_served(const struct exchange *x);
/* NULL: there is none. Lent. The main task may add to its own; others are read after final() only. A ring holds the
 * last spans, of all steps if those are not more than some hundred thousand. */
struct span_ring *exchange_ring(const struct exchange *x, enum exchange_task task);
/* Every message of this rank since start(), with its place in the gradients; after final(), lent. NULL: not noted. */
const struct message_log *exchange_messages(const struct exchange *x);
/* What others can read of what exchanging sends, as transport_encryption() has it; of another library's collectives
 * "clear" or "local". "": nothing is sent, or in virtual time. After start(). */
enum { ENCRYPTION_BYTES = 8 };
const char *exchange_encryption(const struct exchange *x);
/* After start(): which algorithms were chosen for the pieces, and why: text[n_bytes]; "": there was nothing to choose.
 */
void exchange_explain(const struct exchange *x, char *text, size_t n_bytes);
/* Bytes of messages that exchanging pieces has sent from this worker, so far; of a server all that it has sent. Those
 * of a reducer that is another library's, or on a device, are not known here: 0. */
uint64_t exchange_sent_bytes(const struct exchange *x);
/* What it would send in a step if every float were sent as it is; 0 where nothing is, or it is not known. */
uint64_t exchange_full_bytes(const struct exchange *x);
/* Of a worker of a mode with servers: its steps so far that have pushed, pulled, or done both. */
struct period_counts exchange_counts(const struct exchange *x);
/* The messages of a step, for its bound; zeros where nothing is exchanged. */
struct wire_plan exchange_wire_plan(const struct exchange *x);
void exchange_close(struct exchange **x); /* NULL-safe, nulls */

/* Which memory the parameters are in; servers: MEMORY_NONE. Reads /proc: slow. */
struct exchange_memory_facts exchange_memory_of(const struct exchange *x);

/* Bytes of host copies (E4) that a worker needs for n_params. Pure. */
size_t exchange_staging_bytes(const struct sync_mode *mode, const struct collective_ops *collective,
                              const struct compute_backend *compute, size_t n_params);
/* Bytes in host memory that a worker needs for env.keeps_undo. Pure. */
size_t exchange_undo_bytes(const struct sync_mode *mode, const struct compute_backend *compute,
                           const struct optimizer_rule *rule, size_t n_params);

#endif
