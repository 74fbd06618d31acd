/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.h - draw a chart with gnuplot, as SVG and as PNG, from a tab-separated data file.
 *
 * The scripts are in scripts/gnuplot. Each reads the file named by `data` and the variables passed to it. The data file
 * stays beside the pictures, so that the chart can be drawn again.
 */
#ifndef HARNESS_REPORT_CHART_H
#define HARNESS_REPORT_CHART_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/rc.h"

enum { CHART_PATH_BYTES = 1024 };

struct chart_var {
    const char *name, *value; /* a string variable of the script */
};

/* Split the path of a picture into folder and name without extension. False: the extension is not .png or .svg, or the
 * path is too long. */
bool chart_split_path(const char *path, char dir[CHART_PATH_BYTES], char name[CHART_PATH_BYTES]);
/* True when gnuplot can be started. */
bool chart_available(void);
/* Run scripts/gnuplot/<script>.gp: reads data_path, writes dir/name.svg and dir/name.png.
 * RC_UNSUPPORTED: no gnuplot; RC_IO: gnuplot failed (its first line of complaint is in the message). */
enum rc chart_draw(const char *script, const char *data_path, const char *dir, const char *name,
                   const struct chart_var *var, int n_vars) MUST_CHECK;

/* The same for a script that draws one picture after another: writes one animation, dir/name.gif. */
enum rc chart_animate(const char *script, const char *data_path, const char *dir, const char *name,
                      const struct chart_var *var, int n_vars) MUST_CHECK;

/* The same as text for a terminal: writes to `to` what gnuplot draws without a display. Errors: as chart_draw(). */
enum rc chart_print(const char *script, const char *data_path, const struct chart_var *var, int n_vars,
                    FILE *to) MUST_CHECK;

#endif
