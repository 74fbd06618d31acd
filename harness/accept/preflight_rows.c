/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preflight_rows.c - compares the facts that nodes report: differences between nodes, and broken limits; see
 * preflight_rows.h.
 */
#include "harness/accept/preflight_rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/measure/sorted.h"

/* Equal machines tell of a little more or less memory than each other. */
#define MEMORY_TOLERANCE_RATIO 0.02

#define CLOCK_KEY "most_clock_skew_s"

enum { MOST_NAMED = 4, MOST_GROUPS = 4 };
/* Of nodes that are not compared with others. */
enum { GROUP_BROKEN = -1, GROUP_UNKNOWN = -2 };

struct of_node {
    int group; /* the first node that has the same; GROUP_BROKEN: it breaks a limit, whatever others have */
    char has[NODE_HAS_BYTES]; /* as shown */
};

struct nodes { /* borrowed, but for node and scratch */
    struct acceptance *out;
    const struct node_facts *rank; /* [n_ranks] */
    struct of_node *node;          /* [n_nodes]: of the fact that is compared */
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

static void set_limit(struct preflight_row *row, double measured, double limit, bool at_least, const char *unit)
{
    row->measured = measured;
    row->limit = limit;
    row->at_least = at_least;
    row->unit = unit;
}

/* --- who differs --- */

/* node: -1: nodes differ, and none is to blame. Of the last row; the first is shown in it. */
static enum rc add_difference(struct acceptance *a, int node, const char *has, const char *why)
{
    struct preflight_row *row = &a->preflight[a->n_preflight - 1];
    struct node_difference d = { .fact = a->n_preflight - 1, .node = node };

    (void)snprintf(d.has, sizeof d.has, "%s%s", has, why);
    if (row->outcome != OUTCOME_FAIL) {
        row->node = node;
        snprintf(row->other, sizeof row->other, "%s", d.has);
    }
    row->outcome = OUTCOME_FAIL;
    return acceptance_add_difference(a, &d);
}

static void count_others(struct preflight_row *row, int n_blamed)
{
    const size_t n = strlen(row->other);

    if (n_blamed > 1)
        (void)snprintf(row->other + n, sizeof row->other - n, ", and %d more node%s differ%s", n_blamed - 1,
                       n_blamed > 2 ? "s" : "", n_blamed > 2 ? "" : "s");
}

static int n_of_group(const struct nodes *n, int group)
{
    int n_equal = 0;

    for (int i = 0; i < n->out->n_nodes; i++)
        n_equal += n->node[i].group == group;
    return n_equal;
}

/* The group of most nodes, of equally many the first; -1: no node is compared. *n_best: how many. */
static int largest_group(const struct nodes *n, int *n_best)
{
    int best = -1;

    *n_best = 0;
    for (int i = 0; i < n->out->n_nodes && *n_best <= n->out->n_nodes / 2; i++) {
        const int n_equal = n->node[i].group == i ? n_of_group(n, i) : 0;
        if (n_equal > *n_best) {
            best = i;
            *n_best = n_equal;
        }
    }
    return best;
}

/* " (host0, host1 and 2 more)" */
static void name_group(FILE *to, const struct nodes *n, int group)
{
    int n_named = 0, n_left = 0;

    for (int i = 0; i < n->out->n_nodes; i++) {
        if (n->node[i].group != group)
            continue;
        if (n_named == MOST_NAMED)
            n_left++;
        else
            fprintf(to, "%s%s", n_named++ > 0 ? ", " : " (", n->out->node[i].name);
    }
    if (n_left > 0)
        fprintf(to, " and %d more", n_left);
    fputc(')', to);
}

/* "nodes differ: 4 have 8 (host0, host1, ...), 4 have 4 (...), no majority" */
static enum rc say_split(char out[ACCEPT_TEXT_BYTES], const struct nodes *n)
{
    int n_groups = 0, n_left = 0;
    FILE *to = fmemopen(out, ACCEPT_TEXT_BYTES, "w");

    if (!to)
        return rc_raise(RC_NOMEM, "no memory to say in what nodes differ");
    fputs("nodes differ, no majority: ", to);
    for (int i = 0; i < n->out->n_nodes; i++) {
        if (n->node[i].group != i)
            continue;
        const int n_equal = n_of_group(n, i);
        if (n_groups == MOST_GROUPS) {
            n_left += n_equal;
            continue;
        }
        fprintf(to, "%s%d %s %.48s", n_groups++ > 0 ? ", " : "", n_equal, n_equal == 1 ? "has" : "have",
                n->node[i].has);
        name_group(to, n, i);
    }
    if (n_left > 0)
        fprintf(to, ", %d have others", n_left);
    (void)fclose(to); /* of too long a text the end is left out */
    out[ACCEPT_TEXT_BYTES - 1] = '\0';
    return RC_OK;
}

/* Do all nodes of more than one have the same, as it is shown? */
static bool has_one_text(const struct nodes *n)
{
    for (int i = 1; i < n->out->n_nodes; i++)
        if (strcmp(n->node[i].has, n->node[0].has) != 0)
            return false;
    return n->out->n_nodes > 1;
}

/* The last row by n->node: who breaks a limit is to blame, and so is who differs from more than half of those that are
 * compared. Where there is no such majority, nobody is: all of them together differ. beyond: said of who differs. */
static enum rc settle_row(const struct nodes *n, const char *beyond)
{
    struct acceptance *a = n->out;
    struct preflight_row *row = &a->preflight[a->n_preflight - 1];
    int n_best, n_compared = 0, n_blamed = 0, n_broken = 0;
    const int best = largest_group(n, &n_best);
    char split[ACCEPT_TEXT_BYTES];
    enum rc rc = RC_OK;

    for (int i = 0; i < a->n_nodes; i++) {
        n_compared += n->node[i].group >= 0;
        n_broken += n->node[i].group == GROUP_BROKEN;
    }
    if (n_broken == a->n_nodes && has_one_text(n)) { /* none of them is the odd one */
        snprintf(split, sizeof split, "all %d nodes: %s", a->n_nodes, n->node[0].has);
        return add_difference(a, -1, split, "");
    }
    const bool has_majority = 2 * n_best > n_compared;
    for (int i = 0; i < a->n_nodes; i++) {
        const int group = n->node[i].group;
        if (group != GROUP_BROKEN && (group < 0 || group == best || !has_majority))
            continue;
        TRY(add_difference(a, i, n->node[i].has, group == GROUP_BROKEN ? "" : beyond));
        n_blamed++;
    }
    count_others(row, n_blamed);
    if (n_compared > n_best && !has_majority) {
        snprintf(row->value, sizeof row->value, "%s, %d of %d nodes", n->node[best].has, n_best, a->n_nodes);
        TRY(say_split(split, n));
        TRY(add_difference(a, -1, split, ""));
    }
out:
    return rc;
}

/* The group of node i, of those before it that are of the same; itself: there is none. */
typedef bool same_fn(const struct nodes *n, int i, int k, const void *arg);

static int find_group(const struct nodes *n, int i, same_fn *same, const void *arg)
{
    for (int k = 0; k < i; k++)
        if (n->node[k].group == k && same(n, i, k, arg))
            return k;
    return i;
}

/* --- texts --- */

static const char *shown(const char *text)
{
    return text[0] ? text : "nothing";
}

static bool nobody_tells(const struct nodes *n, enum node_text what)
{
    for (int i = 0; i < n->out->n_nodes; i++)
        if (facts_of(n, i)->text[what][0])
            return false;
    return true;
}

static bool same_text(const struct nodes *n, int i, int k, const void *arg)
{
    const enum node_text what = *(const enum node_text *)arg;

    return strcmp(facts_of(n, i)->text[what], facts_of(n, k)->text[what]) == 0;
}

/* needed: what it has to be, whatever most have; NULL: anything. */
static enum rc compare_texts(const struct nodes *n, enum node_text what, const char *name, const char *needed)
{
    int n_best;

    if (nobody_tells(n, what))
        return RC_OK;
    struct preflight_row *row = add_row(n->out, name);
    for (int i = 0; i < n->out->n_nodes; i++) {
        const char *text = facts_of(n, i)->text[what];
        const bool breaks = needed && strcmp(text, needed) != 0;
        snprintf(n->node[i].has, sizeof n->node[i].has, "%s%s%s", shown(text), breaks ? ", not " : "",
                 breaks ? needed : "");
        n->node[i].group = breaks ? GROUP_BROKEN : find_group(n, i, same_text, &what);
    }
    const int best = largest_group(n, &n_best);
    snprintf(row->value, sizeof row->value, "%s", shown(facts_of(n, best >= 0 ? best : 0)->text[what]));
    return settle_row(n, "");
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
    const char *unit;
};

struct compared_numbers { /* by their distance from each other */
    enum node_number what;
    double middle, tolerance;
};

/* The median of nodes that tell; NaN: none does. *n_known: how many do. */
static double middle_of(const struct nodes *n, enum node_number what, int *n_known)
{
    size_t n_of = 0;

    for (int i = 0; i < n->out->n_nodes; i++)
        if (!isnan(facts_of(n, i)->number[what]))
            n->scratch[n_of++] = facts_of(n, i)->number[what];
    *n_known = (int)n_of;
    if (n_of == 0)
        return NAN;
    sorted_make(n->scratch, n_of);
    return n->scratch[(n_of - 1) / 2]; /* one that there is */
}

static bool is_near(double x, double y, double tolerance)
{
    return isinf(tolerance) || fabs(x - y) <= tolerance;
}

/* Those near the middle of all are of one group, others as they are near each other. */
static bool same_number(const struct nodes *n, int i, int k, const void *arg)
{
    const struct compared_numbers *c = arg;
    const double x = facts_of(n, i)->number[c->what], y = facts_of(n, k)->number[c->what];

    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    const bool is_x = is_near(x, c->middle, c->tolerance), is_y = is_near(y, c->middle, c->tolerance);
    return is_x || is_y ? is_x && is_y : is_near(x, y, c->tolerance);
}

/* Of a number that a limit asks for, and half of the nodes or more do not tell: the limit has no data, unless one that
 * tells breaks it. Returns whether it is so. */
static bool lacks_data(struct preflight_row *row, const struct nodes *n, int n_known, const char *key, double limit)
{
    const int n_nodes = n->out->n_nodes;

    if (!(limit > 0) || 2 * n_known > n_nodes)
        return false;
    row->outcome = OUTCOME_NO_DATA;
    if (n_known == 0)
        snprintf(row->value, sizeof row->value, "not known, though %s asks for it: %.6g", key, limit);
    else
        snprintf(row->value, sizeof row->value, "not known of %d of %d nodes, though %s asks for it: %.6g",
                 n_nodes - n_known, n_nodes, key, limit);
    return true;
}

static void group_number(const struct nodes *n, int i, const struct number_check *c,
                         const struct compared_numbers *compared, bool lacks)
{
    const double value = facts_of(n, i)->number[c->what];
    struct of_node *to = &n->node[i];
    char text[64] = "not known";

    if (!isnan(value))
        c->format(text, sizeof text, value);
    snprintf(to->has, sizeof to->has, "%s", text);
    if (isnan(value) && lacks)
        to->group = GROUP_UNKNOWN;
    else if (c->least > 0 && value < c->least) {
        snprintf(to->has, sizeof to->has, "%s, less than %s: %.6g", text, c->least_key, c->least);
        to->group = GROUP_BROKEN;
    } else
        to->group = find_group(n, i, same_number, compared);
}

static enum rc compare_numbers(const struct nodes *n, const struct number_check *c)
{
    int n_known, n_best;
    struct compared_numbers compared = { .what = c->what, .middle = middle_of(n, c->what, &n_known) };

    if (n_known == 0 && !(c->least > 0))
        return RC_OK;
    compared.tolerance = isinf(c->tolerance_ratio) ? INFINITY : c->tolerance_ratio * fabs(compared.middle);
    struct preflight_row *row = add_row(n->out, c->name);
    if (n_known > 0)
        c->format(row->value, sizeof row->value, compared.middle);
    if (n_known > 0 && c->least > 0)
        set_limit(row, n->scratch[0], c->least, true, c->unit); /* sorted */
    const bool lacks = lacks_data(row, n, n_known, c->least_key, c->least);
    for (int i = 0; i < n->out->n_nodes; i++)
        group_number(n, i, c, &compared, lacks);
    const int best = largest_group(n, &n_best);
    if (best >= 0 && isnan(facts_of(n, best)->number[c->what]) && !lacks)
        snprintf(row->value, sizeof row->value, "%s", n->node[best].has); /* most do not tell */
    return settle_row(n, "");
}

/* By the middle of all clocks: who differs from it is not rank 0's judge alone. */
static enum rc compare_clocks(const struct nodes *n, double most_s)
{
    int n_known;
    double widest_s = 0;
    const struct compared_numbers compared = { .what = NUMBER_CLOCK_S,
                                               .middle = middle_of(n, NUMBER_CLOCK_S, &n_known),
                                               .tolerance = most_s > 0 ? most_s : INFINITY };
    const bool is_alone = n->out->n_nodes < 2;
    char beyond[64];

    if ((is_alone || n_known == 0) && !(most_s > 0))
        return RC_OK;
    struct preflight_row *row = add_row(n->out, "clock skew");
    const bool lacks = lacks_data(row, n, n_known, CLOCK_KEY, most_s);
    if (is_alone) {
        row->outcome = OUTCOME_NO_DATA;
        snprintf(row->value, sizeof row->value,
                 "one node has no other clock to compare with, though %s asks for it: %g", CLOCK_KEY, most_s);
        return RC_OK;
    }
    for (int i = 0; i < n->out->n_nodes; i++) {
        const double skew_s = facts_of(n, i)->number[NUMBER_CLOCK_S] - compared.middle;
        if (isnan(skew_s))
            snprintf(n->node[i].has, sizeof n->node[i].has, "not known");
        else
            snprintf(n->node[i].has, sizeof n->node[i].has, "%+.6f s", skew_s);
        n->node[i].group = isnan(skew_s) && lacks ? GROUP_UNKNOWN : find_group(n, i, same_number, &compared);
        widest_s = fmax(widest_s, fabs(skew_s)); /* of NaN and a number: the number */
    }
    if (!lacks && widest_s < 1e-6)
        snprintf(row->value, sizeof row->value, "less than 1 us from the middle of all");
    else if (!lacks)
        snprintf(row->value, sizeof row->value, "at most %.6f s from the middle of all", widest_s);
    if (most_s > 0)
        set_limit(row, widest_s, most_s, false, "s");
    snprintf(beyond, sizeof beyond, ", more than %s: %g", CLOCK_KEY, most_s);
    return settle_row(n, most_s > 0 ? beyond : "");
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
        { NUMBER_RANKS, "ranks of a node", as_count, INFINITY, 0, "", "" },
        { NUMBER_CORES, "cores", as_count, 0, c->least_cores_count, "least_cores_count", "cores" },
        { NUMBER_MEMORY_BYTES, "memory", as_bytes, MEMORY_TOLERANCE_RATIO, 0, "", "" },
        { NUMBER_FREE_BYTES, "memory free", as_bytes, INFINITY, c->least_memory_free_bytes, "least_memory_free_bytes",
          "byte" },
        { NUMBER_LINK_BITS_PER_S, "link speed", as_bits_per_s, 0, c->least_link_bits_per_s, "least_link_bits_per_s",
          "bit/s" },
    };

    const size_t n_nodes = (size_t)a->n_nodes;
    struct nodes n = { a, rank, calloc(n_nodes, sizeof *n.node), malloc(n_nodes * sizeof *n.scratch) };
    enum rc rc = RC_OK;

    if (!n.scratch || !n.node)
        FAIL(RC_NOMEM, "no memory for the facts of %d nodes", a->n_nodes);
    a->n_preflight = a->n_differences = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TRY(compare_texts(&n, texts[i].what, texts[i].name, texts[i].needed));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        TRY(compare_numbers(&n, &numbers[i]));
    TRY(compare_clocks(&n, c->most_clock_skew_s));
out:
    free(n.node);
    free(n.scratch);
    return rc;
}
