/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_roofs.h - the roofs of a machine, which its roofline charts show.
 *
 *   F1  roofs.tsv, beside the charts, has a row for every measurement of the roofs; each run adds its rows.
 *   F2  Measurements belong to the same roofs if device, backend, precision and threads are equal.
 *   F3  All charts in a folder with the same roofs show the same values: the greatest measured, and how far the least
 *       is below it. So a run that adds measurements redraws all of them. The table of each chart names its roofs.
 *   F4  Runs that add to one folder, or draw in it, at the same time take turns: no row is lost. A file that is not a
 *       regular file is not opened, or given up at once: no run waits for a pipe.
 */
#ifndef HARNESS_VERBS_PROFILE_ROOFS_H
#define HARNESS_VERBS_PROFILE_ROOFS_H

#include "harness/verbs/profile_report.h"

#define ROOFS_NAME "roofs" /* name of the table, so no chart can have it */

/* Write the first lines of a chart's table: its roofs (verbs.F3), and the text of its title. */
void roofs_write_head(FILE *to, const struct report_about *about, const char *model, const char *machine);
/* Call this before a long measurement: if dir/roofs.tsv exists, can rows be added to it? Errors: as roofs_add(). */
enum rc roofs_check(const char *dir) MUST_CHECK;
/* Add the measurements of a run to dir/roofs.tsv (verbs.F1). RC_MISMATCH: the file there is not such a table; RC_INVAL,
 * RC_IO: it cannot be read or written. The file is then unchanged. */
enum rc roofs_add(const char *dir, const struct layer_timing *m, const struct report_about *about) MUST_CHECK;
/* Draw all charts in dir that have these roofs (verbs.F3). RC_UNSUPPORTED: no gnuplot; RC_MISMATCH: no such roofs in
 * roofs.tsv; otherwise the error of the first chart that failed. */
enum rc roofs_draw(const char *dir, const struct report_about *about) MUST_CHECK;

#endif
