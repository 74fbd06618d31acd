/* SPDX-License-Identifier: Apache-2.0 */
/* recorded_test.c - which steps of a made-up run (result_kit.h) are recorded, by its target loss. */
#include "harness/train/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/train/suite/result_kit.h"

/* made_ps: rounds end after 20, 35, 50, ... 185 ms, when worker 1 ends them. */
UNIT_TEST(all_rounds_to_the_target)
{
    static const struct {
        double seconds;
        size_t n;
    } CASES[] = {
        { 0.155, 10 },                                            /* when round 9 ends */
        { 0.14, 9 },   { 0.1401, 10 }, { 0.02, 1 }, { 0.001, 1 }, /* before round 0 ends */
        { 0.185, 12 }, { NAN, 0 },
    };
    struct made_run m;
    struct train_summary s;

    made_ps(&m);
    assert_int_equal(train_summarise(&s, &m.job, &m.result), RC_OK);
    assert_int_equal(recorded_n_to_target(&s), 10); /* 0.155: result_kit.c */
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        s.seconds_to_target_loss = CASES[i].seconds;
        if (recorded_n_to_target(&s) != CASES[i].n)
            fail_msg("%g s: %zu rounds, not %zu", CASES[i].seconds, recorded_n_to_target(&s), CASES[i].n);
    }
    made_free(&m);
}

/* The indices of the steps recorded, as a text. */
static void check_steps(const struct made_run *m, const char *expected)
{
    char found[200] = "";
    char *text = made_records(m);

    for (const char *at = text; (at = strstr(at, "{\"kind\":\"step\",\"step_index\":")) != NULL; at++) {
        const size_t n = strlen(found);
        snprintf(found + n, sizeof found - n, "%s%ld", n ? " " : "", strtol(at + 28, NULL, 10));
    }
    free(text);
    assert_string_equal(found, expected);
}

UNIT_TEST(records_hold_every_step_to_the_target)
{
    struct made_run m;

    made_ps(&m);
    m.job.opts.record_every = 4;
    m.job.opts.target_loss = 3; /* reached after 140 ms, when round 8 ends */
    check_steps(&m, "100 101 102 103 104 105 106 107 108 111");
    m.job.opts.record_every = 3;
    check_steps(&m, "100 101 102 103 104 105 106 107 108 109 111");
    m.job.opts.record_every = 100;
    check_steps(&m, "100 101 102 103 104 105 106 107 108 111");
    m.job.opts.target_loss = 0.5; /* never reached */
    check_steps(&m, "100 111");
    m.job.opts.target_loss = NAN;
    m.job.opts.record_every = 5;
    check_steps(&m, "100 105 110 111");
    m.job.opts.record_every = 1;
    check_steps(&m, "100 101 102 103 104 105 106 107 108 109 110 111");
    made_free(&m);
}

/* The numbers behind the next "input_wait_s": in the text, which moves on. */
static void expect_waits(const char **text, const double *wanted_s, int n)
{
    char *at = strstr(*text, "\"input_wait_s\":");

    assert_non_null(at);
    at += strlen("\"input_wait_s\":") + (n > 1);
    for (int i = 0; i < n; i++, at++)
        if (!(fabs(strtod(at, &at) - wanted_s[i]) < 1e-12))
            fail_msg("not %g: %.60s", wanted_s[i], *text);
    *text = at;
}

/* Worker w waits 10 w + step microseconds; of networks alone, and not in virtual time. */
UNIT_TEST(waits_for_input_of_every_worker)
{
    struct made_run m;

    made_ps(&m);
    m.job.opts.target_loss = NAN;
    assert_int_equal(workload_find(&m.job.workload, "lenet"), RC_OK);
    for (size_t i = 0; i < 2 * m.result.n_steps; i++)
        m.result.stamp[i].input_ns = 1000 * (10 * (i / m.result.n_steps) + i % m.result.n_steps);
    char *text = made_records(&m);
    const char *rest = text;
    for (size_t step = 0; step < m.result.n_steps; step += m.job.opts.record_every)
        expect_waits(&rest, (const double[]){ 1e-6 * (double)step, 1e-6 * (double)(step + 10) }, 2);
    if ((m.result.n_steps - 1) % m.job.opts.record_every != 0)
        expect_waits(
            &rest, (const double[]){ 1e-6 * (double)(m.result.n_steps - 1), 1e-6 * (double)(m.result.n_steps + 9) }, 2);
    expect_waits(&rest, (const double[]){ 0.5e-6 * (double)(m.result.n_steps - 1) }, 1);
    expect_waits(&rest, (const double[]){ 0.5e-6 * (double)(m.result.n_steps - 1) + 10e-6 }, 1);
    rest = strstr(rest, "\"input_wait_s\":null"); /* of the server */
    assert_non_null(rest);
    free(text);
    made_free(&m);
}

UNIT_MAIN("recorded")
