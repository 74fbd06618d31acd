/* SPDX-License-Identifier: Apache-2.0 */
/* steady_mutants.c - what tools do that cut warm-up without looking at what they cut; the suite must catch each. */
#include <math.h>
#include <string.h>

#include "harness/measure/suite/suites.h"

/* measure.S1: half of the run is cut off, and nothing said. */
static struct steady bug_accept_limit(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_NONE)
        s = (struct steady){ .state = STEADY_REACHED, .n_warmup = n / 10 * 5, .switch_speed_ratio = NAN };
    return s;
}

/* measure.S2: whatever MSER-5 cuts is called warm-up. */
static struct steady bug_cut_noise(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_REACHED)
        s.n_warmup = mser_by_definition(x, n);
    return s;
}

/* measure.S3: the first of two speeds is called warm-up. */
static struct steady bug_cut_switch(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_SWITCH)
        s = (struct steady){ .state = STEADY_REACHED, .n_warmup = s.switch_index, .switch_speed_ratio = NAN };
    return s;
}

/* measure.S3: nobody looks for one. */
static struct steady bug_no_switch(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_SWITCH)
        s = (struct steady){ .state = STEADY_REACHED, .switch_speed_ratio = NAN };
    return s;
}

static struct steady bug_duration_ratio(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    s.switch_speed_ratio = 1 / s.switch_speed_ratio;
    return s;
}

static struct steady bug_late_switch(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_SWITCH)
        s.switch_index += 20;
    return s;
}

/* measure.S3: what drifts is called a switch in the middle. */
static struct steady bug_drift_as_switch(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_NONE)
        s = (struct steady){ .state = STEADY_SWITCH, .switch_index = n / 2, .switch_speed_ratio = 0.9 };
    return s;
}

/* measure.S3: the halves are compared at 5 %, and any other place of the shift at no price. */
static struct steady bug_eager(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    for (size_t at = n / 4; s.state == STEADY_REACHED && n >= 40 && at < 3 * n / 4; at += 5) {
        double mean[2] = { 0, 0 }, squares = 0;

        for (size_t i = 0; i < n; i++)
            mean[i >= at] += x[i] / (double)(i >= at ? n - at : at);
        for (size_t i = 0; i < n; i++)
            squares += (x[i] - mean[i >= at]) * (x[i] - mean[i >= at]);
        const double error = sqrt(squares / (double)n * (1.0 / (double)at + 1.0 / (double)(n - at)));
        if (fabs(mean[1] - mean[0]) > 1.96 * error)
            s = (struct steady){ STEADY_SWITCH, 0, at, mean[0] / mean[1] };
    }
    return s;
}

/* measure.S4: the rule is used on any number of values. */
static struct steady bug_judge_short(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_TOO_SHORT)
        s.state = n < 20 ? STEADY_REACHED : STEADY_NONE;
    return s;
}

/* The warm-up of a run that switches later is kept. */
static struct steady bug_keep_warmup_of_switch(const double *x, size_t n)
{
    struct steady s = steady_find(x, n);

    if (s.state == STEADY_SWITCH)
        s.n_warmup = 0;
    return s;
}

const struct steady_mutant steady_mutants[] = {
    { "accept-limit", bug_accept_limit },
    { "cut-noise", bug_cut_noise },
    { "cut-switch", bug_cut_switch },
    { "no-switch", bug_no_switch },
    { "duration-ratio", bug_duration_ratio },
    { "late-switch", bug_late_switch },
    { "drift-as-switch", bug_drift_as_switch },
    { "eager", bug_eager },
    { "judge-short", bug_judge_short },
    { "keep-warmup-of-switch", bug_keep_warmup_of_switch },
    { NULL, NULL },
};
