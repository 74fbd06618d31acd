/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interactive.h - the section of a lesson's page whose sliders recompute the path of the linear model.
 *
 * The code is in page/: path.js (the arithmetic of the program), chart.js, sliders.js. A JSON file there lists the
 * sliders of a lesson. All of it is built into the program, and written into the page with the samples.
 *
 * Invariant
 *   -   A path on the page equals that of the command which the page shows beside it, step by step
 *       (harness/verbs/interactive_browser_test).
 */
#ifndef HARNESS_LABS_INTERACTIVE_H
#define HARNESS_LABS_INTERACTIVE_H

#include <stdint.h>
#include <stdio.h>

#include "harness/labs/lesson.h"

/* Sliders of a lesson as JSON: see sliders.js. */
extern const char interactive_batch_size[], interactive_staleness[], interactive_learning_rate[];

struct interactive {     /* borrowed */
    const char *sliders; /* one of the constants above */
    const char *text;    /* a paragraph: what to look for */
    uint64_t seed;       /* of the samples */
    /* Optional (may be NULL: none): writes the curves of the lab's own runs, from which the sliders choose, as the JSON
     * of curves.js. */
    void (*write_curves)(FILE *to, const void *arg);
    const void *arg;
};
/* For write_curves: prints "name":[...] with n numbers; null for a number that is not finite. */
void interactive_numbers(FILE *to, const char *name, const double *number, int n);

/* As lesson_open(), for a page that has such a section. */
enum rc interactive_open(struct lesson *out, const struct lab_env *env, const char *title) MUST_CHECK;
/* Write the section, on the page only. RC_NOMEM. */
enum rc interactive_show(struct lesson *l, const struct interactive *what) MUST_CHECK;

#endif
