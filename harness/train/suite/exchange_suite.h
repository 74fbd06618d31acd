/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_suite.h - the contract of exchange.h (E1 to E7), on a made-up layout with gradients whose sums are exact:
 * the parameters of every step must be those of a serial reference, to the bit, whatever the buckets, the order and the
 * timing. With opts.compression (E9) the reference compresses, too (compression_reference.h); then with two workers at
 * most, of whose sum one rounding is all that it goes through. Test-only.
 *
 * The worker runs as a training would: awaits segments first to last, overwrites their gradients at once, submits them
 * last to first, and pauses in between for times that differ from rank to rank and step to step. Where the mode stops
 * it (stopped_mode() below), all ranks go back to the last common step (E7), whose parameters and momentum must be the
 * reference's.
 */
#ifndef HARNESS_TRAIN_SUITE_EXCHANGE_SUITE_H
#define HARNESS_TRAIN_SUITE_EXCHANGE_SUITE_H

#include "harness/exchange/exchange.h"
#include "harness/exchange/sync_mode.h"

struct world;
struct stopped_plan;

struct exchange_case {
    const struct sync_mode *mode;
    const struct transport_ops *transport;   /* NULL: the mode exchanges nothing */
    const struct collective_ops *collective; /* NULL: the mode needs none */
    const struct compute_backend *compute;
    int n_workers, n_servers; /* the ranks of the world; workers 1, 2 or 4, with servers 1 */
    struct exchange_opts opts;
    const struct stopped_plan *stopped; /* of mode sync_stopped; else NULL */
    uint64_t n_chunks;                  /* of a step under opts; read where the mode is sync_stopped */
};

/* Collective over w. Failures of this rank; the first is named on standard error unless quiet. */
int exchange_suite(struct world *w, const struct exchange_case *c, int quiet);

/*
 * Allreduce, until it ends at one call of sum() as if a rank had been lost: some ranks have got
 * the sum of that call, the others an error in its place, and all an error at their next one. Test-only.
 */

enum stopped_bug {
    STOPPED_RIGHT,
    STOPPED_RUNS_AHEAD /* ranks that have got the last sum go on, by themselves, to the end */
};
enum { STOPPED_N_BUGS = 1 };

struct stopped_plan {    /* collective_opts of that mode */
    uint64_t n_calls;    /* which all ranks get the sum of */
    unsigned late_ranks; /* bit r: rank r gets that of the call behind them, too */
    enum stopped_bug bug;
};

extern const struct sync_mode sync_stopped;

#endif
