/* SPDX-License-Identifier: Apache-2.0 */
/* comm_report.h - what bench/comm_bench.h measured: as nccl-tests prints it, as records, as points of a chart. */
#ifndef HARNESS_VERBS_COMM_REPORT_H
#define HARNESS_VERBS_COMM_REPORT_H

#include "harness/bench/comm_bench.h"
#include "harness/verbs/comm_output.h"

struct comm_about { /* borrowed */
    const struct comm_terms *terms;
    const struct comm_results *results;
    struct comm_where where;
    char (*left_out)[COMM_REASON_BYTES]; /* [n_left_out]: of --reducer all what cannot run here, with the reason */
    int n_left_out;
};

/* A block for each lane, which programs that read nccl-tests' output read; then all of them beside the ceiling. A
 * record for each row, and one for each ceiling. It borrows about. */
struct comm_output comm_report_output(const struct comm_about *about);

#endif
