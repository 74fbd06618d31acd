/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_timing.h - a network's training step, layer by layer, compared to the same GEMMs alone.
 *
 * Two computes alternate, step by step: one does the work, the other (gemm_only) only its GEMMs and convolutions, with
 * the same shapes, threads and memory. Other load of the machine slows both.
 *
 * A layer can be timed only when all work before it is complete. On a host backend that is always so. On a device each
 * layer needs a time stamp of the device, or without stamps a wait, which slows down the whole step. There, steps are
 * timed alternately as a whole and layer by layer.
 */
#ifndef HARNESS_BENCH_LAYER_TIMING_H
#define HARNESS_BENCH_LAYER_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/dataset.h"
#include "models/engine/training.h"
#include "models/replay/profile.h"

struct layer_timing_env { /* borrowed */
    const struct workload *workload;
    const struct compute_backend *backend;
    const struct dataset *dataset;
    struct network_opts network;
    enum precision precision;
    size_t batch;
    int n_threads, n_steps, n_warmup; /* n_warmup: >= 1, the first step allocates */
    uint64_t seed;
    int largest_matrix;  /* rows of the largest GEMM tried for the roof */
    size_t stream_bytes; /* of each array of the streaming sum: more than caches hold */
    bool (*stop_wanted)(
        void); /* asked after each step; true: summarise the steps measured so far, fewer than requested; NULL: never */
};

struct spread {               /* over the steps */
    double median, low, high; /* low, high: quartiles */
};

struct layer_cost {             /* of one node; index: enum network_phase */
    uint64_t ns[2], gemm_ns[2]; /* medians */
    struct work work[2];        /* counted; equal in every step */
};

enum { LAYER_TIMING_ROOFS = 2 }; /* measured before and after the steps */

struct roof { /* one measurement */
    double flops_per_s, bytes_per_s;
};

struct layer_timing { /* owned */
    struct network *network;
    char device[PROFILE_TEXT_BYTES]; /* its name; "": the backend has none */
    struct layer_cost *layer;        /* [network->n_nodes] */
    int n_steps;                     /* measured: fewer than requested if it was stopped */
    bool apart;                      /* whole steps and layers were timed in turns: sums of layers include waits ... */
    bool stamped;                    /* ... or, by the device's clock, the time to queue each layer separately */
    struct spread step_s;            /* gradient and update */
    struct spread layers_s;          /* the sum of its layers */
    struct spread update_s;          /* SGD on all parameters */
    struct spread rest_s;            /* the rest of the step: data, and the time between layers */
    struct spread gemm_s;            /* the gemm_only baseline: the sum of its layers; apart: its whole gradient */
    double loss_first, loss_last;
    double peak_flops_per_s, peak_bytes_per_s; /* the roofs: the fastest large GEMM and streaming sum of this run */
    struct roof roof[LAYER_TIMING_ROOFS];      /* [n_roofs]; the peaks above are the maxima */
    int n_roofs;
    struct network_memory memory;
    size_t peak_rss_bytes; /* of this process, before the gemm_only baseline opened; includes the program */
};

/* Runs the default world of this process with one rank. RC_INVAL, RC_NOMEM, RC_UNSUPPORTED, RC_DEVICE; RC_PEER: stopped
 * before a step was measured. */
enum rc layer_timing_run(struct layer_timing *out, const struct layer_timing_env *env) MUST_CHECK;
void layer_timing_free(struct layer_timing *m); /* accepts a zeroed one */

/* The spread of x[n], which gets sorted. n >= 1. */
struct spread spread_of(double *x, size_t n);

#endif
