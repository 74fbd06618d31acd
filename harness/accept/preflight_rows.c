/* SPDX-License-Identifier: Apache-2.0 */
/* preflight_rows.c - see preflight_rows.h. */
#include "harness/accept/preflight_rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure/sorted.h"

/* Equal machines tell of a little more or less memory than each other. */
#define MEMORY_TOLERANCE_RATIO 0.02

struct nodes { /* borrowed, but for scratch */
    struct acceptance *out;
    const struct node_facts *rank; /* [n_ranks] */
    double *scratch;               /* [n_nodes] */
};

static const struct node_facts *facts_of(const struct nodes *n, int node)
{
    return &n->rank[n->out->node[node].first_rank];
}

static struct preflight_row *add_row(struct acceptance *a, const char *what)
{
    struct preflight_row *row = &a->preflight[a->n_preflight];

    assert(a->n_preflight < ACCEPT_MAX_PREFLIGHT);
    a->n_preflight++;
    *row = (struct preflight_row){ .outcome = OUTCOME_PASS, .node = -1 };
    snprintf(row->what, sizeof row->what, "%s", what);
    return row;
}

/* Another node that differs: the first is shown, the others counted. */
static void blame_node(struct preflight_row *row, int node, int n_before, const char *has)
{
    row->outcome = OUTCOME_FAIL;
    if (n_before > 0)
        return;
    row->node = node;
    snprintf(row->other, sizeof row->other, "%s", has);
}

static void count_others(struct preflight_row *row, int n_blamed)
{
    const size_t n = strlen(row->other);

    if (n_blamed > 1)
        (void)snprintf(row->other + n, sizeof row->other - n, ", and %d more node%s differ%s", n_blamed - 1,
                       n_blamed > 2 ? "s" : "", n_blamed > 2 ? "" : "s");
}

/* --- texts --- */

static const char *shown(const char *text)
{
    return text[0] ? text : "nothing";
}

/* The text that most nodes have, of equally many the first. */
static const char *commonest(const struct nodes *n, enum node_text what)
{
    const char *best = "";
    int n_best = 0;

    for (int i = 0; i < n->out->n_nodes && n_best <= n->out->n_nodes / 2; i++) {
        const char *text = facts_of(n, i)->text[what];
        int n_equal = 0;
        for (int k = 0; k < n->out->n_nodes; k++)
            n_equal += strcmp(facts_of(n, k)->text[what], text) == 0;
        if (n_equal > n_best) {
            best = text;
            n_best = n_equal;
        }
    }
    return best;
}

static bool nobody_tells(const struct nodes *n, enum node_text what)
{
    for (int i = 0; i < n->out->n_nodes; i++)
        if (facts_of(n, i)->text[what][0])
            return false;
    return true;
}

/* needed: what it has to be, whatever most have; NULL: anything. */
static void compare_texts(const struct nodes *n, enum node_text what, const char *name, const char *needed)
{
    int n_blamed = 0;

    if (nobody_tells(n, what))
        return;
    struct preflight_row *row = add_row(n->out, name);
    const char *most = commonest(n, what);
    snprintf(row->value, sizeof row->value, "%s", shown(most));
    for (int i = 0; i < n->out->n_nodes; i++) {
        const char *text = facts_of(n, i)->text[what];
        if (strcmp(text, most) != 0 || (needed && strcmp(text, needed) != 0))
            blame_node(row, i, n_blamed++, shown(text));
    }
    count_others(row, n_blamed);
}

/* --- numbers --- */

typedef void format_fn(char *out, size_t n_bytes, double value);

static void as_count(char *out, size_t n_bytes, double value)
{
    snprintf(out, n_bytes, "%.0f", value);
}

static void as_bytes(char *out, size_t n_bytes, double value)
{
    snprintf(out, n_bytes, "%.1f GiB", value / (1 << 30));
}

static void as_bits_per_s(char *out, size_t n_bytes, double value)
{
    snprintf(out, n_bytes, "%.6g Gbit/s", value * 1e-9);
}

struct number_check {
    enum node_number what;
    const char *name;
    format_fn *format;
    double tolerance_ratio; /* from the median; INFINITY: nodes may differ */
    double least;           /* 0: none */
    const char *least_key;
};

/* The median of nodes that tell; NaN: none does. */
static double middle_of(const struct nodes *n, enum node_number what)
{
    size_t n_known = 0;

    for (int i = 0; i < n->out->n_nodes; i++)
        if (!isnan(facts_of(n, i)->number[what]))
            n->scratch[n_known++] = facts_of(n, i)->number[what];
    if (n_known == 0)
        return NAN;
    sorted_make(n->scratch, n_known);
    return n->scratch[(n_known - 1) / 2]; /* one that there is */
}

/* "": it is right; else what is shown of it. */
static void judge_number(char *out, size_t n_bytes, const struct number_check *c, double value, double middle)
{
    char text[64];

    out[0] = '\0';
    if (isnan(value)) {
        snprintf(out, n_bytes, "not known");
        return;
    }
    c->format(text, sizeof text, value);
    if (c->least > 0 && value < c->least)
        snprintf(out, n_bytes, "%s, less than %s: %.6g", text, c->least_key, c->least);
    else if (fabs(value - middle) > c->tolerance_ratio * fabs(middle))
        snprintf(out, n_bytes, "%s", text);
}

static void compare_numbers(const struct nodes *n, const struct number_check *c)
{
    const double middle = middle_of(n, c->what);
    char other[ACCEPT_TEXT_BYTES];
    int n_blamed = 0;

    if (isnan(middle) && !(c->least > 0))
        return;
    struct preflight_row *row = add_row(n->out, c->name);
    if (isnan(middle)) {
        row->outcome = OUTCOME_NO_DATA;
        snprintf(row->value, sizeof row->value, "not known, though %s asks for it: %.6g", c->least_key, c->least);
        return;
    }
    c->format(row->value, sizeof row->value, middle);
    for (int i = 0; i < n->out->n_nodes; i++) {
        judge_number(other, sizeof other, c, facts_of(n, i)->number[c->what], middle);
        if (other[0])
            blame_node(row, i, n_blamed++, other);
    }
    count_others(row, n_blamed);
}

/* By the middle of all clocks: who differs from it is not rank 0's judge alone. */
static void compare_clocks(const struct nodes *n, double most_s)
{
    const double middle = middle_of(n, NUMBER_CLOCK_S);
    double widest_s = 0;
    int n_blamed = 0;

    if (n->out->n_nodes < 2 || isnan(middle))
        return;
    struct preflight_row *row = add_row(n->out, "clock skew");
    for (int i = 0; i < n->out->n_nodes; i++) {
        const double skew_s = facts_of(n, i)->number[NUMBER_CLOCK_S] - middle;
        char other[ACCEPT_TEXT_BYTES];
        if (isnan(skew_s))
            snprintf(other, sizeof other, "not known");
        else
            snprintf(other, sizeof other, "%+.6f s, more than most_clock_skew_s: %g", skew_s, most_s);
        widest_s = fmax(widest_s, fabs(skew_s));
        if (isnan(skew_s) || (most_s > 0 && fabs(skew_s) > most_s))
            blame_node(row, i, n_blamed++, other);
    }
    snprintf(row->value, sizeof row->value, "at most %.6f s from the middle of all", widest_s);
    count_others(row, n_blamed);
}

enum rc preflight_compare(struct acceptance *a, const struct node_facts *rank, const struct criteria *c)
{
    static const struct {
        enum node_text what;
        const char *name, *needed;
    } texts[] = {
        { TEXT_BUILD, "gradmark", NULL },
        { TEXT_MPI, "MPI library", NULL },
        { TEXT_ZMQ, "ZeroMQ", NULL },
        { TEXT_HWLOC, "hwloc", NULL },
        { TEXT_KERNEL, "kernel", NULL },
        { TEXT_CPU, "CPU", NULL },
        { TEXT_GPUS, "GPUs", NULL },
        { TEXT_GPU_DRIVER, "GPU driver", NULL },
        { TEXT_LINK_STATE, "link state", "up" },
        { TEXT_INFINIBAND, "InfiniBand", NULL },
    };
    const struct number_check numbers[] = {
        { NUMBER_RANKS, "ranks of a node", as_count, INFINITY, 0, "" },
        { NUMBER_CORES, "cores", as_count, 0, c->least_cores_count, "least_cores_count" },
        { NUMBER_MEMORY_BYTES, "memory", as_bytes, MEMORY_TOLERANCE_RATIO, 0, "" },
        { NUMBER_FREE_BYTES, "memory free", as_bytes, INFINITY, c->least_memory_free_bytes, "least_memory_free_bytes" },
        { NUMBER_LINK_BITS_PER_S, "link speed", as_bits_per_s, 0, c->least_link_bits_per_s, "least_link_bits_per_s" },
    };

    const struct nodes n = { a, rank, malloc((size_t)a->n_nodes * sizeof *n.scratch) };

    if (!n.scratch)
        return rc_raise(RC_NOMEM, "no memory for the facts of %d nodes", a->n_nodes);
    a->n_preflight = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        compare_texts(&n, texts[i].what, texts[i].name, texts[i].needed);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        compare_numbers(&n, &numbers[i]);
    compare_clocks(&n, c->most_clock_skew_s);
    free(n.scratch);
    return RC_OK;
}
