/* SPDX-License-Identifier: Apache-2.0 */
/* comm_report.h - what bench/comm_bench.h measured: as nccl-tests prints it, as records, as a chart. */
#ifndef HARNESS_VERBS_COMM_REPORT_H
#define HARNESS_VERBS_COMM_REPORT_H

#include <stdio.h>

#include "harness/bench/comm_bench.h"
#include "harness/report/record.h"

struct comm_about { /* borrowed */
    const struct comm_terms *terms;
    const struct comm_results *results;
    const char *world, *transport, *compute;
    size_t cache_bytes;                  /* of the last level, of this host; 0: not known */
    char (*left_out)[COMM_REASON_BYTES]; /* [n_left_out]: of --reducer all what cannot run here, with the reason */
    int n_left_out;
};

/* A block for each lane, which programs that read nccl-tests' output read; then all of them beside the ceiling. RC_IO.
 */
enum rc comm_print(FILE *to, const struct comm_about *about) MUST_CHECK;
/* A record for each row, behind the manifest (which stays the caller's), and one for each ceiling. RC_IO, RC_NOMEM. */
enum rc comm_write(const struct comm_about *about, const struct record *manifest, const char *path) MUST_CHECK;
/* RC_INVAL, RC_UNSUPPORTED: no chart can be drawn there; the message begins with "--chart PATH". */
enum rc comm_check_chart(const char *path) MUST_CHECK;
/* path: as it was checked. Its data stays beside it, as .tsv. */
enum rc comm_draw(const struct comm_about *about, const char *path) MUST_CHECK;

/* Elements that were wrong, of all rows. */
uint64_t comm_wrong_count(const struct comm_results *r);
double comm_algbw_bytes_per_s(const struct comm_row *row, enum comm_placement placement);
double comm_busbw_bytes_per_s(const struct comm_about *about, const struct comm_row *row,
                              enum comm_placement placement);

#endif
