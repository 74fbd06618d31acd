/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_charts.c - the charts of a page.
 *
 * Those that lie in a campaign's folder are shown as the campaign drew them; where one is missing, all that are missing
 * are drawn from the records, into a folder that is removed again (page.P3).
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/campaign/page.h"
#include "harness/report/html.h"

struct charts { /* of a page in the making */
    const struct recorded *of;
    FILE *to, *told;
    const char *path; /* of the page */
    size_t most_bytes, bytes_left;
    struct atomic_folder drawn; /* what was drawn for the page; never put in place */
    bool was_tried;             /* to draw */
    char *lacking;              /* what was said then: a line for each chart that was not drawn; owned */
};

/* What a chart shows, for its caption. */
static const char *caption_of(const char *shows)
{
    static const struct {
        const char *key, *caption;
    } known[] = {
        { "layouts", "layouts: samples per second of layouts, those of as many ranks together" },
        { "throughput", "throughput: samples per second of all workers against their number" },
        { "efficiency", "efficiency: throughput against that of as many single workers" },
        { "loss", "loss against time and against samples" },
        { "cost", "cost: where the time of a worker's step goes" },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].key, shows) == 0)
            return known[i].caption;
    return shows;
}

/* A chart of one launch that says something: its scaling is a single dot. */
static bool is_shown(const struct recorded *k, const struct chart_of *chart)
{
    return !k->is_run || strcmp(chart->shows, "loss") == 0 || strcmp(chart->shows, "cost") == 0;
}

/* Draw all charts beside the page. What was not drawn, and why: in lacking. */
static enum rc draw_all(struct charts *charts)
{
    struct campaign copy = charts->of->campaign;
    char place[700];
    size_t n_bytes = 0;
    FILE *lines = NULL;
    enum rc rc;

    charts->was_tried = true;
    snprintf(place, sizeof place, "%s.charts", charts->path);
    TRY(atomic_folder_open(&charts->drawn, place));
    if (snprintf(copy.dir, sizeof copy.dir, "%s", charts->drawn.temporary_path) >= (int)sizeof copy.dir)
        FAIL(RC_INVAL, "%s: too long a name to draw charts beside it", charts->path);
    lines = open_memstream(&charts->lacking, &n_bytes);
    if (!lines)
        FAIL(RC_NOMEM, "no memory for charts");
    if (campaign_draw(&copy, lines) == RC_UNSUPPORTED) /* any other failure is told of each chart */
        fprintf(lines, "gnuplot was not found, which draws the charts (Debian: gnuplot-nox)\n");
    rc_clear();
    if (fclose(lines) != 0)
        rc = rc_raise(RC_NOMEM, "no memory for charts");
out:
    return rc;
}

/* Is there such a picture? dir NULL: no. */
static bool find_picture(char *out, size_t n_bytes, const char *dir, const char *name, const char *ending)
{
    if (!dir)
        return false;
    snprintf(out, n_bytes, "%s/%s.%s", dir, name, ending);
    return access(out, R_OK) == 0;
}

/* Put one in: as SVG, or where that is too large as PNG. *is_in: it is, or there is a picture and it does not fit,
 * which was told. */
static enum rc put_in(struct charts *charts, const char *dir, const struct chart_of *chart, bool *is_in)
{
    static const char *const ending[] = { "svg", "png" };
    char path[sizeof charts->of->campaign.dir + LAUNCH_NAME_BYTES + 32], caption[LAUNCH_NAME_BYTES + 128];
    bool is_there = false;
    enum rc rc = RC_OK;

    snprintf(caption, sizeof caption, "%s, %s", chart->setting, caption_of(chart->shows));
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) {
        const size_t most = charts->most_bytes < charts->bytes_left ? charts->most_bytes : charts->bytes_left;
        size_t n_bytes = 0;
        if (!find_picture(path, sizeof path, dir, chart->name, ending[i]))
            continue;
        is_there = true;
        rc = html_picture(charts->to, path, caption, most, &n_bytes);
        if (rc == RC_UNSUPPORTED) /* too large */
            continue;
        charts->bytes_left -= n_bytes;
        *is_in = true;
        return rc;
    }
    rc_clear();
    *is_in = is_there;
    if (is_there) {
        html_element(charts->to, "p", "alert", "The chart %s is left out: it is too large for a page.", chart->name);
        fprintf(charts->told, "chart %s: left out: it is too large for a page\n", chart->name);
    }
    return RC_OK;
}

static enum rc put_one(struct charts *charts, const struct chart_of *chart)
{
    const struct recorded *k = charts->of;
    bool is_in = false;
    enum rc rc;

    if (!k->is_run)
        TRY(put_in(charts, k->campaign.dir, chart, &is_in));
    if (!is_in && !charts->was_tried)
        TRY(draw_all(charts));
    if (!is_in)
        TRY(put_in(charts, charts->drawn.temporary_path, chart, &is_in));
out:
    return rc;
}

/* Of charts that this page would not show nothing is said. */
static void tell_lacking(const struct charts *charts)
{
    struct chart_of chart;
    char begin[sizeof chart.name + 16];

    for (char *line = charts->lacking, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        bool is_wanted = strncmp(line, "chart ", 6) != 0;
        for (size_t i = 0; !is_wanted && campaign_chart(&charts->of->campaign, i, &chart); i++) {
            snprintf(begin, sizeof begin, "chart %s: ", chart.name);
            is_wanted = is_shown(charts->of, &chart) && strncmp(line, begin, strlen(begin)) == 0;
        }
        if (is_wanted) {
            html_element(charts->to, "p", "alert", "%.*s", (int)(end - line), line);
            fprintf(charts->told, "%.*s\n", (int)(end - line), line);
        }
        end += *end == '\n';
    }
}

/* Of a simulation: what of its cluster nobody measured or published, with the values it was simulated with. */
static void write_assumed(const struct recorded *k, FILE *to)
{
    const json_t *cluster = json_object_get(recorded_manifest(k), "cluster"), *key;
    const json_t *assumed = json_object_get(cluster, "assumed");
    char value[80];
    size_t i;

    if (json_array_size(assumed) == 0)
        return;
    fputs("<p class=\"assumed\">Simulated with values of the cluster that are assumed, without a measurement or a "
          "publication: ",
          to);
    json_array_foreach(assumed, i, key)
    {
        const char *name = json_string_value(key) ? json_string_value(key) : "";
        const json_t *known = json_object_get(cluster, name);
        fputs(i > 0 ? ", " : "", to);
        html_text(to, name);
        if (json_is_number(known))
            snprintf(value, sizeof value, " %.6g", json_number_value(known));
        else
            snprintf(value, sizeof value, "%s%s", json_is_string(known) ? " " : "",
                     json_is_string(known) ? json_string_value(known) : "");
        html_text(to, value);
    }
    fputs(".</p>\n", to);
}

enum rc page_charts(const struct recorded *k, FILE *to, const char *path, size_t most_bytes, size_t all_bytes,
                    FILE *told)
{
    struct charts charts = {
        .of = k, .to = to, .told = told, .path = path, .most_bytes = most_bytes, .bytes_left = all_bytes
    };
    struct chart_of chart;
    enum rc rc = RC_OK;

    html_element(to, "h2", NULL, "Charts");
    fputs("<div class=\"charts\">\n", to);
    for (size_t i = 0; campaign_chart(&k->campaign, i, &chart); i++)
        if (is_shown(k, &chart))
            TRY(put_one(&charts, &chart));
    fputs("</div>\n", to);
    write_assumed(k, to);
    tell_lacking(&charts);
out:
    atomic_folder_discard(&charts.drawn);
    free(charts.lacking);
    return rc;
}
