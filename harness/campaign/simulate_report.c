/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_report.c - predictions as an answer with one table, as all tables, as records and a page; see simulate.h. */
#include "harness/campaign/simulate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/bench/calibration.h"
#include "harness/campaign/bottleneck.h"
#include "harness/campaign/prediction.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/html.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

/* Fills the cells of a point. */
typedef void simulate_add_row(struct table *t, const struct simulate *s, const struct simulate_point *p);

/*
 * what a terminal shows of predictions: the answer in a few lines, and one table.
 */

enum { MOST_ANSWERED = 3 /* models */ };

static const double SAME_HELP = 1.01; /* ratio of throughputs that are printed as nearly equal */

/* --- the answer --- */

static bool is_ranked(const struct simulate *s, const struct simulate_point *p)
{
    return !simulate_failure(s, p) && s->way[p->way].mode != ROW_NONE;
}

/* The most GPUs of which a way of this model was simulated; 0: none was. */
static int most_gpus(const struct simulate *s, size_t profile)
{
    int most = 0;

    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].profile == profile && is_ranked(s, &s->point[i]) && s->point[i].n_gpus > most)
            most = s->point[i].n_gpus;
    return most;
}

/* The fastest point of another way than `but`, NULL: of any; NULL: there is none. */
static const struct simulate_point *fastest(const struct simulate *s, size_t profile, int n_gpus,
                                            const struct simulate_point *but)
{
    const struct simulate_point *best = NULL;

    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (p->profile == profile && p->n_gpus == n_gpus && is_ranked(s, p) && p != but &&
            (!best || p->images_per_s > best->images_per_s))
            best = p;
    }
    return best;
}

/* At every number of GPUs above one? */
static bool is_always_fastest(const struct simulate *s, const struct simulate_point *best)
{
    for (size_t i = 0; i < s->n_counts; i++) {
        const struct simulate_point *p = fastest(s, best->profile, s->n_gpus[i], NULL);
        if (p && s->n_gpus[i] > 1 && p->way != best->way)
            return false;
    }
    return true;
}

/* "efficiency 68.3 % (by random delays alone 67.9 to 68.8)" */
static void tell_efficiency(const struct simulate_point *p, FILE *to)
{
    fprintf(to, "efficiency %.1f %%", 100 * p->efficiency.mean);
    if (!isnan(p->efficiency.high))
        fprintf(to, " (by random delays alone %.1f to %.1f)", 100 * p->efficiency.low, 100 * p->efficiency.high);
}

/* What efficiency is relative to, and what all GPUs gain. */
static void tell_alone(const struct simulate *s, size_t profile, const struct simulate_point *best, FILE *to)
{
    const struct used_profile *p = &s->profiles.profile[profile];

    fprintf(to, "  One GPU alone: %.1f images/s, batch %d, %s.", p->images_per_s, p->batch, p->precision);
    if (best->n_gpus > 1)
        fprintf(to, " %d GPUs are %.2f times as fast%s.", best->n_gpus, best->images_per_s / p->images_per_s,
                best->images_per_s < p->images_per_s ? ": one GPU is faster" : "");
    if (s->terms->published[0])
        fprintf(to, " Other published rates: gradmark profile --list.");
    fputc('\n', to);
}

static void tell_model(const struct simulate *s, size_t profile, FILE *to)
{
    const int n_gpus = most_gpus(s, profile);
    const struct simulate_point *best = fastest(s, profile, n_gpus, NULL), *next;
    const char *model = s->profiles.profile[profile].model;
    char way[SIMULATE_WAY_BYTES];

    if (!best) {
        fprintf(to, "%s: there is no prediction of a mode that exchanges gradients.\n", model);
        return;
    }
    next = fastest(s, profile, n_gpus, best);
    simulate_way_name(way, sizeof way, &s->way[best->way]);
    fprintf(to, "%s on %d GPU%s: %s%s: %.1f images/s, ", model, n_gpus, n_gpus == 1 ? "" : "s", way,
            next ? " is fastest" : "", best->images_per_s);
    tell_efficiency(best, to);
    fprintf(to, ".\n");
    tell_alone(s, profile, best, to);
    if (!next)
        return;
    simulate_way_name(way, sizeof way, &s->way[next->way]);
    if (!isnan(best->efficiency.high) && best->efficiency.low <= next->efficiency.high)
        fprintf(to, "  Cannot tell whether %s is slower: the bands overlap.", way);
    else if (next->images_per_s > (1 - CROSSOVER_EQUAL) * best->images_per_s)
        fprintf(to, "  %s is as fast, within %.1f %%.", way, 100 * CROSSOVER_EQUAL);
    else
        fprintf(to, "  Next is %s: %.2f times as fast.", way, next->images_per_s / best->images_per_s);
    if (s->n_counts > 1 && s->n_gpus[s->n_counts - 2] > 1)
        fprintf(to,
                is_always_fastest(s, best) ? " With fewer GPUs, %s is fastest, too."
                                           : " With fewer GPUs, %s is not always fastest.",
                simulate_way_exchange(&s->way[best->way]));
    fputc('\n', to);
}

/* "Twice the network ..." of the fastest point of the first model: the change that helps most. Of changes that help
 * alike the first one is meant: a network can be bought, fewer bytes cannot. */
static void tell_best_change(const struct simulate *s, FILE *to)
{
    const struct simulate_point *best = fastest(s, 0, most_gpus(s, 0), NULL);
    const struct simulate_change *most = NULL;

    for (size_t i = 0; best && i < s->n_changes; i++) {
        const struct simulate_change *c = &s->change[i];
        if (c->kind == CHANGE_WHAT_IF && &s->point[c->point] == best && c->is_possible && c->ratio > 1 &&
            (!most || c->ratio > most->ratio * SAME_HELP))
            most = c;
    }
    if (most)
        fprintf(to, "  What would help it most: %s, %.2f times as fast.\n", simulate_what_if_name(s, most->what),
                most->ratio);
}

/* The assumption that moves any prediction most; NULL: none was changed. */
static const struct simulate_change *most_assumed(const struct simulate *s)
{
    const struct simulate_change *most = NULL;

    for (size_t i = 0; i < s->n_changes; i++) {
        const struct simulate_change *c = &s->change[i];
        if (c->kind == CHANGE_ASSUMED && c->is_possible && !isnan(c->ratio) &&
            (!most || fabs(c->ratio - 1) > fabs(most->ratio - 1)))
            most = c;
    }
    return most;
}

static void tell_how_sure(const struct simulate *s, FILE *to)
{
    const struct used_cluster *c = &s->cluster[s->n_clusters - 1]; /* of servers: all that workers use, and more */
    const struct simulate_change *most = most_assumed(s);
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&c->cluster, key);

    calibration_tell_doubt(c->sources, c->name, to);
    if (n_assumed == 0) {
        fprintf(to, "Simulated, not measured. Every value of %s was measured or published.\n", c->name);
        return;
    }
    fprintf(to, "Simulated, not measured: %zu value%s of %s", n_assumed, n_assumed == 1 ? "" : "s", c->name);
    fprintf(to, n_assumed == 1 ? " is an assumption" : " are assumptions");
    if (most)
        fprintf(to, "; %s moves a prediction by up to %.0f %%", cluster_keys[most->what].name,
                100 * fabs(most->ratio - 1));
    else if (!s->terms->has_assumptions)
        fprintf(to, " (their effect: --out FOLDER)");
    fprintf(to, ". How wrong such predictions were: gradmark help predict.md, \"Know how wrong it is\".\n");
}

static void tell_failures(const struct simulate *s, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_points; i++)
        n += simulate_failure(s, &s->point[i]) != NULL;
    if (n > 0)
        fprintf(to, "%zu of %zu predictions failed.\n", n, s->n_points);
}

/* The answer in a few lines, each a sentence or more; further lines of a model are indented. */
static void simulate_tell_answer(const struct simulate *s, FILE *to)
{
    for (size_t i = 0; i < s->profiles.n && i < MOST_ANSWERED; i++)
        tell_model(s, i, to);
    if (s->profiles.n > MOST_ANSWERED)
        fprintf(to, "%zu more models are in the table.\n", s->profiles.n - MOST_ANSWERED);
    if (s->profiles.n == 1)
        tell_best_change(s, to);
    tell_failures(s, to);
    tell_how_sure(s, to);
}

/* --- the table --- */

static bool have_same_servers(const struct simulate *s)
{
    const struct simulate_way *first = NULL;

    for (size_t i = 0; i < s->n_ways; i++) {
        if (!row_mode_has_servers(s->way[i].mode))
            continue;
        if (first && first->n_servers != s->way[i].n_servers)
            return false;
        first = first ? first : &s->way[i];
    }
    return true;
}

/* "ps sync, whole" if all ways with servers have as many; else "ps sync, whole, 8" and "..., host". */
static void simulate_way_short(char *out, size_t n_bytes, const struct simulate *s, const struct simulate_way *w)
{
    char servers[16] = "host";

    simulate_way_name(out, n_bytes, w);
    if (!row_mode_has_servers(w->mode))
        return;
    char *end = strrchr(out, ',');
    if (w->n_servers > 0)
        snprintf(servers, sizeof servers, "%d", w->n_servers);
    if (have_same_servers(s))
        *end = '\0';
    else
        snprintf(end, n_bytes - (size_t)(end - out), ", %s", servers);
}

static void simulate_bottleneck_short(char *out, size_t n_bytes, const struct simulate *s,
                                      const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    struct topology t;

    topology_init(&t, &s->cluster[w->cluster].cluster, p->n_gpus, p->n_gpus + p->n_servers);
    bottleneck_short_text(out, n_bytes, &p->bottleneck, &s->simulations.simulation[p->together[0]], &t);
}

static void simulate_point_cells(struct table *t, const struct simulate *s, const struct simulate_point *p,
                                 const char *way, int n_after)
{
    table_cell(t, "%s", s->profiles.profile[p->profile].model);
    table_cell(t, "%s", way);
    table_cell(t, "%d", p->n_gpus);
    p->n_servers > 0 ? table_cell(t, "%d", p->n_servers) : table_cell(t, "-");
    if (!simulate_failure(s, p))
        return;
    table_cell(t, "failed");
    for (int i = 0; i < n_after; i++)
        table_cell(t, "-");
}

static void print_short_point(struct table *t, const struct simulate *s, const struct simulate_point *p)
{
    enum { N_AFTER = 3 };
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];

    simulate_way_short(way, sizeof way, s, &s->way[p->way]);
    simulate_point_cells(t, s, p, way, N_AFTER);
    if (simulate_failure(s, p))
        return;
    simulate_bottleneck_short(bottleneck, sizeof bottleneck, s, p);
    table_cell(t, "%.1f %%", 100 * p->efficiency.mean);
    if (!isnan(p->efficiency.high))
        table_cell(t, "%.1f-%.1f", 100 * p->efficiency.low, 100 * p->efficiency.high);
    else
        table_cell(t, "-");
    table_cell(t, "%.1f", p->images_per_s);
    table_cell(t, "%s", bottleneck);
}

static struct table *simulate_table_of(const struct simulate *s, const struct column *column, size_t n_columns,
                                       simulate_add_row *add_row)
{
    struct table *t = table_open(column, n_columns);

    for (size_t i = 0; i < s->n_points; i++) {
        if (i > 0 && (s->point[i].profile != s->point[i - 1].profile || s->point[i].way != s->point[i - 1].way))
            table_rule(t);
        add_row(t, s, &s->point[i]);
    }
    return t;
}

static enum rc print_table(const struct simulate *s, FILE *to)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },       { "mode", ALIGN_LEFT },
                                            { "GPUs", ALIGN_RIGHT },       { "servers", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT }, { "band, %", ALIGN_RIGHT },
                                            { "images/s", ALIGN_RIGHT },   { "busiest, % of step", ALIGN_LEFT } };
    struct table *t = simulate_table_of(s, column, sizeof column / sizeof *column, print_short_point);

    return table_finish(t, to);
}

enum rc simulate_print_answer(const struct simulate *s, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    simulate_tell_answer(s, text.lines);
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(print_table(s, to));
    TRY(output_flush(to));
out:
    return rc;
}

/* What the figures of predictions mean: bands, bottlenecks, and where ways cross over. */

static void simulate_bottleneck_text(char *out, size_t n_bytes, const struct simulate *s,
                                     const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    struct topology t;

    topology_init(&t, &s->cluster[w->cluster].cluster, p->n_gpus, p->n_gpus + p->n_servers);
    bottleneck_text(out, n_bytes, &p->bottleneck, &s->simulations.simulation[p->together[0]], &t,
                    simulate_way_exchange(w));
}

bool simulate_is_random(const struct cluster *c)
{
    return c->jitter != JITTER_NONE || c->n_stragglers > 0 || c->job_placement == PLACE_RANDOM;
}

/* "jitter_ratio 0.03 (measured), stragglers_count 2 (given)" */
static void chance_text(char *out, size_t n_bytes, const struct used_cluster *c)
{
    const struct {
        const char *key;
        bool is_random;
    } by[] = { { "jitter_ratio", c->cluster.jitter != JITTER_NONE },
               { "stragglers_count", c->cluster.n_stragglers > 0 },
               { "job_placement", c->cluster.job_placement == PLACE_RANDOM } };
    char value[64];
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < sizeof by / sizeof *by && at < n_bytes; i++) {
        const int key = cluster_key_find(by[i].key);
        if (!by[i].is_random)
            continue;
        cluster_key_format(&c->cluster, key, value, sizeof value);
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%s %s (%s)", at > 0 ? ", " : "", by[i].key, value,
                               used_cluster_source_name(c, key));
    }
}

/* What half its width is of (M5), or why there is none. */
static void simulate_band_text(char *out, size_t n_bytes, const struct simulate *s)
{
    const struct used_cluster *c = &s->cluster[s->n_clusters - 1]; /* of servers: all that workers use, and more */
    const bool is_random = simulate_is_random(&s->cluster[0].cluster);
    const char *why = is_random
                          ? "Fewer than three seeds were simulated; --seeds 5 gives a band of random draws."
                          : "Nothing in the description is random: no jitter, no stragglers, no random placement.";
    char chance[SIMULATE_SENTENCE_BYTES / 4], spread[SIMULATE_SENTENCE_BYTES / 2];

    chance_text(chance, sizeof chance, &s->cluster[0]);
    if (c->n_calibrated > 0)
        calibration_band_text(spread, sizeof spread, c->calibrated, c->n_calibrated);
    else
        snprintf(spread, sizeof spread, "No value was calibrated with a spread.");
    if (!simulate_has_bands(s))
        snprintf(out, n_bytes, "band: none. %s %s", why, spread);
    else if (s->n_seeds < PREDICTION_BAND_LEAST)
        snprintf(out, n_bytes, "band: %s It has no random draws. %s", spread, why);
    else
        snprintf(out, n_bytes,
                 "band: in 95 of 100 cases, one more run with as many steps is inside it. It comes from %d simulations "
                 "with different random draws (Student's t) of %s. %s Other assumptions of the description are not in "
                 "it.",
                 s->n_seeds, chance[0] ? chance : "nothing, as nothing is random", spread);
}

/* One that has no band is as sure as can be. */
static bool overlap(const struct prediction_band *a, const struct prediction_band *b)
{
    return a->low <= b->high && b->low <= a->high;
}

/* Buckets, overlap, transports, and the number of points left out; passed to print(arg, line). */
static void simulate_exchange_terms(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg)
{
    const struct simulate_terms *t = s->terms;
    char line[SIMULATE_SENTENCE_BYTES], buckets[SIMULATED_BUCKETS_BYTES];

    simulated_buckets_text(buckets, t->bucket_bytes);
    snprintf(line, sizeof line,
             "exchange: without servers %s, transport %s; with servers %s, transport %s; overlap with computing: %s",
             buckets, used_cluster_transport(&s->cluster[0]), simulated_servers_text(),
             used_cluster_transport(&s->cluster[s->n_clusters - 1]), t->overlap);
    print(arg, line);
    if (s->n_left_out == 0)
        return;
    snprintf(line, sizeof line, "%zu point%s left out: GPUs x servers above %d", s->n_left_out,
             s->n_left_out == 1 ? " is" : "s are", SIMULATE_MOST_MESSAGES);
    print(arg, line);
}

/* A phrase that says what is changed. */
static const char *simulate_what_if_text(void)
{
    return "network x 2: cards and the links between groups are twice as fast, software is not; latency: of network, "
           "groups and protocol; half the bytes: every link, copy and process carries half; -: nothing to change, or "
           "too little of it";
}

static const char *simulate_assumptions_text(void)
{
    return "each assumed value alone is set to the ends of its range (half and twice the value, if its source states "
           "none), or chosen otherwise; all else and the random draws stay the same. The change of the throughput of "
           "all GPUs";
}

static const char *simulate_systems_text(void)
{
    return "MB: sent by network cards for each GPU and step; busiest card: the part of a step in which it is at work; "
           "staleness: mean number of updates between a pull and its push: with late gradients, training needs more "
           "images; slow link: throughput with the cards of "
           "one random host at a tenth of their rate, divided by the throughput without";
}

/* --- crossovers --- */

struct common { /* the numbers of GPUs that two ways have both */
    int n_gpus[SIMULATE_MOST_COUNTS];
    double first[SIMULATE_MOST_COUNTS], second[SIMULATE_MOST_COUNTS]; /* images/s */
    bool is_open[SIMULATE_MOST_COUNTS];                               /* their bands overlap */
    size_t n, n_open;
};

static const struct simulate_point *point_of(const struct simulate *s, size_t profile, size_t way, int n_gpus)
{
    for (size_t i = 0; i < s->n_points; i++)
        if (s->point[i].profile == profile && s->point[i].way == way && s->point[i].n_gpus == n_gpus)
            return &s->point[i];
    return NULL;
}

static struct common common_of(const struct simulate *s, size_t profile, size_t first, size_t second)
{
    struct common c = { .n = 0 };

    for (size_t i = 0; i < s->n_counts; i++) {
        const struct simulate_point *a = point_of(s, profile, first, s->n_gpus[i]);
        const struct simulate_point *b = point_of(s, profile, second, s->n_gpus[i]);
        if (!a || !b || simulate_failure(s, a) || simulate_failure(s, b))
            continue;
        c.n_gpus[c.n] = s->n_gpus[i];
        c.first[c.n] = a->images_per_s;
        c.second[c.n] = b->images_per_s;
        c.is_open[c.n] = overlap(&a->efficiency, &b->efficiency);
        c.n_open += c.is_open[c.n];
        c.n++;
    }
    return c;
}

/* Is a lead on either side of a crossover at `gpus` within the bands? */
static bool is_within_band(const struct common *c, double gpus)
{
    size_t behind = 0;

    while (behind + 1 < c->n && c->n_gpus[behind] < gpus)
        behind++;
    return c->is_open[behind] || (behind > 0 && c->is_open[behind - 1]);
}

static const char *how_sure(const struct common *c)
{
    return c->n_open == 0      ? ""
           : c->n_open == c->n ? ", but all bands overlap"
                               : ", but with some numbers of GPUs the bands overlap";
}

static void tell_pair(const struct simulate *s, size_t profile, size_t first, size_t second,
                      void (*print)(void *arg, const char *line), void *arg)
{
    const struct common c = common_of(s, profile, first, second);
    const struct crossovers found = crossovers_find(c.n_gpus, c.first, c.second, c.n);
    char own[SIMULATE_WAY_BYTES], other[SIMULATE_WAY_BYTES], line[SIMULATE_SENTENCE_BYTES];
    const char *model = s->profiles.profile[profile].model;
    int at;

    if (c.n < 2)
        return;
    simulate_way_name(own, sizeof own, &s->way[first]);
    simulate_way_name(other, sizeof other, &s->way[second]);
    if (found.are_equal) {
        snprintf(line, sizeof line, "%s: %s and %s are equally fast between %d and %d GPUs", model, own, other,
                 c.n_gpus[0], c.n_gpus[c.n - 1]);
        print(arg, line);
        return;
    }
    if (found.n == 0) {
        snprintf(line, sizeof line, "%s: no crossover of %s and %s between %d and %d GPUs: %s is faster%s", model, own,
                 other, c.n_gpus[0], c.n_gpus[c.n - 1], found.first_leads ? own : other, how_sure(&c));
        print(arg, line);
        return;
    }
    at = snprintf(line, sizeof line, "%s: %s and %s cross over at", model, own, other);
    for (size_t i = 0; i < found.n && i < CROSSOVER_MOST; i++)
        at += snprintf(line + at, sizeof line - (size_t)at, "%s %.1f%s", i > 0 ? "," : "", found.gpus[i],
                       is_within_band(&c, found.gpus[i]) ? " (the bands overlap)" : "");
    snprintf(line + at, sizeof line - (size_t)at, " GPUs: below, %s is faster%s", found.first_leads ? own : other,
             found.n > 1 ? "; then in turn" : "");
    print(arg, line);
}

/* The crossovers of a collective and a way with servers, and whether bands confirm them: a line for each model and
 * pair, passed to print(arg, line). */
static void simulate_crossovers(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg)
{
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (size_t first = 0; first < s->n_ways; first++)
            for (size_t second = 0; second < s->n_ways; second++)
                if (s->way[first].mode == ROW_COLLECTIVE && row_mode_has_servers(s->way[second].mode))
                    tell_pair(s, profile, first, second, print, arg);
}

/*
 * what models would do: the table, what is assumed, and the records.
 */

enum { MOST_ASSUMPTIONS = 3 }; /* of a prediction, on a terminal */

static void print_point(struct table *t, const struct simulate *s, const struct simulate_point *p)
{
    enum { N_AFTER_ALL = 6 };
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    simulate_point_cells(t, s, p, way, N_AFTER_ALL);
    if (simulate_failure(s, p))
        return;
    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    table_cell(t, "%.1f %%", 100 * p->efficiency.mean);
    if (!isnan(p->efficiency.high))
        table_cell(t, "%.1f .. %.1f", 100 * p->efficiency.low, 100 * p->efficiency.high);
    else
        table_cell(t, "-");
    table_cell(t, "%.1f", p->images_per_s);
    table_cell(t, "%.4g", 1e3 * p->step_s);
    table_cell(t, "%.4g", p->exposed_s < 1e-6 * p->step_s ? 0 : 1e3 * p->exposed_s);
    table_cell(t, "%.0f %%", 100 * p->exposed_s / p->step_s);
    table_cell(t, "%s", bottleneck);
}

/* Table of the points. RC_NOMEM. */
static struct table *simulate_table(const struct simulate *s)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },
                                            { "mode", ALIGN_LEFT },
                                            { "GPUs", ALIGN_RIGHT },
                                            { "servers", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT },
                                            { "band", ALIGN_RIGHT },
                                            { "images/s", ALIGN_RIGHT },
                                            { "step ms", ALIGN_RIGHT },
                                            { "exposed ms", ALIGN_RIGHT },
                                            { "of step", ALIGN_RIGHT },
                                            { "bottleneck, busy for", ALIGN_LEFT } };

    return simulate_table_of(s, column, sizeof column / sizeof *column, print_point);
}

static void print_line(void *to, const char *line)
{
    fprintf(to, "%s\n", line);
}

/* has_exposed: the table above has that column. */
static void print_terms(const struct simulate *s, bool has_exposed, FILE *to)
{
    const struct simulate_terms *t = s->terms;
    char band[SIMULATE_SENTENCE_BYTES];

    simulate_band_text(band, sizeof band, s);
    fprintf(to, "%s\n", band);
    fprintf(to, "efficiency: step time of one GPU alone / step time of all.%s\n",
            has_exposed ? " exposed: the mean part of a step in which a GPU does not compute: exchange that is not "
                          "hidden, its update, and waiting for slower GPUs"
                        : "");
    if (t->cluster_set[0])
        fprintf(to, "values of the description that were set: %s\n", t->cluster_set);
    for (size_t i = 0; i < s->profiles.n; i++)
        fprintf(to, "%s on one GPU: %.1f images/s, batch %d: %s\n", s->profiles.profile[i].model,
                s->profiles.profile[i].images_per_s, s->profiles.profile[i].batch, s->profiles.profile[i].source);
    simulate_exchange_terms(s, print_line, to);
    for (size_t i = 0; i < s->n_clusters; i++)
        used_cluster_print_assumed(&s->cluster[i], to);
}

static void print_ratio(struct table *t, const struct simulate_change *c)
{
    c && c->is_possible && !isnan(c->ratio) ? table_cell(t, "%.3f", c->ratio) : table_cell(t, "-");
}

static void print_changed(struct table *t, const struct simulate *s, size_t point, bool is_short)
{
    const struct simulate_point *p = &s->point[point];
    char way[SIMULATE_WAY_BYTES];

    if (is_short)
        simulate_way_short(way, sizeof way, s, &s->way[p->way]);
    else
        simulate_way_name(way, sizeof way, &s->way[p->way]);
    table_cell(t, "%s", s->profiles.profile[p->profile].model);
    table_cell(t, "%s", way);
    table_cell(t, "%d", p->n_gpus);
    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        print_ratio(t, simulate_change_of(s, CHANGE_WHAT_IF, point, what));
}

/* Ratios of throughput. is_short: with short names of ways. RC_NOMEM. */
static struct table *simulate_what_if_table(const struct simulate *s, bool is_short)
{
    struct column column[3 + SIMULATE_N_WHAT_IFS] = { { "what if", ALIGN_LEFT },
                                                      { "mode", ALIGN_LEFT },
                                                      { "GPUs", ALIGN_RIGHT } };
    struct table *t = NULL;

    for (int what = 0; what < SIMULATE_N_WHAT_IFS; what++)
        column[3 + what] = (struct column){ simulate_what_if_name(s, what), ALIGN_RIGHT };
    t = table_open(column, sizeof column / sizeof *column);
    for (size_t i = 0; i < s->n_points; i++)
        if (simulate_is_changed(s, i) && !simulate_failure(s, &s->point[i]) && s->way[s->point[i].way].mode != ROW_NONE)
            print_changed(t, s, i, is_short);
    return t;
}

static enum rc print_what_ifs(const struct simulate *s, FILE *to)
{
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    fputc('\n', to);
    TRY(table_finish(simulate_what_if_table(s, false), to));
    fprintf(to, "what if: throughput with the change over that without it; %s\n\n", simulate_what_if_text());
out:
    return rc;
}

static enum rc print_systems(const struct simulate *s, FILE *to)
{
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    TRY(table_finish(simulate_systems_table(s, false), to));
    fprintf(to, "systems: %s\n", simulate_systems_text());
    simulate_network_claims(s, print_line, to);
    fputc('\n', to);
out:
    return rc;
}

static enum rc print_assumptions(const struct simulate *s, FILE *to)
{
    char way[SIMULATE_WAY_BYTES];
    bool is_first = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (!simulate_is_explained(s, i) || simulate_failure(s, p))
            continue;
        if (is_first)
            fprintf(to, "assumptions that move a prediction most: %s\n", simulate_assumptions_text());
        is_first = false;
        simulate_way_name(way, sizeof way, &s->way[p->way]);
        fprintf(to, "%s, %s, %d GPUs\n", s->profiles.profile[p->profile].model, way, p->n_gpus);
        TRY(table_finish(simulate_assumptions_table(s, i, MOST_ASSUMPTIONS), to));
    }
out:
    return rc;
}

enum rc simulate_print(const struct simulate *s, FILE *to)
{
    enum rc rc;

    TRY(table_finish(simulate_table(s), to));
    TRY(print_what_ifs(s, to));
    TRY(print_systems(s, to));
    TRY(print_assumptions(s, to));
    simulate_crossovers(s, print_line, to);
    print_terms(s, true, to);
    TRY(output_flush(to));
out:
    return rc;
}

/* A table, and sentences about it. */
static enum rc print_explained(struct table **t, const char *what, FILE *to)
{
    struct terminal_text text;
    enum rc rc;

    fputc('\n', to);
    TRY(table_print(*t, to));
    table_close(t);
    TRY(terminal_text_open(&text));
    fprintf(text.lines, "%s\n", what);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

enum rc simulate_print_rest(const struct simulate *s, FILE *to)
{
    struct terminal_text text = { .lines = NULL };
    struct table *t = NULL;
    char what[SIMULATE_SENTENCE_BYTES];
    enum rc rc = RC_OK;

    if (s->terms->has_what_if) {
        snprintf(what, sizeof what, "what if: throughput with the change over that without it; %s",
                 simulate_what_if_text());
        t = simulate_what_if_table(s, true);
        TRY(print_explained(&t, what, to));
        snprintf(what, sizeof what, "systems: %s", simulate_systems_text());
        t = simulate_systems_table(s, true);
        TRY(print_explained(&t, what, to));
    }
    TRY(terminal_text_open(&text));
    if (s->terms->has_what_if)
        simulate_network_claims(s, print_line, text.lines);
    fputc('\n', text.lines);
    simulate_crossovers(s, print_line, text.lines);
    print_terms(s, false, text.lines);
    TRY(terminal_text_close(&text, to));
    TRY(output_flush(to));
out:
    table_close(&t);
    return rc;
}

/* --- records --- */

static void record_way(struct record *record, const struct simulate *s, const struct simulate_way *w)
{
    const bool has_servers = row_mode_has_servers(w->mode);

    record_text(record, "transport", used_cluster_transport(&s->cluster[w->cluster]));
    record_text(record, "mode", row_mode_name(w->mode));
    record_text(record, "reducer", w->reducer[0] ? w->reducer : NULL);
    record_text(record, "consistency", has_servers ? w->consistency : NULL);
    record_text(record, "placement", has_servers ? w->placement : NULL);
}

static enum rc write_point(struct report *to, const struct simulate *s, const struct simulate_point *p)
{
    const struct simulation *together = &s->simulations.simulation[p->together[0]];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    char bottleneck[BOTTLENECK_BYTES];

    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    struct record *record = report_begin(to, "prediction");
    record_text(record, "model", profile->model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "cluster", s->cluster[0].name);
    record_f64(record, "predicted_ratio", p->efficiency.mean);
    record_f64(record, "predicted_low_ratio", p->efficiency.low);
    record_f64(record, "predicted_high_ratio", p->efficiency.high);
    record_i64(record, "seeds_count", s->n_seeds);
    record_f64(record, "one_gpu_images_per_s", profile->images_per_s);
    record_f64(record, "predicted_images_per_s", p->images_per_s);
    record_f64(record, "step_s", p->step_s);
    record_f64(record, "exposed_s", p->exposed_s);
    record_i64(record, "steps_count", together->n_steps);
    record_i64(record, "batch_count", profile->batch);
    record_text(record, "hot_tensor", together->hot_tensor[0] ? together->hot_tensor : NULL);
    record_f64(record, "imbalance_ratio", together->imbalance_ratio);
    record_text(record, "bottleneck", bottleneck);
    record_f64(record, "bottleneck_ratio", p->bottleneck.ratio);
    record_f64(record, "network_ratio", p->bottleneck.network_ratio);
    record_f64(record, "network_bytes_per_gpu", together->network_bytes / p->n_gpus);
    record_f64(record, "staleness_mean_count", together->staleness_mean_count);
    return report_end(to);
}

/* M4 */
static enum rc write_failed(struct report *to, const struct simulate *s, const struct simulate_point *p)
{
    struct record *record = report_begin(to, "failure");

    record_text(record, "model", s->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "message", simulate_failure(s, p));
    return report_end(to);
}

static enum rc write_system(struct report *to, const struct simulate *s, size_t profile, int system)
{
    const struct simulate_point *p = &s->point[s->system[profile][system].point];
    const struct simulate_system_figures f = simulate_system_figures_of(s, profile, system);
    struct record *record = report_begin(to, "system");

    record_text(record, "system", simulate_system_name(system));
    record_text(record, "model", s->profiles.profile[profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_f64(record, "predicted_ratio", p->efficiency.mean);
    record_f64(record, "predicted_images_per_s", p->images_per_s);
    record_f64(record, "network_bytes_per_gpu", f.network_bytes_per_gpu);
    record_f64(record, "network_ratio", f.card_ratio);
    record_f64(record, "staleness_mean_count", f.staleness_count);
    record_f64(record, "slow_link_throughput_ratio", f.slow_ratio);
    return report_end(to);
}

static enum rc write_change(struct report *to, const struct simulate *s, const struct simulate_change *c)
{
    static const char *const kind[] = {
        [CHANGE_WHAT_IF] = "what_if", [CHANGE_ASSUMED] = "assumption", [CHANGE_CALIBRATED] = "calibrated"
    };
    const struct simulate_point *p = &s->point[c->point];
    struct record *record = report_begin(to, kind[c->kind]);

    record_text(record, "what",
                c->kind == CHANGE_WHAT_IF ? simulate_what_if_name(s, c->what) : cluster_keys[c->what].name);
    record_text(record, "model", s->profiles.profile[p->profile].model);
    record_i64(record, "gpus_count", p->n_gpus);
    record_way(record, s, &s->way[p->way]);
    record_i64(record, "servers_count", p->n_servers);
    record_text(record, "setting", c->setting);
    record_f64(record, "throughput_ratio", c->ratio);
    return report_end(to);
}

static enum rc write_cluster(struct report *to, const struct simulate *s, const struct used_cluster *c)
{
    struct record *record = report_begin(to, "cluster");

    used_cluster_record(record, c);
    record_u64(record, "bucket_bytes", s->terms->bucket_bytes);
    record_text(record, "overlap", s->terms->overlap);
    return report_end(to);
}

enum rc simulate_write(const struct simulate *s, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < s->n_points; i++)
        TRY((simulate_failure(s, &s->point[i]) ? write_failed : write_point)(to, s, &s->point[i]));
    for (size_t i = 0; i < s->profiles.n; i++)
        for (int system = 0; system < SIMULATE_N_SYSTEMS; system++)
            if (s->system[i][system].is_there)
                TRY(write_system(to, s, i, system));
    for (size_t i = 0; i < s->n_changes; i++)
        if (s->change[i].kind != CHANGE_SLOW_LINK) /* that is in the record of its system */
            TRY(write_change(to, s, &s->change[i]));
    for (size_t i = 0; i < s->n_clusters; i++)
        TRY(write_cluster(to, s, &s->cluster[i]));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}

/* Tables of what changes would do. */

/*
 * predictions as one page: the table, each model's charts, what was measured, given and assumed.
 */

static void simulate_chart_name(char *out, size_t n_bytes, const struct simulate *s, size_t profile)
{
    char name[ROW_CLUSTER_BYTES];

    used_cluster_short_name(name, sizeof name, &s->cluster[0]);
    snprintf(out, n_bytes, "%s-%s", s->profiles.profile[profile].model, name);
}

static enum rc write_model(FILE *to, const struct simulate *s, size_t profile)
{
    const struct used_profile *p = &s->profiles.profile[profile];
    char name[SIMULATE_CHART_BYTES], cluster[USED_CLUSTER_TITLE_BYTES];
    enum rc rc;

    simulate_chart_name(name, sizeof name, s, profile);
    used_cluster_title(cluster, sizeof cluster, &s->cluster[0]);
    html_element(to, "h2", NULL, "%s on %s", p->model, cluster);
    TRY(prediction_chart_write(to, s->folder, name));
    html_element(to, "p", NULL, "Given: what one GPU computes, %.1f images/s with batches of %d: %s", p->images_per_s,
                 p->batch, p->source);
out:
    return rc;
}

/* What the terminal shows first. */
static enum rc write_answer(FILE *to, const struct simulate *s)
{
    char *text = NULL, *rest, *line;
    size_t n_bytes = 0;
    FILE *lines = open_memstream(&text, &n_bytes);

    if (!lines)
        return rc_raise(RC_NOMEM, "no memory for the answer");
    simulate_tell_answer(s, lines);
    if (fclose(lines) != 0) {
        free(text);
        return rc_raise(RC_NOMEM, "no memory for the answer");
    }
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        html_element(to, "p", NULL, "%s", line + strspn(line, " "));
    free(text);
    return RC_OK;
}

static void write_line(void *to, const char *line)
{
    html_element(to, "p", NULL, "%s.", line);
}

static enum rc write_what_ifs(FILE *to, const struct simulate *s)
{
    if (!s->terms->has_what_if)
        return RC_OK;
    html_element(to, "h2", NULL, "What if");
    html_element(to, "p", NULL, "Throughput with the change over that without it; %s.", simulate_what_if_text());
    return html_table_finish(to, simulate_what_if_table(s, false), "ratios of throughput");
}

static enum rc write_systems(FILE *to, const struct simulate *s)
{
    enum rc rc = RC_OK;

    if (!s->terms->has_what_if)
        return RC_OK;
    html_element(to, "h2", NULL, "The systems in one table");
    html_element(to, "p", NULL, "On the same cluster. %s.", simulate_systems_text());
    TRY(html_table_finish(to, simulate_systems_table(s, false), "systems"));
    simulate_network_claims(s, write_line, to);
out:
    return rc;
}

struct crossover_section {
    FILE *to;
    bool has_begun;
};

/* A line of the section; the first begins it: of one way alone there is none. */
static void write_crossover(void *arg, const char *line)
{
    struct crossover_section *section = arg;

    if (!section->has_begun) {
        html_element(section->to, "h2", NULL, "Where ring and parameter server cross over");
        html_element(
            section->to, "p", NULL,
            "A crossover is a number of GPUs. Between two simulated numbers it is estimated: the ratio of both rates "
            "is assumed to follow a power of the number of GPUs.");
        section->has_begun = true;
    }
    write_line(section->to, line);
}

/* The values of one kind of source that are of any effect; a list, or that there are none. */
static void write_values(FILE *to, const struct used_cluster *c, const char *source, const char *title)
{
    char value[64];
    int n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        if (cluster_keys[key].type == KEY_TEXT || strcmp(used_cluster_source_name(c, key), source) != 0 ||
            !cluster_key_matters(&c->cluster, key))
            continue;
        if (n++ == 0) {
            html_element(to, "p", NULL, "%s", title);
            fputs("<ul>\n", to);
        }
        cluster_key_format(&c->cluster, key, value, sizeof value);
        html_element(to, "li", NULL, "%s = %s: %s", cluster_keys[key].name, value,
                     c->sources->text[key][0] ? c->sources->text[key] : "as the description has it, without a source");
    }
    if (n > 0)
        fputs("</ul>\n", to);
    else
        html_element(to, "p", NULL, "%s nothing.", title);
}

/* As HTML: the measured, given and assumed values of each cluster; the effect of the assumptions on each explained
 * point. */
static void simulate_explain_clusters(FILE *to, const struct simulate *s)
{
    if (s->terms->cluster_set[0])
        html_element(to, "p", NULL, "Set by --cluster-set, in place of what the descriptions have: %s",
                     s->terms->cluster_set);
    for (size_t i = 0; i < s->n_clusters; i++) {
        const struct used_cluster *c = &s->cluster[i];
        html_element(to, "h3", NULL, "%s%s%s", c->name, c->transport[0] ? ", servers by " : "", c->transport);
        write_values(to, c, "measured", "Measured:");
        write_values(to, c, "given", "Given:");
        write_values(to, c, "assumed", "Assumed:");
    }
}

static enum rc explain(FILE *to, const struct simulate *s, size_t point)
{
    const struct simulate_point *p = &s->point[point];
    const struct used_profile *profile = &s->profiles.profile[p->profile];
    char way[SIMULATE_WAY_BYTES], bottleneck[BOTTLENECK_BYTES];
    struct table *t = simulate_assumptions_table(s, point, CLUSTER_MAX_KEYS);
    enum rc rc;

    simulate_way_name(way, sizeof way, &s->way[p->way]);
    simulate_bottleneck_text(bottleneck, sizeof bottleneck, s, p);
    html_element(to, "h3", NULL, "%s, %s, %d GPUs: %.1f images/s, %.1f %% of %d times one GPU", profile->model, way,
                 p->n_gpus, p->images_per_s, 100 * p->efficiency.mean, p->n_gpus);
    html_element(to, "p", NULL, "It waits for: %s of a step.", bottleneck);
    TRY(table_check(t));
    if (table_n_rows(t) > 0)
        TRY(html_table(to, t, "assumptions by what they move"));
    else
        html_element(to, "p", NULL, "None of the values that it stands on is an assumption.");
out:
    table_close(&t);
    return rc;
}

static enum rc simulate_explain(FILE *to, const struct simulate *s)
{
    bool is_first = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        if (!simulate_is_explained(s, i) || simulate_failure(s, &s->point[i]))
            continue;
        if (is_first) {
            html_element(to, "h2", NULL, "Which assumption moves a prediction most");
            html_element(to, "p", NULL, "%s.", simulate_assumptions_text());
        }
        is_first = false;
        TRY(explain(to, s, i));
    }
out:
    return rc;
}

enum rc simulate_page(const struct simulate *s, const char *path)
{
    struct html page = { .file.stream = NULL };
    struct crossover_section crossovers = { .to = NULL };
    char cluster[USED_CLUSTER_TITLE_BYTES], title[sizeof cluster + 32];
    char band[SIMULATE_SENTENCE_BYTES];
    FILE *to;
    enum rc rc;

    used_cluster_title(cluster, sizeof cluster, &s->cluster[0]);
    snprintf(title, sizeof title, "simulated on %s", cluster);
    TRY(html_open(&page, path, title));
    to = crossovers.to = page.file.stream;
    TRY(write_answer(to, s));
    html_element(to, "p", NULL,
                 "What models would do on a described cluster, simulated by gradmark's own collectives, servers and "
                 "training loop. Efficiency: the time of a step of one GPU alone over that of all. Exposed: time of a "
                 "step in which a GPU waits for the exchange.");
    simulate_band_text(band, sizeof band, s);
    html_element(to, "p", NULL, "%s%s", band, band[0] && band[strlen(band) - 1] == '.' ? "" : ".");
    TRY(html_table_finish(to, simulate_table(s), "predictions"));
    simulate_exchange_terms(s, write_line, to);
    simulate_crossovers(s, write_crossover, &crossovers);
    TRY(write_what_ifs(to, s));
    TRY(write_systems(to, s));
    for (size_t i = 0; i < s->profiles.n; i++)
        TRY(write_model(to, s, i));
    html_element(to, "h2", NULL, "What the predictions stand on");
    simulate_explain_clusters(to, s);
    TRY(simulate_explain(to, s));
out:
    return html_finish(&page, rc);
}

/*
 * For each model images/s and efficiency against GPUs, a line for each way to exchange. The table
 * that is drawn stays beside the pictures.
 */

/* NaN: there is no band. */
static void write_band(FILE *to, const struct simulate_point *p)
{
    const double images_per_ratio = p->images_per_s / p->efficiency.mean;

    fprintf(to, "\t%.17g\t%.17g\t%.17g\t%.17g\n", p->efficiency.low, p->efficiency.high,
            p->efficiency.low * images_per_ratio, p->efficiency.high * images_per_ratio);
}

static enum rc write_table(const struct simulate *s, size_t profile, const char *path)
{
    struct atomic_file file = { .stream = NULL };
    char way[SIMULATE_WAY_BYTES];
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    fputs("line\tkind\tgpus\tefficiency\timages_per_s\tefficiency_low\tefficiency_high\timages_low_per_s\t"
          "images_high_per_s\n",
          file.stream);
    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_point *p = &s->point[i];
        if (p->profile != profile || simulate_failure(s, p))
            continue;
        simulate_way_name(way, sizeof way, &s->way[p->way]);
        fprintf(file.stream, "%s\tpredicted\t%d\t%.17g\t%.17g", way, p->n_gpus, p->efficiency.mean, p->images_per_s);
        write_band(file.stream, p);
    }
out:
    return atomic_file_finish(&file, rc);
}

enum rc simulate_draw(const struct simulate *s, FILE *to)
{
    char name[SIMULATE_CHART_BYTES], path[USED_PROFILE_PATH_BYTES + SIMULATE_CHART_BYTES + 16];
    bool is_drawn = true;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->profiles.n; i++) {
        const struct prediction_chart chart = { .folder = s->folder,
                                                .name = name,
                                                .model = s->profiles.profile[i].model,
                                                .cluster = &s->cluster[0],
                                                .of_table = "published",
                                                .has_band = simulate_has_bands(s) };
        simulate_chart_name(name, sizeof name, s, i);
        snprintf(path, sizeof path, "%s/%s.tsv", s->folder, name);
        write_table(s, i, path);
        TRY(prediction_chart_draw(&chart, path, &is_drawn));
    }
    if (!is_drawn)
        terminal_note(to, "gradmark simulate: gnuplot cannot be started: the tables are written, no pictures");
out:
    return rc;
}

/* Of a prediction on a page: what was measured, what given, what assumed, and what of it counts.
 */
