/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_answer.c - what a terminal shows of published efficiencies: how wrong predictions are, and one table. */
#include <math.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/table.h"
#include "harness/world/stop.h"

static const double HOT_RATIO = 1.5; /* of the fullest server over the mean */

/* --- the answer --- */

void reproduction_print_error(const struct reproduction *r, bool has_servers, FILE *to)
{
    const struct reproduce_error e = reproduction_error(r, has_servers);

    if (e.n_rows == 0)
        return;
    fprintf(to,
            "%s: mean absolute error %.1f points, a factor of %.2f in throughput, over %zu row%s%s; worst %.1f points "
            "(%s, %d GPUs, %s, line %d)\n",
            has_servers ? "parameter server" : "ring", e.mean_points, e.mean_factor, e.n_rows, e.n_rows == 1 ? "" : "s",
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

void reproduction_fit_text(char *out, size_t n_bytes, const struct reproduction *r)
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

static void tell_how_sure(const struct reproduction *r, FILE *to)
{
    char text[REPRODUCE_FIT_BYTES], held[128];

    reproduction_fit_text(text, sizeof text, r);
    reproduce_fit_lines(r, print_sentence, to);
    reproduction_held_text(held, sizeof held, r);
    if (held[0])
        print_sentence(to, held);
    fprintf(to, "%s\n", text);
}

/* --- the table --- */

static void print_row(struct table *t, const struct reproduction *r, const struct point_of_row *p)
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
    table_cell(t, "%s", p->is_fitted ? "fit" : p->row->is_counted ? "yes" : "no");
    table_cell(t, "%d", p->row->line);
}

static enum rc print_table(const struct reproduction *r, FILE *to)
{
    static const struct column column[] = {
        { "model", ALIGN_LEFT },   { "GPUs", ALIGN_RIGHT },   { "mode", ALIGN_LEFT },       { "servers", ALIGN_RIGHT },
        { "network", ALIGN_LEFT }, { "", ALIGN_RIGHT },       { "predicted", ALIGN_RIGHT }, { "band, %", ALIGN_RIGHT },
        { "error", ALIGN_RIGHT },  { "counted", ALIGN_LEFT }, { "line", ALIGN_RIGHT }
    };
    const struct reproduction_columns few = { column, sizeof column / sizeof *column, 7, print_row };
    struct table *t = reproduction_table_of(r, &few);
    enum rc rc;

    TRY(table_print(t, to));
out:
    table_close(&t);
    return rc;
}

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
    const size_t n = cluster_assumed(&c->cluster, key);
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

struct lines { /* each once */
    FILE *to;
    char last[8][256];
    int n;
};

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
