/* SPDX-License-Identifier: Apache-2.0 */
/*
 * markdown.h - text and tables to paste into a wiki or an issue.
 *
 * Tables are those of GitHub Flavored Markdown. Characters that Markdown reads as marks are escaped.
 */
#ifndef HARNESS_REPORT_MARKDOWN_H
#define HARNESS_REPORT_MARKDOWN_H

#include <stdio.h>

#include "harness/report/table.h"

/* A list, an item for each line of text. A line before lines that are indented is a paragraph of its own, bold. */
void markdown_lines(FILE *to, const char *text);
/* A row for each row but rules. */
void markdown_table(const struct table *t, FILE *to);

#endif
