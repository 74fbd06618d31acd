/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady_test.c - the suite on steady.c, and on wrong versions of it that it must catch.
 *   steady_test [mutants]
 */
#include <math.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/suite/suites.h"

/* --- what tools do that cut warm-up without looking at what they cut --- */

/* measure.S1: half of the run is cut off, and nothing said. */
static void bug_accept_limit(struct steady *s, const double *x, size_t n)
{
    (void)x;
    if (s->state == STEADY_NONE)
        *s = (struct steady){ .state = STEADY_REACHED, .n_warmup = n / 10 * 5, .switch_speed_ratio = NAN };
}

/* measure.S2: whatever MSER-5 cuts is called warm-up. */
static void bug_cut_noise(struct steady *s, const double *x, size_t n)
{
    if (s->state == STEADY_REACHED)
        s->n_warmup = mser_by_definition(x, n);
}

/* measure.S3: the first of two speeds is called warm-up. */
static void bug_cut_switch(struct steady *s, const double *x, size_t n)
{
    (void)x, (void)n;
    if (s->state == STEADY_SWITCH)
        *s = (struct steady){ .state = STEADY_REACHED, .n_warmup = s->switch_index, .switch_speed_ratio = NAN };
}

/* measure.S3: nobody looks for one. */
static void bug_no_switch(struct steady *s, const double *x, size_t n)
{
    (void)x, (void)n;
    if (s->state == STEADY_SWITCH)
        *s = (struct steady){ .state = STEADY_REACHED, .switch_speed_ratio = NAN };
}

static void bug_duration_ratio(struct steady *s, const double *x, size_t n)
{
    (void)x, (void)n;
    s->switch_speed_ratio = 1 / s->switch_speed_ratio;
}

static void bug_late_switch(struct steady *s, const double *x, size_t n)
{
    (void)x, (void)n;
    if (s->state == STEADY_SWITCH)
        s->switch_index += 20;
}

/* measure.S3: what drifts is called a switch in the middle. */
static void bug_drift_as_switch(struct steady *s, const double *x, size_t n)
{
    (void)x;
    if (s->state == STEADY_NONE)
        *s = (struct steady){ .state = STEADY_SWITCH, .switch_index = n / 2, .switch_speed_ratio = 0.9 };
}

/* measure.S3: the halves are compared at 5 %, and any other place of the shift at no price. */
static void bug_eager(struct steady *s, const double *x, size_t n)
{
    for (size_t at = n / 4; s->state == STEADY_REACHED && n >= 40 && at < 3 * n / 4; at += 5) {
        double mean[2] = { 0, 0 }, squares = 0;

        for (size_t i = 0; i < n; i++)
            mean[i >= at] += x[i] / (double)(i >= at ? n - at : at);
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean[i >= at]) * (x[i] - mean[i >= at]);
        const double error = sqrt(squares / (double)n * (1.0 / (double)at + 1.0 / (double)(n - at)));
        if (fabs(mean[1] - mean[0]) > 1.96 * error)
            *s = (struct steady){ STEADY_SWITCH, 0, at, mean[0] / mean[1] };
    }
}

/* measure.S4: the rule is used on any number of values. */
static void bug_judge_short(struct steady *s, const double *x, size_t n)
{
    (void)x;
    if (s->state == STEADY_TOO_SHORT)
        s->state = n < 20 ? STEADY_REACHED : STEADY_NONE;
}

/* The warm-up of a run that switches later is kept. */
static void bug_keep_warmup_of_switch(struct steady *s, const double *x, size_t n)
{
    (void)x, (void)n;
    if (s->state == STEADY_SWITCH)
        s->n_warmup = 0;
}

static const struct mutant {
    const char *name;
    void (*spoil)(struct steady *s, const double *x, size_t n);
} mutants[] = {
    { "accept-limit", bug_accept_limit },       { "cut-noise", bug_cut_noise },
    { "cut-switch", bug_cut_switch },           { "no-switch", bug_no_switch },
    { "duration-ratio", bug_duration_ratio },   { "late-switch", bug_late_switch },
    { "drift-as-switch", bug_drift_as_switch }, { "eager", bug_eager },
    { "judge-short", bug_judge_short },         { "keep-warmup-of-switch", bug_keep_warmup_of_switch },
};
static const struct mutant *mutant;

static struct steady find_wrong(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    mutant->spoil(&s, x, n);
    return s;
}

UNIT_TEST(suite_holds)
{
    assert_int_equal(steady_suite(steady_find), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (mutant = mutants; mutant < mutants + N_ELEMS(mutants); mutant++)
        if (steady_suite(find_wrong) == 0)
            fail_msg("%s is not noticed", mutant->name);
}

UNIT_MAIN("steady")
