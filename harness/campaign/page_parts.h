/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.h - the parts of a page below its verdict. Private to campaign/. */
#ifndef HARNESS_CAMPAIGN_PAGE_PARTS_H
#define HARNESS_CAMPAIGN_PAGE_PARTS_H

#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

/* page_charts.c: the charts. Each takes at most most_bytes, all together at most all_bytes. Each missing chart gets a
 * line in the page and one to `told`. path: of the page. */
enum rc page_charts(const struct recorded *k, FILE *to, const char *path, size_t most_bytes, size_t all_bytes,
                    FILE *told) MUST_CHECK;

/* page.c: a paragraph for each note; every line of text, which it changes, has an end. */
void page_paragraphs(char *text, FILE *to);
/* page_facts.c: disturbances and each launch; options; machine. */
enum rc page_disturbed(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_launches(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_options(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_machine(const struct recorded *k, FILE *to) MUST_CHECK;
/* A table of records of one kind: a row for each, while there is room, and a column for each key of the first. Nothing
 * if there are no records. */
enum rc page_records(const struct json_t *records, const char *title, FILE *to) MUST_CHECK;
/* A row for each member of an object that is not an object; then a table for each that is one. */
enum rc page_object(const struct json_t *object, const char *title, FILE *to) MUST_CHECK;

#endif
