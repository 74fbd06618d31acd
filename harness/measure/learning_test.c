/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning_test.c - the suite on learning.c, and on wrong versions of it that it must catch.
 *   learning_test [mutants]
 */
#include <math.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/measure/interval.h"
#include "harness/measure/suite/suites.h"

static void say(struct learning *l, enum learned learned, enum learning_why why)
{
    l->learned = learned;
    l->why = why;
}

/* Every hollow run has failed: its loss is no number. */
static enum rc bug_hollow_fails(struct learning *out, const struct losses *in)
{
    struct losses changed = *in;

    changed.is_training = true;
    return learning_judge(out, &changed);
}

/* 50 steps of 1000 classes are judged as if they could have learned. */
static enum rc bug_short_fails(struct learning *out, const struct losses *in)
{
    struct losses changed = *in;

    changed.is_short = false;
    return learning_judge(out, &changed);
}

/* A short run is never judged, however far it rose. */
static enum rc bug_short_is_spared(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && in->is_short && out->learned == LEARNED_NO && out->why != LEARNING_NOT_FINITE)
        say(out, LEARNED_NOT_KNOWN, LEARNING_TOO_SHORT);
    return rc;
}

/* Only the last loss needs to be finite. */
static enum rc bug_last_finite(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && out->why == LEARNING_NOT_FINITE && isfinite(in->value[in->n - 1]))
        say(out, LEARNED_YES, LEARNING_FELL);
    return rc;
}

/* Any loss that is not finite, long recovered from, fails a run. */
static enum rc bug_any_infinite(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    for (size_t i = 0; rc == RC_OK && in->is_training && i < in->n; i++)
        if (!isfinite(in->value[i]))
            say(out, LEARNED_NO, LEARNING_NOT_FINITE);
    return rc;
}

static bool is_judged(const struct losses *in, const struct learning *l)
{
    return in->is_training && in->n >= LEARNING_MIN_LOSSES && l->why != LEARNING_NOT_FINITE;
}

/* Rising: the mean of the last part is above that of the first, by whatever. */
static enum rc bug_no_noise(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && is_judged(in, out) && !in->is_short &&
        interval_of_launches(in->value + in->n - n, n).mean > interval_of_launches(in->value, n).mean)
        say(out, LEARNED_NO, LEARNING_ROSE);
    return rc;
}

/* Rising: intervals of the means, which powers make infinitely wide, lie apart. */
static enum rc bug_intervals_of_means(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && out->why == LEARNING_ROSE &&
        !(interval_of_launches(in->value + in->n - n, n).low > interval_of_launches(in->value, n).high))
        say(out, LEARNED_NOT_KNOWN, LEARNING_TOO_NOISY);
    return rc;
}

/* The first and the last loss alone. */
static enum rc bug_two_losses(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && is_judged(in, out) && in->value[in->n - 1] > in->value[0])
        say(out, LEARNED_NO, LEARNING_ROSE);
    return rc;
}

/* At chance only where the mean is not a hair below it. */
static enum rc bug_exact_chance(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && out->why == LEARNING_AT_CHANCE && out->last < in->chance)
        say(out, LEARNED_YES, LEARNING_FELL);
    return rc;
}

/* What cannot be told for noise is held against the run. */
static enum rc bug_noise_fails(struct learning *out, const struct losses *in)
{
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && out->why == LEARNING_TOO_NOISY)
        say(out, LEARNED_NO, LEARNING_AT_CHANCE);
    return rc;
}

/* The mean of the last part, whatever most of its losses are. */
static enum rc bug_mean_alone(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;
    enum rc rc = learning_judge(out, in);

    if (rc == RC_OK && out->why == LEARNING_FELL && interval_of_launches(in->value + in->n - n, n).mean >= in->chance)
        say(out, LEARNED_NO, LEARNING_AT_CHANCE);
    return rc;
}

/* A run that fell is one that learned, wherever it fell to. */
static enum rc bug_no_chance(struct learning *out, const struct losses *in)
{
    struct losses changed = *in;

    changed.chance = NAN;
    return learning_judge(out, &changed);
}

/* What the test set says is not asked. */
static enum rc bug_no_test(struct learning *out, const struct losses *in)
{
    struct losses changed = *in;

    changed.test = NAN;
    return learning_judge(out, &changed);
}

UNIT_TEST(suite_holds)
{
    assert_int_equal(learning_suite(learning_judge), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    static const struct {
        const char *name;
        learning_judge_fn *judge;
    } mutant[] = {
        { "hollow-fails", bug_hollow_fails },
        { "short-fails", bug_short_fails },
        { "short-is-spared", bug_short_is_spared },
        { "last-finite", bug_last_finite },
        { "any-infinite", bug_any_infinite },
        { "no-noise", bug_no_noise },
        { "intervals-of-means", bug_intervals_of_means },
        { "two-losses", bug_two_losses },
        { "exact-chance", bug_exact_chance },
        { "noise-fails", bug_noise_fails },
        { "mean-alone", bug_mean_alone },
        { "no-chance", bug_no_chance },
        { "no-test", bug_no_test },
    };

    for (size_t i = 0; i < N_ELEMS(mutant); i++)
        if (learning_suite(mutant[i].judge) == 0)
            fail_msg("%s is not noticed", mutant[i].name);
}

UNIT_MAIN("learning")
