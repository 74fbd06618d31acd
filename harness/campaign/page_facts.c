/* SPDX-License-Identifier: Apache-2.0 */
/* page_facts.c - what a page says below its figures: disturbances, launches, options, machine. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/page.h"
#include "harness/report/html.h"

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

/* Of the page, with n_reserved kept free for what follows. */
static size_t bytes_left(FILE *to, long n_reserved)
{
    const long n_left = PAGE_MOST_BYTES - n_reserved - ftell(to);

    return n_left > 0 ? (size_t)n_left : 0;
}

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

typedef void tell_fn(const struct campaign *c, FILE *to);

/* What tell() writes; the caller frees it. */
static enum rc text_of(char **out, const struct campaign *c, tell_fn *tell)
{
    size_t n_bytes = 0;
    FILE *lines = open_memstream(out, &n_bytes);

    if (lines)
        tell(c, lines);
    return lines && fclose(lines) == 0 ? RC_OK : rc_raise(RC_NOMEM, "no memory for lines on launches");
}

enum rc page_disturbed(const struct recorded *k, FILE *to)
{
    char *marked = NULL, *explained = NULL;
    enum rc rc;

    TRY(text_of(&marked, &k->campaign, campaign_tell_marked));
    TRY(text_of(&explained, &k->campaign, campaign_explain_marks));
    fputs("<h2 id=\"disturbed\">What was disturbed</h2>\n", to);
    if (marked[0])
        html_lines(to, NULL, marked);
    else if (k->campaign.is_virtual)
        html_element(to, "p", NULL, "Nothing: launches are simulated.");
    else if (!k->tells_disturbance)
        html_element(to, "p", NULL,
                     "The records do not say whether a launch was disturbed: they are of an older version.");
    else
        html_element(to, "p", NULL,
                     "No launch was disturbed, and each reached a steady state or was too short to tell.");
    page_paragraphs(explained, to);
out:
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
enum rc page_launches(const struct recorded *k, FILE *to)
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

enum rc page_records(const json_t *records, const char *title, FILE *to)
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

enum rc page_object(const json_t *object, const char *title, FILE *to)
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

enum rc page_options(const struct recorded *k, FILE *to)
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

enum rc page_machine(const struct recorded *k, FILE *to)
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
