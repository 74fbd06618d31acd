/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_report.c - predicted against published: the table, what it comes to, what is assumed, and the records. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/report/record.h"
#include "harness/report/table.h"
#include "harness/world/stop.h"

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

void reproduction_point_cells(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    table_cell(t, "%s", p->row->model);
    table_cell(t, "%d", p->n_gpus);
    table_cell(t, "%s%s", point_exchange(p), p->mode == ROW_PS_ASYNC ? " async" : "");
    p->n_servers > 0 ? table_cell(t, "%d", p->n_servers) : table_cell(t, "-");
    table_cell(t, "%s%s%s", point_transport(r, p), p->gradients[0] ? ", " : "", p->gradients);
    table_cell(t, "%.1f %%", 100 * p->row->efficiency_ratio);
}

static void print_row(struct table *t, const struct reproduction *r, const struct point_of_row *p)
{
    reproduction_point_cells(t, r, p);
    print_prediction(t, r, p);
    table_cell(t, "%s", p->is_fitted ? "fit" : p->row->is_counted ? "" : "no");
    table_cell(t, "%s", p->row->table);
}

struct table *reproduction_table_of(const struct reproduction *r, const struct reproduction_columns *of)
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

struct table *reproduction_table(const struct reproduction *r)
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

void reproduction_exchange_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
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

static void print_line(void *to, const char *line)
{
    fprintf(to, "%s\n", line);
}

enum rc reproduction_print(const struct reproduction *r, FILE *to)
{
    char held[128];
    struct table *t = reproduction_table(r);
    enum rc rc;

    TRY(table_print(t, to));
    reproduction_print_error(r, false, to);
    reproduction_print_error(r, true, to);
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
    table_close(&t);
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
    record_f64(record, "one_gpu_images_per_s", p->one_gpu_images_per_s);
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
    enum rc rc;

    TRY(used_cluster_record(record, c));
    record_text(record, "system", system_name(c));
    record_u64(record, "bucket_bytes", reproduction_bucket_bytes(r, c));
    record_text(record, "overlap", r->terms->overlap);
    TRY(report_end(to));
out:
    return rc;
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
