/* SPDX-License-Identifier: Apache-2.0 */
/* prediction_band_test.c - bands of made-up runs, worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/prediction.h"
#include "harness/cluster/cluster_keys.h"

static void assert_band(const double *x, size_t n, double mean, double half)
{
    const struct prediction_band b = prediction_band_of(x, n);

    if (!(fabs(b.mean - mean) < 1e-12) || !(fabs(b.low - (mean - half)) < 1e-4) ||
        !(fabs(b.high - (mean + half)) < 1e-4))
        fail_msg("%.9g .. %.9g around %.9g, expected %.9g -+ %.9g", b.low, b.high, b.mean, mean, half);
}

/* t(0.975) is 4.30265 with 2 degrees of freedom, 2.77645 with 4. */
UNIT_TEST(of_runs)
{
    const double three[] = { 0.48, 0.5, 0.52 }, five[] = { 1, 1, 1, 1, 1 };

    assert_band(three, 3, 0.5, 4.30265273 * 0.02 * sqrt(4.0 / 3));
    assert_band(five, 5, 1, 0);
}

UNIT_TEST(of_one_or_two_runs_there_is_none)
{
    const double x[] = { 0.5, 0.75 };
    struct prediction_band b = prediction_band_of(x, 1);

    assert_true(b.mean == 0.5 && isnan(b.low) && isnan(b.high));
    b = prediction_band_of(x, 2);
    assert_true(b.mean == 0.625 && isnan(b.low) && isnan(b.high));
}

/* Half the band is 4.3 x 0.25 x 1.15, more than their mean. No efficiency is below 0 or above 1. */
UNIT_TEST(the_band_is_from_0_to_1)
{
    const double wide[] = { 0.25, 0.5, 0.75 }, outside[] = { 1.25, 1.5, 1.75 }, below[] = { -3, -2, -1 };
    struct prediction_band b = prediction_band_of(wide, 3);

    assert_true(b.mean >= 0.5 && b.mean <= 0.5 && b.low == 0 && b.high == 1);
    b = prediction_band_of(outside, 3);
    assert_true(b.low <= b.mean && b.mean <= b.high);
    b = prediction_band_of(below, 3);
    assert_true(b.low <= b.mean && b.mean <= b.high);
}

/* In 64ths: half of 3 and moves of 4 and 12: 13. Without a band there is one of the moves alone. */
UNIT_TEST(moves_widen_by_squares)
{
    const double moves[] = { 4.0 / 64, 12.0 / 64 }, none[] = { 0, 0 };
    struct prediction_band b = { .mean = 20.0 / 64, .low = 17.0 / 64, .high = 23.0 / 64 };
    struct prediction_band alone = { .mean = 1.0 / 64, .low = NAN, .high = NAN };

    prediction_band_widen(&b, none, 0);
    assert_true(b.low == 17.0 / 64 && b.high == 23.0 / 64);
    prediction_band_widen(&b, none, 2);
    assert_true(b.low == 17.0 / 64 && b.high == 23.0 / 64);
    prediction_band_widen(&b, moves, 2);
    assert_true(b.mean == 20.0 / 64 && b.low == 7.0 / 64 && b.high == 33.0 / 64);
    prediction_band_widen(&alone, none, 0);
    assert_true(isnan(alone.low) && isnan(alone.high));
    prediction_band_widen(&alone, moves, 1);
    assert_true(alone.low == 0 && alone.high == 5.0 / 64);
}

/* What sources of made-up descriptions tell of how far off values may be (V1, V2). */

struct described {
    struct cluster c;
    struct cluster_sources sources;
};

static void describe(struct described *d, const char *name, const char *value, const char *source)
{
    const int key = cluster_key_find(name);

    assert_true(key >= 0);
    assert_int_equal(cluster_key_set(&d->c, key, value), RC_OK);
    snprintf(d->sources.text[key], sizeof d->sources.text[key], "%s", source);
}

static struct described *made(void)
{
    struct described *d = calloc(1, sizeof *d);

    assert_non_null(d);
    cluster_default(&d->c);
    describe(d, "protocol", "tcp", "measured: messages of a burst take longer than their bytes on the wire");
    describe(d, "link_bits_per_s", "8e9",
             "measured: 1 / beta, 3 pairs, 12 sizes, largest residual 25.0 %, of those longer than alpha 10.0 %");
    describe(d, "link_latency_s", "4e-5", "measured: alpha, 50 us, less two overheads of 5 us, of the same times");
    describe(d, "tcp_message_s", "5e-6",
             "measured: what a message adds to a burst, 4 to 32 at once, largest residual 2.5 %");
    describe(d, "memory_bytes_per_s", "8e9", "measured: updates on 4 ranks at once, the median rank's; 5e9 to 9e9");
    return d;
}

static void assert_ratio(const struct calibrated_value *v, const char *name, double ratio)
{
    assert_string_equal(cluster_keys[v->key].name, name);
    if (!(fabs(v->ratio - ratio) < 1e-12))
        fail_msg("%s: %.17g, not %.17g", name, v->ratio, ratio);
}

/* 8e9 / 5e9 is further than 9e9 / 8e9. */
UNIT_TEST(each_value_has_its_own)
{
    struct calibrated_value v[CALIBRATION_MOST_VALUES];
    struct described *d = made();
    char text[256];

    assert_int_equal(calibration_spread(v, &d->c, &d->sources), 4);
    assert_ratio(&v[0], "link_bits_per_s", 0.1);
    assert_ratio(&v[1], "link_latency_s", 0.25);
    assert_ratio(&v[2], "tcp_message_s", 0.025);
    assert_ratio(&v[3], "memory_bytes_per_s", 0.6);
    assert_true(fabs(calibration_rate_ratio(&d->sources) - 0.1) < 1e-12);
    calibration_spread_text(text, sizeof text, v, 4);
    assert_string_equal(
        text, "link_bits_per_s 10.0 %, link_latency_s 25.0 %, tcp_message_s 2.5 %, memory_bytes_per_s 60.0 %");
    free(d);
}

/* V1 */
UNIT_TEST(what_tells_none_has_none)
{
    struct calibrated_value v[CALIBRATION_MOST_VALUES];
    struct described *d = made();

    describe(d, "link_bits_per_s", "8e9", "assumed: largest residual 25.0 %, of those longer than alpha 10.0 %");
    describe(d, "tcp_message_s", "5e-6", "measured: half of alpha; bursts say more, 12 us a message");
    describe(d, "memory_bytes_per_s", "8e9", "measured: updates; 5e9 to many");
    assert_int_equal(calibration_spread(v, &d->c, &d->sources), 0);
    assert_true(isnan(calibration_rate_ratio(&d->sources)));
    describe(d, "memory_bytes_per_s", "8e9", "measured: updates; 8e9 to 8e9");
    describe(d, "tcp_message_s", "5e-6", "measured: largest residual 0.0 %");
    assert_int_equal(calibration_spread(v, &d->c, &d->sources), 0);
    describe(d, "tcp_message_s", "5e-6", "measured: largest residual 1.0 %");
    assert_int_equal(calibration_spread(v, &d->c, &d->sources), 1);
    describe(d, "protocol", "bare", "measured: none"); /* then it is of no effect */
    assert_int_equal(calibration_spread(v, &d->c, &d->sources), 0);
    free(d);
}

/* V2: 8e9 x 1.25, 8e9 / 1.25; no less than its key allows. */
UNIT_TEST(higher_and_lower_by_the_same_ratio)
{
    struct calibrated_value v = { .key = cluster_key_find("link_bits_per_s"), .ratio = 0.25 };
    struct described *d = made();
    char setting[CALIBRATION_SETTING_BYTES];

    calibration_setting(setting, &d->c, &v, true);
    assert_string_equal(setting, "link_bits_per_s=10000000000");
    calibration_setting(setting, &d->c, &v, false);
    assert_string_equal(setting, "link_bits_per_s=6400000000");
    v = (struct calibrated_value){ .key = cluster_key_find("link_latency_s"), .ratio = 1e9 };
    calibration_setting(setting, &d->c, &v, true);
    assert_true(strtod(strchr(setting, '=') + 1, NULL) == cluster_keys[v.key].most);
    free(d);
}

/* Ranges that sources of made-up descriptions state, and of values without one (R1, R2). */

UNIT_TEST(ranges_are_stated_or_a_half_to_twice_R1)
{
    static const struct {
        const char *name, *value, *source;
        double low, high;
    } cases[] = {
        { "link_latency_s", "4e-6", "assumed", 2e-6, 8e-6 },
        { "link_latency_s", "4e-6", "assumed: range 3e-6 to 5e-6; a cable", 3e-6, 5e-6 },
        { "link_bits_per_s", "8e9", "assumed: in that range chosen, range 2e9 to 9e9", 2e9, 9e9 },
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to 12e9", 8e9, 12e9 }, /* the value is in it */
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to many", 4e9, 16e9 },
        { "link_bits_per_s", "8e9", "assumed: range 9e9 to 2e9", 4e9, 16e9 },
        { "rdma_rate_ratio", "0.75", "assumed", 0.375, 1 }, /* no key has more than it allows */
        { "hosts_per_group_count", "3", "assumed", 2, 6 },
    };
    static struct cluster_sources sources;
    struct assumed_range r;
    struct cluster c;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int key = cluster_key_find(cases[i].name);
        cluster_default(&c);
        assert_int_equal(cluster_key_set(&c, key, cases[i].value), RC_OK);
        snprintf(sources.text[key], sizeof sources.text[key], "%s", cases[i].source);
        assert_true(assumed_range_of(&r, &c, &sources, key));
        assert_int_equal(r.key, key);
        assert_true(r.low >= cases[i].low && r.low <= cases[i].low);
        assert_true(r.high >= cases[i].high && r.high <= cases[i].high);
    }
    assert_false(assumed_range_of(&r, &c, &sources, cluster_key_find("protocol")));
    assert_false(assumed_range_of(&r, &c, &sources, cluster_key_find("staging_bytes_per_s"))); /* 0 */
}

static bool has(const struct assumed_range *range, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].key == cluster_key_find(name))
            return true;
    return false;
}

/* Of the default only what bare links and the memory of a worker need; nothing that is given, off, or no time. */
UNIT_TEST(what_limits_nothing_has_no_band_R2)
{
    static struct cluster_sources sources;
    struct assumed_range range[CLUSTER_MAX_KEYS];
    struct cluster c;

    assert_int_equal(cluster_find(&c, &sources, ""), RC_OK);
    size_t n = assumed_ranges(range, &c, &sources);
    assert_true(has(range, n, "link_bits_per_s") && has(range, n, "link_latency_s"));
    assert_true(has(range, n, "memory_bytes_per_s") && has(range, n, "local_bytes_per_s"));
    assert_false(has(range, n, "link_duplex_ratio") || has(range, n, "straggler_ratio"));
    assert_false(has(range, n, "tcp_latency_s") || has(range, n, "flops_per_s") || has(range, n, "hosts_count"));
    assert_int_equal(cluster_set(&c, &sources, "link_bits_per_s=1e9"), RC_OK);
    n = assumed_ranges(range, &c, &sources);
    assert_false(has(range, n, "link_bits_per_s"));
}

UNIT_MAIN("prediction_band")
