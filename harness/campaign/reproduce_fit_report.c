/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_fit_report.c - the fitted values, and the errors of rows that the fit saw and did not see. */
#include <math.h>
#include <string.h>

#include "harness/campaign/reproduce_fit.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/record.h"

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

void reproduce_fit_lines(const struct reproduction *r, void (*print)(void *arg, const char *line), void *arg)
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

enum rc reproduce_fit_write(struct report *to, const struct reproduction *r)
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
