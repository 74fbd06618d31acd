/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_fault_test.c COLLECTIVE KIND [OPTION] - of each type that the algorithm has, every single message of three
 * ranks' two runs goes wrong once: dropped, delayed, cut short or sent twice. Wanted from every rank: an error, or the
 * right result; never a wrong one, never a hang.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/suite/transport_fault.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_RANKS = 3, CHUNK_ELEMS = 11001, N_ELEMS = N_RANKS * CHUNK_ELEMS, N_RUNS = 2 };

/* Of a receive. Where a message is lost or cut every rank has to fail, and all drills wait for so long: it is short,
 * but longer than a healthy run, which takes a millisecond. Where all messages arrive nobody may fail, on a busy
 * machine neither. */
enum { TIMEOUT_OF_LOST_MS = 30, TIMEOUT_MS = 120000 };

struct drill {
    const struct collective_ops *ops;
    const void *opts; /* NULL: it has none */
    const struct transport_ops *inner;
    enum collective_type type;
    struct fault fault;
    atomic_int n_wrong, n_errors;
    uint64_t n_sends[N_RANKS];
};

static bool must_fail(const struct drill *drill)
{
    return drill->fault.kind == FAULT_DROP || drill->fault.kind == FAULT_TRUNCATE;
}

static float value(int rank, int run, int i)
{
    return (float)((i * 7 + rank * 13 + run * 29) % 101);
}

/* Element i of what a rank must have; `any`: whatever. */
static float wanted(const struct collective_call *call, int rank, int run, int i, bool *any)
{
    const bool gathers = call->type == COLL_ALLGATHER;

    *any = call->type == COLL_REDUCE_SCATTER && i / CHUNK_ELEMS != rank;
    if (gathers || call->type == COLL_BROADCAST)
        return value(gathers ? i / CHUNK_ELEMS : call->root, run, i);
    return value(0, run, i) + value(1, run, i) + value(2, run, i);
}

static bool is_right(const struct collective_call *call, const float *data, int rank, int run)
{
    for (int i = 0; i < N_ELEMS; i++) {
        bool any;
        const float x = wanted(call, rank, run, i, &any);
        if (!any && data[i] != x)
            return false;
    }
    return true;
}

static enum rc run_twice(struct world *w, struct drill *drill, struct transport *t, struct compute *c)
{
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = c,
                                        .timeout_ms = must_fail(drill) ? TIMEOUT_OF_LOST_MS : TIMEOUT_MS,
                                        .opts = drill->opts,
                                        .types = drill->type,
                                        .max_elems = N_ELEMS };
    const struct collective_call call = { .type = drill->type, .root = 1, .n_elems = N_ELEMS };
    struct collective *collective = NULL;
    float *data = malloc(N_ELEMS * sizeof *data);
    enum rc rc;

    if (!data)
        FAIL(RC_NOMEM, "no memory");
    TRY(collective_open(&collective, drill->ops, &env));
    for (int run = 0; run < N_RUNS; run++) {
        for (int i = 0; i < N_ELEMS; i++)
            data[i] = value(w->rank, run, i);
        TRY(collective_run(collective, &call, data));
        if (!is_right(&call, data, w->rank, run))
            atomic_fetch_add(&drill->n_wrong, 1);
    }
out:
    drill->n_sends[w->rank] = transport_fault_n_sends(t);
    transport_close(&t); /* before the collective: what is posted is in its memory */
    collective_close(&collective);
    free(data);
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
    if (run_twice(w, drill, t, c) != RC_OK)
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
    if (n_wrong == 0 && must_fail(drill) == (n_errors > 0))
        return 0;
    fprintf(stderr, "%s, message %llu of rank %d: %d wrong results, %d errors\n", collective_type_name(drill->type),
            (unsigned long long)drill->fault.nth, drill->fault.rank, n_wrong, n_errors);
    return 1;
}

/* Failures of this kind of fault on each message. */
static int run_drills(struct drill *drill, enum fault_kind kind)
{
    uint64_t n_sends[N_RANKS], n_messages = 0;
    int n_failures;

    drill->fault = (struct fault){ .kind = FAULT_NONE, .delay_ns = 5000000 };
    n_failures = run_drill(drill); /* whole, to know how many messages there are */
    memcpy(n_sends, drill->n_sends, sizeof n_sends);
    drill->fault.kind = kind;
    for (drill->fault.rank = 0; drill->fault.rank < N_RANKS; drill->fault.rank++)
        for (drill->fault.nth = 0; drill->fault.nth < n_sends[drill->fault.rank]; drill->fault.nth++, n_messages++)
            n_failures += run_drill(drill);
    return n_failures + (n_messages == 0);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = { "none", "drop", "delay", "truncate", "duplicate" };
    enum fault_kind kind = FAULT_NONE;
    static const struct module_kind *const all[] = { &collective_kind, NULL };
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values values;
    struct drill drill = { 0 };
    int n_failures = 0;

    if (argc < 3 || collective_find(&drill.ops, &collective_kind, argv[1]) != RC_OK ||
        transport_find(&drill.inner, "inproc") != RC_OK)
        return 2;
    if (opt_parse(group, module_opt_groups(group, all, &values), NULL, argc - 3, argv + 3) != RC_OK)
        return 2;
    drill.opts = module_options(&values, all, &drill.ops->module);
    for (int k = 1; k < 5; k++)
        if (strcmp(kinds[k], argv[2]) == 0)
            kind = (enum fault_kind)k;
    if (kind == FAULT_NONE)
        return 2;
    for (unsigned type = 1; type < COLL_TYPES_END; type <<= 1) {
        drill.type = (enum collective_type)type;
        if (drill.ops->module.caps & type)
            n_failures += run_drills(&drill, kind);
    }
    return n_failures > 0;
}
