/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_answer.c - what a terminal shows of predictions: the answer in a few lines, and one table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/bottleneck.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/table.h"

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

/* "efficiency 68.3 % (band 67.9 to 68.8)" */
static void tell_efficiency(const struct simulate_point *p, FILE *to)
{
    fprintf(to, "efficiency %.1f %%", 100 * p->efficiency.mean);
    if (!isnan(p->efficiency.high))
        fprintf(to, " (band %.1f to %.1f)", 100 * p->efficiency.low, 100 * p->efficiency.high);
}

/* What efficiency is relative to, and what all GPUs gain. */
static void tell_alone(const struct simulate *s, size_t profile, const struct simulate_point *best, FILE *to)
{
    const struct used_profile *p = &s->profiles.profile[profile];

    fprintf(to, "  One GPU alone: %.1f images/s, batch %d, %s.", p->images_per_s, p->batch, p->precision);
    if (best->n_gpus > 1)
        fprintf(to, " %d GPUs are %.2f times as fast.", best->n_gpus, best->images_per_s / p->images_per_s);
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

void simulate_tell_answer(const struct simulate *s, FILE *to)
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

void simulate_way_short(char *out, size_t n_bytes, const struct simulate *s, const struct simulate_way *w)
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

static void print_point(struct table *t, const struct simulate *s, const struct simulate_point *p)
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

static enum rc print_table(const struct simulate *s, FILE *to)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },       { "mode", ALIGN_LEFT },
                                            { "GPUs", ALIGN_RIGHT },       { "servers", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT }, { "band, %", ALIGN_RIGHT },
                                            { "images/s", ALIGN_RIGHT },   { "busiest, % of step", ALIGN_LEFT } };
    struct table *t = simulate_table_of(s, column, sizeof column / sizeof *column, print_point);
    enum rc rc;

    TRY(table_print(t, to));
out:
    table_close(&t);
    return rc;
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

void simulate_bottleneck_text(char *out, size_t n_bytes, const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    struct topology t;

    topology_init(&t, &s->cluster[w->cluster].cluster, p->n_gpus, p->n_gpus + p->n_servers);
    bottleneck_text(out, n_bytes, &p->bottleneck, &s->simulations.simulation[p->together[0]], &t,
                    simulate_way_exchange(w));
}

void simulate_bottleneck_short(char *out, size_t n_bytes, const struct simulate *s, const struct simulate_point *p)
{
    const struct simulate_way *w = &s->way[p->way];
    struct topology t;

    topology_init(&t, &s->cluster[w->cluster].cluster, p->n_gpus, p->n_gpus + p->n_servers);
    bottleneck_short_text(out, n_bytes, &p->bottleneck, &s->simulations.simulation[p->together[0]], &t);
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
void simulate_band_text(char *out, size_t n_bytes, const struct simulate *s)
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

void simulate_exchange_terms(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg)
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

const char *simulate_what_if_text(void)
{
    return "network x 2: cards and the links between groups are twice as fast, software is not; latency: of network, "
           "groups and protocol; half the bytes: every link, copy and process carries half; -: nothing to change, or "
           "too little of it";
}

const char *simulate_assumptions_text(void)
{
    return "each assumed value alone is set to the ends of its range (half and twice the value, if its source states "
           "none), or chosen otherwise; all else and the random draws stay the same. The change of the throughput of "
           "all GPUs";
}

const char *simulate_systems_text(void)
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

/* One that has no band is as sure as can be. */
static bool overlap(const struct prediction_band *a, const struct prediction_band *b)
{
    return a->low <= b->high && b->low <= a->high;
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

void simulate_crossovers(const struct simulate *s, void (*print)(void *arg, const char *line), void *arg)
{
    for (size_t profile = 0; profile < s->profiles.n; profile++)
        for (size_t first = 0; first < s->n_ways; first++)
            for (size_t second = 0; second < s->n_ways; second++)
                if (s->way[first].mode == ROW_COLLECTIVE && row_mode_has_servers(s->way[second].mode))
                    tell_pair(s, profile, first, second, print, arg);
}
