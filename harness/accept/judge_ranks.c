/* SPDX-License-Identifier: Apache-2.0 */
/* judge_ranks.c - what every rank measured: outliers among them, and limits that each must keep. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/judge_parts.h"
#include "harness/accept/outliers.h"
#include "harness/accept/report_words.h"
#include "harness/measure/disturbance.h"
#include "harness/measure/robust.h"

enum { LEAST_RANKS = 4 }; /* of fewer one that is slow is half of what the others are compared with */

/* "the worst of 8 ranks, rank 3 on host1" */
static void say_worst(char out[ACCEPT_TEXT_BYTES], const struct acceptance *a, const struct worst *w)
{
    if (w->a < 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "no rank has a value");
    else
        snprintf(out, ACCEPT_TEXT_BYTES, "the worst of %d ranks, rank %d on %s", w->n_subjects, w->a,
                 a->node[w->b].name);
}

/* Of the repeats of each rank those with a value: the fewest. */
static int fewest_repeats(const struct acceptance *a, const struct rank_metric *m)
{
    int fewest = m->n_repeats, n_finite;

    for (int r = 0; r < a->n_ranks; r++) {
        (void)finite_median(m->value + (size_t)r * (size_t)m->n_repeats, m->n_repeats, 1, &n_finite);
        fewest = n_finite < fewest ? n_finite : fewest;
    }
    return fewest;
}

/* out := why the values of a metric are too few to pass; "": they are not (accept.J2). */
static void say_too_few(char out[ACCEPT_TEXT_BYTES], const struct judging *j, int metric, const struct worst *w)
{
    const struct acceptance *a = j->a;
    const struct rank_metric *m = &a->metric[metric];

    out[0] = '\0';
    if (w->a < 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "no rank has a value");
    else if (w->missing_a >= 0)
        snprintf(out, ACCEPT_TEXT_BYTES, "rank %d on %s has no value", w->missing_a, a->node[w->missing_b].name);
    else if (m->stage == ACCEPT_TRAINING && fewest_repeats(a, m) < TRAINING_LEAST_PARTS)
        snprintf(out, ACCEPT_TEXT_BYTES, "%d part of the training was measured; %d parts of %d steps would be judged",
                 fewest_repeats(a, m), TRAINING_LEAST_PARTS, TRAINING_PART_STEPS);
    else if (m->n_repeats < j->c->least_repeats_count && m->stage != ACCEPT_TRAINING)
        snprintf(out, ACCEPT_TEXT_BYTES, "%d repeat%s; %d are asked for", m->n_repeats, m->n_repeats == 1 ? "" : "s",
                 j->c->least_repeats_count);
}

static void set_worst(struct criterion *row, const struct rank_metric *m, const struct worst *w)
{
    row->measured = w->value;
    row->low = w->low;
    row->high = w->high;
    row->n_samples = w->n_samples;
    row->unit = m->unit ? m->unit : "";
}

typedef enum rc find_fn(struct acceptance *a, int metric, const struct blame_terms *terms);

static enum rc find_stragglers(struct acceptance *a, int metric, const struct blame_terms *terms)
{
    (void)metric;
    return stragglers_find(a, terms);
}

/* The row `name`: nobody is found in a metric. limit_key: whose limit judges too few ranks; has_limit: it is set. */
static enum rc judge_outliers(struct judging *j, int metric, const char *name, find_fn *find, const char *limit_key,
                              bool has_limit)
{
    static const enum accept_stage stage_of[ACCEPT_N_METRICS] = { ACCEPT_COMPUTE, ACCEPT_COMPUTE,  ACCEPT_NOISE,
                                                                  ACCEPT_NOISE,   ACCEPT_TRAINING, ACCEPT_TRAINING };
    const struct worst w = worst_rank(j->a, metric);
    char no_data[ACCEPT_TEXT_BYTES], well[ACCEPT_TEXT_BYTES + 32], who[ACCEPT_TEXT_BYTES], value[QUANTITY_BYTES];
    const int first = j->a->n_findings;
    enum rc rc = RC_OK;

    if (j->a->n_ranks < LEAST_RANKS && has_limit)
        return RC_OK;
    struct criterion *row = acceptance_add_criterion(j->a, stage_of[metric], name);
    say_too_few(no_data, j, metric, &w);
    if (j->a->n_ranks < LEAST_RANKS)
        snprintf(no_data, sizeof no_data, "%d rank%s cannot be compared with a fleet; a limit, %s, would be judged",
                 j->a->n_ranks, j->a->n_ranks == 1 ? "" : "s", limit_key);
    else if (w.a >= 0)
        TRY(find(j->a, metric, &j->terms));
    set_worst(row, &j->a->metric[metric], &w);
    say_worst(who, j->a, &w);
    quantity_text(value, sizeof value, w.value, row->unit);
    snprintf(well, sizeof well, "none; %.280s, has %s", who, value);
    row_findings(j->a, row, first, no_data, well);
out:
    return rc;
}

/* Has a finding from `first` on of this metric named the rank, or its node? */
static bool is_named(const struct acceptance *a, const char *metric, int rank)
{
    for (int i = 0; i < a->n_findings; i++) {
        const struct finding *f = &a->finding[i];
        if (f->metric == metric && ((f->subject == SUBJECT_RANK && f->a == rank) ||
                                    (f->subject == SUBJECT_NODE && f->a == a->node_of_rank[rank])))
            return true;
    }
    return false;
}

/* A limit and what every rank has beside it. */
struct rank_limit {
    const struct rank_metric *metric;
    double limit;
    double *value; /* [n_ranks]: medians; NaN: none */
    bool *breaks;  /* [n_ranks] */
    int n_breaks, n_values;
};

static enum rc add_broken(struct acceptance *a, const struct rank_limit *l, enum subject subject, int x, int node,
                          double measured)
{
    struct finding f = { .stage = l->metric->stage,
                         .subject = subject,
                         .a = x,
                         .b = node,
                         .metric = l->metric->name,
                         .unit = l->metric->unit,
                         .measured = measured,
                         .expected = l->limit,
                         .q_value = 0 };
    char is[QUANTITY_BYTES], limit[QUANTITY_BYTES];

    quantity_text(is, sizeof is, measured, l->metric->unit);
    quantity_text(limit, sizeof limit, l->limit, l->metric->unit);
    snprintf(f.text, sizeof f.text, "%s%s; the limit is %s %s", subject == SUBJECT_RANK ? "" : "every rank: ", is,
             l->metric->higher_is_better ? "at least" : "at most", limit);
    return acceptance_add_finding(a, &f);
}

/* The worst of ranks from..from+n-1; *all_break: each of them breaks the limit, and there is one. */
static double worst_of(const struct rank_limit *l, const struct acceptance *a, int node, bool *all_break)
{
    double worst = NAN;
    bool all = true;

    for (int r = 0; r < a->n_ranks; r++) {
        if (a->node_of_rank[r] != node || isnan(l->value[r]))
            continue;
        all = all && l->breaks[r];
        worst = isnan(worst) || breaks_limit(l->value[r], worst, l->metric->higher_is_better) ? l->value[r] : worst;
    }
    *all_break = all && !isnan(worst);
    return worst;
}

/* accept.J4 */
static enum rc name_breakers(struct acceptance *a, const struct rank_limit *l, double worst)
{
    enum rc rc = RC_OK;

    if (l->n_breaks == l->n_values && a->n_ranks > 1)
        return add_broken(a, l, SUBJECT_FLEET, 0, 0, worst);
    for (int n = 0; n < a->n_nodes; n++) {
        bool all_break = false;
        const double of_node = worst_of(l, a, n, &all_break);
        const bool is_whole = all_break && a->node[n].n_ranks > 1;
        for (int r = 0; r < a->n_ranks; r++) {
            if (a->node_of_rank[r] != n || !l->breaks[r] || is_named(a, l->metric->name, r))
                continue;
            TRY(add_broken(a, l, is_whole ? SUBJECT_NODE : SUBJECT_RANK, is_whole ? n : r, n,
                           is_whole ? of_node : l->value[r]));
        }
    }
out:
    return rc;
}

static enum rc find_breakers(struct acceptance *a, int metric, double limit, double worst)
{
    const struct rank_metric *m = &a->metric[metric];
    struct rank_limit l = { .metric = m,
                            .limit = limit,
                            .value = malloc((size_t)a->n_ranks * sizeof *l.value),
                            .breaks = calloc((size_t)a->n_ranks, sizeof *l.breaks) };
    int n_finite;
    enum rc rc = RC_OK;

    if (!l.value || !l.breaks)
        FAIL(RC_NOMEM, "no memory to judge %d ranks", a->n_ranks);
    for (int r = 0; r < a->n_ranks; r++) {
        l.value[r] = finite_median(m->value + (size_t)r * (size_t)m->n_repeats, m->n_repeats, 1, &n_finite);
        l.breaks[r] = breaks_limit(l.value[r], limit, m->higher_is_better);
        l.n_values += !isnan(l.value[r]);
        l.n_breaks += l.breaks[r];
    }
    TRY(name_breakers(a, &l, worst));
out:
    free(l.value);
    free(l.breaks);
    return rc;
}

/* The row `key`: the worst rank keeps the limit; 0: there is none. */
static enum rc judge_rank_limit(struct judging *j, enum accept_stage stage, int metric, const char *key, double limit)
{
    const struct rank_metric *m = &j->a->metric[metric];
    const struct worst w = worst_rank(j->a, metric);
    char too_few[ACCEPT_TEXT_BYTES], who[ACCEPT_TEXT_BYTES];
    enum rc rc = RC_OK;

    if (!(limit > 0))
        return RC_OK;
    struct criterion *row = acceptance_add_criterion(j->a, stage, key);
    set_worst(row, m, &w);
    say_worst(who, j->a, &w);
    say_too_few(too_few, j, metric, &w);
    if (w.a < 0)
        row_limit(row, NAN, limit, stage == ACCEPT_COMPUTE, row->unit, "every rank");
    else if (!row_limit(row, w.value, limit, m->higher_is_better, m->unit, who))
        TRY(find_breakers(j->a, metric, limit, w.value));
    else if (too_few[0] != '\0')
        row_end(row, OUTCOME_NO_DATA, "%s", too_few);
out:
    return rc;
}

enum rc judge_compute(struct judging *j)
{
    const struct criteria *c = j->c;
    enum rc rc;

    TRY(judge_outliers(j, METRIC_GEMM, "outliers of flops_per_s", outliers_find, "least_flops_per_s",
                       c->least_flops_per_s > 0));
    TRY(judge_outliers(j, METRIC_MEMORY, "outliers of memory_bytes_per_s", outliers_find, "least_memory_bytes_per_s",
                       c->least_memory_bytes_per_s > 0));
    TRY(judge_rank_limit(j, ACCEPT_COMPUTE, METRIC_GEMM, "least_flops_per_s", c->least_flops_per_s));
    TRY(judge_rank_limit(j, ACCEPT_COMPUTE, METRIC_MEMORY, "least_memory_bytes_per_s", c->least_memory_bytes_per_s));
out:
    return rc;
}

/* A row alone where others took so much of all ranks that nothing measured beside them can be judged. */
static enum rc judge_disturbance(struct judging *j)
{
    const struct rank_metric *m = &j->a->metric[METRIC_DETOUR];
    const double most = fmax(DISTURBED_RATIO, j->c->most_detour_ratio);
    double *of_rank = malloc((size_t)j->a->n_ranks * sizeof *of_rank);
    size_t n_known = 0;
    int n_finite;

    if (!of_rank)
        return rc_raise(RC_NOMEM, "no memory to judge the noise of %d ranks", j->a->n_ranks);
    for (int r = 0; r < j->a->n_ranks && m->value; r++) {
        of_rank[n_known] = finite_median(m->value + (size_t)r * (size_t)m->n_repeats, m->n_repeats, 1, &n_finite);
        n_known += n_finite > 0;
    }
    const double taken = robust_median(of_rank, n_known);
    free(of_rank);
    if (!(taken > most))
        return RC_OK;
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_NOISE, "quiet machine");
    row->measured = taken;
    row->limit = most;
    row->unit = m->unit;
    row->n_samples = j->a->n_ranks;
    row_end(row, OUTCOME_NO_DATA,
            "others took %.0f %% of the ranks' time, and more than %.0f %% is too much for a pass; end what runs "
            "beside the test, start no more ranks than cores, or leave these nodes out",
            100 * taken, 100 * most);
    return RC_OK;
}

/* The longest detour is the largest of thousands: of healthy ranks, too, one has by far the longest, so a limit alone
 * judges it. */
enum rc judge_noise(struct judging *j)
{
    const struct criteria *c = j->c;
    enum rc rc;

    TRY(judge_outliers(j, METRIC_DETOUR, "outliers of detour_ratio", outliers_find, "most_detour_ratio",
                       c->most_detour_ratio > 0));
    TRY(judge_disturbance(j));
    TRY(judge_rank_limit(j, ACCEPT_NOISE, METRIC_DETOUR, "most_detour_ratio", c->most_detour_ratio));
    TRY(judge_rank_limit(j, ACCEPT_NOISE, METRIC_LONGEST_DETOUR, "most_longest_detour_s", c->most_longest_detour_s));
out:
    return rc;
}

/* Of all nodes; NULL: they were not reached. */
static const struct scaled_training *at_all_nodes(const struct acceptance *a)
{
    for (int i = 0; i < a->n_training; i++)
        if (a->training[i].n_nodes == a->n_nodes)
            return &a->training[i];
    return NULL;
}

/* " (30 of 60 steps)", where fewer were trained than asked for; else "". */
static const char *say_steps(char out[64], const struct judging *j, const struct scaled_training *all)
{
    const double asked = j->c->training_steps_count;

    out[0] = '\0';
    if ((double)all->n_steps < asked)
        snprintf(out, 64, " (%llu of %.0f steps)", (unsigned long long)all->n_steps, asked);
    return out;
}

/* accept.J2: what too few steps say is no pass. at: the training whose steps are the fewest of those compared. */
static void doubt_few_steps(struct judging *j, struct criterion *row, const struct scaled_training *at)
{
    if ((row->outcome == OUTCOME_PASS || row->outcome == OUTCOME_NO_LIMIT) &&
        at->n_measured_steps < TRAINING_LEAST_STEPS)
        row_end(row, OUTCOME_NO_DATA, "%d node%s: %llu of %.0f steps were measured; at least %d would be judged",
                at->n_nodes, at->n_nodes == 1 ? "" : "s", (unsigned long long)at->n_measured_steps,
                j->c->training_steps_count, TRAINING_LEAST_STEPS);
}

static void judge_samples(struct judging *j, const struct scaled_training *all)
{
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_TRAINING, "samples_per_s");
    char steps[64], rate[QUANTITY_BYTES];

    row->unit = "sample/s";
    if (!all || !(all->samples_per_s > 0)) {
        row_end(row, OUTCOME_NO_DATA, "%d nodes: not measured", j->a->n_nodes);
        return;
    }
    row->measured = all->samples_per_s;
    row->low = all->low_samples_per_s;
    row->high = all->high_samples_per_s;
    row->n_samples = (int)all->n_measured_steps;
    quantity_text(rate, sizeof rate, all->samples_per_s, row->unit);
    row_end(row, OUTCOME_NO_LIMIT, "%d nodes%s: %s, without a limit", all->n_nodes, say_steps(steps, j, all), rate);
    doubt_few_steps(j, row, all);
}

static void judge_efficiency(struct judging *j, const struct scaled_training *all, const char *who)
{
    struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_TRAINING, "least_efficiency_ratio");

    row->low = all ? all->low_efficiency_ratio : NAN;
    row->high = all ? all->high_efficiency_ratio : NAN;
    row->n_samples = all ? (int)all->n_measured_steps : 0;
    row_limit(row, all ? all->efficiency_ratio : NAN, j->c->least_efficiency_ratio, true, "of one node's", who);
    if (j->a->n_nodes < 2)
        row_end(row, OUTCOME_NO_DATA, "one node is as fast as itself; at least two would be judged");
    if (all) {
        doubt_few_steps(j, row, all);
        doubt_few_steps(j, row, &j->a->training[0]);
    }
}

static void judge_scaling(struct judging *j, const struct scaled_training *all)
{
    const struct criteria *c = j->c;
    char who[128], steps[64];

    snprintf(who, sizeof who, "%d nodes%s", j->a->n_nodes, all ? say_steps(steps, j, all) : "");
    if (c->least_efficiency_ratio > 0)
        judge_efficiency(j, all, who);
    if (c->most_exposed_ratio > 0) {
        struct criterion *row = acceptance_add_criterion(j->a, ACCEPT_TRAINING, "most_exposed_ratio");
        row->n_samples = all ? (int)all->n_measured_steps : 0;
        row_limit(row, all ? all->exposed_ratio : NAN, c->most_exposed_ratio, false, "of a step", who);
        if (all)
            doubt_few_steps(j, row, all);
        if (j->a->n_ranks < 2)
            row_end(row, OUTCOME_NO_DATA, "one rank waits for no communication; at least two would be judged");
    }
}

enum rc judge_training(struct judging *j)
{
    const struct scaled_training *all = at_all_nodes(j->a);
    const bool has_limit = j->c->least_efficiency_ratio > 0 || j->c->most_exposed_ratio > 0;
    enum rc rc;

    TRY(judge_outliers(j, METRIC_STEP_COMPUTE, "stragglers", find_stragglers,
                       "least_efficiency_ratio or most_exposed_ratio", has_limit));
    judge_samples(j, all);
    judge_scaling(j, all);
    judge_rank_training(j);
out:
    return rc;
}
