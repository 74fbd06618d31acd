/* SPDX-License-Identifier: Apache-2.0 */
/* curves.h - a table of curves for scripts/gnuplot/lesson.gp: NAME.tsv in a lab's folder. The points of one line are
 * consecutive. */
#ifndef HARNESS_LABS_CURVES_H
#define HARNESS_LABS_CURVES_H

#include <stddef.h>

#include "harness/base/file.h"
#include "harness/labs/lab.h"

enum { CURVES_LINE_BYTES = 64 };

struct curves {
    struct atomic_file file;
    char mean_line[CURVES_LINE_BYTES]; /* line of the cell that is not yet written */
    double first_x, sum_x, sum_y;
    size_t n_cell;
};

/* Start NAME.tsv with its head. RC_IO. */
enum rc curves_open(struct curves *out, const struct lab_env *env, const char *name) MUST_CHECK;
/* Add the next point of a line. Values that are not numbers are skipped. */
void curves_add(struct curves *c, const char *line, double x, double y);
/* Add the next point of a band from low to high. Values that are not numbers are skipped. */
void curves_add_band(struct curves *c, const char *line, double x, double low, double high);
/* Note that the line has no point at x; the picture says so. */
void curves_add_never(struct curves *c, const char *line, double x);
/* Add the next point of a line with too many points for a picture. Points whose x, above 0, is less than a tenth above
 * that of the first of them become one point, their mean. Values that are not numbers are skipped. */
void curves_add_mean(struct curves *c, const char *line, double x, double y);
/* atomic_file_finish() of the table. */
enum rc curves_finish(struct curves *c, enum rc rc) MUST_CHECK;

#endif
