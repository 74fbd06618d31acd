/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce_charts.c - for each model on each cluster images/s and efficiency against GPUs: a line for each mode and
 * transport, published points beside them. The table that is drawn stays beside the pictures.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/reproduce.h"

enum { NAME_BYTES = REPRODUCE_CHART_BYTES };

static void line_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p)
{
    snprintf(out, n_bytes, "%s%s, %s%s%s", row_mode_has_servers(p->mode) ? "parameter server" : point_exchange(p),
             p->mode == ROW_PS_ASYNC ? " (asynchronous)" : "", point_transport(r, p), p->gradients[0] ? ", " : "",
             p->gradients);
}

/* Are they in one chart? */
static bool is_same_chart(const struct reproduction *r, const struct point_of_row *a, const struct point_of_row *b)
{
    return strcmp(r->cluster[a->cluster].name, r->cluster[b->cluster].name) == 0 &&
           strcmp(r->profiles.profile[a->profile].model, r->profiles.profile[b->profile].model) == 0;
}

static void write_point(FILE *to, const struct reproduction *r, const struct point_of_row *p, bool is_published)
{
    const double ratio = is_published ? p->row->efficiency_ratio : p->predicted_ratio;
    const char *kind = !is_published ? "predicted" : p->row->is_counted ? "published" : "not counted";
    const struct prediction_band none = { .mean = ratio, .low = NAN, .high = NAN };
    const struct prediction_band band = is_published ? none : p->band;
    char line[NAME_BYTES];

    line_name(line, sizeof line, r, p);
    const double images_per_ratio = p->n_gpus * p->one_gpu_images_per_s;
    fprintf(to, "%s\t%s\t%d\t%.17g\t%.17g", line, kind, p->n_gpus, ratio, ratio * images_per_ratio);
    if (reproduction_has_chart_bands(r)) /* NaN: of a published point */
        fprintf(to, "\t%.17g\t%.17g\t%.17g\t%.17g", band.low, band.high, band.low * images_per_ratio,
                band.high * images_per_ratio);
    fputc('\n', to);
}

/* The chart that p is in. */
static enum rc write_table(const struct reproduction *r, const struct point_of_row *p, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fprintf(file.stream, "line\tkind\tgpus\tefficiency\timages_per_s%s\n",
            reproduction_has_chart_bands(r) ? "\tefficiency_low\tefficiency_high\timages_low_per_s\timages_high_per_s"
                                            : "");
    for (size_t i = 0; i < r->n_points; i++)
        if (!r->point[i].row && !isnan(r->point[i].predicted_ratio) && is_same_chart(r, &r->point[i], p))
            write_point(file.stream, r, &r->point[i], false);
    for (size_t i = 0; i < r->n_points; i++)
        if (r->point[i].row && is_same_chart(r, &r->point[i], p))
            write_point(file.stream, r, &r->point[i], true);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

void reproduce_chart_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p)
{
    char name[ROW_CLUSTER_BYTES];

    used_cluster_short_name(name, sizeof name, &r->cluster[p->cluster]);
    snprintf(out, n_bytes, "%s-%s", r->profiles.profile[p->profile].model, name);
}

bool reproduce_begins_chart(const struct reproduction *r, size_t i)
{
    bool is_first = !r->point[i].row;

    for (size_t k = 0; k < i && is_first; k++)
        is_first = r->point[k].row || !is_same_chart(r, &r->point[k], &r->point[i]);
    return is_first;
}

enum rc reproduction_draw(const struct reproduction *r, FILE *to)
{
    char name[NAME_BYTES], path[REPRODUCE_PATH_BYTES + NAME_BYTES + 16];
    bool is_drawn = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        if (!reproduce_begins_chart(r, i))
            continue;
        reproduce_chart_name(name, sizeof name, r, p);
        snprintf(path, sizeof path, "%s/%s.tsv", r->folder, name);
        TRY(write_table(r, p, path));
        const struct prediction_chart chart = { .folder = r->folder,
                                                .name = name,
                                                .model = r->profiles.profile[p->profile].model,
                                                .of_table = reproduction_of_table(r),
                                                .has_band = reproduction_has_chart_bands(r),
                                                .cluster = &r->cluster[p->cluster] };
        TRY(prediction_chart_draw(&chart, path, &is_drawn));
    }
    if (!is_drawn)
        fprintf(to, "gradmark reproduce: gnuplot cannot be started: the tables are written, no pictures\n");
out:
    return rc;
}
