/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - a text table with aligned columns for the terminal. Column widths are UTF-8 aware. */
#ifndef HARNESS_REPORT_TABLE_H
#define HARNESS_REPORT_TABLE_H

#include <stdio.h>

#include "harness/base/rc.h"

struct table;
enum align { ALIGN_LEFT, ALIGN_RIGHT };
struct column {
    const char *title;
    enum align align;
};

/* A table, which the caller closes; column[n_columns] is copied. Lack of memory for it, or for a cell, is an error of
 * whatever prints the table: nothing else has to look. NULL is such a table, for all functions here but table_column()
 * and table_text(). */
struct table *table_open(const struct column *column, size_t n_columns);
/* Add one cell to the current row, printf-style; after the last column a new row starts. */
void table_cell(struct table *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Add a rule between the rows so far and the next row. */
void table_rule(struct table *t);
/* RC_NOMEM: a cell is missing. For those that print a table by its content. */
enum rc table_check(const struct table *t) MUST_CHECK;
/* Lines have at most 100 columns, or the width of a narrower terminal. If the table is wider, its titles are broken
 * between words, then its columns of words. If that is not enough, it is printed as several tables, one below another,
 * each with the first columns that tell rows apart. RC_NOMEM: then nothing is printed. So of all that print a table. */
enum rc table_print(const struct table *t, FILE *to) MUST_CHECK;
/* table_print(), then table_close(), for the last use of a table. */
enum rc table_finish(struct table *t, FILE *to) MUST_CHECK;
/* A wide table is printed as several tables at once, each with the first n_keys columns. No cell is broken. */
enum rc table_print_parts(const struct table *t, size_t n_keys, FILE *to) MUST_CHECK;
/* The table as comma-separated values (RFC 4180, lines end in a line feed), without rules. Of columns with equal titles
 * each but the first of the table has the title before it, too: "bytes: by formula". */
enum rc table_print_csv(const struct table *t, FILE *to) MUST_CHECK;
struct table_diversion { /* --format csv */
    FILE *from, *to;
    size_t n_tables; /* that went there */
};
/* From now on tables that are printed to d->from go to d->to as comma-separated values, with an empty line between two.
 * Other streams keep their tables. d is borrowed until the next call; NULL: no longer. */
void table_divert(struct table_diversion *d);
/* A table of two columns without titles: names and descriptions. Descriptions are broken between words, so that lines
 * have at most 100 columns, or the width of a narrower terminal. */
enum rc table_print_named(const struct table *t, FILE *to) MUST_CHECK;
/* The content of the table. Columns and cells are lent until the table changes. */
size_t table_n_columns(const struct table *t);
size_t table_n_rows(const struct table *t);
const struct column *table_column(const struct table *t, size_t i);
/* NULL: the row is a rule. An empty cell is "". */
const char *table_text(const struct table *t, size_t row, size_t column);
void table_close(struct table **t); /* NULL-safe, nulls */

#endif
