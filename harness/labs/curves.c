/* SPDX-License-Identifier: Apache-2.0 */
/* curves.c - see curves.h. */
#include "harness/labs/curves.h"

#include <math.h>

#include "harness/labs/lesson.h"

enum { POINTS_OF_A_CURVE = 60 };

enum rc curves_open(struct curves *out, const struct lab_env *env, const char *name)
{
    char file_name[64];
    enum rc rc;

    snprintf(file_name, sizeof file_name, "%s.tsv", name);
    TRY(lesson_file(&out->file, env, file_name));
    fputs("line\tx\ty\n", out->file.stream);
out:
    return rc;
}

void curves_add(struct curves *c, const char *line, double x, double y)
{
    if (isfinite(x) && isfinite(y))
        fprintf(c->file.stream, "%s\t%.9g\t%.9g\n", line, x, y);
}

enum rc curves_commit(struct curves *c)
{
    return atomic_file_commit(&c->file);
}

void curves_discard(struct curves *c)
{
    atomic_file_discard(&c->file);
}

size_t curves_next(size_t i, size_t n)
{
    const size_t step = i / POINTS_OF_A_CURVE + 1;

    if (i + 1 == n)
        return n;
    return i + step < n - 1 ? i + step : n - 1;
}
