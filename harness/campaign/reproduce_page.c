/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_page.c - a reproduction as one page: how wrong it is, the table, each chart with what is assumed beside it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/report/html.h"
#include "harness/report/table.h"

static void write_error(FILE *to, const struct reproduction *r, bool has_servers)
{
    const struct reproduce_error e = reproduction_error(r, has_servers);

    if (e.n_rows > 0)
        html_element(
            to, "p", NULL,
            "%s: mean absolute error %.1f points, a factor of %.2f in throughput, over %zu row%s%s; worst %.1f points "
            "(%s, %d GPUs, %s).",
            has_servers ? "Parameter server" : "Ring", e.mean_points, e.mean_factor, e.n_rows, e.n_rows == 1 ? "" : "s",
            r->terms->fit ? " not seen by the fit" : "", e.worst_points, e.worst->row->model, e.worst->n_gpus,
            point_transport(r, e.worst));
}

static bool is_of_chart(const struct reproduction *r, const struct point_of_row *p, const char *name)
{
    char own[REPRODUCE_CHART_BYTES];

    reproduce_chart_name(own, sizeof own, r, p);
    return strcmp(own, name) == 0;
}

/* Both pictures of the chart that p is in, then what is assumed of each of its lines' clusters. */
static enum rc write_chart(FILE *to, const struct reproduction *r, const struct point_of_row *p)
{
    char name[REPRODUCE_CHART_BYTES], cluster[USED_CLUSTER_TITLE_BYTES];
    enum rc rc;

    reproduce_chart_name(name, sizeof name, r, p);
    used_cluster_title(cluster, sizeof cluster, &r->cluster[p->cluster]);
    html_element(to, "h2", NULL, "%s on %s", r->profiles.profile[p->profile].model, cluster);
    TRY(prediction_chart_write(to, r->folder, name));
    html_element(to, "p", NULL, "One GPU: %s", r->profiles.profile[p->profile].source);
    for (size_t c = 0; c < r->n_clusters; c++) {
        bool is_used = false;
        for (size_t i = 0; i < r->n_points; i++)
            is_used |= r->point[i].cluster == c && is_of_chart(r, &r->point[i], name);
        if (is_used)
            used_cluster_write_assumed(&r->cluster[c], to);
    }
out:
    return rc;
}

static void write_line(void *to, const char *line)
{
    html_element(to, "p", NULL, "%s.", line);
}

enum rc reproduction_page(const struct reproduction *r, const char *path)
{
    struct html page = { .file.stream = NULL };
    struct table *t = NULL;
    char fit[REPRODUCE_FIT_BYTES], held[128];
    FILE *to;
    enum rc rc;

    reproduction_fit_text(fit, sizeof fit, r);
    t = reproduction_table(r);
    TRY(html_open(&page, path, r->name));
    to = page.file.stream;
    html_element(to, "p", NULL, "%s efficiencies, and those that gradmark simulates. %s%s",
                 r->terms->is_own_table ? "Given" : "Published", fit,
                 r->terms->is_own_table ? "" : " Published ones are step-synchronous.");
    reproduction_exchange_lines(r, write_line, to);
    write_error(to, r, false);
    write_error(to, r, true);
    reproduce_fit_lines(r, write_line, to);
    reproduction_held_text(held, sizeof held, r);
    if (held[0])
        write_line(to, held);
    reproduction_cannot_tell_lines(r, write_line, to);
    TRY(html_table(to, t, r->terms->is_own_table ? "predicted against given" : "predicted against published"));
    reproduction_band_lines(r, write_line, to);
    for (size_t i = 0; i < r->n_points; i++)
        if (reproduce_begins_chart(r, i))
            TRY(write_chart(to, r, &r->point[i]));
    TRY(html_commit(&page));
out:
    html_discard(&page);
    table_close(&t);
    return rc;
}
