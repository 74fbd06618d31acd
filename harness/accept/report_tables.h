/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.h - the tables of an acceptance test, for the terminal and for the page. Of this room. */
#ifndef HARNESS_ACCEPT_REPORT_TABLES_H
#define HARNESS_ACCEPT_REPORT_TABLES_H

#include "harness/accept/acceptance.h"
#include "harness/report/table.h"

/* Each makes *out, which the caller closes; without rows where nothing was measured. RC_NOMEM. */

/* A row for each criterion; why: with a column of reasons, which are long. */
enum rc criteria_table(struct table **out, const struct acceptance *a, bool why) MUST_CHECK;
/* A row for each node: ranks, rates, latency, the worst rank's figures, what it is blamed for. */
enum rc nodes_table(struct table **out, const struct acceptance *a) MUST_CHECK;
/* The slowest pairs of the tournament, most_rows at most, slowest first; equal ones in the order of nodes. */
enum rc slowest_pairs_table(struct table **out, const struct acceptance *a, size_t most_rows) MUST_CHECK;
enum rc preflight_table(struct table **out, const struct acceptance *a) MUST_CHECK;
/* title: of the rates: "bus bandwidth", "goodput". */
enum rc sizes_table(struct table **out, const struct sized_rate *rate, int n, const char *title) MUST_CHECK;
/* A row for each order of ranks, where they were measured. */
enum rc rank_orders_table(struct table **out, const struct acceptance *a) MUST_CHECK;
enum rc training_table(struct table **out, const struct acceptance *a) MUST_CHECK;

#endif
