/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_plan_test.c - items that are alive at the same op share no byte; planners with a planted mistake are found.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "models/engine/memory_plan.h"
#include "models/engine/program.h"
#include "models/workload.h"

typedef enum rc plan_fn(struct memory_sums *out, struct memory_item *item, size_t n_items);

enum { MAX_ITEMS = 200 };

static bool overlap(const struct memory_item *a, const struct memory_item *b)
{
    return a->offset_bytes < b->offset_bytes + b->n_bytes && b->offset_bytes < a->offset_bytes + a->n_bytes;
}

static bool alive(const struct memory_item *it, int op)
{
    return it->first_op <= op && op <= it->last_op;
}

/* models.B1 by brute force: for each op, each pair. want: the true lifetimes. */
static int count_clashes(const struct memory_item *want, const struct memory_item *item, size_t n_items, int n_ops)
{
    int n_clashes = 0;

    for (int op = 0; op < n_ops; op++)
        for (size_t i = 0; i < n_items; i++)
            for (size_t k = 0; alive(&want[i], op) && k < i; k++)
                n_clashes += alive(&want[k], op) && overlap(&item[i], &item[k]);
    return n_clashes;
}

static size_t most_alive(const struct memory_item *item, size_t n_items, int n_ops)
{
    size_t most = 0;

    for (int op = 0; op < n_ops; op++) {
        size_t sum = 0;
        for (size_t i = 0; i < n_items; i++)
            sum += alive(&item[i], op) ? (item[i].n_bytes + 63) / 64 * 64 : 0;
        most = sum > most ? sum : most;
    }
    return most;
}

static int check_sums(const struct memory_sums *sums, const struct memory_item *item, size_t n_items, int n_ops)
{
    size_t all = 0, end = 0;

    for (size_t i = 0; i < n_items; i++) {
        all += (item[i].n_bytes + 63) / 64 * 64;
        end = item[i].offset_bytes + item[i].n_bytes > end ? item[i].offset_bytes + item[i].n_bytes : end;
    }
    return (sums->unplanned_bytes != all) + (sums->live_bytes != most_alive(item, n_items, n_ops)) +
           (sums->planned_bytes < end) + (sums->planned_bytes > all) + (sums->planned_bytes < sums->live_bytes);
}

/* max_ratio: of the least possible. */
static int check_plan(plan_fn *plan, const struct memory_item *want, size_t n_items, int n_ops, double max_ratio)
{
    struct memory_item item[MAX_ITEMS], again[MAX_ITEMS];
    struct memory_sums sums, sums_again;
    int n_failures = 0;

    memcpy(item, want, n_items * sizeof *item);
    memcpy(again, want, n_items * sizeof *item);
    for (size_t i = 0; i < n_items; i++)
        again[i].offset_bytes = 64 * i; /* models.B2: what stood there before does not matter */
    n_failures += plan(&sums, item, n_items) != RC_OK;
    n_failures += plan(&sums_again, again, n_items) != RC_OK;
    for (size_t i = 0; i < n_items; i++) {
        n_failures += item[i].offset_bytes % MEMORY_ALIGN_BYTES != 0;
        n_failures += item[i].offset_bytes != again[i].offset_bytes;
        n_failures += item[i].n_bytes != want[i].n_bytes || item[i].first_op != want[i].first_op;
        n_failures += item[i].last_op != want[i].last_op;
    }
    n_failures += count_clashes(want, item, n_items, n_ops);
    n_failures += check_sums(&sums, item, n_items, n_ops);
    return n_failures + ((double)sums.planned_bytes > max_ratio * (double)sums.live_bytes);
}

/* As in a training: born forwards, dying backwards, some with gradients that live for a moment. */
static int check_stack(plan_fn *plan, uint64_t seed)
{
    enum { N = 40 };
    struct memory_item item[2 * N] = { { 0 } };

    for (int i = 0; i < N; i++) {
        const size_t n_bytes = 1000 + (size_t)(rng_u64(seed, RNG_TEST, (uint64_t)i) % 100000);
        item[i] = (struct memory_item){ .n_bytes = n_bytes, .first_op = i, .last_op = 2 * N - 1 - i };
        item[N + i] = (struct memory_item){ .n_bytes = n_bytes, .first_op = 2 * N - 2 - i, .last_op = 2 * N - 1 - i };
    }
    return check_plan(plan, item, (size_t)2 * N, 2 * N, 1.05);
}

static int check_random(plan_fn *plan, uint64_t seed)
{
    const size_t n_items = 1 + (size_t)(rng_u64(seed, RNG_TEST, 1000) % 60);
    const int n_ops = 30;
    struct memory_item item[MAX_ITEMS] = { { 0 } };

    for (size_t i = 0; i < n_items; i++) {
        const uint64_t bits = rng_u64(seed, RNG_TEST, i);
        const int first_op = (int)(bits % 30), life = (int)((bits >> 8) % 10);
        item[i] = (struct memory_item){ .n_bytes = (bits >> 16) % 5 == 0 ? 0 : (size_t)((bits >> 20) % 5000),
                                        .first_op = first_op,
                                        .last_op = first_op + life < n_ops ? first_op + life : n_ops - 1 };
    }
    return check_plan(plan, item, n_items, n_ops, 1.5);
}

static int plan_suite(plan_fn *plan)
{
    const struct memory_item meeting[] = { { .n_bytes = 100, .first_op = 0, .last_op = 3 },
                                           { .n_bytes = 100, .first_op = 3, .last_op = 5 },
                                           { .n_bytes = 100, .first_op = 6, .last_op = 6 } };
    int n_failures = check_plan(plan, meeting, 0, 1, 1.0) + check_plan(plan, meeting, 1, 7, 1.0);

    n_failures += check_plan(plan, meeting, 3, 7, 1.0);
    for (uint64_t seed = 1; seed <= 50; seed++)
        n_failures += check_random(plan, seed) + check_stack(plan, seed);
    return n_failures;
}

UNIT_TEST(plans_hold)
{
    assert_int_equal(plan_suite(memory_plan), 0);
}

static enum rc frees_an_op_early(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    struct memory_item was[MAX_ITEMS];
    enum rc rc;

    memcpy(was, item, n_items * sizeof *was);
    for (size_t i = 0; i < n_items; i++)
        item[i].last_op -= item[i].last_op > item[i].first_op;
    rc = memory_plan(out, item, n_items);
    for (size_t i = 0; i < n_items; i++) {
        item[i].first_op = was[i].first_op;
        item[i].last_op = was[i].last_op;
    }
    return rc;
}

static enum rc frees_nothing(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    const enum rc rc = memory_plan(out, item, n_items);

    out->planned_bytes = 0;
    for (size_t i = 0; i < n_items; i++) {
        item[i].offset_bytes = out->planned_bytes;
        out->planned_bytes += (item[i].n_bytes + 63) / 64 * 64;
    }
    return rc;
}

static enum rc odd_offsets(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    const enum rc rc = memory_plan(out, item, n_items);

    for (size_t i = 0; i < n_items; i++)
        item[i].offset_bytes += item[i].offset_bytes > 0 ? 4 : 0;
    out->planned_bytes += 64;
    return rc;
}

static enum rc depends_on_what_was(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    const size_t was = n_items > 0 ? item[n_items - 1].offset_bytes : 0;
    const enum rc rc = memory_plan(out, item, n_items);

    for (size_t i = 0; i < n_items; i++)
        item[i].offset_bytes += was > 0 ? 64 : 0;
    out->planned_bytes += was > 0 ? 64 : 0;
    return rc;
}

static enum rc too_small_a_block(struct memory_sums *out, struct memory_item *item, size_t n_items)
{
    const enum rc rc = memory_plan(out, item, n_items);

    out->planned_bytes = out->live_bytes;
    return rc;
}

UNIT_TEST(mistakes_are_found)
{
    plan_fn *const mutant[] = { frees_an_op_early, frees_nothing, odd_offsets, depends_on_what_was, too_small_a_block };

    for (size_t i = 0; i < sizeof mutant / sizeof mutant[0]; i++)
        if (plan_suite(mutant[i]) == 0)
            fail_msg("mutant %zu survives", i);
}

static void check_program(const struct network *n, bool training, size_t batch)
{
    struct program p = { 0 };

    assert_int_equal(program_open(&p, n, training), RC_OK);
    assert_int_equal(program_plan(&p, batch), RC_OK);
    assert_int_equal(count_clashes(p.item, p.item, (size_t)p.n_buffers, p.n_ops), 0);
    for (int i = 0; i < p.n_ops; i++) /* models.X1: lifetimes are those of the ops */
        for (int k = 0; k < N_OPERANDS; k++)
            if (p.op[i].v[k].buffer >= 0)
                assert_true(alive(&p.item[p.op[i].v[k].buffer], i));
    assert_true((double)p.sums.planned_bytes <= 1.05 * (double)p.sums.live_bytes);
    assert_true(p.sums.unplanned_bytes >= p.sums.planned_bytes);
    program_close(&p);
}

#define ADDRESS(name) &workload_##name,

/* Within 5 % of the least possible, for every network. */
UNIT_TEST(networks_get_tight_plans)
{
    const struct workload *const all[] = { NETWORK_LIST(ADDRESS) };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        for (int aux = 0; aux <= (all[i]->network->min_image_size_aux > 0 ? 1 : 0); aux++) {
            const struct network_opts opts = { .aux_head = aux };
            struct network *n = NULL;
            assert_int_equal(network_open(&n, all[i]->network, &opts), RC_OK);
            for (size_t batch = 1; batch <= 64; batch *= 8) {
                check_program(n, true, batch);
                check_program(n, false, batch);
            }
            network_close(&n);
        }
}

UNIT_MAIN("memory_plan")
