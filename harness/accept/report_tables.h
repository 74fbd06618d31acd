/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.h - the tables of an acceptance test, for the terminal and for the page. Private to accept/. */
#ifndef HARNESS_ACCEPT_REPORT_TABLES_H
#define HARNESS_ACCEPT_REPORT_TABLES_H

#include "harness/accept/acceptance.h"
#include "harness/report/table.h"

/* Each makes a table, which the caller closes; it has no rows if nothing was measured. */

/* A row for each criterion; why: with a column of reasons, which are long texts. */
struct table *criteria_table(const struct acceptance *a, bool why);
/* For a terminal: in 100 columns, without the number of samples; sizes have suffixes, and a row has one unit. */
struct table *short_criteria_table(const struct acceptance *a);
/* A row for each node: ranks, rates, latency, the figures of its worst rank, the reason for blame. */
enum rc nodes_table(struct table **out, const struct acceptance *a) MUST_CHECK;
/* The slowest pairs of the tournament, at most most_rows, slowest first; equal pairs are in the order of nodes. */
enum rc slowest_pairs_table(struct table **out, const struct acceptance *a, size_t most_rows) MUST_CHECK;
struct table *preflight_table(const struct acceptance *a);
/* title: title of the rates: "bus bandwidth", "goodput". */
struct table *sizes_table(const struct sized_rate *rate, int n, const char *title);
/* A row for each rank order, if they were measured. */
struct table *rank_orders_table(const struct acceptance *a);
struct table *short_rank_orders_table(const struct acceptance *a);
struct table *training_table(const struct acceptance *a);

#endif
