/* SPDX-License-Identifier: Apache-2.0 */
/* profile_report.h - what was measured: a table, a roofline chart, a profile file's content. */
#ifndef HARNESS_VERBS_PROFILE_REPORT_H
#define HARNESS_VERBS_PROFILE_REPORT_H

#include <stdio.h>

#include "harness/bench/layer_timing.h"

struct report_about {    /* borrowed */
    const char *program; /* what measured, with what, when */
    const char *compute, *precision, *device;
    int batch, n_threads, n_warmup;
};

/* Layers, then totals. */
enum rc profile_print(FILE *to, const struct layer_timing *m, const struct report_about *about) MUST_CHECK;
/* path ends in .png or .svg; both are drawn, beside them the data as .tsv, under the roofs of all measurements of this
 * machine in the folder, and with them its other charts there (profile_roofs.h). */
enum rc profile_draw(const struct layer_timing *m, const struct report_about *about, const char *path) MUST_CHECK;
/* The medians as a profile. */
enum rc profile_of_timing(struct profile **out, const struct layer_timing *m,
                          const struct report_about *about) MUST_CHECK;
/* out: the file of the profile, "" none. RC_INVAL: path is not one that profile_draw() takes, cannot be written, is
 * that of the table of roofs, or out is that table; RC_UNSUPPORTED: no gnuplot; else as
 * roofs_check(). */
enum rc profile_check_chart(const char *path, const char *out) MUST_CHECK;

#endif
