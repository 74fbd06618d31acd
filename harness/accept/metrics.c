/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - a running test as OpenMetrics text, for the textfile collector of node_exporter and other scrapers; see
 * metrics.h.
 */
#include "harness/accept/metrics.h"

#include <math.h>
#include <stdio.h>

#include "harness/accept/node_figures.h"
#include "harness/base/file.h"

enum { LINK_BYTES = 2 * ACCEPT_NAME_BYTES + 8 };

/* --- lines --- */

/* Of the samples that follow. unit: the end of the name; NULL: it has none. */
static void family(FILE *to, const char *name, const char *type, const char *unit, const char *help)
{
    fprintf(to, "# TYPE %s %s\n", name, type);
    if (unit)
        fprintf(to, "# UNIT %s %s\n", name, unit);
    fprintf(to, "# HELP %s %s\n", name, help);
}

/* {key="value"}; backslashes, quotes and line feeds are escaped. */
static void label(FILE *to, char before, const char *key, const char *value)
{
    fprintf(to, "%c%s=\"", before, key);
    for (const char *c = value; *c; c++) {
        if (*c == '\\' || *c == '"')
            fputc('\\', to);
        if (*c == '\n')
            fputs("\\n", to);
        else
            fputc(*c, to);
    }
    fputc('"', to);
}

/* A sample of a family without labels; none if value is NaN. */
static void gauge(FILE *to, const char *name, const char *unit, double value, const char *help)
{
    if (isnan(value))
        return;
    family(to, name, "gauge", unit, help);
    fprintf(to, "%s %.9g\n", name, value);
}

static void labelled(FILE *to, const char *name, const char *key, const char *label_value, double value)
{
    if (isnan(value))
        return;
    fputs(name, to);
    label(to, '{', key, label_value);
    fprintf(to, "} %.9g\n", value);
}

/* --- the test --- */

static void write_stages(FILE *to, const struct acceptance *a)
{
    static const char name[] = "gradmark_accept_stage_seconds";

    family(to, name, "gauge", "seconds", "Duration of a stage that has ended.");
    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (a->stage[s].was_run && a->stage[s].took_s > 0)
            labelled(to, name, "stage", accept_stage_name((enum accept_stage)s), a->stage[s].took_s);
}

static void write_slowest_links(FILE *to, const struct acceptance *a)
{
    static const char name[] = "gradmark_accept_slowest_link_bytes_per_second";
    char link[LINK_BYTES];

    if (a->tournament.n_repeats == 0)
        return;
    family(to, name, "gauge", "bytes_per_second",
           "Median rate of the slowest link from this node, alone on its links.");
    for (int i = 0; i < a->n_nodes; i++) {
        double slowest = NAN;
        int other = -1;
        for (int j = 0; j < a->n_nodes; j++) {
            const double rate = j == i ? NAN : pair_median(&a->tournament, PAIR_RATE, i, j);
            if (!isnan(rate) && !(rate >= slowest)) {
                slowest = rate;
                other = j;
            }
        }
        if (other < 0)
            continue;
        snprintf(link, sizeof link, "%s -> %s", a->node[i].name, a->node[other].name);
        fputs(name, to);
        label(to, '{', "node", a->node[i].name);
        label(to, ',', "link", link);
        fprintf(to, "} %.9g\n", slowest);
    }
}

/* --- the verdict --- */

static int n_findings_of_node(const struct acceptance *a, int node)
{
    int n = 0;

    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        n += (f->subject == SUBJECT_NODE && f->a == node) || (f->subject == SUBJECT_RANK && f->b == node);
    }
    return n;
}

static bool is_same_link(const struct finding *f, const struct finding *g)
{
    return f->subject == SUBJECT_LINK && g->subject == SUBJECT_LINK && f->a == g->a && f->b == g->b &&
           f->both_ways == g->both_ways;
}

/* How many findings have the link of finding i; 0: an earlier one has it, too. */
static int n_findings_of_link(const struct acceptance *a, int i)
{
    int n = 0;

    for (int k = 0; k < a->n_findings; k++) {
        if (k < i && is_same_link(&a->finding[k], &a->finding[i]))
            return 0;
        n += is_same_link(&a->finding[k], &a->finding[i]);
    }
    return n;
}

static void write_verdict(FILE *to, const struct acceptance *a)
{
    static const char outcome[] = "gradmark_accept_outcome", nodes[] = "gradmark_accept_node_findings",
                      links[] = "gradmark_accept_link_findings";
    char link[LINK_BYTES];

    family(to, outcome, "gauge", NULL, "1 for the outcome of the test, 0 for the others.");
    for (int o = 0; o <= OUTCOME_NO_DATA; o++)
        labelled(to, outcome, "outcome", accept_outcome_name((enum accept_outcome)o),
                 a->outcome == (enum accept_outcome)o);
    family(to, nodes, "gauge", NULL, "Findings about this node and its ranks.");
    for (int i = 0; i < a->n_nodes; i++)
        labelled(to, nodes, "node", a->node[i].name, n_findings_of_node(a, i));
    family(to, links, "gauge", NULL, "Findings about a link; healthy links are not listed.");
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        const int n = n_findings_of_link(a, i);
        if (n == 0)
            continue;
        snprintf(link, sizeof link, "%s %s %s", a->node[f->a].name, f->both_ways ? "-" : "->", a->node[f->b].name);
        labelled(to, links, "link", link, n);
    }
}

/* --- the soak --- */

/* The slowest of a node's ranks. */
static double most_of_node(const struct acceptance *a, const double *of_rank, int node)
{
    double most = NAN;

    for (int r = 0; r < a->n_ranks; r++)
        if (a->node_of_rank[r] == node && !isnan(of_rank[r]) && !(of_rank[r] <= most))
            most = of_rank[r];
    return most;
}

static void write_nodes(FILE *to, const struct acceptance *a, const double *of_rank, const char *name, const char *help)
{
    family(to, name, "gauge", "seconds", help);
    for (int i = 0; i < a->n_nodes; i++)
        labelled(to, name, "node", a->node[i].name, most_of_node(a, of_rank, i));
}

static void write_soak(FILE *to, const struct acceptance *a, const struct soak_part *part)
{
    const struct soak *s = &a->soak;

    if (part)
        gauge(to, "gradmark_soak_planned_seconds", "seconds", part->wanted_s, "Planned duration of the soak.");
    if (s->minutes > 0) {
        gauge(to, "gradmark_soak_elapsed_seconds", "seconds", 60 * s->minutes, "Time since the soak began.");
        gauge(to, "gradmark_soak_steps", NULL, (double)s->n_steps, "Training steps of the soak.");
        gauge(to, "gradmark_soak_trainings", NULL, (double)s->n_parts, "Trainings of the soak that have ended.");
    }
    if (s->n_parts >= SOAK_LEAST_PARTS) {
        gauge(to, "gradmark_soak_drift_ratio", "ratio", s->drift_ratio,
              "Median step of the last tenth over that of the first tenth, less 1.");
        gauge(to, "gradmark_soak_worst_ratio", "ratio", s->worst_ratio,
              "Median step of the slowest training over the median of all.");
    }
    if (!part)
        return;
    gauge(to, "gradmark_soak_step_seconds", "seconds", part->step_s,
          "Median step of the slowest worker in the last training.");
    write_nodes(to, a, part->compute_s, "gradmark_soak_node_compute_seconds",
                "Mean computing time of a step in the last training, of the slowest rank of this node.");
    write_nodes(to, a, part->wait_s, "gradmark_soak_node_wait_seconds",
                "Mean time of a step in which a rank of this node waits for slower ranks, of the one that waits most.");
}

enum rc metrics_write(const struct acceptance *a, const struct soak_part *part, bool is_running, const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    gauge(file.stream, "gradmark_accept_running", NULL, is_running, "1 while the test runs, 0 when it has ended.");
    gauge(file.stream, "gradmark_accept_nodes", NULL, a->n_nodes, "Number of nodes.");
    gauge(file.stream, "gradmark_accept_ranks", NULL, a->n_ranks, "Number of ranks.");
    write_stages(file.stream, a);
    write_slowest_links(file.stream, a);
    write_soak(file.stream, a, part);
    if (!is_running)
        write_verdict(file.stream, a);
    fputs("# EOF\n", file.stream);
out:
    return atomic_file_finish(&file, rc);
}
