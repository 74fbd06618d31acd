/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markdown.h - text and tables to paste into a wiki or an issue.
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

#endif
