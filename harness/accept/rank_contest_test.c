/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_contest_test.c - orders of ranks, measured: in threads that each is measured and kept.
 *
 * rank_contest_test.c losses    likewise, with a rank that is lost between repeats
 * rank_contest_test.c CASE      one run, in sim, where rates are those that the description gives: links carry so many
 * flows at once
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/accept/suite/training_kit.h"
#include "harness/base/suite/unit.h"

enum { VECTOR_BYTES = 4 << 20 };

/* Of 1 Gbit/s; arithmetic and messages within a host take next to no time. */
#define HOSTS_                                                                                                \
    "link_bits_per_s=1e9,link_latency_s=1e-6,local_bytes_per_s=1e15,local_latency_s=1e-9,local_sharing=none," \
    "flops_per_s=1e15,memory_bytes_per_s=1e15,"
/* Two racks of four hosts: each uplink has the rate of one card, and a card sends 1.25e8 byte/s. */
#define RACKS_ "hosts_count=8,hosts_per_group_count=4,oversubscription_ratio=4,group_latency_s=1e-5,"
#define CARD_BYTES_PER_S 1.25e8

static struct kit_run contest(int n_ranks, const char *cluster)
{
    struct kit_run run = kit_in_sim(n_ranks, cluster);

    run.stage[0] = stage_pairwise;
    run.stage[1] = stage_collectives;
    run.criteria.rank_order_bytes = VECTOR_BYTES;
    return run;
}

static const struct rank_order *order_of(const struct kit_run *run, enum rank_order_kind kind)
{
    return &run->accepted.rank_order[kind];
}

/* The rate of a ring by links that each carry a message at once, which goes over a link that carries n_flows. */
static void assert_rate(const struct kit_run *run, enum rank_order_kind kind, double n_flows, double ratio)
{
    const struct rank_order *o = order_of(run, kind);

    assert_non_null(o->rank);
    assert_int_equal(o->same_as, kind);
    assert_int_equal(o->n_repeats, 3);
    assert_int_equal(o->n_bytes, VECTOR_BYTES);
    kit_assert_within(accept_rank_order_name(kind), o->bytes_per_s, CARD_BYTES_PER_S / n_flows, 0.01);
    kit_assert_within("of the launcher's", o->ratio, ratio, 0.01);
    assert_true(o->low_ratio <= o->ratio && o->ratio <= o->high_ratio);
    assert_true(o->low_bytes_per_s <= o->bytes_per_s && o->bytes_per_s <= o->high_bytes_per_s);
}

static void assert_same(const struct kit_run *run, enum rank_order_kind kind, enum rank_order_kind as)
{
    const struct rank_order *o = order_of(run, kind);

    assert_non_null(o->rank);
    assert_int_equal(o->same_as, as);
    assert_int_equal(o->n_repeats, 0);
    assert_true(isnan(o->bytes_per_s) && isnan(o->ratio));
}

static void assert_places(const struct kit_run *run, enum rank_order_kind kind, const int *rank)
{
    for (int i = 0; i < run->accepted.n_ranks; i++)
        assert_int_equal(order_of(run, kind)->rank[i], rank[i]);
}

/* Four hosts on one switch, with three ranks each: spread sends three messages at once by each card. */
UNIT_TEST_OF("sim", spread_shares_cards)
{
    static const int spread[] = { 0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11 };
    struct kit_run run = contest(12, HOSTS_ "ranks_per_host_count=3");

    kit_must_run(&run);
    assert_rate(&run, RANK_ORDER_LAUNCHER, 1, 1);
    assert_rate(&run, RANK_ORDER_SPREAD, 3, 1. / 3);
    assert_places(&run, RANK_ORDER_SPREAD, spread);
    assert_same(&run, RANK_ORDER_PACK, RANK_ORDER_LAUNCHER);
    assert_same(&run, RANK_ORDER_SWITCHES, RANK_ORDER_LAUNCHER);
    assert_same(&run, RANK_ORDER_SHORTEST, RANK_ORDER_LAUNCHER);
    assert_int_equal(acceptance_best_rank_order(&run.accepted), RANK_ORDER_LAUNCHER);
    assert_string_equal(run.accepted.stage[ACCEPT_COLLECTIVES].why, "");
    assert_true(run.progress == 1);
    kit_close(&run);
}

/* Hosts are dealt out to two racks, a rank on each: as they are numbered every message crosses, four by each uplink. */
UNIT_TEST_OF("sim", racks_are_crossed_once)
{
    static const int by_racks[] = { 0, 2, 4, 6, 1, 3, 5, 7 };
    struct kit_run run = contest(8, HOSTS_ RACKS_ "job_placement=spread");

    kit_must_run(&run);
    assert_rate(&run, RANK_ORDER_LAUNCHER, 4, 1);
    assert_rate(&run, RANK_ORDER_SWITCHES, 1, 4);
    assert_places(&run, RANK_ORDER_SWITCHES, by_racks);
    assert_same(&run, RANK_ORDER_PACK, RANK_ORDER_LAUNCHER);
    assert_same(&run, RANK_ORDER_SPREAD, RANK_ORDER_LAUNCHER);
    assert_rate(&run, RANK_ORDER_SHORTEST, 1, 4); /* the tournament has found the racks */
    assert_int_equal(acceptance_best_rank_order(&run.accepted), RANK_ORDER_SWITCHES);
    kit_close(&run);
}

/* Two ranks on each host, in the launcher's order, which is packed: spread takes each uplink for two messages at once.
 */
UNIT_TEST_OF("sim", spread_crosses_racks_twice)
{
    struct kit_run run = contest(16, HOSTS_ RACKS_ "ranks_per_host_count=2");

    run.stage[0] = stage_collectives; /* without a tournament nothing is known but racks */
    run.stage[1] = NULL;
    kit_must_run(&run);
    assert_rate(&run, RANK_ORDER_LAUNCHER, 1, 1);
    assert_rate(&run, RANK_ORDER_SPREAD, 2, 0.5);
    assert_same(&run, RANK_ORDER_SWITCHES, RANK_ORDER_LAUNCHER);
    assert_null(order_of(&run, RANK_ORDER_SHORTEST)->rank);
    assert_string_equal(order_of(&run, RANK_ORDER_SHORTEST)->why,
                        "rates of all pairs are not known; the pairwise stage measures them");
    kit_close(&run);
}

/* One rank a host and one switch: there is one order, and nothing is measured. */
UNIT_TEST_OF("sim", equal_orders_take_no_time)
{
    struct kit_run run = contest(5, HOSTS_ "ranks_per_host_count=1");

    snprintf(run.criteria.collective_bytes, sizeof run.criteria.collective_bytes, "4");
    kit_must_run(&run);
    for (int k = 1; k < ACCEPT_N_RANK_ORDERS; k++)
        assert_same(&run, (enum rank_order_kind)k, RANK_ORDER_LAUNCHER);
    assert_int_equal(acceptance_best_rank_order(&run.accepted), -1);
    assert_true(run.took_ns < 1000000); /* a vector of rank_order_bytes takes 50 ms */
    kit_close(&run);
}

/* The limit comes in the second repeat of orders; what was measured is kept, and the reason said. */
UNIT_TEST_OF("sim", a_limit_ends_repeats_S2)
{
    struct kit_run run = contest(12, HOSTS_ "ranks_per_host_count=3");
    const double packed_s = (double)VECTOR_BYTES * 2 * 11 / 12 / CARD_BYTES_PER_S;

    snprintf(run.criteria.collective_bytes, sizeof run.criteria.collective_bytes, "4");
    run.criteria.stage_limit_s = packed_s * (1 + 3) * 2.5; /* once to begin with, then repeats */
    kit_must_run(&run);
    assert_int_equal(order_of(&run, RANK_ORDER_LAUNCHER)->n_repeats, 2);
    assert_int_equal(order_of(&run, RANK_ORDER_SPREAD)->n_repeats, 2);
    assert_non_null(strstr(run.ended, "at the limit of stage_limit_s"));
    kit_close(&run);
}

/* What was measured before a rank was lost is kept: the sizes, and one repeat of each order, of which none is the best.
 */
static void assert_one_repeat(const struct kit_run *run)
{
    assert_int_equal(run->accepted.n_collective, 2);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++) {
        const struct rank_order *o = order_of(run, (enum rank_order_kind)k);
        assert_int_equal(o->n_repeats, o->rank && o->same_as == k ? 1 : 0);
        if (o->n_repeats > 0)
            assert_true(o->bytes_per_s > 0 && o->ratio > 0);
    }
    assert_int_equal(acceptance_best_rank_order(&run->accepted), -1);
}

UNIT_TEST_OF("sim", a_killed_rank_leaves_whole_repeats)
{
    struct kit_run run = contest(12, HOSTS_ "ranks_per_host_count=3");

    run.inject = "kill:4@collectives";
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 4"));
    assert_one_repeat(&run);
    kit_assert_within("packed", order_of(&run, RANK_ORDER_LAUNCHER)->bytes_per_s, CARD_BYTES_PER_S, 0.01);
    kit_assert_within("spread", order_of(&run, RANK_ORDER_SPREAD)->ratio, 1. / 3, 0.01);
    kit_close(&run);
}

UNIT_TEST_OF("sim", no_bytes_no_orders)
{
    struct kit_run run = contest(6, HOSTS_ "ranks_per_host_count=3");

    run.criteria.rank_order_bytes = 0;
    kit_must_run(&run);
    assert_int_equal(run.accepted.n_collective, 2);
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        assert_null(order_of(&run, (enum rank_order_kind)k)->rank);
    kit_close(&run);
}

/* --- in threads --- */

static struct kit_run threads(int n_ranks, bool node_per_rank)
{
    struct kit_run run = kit_in_threads(n_ranks);

    run.node_per_rank = node_per_rank;
    run.stage[0] = stage_collectives;
    run.criteria.rank_order_bytes = 4096;
    return run;
}

/* Nobody says on which switches nodes are, nor how fast they are: there is one order. */
UNIT_TEST(threads_have_one_order)
{
    struct kit_run run = threads(3, true);

    kit_must_run(&run);
    assert_same(&run, RANK_ORDER_SPREAD, RANK_ORDER_LAUNCHER);
    assert_null(order_of(&run, RANK_ORDER_SWITCHES)->rank);
    assert_string_equal(order_of(&run, RANK_ORDER_SWITCHES)->why,
                        "no scheduler and no description says which switches nodes are on");
    kit_close(&run);
}

UNIT_TEST(one_node_has_none)
{
    struct kit_run run = threads(3, false);

    kit_must_run(&run);
    assert_int_equal(run.accepted.n_nodes, 1);
    assert_null(order_of(&run, RANK_ORDER_LAUNCHER)->rank);
    kit_close(&run);
}

/* A made-up tournament: 0 - 1 and 2 - 3 are near, all others far. */
static enum rc stage_far_pairs(struct stage_env *env)
{
    struct acceptance *a = env->out;
    enum rc rc = RC_OK;

    if (!a)
        return RC_OK;
    TRY(acceptance_add_tournament(a, 1));
    a->tournament.n_repeats = 1;
    for (int i = 0; i < a->n_nodes; i++)
        for (int j = 0; j < a->n_nodes; j++) {
            *tournament_rate(&a->tournament, 0, i, j) = i == j ? NAN : i % 2 == j % 2 ? 1e9 : 1e7;
            *tournament_latency(&a->tournament, 0, i, j) = i == j ? NAN : 1e-6;
        }
out:
    return rc;
}

/* Sums are right in another order, too (they are checked, each time); how fast, is this machine's. */
UNIT_TEST(other_orders_sum_right)
{
    static const int near[] = { 0, 2, 1, 3 };
    struct kit_run run = threads(4, true);

    run.stage[0] = stage_far_pairs;
    run.stage[1] = stage_collectives;
    kit_must_run(&run);
    assert_places(&run, RANK_ORDER_SHORTEST, near);
    const struct rank_order *o = order_of(&run, RANK_ORDER_SHORTEST), *of = order_of(&run, RANK_ORDER_LAUNCHER);
    assert_in_range(o->n_repeats, 3, 5);
    assert_int_equal(of->n_repeats, o->n_repeats);
    assert_true(o->bytes_per_s > 0 && o->ratio > 0 && of->ratio == 1);
    assert_true(acceptance_best_rank_order(&run.accepted) ==
                (o->low_ratio > 1 ? RANK_ORDER_SHORTEST : RANK_ORDER_LAUNCHER));
    kit_close(&run);
}

static struct kit_run losing(const char *inject)
{
    struct kit_run run = threads(4, true);

    run.stage[0] = stage_far_pairs;
    run.stage[1] = stage_collectives;
    run.criteria.rank_order_bytes = 4096;
    run.inject = inject;
    return run;
}

UNIT_TEST_OF("losses", a_killed_rank_is_an_error)
{
    struct kit_run run = losing("kill:2@collectives");

    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 2"));
    assert_one_repeat(&run);
    kit_close(&run);
}

UNIT_TEST_OF("losses", a_stalled_rank_is_found_by_a_watch)
{
    struct kit_run run = losing("stall:2@collectives");

    run.stall_ns = 6000000000;
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "silent"));
    assert_one_repeat(&run);
    kit_close(&run);
}

/* One order: there is no contest to be lost in, and the sizes are measured. */
UNIT_TEST_OF("losses", a_rank_is_lost_without_a_contest)
{
    struct kit_run run = losing("kill:2@collectives");

    run.stage[0] = stage_collectives;
    run.stage[1] = stage_integrity;
    assert_int_equal(kit_run_stages(&run), RC_PEER);
    assert_non_null(strstr(rc_message(), "rank 2"));
    assert_int_equal(run.accepted.n_collective, 2);
    assert_int_equal(run.accepted.integrity_checks_count, 0);
    kit_close(&run);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "losses") != 0)
        return kit_run_case(argv[1], "sim");
    return unit_run("rank_contest", argc == 2 ? "losses" : NULL, NULL, NULL);
}
