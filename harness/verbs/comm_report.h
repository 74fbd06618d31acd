/* SPDX-License-Identifier: Apache-2.0 */
/* comm_report.h - the results of bench/comm_bench.h: as nccl-tests prints them, as records, as points of a chart. */
#ifndef HARNESS_VERBS_COMM_REPORT_H
#define HARNESS_VERBS_COMM_REPORT_H

#include "harness/bench/comm_bench.h"
#include "harness/verbs/comm_output.h"

struct comm_about { /* borrowed */
    const struct comm_terms *terms;
    const struct comm_results *results;
    struct comm_where where;
    char (*left_out)[COMM_REASON_BYTES]; /* [n_left_out]: with --reducer all: which cannot run here, and why */
    int n_left_out;
};

/* A block for each lane, in the format of nccl-tests, which other programs parse; then all lanes beside the ceiling. A
 * record for each row, and one for each ceiling. The result borrows about. */
struct comm_output comm_report_output(const struct comm_about *about);

#endif
