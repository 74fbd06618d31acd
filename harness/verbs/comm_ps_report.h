/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ps_report.h - what bench/ps_bench.h measured: as a table, as records, as a chart. */
#ifndef HARNESS_VERBS_COMM_PS_REPORT_H
#define HARNESS_VERBS_COMM_PS_REPORT_H

#include <stdio.h>

#include "harness/bench/ps_bench.h"
#include "harness/report/record.h"

struct comm_ps_about { /* borrowed */
    const struct ps_terms *terms;
    const struct ps_results *results;
    const char *world, *transport, *compute;
    size_t cache_bytes; /* of the last level, of this host; 0: not known */
};

/* RC_IO. */
enum rc comm_ps_print(FILE *to, const struct comm_ps_about *about) MUST_CHECK;
/* A record for each size and operation, and one for each bound, behind the manifest (which stays the caller's). RC_IO,
 * RC_NOMEM. */
enum rc comm_ps_write(const struct comm_ps_about *about, const struct record *manifest, const char *path) MUST_CHECK;
/* path: as comm_check_chart() checked it. Its data stays beside it, as .tsv. */
enum rc comm_ps_draw(const struct comm_ps_about *about, const char *path) MUST_CHECK;

/* Bytes of all workers, once, over the time of a call. */
double comm_ps_goodput_bytes_per_s(const struct comm_ps_about *about, const struct ps_row *row, enum ps_lane lane);
uint64_t comm_ps_wrong_count(const struct ps_results *r);

#endif
