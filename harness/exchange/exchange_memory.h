/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_memory.h - the arrays of a worker's exchange: in which memory they are, and which of them are the same.
 *
 *   memory of the compute     wanted    param, grad   host_param, host_grad: for the mode
 *   none (hollow)             private   NONE          NONE
 *   the host reaches it       private   PRIVATE       the same arrays
 *   the host reaches it       shared    SHARED        the same arrays
 *   the host does not         private   DEVICE        if the mode exchanges, copies in host memory: of grad, and with
 *                                                     servers of param; pinned if the compute can pin. None if its
 *                                                     collective works in the device's memory (COLL_DEVICE)
 *   none, or not reached      shared    refused: RC_UNSUPPORTED
 *
 * Invariants
 *   N1  Arrays are zero at first and start on 64 bytes; every page was touched. PRIVATE, DEVICE and copies are memory
 *       of the compute. No array of a rank overlaps another, except that host_param may be param, and host_grad grad.
 *   N2  There are copies only in the row that has them. There are no gradients without training (forward_only).
 *   N3  SHARED: param is the block of this worker in a share of its host's workers (world/share.h), and grad that in
 *       another one: on each of them, peer[r] is the array of the worker that is rank r of the share's group.
 *       Servers have no blocks.
 *   N4  open() reserves the memory. If it does not fit, that is RC_NOMEM, with the bytes needed and available.
 *   N5  Closing, of all arrays or only of the gradients, is not collective and does not wait: peers keep what they have
 *       mapped.
 */
#ifndef HARNESS_EXCHANGE_EXCHANGE_MEMORY_H
#define HARNESS_EXCHANGE_EXCHANGE_MEMORY_H

#include "harness/base/host_memory.h"
#include "harness/base/rc.h"
#include "harness/compute/compute.h"
#include "harness/exchange/sync_mode.h"

struct share;

enum memory_kind { MEMORY_NONE, MEMORY_PRIVATE, MEMORY_SHARED, MEMORY_DEVICE };

struct exchange_memory_env { /* borrowed; outlives the memory */
    struct world *world;     /* workers first, then servers */
    struct compute *compute;
    const struct sync_mode *mode;
    const struct collective_ops *collective; /* of a mode with MODE_COLLECTIVE; else NULL */
    int n_workers;
    size_t n_params;
    bool wants_shared; /* equal on all ranks */
    bool forward_only;
};

struct exchange_memory {
    struct exchange_memory_env env;
    enum memory_kind kind;                    /* of param and grad; servers: MEMORY_NONE */
    float *param, *grad;                      /* float[n_params]; NULL: none */
    float *host_param, *host_grad;            /* the same, or copies in host memory; NULL: neither */
    struct share *shared_param, *shared_grad; /* SHARED; else NULL */
    struct world *workers, *host;             /* if wanted: all workers; those of this host. Servers: NULL */
    struct world *leaders; /* if wanted: the first worker of each host, and the servers; other ranks: NULL */
};

/* The facts for a record. */
struct exchange_memory_facts {
    enum memory_kind kind;
    bool has_pages;   /* it is this host's memory, with known pages */
    enum pages pages; /* of the parameters */
    char way[24];     /* SHARED: the kind of share (share_kind_text); else "" */
    char reason[200]; /* why the first choice was not possible; "": it was */
};

/* Does the mode work on copies in host memory? exchange.E4. collective: NULL, the mode has none. Pure. */
bool exchange_memory_is_staged(const struct sync_mode *mode, const struct collective_ops *collective,
                               const struct compute_backend *compute);
/* If shared memory is wanted: collective over env->world, including servers; else local to a worker. *out is written on
 * errors too: close it. RC_NOMEM, RC_UNSUPPORTED (why), RC_PEER. */
enum rc exchange_memory_open(struct exchange_memory *out, const struct exchange_memory_env *env) MUST_CHECK;
/* exchange.N5. */
void exchange_memory_close_gradients(struct exchange_memory *m);
void exchange_memory_close(struct exchange_memory *m); /* accepts a zeroed one, zeroes */
/* Opens one more array in host memory, for put() and get() of the compute. RC_NOMEM: "WHAT: ...". */
enum rc exchange_memory_open_copy(struct exchange_memory *m, float **out, const char *what) MUST_CHECK;
void exchange_memory_close_copy(struct exchange_memory *m, float **floats); /* NULL-safe, nulls */
/* Reads /proc: slow. Cannot fail. */
void exchange_memory_facts(struct exchange_memory_facts *out, const struct exchange_memory *m);
const char *memory_kind_text(enum memory_kind kind); /* "private", ...; NONE: NULL */

/*
 * Sends rank 0's parameters and optimiser state to all ranks, before the first step. No virtual time passes
 * (world_broadcast). A rank needs only the array that it fills and a buffer of a few MiB.
 */

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
