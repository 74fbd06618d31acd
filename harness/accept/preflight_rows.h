/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight_rows.h - compares the facts that nodes report: differences between nodes, and broken limits. Pure.
 *
 * A fact that no node reports has no row, unless it has a limit: then its row has no data. So has a row if half of the
 * nodes or more do not report the fact.
 *
 * All nodes that break a limit are to blame, and all that differ from more than half of all nodes. Without such a
 * majority (two nodes, four against four) none of them is to blame: a difference of the fleet lists the values of all.
 */
#ifndef HARNESS_ACCEPT_PREFLIGHT_ROWS_H
#define HARNESS_ACCEPT_PREFLIGHT_ROWS_H

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"
#include "harness/accept/node_facts.h"

/* a->preflight := rows from rank[a->n_ranks]; only the entry of each node's first rank is read. RC_NOMEM. */
enum rc preflight_compare(struct acceptance *a, const struct node_facts *rank, const struct criteria *c) MUST_CHECK;

#endif
