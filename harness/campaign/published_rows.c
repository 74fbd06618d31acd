/* SPDX-License-Identifier: Apache-2.0 */
/* published_rows.c - a table of published efficiencies: its head, and rows whose every field is checked. */
#include "harness/campaign/published_rows.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "allreduce/collective_list.h"
#include "harness/base/csv.h"
#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/exchange/consistency.h"
#include "harness/exchange/placement.h"
#include "harness/train/train.h"

enum column {
    MODEL,
    GPUS,
    MODE,
    EFFICIENCY,
    IMAGES,
    IMAGES_EACH,
    SERVERS,
    PLACEMENT,
    CONSISTENCY,
    TRANSPORT,
    GRADIENTS,
    PRECISION,
    CLUSTER,
    SYSTEM,
    GPUS_PER_HOST,
    RATE,
    BATCH,
    COUNTED,
    TABLE,
    SOURCE,
    NOTE,
    N_COLUMNS,
    N_NEEDED = EFFICIENCY
};

static const double MOST_EFFICIENCY = 1.5;

enum { MAX_FIELDS = 64, MAX_BATCH = 1 << 20, SHOWN_BYTES = 64 };

static const char *const column_name[N_COLUMNS + 1] = { "model",         "gpus",
                                                        "mode",          "efficiency",
                                                        "images_per_s",  "images_per_s_per_gpu",
                                                        "servers",       "placement",
                                                        "consistency",   "transport",
                                                        "gradients",     "precision",
                                                        "cluster",       "system",
                                                        "gpus_per_host", "one_gpu_images_per_s",
                                                        "batch",         "counted",
                                                        "table",         "source",
                                                        "note",          NULL };
static const char all_columns[] =
    "model, gpus, mode, efficiency, images_per_s, images_per_s_per_gpu, servers, "
    "placement, consistency, transport, gradients, precision, cluster, system, gpus_per_host, "
    "one_gpu_images_per_s, batch, counted, table, source, note";

struct reader { /* of a file */
    struct published_rows rows;
    int line;
    int place[N_COLUMNS];         /* of each column among the fields; -1: there is none */
    bool is_nameless[MAX_FIELDS]; /* of each field: its column has no name */
    bool ignores;                 /* columns with unknown names */
    int n_fields;
    char separator;
};

/* The mode that has of these caps exactly those. */
static const char *mode_with(unsigned caps)
{
    for (int i = 0; train_mode_at(i); i++) {
        const struct module *m = &train_mode_at(i)->module;
        if ((m->caps & (MODE_COLLECTIVE | MODE_SERVERS | MODE_ONE_WORKER)) == caps)
            return m->name;
    }
    return "";
}

const char *row_mode_name(enum row_mode mode)
{
    return mode_with(mode == ROW_COLLECTIVE ? MODE_COLLECTIVE : mode == ROW_NONE ? 0 : MODE_SERVERS);
}

bool row_mode_has_servers(enum row_mode mode)
{
    return mode == ROW_PS || mode == ROW_PS_ASYNC;
}

void published_rows_free(struct published_rows *p)
{
    free(p->path);
    free(p->row);
    *p = (struct published_rows){ .path = NULL };
}

/* RC_INVAL: what column c of this line has is wrong. */
static enum rc wrong(const struct reader *r, enum column c, const char *text, const char *right)
{
    char shown[SHOWN_BYTES];

    (void)text_has_control(shown, sizeof shown, text);
    return rc_raise(RC_INVAL, "%s:%d: %s: is \"%s\"; use %s", r->rows.path, r->line, column_name[c], shown, right);
}

static enum rc take_text(const struct reader *r, char *out, size_t n_bytes, enum column c, const char *text)
{
    if (strlen(text) >= n_bytes)
        return wrong(r, c, text, "a shorter text");
    snprintf(out, n_bytes, "%s", text);
    return RC_OK;
}

/* "" leaves *out. */
static enum rc take_int(const struct reader *r, int *out, enum column c, const char *text, uint64_t least,
                        uint64_t most)
{
    char right[80];
    uint64_t value;

    if (!*text)
        return RC_OK;
    snprintf(right, sizeof right, "a whole number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    if (!text_to_u64(text, &value) || value < least || value > most)
        return wrong(r, c, text, right);
    *out = (int)value;
    return RC_OK;
}

bool row_reducer_is_simulated(const char *name)
{
    const struct module *m;

    for (int i = 0; (m = collective_kind.at(i)); i++)
        if (strcmp(m->name, name) == 0)
            return !(m->refuses_world & WORLD_VIRTUAL_TIME);
    return false;
}

/* What is behind "NAME-" in text; NULL: it is not that. */
static const char *behind(const char *text, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(text, name, n) == 0 && text[n] == '-' ? text + n + 1 : NULL;
}

/* *out := lower[n_bytes], text in lower case. */
static const char *in_lower_case(char *lower, size_t n_bytes, const char *text)
{
    snprintf(lower, n_bytes, "%s", text);
    for (char *at = lower; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return lower;
}

static enum rc take_mode(const struct reader *r, struct published_row *row, const char *given)
{
    char lower[SHOWN_BYTES];
    const char *text = in_lower_case(lower, sizeof lower, given);
    const char *by = behind(text, row_mode_name(ROW_COLLECTIVE)), *how = behind(text, row_mode_name(ROW_PS));
    const char *reducer = by ? by : text;

    if (row_reducer_is_simulated(reducer)) {
        row->mode = ROW_COLLECTIVE;
        snprintf(row->reducer, sizeof row->reducer, "%s", reducer);
        return RC_OK;
    }
    if (how && (strcmp(how, "sync") == 0 || strcmp(how, "async") == 0)) {
        row->mode = strcmp(how, "sync") == 0 ? ROW_PS : ROW_PS_ASYNC;
        return RC_OK;
    }
    if (strcmp(text, mode_with(MODE_ONE_WORKER)) == 0) {
        row->mode = ROW_NONE;
        return RC_OK;
    }
    for (enum row_mode mode = ROW_COLLECTIVE; mode <= ROW_NONE; mode++)
        if (strcmp(text, row_mode_name(mode)) == 0) {
            row->mode = mode == ROW_PS_ASYNC ? ROW_PS : mode;
            return RC_OK;
        }
    return wrong(r, MODE, given, "ring, allreduce, halving-doubling, tree, ps, ps-sync, ps-async, none or single");
}

/* A number as spreadsheet programs write it: where commas do not separate, one may be the decimal point. */
static bool to_number(const struct reader *r, double *out, const char *text)
{
    char point[SHOWN_BYTES];

    if (strlen(text) >= sizeof point)
        return false;
    snprintf(point, sizeof point, "%s", text);
    char *comma = r->separator == ',' || strchr(point, '.') ? NULL : strchr(point, ',');
    if (comma)
        *comma = '.';
    return text_to_f64(point, out);
}

/* 0.97, or 97 %; "": NaN. */
static enum rc take_efficiency(const struct reader *r, double *out, const char *text)
{
    char number[SHOWN_BYTES];
    size_t n = strlen(text);

    *out = NAN;
    if (n == 0)
        return RC_OK;
    const bool is_percent = n > 0 && n < sizeof number && text[n - 1] == '%';

    snprintf(number, sizeof number, "%s", text);
    if (is_percent) {
        for (n--; n > 0 && number[n - 1] == ' ';)
            n--;
        number[n] = '\0';
    }
    const bool is_number = to_number(r, out, number);
    *out = is_number && is_percent ? *out / 100 : *out;
    if (!is_number || !(*out > 0) || *out > MOST_EFFICIENCY)
        return wrong(r, EFFICIENCY, text, "a ratio above 0, at most 1.5 (90 % is 0.9 or 90%)");
    return RC_OK;
}

/* Field c of the row; "": there is no such column. */
static const char *field_of(const struct reader *r, char *const *field, enum column c)
{
    return r->place[c] >= 0 ? field[r->place[c]] : "";
}

/* "": NaN. */
static enum rc take_rate(const struct reader *r, double *out, enum column c, const char *text)
{
    *out = NAN;
    if (*text && (!to_number(r, out, text) || !(*out >= 1e-3) || *out > 1e9))
        return wrong(r, c, text, "a number from 0.001 to 1e9, or nothing");
    return RC_OK;
}

/* What was measured: an efficiency, or a rate. */
static enum rc take_measured(const struct reader *r, struct published_row *row, char *const *field)
{
    double each;
    enum rc rc;

    TRY(take_efficiency(r, &row->efficiency_ratio, field_of(r, field, EFFICIENCY)));
    TRY(take_rate(r, &row->one_gpu_images_per_s, RATE, field_of(r, field, RATE)));
    TRY(take_rate(r, &row->images_per_s, IMAGES, field_of(r, field, IMAGES)));
    TRY(take_rate(r, &each, IMAGES_EACH, field_of(r, field, IMAGES_EACH)));
    if (isnan(row->images_per_s))
        row->images_per_s = each * row->n_gpus;
    if (isnan(row->efficiency_ratio) && isnan(row->images_per_s))
        return wrong(r, EFFICIENCY, "", "a ratio, or a number in column images_per_s or images_per_s_per_gpu");
out:
    return rc;
}

static enum rc take_choice(const struct reader *r, enum column c, const char *text, const char *const *choices,
                           const char *right)
{
    for (int i = 0; choices[i]; i++)
        if (strcmp(text, choices[i]) == 0)
            return RC_OK;
    return wrong(r, c, text, right);
}

static enum rc take_servers(const struct reader *r, struct published_row *row, const char *text)
{
    const bool has_servers = row_mode_has_servers(row->mode);
    enum rc rc;

    TRY(take_int(r, &row->n_servers, SERVERS, text, 0, 1024));
    if (has_servers && row->n_servers == 0)
        return wrong(r, SERVERS, text, "the number of servers, as the row is of a parameter server");
    if (!has_servers && row->n_servers > 0)
        return wrong(r, SERVERS, text, "nothing, or 0, as the row is of no parameter server");
out:
    return rc;
}

/* Where parameters are, and how gradients are ordered. */
static enum rc take_server_terms(const struct reader *r, struct published_row *row, char *const *field)
{
    const char *placement = field_of(r, field, PLACEMENT), *consistency = field_of(r, field, CONSISTENCY);
    struct placement_opts opts;
    struct consistency parsed;
    enum rc rc;

    if (*placement && placement_parse(&opts, placement) != RC_OK)
        return wrong(r, PLACEMENT, placement, "split, whole, round-robin, chunk:BYTES or nothing");
    if (*consistency && consistency_parse(&parsed, consistency) != RC_OK)
        return wrong(r, CONSISTENCY, consistency, "async, ssp:S, sync, sync:B or nothing");
    if ((*placement || *consistency) && !row_mode_has_servers(row->mode))
        return wrong(r, *placement ? PLACEMENT : CONSISTENCY, *placement ? placement : consistency,
                     "nothing, as the row is of no parameter server");
    TRY(take_text(r, row->placement, sizeof row->placement, PLACEMENT, placement));
    TRY(take_text(r, row->consistency, sizeof row->consistency, CONSISTENCY, consistency));
out:
    return rc;
}

bool row_model_is_named(const char *text)
{
    static const char usual[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    char all[sizeof usual + 3];

    snprintf(all, sizeof all, "%s._-", usual);
    return strchr(usual, text[0]) != NULL && text[strspn(text, all)] == '\0';
}

static enum rc take_system(const struct reader *r, struct published_row *row, const char *text)
{
    const bool has_servers = row_mode_has_servers(row->mode);

    if (!*text)
        return RC_OK;
    row->system = published_system_find(text);
    if (!row->system || row->mode == ROW_NONE || row->system->has_servers != has_servers)
        return wrong(r, SYSTEM, text,
                     row->mode == ROW_NONE ? "nothing, as the row exchanges nothing"
                     : has_servers         ? "one of " SYSTEMS_SERVERS ", or nothing, as the row has parameter servers"
                                           : "one of " SYSTEMS_RING ", or nothing, as the row has no parameter server");
    return RC_OK;
}

/* The columns that a row may leave empty. */
static enum rc take_terms(const struct reader *r, struct published_row *row, char *const *field)
{
    static const char *const protocols[] = { "", "rdma", "tcp", "grpc", "bare", NULL };
    static const char *const gradients[] = { "", "fp32", "fp16", "bf16", NULL };
    static const char *const precisions[] = { "", "fp32", "tf32", "bf16", "fp16", "fp8", NULL };
    static const char *const yes_no[] = { "", "yes", "no", NULL };
    enum rc rc;

    TRY(take_choice(r, TRANSPORT, field_of(r, field, TRANSPORT), protocols, "rdma, tcp, grpc, bare or nothing"));
    TRY(take_text(r, row->transport, sizeof row->transport, TRANSPORT, field_of(r, field, TRANSPORT)));
    TRY(take_choice(r, GRADIENTS, field_of(r, field, GRADIENTS), gradients, "fp32, fp16, bf16 or nothing"));
    if (strcmp(field_of(r, field, GRADIENTS), "fp32") != 0)
        TRY(take_text(r, row->gradients, sizeof row->gradients, GRADIENTS, field_of(r, field, GRADIENTS)));
    TRY(take_choice(r, PRECISION, field_of(r, field, PRECISION), precisions, "fp32, tf32, bf16, fp16, fp8 or nothing"));
    TRY(take_text(r, row->precision, sizeof row->precision, PRECISION, field_of(r, field, PRECISION)));
    TRY(take_text(r, row->cluster, sizeof row->cluster, CLUSTER, field_of(r, field, CLUSTER)));
    TRY(take_system(r, row, field_of(r, field, SYSTEM)));
    TRY(take_int(r, &row->n_gpus_per_host, GPUS_PER_HOST, field_of(r, field, GPUS_PER_HOST), 1, ROW_MAX_GPUS));
    TRY(take_int(r, &row->batch, BATCH, field_of(r, field, BATCH), 1, MAX_BATCH));
    TRY(take_choice(r, COUNTED, field_of(r, field, COUNTED), yes_no, "yes, no or nothing"));
    row->is_counted = strcmp(field_of(r, field, COUNTED), "no") != 0;
    TRY(take_text(r, row->table, sizeof row->table, TABLE, field_of(r, field, TABLE)));
out:
    return rc;
}

static enum rc take_row(struct reader *r, struct published_row *row, char *const *field)
{
    const char *model = field_of(r, field, MODEL), *gpus = field_of(r, field, GPUS);
    enum rc rc;

    if (!*model)
        return wrong(r, MODEL, model, "the name of a model");
    if (!row_model_is_named(model))
        return wrong(r, MODEL, model,
                     "letters, digits, '.', '_' and '-', a letter or digit first: files are called by it");
    TRY(take_text(r, row->model, sizeof row->model, MODEL, model));
    if (!*gpus)
        return wrong(r, GPUS, gpus, "a whole number from 1 to 8192");
    TRY(take_int(r, &row->n_gpus, GPUS, gpus, 1, ROW_MAX_GPUS));
    TRY(take_mode(r, row, field_of(r, field, MODE)));
    TRY(take_measured(r, row, field));
    TRY(take_servers(r, row, field_of(r, field, SERVERS)));
    TRY(take_server_terms(r, row, field));
    TRY(take_terms(r, row, field));
out:
    return rc;
}

static int column_of(const char *name)
{
    for (int c = 0; c < N_COLUMNS; c++)
        if (strcasecmp(name, column_name[c]) == 0)
            return c;
    return -1;
}

/* An error, or noted as ignored. */
static enum rc unknown_column(struct reader *r, const char *name)
{
    const size_t n = strlen(r->rows.ignored);
    const char *nearest = text_nearest(name, column_name);
    char shown[SHOWN_BYTES];

    (void)text_has_control(shown, sizeof shown, name);
    if (r->ignores) {
        snprintf(r->rows.ignored + n, sizeof r->rows.ignored - n, "%s%s", n > 0 ? ", " : "", shown);
        return RC_OK;
    }
    return rc_raise(RC_INVAL, "%s:%d: unknown column \"%s\"; use %s%s%s; --ignore-columns passes over unknown ones",
                    r->rows.path, r->line, shown, nearest ? nearest : "", nearest ? ", or another of " : "one of ",
                    all_columns);
}

static enum rc take_head(struct reader *r, char *text)
{
    char *field[MAX_FIELDS];
    r->separator = csv_separator(text);
    const int n = csv_cut(text, r->separator, field, MAX_FIELDS);

    if (n == 0 || n > MAX_FIELDS)
        return rc_raise(RC_INVAL, "%s:%d: is no head; use the names of columns: %s", r->rows.path, r->line,
                        all_columns);
    for (int c = 0; c < N_COLUMNS; c++)
        r->place[c] = -1;
    for (int i = 0; i < n; i++) {
        const int c = column_of(field[i]);
        r->is_nameless[i] = field[i][0] == '\0';
        if (r->is_nameless[i])
            continue;
        if (c < 0 && unknown_column(r, field[i]) != RC_OK)
            return RC_INVAL;
        if (c < 0)
            continue;
        if (r->place[c] >= 0)
            return rc_raise(RC_INVAL, "%s:%d: column %s is there twice; leave one out", r->rows.path, r->line,
                            column_name[c]);
        r->place[c] = i;
    }
    for (int c = 0; c < N_NEEDED; c++)
        if (r->place[c] < 0)
            return rc_raise(RC_INVAL, "%s:%d: there is no column %s, which is needed, as model, gpus and mode are",
                            r->rows.path, r->line, column_name[c]);
    if (r->place[EFFICIENCY] < 0 && r->place[IMAGES] < 0 && r->place[IMAGES_EACH] < 0)
        return rc_raise(RC_INVAL,
                        "%s:%d: no column says what was measured; use efficiency, images_per_s or "
                        "images_per_s_per_gpu",
                        r->rows.path, r->line);
    r->n_fields = n;
    return RC_OK;
}

static enum rc add_row(struct reader *r, char *text)
{
    struct published_row *more;
    char *field[MAX_FIELDS];
    const int n = csv_cut(text, r->separator, field, MAX_FIELDS);

    if (n == 0)
        return rc_raise(RC_INVAL, "%s:%d: a quote is not closed", r->rows.path, r->line);
    if (n != r->n_fields)
        return rc_raise(RC_INVAL, "%s:%d: has %s%d fields; use %d, as the head has", r->rows.path, r->line,
                        n > MAX_FIELDS ? "at least " : "", n, r->n_fields);
    for (int i = 0; i < n; i++)
        if (r->is_nameless[i] && field[i][0] != '\0')
            return rc_raise(RC_INVAL, "%s:%d: column %d is not empty, and has no name in the head; name it note",
                            r->rows.path, r->line, i + 1);
    if (r->rows.n_rows >= ROWS_MAX)
        return rc_raise(RC_INVAL, "%s:%d: has more than %d rows", r->rows.path, r->line, (int)ROWS_MAX);
    more = realloc(r->rows.row, (r->rows.n_rows + 1) * sizeof *more);
    if (!more)
        return rc_raise(RC_NOMEM, "%s: no memory", r->rows.path);
    r->rows.row = more;
    more[r->rows.n_rows] = (struct published_row){ .line = r->line };
    return take_row(r, &more[r->rows.n_rows++], field);
}

struct wrong_rows { /* one line for each, while there is room */
    char lines[RC_MESSAGE_BYTES - 32];
    size_t n_bytes, n_left_out;
};

static void note_wrong_row(struct wrong_rows *w)
{
    const size_t n_bytes = strlen(rc_message());

    if (w->n_bytes > 0 && w->n_bytes + 1 + n_bytes >= sizeof w->lines) {
        w->n_left_out++;
        return;
    }
    w->n_bytes += (size_t)snprintf(w->lines + w->n_bytes, sizeof w->lines - w->n_bytes, "%s%.*s",
                                   w->n_bytes > 0 ? "\n" : "", (int)sizeof w->lines - 1, rc_message());
    if (w->n_bytes >= sizeof w->lines)
        w->n_bytes = sizeof w->lines - 1;
}

static enum rc raise_wrong_rows(const struct wrong_rows *w)
{
    if (w->n_bytes == 0)
        return RC_OK;
    if (w->n_left_out > 0)
        return rc_raise(RC_INVAL, "%s\nand %zu more rows", w->lines, w->n_left_out);
    return rc_raise(RC_INVAL, "%s", w->lines);
}

/* All rows that are wrong are named, each by its first error. */
static enum rc read_lines(struct reader *r, FILE *from)
{
    struct wrong_rows wrong_rows = { .n_bytes = 0 };
    char *text = NULL;
    size_t n_room_bytes = 0;
    ssize_t n_bytes;
    enum rc rc = RC_OK;

    for (r->line = 1; (n_bytes = getline(&text, &n_room_bytes, from)) >= 0; r->line++) {
        if (strlen(text) != (size_t)n_bytes)
            FAIL(RC_INVAL, "%s:%d: has a zero byte; use text", r->rows.path, r->line);
        text[strcspn(text, "\r\n")] = '\0';
        if (text[0] == '#' || csv_is_empty(text, strlen(text)))
            continue;
        const bool is_row = r->n_fields > 0 && r->rows.n_rows < ROWS_MAX;
        const enum rc taken = r->n_fields == 0 ? take_head(r, text) : add_row(r, text);
        if (taken == RC_INVAL && is_row)
            note_wrong_row(&wrong_rows);
        else if (taken != RC_OK)
            TRY(taken);
    }
    TRY(raise_wrong_rows(&wrong_rows));
    if (r->rows.n_rows == 0)
        FAIL(RC_INVAL, "%s: has no rows; use a head and a row: model,gpus,mode,servers,efficiency", r->rows.path);
out:
    free(text);
    return rc;
}

double published_row_baseline_rate(const struct published_row *row)
{
    return row->baseline ? row->baseline->images_per_s / row->baseline->n_gpus : row->one_gpu_images_per_s;
}

static bool is_of_one_series(const struct published_row *a, const struct published_row *b)
{
    return strcmp(a->model, b->model) == 0 && strcmp(a->cluster, b->cluster) == 0 && strcmp(a->table, b->table) == 0 &&
           strcmp(a->precision, b->precision) == 0 && a->batch == b->batch;
}

static bool is_baseline_of(const struct published_row *one, const struct published_row *row)
{
    return one->n_gpus == 1 && !isnan(one->images_per_s) && is_of_one_series(one, row);
}

/* Can one be the baseline of the other, with more than one GPU: do they differ in GPUs and servers alone? */
static bool has_equal_terms(const struct published_row *a, const struct published_row *b)
{
    return isnan(a->efficiency_ratio) && isnan(a->one_gpu_images_per_s) && is_of_one_series(a, b) &&
           a->mode == b->mode && a->system == b->system && a->n_gpus_per_host == b->n_gpus_per_host &&
           strcmp(a->reducer, b->reducer) == 0 && strcmp(a->gradients, b->gradients) == 0 &&
           strcmp(a->transport, b->transport) == 0 && strcmp(a->placement, b->placement) == 0 &&
           strcmp(a->consistency, b->consistency) == 0;
}

/* How well a row of 1 GPU fits: first by its mode, then by other terms that both have. */
static int fit_of(const struct published_row *one, const struct published_row *row)
{
    const int mode = one->mode == row->mode ? 2 : one->mode == ROW_NONE ? 1 : 0;
    const int others = (strcmp(one->reducer, row->reducer) == 0) + (strcmp(one->gradients, row->gradients) == 0) +
                       (strcmp(one->transport, row->transport) == 0) + (one->system == row->system) +
                       (strcmp(one->placement, row->placement) == 0) +
                       (strcmp(one->consistency, row->consistency) == 0) + (one->n_servers == row->n_servers);

    return 1 + 8 * mode + others;
}

/* The rate of one GPU of a row that brings none: that of the row of 1 GPU that fits best. NaN: there is none. RC_INVAL:
 * several with different rates fit best. */
static enum rc find_baseline(struct reader *r, struct published_row *row)
{
    const struct published_row *best = NULL, *other = NULL;

    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const struct published_row *one = &r->rows.row[i];
        if (!is_baseline_of(one, row))
            continue;
        const int more = best ? fit_of(one, row) - fit_of(best, row) : 1;
        if (more > 0)
            other = NULL;
        else if (more == 0 && one->images_per_s != best->images_per_s)
            other = one;
        best = more > 0 ? one : best;
    }
    if (other)
        return rc_raise(
            RC_INVAL,
            "%s:%d: one_gpu_images_per_s: is \"\", and lines %d and %d have two rates of 1 GPU; give the rate, "
            "or tell the rows apart by precision, gradients, batch or table",
            r->rows.path, row->line, best->line, other->line);
    row->one_gpu_images_per_s = best ? best->images_per_s : NAN;
    return RC_OK;
}

/* The smallest row with equal terms, if there is a larger one. RC_INVAL: there are two different ones. */
static enum rc find_smallest(struct reader *r, struct published_row *row)
{
    const struct published_row *least = row, *other = NULL;
    bool is_one_size = true;

    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const struct published_row *own = &r->rows.row[i];
        if (!has_equal_terms(own, row))
            continue;
        is_one_size &= own->n_gpus == row->n_gpus;
        least = own->n_gpus < least->n_gpus ? own : least;
    }
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        const struct published_row *own = &r->rows.row[i];
        if (has_equal_terms(own, row) && own->n_gpus == least->n_gpus &&
            (own->n_servers != least->n_servers || fabs(own->images_per_s - least->images_per_s) > 0))
            other = own;
    }
    if (is_one_size)
        return RC_OK;
    if (other)
        return rc_raise(
            RC_INVAL,
            "%s:%d: one_gpu_images_per_s: is \"\", and lines %d and %d have two rates of %d GPUs, the "
            "fewest; give the rate of one GPU, or tell the rows apart by precision, gradients, batch or table",
            r->rows.path, row->line, least->line, other->line, least->n_gpus);
    row->baseline = least->n_gpus == row->n_gpus ? row : least;
    return RC_OK;
}

/* The rate of one GPU of all rows, and the baselines of rows that have images per second instead of an efficiency. */
static enum rc find_baselines(struct reader *r)
{
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        struct published_row *row = &r->rows.row[i];
        if (isnan(row->one_gpu_images_per_s) && find_baseline(r, row) != RC_OK)
            return RC_INVAL;
        if (!isnan(row->efficiency_ratio))
            continue;
        r->line = row->line;
        if (isnan(row->one_gpu_images_per_s) && find_smallest(r, row) != RC_OK)
            return RC_INVAL;
        if (isnan(published_row_baseline_rate(row)))
            return wrong(r, RATE, "",
                         "the rate of one GPU, or a row of 1 GPU with the same model, cluster, table, precision and "
                         "batch, or rows of one host and of more GPUs with all terms equal");
    }
    return RC_OK;
}

/* When all baselines are found, which are of rows without an efficiency. */
static enum rc divide_by_baselines(struct reader *r)
{
    for (size_t i = 0; i < r->rows.n_rows; i++) {
        struct published_row *row = &r->rows.row[i];
        if (!isnan(row->efficiency_ratio))
            continue;
        const double rate = published_row_baseline_rate(row);
        row->efficiency_ratio = row->images_per_s / (row->n_gpus * rate);
        if (row->efficiency_ratio > MOST_EFFICIENCY)
            return rc_raise(RC_INVAL,
                            "%s:%d: %g images/s of %d GPUs, over %g of one%s, is an efficiency of %.2f; use at most %g",
                            r->rows.path, row->line, row->images_per_s, row->n_gpus, rate,
                            row->baseline ? " of a host" : "", row->efficiency_ratio, MOST_EFFICIENCY);
    }
    return RC_OK;
}

enum rc published_rows_load(struct published_rows *out, const char *path, bool ignores)
{
    struct reader r = { .rows.path = strdup(path), .ignores = ignores };
    FILE *from = NULL;
    enum rc rc;

    if (!r.rows.path)
        FAIL(RC_NOMEM, "%s: no memory", path);
    TRY(file_open_text(&from, path, "a table of published efficiencies (CSV), or horovod-512,"));
    TRY(read_lines(&r, from));
    TRY(find_baselines(&r));
    TRY(divide_by_baselines(&r));
    *out = r.rows;
    r.rows = (struct published_rows){ .path = NULL };
out:
    if (from)
        fclose(from);
    published_rows_free(&r.rows);
    return rc;
}
