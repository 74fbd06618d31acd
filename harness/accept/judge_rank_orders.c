/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge_rank_orders.c - the launcher's order of ranks beside the best.
 *
 * Where all orders are the same nothing is measured. That is a pass where something is known of the network between
 * nodes, as then an order that knows it is the launcher's; of one rank a node and no such knowledge it is no data.
 */
#include <math.h>
#include <stdio.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/report_words.h"

/* The launcher's rate over the best one, with the interval of that comparison. */
static void judge_best(struct judging *j, struct criterion *row, int best)
{
    const struct rank_order *o = &j->a->rank_order[best];
    const double limit = j->c->least_rank_order_ratio;
    char who[128];

    if (best != RANK_ORDER_LAUNCHER) {
        row->low = 1 / o->high_ratio;
        row->high = 1 / o->low_ratio;
        snprintf(who, sizeof who, "the launcher's order beside %s, as rank_order.hosts has it",
                 accept_rank_order_name(best));
    } else
        snprintf(who, sizeof who, "no order is surely better than the launcher's");
    row->n_samples = o->n_repeats;
    if (limit > 0)
        row_limit(row, 1 / o->ratio, limit, true, "of the best", who);
    else {
        row->measured = 1 / o->ratio;
        row_end(row, OUTCOME_NO_LIMIT, "%s: %.4g of the best order, without a limit", who, row->measured);
    }
}

static void judge_same(struct judging *j, struct criterion *row)
{
    const struct rank_order *order = j->a->rank_order;
    const bool is_known = order[RANK_ORDER_SWITCHES].rank || order[RANK_ORDER_SHORTEST].rank;

    row->limit = j->c->least_rank_order_ratio;
    row->at_least = true;
    if (j->a->n_nodes < 2)
        row_end(row, OUTCOME_NO_DATA, "one node: no order of its ranks brings nodes nearer to each other");
    else if (!order[RANK_ORDER_LAUNCHER].rank)
        row_end(row, OUTCOME_NO_DATA,
                j->c->rank_order_bytes < sizeof(float) ? "rank_order_bytes is 0" : "orders of ranks were not compared");
    else if (!is_known)
        row_end(row, OUTCOME_NO_DATA,
                "one rank a node, and nothing is known of the network: the pairwise stage measures it");
    else {
        row->measured = 1;
        row->n_samples = j->a->n_nodes;
        row_end(row, OUTCOME_PASS, "what is known of the network gives the launcher's order");
    }
}

/* Are all orders that there are the launcher's? */
static bool are_same(const struct acceptance *a)
{
    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++)
        if (a->rank_order[k].rank && a->rank_order[k].same_as != RANK_ORDER_LAUNCHER)
            return false;
    return true;
}

void judge_rank_orders(struct judging *j)
{
    const int best = acceptance_best_rank_order(j->a);
    struct criterion *row;

    if (best < 0 && !(j->c->least_rank_order_ratio > 0))
        return;
    row = acceptance_add_criterion(j->a, ACCEPT_COLLECTIVES, "rank_order_ratio");
    row->unit = "of the best";
    if (best >= 0)
        judge_best(j, row, best);
    else if (are_same(j->a))
        judge_same(j, row);
    else {
        row->limit = j->c->least_rank_order_ratio;
        row->at_least = true;
        row_end(row, OUTCOME_NO_DATA, "orders differ, and were not %s",
                j->a->rank_order[RANK_ORDER_LAUNCHER].n_repeats > 0 ? "compared to the end" : "measured");
    }
}

/* --- trainings --- */

static void judge_trained(const struct rank_order_training *t, struct criterion *row)
{
    char rate[QUANTITY_BYTES], launcher[QUANTITY_BYTES];

    row->measured = t->ratio;
    row->low = t->low_ratio;
    row->high = t->high_ratio;
    row->n_samples = t->n_repeats;
    quantity_text(rate, sizeof rate, t->samples_per_s, "sample/s");
    quantity_text(launcher, sizeof launcher, t->launcher_samples_per_s, "sample/s");
    row_end(row, OUTCOME_PASS,
            "in the order %s %s, in the launcher's %s, in %d trainings of %llu steps each, without a limit",
            accept_rank_order_name(t->order), rate, launcher, t->n_repeats, (unsigned long long)t->n_steps);
}

void judge_rank_training(struct judging *j)
{
    const struct rank_order_training *t = &j->a->rank_order_training;
    const int best = acceptance_best_rank_order(j->a);
    struct criterion *row;

    if (!(j->c->rank_order_training_steps_count > 0))
        return;
    row = acceptance_add_criterion(j->a, ACCEPT_TRAINING, "rank_order_training_ratio");
    row->unit = "of the launcher's";
    if (t->n_repeats > 0)
        judge_trained(t, row);
    else if (best == RANK_ORDER_LAUNCHER || (j->a->rank_order[RANK_ORDER_LAUNCHER].rank && are_same(j->a)))
        row_end(row, OUTCOME_SKIPPED, "no order is surely better than the launcher's");
    else if (best < 0)
        row_end(row, OUTCOME_NO_DATA, "orders of ranks were not compared; the stage collectives does");
    else
        row_end(row, OUTCOME_NO_DATA, "%s", t->why[0] ? t->why : "not measured");
}
