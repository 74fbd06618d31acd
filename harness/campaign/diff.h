/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - compares two campaigns, point by point: is the second better, worse, or is the difference not significant?
 *
 * Invariants
 *   N1  Points are the same if they assign the same values: model, mode, workers. Points of only one campaign are
 *       named.
 *   N2  Points with different samples (task, data set, image size, classes, parameters of the model) are not compared;
 *       they are named with the difference. Measured figures are not compared with simulated ones either.
 *   N3  All other differences may be the cause of a result: machine, hosts, program, libraries, their environment, an
 *       option, or a change before a continuation. They are named with both values below the table. Values are compared
 *       completely; of long values the part that differs is named.
 *   N4  Throughputs are compared as independent.h does, and verdicts hold jointly (paired.C4). Simulated throughputs do
 *       not vary: every difference is real.
 *   N5  A point has no verdict if more than WITHHELD_RATIO of its launches in either campaign are disturbed, without a
 *       steady state or above their bound.
 */
#ifndef HARNESS_CAMPAIGN_DIFF_H
#define HARNESS_CAMPAIGN_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"
#include "harness/campaign/recorded.h"
#include "harness/report/record.h"

struct diff_counts { /* of points in both */
    size_t n_better, n_worse, n_untold, n_not_compared;
};

/* Print the answer, a table of the points that are better, worse or withheld (all_rows: all points), and other
 * differences. RC_INVAL: N2 leaves nothing to compare; then nothing is printed. RC_NOMEM. */
enum rc campaign_diff(const struct recorded *a, const struct recorded *b, bool all_rows, struct diff_counts *out,
                      FILE *to) MUST_CHECK;
/* Write records instead: "pair" for each point of both, then "diff" with the counts. Errors as above. */
enum rc campaign_diff_write(const struct recorded *a, const struct recorded *b, struct diff_counts *out,
                            struct report *to) MUST_CHECK;

#endif
