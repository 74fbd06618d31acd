/* SPDX-License-Identifier: Apache-2.0 */
/* curves.h - a table of curves for scripts/gnuplot/lesson.gp: NAME.tsv of a lab's folder. All points of a line come one
 * after the other. */
#ifndef HARNESS_LABS_CURVES_H
#define HARNESS_LABS_CURVES_H

#include <stddef.h>

#include "harness/base/file.h"
#include "harness/labs/lab.h"

enum { CURVES_LINE_BYTES = 64 };

struct curves {
    struct atomic_file file;
    char mean_line[CURVES_LINE_BYTES]; /* of the cell that is not yet written */
    double first_x, sum_x, sum_y;
    size_t n_cell;
};

/* NAME.tsv, with its head. RC_IO. */
enum rc curves_open(struct curves *out, const struct lab_env *env, const char *name) MUST_CHECK;
/* The next point of a line. What is no number is left out. */
void curves_add(struct curves *c, const char *line, double x, double y);
/* Of a band from low to high. What is no number is left out. */
void curves_add_band(struct curves *c, const char *line, double x, double low, double high);
/* The line has no point at x, and the picture says so. */
void curves_add_never(struct curves *c, const char *line, double x);
/* The next of so many points that a picture could not tell them apart: those whose x, above 0, is less than a tenth
 * more than that of the first of them become one, of their means. What is no number is left out. */
void curves_add_mean(struct curves *c, const char *line, double x, double y);
/* RC_IO: there is no file. */
enum rc curves_commit(struct curves *c) MUST_CHECK;
void curves_discard(struct curves *c); /* no-op when not open or committed */

#endif
