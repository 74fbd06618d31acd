/* SPDX-License-Identifier: Apache-2.0 */
/* predict_report.c - predictions as a table, in words, as records and as a page. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/predict.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

static double low_s(const struct predicted_size *size)
{
    return size->by.step_s * exp(-size->band_log);
}

static double high_s(const struct predicted_size *size)
{
    return size->by.step_s * exp(size->band_log);
}

static void seconds_cell(struct table *t, bool is_known, double seconds)
{
    is_known ? table_cell(t, "%.4g", 1e3 * seconds) : table_cell(t, "-");
}

static void size_cells(struct table *t, const struct prediction *p, const struct predicted_setting *s,
                       const struct predicted_size *size)
{
    const double measured_s = size->point ? prediction_measured(size).step_s : NAN;
    const double error_percent = round(1000 * (size->by.step_s / measured_s - 1)) / 10 + 0.0; /* -0 becomes 0 */

    table_cell(t, "%s", s->name);
    table_cell(t, "%d", size->n_workers);
    seconds_cell(t, size->point != NULL, measured_s);
    seconds_cell(t, true, prediction_simulated(p, size, VARIANT_AS_MEASURED).step_s);
    seconds_cell(t, size->is_predicted, size->by.step_s);
    size->is_predicted ? table_cell(t, "%.4g to %.4g", 1e3 * low_s(size), 1e3 * high_s(size)) : table_cell(t, "-");
    size->is_predicted && size->point ? table_cell(t, "%+.1f %%", error_percent) : table_cell(t, "-");
}

static void size_row(struct table *t, const struct prediction *p, const struct predicted_setting *s,
                     const struct predicted_size *size)
{
    size_cells(t, p, s, size);
    table_cell(t, "%s", !size->point ? "" : size->is_predicted ? "check: by the smaller ones" : "measured");
}

static struct table *open_table(const struct prediction *p)
{
    static const struct column column[] = { { "setting", ALIGN_LEFT },        { "workers", ALIGN_RIGHT },
                                            { "measured, ms", ALIGN_RIGHT },  { "simulated, ms", ALIGN_RIGHT },
                                            { "predicted, ms", ALIGN_RIGHT }, { "band, ms", ALIGN_RIGHT },
                                            { "error", ALIGN_RIGHT },         { "", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (size_t i = 0; i < p->n_settings; i++) {
        if (i > 0)
            table_rule(t);
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            size_row(t, p, &p->setting[i], &p->setting[i].size[k]);
    }
    return t;
}

/* What the figures are, a line each. The caller frees. has_checks: also how far off each check was. */
static char *notes(const struct prediction *p, bool has_checks)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&p->cluster, key);
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    if (!to)
        return NULL;
    fprintf(to, "step: the mean of a worker; simulated: on %s, as its links and processors were measured\n",
            p->terms->cluster);
    if (p->n_cut > 0)
        fprintf(to,
                "left out: %zu point%s with stages or shards; gradmark simulate --layout WxSxK tells what a layout "
                "takes\n",
                p->n_cut, p->n_cut == 1 ? "" : "s");
    for (size_t i = 0; i < p->n_settings; i++) {
        const struct predicted_setting *s = &p->setting[i];
        const struct predicted_size *check = &s->size[s->n_measured - 1], *last = &s->size[s->n_sizes - 1];
        if (has_checks)
            fprintf(to, "%s: with %d workers the prediction is %.1f %% off, made from the %zu smaller size%s alone\n",
                    s->name, check->n_workers, 100 * fabs(prediction_check_error(s)), s->n_measured - 1,
                    s->n_measured == 2 ? "" : "s");
        if (last->by.is_whole)
            fprintf(to, "%s: with %d workers measured steps take %.3f times the simulated ones\n", s->name,
                    check->n_workers, last->by.exchange_ratio);
        else
            fprintf(to,
                    "%s: with %d workers computing takes %.3f times as long as simulated, what is exposed of the "
                    "exchange %.3f times\n",
                    s->name, check->n_workers, last->by.compute_ratio, last->by.exchange_ratio);
    }
    fprintf(
        to,
        "predicted: the simulated parts times these ratios. band: from four independent parts: the spread between "
        "sizes (at "
        "as many doublings); a quarter of what steps took longer than simulated, for every doubling of workers "
        "(assumed); the 95 %% interval over launches; and links whose rate is %.1f %% off, the largest residual of the "
        "calibration's fit of long messages. Assumed values of the cluster are not in it\n",
        100 * p->residual_ratio);
    fprintf(to, "assumed of the cluster:");
    for (size_t i = 0; i < n_assumed; i++)
        fprintf(to, "%s %s", i > 0 ? "," : "", cluster_keys[key[i]].name);
    fputc('\n', to);
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

enum rc prediction_print(const struct prediction *p, FILE *to)
{
    struct table *t = NULL;
    char *text = notes(p, true);
    enum rc rc = RC_OK;

    if (!text)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    t = open_table(p);
    TRY(table_print(t, to));
    fputs(text, to);
    TRY(output_flush(to));
out:
    table_close(&t);
    free(text);
    return rc;
}

/* --- on a terminal --- */

enum { MOST_ANSWERED = 2 /* settings */ };
static const double WIDE_RATIO = 1.5; /* of the ends of a band */

/* What one setting takes with the most workers asked for, and how far off the check was. */
static void tell_setting(const struct predicted_setting *s, FILE *to)
{
    const struct predicted_size *check = &s->size[s->n_measured - 1], *last = &s->size[s->n_sizes - 1];

    fprintf(to, "%s: with %d workers a step takes %.4g ms (%.4g to %.4g); with %d it takes %.4g, measured.\n", s->name,
            last->n_workers, 1e3 * last->by.step_s, 1e3 * low_s(last), 1e3 * high_s(last), check->n_workers,
            1e3 * prediction_measured(check).step_s);
    fprintf(to, "  Check: with %d workers the prediction is %.1f %% off, made from the %zu smaller size%s alone.",
            check->n_workers, 100 * fabs(prediction_check_error(s)), s->n_measured - 1, s->n_measured == 2 ? "" : "s");
    if (high_s(last) / low_s(last) > WIDE_RATIO)
        fprintf(to, " The band is wide: measure more launches, or more numbers of workers.");
    fputc('\n', to);
}

static enum rc print_short_table(const struct prediction *p, FILE *to)
{
    static const struct column column[] = { { "setting", ALIGN_LEFT },       { "workers", ALIGN_RIGHT },
                                            { "measured ms", ALIGN_RIGHT },  { "simulated ms", ALIGN_RIGHT },
                                            { "predicted ms", ALIGN_RIGHT }, { "band, ms", ALIGN_RIGHT },
                                            { "error", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);
    enum rc rc;

    for (size_t i = 0; i < p->n_settings; i++) {
        if (i > 0)
            table_rule(t);
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            size_cells(t, p, &p->setting[i], &p->setting[i].size[k]);
    }
    TRY(table_print(t, to));
out:
    table_close(&t);
    return rc;
}

enum rc prediction_print_answer(const struct prediction *p, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    for (size_t i = 0; i < p->n_settings && i < MOST_ANSWERED; i++)
        tell_setting(&p->setting[i], text.lines);
    if (p->n_settings > MOST_ANSWERED)
        fprintf(text.lines, "%zu more settings are in the table.\n", p->n_settings - MOST_ANSWERED);
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(print_short_table(p, to));
    TRY(output_flush(to));
out:
    return rc;
}

enum rc prediction_print_rest(const struct prediction *p, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    char *about = notes(p, p->n_settings > MOST_ANSWERED);
    enum rc rc = RC_OK;

    if (!about)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    TRY(terminal_text_open(&text));
    fprintf(text.lines, "\n%s", about);
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    free(about);
    return rc;
}

/* --- records --- */

static enum rc write_size(struct report *to, const struct prediction *p, const struct predicted_setting *s,
                          const struct predicted_size *size)
{
    const struct point *like = s->size[0].point;
    const struct step_times simulated = prediction_simulated(p, size, VARIANT_AS_MEASURED);
    const struct step_times measured = size->point ? prediction_measured(size) : (struct step_times){ NAN, NAN };
    const double none = NAN;
    struct record *r = report_begin(to, !size->point ? "prediction" : size->is_predicted ? "check" : "size");

    record_text(r, "setting", s->name);
    record_text(r, "model", like->workload->module.name);
    record_text(r, "mode", like->mode->name);
    record_i64(r, "workers_count", size->n_workers);
    record_i64(r, "servers_count", like->n_servers);
    record_u64(r, "launches_count", size->point ? size->point->n_launches : 0);
    record_f64(r, "measured_step_s", measured.step_s);
    record_f64(r, "measured_compute_s", measured.compute_s);
    record_f64(r, "simulated_step_s", simulated.step_s);
    record_f64(r, "simulated_compute_s", simulated.compute_s);
    record_f64(r, "predicted_step_s", size->is_predicted ? size->by.step_s : none);
    record_f64(r, "low_step_s", size->is_predicted ? low_s(size) : none);
    record_f64(r, "high_step_s", size->is_predicted ? high_s(size) : none);
    record_f64(r, "error_ratio", size->is_predicted && size->point ? prediction_check_error(s) : none);
    record_f64(r, "compute_ratio", size->is_predicted ? size->by.compute_ratio : none);
    record_f64(r, "exchange_ratio", size->is_predicted ? size->by.exchange_ratio : none);
    record_f64(r, "spread_log", size->is_predicted ? size->by.spread_log : none);
    record_f64(r, "drift_log", size->is_predicted ? size->by.drift_log : none);
    record_f64(r, "calibration_log", size->is_predicted ? size->calibration_log : none);
    record_f64(r, "launches_log", size->measured_log);
    return report_end(to);
}

enum rc prediction_write(const struct prediction *p, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < p->n_settings; i++)
        for (size_t k = 0; k < p->setting[i].n_sizes; k++)
            TRY(write_size(to, p, &p->setting[i], &p->setting[i].size[k]));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* --- page --- */

enum rc prediction_page(const struct prediction *p, const char *path)
{
    struct html page = { .file.stream = NULL };
    struct table *t = NULL;
    char *text = notes(p, true);
    FILE *to;
    enum rc rc = RC_OK;

    if (!text)
        FAIL(RC_NOMEM, "no memory for what predictions are");
    t = open_table(p);
    TRY(html_open(&page, path, p->runs.name));
    to = page.file.stream;
    html_element(to, "p", NULL,
                 "Steps of more workers than were measured, predicted by simulation on the cluster as calibrated.");
    TRY(html_table(to, t, "measured, simulated and predicted steps"));
    html_lines(to, NULL, text);
    html_element(to, "h2", NULL, "The cluster");
    fputs("<ul>\n", to);
    for (int k = 0; k < CLUSTER_N_KEYS; k++) {
        char value[64];
        cluster_key_format(&p->cluster, k, value, sizeof value);
        if (cluster_key_matters(&p->cluster, k))
            html_element(to, "li", NULL, "%s = %s%s%s: %s", cluster_keys[k].name, value,
                         cluster_keys[k].unit[0] ? " " : "", cluster_keys[k].unit, p->sources->text[k]);
    }
    fputs("</ul>\n", to);
    TRY(html_commit(&page));
out:
    html_discard(&page);
    table_close(&t);
    free(text);
    return rc;
}
