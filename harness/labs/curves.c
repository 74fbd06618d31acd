/* SPDX-License-Identifier: Apache-2.0 */
/* curves.c - a table of curves for scripts/gnuplot/lesson.gp: NAME.tsv in a lab's folder; see curves.h. */
#include "harness/labs/curves.h"

#include <math.h>
#include <string.h>

#include "harness/labs/lesson.h"

#define CELL_RATIO 1.1

enum rc curves_open(struct curves *out, const struct lab_env *env, const char *name)
{
    char file_name[64];
    enum rc rc;

    *out = (struct curves){ .n_cell = 0 };
    snprintf(file_name, sizeof file_name, "%s.tsv", name);
    TRY(lesson_file(&out->file, env, file_name));
    fputs("line\tx\ty\thigh\n", out->file.stream);
out:
    return rc;
}

static void write_cell(struct curves *c)
{
    const double n = (double)c->n_cell;

    if (c->n_cell > 0)
        fprintf(c->file.stream, "%s\t%.9g\t%.9g\tnan\n", c->mean_line, c->sum_x / n, c->sum_y / n);
    c->n_cell = 0;
    c->sum_x = c->sum_y = 0;
}

void curves_add(struct curves *c, const char *line, double x, double y)
{
    write_cell(c);
    if (isfinite(x) && isfinite(y))
        fprintf(c->file.stream, "%s\t%.9g\t%.9g\tnan\n", line, x, y);
}

void curves_add_band(struct curves *c, const char *line, double x, double low, double high)
{
    write_cell(c);
    if (isfinite(x) && isfinite(low) && isfinite(high))
        fprintf(c->file.stream, "%s\t%.9g\t%.9g\t%.9g\n", line, x, low, high);
}

void curves_add_never(struct curves *c, const char *line, double x)
{
    write_cell(c);
    fprintf(c->file.stream, "%s\t%.9g\tnever\tnan\n", line, x);
}

void curves_add_mean(struct curves *c, const char *line, double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    if (c->n_cell > 0 && (strcmp(c->mean_line, line) != 0 || x >= CELL_RATIO * c->first_x))
        write_cell(c);
    if (c->n_cell == 0) {
        snprintf(c->mean_line, sizeof c->mean_line, "%s", line);
        c->first_x = x;
    }
    c->sum_x += x;
    c->sum_y += y;
    c->n_cell++;
}

enum rc curves_finish(struct curves *c, enum rc rc)
{
    if (rc == RC_OK)
        write_cell(c);
    return atomic_file_finish(&c->file, rc);
}
