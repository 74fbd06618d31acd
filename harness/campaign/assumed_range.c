/* SPDX-License-Identifier: Apache-2.0 */
/* assumed_range.c - see assumed_range.h. */
#include "harness/campaign/assumed_range.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster_keys.h"

/* "range 2e9 to 2.9e9" in a source; false: there is none. */
static bool stated_range(double *low, double *high, const char *text)
{
    static const char before[] = "range ", between[] = " to ";
    char *end = NULL;

    for (const char *at = strstr(text, before); at; at = strstr(at + 1, before)) {
        *low = strtod(at + sizeof before - 1, &end);
        if (strncmp(end, between, sizeof between - 1) != 0)
            continue;
        *high = strtod(end + sizeof between - 1, &end);
        if (*low > 0 && *high >= *low && isfinite(*high))
            return true;
    }
    return false;
}

/* R1 */
bool assumed_range_of(struct assumed_range *out, const struct cluster *c, const struct cluster_sources *sources,
                      int key)
{
    const struct key *k = &cluster_keys[key];
    const double own = cluster_key_number(c, key);
    double low, high;

    if ((k->type != KEY_REAL && k->type != KEY_WHOLE) || !(own > 0))
        return false;
    if (!stated_range(&low, &high, sources->text[key])) {
        low = k->type == KEY_WHOLE ? ceil(own / 2) : own / 2;
        high = 2 * own;
    }
    *out = (struct assumed_range){ .key = key,
                                   .low = fmin(own, fmax(low, k->least)),
                                   .high = fmax(own, fmin(high, k->most)),
                                   .is_time = strcmp(k->unit, "s") == 0 || strcmp(k->name, "jitter_ratio") == 0 };
    return true;
}

bool assumed_concerns_workers(int key)
{
    return strncmp(cluster_keys[key].name, "server_", 7) != 0;
}

/* A replayed step has no arithmetic of its own but additions, which memory limits; sizes and numbers of parts are no
 * constants of time. */
static bool is_of_time(const struct key *k)
{
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
        if (is_of_time(k) && limits && assumed_range_of(&out[n], c, sources, key[i]) && out[n].high > out[n].low &&
            is_possible(c, key[i], out[n].low) && is_possible(c, key[i], out[n].high))
            n++;
    }
    return n;
}

void assumed_setting(char out[ASSUMED_SETTING_BYTES], int key, double value)
{
    snprintf(out, ASSUMED_SETTING_BYTES, "%s=%.17g", cluster_keys[key].name, value);
}
