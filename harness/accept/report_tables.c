/* SPDX-License-Identifier: Apache-2.0 */
/* report_tables.c - the tables of an acceptance test, for the terminal and for the page; see report_tables.h. */
#include "harness/accept/report_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/node_figures.h"
#include "harness/accept/report_words.h"
#include "harness/base/text.h"

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* --- cells --- */

/* A name or a sentence, in one line. */
static void text_cell(struct table *t, const char *text)
{
    char line[ACCEPT_TEXT_BYTES];

    line_text(line, sizeof line, text);
    table_cell(t, "%s", line);
}

static void quantity_cell(struct table *t, double value, const char *unit)
{
    char text[QUANTITY_BYTES];

    quantity_text(text, sizeof text, value, unit);
    table_cell(t, "%s", text);
}

static void interval_cell(struct table *t, double low, double high, const char *unit)
{
    char text[2 * QUANTITY_BYTES];

    interval_text(text, sizeof text, low, high, unit);
    table_cell(t, "%s", text);
}

/* In a fixed unit that the column's title names, so that cells sort by their numbers; NaN: "-". */
static void scaled_cell(struct table *t, double value, double factor)
{
    isnan(value) ? table_cell(t, "-") : table_cell(t, "%.4g", value * factor);
}

/* --- criteria --- */

static void add_criterion(struct table *t, const struct criterion *c, bool why)
{
    char limit[QUANTITY_BYTES + 16];

    limit_text(limit, sizeof limit, c);
    table_cell(t, "%s", accept_stage_name(c->stage));
    text_cell(t, c->name);
    table_cell(t, "%s", c->outcome == OUTCOME_FAIL ? "FAIL" : accept_outcome_name(c->outcome));
    if (why)
        text_cell(t, c->text);
    quantity_cell(t, c->measured, c->unit);
    table_cell(t, "%s", limit);
    interval_cell(t, c->low, c->high, c->unit);
    table_cell(t, "%d", c->n_samples);
}

struct table *criteria_table(const struct acceptance *a, bool why)
{
    static const struct column column[] = { { "stage", ALIGN_LEFT },   { "criterion", ALIGN_LEFT },
                                            { "outcome", ALIGN_LEFT }, { "measured", ALIGN_RIGHT },
                                            { "limit", ALIGN_RIGHT },  { "95 % interval", ALIGN_RIGHT },
                                            { "n", ALIGN_RIGHT } };
    /* The fault is named before the figures: those may be behind the edge of a page. */
    static const struct column with_why[] = { { "stage", ALIGN_LEFT },          { "criterion", ALIGN_LEFT },
                                              { "outcome", ALIGN_LEFT },        { "why", ALIGN_LEFT },
                                              { "measured", ALIGN_RIGHT },      { "limit", ALIGN_RIGHT },
                                              { "95 % interval", ALIGN_RIGHT }, { "n", ALIGN_RIGHT } };
    struct table *t = table_open(why ? with_why : column, why ? N_OF(with_why) : N_OF(column));

    for (int i = 0; i < a->n_criteria; i++)
        if (!criterion_is_of_skipped(a, &a->criterion[i]))
            add_criterion(t, &a->criterion[i], why);
    return t;
}

/* "allreduce_busbw_bytes_per_s 4194304": out := the same with 4Mi; a size that no suffix shortens stays. */
static void short_name(char *out, size_t n_bytes, const char *name)
{
    const char *last = strrchr(name, ' ');
    uint64_t size_bytes;

    line_text(out, n_bytes, name);
    if (last && text_to_plain_u64(last + 1, &size_bytes))
        text_of_size(out + (last + 1 - name), n_bytes - (size_t)(last + 1 - name), size_bytes);
}

static void add_short_criterion(struct table *t, const struct criterion *c)
{
    const double of = isfinite(c->measured) ? c->measured : c->limit;
    const struct quantity_scale scale = quantity_scale(of, c->unit);
    char name[ACCEPT_NAME_BYTES], measured[QUANTITY_BYTES], limit[QUANTITY_BYTES], interval[QUANTITY_BYTES];

    short_name(name, sizeof name, c->name);
    scaled_text(measured, sizeof measured, c->measured, scale.factor);
    scaled_text(limit, sizeof limit, c->limit, scale.factor);
    scaled_interval_text(interval, sizeof interval, c->low, c->high, scale.factor);
    table_cell(t, "%s", accept_stage_name(c->stage));
    table_cell(t, "%s", name);
    table_cell(t, "%s", c->outcome == OUTCOME_FAIL ? "FAIL" : accept_outcome_name(c->outcome));
    table_cell(t, "%s", measured);
    table_cell(t, "%s%s", isnan(c->limit) ? "" : c->at_least ? ">= " : "<= ", limit);
    table_cell(t, "%s", interval);
    table_cell(t, "%s", isnan(of) ? "" : scale.unit);
}

struct table *short_criteria_table(const struct acceptance *a)
{
    static const struct column column[] = { { "stage", ALIGN_LEFT },   { "criterion", ALIGN_LEFT },
                                            { "outcome", ALIGN_LEFT }, { "value", ALIGN_RIGHT },
                                            { "limit", ALIGN_RIGHT },  { "95 % CI", ALIGN_RIGHT },
                                            { "unit", ALIGN_LEFT } };
    struct table *t = table_open(column, N_OF(column));

    for (int i = 0; i < a->n_criteria; i++)
        if (!criterion_is_of_skipped(a, &a->criterion[i]))
            add_short_criterion(t, &a->criterion[i]);
    return t;
}

/* --- nodes --- */

/* "bytes_per_s; flops_per_s (rank 3)": what a node, its ranks and its links are blamed for; the caller frees. NULL: no
 * memory. */
static char *blame_of(const struct acceptance *a, int node)
{
    char *text = NULL, name[SUBJECT_BYTES];
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    if (!to)
        return NULL;
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        if (!finding_is_of_node(f, node))
            continue;
        subject_line(name, sizeof name, a, f);
        fprintf(to, ftell(to) > 0 ? "; %s" : "%s", f->metric);
        if (f->subject == SUBJECT_RANK)
            fprintf(to, " (rank %d)", f->a);
        if (f->subject == SUBJECT_LINK)
            fprintf(to, " (%s)", name);
    }
    if (fclose(to) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static enum rc add_node(struct table *t, const struct acceptance *a, int node, const struct node_figures *f)
{
    const double *v = f->rank_value;
    char *blame = blame_of(a, node);
    enum rc rc = RC_OK;

    if (!blame)
        FAIL(RC_NOMEM, "no memory for a row of nodes");
    text_cell(t, a->node[node].name);
    table_cell(t, "%s", blame[0] ? blame : "-");
    table_cell(t, "%d", a->node[node].n_ranks);
    scaled_cell(t, f->rate_out_bytes_per_s, 1e-6);
    scaled_cell(t, f->rate_in_bytes_per_s, 1e-6);
    scaled_cell(t, f->latency_s, 1e6);
    scaled_cell(t, v[METRIC_GEMM], 1e-9);
    scaled_cell(t, v[METRIC_MEMORY], 1e-9);
    scaled_cell(t, v[METRIC_DETOUR], 100);
    scaled_cell(t, v[METRIC_LONGEST_DETOUR], 1e6);
    scaled_cell(t, v[METRIC_STEP_COMPUTE], 1e3);
    scaled_cell(t, v[METRIC_STEP_WAIT], 1e3);
out:
    free(blame);
    return rc;
}

enum rc nodes_table(struct table **out, const struct acceptance *a)
{
    static const struct column column[] = { { "node", ALIGN_LEFT },           { "blamed for", ALIGN_LEFT },
                                            { "ranks", ALIGN_RIGHT },         { "out, MB/s", ALIGN_RIGHT },
                                            { "in, MB/s", ALIGN_RIGHT },      { "latency, us", ALIGN_RIGHT },
                                            { "GEMM, Gflop/s", ALIGN_RIGHT }, { "memory, GB/s", ALIGN_RIGHT },
                                            { "detours, %", ALIGN_RIGHT },    { "longest detour, us", ALIGN_RIGHT },
                                            { "step, ms", ALIGN_RIGHT },      { "wait, ms", ALIGN_RIGHT } };
    struct node_figures *f = malloc((size_t)a->n_nodes * sizeof *f);
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!f)
        FAIL(RC_NOMEM, "no memory for figures of %d nodes", a->n_nodes);
    TRY(node_figures_all(f, a));
    t = table_open(column, N_OF(column));
    for (int i = 0; i < a->n_nodes; i++)
        TRY(add_node(t, a, i, &f[i]));
    *out = t;
    t = NULL;
out:
    free(f);
    table_close(&t);
    return rc;
}

/* --- pairs --- */

struct pair_rate {
    int from, to;
    double bytes_per_s;
};

static int by_rate(const void *a, const void *b)
{
    const struct pair_rate *x = a, *y = b;

    if (x->bytes_per_s < y->bytes_per_s || x->bytes_per_s > y->bytes_per_s)
        return x->bytes_per_s < y->bytes_per_s ? -1 : 1;
    return x->from != y->from ? x->from - y->from : x->to - y->to;
}

/* out[n * n]; returns how many have a rate. */
static size_t rated_pairs(struct pair_rate *out, const struct tournament *t)
{
    size_t n = 0;

    for (int i = 0; i < t->n_nodes; i++)
        for (int j = 0; j < t->n_nodes; j++) {
            const double rate = i == j ? NAN : pair_median(t, PAIR_RATE, i, j);
            if (!isnan(rate))
                out[n++] = (struct pair_rate){ i, j, rate };
        }
    return n;
}

static void add_pair(struct table *t, const struct acceptance *a, const struct pair_rate *p, double best)
{
    text_cell(t, a->node[p->from].name);
    text_cell(t, a->node[p->to].name);
    scaled_cell(t, p->bytes_per_s, 1e-6);
    scaled_cell(t, p->bytes_per_s / best, 100);
    scaled_cell(t, pair_median(&a->tournament, PAIR_LATENCY, p->from, p->to), 1e6);
}

enum rc slowest_pairs_table(struct table **out, const struct acceptance *a, size_t most_rows)
{
    static const struct column column[] = { { "from", ALIGN_LEFT },
                                            { "to", ALIGN_LEFT },
                                            { "rate, MB/s", ALIGN_RIGHT },
                                            { "of the best quarter, %", ALIGN_RIGHT },
                                            { "latency, us", ALIGN_RIGHT } };
    const size_t n_all = (size_t)a->n_nodes * (size_t)a->n_nodes;
    struct pair_rate *pair = malloc(n_all * sizeof *pair);
    struct table *t = NULL;
    enum rc rc = RC_OK;

    if (!pair)
        FAIL(RC_NOMEM, "no memory for the rates of %d nodes", a->n_nodes);
    const size_t n = a->tournament.n_repeats > 0 ? rated_pairs(pair, &a->tournament) : 0;
    qsort(pair, n, sizeof *pair, by_rate);
    const double best = n > 0 ? pair[n - 1 - (n - 1) / 4].bytes_per_s : NAN; /* best_quarter() */
    t = table_open(column, N_OF(column));
    for (size_t i = 0; i < n && i < most_rows; i++)
        add_pair(t, a, &pair[i], best);
    *out = t;
    t = NULL;
out:
    free(pair);
    table_close(&t);
    return rc;
}

/* --- the others --- */

static void add_fact(struct table *t, const struct acceptance *a, const struct preflight_row *p)
{
    text_cell(t, p->what);
    table_cell(t, "%s", p->outcome == OUTCOME_FAIL ? "FAIL" : accept_outcome_name(p->outcome));
    text_cell(t, p->value);
    text_cell(t, p->node >= 0 ? a->node[p->node].name : "-");
    text_cell(t, p->other[0] ? p->other : "-");
}

struct table *preflight_table(const struct acceptance *a)
{
    static const struct column column[] = { { "fact", ALIGN_LEFT },
                                            { "outcome", ALIGN_LEFT },
                                            { "most nodes", ALIGN_LEFT },
                                            { "but", ALIGN_LEFT },
                                            { "has", ALIGN_LEFT } };
    struct table *t = table_open(column, N_OF(column));

    for (int i = 0; i < a->n_preflight; i++)
        add_fact(t, a, &a->preflight[i]);
    return t;
}

static void add_rate(struct table *t, const struct sized_rate *r)
{
    table_cell(t, "%zu", r->n_bytes);
    quantity_cell(t, r->bytes_per_s, "byte/s");
    interval_cell(t, r->low_bytes_per_s, r->high_bytes_per_s, "byte/s");
    quantity_cell(t, r->bound_ratio, "ratio");
    table_cell(t, "%d", r->n_repeats);
}

struct table *sizes_table(const struct sized_rate *rate, int n, const char *title)
{
    const struct column column[] = { { "bytes", ALIGN_RIGHT },
                                     { title, ALIGN_RIGHT },
                                     { "95 % interval", ALIGN_RIGHT },
                                     { "of the bound", ALIGN_RIGHT },
                                     { "repeats", ALIGN_RIGHT } };
    struct table *t = table_open(column, N_OF(column));

    for (int i = 0; i < n; i++)
        add_rate(t, &rate[i]);
    return t;
}

/* "the best; switches as Slurm knows them", "as pack" */
static void remark_cell(struct table *t, const struct acceptance *a, int kind)
{
    const struct rank_order *o = &a->rank_order[kind];
    const char *between = o->is_best && o->why[0] ? "; " : "";
    char why[ACCEPT_TEXT_BYTES];

    if (o->rank && o->same_as != kind) {
        table_cell(t, "as %s", accept_rank_order_name(o->same_as));
        return;
    }
    line_text(why, sizeof why, o->why);
    table_cell(t, "%s%s%s", o->is_best ? "the best" : "", between, why);
}

static void add_rank_order(struct table *t, const struct acceptance *a, int kind)
{
    const struct rank_order *o = &a->rank_order[a->rank_order[kind].same_as];

    table_cell(t, "%s", accept_rank_order_name(kind));
    quantity_cell(t, o->bytes_per_s, "byte/s");
    interval_cell(t, o->low_bytes_per_s, o->high_bytes_per_s, "byte/s");
    quantity_cell(t, o->ratio, "ratio");
    interval_cell(t, o->low_ratio, o->high_ratio, "ratio");
    table_cell(t, "%d", o->n_repeats);
    remark_cell(t, a, kind);
}

struct table *rank_orders_table(const struct acceptance *a)
{
    static const struct column column[] = { { "order of ranks", ALIGN_LEFT }, { "bus bandwidth", ALIGN_RIGHT },
                                            { "95 % interval", ALIGN_RIGHT }, { "of the launcher's", ALIGN_RIGHT },
                                            { "95 % interval", ALIGN_RIGHT }, { "repeats", ALIGN_RIGHT },
                                            { "which", ALIGN_LEFT } };
    struct table *t = table_open(column, N_OF(column));

    for (int k = 0; k < ACCEPT_N_RANK_ORDERS && acceptance_best_rank_order(a) >= 0; k++)
        add_rank_order(t, a, k);
    return t;
}

static void add_short_rank_order(struct table *t, const struct acceptance *a, int kind)
{
    const struct rank_order *o = &a->rank_order[a->rank_order[kind].same_as];
    char interval[QUANTITY_BYTES];

    scaled_interval_text(interval, sizeof interval, o->low_ratio, o->high_ratio, 100);
    table_cell(t, "%s", accept_rank_order_name(kind));
    quantity_cell(t, o->bytes_per_s, "byte/s");
    quantity_cell(t, o->ratio, "ratio");
    table_cell(t, "%s", interval);
    remark_cell(t, a, kind);
}

struct table *short_rank_orders_table(const struct acceptance *a)
{
    static const struct column column[] = { { "order of ranks", ALIGN_LEFT },
                                            { "bus bandwidth", ALIGN_RIGHT },
                                            { "of the launcher's", ALIGN_RIGHT },
                                            { "95 % interval", ALIGN_RIGHT },
                                            { "which", ALIGN_LEFT } };
    struct table *t = table_open(column, N_OF(column));

    for (int k = 0; k < ACCEPT_N_RANK_ORDERS && acceptance_best_rank_order(a) >= 0; k++)
        add_short_rank_order(t, a, k);
    return t;
}

/* "-": not known, of older reports. */
static void steps_cell(struct table *t, uint64_t n_steps)
{
    n_steps > 0 ? table_cell(t, "%llu", (unsigned long long)n_steps) : table_cell(t, "-");
}

static void add_scale(struct table *t, const struct scaled_training *s)
{
    table_cell(t, "%d", s->n_nodes);
    table_cell(t, "%d", s->n_ranks);
    quantity_cell(t, s->samples_per_s, "samples/s");
    interval_cell(t, s->low_samples_per_s, s->high_samples_per_s, "samples/s");
    quantity_cell(t, s->efficiency_ratio, "ratio");
    interval_cell(t, s->low_efficiency_ratio, s->high_efficiency_ratio, "ratio");
    quantity_cell(t, s->exposed_ratio, "ratio");
    steps_cell(t, s->n_steps);
    steps_cell(t, s->n_measured_steps);
}

struct table *training_table(const struct acceptance *a)
{
    static const struct column column[] = { { "nodes", ALIGN_RIGHT },      { "ranks", ALIGN_RIGHT },
                                            { "throughput", ALIGN_RIGHT }, { "95 % interval", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT }, { "95 % interval", ALIGN_RIGHT },
                                            { "exposed", ALIGN_RIGHT },    { "steps", ALIGN_RIGHT },
                                            { "measured", ALIGN_RIGHT } };
    struct table *t = table_open(column, N_OF(column));

    for (int i = 0; i < a->n_training; i++)
        add_scale(t, &a->training[i]);
    return t;
}
