/* SPDX-License-Identifier: Apache-2.0 */
/* profile_report.h - the measured layers as a table, a roofline chart, and a profile file. */
#ifndef HARNESS_VERBS_PROFILE_REPORT_H
#define HARNESS_VERBS_PROFILE_REPORT_H

#include <stdio.h>

#include "harness/bench/layer_timing.h"

struct report_about {    /* borrowed */
    const char *program; /* program, backend and date of the measurement */
    const char *compute, *precision, *device;
    int batch, n_threads, n_warmup;
    const char *others; /* "others use 1.4 of 2 cores", just before; NULL: nothing disturbed */
};

/* Print the layers, then totals. */
enum rc profile_print(FILE *to, const struct layer_timing *m, const struct report_about *about) MUST_CHECK;
/* path ends in .png or .svg; both are drawn, with the data beside them as .tsv. The roofs are those of all measurements
 * of this machine in the folder; the other charts of these roofs there are redrawn, too (profile_roofs.h). */
enum rc profile_draw(const struct layer_timing *m, const struct report_about *about, const char *path) MUST_CHECK;
/* The medians as a profile. */
enum rc profile_of_timing(struct profile **out, const struct layer_timing *m,
                          const struct report_about *about) MUST_CHECK;
/* out: the file of the profile, "" none. RC_INVAL: profile_draw() does not take path, path cannot be written, or path
 * or out is the table of roofs. RC_UNSUPPORTED: no gnuplot. Otherwise as roofs_check(). */
enum rc profile_check_chart(const char *path, const char *out) MUST_CHECK;

#endif
