/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_words.c - what the figures of predictions mean: bands, bottlenecks, and where ways cross over. */
#include <stdio.h>

#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"

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
           "staleness: mean number of updates between a pull and its push; slow link: throughput with the cards of "
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
