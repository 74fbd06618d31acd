/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_roofs.h - the roofs of a machine, under which its roofline charts are drawn.
 *
 *   F1  roofs.tsv, beside the charts, has a row for every measurement of the roofs; a run adds its own.
 *   F2  Measurements are of the same roofs where device, backend, precision and threads are the same.
 *   F3  All charts in a folder that have the same roofs show the same: the greatest measured, and how far the least is
 *       below it. So a run that adds measurements draws all of them again; each says in its table which roofs it has.
 *   F4  Runs that add to one folder, or draw in it, at the same time take turns: no row is lost. What is no regular
 *       file is not opened, or at once given up: nobody waits for a pipe.
 */
#ifndef HARNESS_VERBS_PROFILE_ROOFS_H
#define HARNESS_VERBS_PROFILE_ROOFS_H

#include "harness/verbs/profile_report.h"

#define ROOFS_NAME "roofs" /* of the table, so of no chart */

/* Write the first lines of a chart's table: which roofs it has (F3), and what its title tells. */
void roofs_write_head(FILE *to, const struct report_about *about, const char *model, const char *machine);
/* Before an hour of measuring: is dir/roofs.tsv, if it is there, one that can be added to? Errors: as roofs_add(). */
enum rc roofs_check(const char *dir) MUST_CHECK;
/* Add the measurements of a run to dir/roofs.tsv (F1). RC_MISMATCH: what is there is no such table; RC_INVAL, RC_IO:
 * it cannot be read or written. It is as it was then. */
enum rc roofs_add(const char *dir, const struct layer_timing *m, const struct report_about *about) MUST_CHECK;
/* Draw all charts in dir that have these roofs (F3). RC_UNSUPPORTED: no gnuplot; RC_MISMATCH: no such roofs in
 * roofs.tsv; else as the first that failed. */
enum rc roofs_draw(const char *dir, const struct report_about *about) MUST_CHECK;

#endif
