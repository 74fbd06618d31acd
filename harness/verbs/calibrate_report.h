/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_report.h - what gradmark calibrate prints: from its results alone. */
#ifndef HARNESS_VERBS_CALIBRATE_REPORT_H
#define HARNESS_VERBS_CALIBRATE_REPORT_H

#include <stdio.h>

#include "harness/bench/calibration.h"

/* Two tables, each value with what it comes from: of the parts of the machine, and of messages by their size beside
 * the fitted line; then a line for each thing that is wrong or missing: a slow link, a slow rank, a bad fit, what was
 * not measured. RC_NOMEM. */
enum rc calibrate_print(FILE *to, const struct calibration *c) MUST_CHECK;

#endif
