/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - the page of a campaign or a run (report/html.h): the verdict first, then tables, charts, disturbances, and
 * every option, machine and library.
 *
 * Invariants
 *   P1  Every figure of a table is the one that campaign_print() prints.
 *   P2  The page is below PAGE_MOST_BYTES: parts that would exceed it are left out, and the page says so.
 *   P3  Only the page is written. Charts of the folder are shown; missing ones are drawn elsewhere and then removed.
 */
#ifndef HARNESS_CAMPAIGN_PAGE_H
#define HARNESS_CAMPAIGN_PAGE_H

#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

enum { PAGE_MOST_BYTES = 2000000, PAGE_PATH_BYTES = 1024 };

/* Write the page of k to path, and to `told` a line for each missing chart. RC_INVAL: path cannot be written. RC_IO,
 * RC_NOMEM: nothing new is at path. A missing gnuplot is not an error. */
enum rc page_write(const struct recorded *k, const char *path, FILE *told) MUST_CHECK;
/* The same as text: the answer, both tables with their notes, and each comparison. RC_NOMEM. */
enum rc page_print(const struct recorded *k, FILE *to) MUST_CHECK;
/* The answer and the table below it, as Markdown. RC_NOMEM. */
enum rc page_print_markdown(const struct recorded *k, FILE *to) MUST_CHECK;
/* Read the records at source, write the page to page_path(), and print "page: PATH". Errors: those of recorded_open()
 * and page_write(). */
enum rc page_of(const char *source, FILE *to) MUST_CHECK;
/* The path of the page for `source`: SOURCE/report.html; for a run's file SOURCE.html. */
void page_path(char *out, size_t n_bytes, const struct recorded *k, const char *source);

#endif
