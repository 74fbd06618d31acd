/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simulate_calibration.c - what the spread of calibrated values makes of predictions: each one alone as much higher,
 * and as much lower, as its source says that it may be off, all else as it was, with the same draws of chance.
 */
#include <math.h>

#include "harness/campaign/simulate.h"
#include "harness/cluster/cluster_keys.h"

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
