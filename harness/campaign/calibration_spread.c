/* SPDX-License-Identifier: Apache-2.0 */
/* calibration_spread.c - see calibration_spread.h. */
#include "harness/campaign/calibration_spread.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster_keys.h"

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
