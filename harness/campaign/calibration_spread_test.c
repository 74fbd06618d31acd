/* SPDX-License-Identifier: Apache-2.0 */
/* calibration_spread_test.c - what sources of made-up descriptions tell of how far off values may be (V1, V2). */
#include "harness/campaign/calibration_spread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/cluster/cluster_keys.h"

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
static void each_value_has_its_own(void **state)
{
    struct calibrated_value v[CALIBRATION_MOST_VALUES];
    struct described *d = made();
    char text[256];

    (void)state;
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
static void what_tells_none_has_none(void **state)
{
    struct calibrated_value v[CALIBRATION_MOST_VALUES];
    struct described *d = made();

    (void)state;
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
static void higher_and_lower_by_the_same_ratio(void **state)
{
    struct calibrated_value v = { .key = cluster_key_find("link_bits_per_s"), .ratio = 0.25 };
    struct described *d = made();
    char setting[CALIBRATION_SETTING_BYTES];

    (void)state;
    calibration_setting(setting, &d->c, &v, true);
    assert_string_equal(setting, "link_bits_per_s=10000000000");
    calibration_setting(setting, &d->c, &v, false);
    assert_string_equal(setting, "link_bits_per_s=6400000000");
    v = (struct calibrated_value){ .key = cluster_key_find("link_latency_s"), .ratio = 1e9 };
    calibration_setting(setting, &d->c, &v, true);
    assert_true(strtod(strchr(setting, '=') + 1, NULL) == cluster_keys[v.key].most);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(each_value_has_its_own),
                                        cmocka_unit_test(what_tells_none_has_none),
                                        cmocka_unit_test(higher_and_lower_by_the_same_ratio) };

    return cmocka_run_group_tests_name("calibration_spread", tests, NULL, NULL);
}
