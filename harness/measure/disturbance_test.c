/* SPDX-License-Identifier: Apache-2.0 */
/* disturbance_test.c - what others took of hosts whose figures were worked out by hand. */
#include "harness/measure/disturbance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double value, double expected)
{
    if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void assert_is(const struct disturbance *d, const struct disturbance *expected)
{
    assert_near(d->steal_ratio, expected->steal_ratio);
    assert_near(d->others_cores, expected->others_cores);
    assert_near(d->taken_ratio, expected->taken_ratio);
    assert_near(d->taken_limit_ratio, expected->taken_limit_ratio);
    assert_near(d->frequency_hz, expected->frequency_hz);
}

/* 3.5 cores busy, of which the run's processes use 1.9: others 1.6; 5 % of 4 cores are 0.2 stolen ones; 1.8 of the 2
 * that the run uses. In 2 s three times 0.02 s of 2 x 2 s are the grain: 0.015. */
static void what_others_took(void **state)
{
    static const struct {
        struct window_load host;
        double own_cores;
        int n_used_cores;
        struct disturbance expected;
        const char *word;
    } known[] = {
        { { 2, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 2, { 0.05, 1.6, 0.9, 0.115, 3e9 }, "yes" },
        { { 2, 0.7, 4, 1.9, 0, NAN }, 1.9, 1, { 0, 0, 0, 0.12, NAN }, "no" },
        { { 2, 0.7, 4, 1.5, 0.01, NAN }, 1.9, 4, { 0.01, 0, 0.01, 0.1125, NAN }, "no" }, /* measure.D1 */
        { { 0.1, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 4, { 0.05, 1.6, 0.45, 0.35, 3e9 }, "yes" },
        { { 0.099, 0.7, 4, 3.5, 0.05, 3e9 }, 1.9, 4, { NAN, NAN, NAN, NAN, NAN }, "not_known" }, /* measure.D3 */
        { { 2, 0.7, 0, 3.5, 0.05, 3e9 }, 1.9, 2, { NAN, NAN, NAN, NAN, NAN }, "not_known" },
        { { 2, 0.7, 4, NAN, 0.05, 3e9 }, 1.9, 2, { 0.05, NAN, NAN, 0.115, 3e9 }, "not_known" }, /* measure.D4 */
        { { 2, 0.7, 4, 3.5, NAN, 3e9 }, 1.9, 2, { NAN, 1.6, NAN, 0.115, 3e9 }, "not_known" },
        { { 2, 0.7, 4, 3.5, 0.05, 3e9 }, NAN, 2, { 0.05, NAN, NAN, 0.115, 3e9 }, "not_known" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct disturbance d = disturbance_of_host(&known[i].host, known[i].own_cores, known[i].n_used_cores);
        assert_is(&d, &known[i].expected);
        assert_string_equal(disturbance_word(&d), known[i].word);
        assert_int_equal(disturbance_is_too_much(&d), known[i].word[0] == 'y');
    }
}

/* What is at the limit is not beyond it. */
static void the_limit_itself_is_quiet(void **state)
{
    struct disturbance d = { 0, 0.2, 0.1, 0.1, NAN };

    (void)state;
    assert_string_equal(disturbance_word(&d), "no");
    d.taken_ratio = nextafter(0.1, 1);
    assert_string_equal(disturbance_word(&d), "yes");
}

/* Each figure is the worse one; of taken, the host that is farther beyond its limit, though more is taken of the other.
 */
static void the_worse_of_two_hosts(void **state)
{
    static const struct disturbance a = { 0.01, 2, 0.5, 0.45, 2e9 }, b = { 0.02, 1, 0.3, 0.11, 3e9 },
                                    worse = { 0.02, 2, 0.3, 0.11, 2e9 };
    struct disturbance d = disturbance_worse(&a, &b);

    (void)state;
    assert_is(&d, &worse);
    d = disturbance_worse(&b, &a);
    assert_is(&d, &worse);
    d = disturbance_worse(&a, &DISTURBANCE_NOT_KNOWN);
    assert_is(&d, &a);
    d = disturbance_worse(&DISTURBANCE_NOT_KNOWN, &a);
    assert_is(&d, &a);
    d = disturbance_worse(&DISTURBANCE_NOT_KNOWN, &DISTURBANCE_NOT_KNOWN);
    assert_is(&d, &DISTURBANCE_NOT_KNOWN);
}

static void it_is_told(void **state)
{
    static const struct disturbance d = { 0.0123, 0.834, 0.434, 0.116, 2e9 };
    char text[160];

    (void)state;
    disturbance_text(text, sizeof text, &d);
    assert_string_equal(text,
                        "others used 0.83 cores, steal was 1.2 %: together 43 % of the cores of this run, the limit "
                        "for its length is 12 %");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_others_took),
        cmocka_unit_test(the_limit_itself_is_quiet),
        cmocka_unit_test(the_worse_of_two_hosts),
        cmocka_unit_test(it_is_told),
    };

    return cmocka_run_group_tests_name("disturbance", tests, NULL, NULL);
}
