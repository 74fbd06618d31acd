/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reproduce_charts.c - for each model on each cluster images/s and efficiency against GPUs: a line for each mode and
 * transport, published points beside them. The table that is drawn stays beside the pictures.
 */
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/campaign/reproduce.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/chart.h"

enum { NAME_BYTES = REPRODUCE_CHART_BYTES, NOTE_BYTES = 256 };

static void line_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p)
{
    snprintf(out, n_bytes, "%s%s, %s", row_mode_has_servers(p->mode) ? "parameter server" : point_exchange(p),
             p->mode == ROW_PS_ASYNC ? " (asynchronous)" : "", point_transport(r, p));
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
    char line[NAME_BYTES];

    line_name(line, sizeof line, r, p);
    fprintf(to, "%s\t%s\t%d\t%.17g\t%.17g\n", line, kind, p->n_gpus, ratio,
            ratio * p->n_gpus * r->profiles.profile[p->profile].images_per_s);
}

/* The chart that p is in. */
static enum rc write_table(const struct reproduction *r, const struct point_of_row *p, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("line\tkind\tgpus\tefficiency\timages_per_s\n", file.stream);
    for (size_t i = 0; i < r->n_points; i++)
        if (!r->point[i].row && is_same_chart(r, &r->point[i], p))
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

static enum rc draw(const struct reproduction *r, const struct point_of_row *p, const char *name, const char *path,
                    bool *is_drawn)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&r->cluster[p->cluster].cluster, key);
    char picture[NAME_BYTES + 16], note[NOTE_BYTES];
    static const char *const quantity[] = { "efficiency", "images" };
    enum rc rc = RC_OK;

    snprintf(note, sizeof note,
             "simulated on %.100s, of whose values %zu are assumed: report.html names them with their sources",
             r->cluster[p->cluster].name, n_assumed);
    for (int i = 0; i < 2; i++) {
        const struct chart_var var[] = { { "model", r->profiles.profile[p->profile].model },
                                         { "scaling", note },
                                         { "quantity", quantity[i] } };
        snprintf(picture, sizeof picture, "%s-%s", quantity[i], name);
        rc = chart_draw("reproduce", path, r->folder, picture, var, sizeof var / sizeof *var);
        if (rc == RC_UNSUPPORTED)
            *is_drawn = false;
        TRY(rc == RC_UNSUPPORTED ? RC_OK : rc);
    }
out:
    return rc;
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
        TRY(draw(r, p, name, path, &is_drawn));
    }
    if (!is_drawn)
        fprintf(to, "gradmark reproduce: gnuplot cannot be started: the tables are written, no pictures\n");
out:
    return rc;
}
