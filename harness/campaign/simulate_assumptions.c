/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_assumptions.c - which assumption moves a prediction most: each one alone at the ends of its range, or chosen
 * otherwise, all else as it was, with the same draws of chance.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/campaign/prediction.h"
#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/table.h"

enum { VALUE_BYTES = 64, MOST_CHOICES = 8 };

static enum rc add_value(struct simulate *s, size_t point, int key, const char *value)
{
    const struct simulate_point p = s->point[point];
    const struct cluster *c = &s->cluster[s->way[p.way].cluster].cluster;
    struct simulate_change change = { .kind = CHANGE_ASSUMED, .point = point, .what = key };
    char own[VALUE_BYTES], setting[SIMULATE_SETTING_BYTES];

    cluster_key_format(c, key, own, sizeof own);
    if (strcmp(value, own) == 0)
        return RC_OK; /* at the end of its range */
    snprintf(setting, sizeof setting, "%s=%s", cluster_keys[key].name, value);
    return simulate_add_change(s, change, p.n_servers, s->terms->overlap, setting);
}

/* Both ends of its range; 0 stays 0. */
static enum rc add_number(struct simulate *s, size_t point, int key)
{
    const struct used_cluster *c = &s->cluster[s->way[s->point[point].way].cluster];
    struct assumed_range range;
    char value[VALUE_BYTES];
    enum rc rc;

    if (!assumed_range_of(&range, &c->cluster, c->sources, key))
        return RC_OK;
    snprintf(value, sizeof value, "%.6g", range.low);
    TRY(add_value(s, point, key, value));
    snprintf(value, sizeof value, "%.6g", range.high);
    TRY(add_value(s, point, key, value));
out:
    return rc;
}

static enum rc add_choices(struct simulate *s, size_t point, int key)
{
    const char *choices = cluster_keys[key].choices;
    char value[VALUE_BYTES];
    enum rc rc = RC_OK;

    while (*choices) {
        const size_t n = strcspn(choices, "|");
        snprintf(value, sizeof value, "%.*s", (int)n, choices);
        TRY(add_value(s, point, key, value));
        choices += n + (choices[n] == '|');
    }
out:
    return rc;
}

/* Is the value of any use to this way? */
static bool concerns(const struct simulate_way *w, int key)
{
    return assumed_concerns(key, row_mode_has_servers(w->mode));
}

static enum rc add_assumptions_of(struct simulate *s, size_t point)
{
    const struct simulate_way *w = &s->way[s->point[point].way];
    int key[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(&s->cluster[w->cluster].cluster, key);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n; i++) {
        const enum key_type type = cluster_keys[key[i]].type;
        if (!concerns(w, key[i]) || type == KEY_TEXT)
            continue;
        TRY(type == KEY_CHOICE ? add_choices(s, point, key[i]) : add_number(s, point, key[i]));
    }
out:
    return rc;
}

/* Are the assumptions of this point varied, one by one? Not where nothing is exchanged. */
bool simulate_is_explained(const struct simulate *s, size_t point)
{
    return s->terms->has_assumptions && simulate_is_changed(s, point) && s->way[s->point[point].way].mode != ROW_NONE;
}

enum rc simulate_add_assumptions(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++)
        if (simulate_is_explained(s, i))
            TRY(add_assumptions_of(s, i));
out:
    return rc;
}

/* --- ranked --- */

struct ranked { /* an assumption */
    int key;
    const struct simulate_change *change[MOST_CHOICES];
    int n;
    double moves_ratio; /* the most of any of these, up or down */
};

/* Into its place among ranked[n], by falling effect; equal ones stay in the order of keys. */
static void insert(struct ranked *ranked, size_t n, const struct ranked *r)
{
    for (; n > 0 && ranked[n - 1].moves_ratio < r->moves_ratio; n--)
        ranked[n] = ranked[n - 1];
    ranked[n] = *r;
}

static size_t rank_all(struct ranked ranked[CLUSTER_MAX_KEYS], const struct simulate *s, size_t point)
{
    size_t n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        struct ranked r = { .key = key, .n = 0, .moves_ratio = 0 };
        for (size_t i = 0; i < s->n_changes; i++) {
            const struct simulate_change *c = &s->change[i];
            if (c->kind != CHANGE_ASSUMED || c->point != point || c->what != key || !c->is_possible ||
                isnan(c->ratio) || r.n == MOST_CHOICES)
                continue;
            r.change[r.n++] = c;
            r.moves_ratio = fmax(r.moves_ratio, fabs(c->ratio - 1));
        }
        if (r.n > 0)
            insert(ranked, n++, &r);
    }
    return n;
}

/* "0.42: -30.1 %, 1: +5.2 %" */
static void effects_text(char *out, size_t n_bytes, const struct ranked *r)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < r->n && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%s: %+.1f %%", i > 0 ? ", " : "",
                               strchr(r->change[i]->setting, '=') + 1, 100 * (r->change[i]->ratio - 1));
}

struct table *simulate_assumptions_table(const struct simulate *s, size_t point, size_t n_most)
{
    static const struct column column[] = { { "assumption", ALIGN_LEFT },
                                            { "value", ALIGN_RIGHT },
                                            { "throughput with another", ALIGN_LEFT },
                                            { "moves it by", ALIGN_RIGHT } };
    const struct cluster *c = &s->cluster[s->way[s->point[point].way].cluster].cluster;
    struct ranked ranked[CLUSTER_MAX_KEYS];
    const size_t n = rank_all(ranked, s, point);
    char value[VALUE_BYTES], effects[SIMULATE_SENTENCE_BYTES];
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (size_t i = 0; i < n && i < n_most; i++) {
        cluster_key_format(c, ranked[i].key, value, sizeof value);
        effects_text(effects, sizeof effects, &ranked[i]);
        table_cell(t, "%s", cluster_keys[ranked[i].key].name);
        table_cell(t, "%s", value);
        table_cell(t, "%s", effects);
        table_cell(t, "%.1f %%", 100 * ranked[i].moves_ratio);
    }
    return t;
}

/*
 * What the spread of calibrated values makes of predictions: each one alone as much higher,
 * and as much lower, as its source says that it may be off, all else as it was, with the same draws of chance.
 */

static enum rc add_both(struct simulate *s, size_t point, const struct calibrated_value *value)
{
    const struct simulate_point p = s->point[point];
    const struct cluster *c = &s->cluster[s->way[p.way].cluster].cluster;
    char setting[CALIBRATION_SETTING_BYTES];
    enum rc rc = RC_OK;

    for (int is_higher = 0; is_higher < 2; is_higher++) {
        const struct simulate_change change = { .kind = CHANGE_CALIBRATED, .point = point, .what = value->key };
        calibration_setting(setting, c, value, is_higher);
        TRY(simulate_add_change(s, change, p.n_servers, s->terms->overlap, setting));
    }
out:
    return rc;
}

enum rc simulate_add_calibrated(struct simulate *s)
{
    enum rc rc = RC_OK;

    for (size_t i = 0; i < s->n_points; i++) {
        const struct simulate_way *w = &s->way[s->point[i].way];
        const struct used_cluster *c = &s->cluster[w->cluster];
        for (size_t k = 0; k < c->n_calibrated && w->mode != ROW_NONE; k++)
            TRY(add_both(s, i, &c->calibrated[k]));
    }
out:
    return rc;
}

bool simulate_has_bands(const struct simulate *s)
{
    bool has = s->n_seeds >= PREDICTION_BAND_LEAST;

    for (size_t i = 0; i < s->n_clusters; i++)
        has = has || s->cluster[i].n_calibrated > 0;
    return has;
}

/* By how much a change moves the efficiency of its point; 0: it was not simulated. */
static double moves(const struct simulate *s, const struct simulate_change *c)
{
    const struct simulation *simulation = s->simulations.simulation;
    const struct simulate_point *p = &s->point[c->point];

    if (!c->is_possible)
        return 0;
    return fabs(simulation[c->alone].step_s / simulation[c->together].step_s -
                simulation[p->alone[0]].step_s / simulation[p->together[0]].step_s);
}

void simulate_widen_bands(struct simulate *s)
{
    for (size_t i = 0; i < s->n_points; i++) {
        const struct used_cluster *of = &s->cluster[s->way[s->point[i].way].cluster];
        double by[CALIBRATION_MOST_VALUES] = { 0 };
        bool is_changed = false;
        if (simulate_failure(s, &s->point[i]))
            continue;
        for (size_t c = 0; c < s->n_changes; c++)
            for (size_t k = 0; k < of->n_calibrated; k++) {
                const struct simulate_change *change = &s->change[c];
                if (change->kind != CHANGE_CALIBRATED || change->point != i || change->what != of->calibrated[k].key)
                    continue;
                by[k] = fmax(by[k], moves(s, change));
                is_changed = true;
            }
        if (is_changed)
            prediction_band_widen(&s->point[i].efficiency, by, of->n_calibrated);
    }
}
