/* SPDX-License-Identifier: Apache-2.0 */
/* judge_rank_orders_test.c - the row of orders of ranks, by hand (accept.D2, J2, J3). */
#include "harness/accept/suite/judge_kit.h"

static void set_order(struct fixture *f, int kind, int same_as, double ratio)
{
    int rank[N_RANKS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    assert_int_equal(acceptance_add_rank_order(&f->a, kind, rank), RC_OK);
    struct rank_order *o = &f->a.rank_order[kind];
    o->same_as = same_as;
    if (same_as != kind)
        return;
    o->n_bytes = 4194304;
    o->bytes_per_s = 1e8 * ratio;
    o->ratio = ratio;
    o->low_ratio = ratio * 0.8;
    o->high_ratio = ratio * 1.25;
    o->n_repeats = 5;
}

/* Launcher's and pack are the same, spread has half of the rate. */
static void set_two(struct fixture *f)
{
    set_order(f, RANK_ORDER_LAUNCHER, RANK_ORDER_LAUNCHER, 1);
    set_order(f, RANK_ORDER_PACK, RANK_ORDER_LAUNCHER, 1);
    set_order(f, RANK_ORDER_SPREAD, RANK_ORDER_SPREAD, 0.5);
    f->a.rank_order[RANK_ORDER_LAUNCHER].is_best = true;
}

ON_A_FLEET(a_better_order_is_told_without_a_limit)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_false(has_row(f, "rank_order_ratio"));
    set_two(f);
    set_order(f, RANK_ORDER_SHORTEST, RANK_ORDER_SHORTEST, 1.6);
    f->a.rank_order[RANK_ORDER_LAUNCHER].is_best = false;
    f->a.rank_order[RANK_ORDER_SHORTEST].is_best = true;
    judge_it(f);
    assert_row(
        f, "rank_order_ratio", OUTCOME_NO_LIMIT,
        "the launcher's order beside shortest, as rank_order.hosts has it: 0.625 of the best order, without a limit");
    const struct criterion *row = row_of(f, "rank_order_ratio");
    assert_true(row->measured == 0.625 && fabs(row->low - 0.5) < 1e-9 && fabs(row->high - 0.78125) < 1e-9);
    assert_true(isnan(row->limit));
    assert_int_equal(row->n_samples, 5);
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_PASS, OUTCOME_PASS);
}

ON_A_FLEET(the_launchers_order_has_a_limit)
{
    struct fixture *f = *state;

    limits(f, "least_rank_order_ratio=0.9");
    set_two(f);
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_PASS,
               "no order is surely better than the launcher's: 100 % of the best, above the limit of 90 %");
    assert_true(isnan(row_of(f, "rank_order_ratio")->low));
    set_order(f, RANK_ORDER_SWITCHES, RANK_ORDER_SWITCHES, 1.25);
    f->a.rank_order[RANK_ORDER_LAUNCHER].is_best = false;
    f->a.rank_order[RANK_ORDER_SWITCHES].is_best = true;
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_FAIL,
               "the launcher's order beside switches, as rank_order.hosts has it: 80 % of the best, below the limit of "
               "90 %; the interval holds the limit");
    assert_int_equal(f->a.n_findings, 0); /* nobody's fault */
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_FAIL, OUTCOME_FAIL);
    limits(f, "least_rank_order_ratio=0.75");
    judge_it(f);
    assert_int_equal(row_of(f, "rank_order_ratio")->outcome, OUTCOME_PASS);
}

/* Of one rank a node, in the order of the launcher. */
ON_A_FLEET(orders_that_are_the_same_are_no_data)
{
    struct fixture *f = *state;

    limits(f, "least_rank_order_ratio=0.9");
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_NO_DATA, "orders of ranks were not compared");
    for (int k = RANK_ORDER_LAUNCHER; k <= RANK_ORDER_SPREAD; k++) {
        set_order(f, k, RANK_ORDER_LAUNCHER, NAN);
        f->a.rank_order[k].n_repeats = 0;
    }
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_NO_DATA,
               "one rank a node, and nothing is known of the network: the pairwise stage measures it");
    assert_outcomes(f, ACCEPT_COLLECTIVES, OUTCOME_NO_DATA, OUTCOME_NO_DATA);
    set_order(f, RANK_ORDER_SHORTEST, RANK_ORDER_LAUNCHER, NAN);
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_PASS, "what is known of the network gives the launcher's order");
    assert_true(row_of(f, "rank_order_ratio")->measured == 1 && row_of(f, "rank_order_ratio")->limit == 0.9);
    set_order(f, RANK_ORDER_SHORTEST, RANK_ORDER_SHORTEST, NAN); /* another one, but the stage ended before */
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_NO_DATA, "orders differ, and were not measured");
    limits(f, "rank_order_bytes=0");
    acceptance_close(&f->a);
    open_fleet(f, N_NODES, N_RANKS);
    limits(f, "least_rank_order_ratio=0.9,rank_order_bytes=0");
    judge_it(f);
    assert_row(f, "rank_order_ratio", OUTCOME_NO_DATA, "rank_order_bytes is 0");
}

UNIT_TEST(one_node_has_no_order)
{
    struct fixture f;

    open_fleet(&f, 1, 4);
    limits(&f, "least_rank_order_ratio=0.9");
    judge_it(&f);
    assert_row(&f, "rank_order_ratio", OUTCOME_NO_DATA,
               "one node: no order of its ranks brings nodes nearer to each other");
    acceptance_close(&f.a);
}

/* Of trainings in the best order, where they were asked for. */
ON_A_FLEET(trainings_are_told_without_a_limit)
{
    struct fixture *f = *state;

    judge_it(f);
    assert_false(has_row(f, "rank_order_training_ratio"));
    limits(f, "rank_order_training_steps_count=20");
    judge_it(f);
    assert_row(f, "rank_order_training_ratio", OUTCOME_NO_DATA,
               "orders of ranks were not compared; the stage collectives does");
    set_two(f);
    judge_it(f);
    assert_row(f, "rank_order_training_ratio", OUTCOME_SKIPPED, "no order is surely better than the launcher's");
    assert_outcomes(f, ACCEPT_TRAINING, OUTCOME_PASS, OUTCOME_PASS);
    set_order(f, RANK_ORDER_SHORTEST, RANK_ORDER_SHORTEST, 1.6);
    f->a.rank_order[RANK_ORDER_LAUNCHER].is_best = false;
    f->a.rank_order[RANK_ORDER_SHORTEST].is_best = true;
    f->a.rank_order_training.order = RANK_ORDER_SHORTEST;
    snprintf(f->a.rank_order_training.why, sizeof f->a.rank_order_training.why, "there was no time");
    judge_it(f);
    assert_row(f, "rank_order_training_ratio", OUTCOME_NO_DATA, "there was no time");
    f->a.rank_order_training = (struct rank_order_training){
        RANK_ORDER_SHORTEST, 3, 20, 3700, 3600, 3800, 4000, 3900, 4100, 1.08, 1.05, 1.11, ""
    };
    judge_it(f);
    assert_row(f, "rank_order_training_ratio", OUTCOME_PASS,
               "in the order shortest 4000 sample/s, in the launcher's 3700 sample/s, in 3 trainings of 20 steps each, "
               "without a "
               "limit");
    const struct criterion *row = row_of(f, "rank_order_training_ratio");
    assert_true(row->measured == 1.08 && row->low == 1.05 && row->high == 1.11);
    assert_int_equal(row->n_samples, 3);
}

UNIT_MAIN("judge_rank_orders")
