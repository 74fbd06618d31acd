/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_errors.c - how far published efficiencies lie from their predictions: the own error of the predictor, in no
 * constant of a description. scripts/measure prediction writes the rows, results/published/errors.csv, which is
 * compiled in; see known_errors.h.
 */
#include "harness/campaign/known_errors.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/csv.h"
#include "harness/base/text.h"

extern const char known_errors_text[]; /* results/published/errors.csv */

static const char header[] = "exchange,hosts,table,line,cluster,error_points,fit_points";
enum { N_FIELDS = 7 };
static const double SHARE = 0.8; /* of rows in a range */

/* --- reading --- */

static bool copy_name(char out[KNOWN_ERRORS_NAME_BYTES], const char *name)
{
    return name[0] && snprintf(out, KNOWN_ERRORS_NAME_BYTES, "%s", name) < KNOWN_ERRORS_NAME_BYTES;
}

/* text: ended by an end of line or of the text */
static bool read_row(struct known_error *out, const char *text)
{
    char line[256], *field[N_FIELDS];
    const size_t n_bytes = strcspn(text, "\n");
    uint64_t number;
    double points, of_fit = NAN;

    if (n_bytes >= sizeof line)
        return false;
    snprintf(line, sizeof line, "%.*s", (int)n_bytes, text);
    if (csv_cut(line, ',', field, N_FIELDS) != N_FIELDS)
        return false;
    const int exchange = text_choice("collective|servers", field[0]), hosts = text_choice("one|several", field[1]);
    if (exchange < 0 || hosts < 0 || !copy_name(out->table, field[2]) || !text_to_plain_u64(field[3], &number) ||
        !copy_name(out->cluster, field[4]) || !text_to_f64(field[5], &points) ||
        (field[6][0] && (!text_to_f64(field[6], &of_fit) || of_fit < 0)))
        return false;
    out->has_servers = exchange == 1;
    out->is_on_several = hosts == 1;
    out->ratio = points / 100;
    out->fit_ratio = of_fit / 100;
    return true;
}

enum rc known_errors_read(struct known_errors *out, const char *text)
{
    struct known_errors e = { .n_rows = 0 };
    bool has_header = false;
    size_t n_lines = 0;
    enum rc rc = RC_OK;

    for (const char *at = text; *at; at++)
        n_lines += *at == '\n';
    e.row = calloc(n_lines + 1, sizeof *e.row);
    if (!e.row)
        return rc_raise(RC_NOMEM, "no memory for %zu known errors", n_lines);
    int line = 1;
    for (const char *at = text; *at; line++) {
        if (*at != '#' && !has_header)
            has_header = strncmp(at, header, sizeof header - 1) == 0 && at[sizeof header - 1] == '\n';
        else if (*at != '#' && !read_row(&e.row[e.n_rows++], at))
            has_header = false;
        if (*at != '#' && !has_header)
            FAIL(RC_INVAL, "errors.csv:%d: must be as scripts/measure prediction writes it: %s", line, header);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    if (!has_header || e.n_rows == 0)
        FAIL(RC_INVAL, "errors.csv:%d: must have the line %s, and rows below it", line, header);
    *out = e;
    e.row = NULL;
out:
    free(e.row);
    return rc;
}

enum rc known_errors_open(struct known_errors *out)
{
    return known_errors_read(out, known_errors_text);
}

void known_errors_close(struct known_errors *e)
{
    free(e->row);
    *e = (struct known_errors){ .n_rows = 0 };
}

/* --- which count --- */

/* E3, E5 */
static bool is_same_table(const struct known_error *a, const struct known_error *b, bool is_of_fits)
{
    return strcmp(a->table, b->table) == 0 && strcmp(a->cluster, b->cluster) == 0 &&
           (!is_of_fits || a->is_on_several == b->is_on_several);
}

/* Which rows count: some of `of`, with more of them where these are of too few tables. */
struct choice {
    const struct known_errors_of *of;
    bool is_of_fits, has_both_exchanges;
};

/* E1, E2, E5 */
static bool counts(const struct known_error *row, const struct choice *c)
{
    const bool is_alike =
        row->is_on_several == c->of->is_on_several && (c->has_both_exchanges || row->has_servers == c->of->has_servers);

    return !isnan(row->fit_ratio) == c->is_of_fits && (c->is_of_fits || is_alike) &&
           strcmp(row->cluster, c->of->cluster) != 0;
}

struct weighed {
    double error, weight;
};

static int by_error(const void *a, const void *b)
{
    const struct weighed *x = a, *y = b;

    return (x->error > y->error) - (x->error < y->error);
}

/* out[n_rows] := those that count, each with its weight (E3). */
static void weigh(struct weighed *out, struct known_errors_range *range, const struct known_errors *e,
                  const struct choice *c)
{
    range->n_rows = range->n_tables = 0;
    for (size_t i = 0; i < e->n_rows; i++) {
        size_t n_alike = 0, n_before = 0;
        if (!counts(&e->row[i], c))
            continue;
        for (size_t k = 0; k < e->n_rows; k++) {
            const bool is_alike = counts(&e->row[k], c) && is_same_table(&e->row[i], &e->row[k], c->is_of_fits);
            n_alike += is_alike;
            n_before += is_alike && k < i;
        }
        const double unit = c->is_of_fits ? fmax(KNOWN_ERRORS_OF_FIT, e->row[i].fit_ratio) : 1;
        range->n_tables += n_before == 0;
        out[range->n_rows++] = (struct weighed){ .error = fabs(e->row[i].ratio) / unit, .weight = 1 / (double)n_alike };
    }
}

/* E4. w[n] is sorted, n > 0. */
static double most_of(const struct weighed *w, size_t n, size_t n_tables)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += w[i].weight;
        if (sum >= SHARE * (double)(n_tables + 1) - 1e-9)
            return w[i].error;
    }
    return w[n - 1].error;
}

enum rc known_errors_find(struct known_errors_range *out, const struct known_errors *e,
                          const struct known_errors_of *of)
{
    struct weighed *w = calloc(e->n_rows + 1, sizeof *w);
    struct known_errors_range range = { .most = NAN };
    const struct choice choice[] = { { of, true, true }, { of, false, false }, { of, false, true } };
    const size_t n_choices = sizeof choice / sizeof *choice;

    if (!w)
        return rc_raise(RC_NOMEM, "no memory for known errors");
    for (size_t i = of->is_fitted ? 0 : 1; i < n_choices && range.n_tables < KNOWN_ERRORS_LEAST; i++) {
        weigh(w, &range, e, &choice[i]);
        range.is_of_fits = choice[i].is_of_fits;
        range.has_both_exchanges = choice[i].has_both_exchanges;
    }
    if (range.n_rows > 0) {
        qsort(w, range.n_rows, sizeof *w, by_error);
        range.most = most_of(w, range.n_rows, range.n_tables);
    }
    free(w);
    *out = range;
    return RC_OK;
}
