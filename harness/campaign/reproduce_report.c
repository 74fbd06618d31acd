/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_report.c - a reproduction as an answer with one table, as all tables, as records, charts and a page; see
 * reproduce.h. */
#include "harness/campaign/reproduce_fit.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/prediction.h"
#include "harness/campaign/reproduce.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/record.h"
#include "harness/report/table.h"
#include "harness/world/stop.h"

/* Of a table of rows: without column n_band where no row has a band. The title "" stands for reproduction_of_table().
 * add_row fills a row. */
struct reproduction_columns {
    const struct column *column;
    size_t n_columns, n_band;
    void (*add_row)(struct table *t, const struct reproduction *r, const struct point_of_row *p);
};

/*
 * what a terminal shows of published efficiencies: how wrong predictions are, and one table.
 */

static const double HOT_RATIO = 1.5; /* of the fullest server over the mean */

/* --- the answer --- */

static void reproduction_print_error(const struct reproduction *r, bool has_servers, FILE *to)
{
    const struct reproduce_error e = reproduction_error(r, has_servers);

    if (e.n_rows == 0)
        return;
    fprintf(to,
            "%s: mean absolute error %.1f points, a factor of %.2f in throughput, over %zu row%s%s; worst %.1f points "
            "(%s, %d GPUs, %s, line %d)\n",
            e.of, e.mean_points, e.mean_factor, e.n_rows, e.n_rows == 1 ? "" : "s",
            r->terms->fit ? " not seen by the fit" : "", e.worst_points, e.worst->row->model, e.worst->n_gpus,
            point_transport(r, e.worst), e.worst->row->line);
}

static void tell_rows(const struct reproduction *r, FILE *to)
{
    const struct reproduce_count count = reproduction_count(r);
    size_t n_not_counted = 0, n_failed = 0;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        if (!p->row || !point_is_finished(r, p))
            continue;
        n_not_counted += !p->row->is_counted;
        n_failed += isnan(p->predicted_ratio);
    }
    if (r->stop_signal != 0)
        fprintf(to, "Stopped by %s: %zu of ", stop_signal_name(r->stop_signal), count.n_finished);
    fprintf(to, "%zu %s efficienc%s predicted by simulation", count.n_rows, reproduction_of_table(r),
            count.n_rows == 1 ? "y was" : "ies were");
    if (n_not_counted > 0)
        fprintf(to, "; %zu of them %s not count in the means", n_not_counted, n_not_counted == 1 ? "does" : "do");
    if (n_failed > 0)
        fprintf(to, "; %zu failed", n_failed);
    fprintf(to, ".\n");
    if (r->rows.ignored[0])
        fprintf(to, "Columns that were not read (--ignore-columns): %s.\n", r->rows.ignored);
}

const char *reproduction_of_table(const struct reproduction *r)
{
    return r->terms->is_own_table ? "given" : "published";
}

/* Was this value of a cluster chosen beside published rows, and is it not that of a cluster before? */
static bool is_chosen(const struct reproduction *r, size_t cluster, int key)
{
    char own[64], other[64];

    if (strstr(r->cluster[cluster].sources->text[key], "chosen beside the published") == NULL ||
        !cluster_key_matters(&r->cluster[cluster].cluster, key))
        return false;
    cluster_key_format(&r->cluster[cluster].cluster, key, own, sizeof own);
    for (size_t i = 0; i < cluster; i++) {
        cluster_key_format(&r->cluster[i].cluster, key, other, sizeof other);
        if (is_chosen(r, i, key) && strcmp(own, other) == 0)
            return false;
    }
    return true;
}

/* Sentences: which values of the clusters were chosen to fit published rows, and what that means for the errors. */
static void reproduction_fit_text(char *out, size_t n_bytes, const struct reproduction *r)
{
    char names[REPRODUCE_FIT_BYTES / 2] = "", value[64];
    size_t n = 0, at = 0;

    for (int k = 0; k < CLUSTER_N_KEYS; k++)
        for (size_t i = 0; i < r->n_clusters; i++) {
            if (!is_chosen(r, i, k))
                continue;
            cluster_key_format(&r->cluster[i].cluster, k, value, sizeof value);
            if (at < sizeof names)
                at += (size_t)snprintf(names + at, sizeof names - at, "%s%s %s", n > 0 ? ", " : "",
                                       cluster_keys[k].name, value);
            n++;
        }
    if (n == 0 && r->terms->fit)
        snprintf(out, n_bytes, "No other value of the clusters was fitted to this table.");
    else if (n == 0)
        snprintf(out, n_bytes, "No value of the clusters was fitted to this table.");
    else
        snprintf(out, n_bytes, "%zu value%s of the clusters %s chosen to fit %s: %s. %s", n, n == 1 ? "" : "s",
                 n == 1 ? "was" : "were", r->terms->is_own_table ? "the rows of horovod-512" : "these rows", names,
                 r->terms->is_own_table ? "If these rows are among yours, their errors are no test."
                                        : "So the errors are no test of another cluster.");
}

static void print_sentence(void *to, const char *line)
{
    fprintf(to, "%s.\n", line);
}

enum { LINE_BYTES = 768 };

struct fit_error { /* mean absolute errors, as ratios; NaN without rows */
    size_t n_rows;
    double with, before; /* fitted values, and as described */
};

static void add_error(struct fit_error *e, double predicted, double before, double published)
{
    if (isnan(predicted) || isnan(before))
        return;
    e->with = (e->n_rows > 0 ? e->with : 0) + fabs(predicted - published);
    e->before = (e->n_rows > 0 ? e->before : 0) + fabs(before - published);
    e->n_rows++;
}

static struct fit_error mean_of(struct fit_error e)
{
    if (e.n_rows > 0) {
        e.with /= (double)e.n_rows;
        e.before /= (double)e.n_rows;
    }
    return e;
}

static struct fit_error error_of(const struct reproduction *r, enum fit_use use)
{
    const struct reproduce_fit *f = r->terms->fit;
    struct fit_error e = { .n_rows = 0, .with = NAN, .before = NAN };

    for (size_t i = 0; i < f->n_rows; i++)
        if (f->row[i].use == use)
            add_error(&e, r->point[i].predicted_ratio, f->before.point[i].predicted_ratio,
                      r->point[i].row->efficiency_ratio);
    return mean_of(e);
}

static const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}

static void values_line(char out[LINE_BYTES], const struct reproduce_fit *f)
{
    size_t n =
        (size_t)snprintf(out, LINE_BYTES, "Fitted to %zu row%s with %.100s:", f->n_seen, plural(f->n_seen), f->rows);

    for (int k = 0; k < f->n_keys && n < LINE_BYTES; k++) {
        const double value = f->best.value[k];
        const bool is_at_end = value <= f->least[k] * (1 + 1e-9) || value >= f->most[k] * (1 - 1e-9);
        n += (size_t)snprintf(out + n, LINE_BYTES - n, "%s %s %.4g (%.4g to %.4g fits as well; range %.4g to %.4g)%s",
                              k > 0 ? "," : "", cluster_keys[f->key[k]].name, value, f->best.low[k], f->best.high[k],
                              f->least[k], f->most[k],
                              is_at_end ? ", the end of its range: errors may have another cause" : "");
    }
}

double reproduce_fit_seen_error(const struct reproduction *r)
{
    const double error = error_of(r, FIT_SEEN).with;

    return isnan(error) ? NAN : fmax(KNOWN_ERRORS_OF_FIT, error);
}

static bool is_left_out(const struct reproduce_fit *f, size_t row)
{
    return f->n_tables > 1 && f->row[row].table >= 0 && f->table[f->row[row].table].others.is_told;
}

/* F4 */
static struct fit_error error_of_left_out(const struct reproduction *r)
{
    const struct reproduce_fit *f = r->terms->fit;
    struct fit_error e = { .n_rows = 0, .with = NAN, .before = NAN };

    for (size_t i = 0; i < f->n_rows; i++)
        if (is_left_out(f, i))
            add_error(&e, reproduction_efficiency(r, f->row[i].left_out.alone, f->row[i].left_out.together),
                      f->before.point[i].predicted_ratio, r->point[i].row->efficiency_ratio);
    return mean_of(e);
}

static size_t n_told_tables(const struct reproduce_fit *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_tables && f->n_tables > 1; i++)
        n += f->table[i].others.is_told;
    return n;
}

static void left_out_line(char out[LINE_BYTES], const struct reproduction *r)
{
    const struct reproduce_fit *f = r->terms->fit;
    const struct fit_error e = error_of_left_out(r);
    size_t n = 0;

    if (e.n_rows > 0)
        n = (size_t)snprintf(out, LINE_BYTES,
                             "Leave one table out: %zu rows of %zu tables, each predicted by a fit to the other "
                             "tables: mean absolute error %.1f points, %.1f before the fit",
                             e.n_rows, n_told_tables(f), 100 * e.with, 100 * e.before);
    for (size_t i = 0; i < f->n_tables && n < LINE_BYTES; i++)
        if (!f->table[i].others.is_told)
            n += (size_t)snprintf(out + n, LINE_BYTES - n, "%sthe others cannot tell the values for %.60s",
                                  n > 0 ? "; " : "Leave one table out: ", f->table[i].name);
}

/* Some sentences, each passed to print(arg, line). */
static void reproduce_fit_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
{
    const struct reproduce_fit *f = r->terms->fit;
    char line[LINE_BYTES];

    if (!f)
        return;
    values_line(line, f);
    print(arg, line);
    for (enum fit_use use = FIT_SEEN; use >= FIT_UNSEEN; use--) {
        const struct fit_error e = error_of(r, use);
        snprintf(line, sizeof line, "%zu row%s %s: mean absolute error %.1f points, %.1f before the fit", e.n_rows,
                 plural(e.n_rows), use == FIT_SEEN ? "of the fit" : "not seen by the fit", 100 * e.with,
                 100 * e.before);
        if (e.n_rows > 0)
            print(arg, line);
    }
    if (f->n_tables > 1) {
        left_out_line(line, r);
        print(arg, line);
    }
}

static void tell_how_sure(const struct reproduction *r, FILE *to)
{
    char text[REPRODUCE_FIT_BYTES], held[128];

    reproduction_fit_text(text, sizeof text, r);
    reproduction_baseline_lines(r, print_sentence, to);
    reproduce_fit_lines(r, print_sentence, to);
    reproduction_held_text(held, sizeof held, r);
    if (held[0])
        print_sentence(to, held);
    fprintf(to, "%s\n", text);
}

/* --- the table --- */

/* The cells that each of them begins with: model, GPUs, mode, servers, network, published. */
static void reproduction_point_cells(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    table_cell(t, "%s", p->row->model);
    table_cell(t, "%d", p->n_gpus);
    table_cell(t, "%s%s", point_exchange(p), p->mode == ROW_PS_ASYNC ? " async" : "");
    p->n_servers > 0 ? table_cell(t, "%d", p->n_servers) : table_cell(t, "-");
    table_cell(t, "%s%s%s", point_transport(r, p), p->gradients[0] ? ", " : "", p->gradients);
    table_cell(t, "%.1f %%", 100 * p->row->efficiency_ratio);
}

static const char *counted_word(const struct point_of_row *p, const char *yes)
{
    return p->is_fitted ? "fit" : !p->row->is_counted ? "no" : point_is_baseline(p) ? "baseline" : yes;
}

static void print_short_row(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    reproduction_point_cells(t, r, p);
    isnan(p->predicted_ratio) ? table_cell(t, "failed") : table_cell(t, "%.1f %%", 100 * p->predicted_ratio);
    if (!isnan(p->band.high))
        table_cell(t, "%.1f-%.1f", 100 * p->band.low, 100 * p->band.high);
    else if (reproduction_has_bands(r))
        table_cell(t, "-");
    if (isnan(p->predicted_ratio))
        table_cell(t, "-");
    else
        table_cell(t, "%+.1f", 100 * (p->predicted_ratio - p->row->efficiency_ratio));
    table_cell(t, "%s", counted_word(p, "yes"));
    table_cell(t, "%d", p->row->line);
}

static struct table *reproduction_table_of(const struct reproduction *r, const struct reproduction_columns *of)
{
    enum { MOST_COLUMNS = 16 };
    struct column used[MOST_COLUMNS];
    struct table *t = NULL;
    size_t n = 0;

    assert(of->n_columns <= MOST_COLUMNS);
    for (size_t i = 0; i < of->n_columns; i++)
        if (reproduction_has_bands(r) || i != of->n_band)
            used[n++] = of->column[i];
    for (size_t i = 0; i < n; i++)
        if (!used[i].title[0])
            used[i].title = reproduction_of_table(r);
    t = table_open(used, n);
    for (size_t i = 0; i < r->n_points; i++)
        if (r->point[i].row && point_is_finished(r, &r->point[i]))
            of->add_row(t, r, &r->point[i]);
    return t;
}

static enum rc print_table(const struct reproduction *r, FILE *to)
{
    static const struct column column[] = {
        { "model", ALIGN_LEFT },   { "GPUs", ALIGN_RIGHT },   { "mode", ALIGN_LEFT },       { "servers", ALIGN_RIGHT },
        { "network", ALIGN_LEFT }, { "", ALIGN_RIGHT },       { "predicted", ALIGN_RIGHT }, { "band, %", ALIGN_RIGHT },
        { "error", ALIGN_RIGHT },  { "counted", ALIGN_LEFT }, { "line", ALIGN_RIGHT }
    };
    const struct reproduction_columns few = { column, sizeof column / sizeof *column, 7, print_short_row };
    struct table *t = reproduction_table_of(r, &few);

    return table_finish(t, to);
}

struct lines { /* each once */
    FILE *to;
    char last[8][256];
    int n;
};

static enum rc print_cannot_tell(const struct reproduction *r, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    reproduction_cannot_tell_lines(r, print_sentence, text.lines);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

enum rc reproduction_print_answer(const struct reproduction *r, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    tell_rows(r, text.lines);
    reproduction_print_error(r, false, text.lines);
    reproduction_print_error(r, true, text.lines);
    tell_how_sure(r, text.lines);
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(print_table(r, to));
    TRY(print_cannot_tell(r, to));
    TRY(output_flush(to));
out:
    return rc;
}

/* --- the rest --- */

/* Is a point before this one as hot: of the same row but for its table? */
static bool is_hot_before(const struct reproduction *r, size_t point)
{
    const struct point_of_row *p = &r->point[point];

    for (size_t i = 0; i < point; i++)
        if (r->point[i].row && r->point[i].row->is_counted && r->point[i].n_gpus == p->n_gpus &&
            r->point[i].n_servers == p->n_servers && strcmp(r->point[i].row->model, p->row->model) == 0)
            return true;
    return false;
}

static void tell_hot_spots(const struct reproduction *r, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        const struct simulation *s = &r->simulations.simulation[p->together];
        if (!p->row || !p->row->is_counted || !row_mode_has_servers(p->mode) || !(s->imbalance_ratio > HOT_RATIO) ||
            is_hot_before(r, i))
            continue;
        fprintf(to,
                "%s, %d GPUs, %d servers, placement %s: the server with %s holds %.1f times the mean of all servers\n",
                p->row->model, p->n_gpus, p->n_servers, p->placement, s->hot_tensor, s->imbalance_ratio);
        n++;
    }
    if (n > 0)
        fprintf(to,
                "Such a placement cuts no tensor: all gradients of it, and all pulls, cross the link of its server.\n");
}

static bool has_same_value(const struct reproduction *r, size_t cluster, int key, const char *value)
{
    char other[64];

    for (size_t i = 0; i < cluster; i++) {
        cluster_key_format(&r->cluster[i].cluster, key, other, sizeof other);
        if (strcmp(r->cluster[i].name, r->cluster[cluster].name) == 0 &&
            cluster_key_matters(&r->cluster[i].cluster, key) && strcmp(other, value) == 0)
            return true;
    }
    return false;
}

/* What is assumed of one cluster, but for what a line before has of the same one. */
static void tell_assumed(const struct reproduction *r, size_t cluster, FILE *to)
{
    const struct used_cluster *c = &r->cluster[cluster];
    int key[CLUSTER_MAX_KEYS], n_told = 0;
    const size_t n = used_cluster_assumed(c, key);
    char value[64];

    for (size_t i = 0; i < n; i++) {
        cluster_key_format(&c->cluster, key[i], value, sizeof value);
        if (has_same_value(r, cluster, key[i], value))
            continue;
        if (n_told++ == 0)
            fprintf(to, "%s%s%s: assumed, neither measured nor published:", c->name, c->transport[0] ? ", " : "",
                    c->transport);
        fprintf(to, "%s %s=%s", n_told > 1 ? "," : "", cluster_keys[key[i]].name, value);
    }
    if (n_told > 0)
        fputc('\n', to);
}

static void print_once(void *arg, const char *line)
{
    struct lines *l = arg;

    for (int i = 0; i < l->n; i++)
        if (strncmp(l->last[i], line, sizeof l->last[i] - 1) == 0)
            return;
    if (l->n < (int)(sizeof l->last / sizeof *l->last))
        snprintf(l->last[l->n++], sizeof l->last[0], "%s", line);
    fprintf(l->to, "%s\n", line);
}

/* Has a row with servers, or one without, no system? Or is there no such row? */
static bool has_own_terms(const struct reproduction *r, bool has_servers)
{
    bool is_one = false;

    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        if (!p->row || row_mode_has_servers(p->mode) != has_servers)
            continue;
        if (!r->cluster[p->cluster].system)
            return true;
        is_one = true;
    }
    return !is_one;
}

/* The first point of the system of its cluster? */
static bool begins_system(const struct reproduction *r, size_t point)
{
    const struct published_system *own = r->cluster[r->point[point].cluster].system;

    for (size_t i = 0; own && i < point; i++)
        if (r->cluster[r->point[i].cluster].system == own)
            return false;
    return own != NULL;
}

enum { EXCHANGE_LINE_BYTES = 512 };

static void system_line(char out[EXCHANGE_LINE_BYTES], const struct reproduction *r, const struct point_of_row *p)
{
    const struct used_cluster *c = &r->cluster[p->cluster];
    char buckets[SIMULATED_BUCKETS_BYTES];

    simulated_buckets_text(buckets, reproduction_bucket_bytes(r, c));
    if (c->system->has_servers)
        snprintf(out, EXCHANGE_LINE_BYTES, "%s: placement %s, %s, %s, overlap %s; %s", c->system->name, p->placement,
                 used_cluster_transport(c), simulated_servers_text(), r->terms->overlap, c->system->source);
    else
        snprintf(out, EXCHANGE_LINE_BYTES, "%s: %s, overlap %s; %s", c->system->name, buckets, r->terms->overlap,
                 c->system->source);
}

/* Buckets, overlap and the terms of servers; those of each system: lines, passed to print(arg, line). */
static void reproduction_exchange_lines(const struct reproduction *r, void (*print)(void *arg, const char *line),
                                        void *arg)
{
    const struct reproduce_terms *t = r->terms;
    char buckets[SIMULATED_BUCKETS_BYTES], line[EXCHANGE_LINE_BYTES];

    simulated_buckets_text(buckets, t->bucket_bytes);
    snprintf(line, sizeof line, "ring: %s, overlap %s", buckets, t->overlap);
    if (has_own_terms(r, false))
        print(arg, line);
    snprintf(line, sizeof line, "parameter server: consistency %s (of rows ps), placement %s, %s, overlap %s",
             t->consistency, t->placement, simulated_servers_text(), t->overlap);
    if (has_own_terms(r, true))
        print(arg, line);
    for (size_t i = 0; i < r->n_points; i++)
        if (begins_system(r, i)) {
            system_line(line, r, &r->point[i]);
            print(arg, line);
        }
}

enum rc reproduction_print_rest(const struct reproduction *r, FILE *to)
{
    struct terminal_text text;
    struct lines once = { .n = 0 };
    enum rc rc;

    TRY(terminal_text_open(&text));
    once.to = text.lines;
    fputc('\n', text.lines);
    tell_hot_spots(r, text.lines);
    reproduction_exchange_lines(r, print_once, &once);
    reproduction_band_lines(r, print_once, &once);
    for (size_t i = 0; i < r->n_clusters; i++)
        tell_assumed(r, i, text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    return rc;
}

/*
 * predicted against published: the table, what it comes to, what is assumed, and the records.
 */

/* Predicted, its band where there are any, error, images/s. */
static void print_prediction(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    if (isnan(p->predicted_ratio)) {
        table_cell(t, "failed");
        if (reproduction_has_bands(r))
            table_cell(t, "-");
        table_cell(t, "-");
        table_cell(t, "-");
        return;
    }
    table_cell(t, "%.1f %%", 100 * p->predicted_ratio);
    if (!isnan(p->band.high))
        table_cell(t, "%.1f .. %.1f", 100 * p->band.low, 100 * p->band.high);
    else if (reproduction_has_bands(r))
        table_cell(t, "-");
    table_cell(t, "%+.1f", 100 * (p->predicted_ratio - p->row->efficiency_ratio));
    table_cell(t, "%.1f", point_figures_of(r, p).images_per_s);
}

static void print_row(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    reproduction_point_cells(t, r, p);
    print_prediction(t, r, p);
    table_cell(t, "%s", counted_word(p, ""));
    table_cell(t, "%s", p->row->table);
}

/* Table of the rows. RC_NOMEM. */
static struct table *reproduction_table(const struct reproduction *r)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },      { "GPUs", ALIGN_RIGHT },
                                            { "mode", ALIGN_LEFT },       { "servers", ALIGN_RIGHT },
                                            { "transport", ALIGN_LEFT },  { "", ALIGN_RIGHT },
                                            { "predicted", ALIGN_RIGHT }, { "band", ALIGN_RIGHT },
                                            { "error", ALIGN_RIGHT },     { "images/s", ALIGN_RIGHT },
                                            { "counted", ALIGN_LEFT },    { "table", ALIGN_LEFT } };
    const struct reproduction_columns all = { column, sizeof column / sizeof *column, 7, print_row };

    return reproduction_table_of(r, &all);
}

/* Of each model with servers the tensor that the hottest of them holds, where it holds far more than the mean. */
static void print_hot_spots(const struct reproduction *r, FILE *to)
{
    for (size_t i = 0; i < r->n_points; i++) {
        const struct point_of_row *p = &r->point[i];
        const struct simulation *s = &r->simulations.simulation[p->together];
        if (p->row && p->row->is_counted && row_mode_has_servers(p->mode) && s->imbalance_ratio > 1.5)
            fprintf(to,
                    "%s, %d GPUs, %d servers: the server with %s holds %.1f times the mean of all servers, as "
                    "--placement %s cuts no "
                    "tensor: all gradients of it, and all pulls, cross that server's link\n",
                    p->row->model, p->n_gpus, p->n_servers, s->hot_tensor, s->imbalance_ratio, p->placement);
    }
}

static void print_line(void *to, const char *line)
{
    fprintf(to, "%s\n", line);
}

enum rc reproduction_print(const struct reproduction *r, FILE *to)
{
    char held[128];
    enum rc rc;

    TRY(table_finish(reproduction_table(r), to));
    reproduction_print_error(r, false, to);
    reproduction_print_error(r, true, to);
    reproduction_baseline_lines(r, print_line, to);
    reproduce_fit_lines(r, print_line, to);
    reproduction_held_text(held, sizeof held, r);
    if (held[0])
        print_line(to, held);
    reproduction_cannot_tell_lines(r, print_line, to);
    print_hot_spots(r, to);
    reproduction_exchange_lines(r, print_line, to);
    if (r->terms->has_charts)
        fputs(
            "chart lines of servers: servers per GPU as in the row with the most GPUs; if tensors are not cut, at most "
            "one server per tensor\n",
            to);
    reproduction_band_lines(r, print_line, to);
    for (size_t i = 0; i < r->n_clusters; i++)
        used_cluster_print_assumed(&r->cluster[i], to);
    TRY(output_flush(to));
out:
    return rc;
}

/* --- records --- */

/* NULL: none. */
static const char *system_name(const struct used_cluster *c)
{
    return c->system ? c->system->name : NULL;
}

static enum rc write_row(struct report *to, const struct reproduction *r, const struct point_of_row *p)
{
    const struct published_row *row = p->row;
    const struct simulation *s = &r->simulations.simulation[p->together];
    const struct point_figures figures = point_figures_of(r, p);
    struct record *record = report_begin(to, "prediction");

    record_text(record, "model", r->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_text(record, "transport", point_transport(r, p));
    record_text(record, "mode", row_mode_name(p->mode));
    record_text(record, "reducer", p->reducer[0] ? p->reducer : NULL);
    if (row_mode_has_servers(p->mode)) {
        record_text(record, "consistency", p->mode == ROW_PS_ASYNC ? "async" : p->consistency);
        record_text(record, "placement", p->placement);
    } else {
        record_null(record, "consistency");
        record_null(record, "placement");
    }
    record_text(record, "gradients", p->gradients[0] ? p->gradients : "fp32");
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "cluster", r->cluster[p->cluster].name);
    record_text(record, "system", system_name(&r->cluster[p->cluster]));
    record_f64(record, "published_ratio", row ? row->efficiency_ratio : (double)NAN);
    record_f64(record, "predicted_ratio", p->predicted_ratio);
    record_f64(record, "predicted_low_ratio", p->band.low);
    record_f64(record, "predicted_high_ratio", p->band.high);
    record_f64(record, "assumed_low_ratio", p->assumed_low);
    record_f64(record, "assumed_high_ratio", p->assumed_high);
    record_text(record, "band_of", point_widest(p));
    if (isnan(p->band.high))
        record_null(record, "can_tell");
    else
        record_bool(record, "can_tell", !point_cannot_tell(p));
    record_f64(record, "error_ratio", row ? p->predicted_ratio - row->efficiency_ratio : (double)NAN);
    record_f64(record, "one_gpu_images_per_s", p->baseline ? (double)NAN : p->baseline_images_per_s);
    record_i64(record, "baseline_gpus_count", p->baseline ? p->baseline->n_gpus : 1);
    record_f64(record, "baseline_images_per_s", p->baseline_images_per_s);
    record_f64(record, "predicted_images_per_s", figures.images_per_s);
    record_f64(record, "step_s", figures.step_s);
    record_f64(record, "exposed_s", figures.exposed_s);
    record_i64(record, "steps_count", s->n_steps);
    record_i64(record, "batch_count", p->batch);
    record_text(record, "hot_tensor", s->hot_tensor[0] ? s->hot_tensor : NULL);
    record_f64(record, "imbalance_ratio", s->imbalance_ratio);
    if (row) {
        record_bool(record, "counted", row->is_counted);
        if (r->terms->fit)
            record_bool(record, "fitted", p->is_fitted);
        record_text(record, "table", row->table);
        record_i64(record, "line_index", row->line);
    }
    return report_end(to);
}

/* J5 */
static enum rc write_failed(struct report *to, const struct reproduction *r, const struct point_of_row *p)
{
    const struct simulation *together = &r->simulations.simulation[p->together];
    const struct simulation *failed = together->has_failed ? together : &r->simulations.simulation[p->alone];
    struct record *record = report_begin(to, "failure");

    record_text(record, "model", r->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_text(record, "transport", point_transport(r, p));
    record_text(record, "mode", row_mode_name(p->mode));
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "table", p->row->table);
    record_i64(record, "line_index", p->row->line);
    record_text(record, "message", failed->why);
    return report_end(to);
}

static enum rc write_errors(struct report *to, const struct reproduction *r, bool has_servers)
{
    const struct reproduce_error e = reproduction_error(r, has_servers);
    struct record *record = report_begin(to, "errors");

    record_text(record, "of", has_servers ? "ps" : "ring");
    record_u64(record, "rows_count", e.n_rows);
    record_f64(record, "mean_absolute_error_ratio", e.mean_points / 100);
    record_f64(record, "worst_absolute_error_ratio", e.worst_points / 100);
    record_f64(record, "mean_throughput_factor", e.mean_factor);
    record_u64(record, "bands_count", e.n_bands);
    record_u64(record, "rows_in_band_count", e.n_held);
    return report_end(to);
}

static enum rc write_cluster(struct report *to, const struct reproduction *r, const struct used_cluster *c)
{
    struct record *record = report_begin(to, "cluster");

    used_cluster_record(record, c);
    record_text(record, "system", system_name(c));
    record_u64(record, "bucket_bytes", reproduction_bucket_bytes(r, c));
    record_text(record, "overlap", r->terms->overlap);
    return report_end(to);
}

/* J7 */
static enum rc write_stopped(struct report *to, const struct reproduction *r)
{
    const struct reproduce_count n = reproduction_count(r);
    struct record *record = report_begin(to, "stopped");

    record_text(record, "stopped_by", stop_signal_name(r->stop_signal));
    record_u64(record, "rows_count", n.n_rows);
    record_u64(record, "finished_rows_count", n.n_finished);
    return report_end(to);
}

static void record_error(struct record *record, const char *of, const struct fit_error *e)
{
    char key[64];

    snprintf(key, sizeof key, "%s_rows_count", of);
    record_u64(record, key, e->n_rows);
    snprintf(key, sizeof key, "%s_mean_absolute_error_ratio", of);
    record_f64(record, key, e->with);
    snprintf(key, sizeof key, "%s_mean_absolute_error_before_ratio", of);
    record_f64(record, key, e->before);
}

/* A record of kind "fit". */
static enum rc reproduce_fit_write(struct report *to, const struct reproduction *r)
{
    const struct reproduce_fit *f = r->terms->fit;
    const struct fit_error seen = error_of(r, FIT_SEEN), unseen = error_of(r, FIT_UNSEEN), left = error_of_left_out(r);
    const char *name[FIT_MOST_KEYS] = { NULL };

    for (int k = 0; k < f->n_keys; k++)
        name[k] = cluster_keys[f->key[k]].name;
    struct record *record = report_begin(to, "fit");
    record_text(record, "rows", f->rows);
    record_text_array(record, "keys", name, (size_t)f->n_keys);
    record_f64_array(record, "values", f->best.value, (size_t)f->n_keys);
    record_f64_array(record, "as_well_low", f->best.low, (size_t)f->n_keys);
    record_f64_array(record, "as_well_high", f->best.high, (size_t)f->n_keys);
    record_f64_array(record, "range_low", f->least, (size_t)f->n_keys);
    record_f64_array(record, "range_high", f->most, (size_t)f->n_keys);
    record_error(record, "fitted", &seen);
    record_error(record, "unseen", &unseen);
    record_u64(record, "left_out_tables_count", n_told_tables(f));
    record_error(record, "left_out", &left);
    return report_end(to);
}

enum rc reproduction_write(const struct reproduction *r, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < r->n_points; i++)
        if (r->point[i].row && point_is_finished(r, &r->point[i]))
            TRY((isnan(r->point[i].predicted_ratio) ? write_failed : write_row)(to, r, &r->point[i]));
    TRY(write_errors(to, r, false));
    TRY(write_errors(to, r, true));
    if (r->terms->fit)
        TRY(reproduce_fit_write(to, r));
    for (size_t i = 0; i < r->n_clusters; i++)
        TRY(write_cluster(to, r, &r->cluster[i]));
    if (r->stop_signal != 0)
        TRY(write_stopped(to, r));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/*
 * the fitted values, and the errors of rows that the fit saw and did not see.
 */

/*
 * for each model on each cluster images/s and efficiency against GPUs: a line for each mode and
 * transport, published points beside them. The table that is drawn stays beside the pictures.
 */

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
    const double images_per_ratio = p->n_gpus * p->baseline_images_per_s;
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
out:
    return atomic_file_finish(&file, rc);
}

void reproduce_chart_name(char *out, size_t n_bytes, const struct reproduction *r, const struct point_of_row *p)
{
    char name[ROW_CLUSTER_BYTES];

    used_cluster_short_name(name, sizeof name, &r->cluster[p->cluster]);
    snprintf(out, n_bytes, "%s-%s", r->profiles.profile[p->profile].model, name);
}

/* Is point i the first of the points that only a chart shows, in its chart? */
static bool reproduce_begins_chart(const struct reproduction *r, size_t i)
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
        terminal_note(to, "gradmark reproduce: gnuplot cannot be started: the tables are written, no pictures");
out:
    return rc;
}

/*
 * a reproduction as one page: how wrong it is, the table, each chart with what is assumed beside it.
 */

static void write_error(FILE *to, const struct reproduction *r, bool has_servers)
{
    const struct reproduce_error e = reproduction_error(r, has_servers);

    if (e.n_rows > 0)
        html_element(to, "p", NULL,
                     "%c%s: mean absolute error %.1f points, a factor of %.2f in throughput, over %zu row%s%s; worst "
                     "%.1f points "
                     "(%s, %d GPUs, %s).",
                     toupper((unsigned char)e.of[0]), e.of + 1, e.mean_points, e.mean_factor, e.n_rows,
                     e.n_rows == 1 ? "" : "s", r->terms->fit ? " not seen by the fit" : "", e.worst_points,
                     e.worst->row->model, e.worst->n_gpus, point_transport(r, e.worst));
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
    char fit[REPRODUCE_FIT_BYTES], held[128];
    FILE *to;
    enum rc rc;

    reproduction_fit_text(fit, sizeof fit, r);
    TRY(html_open(&page, path, r->name));
    to = page.file.stream;
    html_element(to, "p", NULL, "%s efficiencies, and those that gradmark simulates. %s%s",
                 r->terms->is_own_table ? "Given" : "Published", fit,
                 r->terms->is_own_table ? "" : " Published ones are step-synchronous.");
    reproduction_exchange_lines(r, write_line, to);
    write_error(to, r, false);
    write_error(to, r, true);
    reproduction_baseline_lines(r, write_line, to);
    reproduce_fit_lines(r, write_line, to);
    reproduction_held_text(held, sizeof held, r);
    if (held[0])
        write_line(to, held);
    reproduction_cannot_tell_lines(r, write_line, to);
    TRY(html_table_finish(to, reproduction_table(r),
                          r->terms->is_own_table ? "predicted against given" : "predicted against published"));
    reproduction_band_lines(r, write_line, to);
    for (size_t i = 0; i < r->n_points; i++)
        if (reproduce_begins_chart(r, i))
            TRY(write_chart(to, r, &r->point[i]));
out:
    return html_finish(&page, rc);
}
