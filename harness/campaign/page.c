/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - a campaign or a run as a page, and as text; see page.h. */
#include "harness/campaign/page.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/html.h"
#include "harness/report/markdown.h"

/*
 * the charts of a page.
 *
 * Those that lie in a campaign's folder are shown as the campaign drew them; where one is missing, all that are missing
 * are drawn from the records, into a folder that is removed again (page.P3).
 */

/* Of the page, with n_reserved kept free for what follows. */
static size_t bytes_left(FILE *to, long n_reserved)
{
    const long n_left = PAGE_MOST_BYTES - n_reserved - ftell(to);

    return n_left > 0 ? (size_t)n_left : 0;
}

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

/* Of a campaign, charts that show its answer stand open: the others are folded away. */
static bool is_open(const struct recorded *k, const struct chart_of *chart)
{
    return k->is_run || (strcmp(chart->shows, "efficiency") != 0 && strcmp(chart->shows, "cost") != 0);
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

/* Those that stand open, or those that are folded away. */
static enum rc put_all(struct charts *charts, bool are_open)
{
    struct chart_of chart;
    enum rc rc = RC_OK;

    fputs("<div class=\"charts\">\n", charts->to);
    for (size_t i = 0; campaign_chart(&charts->of->campaign, i, &chart); i++)
        if (is_shown(charts->of, &chart) && is_open(charts->of, &chart) == are_open)
            TRY(put_one(charts, &chart));
out:
    fputs("</div>\n", charts->to);
    return rc;
}

/* The charts. Each takes at most most_bytes, all together at most all_bytes. Each missing chart gets a
 * line in the page and one to `told`. path: of the page. */
static enum rc page_charts(const struct recorded *k, FILE *to, const char *path, size_t most_bytes, size_t all_bytes,
                           FILE *told)
{
    struct charts charts = {
        .of = k, .to = to, .told = told, .path = path, .most_bytes = most_bytes, .bytes_left = all_bytes
    };
    enum rc rc;

    html_element(to, "h2", NULL, "Charts");
    TRY(put_all(&charts, true));
    if (!k->is_run) {
        fputs("<details>\n<summary>More charts: efficiency, and where the time of a step goes</summary>\n", to);
        TRY(put_all(&charts, false));
        fputs("</details>\n", to);
    }
    write_assumed(k, to);
    tell_lacking(&charts);
out:
    atomic_folder_discard(&charts.drawn);
    free(charts.lacking);
    return rc;
}

/*
 * what a page says below its figures: disturbances, launches, options, machine.
 */

enum {
    MOST_ROWS = 1000,       /* of a table of records */
    TEXT_BYTES = 1024,      /* of a value */
    FACTS_BYTES = 300000,   /* kept free for what follows launches and ranks */
    END_BYTES = 20000,      /* for what follows the last table */
    LAUNCH_ROW_BYTES = 700, /* at most */
};

/* --- what has room --- */

struct memory { /* owned */
    char *text;
    size_t n_bytes;
};

/* A table as it is in a page. */
static enum rc table_in_memory(struct memory *out, const struct table *t, const char *title)
{
    FILE *to = open_memstream(&out->text, &out->n_bytes);
    enum rc rc;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the table %s", title);
    rc = html_table(to, t, title);
    if (fclose(to) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for the table %s", title);
    return rc;
}

/* page.P2: a table for which there is no room is left out. */
static enum rc put_table(const struct table *t, const char *title, FILE *to)
{
    struct memory table = { NULL, 0 };
    enum rc rc;

    TRY(table_in_memory(&table, t, title));
    if (table.n_bytes <= bytes_left(to, END_BYTES))
        fwrite(table.text, 1, table.n_bytes, to);
    else
        html_element(to, "p", "alert", "A table of %zu rows is left out: it is too large for a page.", table_n_rows(t));
out:
    free(table.text);
    return rc;
}

/* --- disturbances --- */

typedef void tell_marks_fn(const struct campaign *c, FILE *to);

/* What tell() writes; the caller frees it. */
static enum rc text_of(char **out, const struct campaign *c, tell_marks_fn *tell)
{
    size_t n_bytes = 0;
    FILE *lines = open_memstream(out, &n_bytes);

    if (lines)
        tell(c, lines);
    return lines && fclose(lines) == 0 ? RC_OK : rc_raise(RC_NOMEM, "no memory for lines on launches");
}

/* Was a sentence broken at the end of this line, for a terminal? It is as long as such lines are, with no end of a
 * sentence, and the next one begins as the middle of one does. */
static bool goes_on(const char *line, const char *end)
{
    enum { FULL_LINE = 85 };

    return end - line >= FULL_LINE && !strchr(").", end[-1]) && islower((unsigned char)end[1]);
}

/* page.c: a paragraph for each note; every line of text, which it changes, has an end. */
static void page_paragraphs(char *text, FILE *to)
{
    for (char *line = text; *line;) {
        char *begin = line, *end = strchr(line, '\n');
        while (goes_on(begin, end)) {
            *end = ' ';
            begin = end + 1;
            end = strchr(begin, '\n');
        }
        *end = '\0';
        fputs("<p class=\"note\">", to);
        html_text(to, line);
        fputs("</p>\n", to);
        line = end + 1;
    }
}

static enum rc page_disturbed(const struct recorded *k, FILE *to)
{
    char *marked = NULL, *explained = NULL, *unknown = NULL;
    enum rc rc;

    TRY(text_of(&marked, &k->campaign, campaign_tell_marked));
    TRY(text_of(&explained, &k->campaign, campaign_explain_marks));
    TRY(text_of(&unknown, &k->campaign, campaign_tell_unknown_load));
    fputs("<h2 id=\"disturbed\">What was disturbed</h2>\n", to);
    if (marked[0])
        html_lines(to, NULL, marked);
    else if (k->campaign.is_virtual)
        html_element(to, "p", NULL, "Nothing: launches are simulated.");
    else if (!k->tells_disturbance)
        html_element(to, "p", NULL,
                     "The records do not say whether a launch was disturbed: they are of an older version.");
    else if (!unknown[0])
        html_element(to, "p", NULL,
                     "No launch was disturbed, and each reached a steady state or was too short to tell.");
    page_paragraphs(unknown, to);
    page_paragraphs(explained, to);
out:
    free(unknown);
    free(explained);
    free(marked);
    return rc;
}

/* --- launches --- */

static void cell(struct table *t, const char *fmt, double value)
{
    char text[64];

    snprintf(text, sizeof text, fmt, value);
    table_cell(t, "%s", isnan(value) ? "-" : text);
}

/* What its machine and its speed did. */
static void add_conditions(struct table *t, const struct point *p, size_t i)
{
    const struct launch *l = &p->launch[i];

    table_cell(t, "%s", l->switched ? "speed switched" : l->never_settled ? "never settled" : "-");
    table_cell(t, "%s", launch_has_mark(p, i, MARK_DISTURBED) ? "yes" : "-");
    cell(t, "%.2f", l->others_cores_count);
    cell(t, "%.2g %%", 100 * l->steal_ratio);
    cell(t, "%.0f %%", 100 * l->taken_cores_ratio);
    cell(t, "%.3g", 1e-9 * l->frequency_hz);
}

static void add_launch(struct table *t, const struct campaign *c, const struct point *p, size_t i)
{
    const struct launch *l = &p->launch[i];
    char rate[32];

    rate_text(rate, sizeof rate, l->throughput_samples_per_s);
    point_print_assigned(t, c, p);
    table_cell(t, "%zu", i);
    table_cell(t, "%s", rate);
    cell(t, "%.4g", 1e6 * l->step_mean_s);
    cell(t, "%.1f %%", 100 * l->bound_ratio);
    cell(t, "%.4f", l->loss_last);
    cell(t, "%.3g", l->seconds_to_target_s);
    table_cell(t, "%s", l->did_not_learn ? "no" : "-");
    add_conditions(t, p, i);
}

static bool is_marked(const struct point *p, size_t i)
{
    return launch_has_mark(p, i, MARK_DISTURBED) || launch_has_mark(p, i, MARK_UNSTEADY) || p->launch[i].did_not_learn;
}

/* All launches where there is room for all, else those that something is said of, as far as there is room. */
static enum rc page_launches(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    static const struct column own[] = {
        { "launch", ALIGN_RIGHT },        { "samples/s", ALIGN_RIGHT },   { "step us", ALIGN_RIGHT },
        { "of bound", ALIGN_RIGHT },      { "loss at end", ALIGN_RIGHT }, { "time to target, s", ALIGN_RIGHT },
        { "learned", ALIGN_LEFT },        { "unsteady", ALIGN_LEFT },     { "disturbed", ALIGN_LEFT },
        { "others' cores", ALIGN_RIGHT }, { "steal", ALIGN_RIGHT },       { "taken of cores", ALIGN_RIGHT },
        { "GHz", ALIGN_RIGHT },
    };
    struct column column[MOST_POINT_COLUMNS + sizeof own / sizeof *own];
    const size_t n_assigned = point_columns(column, c);
    const size_t most_rows = bytes_left(to, FACTS_BYTES) / LAUNCH_ROW_BYTES;
    const bool shows_all = c->n_launches_done <= most_rows;
    struct table *t = NULL;
    size_t n_shown = 0;
    enum rc rc;

    memcpy(column + n_assigned, own, sizeof own);
    t = table_open(column, n_assigned + sizeof own / sizeof *own);
    for (size_t i = 0; i < c->n_points; i++)
        for (size_t l = 0; l < c->point[i].n_launches; l++)
            if (n_shown < most_rows && (shows_all || is_marked(&c->point[i], l))) {
                add_launch(t, c, &c->point[i], l);
                n_shown++;
            }
    html_element(to, "h2", NULL, c->n_launches_done == 1 ? "The launch" : "Launches");
    if (!shows_all)
        html_element(
            to, "p", NULL,
            "%zu of %zu launches: of those that were disturbed, unsteady or did not learn as many as have room "
            "in a page.",
            n_shown, c->n_launches_done);
    TRY(html_table(to, t, "Launches"));
out:
    table_close(&t);
    return rc;
}

/* --- records --- */

/* Also of an array: "0, 3". */
static void value_text(char *out, size_t n_bytes, const json_t *value)
{
    size_t n_used = 0;

    if (!json_is_array(value)) {
        recorded_text(out, n_bytes, value);
        return;
    }
    snprintf(out, n_bytes, "%s", json_array_size(value) > 0 ? "" : "-");
    for (size_t i = 0; i < json_array_size(value) && n_used + 1 < n_bytes; i++) {
        n_used += (size_t)snprintf(out + n_used, n_bytes - n_used, "%s", i > 0 ? ", " : "");
        if (n_used + 1 < n_bytes)
            recorded_text(out + n_used, n_bytes - n_used, json_array_get(value, i));
        n_used = strlen(out);
    }
}

/* Keys of every record that tell a reader nothing. */
static bool is_internal(const char *key)
{
    return strcmp(key, "kind") == 0 || strcmp(key, "launch_index") == 0 || strcmp(key, "block_position") == 0;
}

static struct table *records_table(const json_t *first)
{
    struct column *column = calloc(json_object_size(first) + 1, sizeof *column);
    size_t n_columns = 0;

    if (!column)
        return NULL;
    for (void *at = json_object_iter((json_t *)(uintptr_t)first); at;
         at = json_object_iter_next((json_t *)(uintptr_t)first, at))
        if (!is_internal(json_object_iter_key(at)))
            column[n_columns++] =
                (struct column){ json_object_iter_key(at),
                                 json_is_string(json_object_iter_value(at)) ? ALIGN_LEFT : ALIGN_RIGHT };
    struct table *t = table_open(column, n_columns);
    free(column);
    return t;
}

/* The table of the first n_shown records as it is in a page; the caller frees it. */
static enum rc records_text(struct memory *out, const json_t *records, size_t n_shown, const char *title)
{
    struct table *t = records_table(json_array_get(records, 0));
    char text[TEXT_BYTES];
    enum rc rc;

    for (size_t i = 0; i < n_shown; i++)
        for (size_t k = 0; k < table_n_columns(t); k++) {
            value_text(text, sizeof text, json_object_get(json_array_get(records, i), table_column(t, k)->title));
            table_cell(t, "%s", text);
        }
    TRY(table_in_memory(out, t, title));
out:
    table_close(&t);
    return rc;
}

/* A table of records of one kind: a row for each, while there is room, and a column for each key of the first. Nothing
 * if there are no records. */
static enum rc page_records(const json_t *records, const char *title, FILE *to)
{
    const size_t n = json_array_size(records), most_bytes = bytes_left(to, FACTS_BYTES);
    size_t n_shown = n < MOST_ROWS ? n : MOST_ROWS;
    struct memory table = { NULL, 0 };
    enum rc rc;

    if (n == 0)
        return RC_OK;
    TRY(records_text(&table, records, n_shown, title));
    while (n_shown > 0 && table.n_bytes > most_bytes) { /* its head takes some, so that fewer may have room */
        n_shown = (size_t)((double)n_shown * (double)most_bytes / (double)table.n_bytes);
        free(table.text);
        table.text = NULL;
        TRY(records_text(&table, records, n_shown, title));
    }
    html_element(to, "h2", NULL, "%s", title);
    if (n_shown < n)
        html_element(to, "p", NULL, "The first %zu of %zu: a page has no room for all, the records hold them.", n_shown,
                     n);
    if (n_shown > 0)
        fwrite(table.text, 1, table.n_bytes, to);
out:
    free(table.text);
    return rc;
}

/* --- objects --- */

static void add_member(struct table *t, const char *key, const json_t *value)
{
    char text[TEXT_BYTES];

    value_text(text, sizeof text, value);
    table_cell(t, "%s", key);
    table_cell(t, "%s", text);
}

/* The scalars of an object as one table. */
static enum rc write_members(json_t *object, const char *title, FILE *to)
{
    static const struct column column[] = { { "name", ALIGN_LEFT }, { "value", ALIGN_LEFT } };
    struct table *t = table_open(column, 2);
    enum rc rc;

    for (void *at = json_object_iter(object); at; at = json_object_iter_next(object, at))
        if (!json_is_object(json_object_iter_value(at)) && !is_internal(json_object_iter_key(at)))
            add_member(t, json_object_iter_key(at), json_object_iter_value(at));
    TRY(table_check(t));
    if (table_n_rows(t) > 0) {
        html_element(to, "h2", NULL, "%s", title);
        TRY(put_table(t, title, to));
    }
out:
    table_close(&t);
    return rc;
}

/* A row for each member of an object that is not an object; then a table for each that is one. */
static enum rc page_object(const json_t *object, const char *title, FILE *to)
{
    json_t *it = (json_t *)(uintptr_t)object; /* jansson's iterators take no const */
    enum rc rc;

    TRY(write_members(it, title, to));
    for (void *at = json_object_iter(it); at; at = json_object_iter_next(it, at)) {
        char name[TEXT_BYTES];
        if (!json_is_object(json_object_iter_value(at)) || strcmp(json_object_iter_key(at), "options") == 0)
            continue; /* options have a table of their own */
        snprintf(name, sizeof name, "%s: %s", title, json_object_iter_key(at));
        TRY(write_members(json_object_iter_value(at), name, to));
    }
out:
    return rc;
}

/* --- options --- */

/* The values that the first launches of all points had, each once: "0.1, 0.01". */
static void launched_text(char *out, size_t n_bytes, const struct recorded *k, const char *option)
{
    char value[TEXT_BYTES];

    out[0] = '\0';
    for (size_t i = 0; i < k->campaign.n_points; i++) {
        const json_t *mine = recorded_option(k->point[i].manifest, option);
        const size_t n_used = strlen(out);
        bool is_new = mine != NULL;
        for (size_t e = 0; e < i && is_new; e++)
            is_new = !json_equal((json_t *)(uintptr_t)mine,
                                 (json_t *)(uintptr_t)recorded_option(k->point[e].manifest, option));
        if (!is_new)
            continue;
        value_text(value, sizeof value, mine);
        snprintf(out + n_used, n_bytes - n_used, "%s%s", n_used > 0 ? ", " : "", value);
    }
    if (out[0] == '\0')
        snprintf(out, n_bytes, "-");
}

static void add_option(struct table *t, const struct recorded *k, const char *option)
{
    char text[TEXT_BYTES];

    table_cell(t, "--%s", option);
    value_text(text, sizeof text, recorded_option(k->manifest, option));
    table_cell(t, "%s", text);
    if (k->is_run)
        return;
    launched_text(text, sizeof text, k, option);
    table_cell(t, "%s", text);
}

/* Was it among the options of the campaign, or of a point before i? */
static bool is_known(const struct recorded *k, size_t i, const char *option)
{
    bool known = recorded_option(k->manifest, option) != NULL;

    for (size_t e = 0; e < i && !known; e++)
        known = recorded_option(k->point[e].manifest, option) != NULL;
    return known;
}

static enum rc page_options(const struct recorded *k, FILE *to)
{
    static const struct column column[] = { { "option", ALIGN_LEFT },
                                            { "value", ALIGN_LEFT },
                                            { "launches", ALIGN_LEFT } };
    json_t *options = json_object_get(k->manifest, "options");
    struct table *t = table_open(column, k->is_run ? 2 : 3);
    enum rc rc;

    for (void *at = json_object_iter(options); at; at = json_object_iter_next(options, at))
        if (!is_internal(json_object_iter_key(at)))
            add_option(t, k, json_object_iter_key(at));
    for (size_t i = 0; i < k->campaign.n_points; i++) { /* those that launches alone have */
        json_t *mine = json_object_get(k->point[i].manifest, "options");
        for (void *at = json_object_iter(mine); at; at = json_object_iter_next(mine, at))
            if (!is_internal(json_object_iter_key(at)) && !is_known(k, i, json_object_iter_key(at)))
                add_option(t, k, json_object_iter_key(at));
    }
    html_element(to, "h2", NULL, "Options");
    if (!k->is_run)
        html_element(
            to, "p", NULL,
            "Value: of the campaign, - where each model or point has its own. Launches: what those of the first "
            "block were given; the seed of each next block is greater by 1.");
    TRY(put_table(t, "Options", to));
out:
    table_close(&t);
    return rc;
}

/* --- machine --- */

static enum rc page_machine(const struct recorded *k, FILE *to)
{
    const json_t *about = recorded_manifest(k);
    enum rc rc;

    TRY(page_object(about, "Machine and program", to));
    fprintf(to, "<p>Hosts (%zu): ", json_array_size(k->hosts));
    for (size_t i = 0; i < json_array_size(k->hosts); i++) {
        fputs(i > 0 ? ", " : "", to);
        html_text(to, json_string_value(json_array_get(k->hosts, i)));
    }
    fputs("</p>\n", to);
out:
    return rc;
}

/*
 * what a page says first, and the order of its parts.
 */

enum { CHART_MOST_BYTES = 400000, CHARTS_MOST_BYTES = 1200000 };

void page_path(char *out, size_t n_bytes, const struct recorded *k, const char *source)
{
    size_t n = strlen(source);

    while (!k->is_run && n > 1 && source[n - 1] == '/')
        n--;
    snprintf(out, n_bytes, k->is_run ? "%.*s.html" : "%.*s/report.html", (int)n, source);
}

static const char *text_at(char *out, size_t n_bytes, const json_t *record, const char *key)
{
    recorded_text(out, n_bytes, json_object_get(record, key));
    return out;
}

/* What it is, and where and when it ran. */
static void write_about(const struct recorded *k, FILE *to)
{
    const json_t *m = recorded_manifest(k);
    char version[64], commit[64], date[64], host[256], cpu[256];

    text_at(version, sizeof version, m, "version");
    text_at(commit, sizeof commit, m, "git_commit");
    fprintf(to, "<p class=\"about\">%s of gradmark ", k->is_run ? "A run" : "A comparison");
    html_text(to, version);
    fputs(", commit ", to);
    commit[12] = '\0';
    html_text(to, commit);
    fputs(json_is_true(json_object_get(m, "git_dirty")) ? " with changes" : "", to);
    if (k->campaign.is_virtual) {
        fputs(", in simulated time on cluster ", to);
        html_text(to, k->campaign.cluster_name);
        fputs(".</p>\n", to);
        return;
    }
    fputs(", on host ", to);
    html_text(to, text_at(host, sizeof host, m, "host"));
    if (json_array_size(k->hosts) > 1)
        fprintf(to, " and %zu more", json_array_size(k->hosts) - 1);
    fputs(" (", to);
    html_text(to, text_at(cpu, sizeof cpu, m, "cpu_model"));
    fputs(", ", to);
    html_text(to, k->campaign.machine);
    fputs("), ", to);
    html_text(to, text_at(date, sizeof date, m, "date_utc"));
    fputs(".</p>\n", to);
}

/* --- the verdict --- */

/* "1.235 M samples/s (95 % within the run: 1.2 M to 1.3 M)", as of one launch. */
static void tell_throughput(const struct point *p, FILE *to)
{
    const struct interval i = point_throughput(p);
    char name[LAUNCH_NAME_BYTES], mean[32], low[32], high[32];

    point_name(name, sizeof name, p);
    rate_text(mean, sizeof mean, i.mean);
    rate_text(low, sizeof low, i.low);
    rate_text(high, sizeof high, i.high);
    if (!isfinite(i.mean))
        fprintf(to, "%s: no throughput: the workers never trained all at once.\n", name);
    else if (isnan(i.low))
        fprintf(to, "%s: %s samples/s.\n", name, mean);
    else if (!isfinite(i.high))
        fprintf(to, "%s: %s samples/s (95 %% within the run: %s or more).\n", name, mean, low);
    else
        fprintf(to, "%s: %s samples/s (95 %% within the run: %s to %s).\n", name, mean, low, high);
}

static void tell_bound(const struct point *p, FILE *to)
{
    const double ratio = p->launch[0].bound_ratio;

    if (point_n_failed_bounds(p) > 0)
        fprintf(to, "Its bound failed: it did more than its parts could do when measured.\n");
    else if (!isnan(ratio))
        fprintf(to, "That is %.1f %% of what the slowest of compute, wire and server allows.\n", 100 * ratio);
}

static void tell_training(const struct recorded *k, FILE *to)
{
    const struct point *p = &k->campaign.point[0];
    const struct launch *l = &p->launch[0];

    if (!isnan(l->loss_last))
        fprintf(to, "Loss at the end: %.4f%s.\n", l->loss_last, l->did_not_learn ? ": it did not learn" : "");
    if (l->did_not_learn && p->not_learned[0])
        fprintf(to, "%s.\n", p->not_learned);
    if (!isnan(l->accuracy_ratio))
        fprintf(to, "Accuracy: %.2f %% of test samples.\n", 100 * l->accuracy_ratio);
    if (!isnan(l->seconds_to_target_s))
        fprintf(to, "Target loss after %.3g s.\n", l->seconds_to_target_s);
    if (!isnan(l->staleness_mean_count))
        fprintf(to, "Staleness: %.2f updates by others between a pull and its push, %.0f at most.\n",
                l->staleness_mean_count, l->staleness_max_count);
    for (size_t i = 0; i < json_array_size(k->losses); i++) {
        char rank[32], why[512];
        text_at(rank, sizeof rank, json_array_get(k->losses, i), "rank");
        text_at(why, sizeof why, json_array_get(k->losses, i), "why");
        fprintf(to, "Rank %s was lost: %s.\n", rank, why);
    }
}

static void tell_run(const struct recorded *k, FILE *to)
{
    const struct launch *l = &k->campaign.point[0].launch[0];

    tell_throughput(&k->campaign.point[0], to);
    tell_bound(&k->campaign.point[0], to);
    tell_training(k, to);
    if (l->was_disturbed)
        fprintf(to, "The machine was disturbed: others took up to %.0f %% of the run's cores.\n",
                100 * l->taken_cores_ratio);
    if (l->switched)
        fprintf(to, "The machine's speed switched during the run.\n");
    if (l->never_settled)
        fprintf(to, "The run never settled: its figures are of all rounds.\n");
}

/* Why the whole may say less than it seems to. */
static void write_alerts(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    size_t least = c->n_launches_wanted, n_disturbed = 0, n_unsteady = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!p->is_given_up && !p->is_fate_unknown && p->n_launches < least) /* of the others the verdict tells */
            least = p->n_launches;
        n_disturbed += point_n_marked(&c->point[i], MARK_DISTURBED);
        n_unsteady += point_n_marked(&c->point[i], MARK_UNSTEADY);
    }
    if (!k->manifest)
        html_element(to, "p", "alert", "This campaign has no manifest.json: it did not come to its end.");
    else if (json_is_false(json_object_get(k->manifest, "is_complete")))
        html_element(to, "p", "alert", "This campaign did not come to its end, or launches of it failed.");
    if (!k->is_run && least < c->n_launches_wanted && !c->is_virtual)
        html_element(to, "p", "alert", "%zu of %zu runs of each setting were made.", least, c->n_launches_wanted);
    if (n_disturbed + n_unsteady > 0)
        fprintf(to,
                "<p class=\"alert\">Of %zu launch%s %zu ran on a disturbed machine, and %zu without a steady state: "
                "<a href=\"#disturbed\">which, and how</a>.</p>\n",
                c->n_launches_done, c->n_launches_done == 1 ? "" : "es", n_disturbed, n_unsteady);
}

typedef enum rc tell_fn(const struct recorded *k, FILE *to);

/* What tell() writes: *out, which the caller frees, whatever comes. */
static enum rc lines_of(char **out, const struct recorded *k, tell_fn *tell)
{
    size_t n_bytes = 0;
    FILE *lines = open_memstream(out, &n_bytes);
    enum rc rc;

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    rc = tell(k, lines);
    if (fclose(lines) != 0 && rc == RC_OK)
        rc = rc_raise(RC_NOMEM, "no memory for a verdict");
    return rc;
}

static enum rc tell_comparisons(const struct recorded *k, FILE *to)
{
    return campaign_verdict(&k->campaign, to);
}

static enum rc tell_campaign(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    char *verdict = NULL; /* in memory: a pipe does not say how much was written to it */
    enum rc rc;

    TRY(lines_of(&verdict, k, tell_comparisons));
    fputs(verdict, to);
    for (size_t i = 0; i < c->n_points && !verdict[0]; i++)
        if (campaign_represents(c, i)) {
            char setting[LAUNCH_NAME_BYTES];
            point_setting(setting, sizeof setting, &c->point[i], ", ", " ");
            fprintf(to, "%s: ", setting);
            campaign_tell_uncompared(c, &c->point[i], to);
        }
    campaign_tell_unlearned(c, to);
    campaign_tell_failures(c, to);
    campaign_tell_sessions(c, to);
out:
    free(verdict);
    return rc;
}

/* The lines of tell() as a list below a title; NULL: without one. */
static enum rc write_lines(const struct recorded *k, const char *title, tell_fn *tell, FILE *to)
{
    char *text = NULL;
    enum rc rc;

    TRY(lines_of(&text, k, tell));
    if (title)
        html_element(to, "h2", NULL, "%s", title);
    html_lines(to, "verdict", text);
out:
    free(text);
    return rc;
}

static enum rc tell_answer(const struct recorded *k, FILE *to)
{
    if (!k->is_run)
        return campaign_answer(&k->campaign, to);
    tell_run(k, to);
    return RC_OK;
}

static enum rc write_verdict(const struct recorded *k, FILE *to)
{
    enum rc rc;

    TRY(write_lines(k, "Verdict", tell_answer, to));
    write_alerts(k, to);
out:
    return rc;
}

/* Folded away: a click opens it. */
static enum rc write_comparisons(const struct recorded *k, FILE *to)
{
    enum rc rc;

    if (k->is_run)
        return RC_OK;
    fputs("<details>\n<summary>All comparisons</summary>\n", to);
    TRY(write_lines(k, NULL, tell_campaign, to));
    fputs("</details>\n", to);
out:
    return rc;
}

enum rc page_print(const struct recorded *k, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    TRY(terminal_text_open(&text));
    TRY(tell_answer(k, text.lines));
    TRY(terminal_text_close(&text, to));
    fputc('\n', to);
    TRY(campaign_print(&k->campaign, to));
    if (k->is_run)
        goto out;
    fputc('\n', to);
    TRY(terminal_text_open(&text));
    TRY(tell_campaign(k, text.lines));
    campaign_tell_encryption(&k->campaign, text.lines);
    TRY(terminal_text_close(&text, to));
out:
    if (terminal_text_close(&text, NULL) != RC_OK && rc == RC_OK)
        rc = RC_NOMEM;
    return rc;
}

static enum rc tell_short_marks(const struct recorded *k, FILE *to)
{
    campaign_print_short_marks(&k->campaign, to);
    return RC_OK;
}

enum rc page_print_markdown(const struct recorded *k, FILE *to)
{
    char *answer = NULL, *marks = NULL;
    enum rc rc;

    TRY(lines_of(&answer, k, tell_answer));
    TRY(lines_of(&marks, k, tell_short_marks));
    markdown_lines(to, answer);
    fputc('\n', to);
    TRY(campaign_print_short(&k->campaign, markdown_table, to));
    fputs(marks[0] ? "\n" : "", to);
    markdown_lines(to, marks);
out:
    free(marks);
    free(answer);
    return rc;
}

/* --- tables --- */

static enum rc show_results(const struct table *t, FILE *to)
{
    return html_table(to, t, "What each setting gives");
}

static enum rc show_steps(const struct table *t, FILE *to)
{
    return html_table(to, t, "Where the time of a step goes");
}

/* The notes of the tables, but for what was disturbed, which has a part of its own. */
static enum rc write_notes(const struct campaign *c, FILE *to)
{
    char *text = NULL, *marks = NULL;
    size_t n_bytes = 0, n_mark_bytes = 0;
    FILE *notes = open_memstream(&text, &n_bytes), *told = open_memstream(&marks, &n_mark_bytes);
    enum rc rc = RC_OK;

    if (notes)
        campaign_print_notes(c, notes);
    if (told)
        campaign_tell_marks(c, told);
    const bool failed = !notes || !told;
    if ((notes && fclose(notes) != 0) || (told && fclose(told) != 0) || failed)
        FAIL(RC_NOMEM, "no memory for notes");
    text[n_bytes - n_mark_bytes] = '\0'; /* they are the last of the notes */
    page_paragraphs(text, to);
out:
    free(text);
    free(marks);
    return rc;
}

static enum rc write_tables(const struct recorded *k, FILE *to)
{
    const struct campaign *c = &k->campaign;
    enum rc rc;

    html_element(to, "h2", NULL, k->is_run ? "Figures" : "Settings");
    if (c->exchange[0])
        html_element(to, "p", NULL, "Exchange: %s.", c->exchange);
    TRY(campaign_print_results(c, show_results, to));
    TRY(campaign_print_steps(c, show_steps, to));
    TRY(write_notes(c, to));
out:
    return rc;
}

/* The files it was made of, linked where the page lies beside them. */
static void write_end(const struct recorded *k, const char *path, FILE *to)
{
    const char *const names[] = { k->is_run ? k->name : "runs.jsonl", "manifest.json" };
    const size_t n_names = !k->is_run && k->manifest ? 2 : 1;
    const char *slash = strrchr(path, '/'), *dir = slash ? path : ".";
    const size_t n_dir = slash ? (size_t)(slash - path) : 1;
    const bool is_beside = n_dir == strlen(k->campaign.dir) && strncmp(dir, k->campaign.dir, n_dir) == 0;

    fputs("<footer>\n<p>Records: ", to);
    for (size_t i = 0; i < n_names; i++) {
        fputs(i > 0 ? ", " : "", to);
        if (is_beside)
            html_link(to, names[i], names[i]);
        else
            html_text(to, names[i]);
    }
    fputs("</p>\n", to);
    if (!k->is_run && !k->is_sealed)
        html_element(to, "p", NULL, RECORDED_UNSEALED, k->name);
    fputs("<p>A click on a title sorts a table, another turns it round, a third restores its order.</p>\n"
          "</footer>\n",
          to);
}

/* Below the figures. */
static enum rc write_details(const struct recorded *k, FILE *to)
{
    enum rc rc;

    TRY(page_records(k->failures, "Launches that failed", to));
    TRY(page_records(k->losses, "Lost ranks", to));
    TRY(page_records(k->tuning, "Rates tried before", to));
    TRY(page_launches(k, to));
    TRY(page_records(k->ranks, "Ranks", to));
    if (k->is_run)
        TRY(page_object(k->point[0].summary, "Summary", to));
    TRY(page_options(k, to));
    TRY(page_machine(k, to));
out:
    return rc;
}

enum rc page_write(const struct recorded *k, const char *path, FILE *told)
{
    struct html page = { .file = { NULL } };
    enum rc rc;

    TRY(html_open(&page, path, k->name));
    FILE *to = page.file.stream;
    write_about(k, to);
    TRY(write_verdict(k, to));
    TRY(write_comparisons(k, to));
    if (k->is_run)
        TRY(write_tables(k, to));
    TRY(page_charts(k, to, path, CHART_MOST_BYTES, CHARTS_MOST_BYTES, told));
    TRY(page_disturbed(k, to));
    if (!k->is_run) {
        fputs("<details>\n<summary>All tables: settings, launches, options, machine</summary>\n", to);
        TRY(write_tables(k, to));
    }
    TRY(write_details(k, to));
    fputs(k->is_run ? "" : "</details>\n", to);
    write_end(k, path, to);
out:
    return html_finish(&page, rc);
}

enum rc page_of(const char *source, FILE *to)
{
    char path[PAGE_PATH_BYTES];
    struct recorded k = { .manifest = NULL };
    enum rc rc;

    TRY(recorded_open(&k, source));
    page_path(path, sizeof path, &k, source);
    TRY(page_write(&k, path, to));
    fprintf(to, "page: %s\n", path);
out:
    recorded_close(&k);
    return rc;
}
