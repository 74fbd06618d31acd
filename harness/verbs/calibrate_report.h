/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_report.h - what gradmark calibrate prints, from its results alone. */
#ifndef HARNESS_VERBS_CALIBRATE_REPORT_H
#define HARNESS_VERBS_CALIBRATE_REPORT_H

#include <stdio.h>

#include "harness/bench/calibration.h"

/* Print two tables, each value with its source: the parts of the machine, and messages by size beside the fitted line.
 * Then print a line for each problem: a slow link, a slow rank, a bad fit, a missing measurement. RC_NOMEM. */
enum rc calibrate_print(FILE *to, const struct calibration *c) MUST_CHECK;

#endif
