/* SPDX-License-Identifier: Apache-2.0 */
/* reducer_suite.c - sizes around every boundary, guard bands, repeated runs, exact traffic. */
#include "allreduce/suite/reducer_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/reducer.h"
#include "harness/base/opt.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { MAX_ELEMS = 4099, GUARD_ELEMS = 32, TIMEOUT_MS = 20000, N_SIZES = 8 };

static const float GUARD = -12345.0f;

struct suite {
    struct world *w;
    const struct reducer *ops;
    const void *opts; /* of the reducer, at their defaults; NULL: it has none */
    struct transport *transport;
    struct compute *compute;
    struct reduction *reduction;
    float *memory; /* guard, data, guard */
    int n_failures, quiet;
};

static void expect(struct suite *s, int ok, const char *what, size_t n_elems)
{
    if (ok)
        return;
    s->n_failures++;
    if (!s->quiet)
        fprintf(stderr, "reducer %s, rank %d of %d, n = %zu: %s\n", s->ops->module.name, s->w->rank, s->w->n_ranks,
                n_elems, what);
}

static float input(int rank, size_t i, int round)
{
    return (float)((int)((i * 7 + (size_t)rank * 13 + (size_t)round * 5) % 97) - 40);
}

static float expected(int n_ranks, size_t i, int round)
{
    float sum = 0;

    for (int r = 0; r < n_ranks; r++)
        sum += input(r, i, round);
    return sum;
}

static void fill(struct suite *s, size_t n_elems, int round)
{
    for (size_t i = 0; i < n_elems + 2 * GUARD_ELEMS; i++)
        s->memory[i] = GUARD;
    for (size_t i = 0; i < n_elems; i++)
        s->memory[GUARD_ELEMS + i] = input(s->w->rank, i, round);
}

static int guards_hold(const struct suite *s, size_t n_elems)
{
    for (size_t i = 0; i < GUARD_ELEMS; i++)
        if (s->memory[i] != GUARD || s->memory[GUARD_ELEMS + n_elems + i] != GUARD)
            return 0;
    return 1;
}

static int is_sum(const struct suite *s, size_t n_elems, int round)
{
    for (size_t i = 0; i < n_elems; i++)
        if (s->memory[GUARD_ELEMS + i] != expected(s->w->n_ranks, i, round))
            return 0;
    return 1;
}

/* A1, A2, A3 at one size; twice, with other data, so that what the first left behind shows. */
static void check_size(struct suite *s, size_t n_elems)
{
    for (int round = 0; round < 2; round++) {
        const struct cost cost = s->ops->predict(s->opts, s->w->rank, s->w->n_ranks, n_elems);
        const struct traffic before = s->transport->moved;

        fill(s, n_elems, round);
        if (reducer_run(s->reduction, s->memory + GUARD_ELEMS, n_elems) != RC_OK) {
            expect(s, 0, rc_message(), n_elems);
            return;
        }
        expect(s, is_sum(s, n_elems, round), "A1: the result is not the sum", n_elems);
        expect(s, guards_hold(s, n_elems), "A2: wrote outside the data", n_elems);
        expect(s, s->transport->moved.msgs_sent - before.msgs_sent == cost.msgs, "A3: messages differ from predict",
               n_elems);
        expect(s, s->transport->moved.bytes_sent - before.bytes_sent == cost.bytes, "A3: bytes differ from predict",
               n_elems);
    }
}

/* A1 on values whose sum depends on the order: every rank must hold the same bits. */
static void check_same_bits(struct suite *s)
{
    enum { N = 97 };
    float *data = s->memory + GUARD_ELEMS, *all = NULL;

    for (size_t i = 0; i < N; i++)
        data[i] = 1.0f / (float)(3 + i * 5 + (size_t)s->w->rank * 11);
    if (reducer_run(s->reduction, data, N) != RC_OK) {
        expect(s, 0, rc_message(), N);
        return;
    }
    all = malloc((size_t)s->w->n_ranks * N * sizeof *all);
    if (!all || world_allgather(s->w, data, all, N * sizeof *all) != RC_OK)
        expect(s, 0, "cannot compare ranks", N);
    else
        for (int r = 0; r < s->w->n_ranks; r++)
            expect(s, memcmp(all + (size_t)r * N, data, N * sizeof *all) == 0, "A1: ranks hold different bits", N);
    free(all);
}

/* A5: the same messages without content, on a compute that touches nothing. */
static enum rc run_hollow(struct suite *s, size_t n_elems)
{
    struct compute *hollow = NULL;
    const struct compute_backend *backend = NULL;
    struct reduction *reduction = NULL;
    enum rc rc;

    TRY(compute_find(&backend, "hollow"));
    TRY(compute_open(&hollow, backend, &(struct compute_env){ 0 }));
    const struct reduce_env env = {
        .transport = s->transport, .compute = hollow, .timeout_ms = TIMEOUT_MS, .opts = s->opts
    };
    TRY(reducer_open(&reduction, s->ops, &env, MAX_ELEMS));
    TRY(reducer_run(reduction, NULL, n_elems));
out:
    reducer_close(&reduction);
    compute_close(&hollow);
    return rc;
}

static void check_hollow(struct suite *s, size_t n_elems)
{
    const struct cost cost = s->ops->predict(s->opts, s->w->rank, s->w->n_ranks, n_elems);
    const struct traffic before = s->transport->moved;

    if (!(s->transport->ops->module.caps & TR_HOLLOW))
        return;
    expect(s, run_hollow(s, n_elems) == RC_OK, "A5: hollow run failed", n_elems);
    expect(s, s->transport->moved.bytes_sent - before.bytes_sent == cost.bytes, "A5: hollow bytes differ", n_elems);
    expect(s, s->transport->moved.msgs_sent - before.msgs_sent == cost.msgs, "A5: hollow messages differ", n_elems);
}

static void check_too_many(struct suite *s)
{
    fill(s, 8, 0);
    expect(s, reducer_run(s->reduction, s->memory + GUARD_ELEMS, MAX_ELEMS + 1) == RC_INVAL,
           "A2: took more than max_elems", MAX_ELEMS + 1);
    for (size_t i = 0; i < 8; i++)
        expect(s, s->memory[GUARD_ELEMS + i] == input(s->w->rank, i, 0), "touched data it refused", 8);
    expect(s, guards_hold(s, 8), "touched memory it refused", 8);
}

/* The prediction itself: totals over ranks must be consistent, the longest path no shorter than any rank. */
static void check_prediction(struct suite *s, size_t n_elems)
{
    const struct cost path = s->ops->critical_path(s->opts, s->w->n_ranks, n_elems);
    uint64_t n_adds = 0;

    for (int r = 0; r < s->w->n_ranks; r++) {
        const struct cost cost = s->ops->predict(s->opts, r, s->w->n_ranks, n_elems);
        n_adds += cost.adds;
        expect(s, cost.bytes <= path.bytes, "A3: a rank sends more than the critical path", n_elems);
    }
    expect(s, n_adds == (uint64_t)(s->w->n_ranks - 1) * n_elems, "A3: additions are not (p - 1) n", n_elems);
}

static void check_all(struct suite *s)
{
    const size_t p = (size_t)s->w->n_ranks;
    const size_t n_elems[N_SIZES] = { 0, 1, p - 1, p, p + 1, 97, 1024, MAX_ELEMS };

    for (int i = 0; i < N_SIZES && s->n_failures == 0; i++) {
        check_size(s, n_elems[i]);
        check_hollow(s, n_elems[i]);
        check_prediction(s, n_elems[i]);
    }
    if (s->n_failures == 0) {
        check_same_bits(s);
        check_too_many(s);
    }
}

int reducer_suite(struct world *w, const struct transport_ops *transport, const struct reducer *ops, int quiet)
{
    static const struct module_kind *const kinds[] = { &reducer_kind, NULL };
    struct suite s = { .w = w, .ops = ops, .quiet = quiet };
    const struct compute_backend *cpu = NULL;
    struct opt_group group[MAX_MODULE_GROUPS];
    union module_values values;
    enum rc rc;

    s.memory = malloc((MAX_ELEMS + 2 * GUARD_ELEMS) * sizeof *s.memory);
    if (!s.memory)
        FAIL(RC_NOMEM, "no memory");
    TRY(compute_find(&cpu, "cpu"));
    TRY(compute_open(&s.compute, cpu, &(struct compute_env){ 0 }));
    TRY(transport_open(&s.transport, transport, w));
    TRY(opt_parse(group, module_opt_groups(group, kinds, &values), NULL, 0, 0, NULL));
    s.opts = module_options(&values, kinds, &ops->module);
    const struct reduce_env env = {
        .transport = s.transport, .compute = s.compute, .timeout_ms = TIMEOUT_MS, .opts = s.opts
    };
    TRY(reducer_open(&s.reduction, ops, &env, MAX_ELEMS));
    check_all(&s);
    TRY(world_barrier(w)); /* a peer may still read what this rank sent */
out:
    expect(&s, rc == RC_OK, rc_message(), 0);
    reducer_close(&s.reduction);
    reducer_close(&s.reduction); /* twice: nulls */
    transport_close(&s.transport);
    compute_close(&s.compute);
    free(s.memory);
    return s.n_failures;
}
