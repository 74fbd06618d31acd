/* SPDX-License-Identifier: Apache-2.0 */
/* exchange_state.h - what an exchange owns. Private to exchange*.c. */
#ifndef HARNESS_EXCHANGE_EXCHANGE_STATE_H
#define HARNESS_EXCHANGE_EXCHANGE_STATE_H

#include "harness/compute/optimizer.h"
#include "harness/exchange/communicator.h"
#include "harness/exchange/exchange.h"
#include "harness/exchange/exchange_cost.h"
#include "harness/exchange/exchange_memory.h"
#include "harness/net/transport.h"
#include "harness/world/span.h"

enum { EXCHANGE_N_SHARES = 2 }; /* of gradients, of parameters */

struct chunk_state {  /* of a worker */
    bool pending;     /* submitted, and not completed yet */
    bool is_queued;   /* on the device */
    bool is_left_out; /* from the step in which it was submitted: exchange_leave_out() */
    float lr;         /* of the step in which it was submitted */
    uint32_t step;
    unsigned push_pull; /* exchange.E10: of that step, enum push_pull */
    uint64_t n_updates; /* so far; for the task that updates */
    struct chunk_times times;
};

struct posted {         /* chunks that are posted and not completed; for the task that exchanges */
    size_t most_chunks; /* maximum at once, exchange.E12; at least 1; on servers as on workers */
    size_t *chunk;      /* [most_chunks]: number n is in n modulo most_chunks */
    size_t n_posted, n_completed;
    uint64_t last_ns; /* when the last one was completed */
};

struct exchange {
    struct exchange_env env;
    bool is_worker, has_servers; /* the rank; the mode */
    bool exchanges;              /* something crosses between ranks in this run */
    bool is_staged;              /* the mode works on copies in host memory (exchange.E4) */
    bool is_queued;              /* its collective works on the device (exchange.E1): is_staged is false */
    bool overlaps;               /* exchange.E1 */
    bool flips;                  /* env.flip is set; its copy: */
    struct gradient_flip flip;
    bool keeps_undo;  /* exchange.E7 */
    bool is_left_out; /* exchange_leave_out(), of chunks to come */
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
    /* for the mode to read and write: the same, or copies in host memory (exchange.E4) */
    float *host_param, *host_grad;
    /* exchange.E7: in host memory; NULL: the optimiser has fewer */
    float *undo_param, *undo_moment[OPTIMIZER_MAX_MOMENTS];
    struct slice {
        int server;
        float *param, *moments;
    } slice[2];                /* a server's, until the mode is open: its own; with replicas also the previous one's */
    uint64_t n_updates_before; /* of the training that this run continues */
    float *residual;           /* exchange.E9: of a worker, in host memory; NULL: no compression, or no data */
    float *accrued;            /* exchange.E10: likewise, since the last push; NULL: every step pushes */
    unsigned push_pull;        /* of the step that has begun: enum push_pull */
    struct period_counts counts; /* of steps begun */
    uint64_t sent_bytes;         /* of a worker, counted by the task that exchanges */
    size_t *n_missing;           /* [n_buckets]: segments not submitted yet in this step */
    struct chunk_state *state;   /* [n_chunks] */
    size_t n_pending;
    struct chunk_queue queue; /* without overlap */
    struct posted posted;
    struct communicator *communicator; /* with overlap, from start() to final() */
    struct cost_account cost;
    float lr;         /* of this step */
    size_t n_begun;   /* steps of this run */
    bool is_averaged; /* exchange.E8: the parameters of all workers are equal since the last step */
    uint32_t step;
    struct span_ring *ring[EXCHANGE_N_RINGS]; /* NULL: no timeline; that of the queue belongs to the task that
                                                 exchanges */
    uint64_t last_start_ns;                   /* when that task began its last chunk */
    uint64_t last_sum_ns;                     /* is_queued: when the last sum had arrived */
    uint64_t inline_ns; /* without overlap: the last reading of the clock, reused for what follows */
};

/* --- exchange_step.c --- */

/* Posts chunk k; fewer than posted.most_chunks are posted. arg: the exchange, for the communicator. Waits for other
 * ranks only if the mode sums. */
enum rc exchange_post(void *arg, size_t k) MUST_CHECK;
/* Completes the chunk that was posted first: *out. Updates its parameters, if this task can reach them. */
enum rc exchange_complete(void *arg, size_t *out) MUST_CHECK;
/* The array that is pushed, or summed. */
float *exchange_pushed(const struct exchange *x);
/* exchange.E8: averages all chunks if a stopped run has not done so. */
enum rc exchange_average_rest(struct exchange *x) MUST_CHECK;
/* exchange.E10: pushes the rest if a stopped run ends between two pushes. */
enum rc exchange_push_rest(struct exchange *x) MUST_CHECK;

/* --- others --- */

/* exchange.c: exchange.E10. */
bool exchange_has_periods(const struct exchange *x);

#endif
