/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markdown.h - text and tables to paste into a wiki or an issue, and pages of docs/ for a terminal.
 *
 * Tables are in GitHub Flavored Markdown. Characters that have a meaning in Markdown are escaped.
 */
#ifndef HARNESS_REPORT_MARKDOWN_H
#define HARNESS_REPORT_MARKDOWN_H

#include <stdio.h>

#include "harness/report/table.h"

/* A list with one item for each line of text. A line before indented lines becomes a separate bold paragraph. */
void markdown_lines(FILE *to, const char *text);
/* One row for each row of t; rules are left out. */
enum rc markdown_table(const struct table *t, FILE *to) MUST_CHECK;

/* Prints a page, or a part of one, that is written in Markdown: text[n_bytes]. Its paragraphs and items are wrapped to
 * the columns of a line on a terminal, and its tables are printed by table_print(). Code blocks stay as they are. A
 * table has at most 15 columns. RC_NOMEM, and what is before the failure is printed. */
enum rc markdown_page(const char *text, size_t n_bytes, FILE *to) MUST_CHECK;

#endif
