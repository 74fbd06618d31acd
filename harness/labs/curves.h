/* SPDX-License-Identifier: Apache-2.0 */
/* curves.h - a table of curves for scripts/gnuplot/lesson.gp: NAME.tsv of a lab's folder. */
#ifndef HARNESS_LABS_CURVES_H
#define HARNESS_LABS_CURVES_H

#include "harness/base/file.h"
#include "harness/labs/lab.h"

struct curves {
    struct atomic_file file;
};

/* NAME.tsv, with its head. RC_IO. */
enum rc curves_open(struct curves *out, const struct lab_env *env, const char *name) MUST_CHECK;
/* The next point of a line, all of whose points come one after the other. What is no number is left out. */
void curves_add(struct curves *c, const char *line, double x, double y);
/* RC_IO: there is no file. */
enum rc curves_commit(struct curves *c) MUST_CHECK;
void curves_discard(struct curves *c); /* no-op when not open or committed */

/* The point behind i of n that a curve over a logarithmic axis has: ever farther, and the last one; n: there is none.
 */
size_t curves_next(size_t i, size_t n);

#endif
