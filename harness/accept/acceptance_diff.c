/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_diff.c - two acceptance tests: what changed from A to B. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/node_figures.h"
#include "harness/accept/report_words.h"
#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/measure/independent.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

enum { FEW_NODES = 32 };
static const double SMALL_CHANGE_RATIO = 0.05; /* of more nodes, those that changed by less are counted only; of fewer,
                                                  those of them whose interval has 1 inside */

struct diff {
    const struct acceptance *a, *b;
    bool all_rows;
    FILE *to;
    struct report *records; /* NULL: none are written */
    int n_worse, n_figures, n_left_out;
};

/* --- criteria --- */

static const struct criterion *criterion_of(const struct acceptance *x, const struct criterion *like)
{
    for (int i = 0; i < x->n_criteria; i++)
        if (x->criterion[i].stage == like->stage && strcmp(x->criterion[i].name, like->name) == 0)
            return &x->criterion[i];
    return NULL;
}

static enum rc write_change(const struct diff *d, const struct criterion *a, const struct criterion *b,
                            const char *b_is)
{
    if (!d->records)
        return RC_OK;
    struct record *r = report_begin(d->records, "criterion");
    record_text(r, "stage", accept_stage_name(a ? a->stage : b->stage));
    record_text(r, "criterion", a ? a->name : b->name);
    record_text(r, "a_outcome", a ? accept_outcome_name(a->outcome) : NULL);
    record_text(r, "b_outcome", b ? accept_outcome_name(b->outcome) : NULL);
    record_f64(r, "a_measured", a ? a->measured : NAN);
    record_f64(r, "b_measured", b ? b->measured : NAN);
    record_text(r, "unit", a ? a->unit : b->unit);
    record_text(r, "b_is", b_is);
    return report_end(d->records);
}

/* x NULL: the test has no such criterion. */
static void add_side(struct table *t, const struct criterion *x)
{
    char text[QUANTITY_BYTES] = "-";

    if (x)
        quantity_text(text, sizeof text, x->measured, x->unit);
    table_cell(t, "%s", x ? accept_outcome_name(x->outcome) : "not asked");
    table_cell(t, "%s", text);
}

static enum rc add_change(struct diff *d, struct table *t, const struct criterion *a, const struct criterion *b)
{
    const bool is_worse =
        a && b && a->outcome == OUTCOME_PASS && (b->outcome == OUTCOME_FAIL || b->outcome == OUTCOME_NO_DATA);
    const bool is_better =
        a && b && b->outcome == OUTCOME_PASS && a->outcome != OUTCOME_SKIPPED && a->outcome != OUTCOME_NO_LIMIT;
    char name[ACCEPT_NAME_BYTES];
    enum rc rc;

    d->n_worse += is_worse;
    line_text(name, sizeof name, a ? a->name : b->name);
    table_cell(t, "%s", accept_stage_name(a ? a->stage : b->stage));
    table_cell(t, "%s", name);
    add_side(t, a);
    add_side(t, b);
    table_cell(t, "%s", is_worse ? "worse" : is_better ? "better" : "-");
    TRY(write_change(d, a, b, is_worse ? "worse" : is_better ? "better" : NULL));
out:
    return rc;
}

static enum rc diff_criteria(struct diff *d)
{
    static const struct column column[] = { { "stage", ALIGN_LEFT }, { "criterion", ALIGN_LEFT },
                                            { "A", ALIGN_LEFT },     { "figure", ALIGN_RIGHT },
                                            { "B", ALIGN_LEFT },     { "figure", ALIGN_RIGHT },
                                            { "B is", ALIGN_LEFT } };
    struct table *t = table_open(column, N_OF(column));
    enum rc rc;

    for (int i = 0; i < d->a->n_criteria; i++) {
        const struct criterion *a = &d->a->criterion[i], *b = criterion_of(d->b, a);
        if (!b || a->outcome != b->outcome)
            TRY(add_change(d, t, a, b));
    }
    for (int i = 0; i < d->b->n_criteria; i++)
        if (!criterion_of(d->a, &d->b->criterion[i]))
            TRY(add_change(d, t, NULL, &d->b->criterion[i]));
    TRY(table_check(t));
    fputs(table_n_rows(t) > 0 ? "\nCriteria with another outcome:\n" : "\nEvery criterion has the same outcome.\n",
          d->to);
    if (table_n_rows(t) > 0)
        TRY(table_print_parts(t, 2, d->to));
out:
    table_close(&t);
    return rc;
}

/* --- findings --- */

/* By names, as nodes may have other numbers; a link that is slow both ways is the same from either end. */
static bool blames_same(const struct acceptance *x, const struct finding *f, const struct acceptance *y,
                        const struct finding *g)
{
    char mine[SUBJECT_BYTES], other[SUBJECT_BYTES];
    struct finding turned = *g;

    if (f->subject != g->subject || f->stage != g->stage || strcmp(f->metric, g->metric) != 0)
        return false;
    accept_subject_text(mine, sizeof mine, x, f);
    accept_subject_text(other, sizeof other, y, g);
    if (strcmp(mine, other) == 0)
        return true;
    turned.a = g->b;
    turned.b = g->a;
    if (g->subject == SUBJECT_LINK && g->both_ways)
        accept_subject_text(other, sizeof other, y, &turned);
    return strcmp(mine, other) == 0;
}

static enum rc write_finding(const struct diff *d, const struct acceptance *x, const struct finding *f)
{
    char subject[SUBJECT_BYTES];

    if (!d->records)
        return RC_OK;
    accept_subject_text(subject, sizeof subject, x, f);
    struct record *r = report_begin(d->records, "finding");
    record_text(r, "found_in", x == d->a ? "a" : "b");
    record_text(r, "subject", subject);
    record_text(r, "stage", accept_stage_name(f->stage));
    record_text(r, "metric", f->metric);
    return report_end(d->records);
}

/* Findings of x that y has not, a line each: *n_gone of them. */
static enum rc tell_gone(const struct diff *d, const struct acceptance *x, const struct acceptance *y,
                         const char *title, FILE *to, int *n_gone)
{
    enum rc rc = RC_OK;

    *n_gone = 0;
    for (int i = 0; i < x->n_findings; i++) {
        bool is_in_both = false;
        for (int k = 0; k < y->n_findings && !is_in_both; k++)
            is_in_both = blames_same(x, &x->finding[i], y, &y->finding[k]);
        if (is_in_both)
            continue;
        fprintf(to, "%s  ", (*n_gone)++ == 0 ? title : "");
        finding_print(x, &x->finding[i], to);
        fputs(".\n", to);
        TRY(write_finding(d, x, &x->finding[i]));
    }
out:
    return rc;
}

static enum rc diff_findings(struct diff *d)
{
    struct terminal_text text;
    int n_new, n_gone;
    enum rc rc;

    TRY(terminal_text_open(&text));
    TRY(tell_gone(d, d->b, d->a, "\nFound in B alone:\n", text.lines, &n_new));
    TRY(tell_gone(d, d->a, d->b, "\nFound in A alone:\n", text.lines, &n_gone));
    d->n_worse += n_new;
    if (n_new + n_gone == 0)
        fprintf(text.lines, "\nThe findings are the same: %d.\n", d->a->n_findings);
    TRY(terminal_text_close(&text, d->to));
out:
    return rc;
}

/* --- rates --- */

static int node_of_name(const struct acceptance *x, const char *name)
{
    for (int i = 0; i < x->n_nodes; i++)
        if (strcmp(x->node[i].name, name) == 0)
            return i;
    return -1;
}

/* Measured once, there is a ratio without an interval. */
static void add_ratio(struct table *t, double a, double b, double low, double high)
{
    if (isnan(low) || isnan(high))
        table_cell(t, "-");
    else
        table_cell(t, "%.3f to %.3f", low, high);
    if (a > 0 && !isnan(b))
        table_cell(t, "%.3f", b / a);
    else
        table_cell(t, "-");
}

static void add_pair_of(struct table *t, const char *what, const char *which, double a, double b, const char *unit)
{
    char of_a[QUANTITY_BYTES], of_b[QUANTITY_BYTES], name[ACCEPT_NAME_BYTES];

    quantity_text(of_a, sizeof of_a, a, unit);
    quantity_text(of_b, sizeof of_b, b, unit);
    line_text(name, sizeof name, which);
    table_cell(t, "%s", what);
    table_cell(t, "%s", name);
    table_cell(t, "%s", of_a);
    table_cell(t, "%s", of_b);
}

/* Is a figure not in the table? Counts it. low, high: of the ratio; NaN: it has no interval. */
static bool is_left_out(struct diff *d, double a, double b, const char *unit, double low, double high)
{
    char of_a[QUANTITY_BYTES], of_b[QUANTITY_BYTES];
    quantity_text(of_a, sizeof of_a, a, unit);
    quantity_text(of_b, sizeof of_b, b, unit);
    const bool is_small = fabs(b / a - 1) < SMALL_CHANGE_RATIO || strcmp(of_a, of_b) == 0; /* as of 0 and 0 */
    const bool is_shown_to_differ = d->a->n_nodes <= FEW_NODES && (low > 1 || high < 1);
    const bool is_left_out = !d->all_rows && is_small && !is_shown_to_differ;

    d->n_figures++;
    d->n_left_out += is_left_out;
    return is_left_out;
}

static enum rc write_figure(const struct diff *d, const char *what, const char *which, double a, double b,
                            const char *unit, double low, double high)
{
    if (!d->records)
        return RC_OK;
    struct record *r = report_begin(d->records, "figure");
    record_text(r, "what", what);
    record_text(r, "of", which);
    record_f64(r, "a", a);
    record_f64(r, "b", b);
    record_text(r, "unit", unit);
    record_f64(r, "b_over_a_ratio", a > 0 ? b / a : NAN);
    record_f64(r, "b_over_a_low_ratio", low);
    record_f64(r, "b_over_a_high_ratio", high);
    return report_end(d->records);
}

/* A row, where the figure differs. */
static enum rc add_figure(struct diff *d, struct table *t, const char *what, const char *which, double a, double b,
                          const char *unit, double low, double high)
{
    enum rc rc;

    TRY(write_figure(d, what, which, a, b, unit, low, high));
    if (is_left_out(d, a, b, unit, low, high))
        goto out;
    add_pair_of(t, what, which, a, b, unit);
    add_ratio(t, a, b, low, high);
out:
    return rc;
}

/* Rates of one direction of a node, with the interval of their ratio over pairs and repeats. */
static enum rc add_node_rate(struct diff *d, struct table *t, int i, int k, bool is_out, double *room[2])
{
    const size_t n_a = node_rates(room[0], d->a, i, is_out);
    const size_t n_b = node_rates(room[1], d->b, k, is_out);
    struct contrast c = { .ratio_low = NAN, .ratio_high = NAN };

    if (n_a == 0 || n_b == 0)
        return RC_OK;
    if (n_a > 1 && n_b > 1)
        c = compare_independent(room[1], n_b, room[0], n_a);
    const double a = median_of_numbers(room[0], n_a), b = median_of_numbers(room[1], n_b);
    return add_figure(d, t, is_out ? "rate out" : "rate in", d->a->node[i].name, a, b, "byte/s", c.ratio_low,
                      c.ratio_high);
}

static enum rc add_nodes(struct diff *d, struct table *t)
{
    double *room[2] = { NULL, NULL };
    enum rc rc = RC_OK;

    for (int s = 0; s < 2; s++) {
        const struct tournament *of = s ? &d->b->tournament : &d->a->tournament;
        room[s] = malloc(((size_t)of->n_repeats * (size_t)of->n_nodes + 1) * sizeof *room[s]);
        if (!room[s])
            FAIL(RC_NOMEM, "no memory for rates of %d nodes", of->n_nodes);
    }
    for (int i = 0; i < d->a->n_nodes; i++) {
        const int k = node_of_name(d->b, d->a->node[i].name);
        for (int is_out = 1; k >= 0 && is_out >= 0; is_out--)
            TRY(add_node_rate(d, t, i, k, is_out, room));
    }
out:
    free(room[0]);
    free(room[1]);
    return rc;
}

/* Of the worst ranks of nodes that are in both. */
static enum rc add_metrics(struct diff *d, struct table *t)
{
    struct node_figures *of_a = malloc((size_t)d->a->n_nodes * sizeof *of_a);
    struct node_figures *of_b = malloc((size_t)d->b->n_nodes * sizeof *of_b);
    enum rc rc = RC_OK;

    if (!of_a || !of_b)
        FAIL(RC_NOMEM, "no memory for figures of %d nodes", d->a->n_nodes);
    TRY(node_figures_all(of_a, d->a));
    TRY(node_figures_all(of_b, d->b));
    for (int m = 0; m < ACCEPT_N_METRICS; m++)
        for (int i = 0; i < d->a->n_nodes; i++) {
            const int k = node_of_name(d->b, d->a->node[i].name);
            if (k < 0 || isnan(of_a[i].rank_value[m]) || isnan(of_b[k].rank_value[m]))
                continue;
            TRY(add_figure(d, t, accept_metric_name(m), d->a->node[i].name, of_a[i].rank_value[m],
                           of_b[k].rank_value[m], d->a->metric[m].unit, NAN, NAN));
        }
out:
    free(of_a);
    free(of_b);
    return rc;
}

/* Intervals of both give one of the ratio: the least of B over the most of A, and the other way round. */
static enum rc add_sizes(struct diff *d, struct table *t, const char *what, const struct sized_rate *a, int n_a,
                         const struct sized_rate *b, int n_b)
{
    char bytes[ACCEPT_NAME_BYTES];
    enum rc rc = RC_OK;

    for (int i = 0; i < n_a; i++)
        for (int k = 0; k < n_b; k++) {
            if (a[i].n_bytes != b[k].n_bytes)
                continue;
            snprintf(bytes, sizeof bytes, "%zu bytes", a[i].n_bytes);
            TRY(add_figure(d, t, what, bytes, a[i].bytes_per_s, b[k].bytes_per_s, "byte/s",
                           b[k].low_bytes_per_s / a[i].high_bytes_per_s, b[k].high_bytes_per_s / a[i].low_bytes_per_s));
        }
out:
    return rc;
}

static enum rc add_training(struct diff *d, struct table *t)
{
    char nodes[ACCEPT_NAME_BYTES];
    enum rc rc = RC_OK;

    for (int i = 0; i < d->a->n_training; i++)
        for (int k = 0; k < d->b->n_training; k++) {
            const struct scaled_training *a = &d->a->training[i], *b = &d->b->training[k];
            if (a->n_nodes != b->n_nodes || a->n_ranks != b->n_ranks)
                continue;
            snprintf(nodes, sizeof nodes, "%d node%s", a->n_nodes, a->n_nodes == 1 ? "" : "s");
            TRY(add_figure(d, t, "training", nodes, a->samples_per_s, b->samples_per_s, "samples/s",
                           b->low_samples_per_s / a->high_samples_per_s, b->high_samples_per_s / a->low_samples_per_s));
        }
out:
    return rc;
}

/* What was measured of an order, if need be as another one that is the same; NULL: nothing. */
static const struct rank_order *measured_order(const struct acceptance *a, int kind)
{
    const struct rank_order *o = &a->rank_order[a->rank_order[kind].same_as];

    return a->rank_order[kind].rank && o->n_repeats > 0 ? o : NULL;
}

static enum rc add_rank_orders(struct diff *d, struct table *t)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < ACCEPT_N_RANK_ORDERS; k++) {
        const struct rank_order *a = measured_order(d->a, k), *b = measured_order(d->b, k);
        if (!a || !b || a->n_bytes != b->n_bytes)
            continue;
        TRY(add_figure(d, t, "order of ranks", accept_rank_order_name(k), a->bytes_per_s, b->bytes_per_s, "byte/s",
                       b->low_bytes_per_s / a->high_bytes_per_s, b->high_bytes_per_s / a->low_bytes_per_s));
    }
out:
    return rc;
}

static enum rc diff_rates(struct diff *d)
{
    static const struct column column[] = {
        { "what", ALIGN_LEFT },           { "of", ALIGN_LEFT },    { "A", ALIGN_RIGHT }, { "B", ALIGN_RIGHT },
        { "95 % of B / A", ALIGN_RIGHT }, { "B / A", ALIGN_RIGHT }
    };
    struct table *t = table_open(column, N_OF(column));
    enum rc rc;

    TRY(add_nodes(d, t));
    TRY(add_metrics(d, t));
    TRY(add_sizes(d, t, "collective", d->a->collective, d->a->n_collective, d->b->collective, d->b->n_collective));
    TRY(add_rank_orders(d, t));
    TRY(add_sizes(d, t, "push and pull", d->a->ps, d->a->n_ps, d->b->ps, d->b->n_ps));
    TRY(add_training(d, t));
    TRY(table_check(t));
    if (d->n_figures == 0)
        fputs("\nNothing that both have measured can be compared.\n", d->to);
    if (table_n_rows(t) > 0) {
        fputs(d->all_rows ? "\nFigures:\n" : "\nFigures that differ:\n", d->to);
        TRY(table_print(t, d->to));
    }
    if (d->n_left_out > 0)
        fprintf(d->to, "%s%d of %d figures changed by less than %g %%. All of them: gradmark diff A B --all\n",
                table_n_rows(t) > 0 ? "" : "\n", d->n_left_out, d->n_figures, 100 * SMALL_CHANGE_RATIO);
out:
    table_close(&t);
    return rc;
}

/* --- the whole --- */

/* Nodes that x has and y has not. */
static void print_missing(const struct acceptance *x, const struct acceptance *y, const char *title, FILE *to)
{
    char name[ACCEPT_NAME_BYTES];
    int n = 0;

    for (int i = 0; i < x->n_nodes; i++) {
        if (node_of_name(y, x->node[i].name) >= 0)
            continue;
        line_text(name, sizeof name, x->node[i].name);
        fprintf(to, "%s%s", n++ == 0 ? title : ", ", name);
    }
    if (n > 0)
        fputc('\n', to);
}

/* The lines that come first. */
static enum rc print_answer(const struct diff *d, FILE *to)
{
    const struct acceptance *const side[] = { d->a, d->b };
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    fprintf(text.lines, "B is worse in %d point%s.\n", d->n_worse, d->n_worse == 1 ? "" : "s");
    for (int i = 0; i < 2; i++) {
        fprintf(text.lines, "%c: ", "AB"[i]);
        verdict_print(side[i], text.lines);
        fputc('\n', text.lines);
        verdict_print_notes(side[i], text.lines);
    }
    print_missing(d->a, d->b, "Nodes of A alone: ", text.lines);
    print_missing(d->b, d->a, "Nodes of B alone: ", text.lines);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

static enum rc diff_all(struct diff *d)
{
    enum rc rc;

    TRY(diff_criteria(d));
    TRY(diff_findings(d));
    TRY(diff_rates(d));
out:
    return rc;
}

/* What d prints goes to nobody. */
static enum rc count(struct diff *d)
{
    enum rc rc;

    d->to = fopen("/dev/null", "we");
    if (!d->to)
        return rc_raise(RC_IO, "/dev/null: %s", strerror(errno));
    rc = diff_all(d);
    fclose(d->to);
    return rc;
}

enum rc acceptance_diff_write(const struct acceptance *a, const struct acceptance *b, struct report *to, int *n_worse)
{
    struct diff d = { .a = a, .b = b, .records = to };
    enum rc rc;

    TRY(count(&d));
    struct record *r = report_begin(to, "diff");
    record_text(r, "a_outcome", accept_outcome_name(a->outcome));
    record_text(r, "b_outcome", accept_outcome_name(b->outcome));
    record_i64(r, "worse_count", d.n_worse);
    TRY(report_end(to));
    *n_worse = d.n_worse;
out:
    return rc;
}

/* The answer, which comes first, needs the counts of all that follows it. */
enum rc acceptance_diff(const struct acceptance *a, const struct acceptance *b, bool all_rows, FILE *to, int *n_worse)
{
    struct diff counted = { .a = a, .b = b, .all_rows = all_rows }, d = counted;
    enum rc rc;

    TRY(count(&counted));
    TRY(print_answer(&counted, to));
    d.to = to;
    TRY(diff_all(&d));
    TRY(output_flush(to));
    *n_worse = d.n_worse;
out:
    return rc;
}
