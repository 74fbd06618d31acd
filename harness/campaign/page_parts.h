/* SPDX-License-Identifier: Apache-2.0 */
/* page_parts.h - the parts of a page below its verdict. Of this room. */
#ifndef HARNESS_CAMPAIGN_PAGE_PARTS_H
#define HARNESS_CAMPAIGN_PAGE_PARTS_H

#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

/* page_charts.c: the charts, of which none takes more than most_bytes and all together no more than all_bytes; for one
 * that is lacking a line in the page and one to `told`. path: of the page. */
enum rc page_charts(const struct recorded *k, FILE *to, const char *path, size_t most_bytes, size_t all_bytes,
                    FILE *told) MUST_CHECK;

/* page_facts.c: what was disturbed and each launch; what was set; on what it ran. */
enum rc page_disturbed(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_launches(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_options(const struct recorded *k, FILE *to) MUST_CHECK;
enum rc page_machine(const struct recorded *k, FILE *to) MUST_CHECK;
/* Records of one kind, a row for each that has room, a column for each key of the first. Nothing where there is none.
 */
enum rc page_records(const struct json_t *records, const char *title, FILE *to) MUST_CHECK;
/* The members of an object that are no objects themselves, a row for each; then a table for each that is one. */
enum rc page_object(const struct json_t *object, const char *title, FILE *to) MUST_CHECK;

#endif
