/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight_rows.h - from what nodes tell of themselves: in what they differ, and which limits they break. Pure.
 *
 * What no node tells has no row, unless a limit asks for it: then that row has no data.
 */
#ifndef HARNESS_ACCEPT_PREFLIGHT_ROWS_H
#define HARNESS_ACCEPT_PREFLIGHT_ROWS_H

#include "harness/accept/acceptance.h"
#include "harness/accept/criteria.h"
#include "harness/accept/node_facts.h"

/* a->preflight := rows of rank[a->n_ranks], of which those of the first rank of each node are read. RC_NOMEM. */
enum rc preflight_compare(struct acceptance *a, const struct node_facts *rank, const struct criteria *c) MUST_CHECK;

#endif
