/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - two campaigns, point by point: is the second better, worse, or can that not be told?
 *
 * Invariants
 *   N1  Points are the same that assign the same values: model, mode, workers. Those of one campaign alone are named.
 *   N2  Points whose samples are not the same (task, data set, image size, classes, parameters of the model) are not
 *       compared, and are named with what differs; nor are measured figures with simulated ones.
 *   N3  Whatever else differs, machine, hosts, program, libraries, their environment or an option, is named with both
 *       values below the table, and so is what had changed when one was continued: it may make the difference. Values
 *       are compared whole; of long ones that part is named which differs.
 *   N4  Throughputs are compared as independent.h does, and verdicts hold together (paired.C4). Simulated ones do not
 *       vary: every difference is real.
 *   N5  No verdict is given on a point of which more than WITHHELD_RATIO of the launches of either campaign are
 *       disturbed or without a steady state.
 */
#ifndef HARNESS_CAMPAIGN_DIFF_H
#define HARNESS_CAMPAIGN_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"

struct diff_counts { /* of points in both */
    size_t n_better, n_worse, n_untold, n_not_compared;
};

/* Print the answer, a table of the points that are better, worse or withheld (all_rows: of all), and what else differs.
 * RC_INVAL: N2 leaves nothing to compare; then nothing is printed. RC_NOMEM. */
enum rc campaign_diff(const struct recorded *a, const struct recorded *b, bool all_rows, struct diff_counts *out,
                      FILE *to) MUST_CHECK;

#endif
