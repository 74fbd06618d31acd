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
static void see_hollow_fails(struct losses *in)
{
    in->is_training = true;
}

/* 50 steps of 1000 classes are judged as if they could have learned. */
static void see_short_fails(struct losses *in)
{
    in->is_short = false;
}

/* A short run is never judged, however far it rose. */
static void bug_short_is_spared(struct learning *out, const struct losses *in)
{
    if (in->is_short && out->learned == LEARNED_NO && out->why != LEARNING_NOT_FINITE)
        say(out, LEARNED_NOT_KNOWN, LEARNING_TOO_SHORT);
}

/* Only the last loss needs to be finite. */
static void bug_last_finite(struct learning *out, const struct losses *in)
{
    if (out->why == LEARNING_NOT_FINITE && isfinite(in->value[in->n - 1]))
        say(out, LEARNED_YES, LEARNING_FELL);
}

/* Any loss that is not finite, long recovered from, fails a run. */
static void bug_any_infinite(struct learning *out, const struct losses *in)
{
    for (size_t i = 0; in->is_training && i < in->n; i++)
        if (!isfinite(in->value[i]))
            say(out, LEARNED_NO, LEARNING_NOT_FINITE);
}

static bool is_judged(const struct losses *in, const struct learning *l)
{
    return in->is_training && in->n >= LEARNING_MIN_LOSSES && l->why != LEARNING_NOT_FINITE;
}

/* Rising: the mean of the last part is above that of the first, by whatever. */
static void bug_no_noise(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;

    if (is_judged(in, out) && !in->is_short &&
        interval_of_launches(in->value + in->n - n, n).mean > interval_of_launches(in->value, n).mean)
        say(out, LEARNED_NO, LEARNING_ROSE);
}

/* Rising: intervals of the means, which powers make infinitely wide, lie apart. */
static void bug_intervals_of_means(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;

    if (out->why == LEARNING_ROSE &&
        !(interval_of_launches(in->value + in->n - n, n).low > interval_of_launches(in->value, n).high))
        say(out, LEARNED_NOT_KNOWN, LEARNING_TOO_NOISY);
}

/* The first and the last loss alone. */
static void bug_two_losses(struct learning *out, const struct losses *in)
{
    if (is_judged(in, out) && in->value[in->n - 1] > in->value[0])
        say(out, LEARNED_NO, LEARNING_ROSE);
}

/* At chance only where the mean is not a hair below it. */
static void bug_exact_chance(struct learning *out, const struct losses *in)
{
    if (out->why == LEARNING_AT_CHANCE && out->last < in->chance)
        say(out, LEARNED_YES, LEARNING_FELL);
}

/* What cannot be told for noise is held against the run. */
static void bug_noise_fails(struct learning *out, const struct losses *in)
{
    (void)in;
    if (out->why == LEARNING_TOO_NOISY)
        say(out, LEARNED_NO, LEARNING_AT_CHANCE);
}

/* The mean of the last part, whatever most of its losses are. */
static void bug_mean_alone(struct learning *out, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;

    if (out->why == LEARNING_FELL && interval_of_launches(in->value + in->n - n, n).mean >= in->chance)
        say(out, LEARNED_NO, LEARNING_AT_CHANCE);
}

/* A run that fell is one that learned, wherever it fell to. */
static void see_no_chance(struct losses *in)
{
    in->chance = NAN;
}

/* What the test set says is not asked. */
static void see_no_test(struct losses *in)
{
    in->test = NAN;
}

static const struct mutant {
    const char *name;
    void (*see)(struct losses *in); /* one of the two: before the right judgement, or after it */
    void (*spoil)(struct learning *out, const struct losses *in);
} mutants[] = {
    { "hollow-fails", .see = see_hollow_fails },
    { "short-fails", .see = see_short_fails },
    { "short-is-spared", .spoil = bug_short_is_spared },
    { "last-finite", .spoil = bug_last_finite },
    { "any-infinite", .spoil = bug_any_infinite },
    { "no-noise", .spoil = bug_no_noise },
    { "intervals-of-means", .spoil = bug_intervals_of_means },
    { "two-losses", .spoil = bug_two_losses },
    { "exact-chance", .spoil = bug_exact_chance },
    { "noise-fails", .spoil = bug_noise_fails },
    { "mean-alone", .spoil = bug_mean_alone },
    { "no-chance", .see = see_no_chance },
    { "no-test", .see = see_no_test },
};
static const struct mutant *mutant;

static enum rc judge_wrong(struct learning *out, const struct losses *in)
{
    struct losses seen = *in;

    if (mutant->see)
        mutant->see(&seen);
    const enum rc rc = learning_judge(out, &seen);
    if (rc == RC_OK && mutant->spoil)
        mutant->spoil(out, in);
    return rc;
}

UNIT_TEST(suite_holds)
{
    assert_int_equal(learning_suite(learning_judge), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (mutant = mutants; mutant < mutants + N_ELEMS(mutants); mutant++)
        if (learning_suite(judge_wrong) == 0)
            fail_msg("%s is not noticed", mutant->name);
}

UNIT_MAIN("learning")
