/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync_mode.h - how a local gradient becomes the next parameters.
 * "none" (apply the own gradient, exchange nothing: the control), "single" (one worker, the
 * same), "allreduce" (average over workers, apply), "ps" (push, pull; asynchronous).
 * Synchronous modes average over workers; asynchronous ones apply each worker's own mean
 * gradient. Nothing sums.
 *
 * Invariants
 *   S1  Order on a worker: open, then per step t: begin(t), grad_ready (each segment once,
 *       any order), finish(t); then final once; then close.
 *   S2  After finish(t) returned RC_OK, param holds the values for t+1, at most `staleness`
 *       updates behind the newest (0 unless ps).
 *   S3  One worker of every mode gives the same bits as "single".
 *   S4  A server rank calls serve() once, which returns when every worker has called final().
 *   S5  Nothing of ours allocates between open and final. (ZeroMQ does, inside the library, for each message.)
 */
#ifndef HARNESS_EXCHANGE_SYNC_MODE_H
#define HARNESS_EXCHANGE_SYNC_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/base/segment.h"
#include "harness/compute/compute.h"

struct world;
struct transport_ops;
struct reducer;
struct sync;

struct sync_env {        /* borrowed; outlives the sync */
    struct world *world; /* n_workers + n_servers ranks; workers first */
    struct compute *compute;
    const struct transport_ops *transport; /* NULL for modes that exchange nothing */
    const struct reducer *reducer;         /* of a mode with MODE_REDUCER; else NULL */
    const void *reducer_opts;              /* its options; NULL: it has none */
    int n_workers, n_servers;
    size_t n_params;
    float momentum, weight_decay;
    const float *param_init;    /* float[n_params] in memory of compute, lent during open; hollow: NULL */
    const float *velocity_init; /* the host's float[n_params] or NULL: zeros; lent during open */
    int timeout_ms;             /* per message; 0 waits for ever */
};

struct step_cost {            /* where finish() spent its time, on the worker's clock, ns */
    uint64_t server_ns;       /* ps: waiting in the server's queue; the slowest server */
    uint64_t apply_ns;        /* updating parameters, here or (ps) at the slowest server */
    uint32_t staleness_count; /* ps: updates by others between pull and apply; max over servers */
};

struct wire_plan { /* of the slowest path of a step: no less than n_in_turn t(message), nor than
                      n_on_link (t(message) - alpha) */
    size_t message_bytes;
    double n_in_turn; /* messages that wait for one another: each costs a latency */
    double n_on_link; /* messages that cross the busiest link, one way, one after the other */
};

enum mode_caps {
    MODE_SERVERS = 1u << 0,       /* at least one rank is a parameter server */
    MODE_SYNCHRONOUS = 1u << 1,   /* workers meet every step */
    MODE_SHARED_PARAMS = 1u << 2, /* all workers end with (or can fetch) the same parameters */
    MODE_ONE_WORKER = 1u << 3,    /* it has one worker: what efficiency is measured by */
    MODE_REDUCER = 1u << 4,       /* it exchanges by an algorithm of allreduce/ */
};

/* Does anything cross between ranks? Where it does not and there are several workers, the mode is the control. */
static inline bool mode_exchanges(const struct module *mode)
{
    return (mode->caps & (MODE_SERVERS | MODE_SYNCHRONOUS)) != 0;
}

struct sync_mode {
    struct module module; /* caps: enum mode_caps; memory: beside parameters, gradient and optimiser */

    enum rc (*open)(struct sync **out, const struct sync_env *env); /* collective over world */
    enum rc (*begin)(struct sync *s, uint64_t step, float lr);
    /* Optional (may be NULL): gradient of seg is final; may start sending, must not block. */
    enum rc (*grad_ready)(struct sync *s, struct segment seg, const float *grad);
    /* param float[n_params] in place; grad float[n_params] may be overwritten. Both in memory of env.compute, which
     * modes that exchange get as the host's: staging.h sees to that. */
    enum rc (*finish)(struct sync *s, float *param, float *grad, struct step_cost *out);
    /* After the last step, on every worker: param (worker 0; elsewhere may stay) := the final
     * parameters, velocity (the host's float[n_params], NULL: not wanted) := the optimiser's state. */
    enum rc (*final)(struct sync *s, float *param, float *velocity);
    /* Optional (may be NULL: mode has no servers): body of a server rank, S4. */
    enum rc (*serve)(struct sync *s);
    /* The messages of a step, for its bound; zeros when the mode exchanges nothing. Pure. */
    struct wire_plan (*wire_plan)(const struct sync *s);
    void (*close)(struct sync **s);
};

struct sync { /* first member of each implementation's struct */
    const struct sync_mode *ops;
    struct sync_env env;
};

extern const struct sync_mode sync_none, sync_single;

#endif
