/* SPDX-License-Identifier: Apache-2.0 */
/*
 * initial.h - sends rank 0's parameters and optimiser state to all ranks, before the first step. No virtual time passes
 * (world_broadcast). A rank needs only the array that it fills and a buffer of a few MiB.
 */
#ifndef HARNESS_EXCHANGE_INITIAL_H
#define HARNESS_EXCHANGE_INITIAL_H

#include "harness/base/rc.h"
#include "harness/compute/compute.h"

struct exchange_memory;
struct placement;
struct world;

struct initial_array {
    size_t n_elems;         /* of the whole array */
    const float *from_host; /* rank 0: float[n_elems] in host memory; NULL: it is in `memory` */
    struct compute *compute;
    float *memory;                     /* float[n_elems] in memory of compute, which receives it; NULL: not wanted
                                          here */
    const struct placement *placement; /* a server: the part that is placed on ... */
    struct initial_slice {
        int server; /* ... this one ... */
        float *to;  /* ... goes here, in host memory; NULL: not wanted here */
    } slice[2];
};

/* Collective. RC_NOMEM. */
enum rc initial_broadcast(struct world *w, const struct initial_array *a) MUST_CHECK;
/* The same for parameters in shared memory (exchange.N3): the array is sent once to each host, and there each
 * worker copies it from the first one's. */
enum rc initial_broadcast_shared(const struct exchange_memory *m, const struct initial_array *a) MUST_CHECK;

#endif
