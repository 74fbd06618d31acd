/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interactive.c - the section of a lesson's page whose sliders recompute the path of the linear model; see
 * interactive.h.
 */
#include "harness/labs/interactive.h"

#include <math.h>

#include "data/dataset.h"
#include "harness/labs/squares.h"

extern const char interactive_script[]; /* page/: built by embed_text.cmake */

enum rc interactive_open(struct lesson *out, const struct lab_env *env, const char *title)
{
    return lesson_open_with(out, env, title, interactive_script);
}

/* "name":[...]: with digits enough for the same float. */
static void write_floats(FILE *to, const char *name, const float *x, size_t n)
{
    fprintf(to, "\"%s\":[", name);
    for (size_t i = 0; i < n; i++)
        fprintf(to, "%s%.9g", i > 0 ? "," : "", (double)x[i]);
    fputs("],\n", to);
}

static enum rc write_samples(FILE *to, uint64_t seed)
{
    struct dataset *d = NULL;
    struct squares s;
    enum rc rc;

    TRY(dataset_open_line(&d, seed));
    TRY(squares_of_line(&s, seed));
    const struct line_point least = squares_least(&s);
    write_floats(to, "x", d->feature, d->n_train);
    write_floats(to, "y", d->target, d->n_train);
    fprintf(to, "\"seed\":%llu,\n\"least\":[%.17g,%.17g],\n", (unsigned long long)seed, least.slope, least.offset);
    fprintf(to, "\"means\":{\"x\":%.17g,\"y\":%.17g,\"xx\":%.17g,\"xy\":%.17g,\"yy\":%.17g}", s.x, s.y, s.xx, s.xy,
            s.yy);
out:
    dataset_close(&d);
    return rc;
}

void interactive_numbers(FILE *to, const char *name, const double *number, int n)
{
    fprintf(to, "\"%s\":[", name);
    for (int k = 0; k < n; k++) {
        fputs(k > 0 ? "," : "", to);
        if (isfinite(number[k]))
            fprintf(to, "%.6g", number[k]);
        else
            fputs("null", to);
    }
    fputs("]", to);
}

enum rc interactive_show(struct lesson *l, const struct interactive *what)
{
    FILE *to = l->page.file.stream;
    enum rc rc;

    fputs("<section id=\"interactive\">\n", to);
    lesson_heading(l, "Move the sliders");
    lesson_text(l, what->text);
    fputs("<noscript>", to);
    html_element(to, "p", "alert",
                 "This browser runs no script: the sliders, and the path that they work out, are missing here. "
                 "All other pictures and figures of this page are there.");
    fputs("</noscript>\n</section>\n<script type=\"application/json\" id=\"interactive-data\">{\n", to);
    TRY(write_samples(to, what->seed));
    if (what->write_curves) {
        fputs(",\n\"curves\":", to);
        what->write_curves(to, what->arg);
    }
    fprintf(to, ",\n\"lesson\":%s}</script>\n", what->sliders);
out:
    return rc;
}
