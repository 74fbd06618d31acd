/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer.h - an allreduce algorithm: every rank ends with the sum over ranks.
 *
 * An algorithm declares what it will cost before it runs. The conformance suite
 * (reducer_suite.h) holds it to that: bytes and messages counted by the transport must
 * equal the prediction exactly, and the sum must be bit-exact on integer-valued input.
 *
 * Invariants
 *   A1  data := sum over ranks, the same bits on every rank and on every run.
 *   A2  Any n_ranks >= 1, any n_elems in [0, max_elems]; n_elems equal on all ranks.
 *   A3  Traffic of run() equals predict() exactly.
 *   A4  Nothing allocates after open().
 *   A5  data NULL (hollow): the same messages, hollow bytes, no arithmetic, the same charge.
 */
#ifndef ALLREDUCE_REDUCER_H
#define ALLREDUCE_REDUCER_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"

struct world;
struct transport;
struct compute;
struct reduction;

struct reduce_env {              /* borrowed; outlives the reduction */
    struct transport *transport; /* its world's ranks are the group */
    struct compute *compute;
    int timeout_ms;   /* per message; 0 waits for ever */
    const void *opts; /* of the reducer's module (its option table fills them); NULL: it has none */
};

struct cost { /* t = msgs alpha + bytes beta + adds gamma (Hockney, Parallel Computing 20, 1994) */
    uint64_t msgs;
    uint64_t bytes;
    uint64_t adds;
};

struct reducer {
    struct module module; /* caps: none; memory: what open() allocates for n_params elements */

    /* Allocate scratch for up to max_elems. Collective. */
    enum rc (*open)(struct reduction **out, const struct reduce_env *env, size_t max_elems);
    /* In place; A1 to A5. Errors: RC_INVAL n_elems > max_elems, data untouched; others: data
     * undefined, the transport is dead (T6), the caller aborts the group. */
    enum rc (*run)(struct reduction *r, float *data, size_t n_elems);
    /* What run() sends and adds on `rank` of n_ranks. opts: as in reduce_env. Pure, exact. */
    struct cost (*predict)(const void *opts, int rank, int n_ranks, size_t n_elems);
    /* What follows one after the other on the slowest path from first send to last receive,
     * links being full duplex and a rank's link carrying one message each way at a time. Pure. */
    struct cost (*critical_path)(const void *opts, int n_ranks, size_t n_elems);
    void (*close)(struct reduction **r);
};

struct reduction { /* first member of each implementation's struct */
    const struct reducer *ops;
    struct reduce_env env;
    size_t max_elems;
};

/* The reducers: option --reducer. One line in reducer_list.c makes one more known. */
extern const struct module_kind reducer_kind;
/* RC_INVAL names the nearest. */
enum rc reducer_find(const struct reducer **out, const char *name) MUST_CHECK;

enum rc reducer_open(struct reduction **out, const struct reducer *ops, const struct reduce_env *env,
                     size_t max_elems) MUST_CHECK;
enum rc reducer_run(struct reduction *r, float *data, size_t n_elems) MUST_CHECK;
void reducer_close(struct reduction **r); /* NULL-safe, nulls */

#endif
