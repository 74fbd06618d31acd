/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reducer_fault_test.c REDUCER KIND - every single message of three ranks' two runs goes wrong once: dropped, delayed,
 * cut short or sent twice. Wanted from every rank: an error, or the right sum; never a wrong one, never a hang.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "harness/compute/compute.h"
#include "harness/net/suite/transport_fault.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_RANKS = 3, N_ELEMS = 97, N_RUNS = 2, TIMEOUT_MS = 150 };

struct drill {
    const struct reducer *ops;
    const struct transport_ops *inner;
    struct fault fault;
    atomic_int n_wrong, n_errors;
    uint64_t n_sends[N_RANKS];
};

static float value(int rank, int run, int i)
{
    return (float)((i * 7 + rank * 13 + run * 29) % 101);
}

static int is_sum(const float *data, int run)
{
    for (int i = 0; i < N_ELEMS; i++)
        if (data[i] != value(0, run, i) + value(1, run, i) + value(2, run, i))
            return 0;
    return 1;
}

static enum rc reduce(struct world *w, struct drill *drill, struct transport *t, struct compute *c)
{
    const struct reduce_env env = { .transport = t, .compute = c, .timeout_ms = TIMEOUT_MS };
    struct reduction *reduction = NULL;
    float data[N_ELEMS];
    enum rc rc;

    TRY(reducer_open(&reduction, drill->ops, &env, N_ELEMS));
    for (int run = 0; run < N_RUNS; run++) {
        for (int i = 0; i < N_ELEMS; i++)
            data[i] = value(w->rank, run, i);
        TRY(reducer_run(reduction, data, N_ELEMS));
        if (!is_sum(data, run))
            atomic_fetch_add(&drill->n_wrong, 1);
    }
out:
    drill->n_sends[w->rank] = transport_fault_n_sends(t);
    transport_close(&t); /* before the reducer: what is posted is in its memory */
    reducer_close(&reduction);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct drill *drill = arg;
    const struct compute_backend *cpu = NULL;
    struct compute *c = NULL;
    struct transport *t = NULL;
    enum rc rc;

    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&c, cpu, &(struct compute_env){ 0 }));
    TRY(transport_fault_open(&t, drill->inner, w, &drill->fault));
    if (reduce(w, drill, t, c) != RC_OK)
        atomic_fetch_add(&drill->n_errors, 1);
    (void)!world_barrier(w);
out:
    compute_close(&c);
    return rc;
}

/* Failures of one planted fault. */
static int run_drill(struct drill *drill)
{
    const struct world_opts opts = { .bind_cores = false };
    const struct world_ops *threads = NULL;

    atomic_store(&drill->n_wrong, 0);
    atomic_store(&drill->n_errors, 0);
    if (world_find(&threads, "threads") != RC_OK || world_run(threads, &opts, N_RANKS, body, drill) != RC_OK) {
        fprintf(stderr, "the drill itself failed: %s\n", rc_message());
        return 1;
    }
    const int n_wrong = atomic_load(&drill->n_wrong), n_errors = atomic_load(&drill->n_errors);
    const int must_fail = drill->fault.kind == FAULT_DROP || drill->fault.kind == FAULT_TRUNCATE;
    if (n_wrong == 0 && (!must_fail || n_errors > 0) && (must_fail || n_errors == 0))
        return 0;
    fprintf(stderr, "message %llu of rank %d: %d wrong sums, %d errors\n", (unsigned long long)drill->fault.nth,
            drill->fault.rank, n_wrong, n_errors);
    return 1;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = { "none", "drop", "delay", "truncate", "duplicate" };
    struct drill drill = { .fault = { .kind = FAULT_NONE, .delay_ns = 5000000 } };
    int n_failures = 0;

    if (argc != 3 || reducer_find(&drill.ops, argv[1]) != RC_OK || transport_find(&drill.inner, "inproc") != RC_OK)
        return 2;
    n_failures += run_drill(&drill); /* whole, to know how many messages there are */
    uint64_t n_sends[N_RANKS];
    memcpy(n_sends, drill.n_sends, sizeof n_sends);
    for (int k = 1; k < 5; k++)
        if (strcmp(kinds[k], argv[2]) == 0)
            drill.fault.kind = (enum fault_kind)k;
    if (drill.fault.kind == FAULT_NONE)
        return 2;
    for (drill.fault.rank = 0; drill.fault.rank < N_RANKS; drill.fault.rank++)
        for (drill.fault.nth = 0; drill.fault.nth < n_sends[drill.fault.rank]; drill.fault.nth++)
            n_failures += run_drill(&drill);
    return n_failures > 0;
}
