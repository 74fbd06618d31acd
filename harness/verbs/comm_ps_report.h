/* SPDX-License-Identifier: Apache-2.0 */
/* comm_ps_report.h - the results of bench/ps_bench.h as a table, as records, as points of a chart. */
#ifndef HARNESS_VERBS_COMM_PS_REPORT_H
#define HARNESS_VERBS_COMM_PS_REPORT_H

#include "harness/bench/ps_bench.h"
#include "harness/verbs/comm_output.h"

struct comm_ps_about { /* borrowed */
    const struct ps_terms *terms;
    const struct ps_results *results;
    struct comm_where where;
};

/* A record for each size and operation, and one for each bound. The result borrows about. */
struct comm_output comm_ps_report_output(const struct comm_ps_about *about);

#endif
