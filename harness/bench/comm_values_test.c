/* SPDX-License-Identifier: Apache-2.0 */
/* comm_values_test.c - what ranks bring makes the results that are expected, and each kind of wrong one is counted. */
#include "harness/base/suite/unit.h"
#include "harness/bench/comm_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 5, MOST_ELEMS = 2 * COMM_VALUES_PERIOD + 77 };

struct group { /* all ranks' views, and their arrays */
    struct comm_values v[MOST_RANKS];
    float *data[MOST_RANKS], *brought[MOST_RANKS];
    int n_ranks;
};

static struct group open_group(enum comm_type type, int n_ranks, int root)
{
    struct group g = { .n_ranks = n_ranks };

    for (int r = 0; r < n_ranks; r++) {
        assert_int_equal(comm_values_open(&g.v[r], type, r, n_ranks, root), RC_OK);
        g.data[r] = calloc(MOST_ELEMS, sizeof(float));
        g.brought[r] = calloc(MOST_ELEMS, sizeof(float));
        assert_true(g.data[r] && g.brought[r]);
    }
    return g;
}

static void close_group(struct group *g)
{
    for (int r = 0; r < g->n_ranks; r++) {
        comm_values_close(&g->v[r]);
        free(g->data[r]);
        free(g->brought[r]);
    }
}

static int owner_of(size_t i, size_t n_elems, int n_ranks)
{
    int r = 0;

    while (i >= n_elems * (size_t)(r + 1) / (size_t)n_ranks)
        r++;
    return r;
}

/* The collective as its definition says it, element by element. */
static float result_at(const struct group *g, size_t i, size_t n_elems, int rank)
{
    float sum = 0;

    switch (g->v[0].type) {
    case COMM_ALLGATHER:
        return g->brought[owner_of(i, n_elems, g->n_ranks)][i];
    case COMM_BROADCAST:
        return g->brought[g->v[0].root][i];
    case COMM_SENDRECV:
        return g->brought[(rank + g->n_ranks - 1) % g->n_ranks][i];
    default:
        for (int r = 0; r < g->n_ranks; r++)
            sum += g->brought[r][i];
        return sum;
    }
}

static void run(struct group *g, size_t n_elems, uint64_t call)
{
    for (int r = 0; r < g->n_ranks; r++)
        comm_values_fill(&g->v[r], g->brought[r], n_elems, call);
    for (int r = 0; r < g->n_ranks; r++)
        for (size_t i = 0; i < n_elems; i++)
            g->data[r][i] = result_at(g, i, n_elems, r);
}

static const enum comm_type MOVING[] = { COMM_ALLREDUCE, COMM_BROADCAST, COMM_ALLGATHER, COMM_REDUCE_SCATTER,
                                         COMM_SENDRECV };
enum { N_MOVING = 5 };

static const size_t SIZES[] = { 1, 2, 3, 97, COMM_VALUES_PERIOD, MOST_ELEMS };
enum { N_SIZES = 6 };

UNIT_TEST(right_results_are_right)
{
    for (int t = 0; t < N_MOVING; t++)
        for (int p = 2; p <= MOST_RANKS; p++) {
            struct group g = open_group(MOVING[t], p, p - 1);
            for (int s = 0; s < N_SIZES; s++)
                for (uint64_t call = 0; call < 3; call++) {
                    run(&g, SIZES[s], call * 100000);
                    for (int r = 0; r < p; r++)
                        assert_int_equal(comm_values_wrong(&g.v[r], g.data[r], SIZES[s], call * 100000, 1), 0);
                }
            close_group(&g);
        }
}

/* One element that is off by a bit, at either end, is one that is wrong; of a reduce-scatter it is the owner's. */
UNIT_TEST(one_wrong_element_is_one)
{
    for (int t = 0; t < N_MOVING; t++)
        for (int end = 0; end < 2; end++) {
            struct group g = open_group(MOVING[t], 3, 0);
            const size_t n = MOST_ELEMS, i = end ? n - 1 : 0;
            const int rank = end ? 2 : 0;
            run(&g, n, 5);
            g.data[rank][i] = nextafterf(g.data[rank][i], 1e9f);
            assert_int_equal(comm_values_wrong(&g.v[rank], g.data[rank], n, 5, 1), 1);
            close_group(&g);
        }
}

/* Minus zero is not zero: bits are compared. */
UNIT_TEST(bits_are_compared)
{
    struct group g = open_group(COMM_BROADCAST, 2, 0);
    size_t i = 0;

    run(&g, MOST_ELEMS, 0);
    while (g.data[1][i] != 0)
        i++;
    g.data[1][i] = -0.0f;
    assert_int_equal(comm_values_wrong(&g.v[1], g.data[1], MOST_ELEMS, 0, 1), 1);
    close_group(&g);
}

/* The result of the call before, a chunk that was exchanged for another, and what nobody wrote: most of it is wrong. */
UNIT_TEST(old_and_moved_results_are_wrong)
{
    const size_t n = MOST_ELEMS, part = n / 4;

    for (int t = 0; t < N_MOVING; t++) {
        struct group g = open_group(MOVING[t], 2, 0);
        const size_t n_own = MOVING[t] == COMM_REDUCE_SCATTER ? n - n / 2 : n;
        run(&g, n, 7);
        assert_true(comm_values_wrong(&g.v[1], g.data[1], n, 8, 1) > n_own * 9 / 10);
        memmove(g.data[1] + n - part, g.data[1] + n - 2 * part, part * sizeof(float));
        assert_true(comm_values_wrong(&g.v[1], g.data[1], n, 7, 1) > part * 9 / 10);
        comm_values_poison(g.data[1], n);
        assert_int_equal(comm_values_wrong(&g.v[1], g.data[1], n, 7, 1), n_own);
        close_group(&g);
    }
}

/* bench.V3 */
UNIT_TEST(what_is_not_brought_is_poison)
{
    struct group gather = open_group(COMM_ALLGATHER, 4, 0), spread = open_group(COMM_BROADCAST, 4, 2);
    const size_t n = 4 * 11;

    run(&gather, n, 1);
    run(&spread, n, 1);
    for (int r = 0; r < 4; r++)
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(gather.brought[r][i] == COMM_POISON, i / 11 != (size_t)r);
            assert_int_equal(spread.brought[r][i] == COMM_POISON, r != 2);
        }
    const struct range own = comm_values_own_part(&gather.v[3], n), root = comm_values_own_part(&spread.v[2], n);
    assert_true(own.offset_elems == 33 && own.n_elems == 11 && root.offset_elems == 0 && root.n_elems == n);
    assert_int_equal(comm_values_own_part(&spread.v[1], n).n_elems, 0);
    close_group(&gather);
    close_group(&spread);
}

/* Hot memory: an allreduce of its own result multiplies by the number of ranks, as often as that is exact. */
UNIT_TEST(sums_of_sums)
{
    for (int p = 2; p <= MOST_RANKS; p++) {
        struct group g = open_group(COMM_ALLREDUCE, p, 0);
        const int n_times = comm_values_most_times(&g.v[0]);
        run(&g, MOST_ELEMS, 9);
        for (int k = 1; k < n_times; k++)
            for (size_t i = 0; i < MOST_ELEMS; i++)
                g.data[0][i] *= (float)p;
        assert_int_equal(comm_values_wrong(&g.v[0], g.data[0], MOST_ELEMS, 9, n_times), 0);
        assert_true(comm_values_wrong(&g.v[0], g.data[0], MOST_ELEMS, 9, n_times - 1) > MOST_ELEMS / 2);
        for (size_t i = 0; i < MOST_ELEMS; i++)
            assert_true(g.data[0][i] <= 16777216.0f);
        close_group(&g);
    }
    struct group two = open_group(COMM_ALLREDUCE, 2, 0), scatter = open_group(COMM_REDUCE_SCATTER, 2, 0);
    assert_int_equal(comm_values_most_times(&two.v[0]), 18);
    assert_int_equal(comm_values_most_times(&scatter.v[0]), 1);
    close_group(&two);
    close_group(&scatter);
}

/* nccl-tests' performance document: S/t, and the factors. */
UNIT_TEST(factors_are_those_of_nccl_tests)
{
    assert_true(comm_bus_factor(COMM_ALLREDUCE, 2) == 1 && comm_bus_factor(COMM_ALLREDUCE, 4) == 1.5);
    assert_true(comm_bus_factor(COMM_ALLGATHER, 4) == 0.75 && comm_bus_factor(COMM_REDUCE_SCATTER, 8) == 0.875);
    assert_true(comm_bus_factor(COMM_BROADCAST, 4) == 1 && comm_bus_factor(COMM_SENDRECV, 4) == 1);
    assert_true(comm_bus_factor(COMM_BARRIER, 4) == 0);
    assert_int_equal(comm_counted_elems(COMM_ALLREDUCE, 10, 4), 10);
    assert_int_equal(comm_counted_elems(COMM_ALLGATHER, 8, 4), 2);
    assert_int_equal(comm_counted_elems(COMM_REDUCE_SCATTER, 10, 4), 3);
    assert_int_equal(comm_counted_elems(COMM_BROADCAST, 10, 4), 10);
}

UNIT_MAIN("comm_values")
