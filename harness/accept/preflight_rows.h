/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight_rows.h - from what nodes tell of themselves: in what they differ, and which limits they break. Pure.
 *
 * What no node tells has no row, unless a limit asks for it: then that row has no data, and so has one of which half of
 * the nodes or more do not tell.
 *
 * To blame are all nodes that break a limit, and all that differ from more than half of the others. Where there is no
 * such majority (two nodes, four beside four) none of them is: a difference of the fleet says who has what.
 */
#ifndef HARNESS_ACCEPT_PREFLIGHT_ROWS_H
#define HARNESS_ACCEPT_PREFLIGHT_ROWS_H

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"
#include "harness/accept/node_facts.h"

/* a->preflight := rows of rank[a->n_ranks], of which those of the first rank of each node are read. RC_NOMEM. */
enum rc preflight_compare(struct acceptance *a, const struct node_facts *rank, const struct criteria *c) MUST_CHECK;

#endif
