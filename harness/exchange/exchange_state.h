/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_state.h - what an exchange owns. Private to exchange.c and exchange_step.c. */
#ifndef HARNESS_EXCHANGE_EXCHANGE_STATE_H
#define HARNESS_EXCHANGE_EXCHANGE_STATE_H

#include "harness/compute/optimizer.h"
#include "harness/exchange/communicator.h"
#include "harness/exchange/exchange.h"
#include "harness/exchange/exchange_cost.h"
#include "harness/exchange/exchange_memory.h"
#include "harness/exchange/piece_queue.h"
#include "harness/net/transport.h"
#include "harness/world/span.h"

enum { EXCHANGE_N_SHARES = 2 }; /* of gradients, of parameters */

struct piece_state {  /* of a worker */
    bool pending;     /* submitted, and not completed yet */
    bool is_queued;   /* on the device */
    bool is_left_out; /* from the step in which it was submitted: exchange_leave_out() */
    bool is_posted;   /* its messages are outstanding: sync_mode.end() is due */
    float lr;         /* of the step in which it was submitted */
    uint32_t step;
    unsigned parts;     /* E10: of that step, enum exchange_part */
    uint64_t n_updates; /* so far; for the task that updates */
    struct piece_times times;
};

struct flight {         /* pieces whose exchange has begun and not ended; for the task that exchanges */
    size_t most_pieces; /* maximum at once, E12; at least 1; on servers as on workers */
    size_t *piece;      /* [most_pieces]: number n is in n modulo most_pieces */
    size_t n_begun, n_ended;
    uint64_t last_ns; /* when the last one ended */
};

struct exchange {
    struct exchange_env env;
    bool is_worker, has_servers; /* the rank; the mode */
    bool exchanges;              /* something crosses between ranks in this run */
    bool is_staged;              /* the mode works on copies in host memory (E4) */
    bool is_queued;              /* its collective works on the device (E1): is_staged is false */
    bool overlaps;               /* E1 */
    bool flips;                  /* env.flip is set; its copy: */
    struct gradient_flip flip;
    bool keeps_undo;  /* E7 */
    bool is_left_out; /* exchange_leave_out(), of pieces to come */
    struct buckets buckets;
    struct placement placement;        /* of a mode with servers */
    struct transport *transport;       /* NULL: nothing is exchanged */
    struct sync *sync;                 /* likewise */
    struct exchange_shard shard;       /* from env.shard; world NULL: no shard */
    struct transport *shard_transport; /* over its world; NULL likewise */
    struct message_log *log;           /* of the transport; NULL: not wanted */
    struct compute *side;       /* the compute of the mode if it cannot be env.compute: one with one thread, for the
                                   communicator; one of the host, for copies in its memory; else NULL */
    struct optimizer optimizer; /* of a worker whose mode has no servers */
    struct exchange_memory memory;
    struct share *share[EXCHANGE_N_SHARES]; /* of memory; NULL if it has none */
    float *param, *grad;                    /* in memory */
    float *host_param, *host_grad; /* for the mode to read and write: the same, or copies in host memory (E4) */
    float *undo_param, *undo_moment[OPTIMIZER_MAX_MOMENTS]; /* E7: in host memory; NULL: the optimiser has fewer */
    struct slice {
        int server;
        float *param, *moments;
    } slice[2];                /* a server's, until the mode is open: its own; with replicas also the previous one's */
    uint64_t n_updates_before; /* of the training that this run continues */
    float *residual;           /* E9: of a worker, in host memory; NULL: no compression, or no data */
    float *accrued;            /* E10: likewise, since the last push; NULL: every step pushes */
    unsigned parts;            /* of the step that has begun: enum exchange_part */
    struct period_counts counts; /* of steps begun */
    uint64_t sent_bytes;         /* of a worker, counted by the task that exchanges */
    size_t *n_missing;           /* [n_buckets]: segments not submitted yet in this step */
    struct piece_state *state;   /* [n_pieces] */
    size_t n_pending;
    struct piece_queue queue; /* without overlap */
    struct flight flight;
    struct communicator *communicator; /* with overlap, from start() to final() */
    struct cost_account cost;
    float lr;         /* of this step */
    size_t n_begun;   /* steps of this run */
    bool is_averaged; /* E8: the parameters of all workers are equal since the last step */
    uint32_t step;
    struct span_ring *ring[EXCHANGE_N_RINGS]; /* NULL: no timeline; that of the queue belongs to the task that
                                                 exchanges */
    uint64_t last_start_ns;                   /* when that task began its last piece */
    uint64_t last_sum_ns;                     /* is_queued: when the last sum had arrived */
    uint64_t inline_ns; /* without overlap: the last reading of the clock, reused for what follows */
};

/* exchange.c: what ranks of a world of n_ranks, on these hosts, will send (transport.T13). */
struct transport_plan exchange_transport_plan(const struct exchange *x, int n_ranks, const int *host);
/* exchange_agree.c: checks that every rank has the plan of rank 0 (E3), takes its pieces in the same order (E6), and
 * sends them in the same form (E9). RC_MISMATCH names the rank that differs. Collective. */
enum rc exchange_compare_plans(struct exchange *x) MUST_CHECK;
/* exchange_shard.c: E14. Without shards does nothing; the bytes are those that the one transport has sent. */
enum rc exchange_open_shard(struct exchange *x) MUST_CHECK;
uint64_t exchange_moved_bytes(const struct exchange *x);
/* exchange_slices.c: sends rank 0's parameters and state to all ranks. Collective. */
enum rc exchange_share_state(struct exchange *x, const struct initial_state *from) MUST_CHECK;
void exchange_free_slices(struct exchange *x);
/* exchange_flight.c: E12; allocates memory for outstanding pieces, which exchange_close() frees. RC_NOMEM. */
enum rc exchange_open_flight(struct exchange *x) MUST_CHECK;
/* Begins to exchange piece k; fewer than flight.most_pieces are outstanding. arg: the exchange, for the communicator.
 * Waits for other ranks only if pieces are exchanged one at a time. */
enum rc exchange_begin_piece(void *arg, size_t k) MUST_CHECK;
/* *out: the oldest outstanding piece, which has been exchanged. */
enum rc exchange_end_piece(struct exchange *x, size_t *out) MUST_CHECK;
/* Adds spans to the timeline: how long piece k was the next in the queue; its exchange. */
void exchange_note_queued(struct exchange *x, size_t k);
void exchange_note_exchanged(const struct exchange *x, size_t k);
/* Adds s, of piece k. */
void exchange_note_span(const struct exchange *x, struct span_ring *ring, size_t k, struct span s);
struct span_ring *exchange_exchanging_ring(const struct exchange *x);
/* exchange_step.c: inline the last reading of the clock, else a new one. */
uint64_t exchange_follow_ns(const struct exchange *x);
/* Ends a piece in the communicator: makes the update, if it can reach the parameters. arg: the exchange. */
enum rc exchange_end_work(void *arg, size_t *out) MUST_CHECK;
/* E8: exchange_local.c. Are parameters averaged after this step? */
bool exchange_averages_now(const struct exchange *x);
/* Piece k of the parameters := the weighted mean of all workers. */
enum rc exchange_average_piece(struct exchange *x, size_t k) MUST_CHECK;
/* Averages all pieces if a stopped run has not done so. */
enum rc exchange_average_rest(struct exchange *x) MUST_CHECK;
/* V2 of train: multiplies float[n] by env.weight and a factor; x may be NULL (no data). */
void exchange_weigh(const struct exchange *x, float *floats, size_t n, float factor);
/* E10: exchange_periods.c. */
bool exchange_has_periods(const struct exchange *x);
enum rc exchange_open_periods(struct exchange *x) MUST_CHECK;
/* Call when the initial parameters are there. */
enum rc exchange_start_periods(struct exchange *x) MUST_CHECK;
/* Replace the begin and end of a piece's exchange: do the part of it that belongs to its step. */
enum rc exchange_begin_periodic(struct exchange *x, size_t k) MUST_CHECK;
enum rc exchange_end_periodic(struct exchange *x, size_t k) MUST_CHECK;
/* Pushes the rest if a stopped run ends between two pushes. */
enum rc exchange_push_rest(struct exchange *x) MUST_CHECK;
/* The array that is pushed. */
float *exchange_pushed(const struct exchange *x);
struct piece_work exchange_work_of(const struct exchange *x, size_t k, unsigned parts);
/* exchange_flight.c: posts it if the mode allows several outstanding pieces, else exchanges it. */
enum rc exchange_move_piece(struct exchange *x, const struct piece_work *work) MUST_CHECK;
/* E9: in the task that exchanges. */
enum rc exchange_compress_piece(struct exchange *x, struct range piece) MUST_CHECK;
/* Applies env.flip if it is in piece k, which is about to be updated. */
enum rc exchange_flip(struct exchange *x, size_t k) MUST_CHECK;
/* Likewise for piece k, which was pulled. */
void exchange_flip_pulled(struct exchange *x, size_t k);
/* E7: piece k is about to be updated. */
void exchange_keep_piece(struct exchange *x, size_t k);

#endif
