/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_charts.c - for each model images/s and efficiency against GPUs, a line for each way to exchange. The table
 * that is drawn stays beside the pictures.
 */
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/campaign/prediction_chart.h"
#include "harness/campaign/simulate.h"

void simulate_chart_name(char *out, size_t n_bytes, const struct simulate *s, size_t profile)
{
    char name[ROW_CLUSTER_BYTES];

    used_cluster_short_name(name, sizeof name, &s->cluster[0]);
    snprintf(out, n_bytes, "%s-%s", s->profiles.profile[profile].model, name);
}

/* NaN: there is no band. */
static void write_band(FILE *to, const struct simulate_point *p)
{
    const double images_per_ratio = p->images_per_s / p->efficiency.mean;

    fprintf(to, "\t%.17g\t%.17g\t%.17g\t%.17g\n", p->efficiency.low, p->efficiency.high,
            p->efficiency.low * images_per_ratio, p->efficiency.high * images_per_ratio);
}

static enum rc write_table(const struct simulate *s, size_t profile, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    char way[SIMULATE_WAY_BYTES];
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("line\tkind\tgpus\tefficiency\timages_per_s\tefficiency_low\tefficiency_high\timages_low_per_s\t"
          "images_high_per_s\n",
          file.stream);
    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (p->profile != profile || simulate_failure(s, p))
            continue;
        simulate_way_name(way, sizeof way, &s->way[p->way]);
        fprintf(file.stream, "%s\tpredicted\t%d\t%.17g\t%.17g", way, p->n_gpus, p->efficiency.mean, p->images_per_s);
        write_band(file.stream, p);
    }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc simulate_draw(const struct simulate *s, FILE *to)
{
    char name[SIMULATE_CHART_BYTES], path[USED_PROFILE_PATH_BYTES + SIMULATE_CHART_BYTES + 16];
    bool is_drawn = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->profiles.n; i++) {
        const struct prediction_chart chart = { .folder = s->folder,
                                                .name = name,
                                                .model = s->profiles.profile[i].model,
                                                .cluster = &s->cluster[0],
                                                .of_table = "published",
                                                .has_band = simulate_has_bands(s) };
        simulate_chart_name(name, sizeof name, s, i);
        snprintf(path, sizeof path, "%s/%s.tsv", s->folder, name);
        TRY(write_table(s, i, path));
        TRY(prediction_chart_draw(&chart, path, &is_drawn));
    }
    if (!is_drawn)
        fprintf(to, "gradmark simulate: gnuplot cannot be started: the tables are written, no pictures\n");
out:
    return rc;
}
