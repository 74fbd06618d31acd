/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prediction.c - what simulate, reproduce and predict share: the band of a prediction, the values that it depends on,
 * and its charts; see prediction.h.
 */
#include "harness/campaign/prediction.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/prediction_inputs.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/measure/interval.h"
#include "harness/report/chart.h"
#include "harness/report/html.h"

static void set_ends(struct prediction_band *b, double below, double above)
{
    b->low = fmin(b->mean, fmax(b->mean - below, 0));
    b->high = fmax(b->mean, fmin(b->mean + above, 1));
}

struct prediction_band prediction_band_of(const double *x, size_t n)
{
    struct prediction_band b = { .mean = 0, .low = NAN, .high = NAN };
    double squares = 0;

    for (size_t i = 0; i < n; i++)
        b.mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - b.mean) * (x[i] - b.mean);
    if (n < PREDICTION_BAND_LEAST)
        return b;
    const double half = student_t_975((double)(n - 1)) * sqrt(squares / (double)(n - 1) * (1 + 1 / (double)n));
    set_ends(&b, half, half);
    return b;
}

/* The root of half squared and the squares of moves[n]. */
static double half_with(double half, const double *moves, size_t n)
{
    double squares = isnan(half) ? 0 : half * half;

    for (size_t i = 0; i < n; i++)
        squares += moves[i] * moves[i];
    return sqrt(squares);
}

void prediction_band_widen_sides(struct prediction_band *b, const double *down, const double *up, size_t n)
{
    if (n > 0)
        set_ends(b, half_with(b->mean - b->low, down, n), half_with(b->high - b->mean, up, n));
}

void prediction_band_widen(struct prediction_band *b, const double *moves, size_t n)
{
    prediction_band_widen_sides(b, moves, moves, n);
}

static const char *measured_text(const struct cluster_sources *sources, const char *name)
{
    static const char before[] = "measured: ";
    const char *text = sources->text[cluster_key_find(name)];

    return strncmp(text, before, sizeof before - 1) == 0 ? text : NULL;
}

/* The percents behind words; NaN: they are not there. */
static double ratio_behind(const char *text, const char *words)
{
    const char *at = text ? strstr(text, words) : NULL;
    char *end = NULL;
    double percent;

    if (!at)
        return NAN;
    percent = strtod(at + strlen(words), &end);
    return strncmp(end, " %", 2) == 0 && percent >= 0 && isfinite(percent) ? percent / 100 : NAN;
}

/* Of "...; 3.1e9 to 4.2e9" around value; NaN: that is no such text. */
static double ratio_of_range(const char *text, double value)
{
    static const char between[] = " to ";
    const char *at = text ? strrchr(text, ';') : NULL;
    char *end = NULL;
    double least, most;

    if (!at)
        return NAN;
    least = strtod(at + 1, &end);
    if (strncmp(end, between, sizeof between - 1) != 0)
        return NAN;
    most = strtod(end + sizeof between - 1, &end);
    if (*end != '\0' || !(least > 0) || !(most >= least) || !isfinite(most) || !(value > 0))
        return NAN;
    return fmax(most / value, value / least) - 1;
}

double calibration_rate_ratio(const struct cluster_sources *sources)
{
    return ratio_behind(measured_text(sources, "link_bits_per_s"), "of those longer than alpha ");
}

/* Times of a profile are its own: no GEMM is calibrated for them. */
static double ratio_of(const struct cluster *c, const struct cluster_sources *sources, int key)
{
    static const char fit[] = "largest residual ";
    const char *name = cluster_keys[key].name;

    if (strcmp(name, "link_bits_per_s") == 0)
        return calibration_rate_ratio(sources);
    if (strcmp(name, "link_latency_s") == 0) /* alpha of the fit whose slope is the rate */
        return measured_text(sources, name) ? ratio_behind(measured_text(sources, "link_bits_per_s"), fit) : NAN;
    if (strcmp(name, "local_latency_s") == 0)
        return measured_text(sources, name) ? ratio_behind(measured_text(sources, "local_bytes_per_s"), fit) : NAN;
    if (strcmp(name, "local_bytes_per_s") == 0 || strcmp(name, "tcp_message_s") == 0 ||
        strcmp(name, "rdma_message_s") == 0)
        return ratio_behind(measured_text(sources, name), fit);
    if (strcmp(name, "memory_bytes_per_s") == 0)
        return ratio_of_range(measured_text(sources, name), cluster_key_number(c, key));
    return NAN;
}

size_t calibration_spread(struct calibrated_value out[CALIBRATION_MOST_VALUES], const struct cluster *c,
                          const struct cluster_sources *sources)
{
    size_t n = 0;

    for (int key = 0; key < CLUSTER_N_KEYS; key++) {
        const double ratio = cluster_key_matters(c, key) ? ratio_of(c, sources, key) : NAN;
        if (!(ratio > 0) || !(cluster_key_number(c, key) > 0)) /* V1 */
            continue;
        assert(n < CALIBRATION_MOST_VALUES);
        out[n++] = (struct calibrated_value){ key, ratio };
    }
    return n;
}

void calibration_setting(char out[CALIBRATION_SETTING_BYTES], const struct cluster *c,
                         const struct calibrated_value *value, bool is_higher)
{
    const struct key *k = &cluster_keys[value->key];
    const double own = cluster_key_number(c, value->key);
    const double other = is_higher ? own * (1 + value->ratio) : own / (1 + value->ratio); /* V2 */

    snprintf(out, CALIBRATION_SETTING_BYTES, "%s=%.17g", k->name, fmin(fmax(other, k->least), k->most));
}

void calibration_spread_text(char *out, size_t n_bytes, const struct calibrated_value *value, size_t n)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n && at < n_bytes; i++)
        at += (size_t)snprintf(out + at, n_bytes - at, "%s%s %.1f %%", i > 0 ? ", " : "",
                               cluster_keys[value[i].key].name, 100 * value[i].ratio);
}

void calibration_band_text(char *out, size_t n_bytes, const struct calibrated_value *value, size_t n)
{
    char spread[CALIBRATION_MOST_VALUES * 48];

    calibration_spread_text(spread, sizeof spread, value, n);
    snprintf(
        out, n_bytes,
        "The calibration measured some values with a spread. The band shows how far the efficiency moves when each "
        "of them is wrong by its spread, up or down (root of the sum of squares): %s.",
        spread);
}

/* R1 */
bool assumed_range_of(struct assumed_range *out, const struct cluster *c, const struct cluster_sources *sources,
                      int key)
{
    const struct key *k = &cluster_keys[key];
    const double own = cluster_key_number(c, key);
    const char *unusable = NULL;
    double low, high;

    if ((k->type != KEY_REAL && k->type != KEY_WHOLE) || !(own > 0))
        return false;
    if (!cluster_source_range(&low, &high, &unusable, sources->text[key])) {
        low = k->type == KEY_WHOLE ? ceil(own / 2) : own / 2;
        high = 2 * own;
    }
    *out = (struct assumed_range){ .key = key,
                                   .low = fmin(own, fmax(low, k->least)),
                                   .high = fmax(own, fmin(high, k->most)),
                                   .is_time = strcmp(k->unit, "s") == 0 || strcmp(k->name, "jitter_ratio") == 0 };
    return true;
}

bool assumed_concerns(int key, bool has_servers)
{
    return strncmp(cluster_keys[key].name, has_servers ? "collective_" : "server_", has_servers ? 11 : 7) != 0;
}

bool assumed_is_between_hosts(int key)
{
    static const char *const begins[] = { "link_", "tcp_", "rdma_", "staging_", "oversubscription_", "group_" };

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(cluster_keys[key].name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* A replayed step has no arithmetic of its own but additions, which memory limits; sizes and numbers of parts are no
 * constants of time. */
bool assumed_is_of_time(int key)
{
    const struct key *k = &cluster_keys[key];
    static const char *const unit[] = { "s", "bytes/s", "bits/s", "" };

    for (size_t i = 0; i < sizeof unit / sizeof *unit; i++)
        if (k->type == KEY_REAL && strcmp(k->unit, unit[i]) == 0)
            return true;
    return false;
}

static bool is_possible(const struct cluster *c, int key, double value)
{
    struct cluster changed = *c;
    char setting[ASSUMED_SETTING_BYTES];

    assumed_setting(setting, key, value);
    return cluster_set(&changed, NULL, setting) == RC_OK;
}

size_t assumed_ranges(struct assumed_range out[CLUSTER_MAX_KEYS], const struct cluster *c,
                      const struct cluster_sources *sources)
{
    int key[CLUSTER_MAX_KEYS];
    const size_t n_keys = cluster_assumed(c, key);
    size_t n = 0;

    for (size_t i = 0; i < n_keys; i++) {
        const struct key *k = &cluster_keys[key[i]];
        const double own = cluster_key_number(c, key[i]);
        const bool limits = own > k->least && own < k->most;
        if (assumed_is_of_time(key[i]) && limits && assumed_range_of(&out[n], c, sources, key[i]) &&
            out[n].high > out[n].low && is_possible(c, key[i], out[n].low) && is_possible(c, key[i], out[n].high))
            n++;
    }
    return n;
}

void assumed_setting(char out[ASSUMED_SETTING_BYTES], int key, double value)
{
    snprintf(out, ASSUMED_SETTING_BYTES, "%s=%.17g", cluster_keys[key].name, value);
}

enum { NAME_BYTES = 352, NOTE_BYTES = 256, MOST_PICTURE_BYTES = 4 << 20 };

enum rc prediction_chart_draw(const struct prediction_chart *c, const char *path, bool *is_drawn)
{
    static const char *const quantity[] = { "efficiency", "images" };
    int key[CLUSTER_MAX_KEYS];
    const size_t n_assumed = cluster_assumed(&c->cluster->cluster, key);
    char picture[NAME_BYTES], note[NOTE_BYTES], cluster[USED_CLUSTER_TITLE_BYTES];
    enum rc rc = RC_OK;

    used_cluster_title(cluster, sizeof cluster, c->cluster);
    snprintf(note, sizeof note, "simulated on %.100s; %zu of its values are assumed", cluster, n_assumed);
    for (int i = 0; i < 2; i++) {
        const struct chart_var var[] = { { "model", c->model },
                                         { "scaling", note },
                                         { "of_table", c->of_table },
                                         { "quantity", quantity[i] },
                                         { "band", c->has_band ? "yes" : "no" } };
        snprintf(picture, sizeof picture, "%s-%s", quantity[i], c->name);
        rc = chart_draw("reproduce", path, c->folder, picture, var, sizeof var / sizeof *var);
        if (rc == RC_UNSUPPORTED)
            *is_drawn = false;
        TRY(rc == RC_UNSUPPORTED ? RC_OK : rc);
    }
out:
    return rc;
}

enum rc prediction_chart_write(FILE *to, const char *folder, const char *name)
{
    static const char *const quantity[] = { "images", "efficiency" };
    char path[USED_PROFILE_PATH_BYTES + NAME_BYTES];
    size_t n_bytes;
    enum rc rc = RC_OK;

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s-%s.svg", folder, quantity[i], name);
        rc = html_picture(to, path, i == 0 ? "images/s" : "efficiency", MOST_PICTURE_BYTES, &n_bytes);
        if (rc == RC_INVAL || rc == RC_UNSUPPORTED)
            html_element(to, "p", NULL, "No picture: %s", rc_message());
        else
            TRY(rc);
    }
    rc = RC_OK;
out:
    return rc;
}
