/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - a campaign, or a run, as a page to look at (report/html.h): the verdict first, then tables, charts, what was
 * disturbed, and every option, machine and library.
 *
 * Invariants
 *   P1  Every figure of a table is the one that campaign_print() prints.
 *   P2  The page is below PAGE_MOST_BYTES: what would make it larger is left out, and the page says so.
 *   P3  Nothing but the page is written: charts that the folder has are shown, others are drawn elsewhere and dropped.
 */
#ifndef HARNESS_CAMPAIGN_PAGE_H
#define HARNESS_CAMPAIGN_PAGE_H

#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

enum { PAGE_MOST_BYTES = 2000000, PAGE_PATH_BYTES = 1024 };

/* Write the page of k to path; to `told` a line for each chart that it lacks. RC_INVAL: path cannot be written. RC_IO,
 * RC_NOMEM: nothing new is at path. A missing gnuplot is no error. */
enum rc page_write(const struct recorded *k, const char *path, FILE *told) MUST_CHECK;
/* The same as text: the answer, both tables with their notes, and each comparison. RC_NOMEM. */
enum rc page_print(const struct recorded *k, FILE *to) MUST_CHECK;
/* The answer and the table below it, as Markdown. RC_NOMEM. */
enum rc page_print_markdown(const struct recorded *k, FILE *to) MUST_CHECK;
/* Read what is kept at source, write its page where it goes, and say "page: PATH". Errors: recorded_open()'s,
 * page_write()'s. */
enum rc page_of(const char *source, FILE *to) MUST_CHECK;
/* Where the page of what is kept at `source` goes: SOURCE/report.html, of a run's file SOURCE.html. */
void page_path(char *out, size_t n_bytes, const struct recorded *k, const char *source);

#endif
