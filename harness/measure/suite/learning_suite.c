/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning_suite.c - runs of known outcome, at the edges of each rule, and false alarms counted out. All numbers come
 * from rng.h, so the counts are the same on every run.
 */
#include "harness/measure/suite/suites.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/rng.h"

enum { N = 200, N_RUNS = 1000 };
static const double CHANCE = 2.302585092994046; /* 10 classes */

static int expect_why(learning_judge_fn *judge, const struct losses *in, enum learning_why why, const char *what)
{
    struct learning l;
    const enum learned learned = why == LEARNING_FELL        ? LEARNED_YES
                                 : why <= LEARNING_AT_CHANCE ? LEARNED_NO
                                                             : LEARNED_NOT_KNOWN;

    if (judge(&l, in) != RC_OK)
        return expect(false, what);
    if (l.why != why)
        fprintf(stderr, "  %s: %s, not %s\n", what, learning_why_word(l.why), learning_why_word(why));
    return expect(l.why == why && l.learned == learned, what);
}

/* x[n] around a line from first to last, with this standard deviation. */
static struct losses line(double *x, size_t n, double first, double last, double deviation, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = first + (last - first) * (double)i / (double)(n - 1) + deviation * rng_normal(seed, RNG_TEST, i);
    return (struct losses){ .value = x, .n = n, .chance = CHANCE, .test = NAN, .is_training = true };
}

static int check_untrained(learning_judge_fn *judge) /* measure.G1 */
{
    double x[N];
    struct losses in = line(x, N, NAN, NAN, 0, 1);
    int n_failures = 0;

    in.is_training = false;
    n_failures += expect_why(judge, &in, LEARNING_NO_LOSS, "G1 hollow losses say nothing");
    in = line(x, N, 2.4, 2.4, 0.01, 1);
    in.is_training = false;
    n_failures += expect_why(judge, &in, LEARNING_NO_LOSS, "G1 nor do those of a forward pass");
    in.n = 0;
    n_failures += expect_why(judge, &in, LEARNING_NO_LOSS, "G1 nor none");
    return n_failures;
}

static int check_finite(learning_judge_fn *judge) /* measure.G2 */
{
    double x[N];
    struct losses in = line(x, N, 2.3, 0.1, 0.01, 2);
    struct learning l;
    int n_failures = 0;

    for (size_t i = 37; i < N; i++)
        x[i] = NAN;
    n_failures += expect_why(judge, &in, LEARNING_NOT_FINITE, "G2 not a number from a loss on");
    n_failures += expect(judge(&l, &in) == RC_OK && l.first_broken_loss == 37, "G2 which is the first of them");
    n_failures += expect(isnan(l.first) && isnan(l.last), "G2 there is no level then");
    in = line(x, N, 2.3, 0.1, 0.01, 2);
    x[N - 20] = INFINITY; /* the first of the last part */
    n_failures += expect_why(judge, &in, LEARNING_NOT_FINITE, "G2 infinite in the last part");
    in = line(x, N, 2.3, 0.1, 0.01, 2);
    x[N - 21] = NAN;
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G2 but not before it: the run went on");
    in = line(x, N, 2.3, 0.1, 0.01, 2);
    x[3] = NAN;
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G2 nor in the first part");
    in = line(x, N, 2.3, 0.1, 0.01, 2);
    in.test = INFINITY;
    n_failures += expect_why(judge, &in, LEARNING_NOT_FINITE, "G2 broken by the last update");
    n_failures += expect(judge(&l, &in) == RC_OK && l.first_broken_loss == N, "G2 which no loss shows");
    in.is_training = false;
    n_failures += expect_why(judge, &in, LEARNING_NO_LOSS, "G1 comes first");
    in = line(x, 3, 2.3, 2, 0, 2);
    x[0] = NAN;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_NOT_FINITE, "G2 of three losses, all count");
    return n_failures;
}

static int check_short(learning_judge_fn *judge) /* measure.G3, G8 */
{
    double x[N];
    struct losses in = line(x, 20, 2.3, 900, 0.01, 3);
    int n_failures = expect_why(judge, &in, LEARNING_TOO_SHORT, "G3 20 losses are too few");

    in = line(x, 21, 2.3, 900, 0.01, 3);
    n_failures += expect_why(judge, &in, LEARNING_ROSE, "G3 21 are not");
    in = line(x, 50, 6.9, 7.9, 0.05, 4);
    in.chance = 6.907755;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_TOO_SHORT, "G8 50 steps of 1000 classes may rise");
    in = line(x, 50, 7, 6.95, 0.1, 4);
    in.chance = 6.907755;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_TOO_SHORT, "G8 or stay at chance");
    in = line(x, 50, 6.9, 30, 0.05, 4);
    in.chance = 6.907755;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_ROSE, "G8 but not rise so far");
    in = line(x, 50, 30, 29, 5, 4);
    in.chance = 6.907755;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G8 nor stay so far above chance");
    in = line(x, 50, 6.9, 4, 0.05, 4);
    in.chance = 6.907755;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G8 and a short run may learn");
    return n_failures;
}

static int check_rising(learning_judge_fn *judge) /* measure.G4 */
{
    double x[N];
    struct losses in = line(x, N, 0.2, 1.4, 0.1, 5);
    struct learning l;
    int n_failures = expect_why(judge, &in, LEARNING_ROSE, "G4 rising below chance");

    n_failures += expect(judge(&l, &in) == RC_OK && fabs(l.first - 0.2571) < 0.06 && fabs(l.last - 1.343) < 0.06,
                         "G4 from where to where");
    for (size_t i = 0; i < N; i++) /* tenfold in each step: the mean of a part is that of its last loss */
        x[i] = pow(10, (double)i);
    n_failures += expect_why(judge, &in, LEARNING_ROSE, "G4 rising by powers");
    in = line(x, N, 0.2, 0.2, 0.02, 5);
    x[N - 3] = 90; /* one bad batch: the mean of the last part is above that of the first */
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G4 one loss of the last part is no rise");
    in = line(x, N, 0.5, 0.5, 0.02, 5);
    x[0] = 0.1; /* a lucky first batch */
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G4 one loss of the first part is no rise");
    for (size_t i = 0; i < 70; i++)
        x[i] = i < 7 ? 1 : i < 63 ? 1.5 : i < 68 ? 2 : 0.5; /* 35 of 49 pairs rise */
    in.n = 70;
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G4 five of seven are noise");
    for (size_t i = 68; i < 70; i++)
        x[i] = 1; /* equal to the first part */
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G4 equal losses are no rise");
    x[68] = x[69] = 1.01;
    n_failures += expect_why(judge, &in, LEARNING_ROSE, "G4 seven of seven are not noise");
    return n_failures;
}

/* x[n] of three levels: the first part, what is between, and the last part but for its n_odd last losses. */
static struct losses levels(double *x, double first, double last, size_t n_odd, double odd)
{
    for (size_t i = 0; i < N; i++)
        x[i] = i < 20 ? first : i < 180 ? 0.5 * (first + last) : i < N - n_odd ? last : odd;
    return (struct losses){ .value = x, .n = N, .chance = NAN, .test = NAN, .is_training = true };
}

static int check_levels(learning_judge_fn *judge) /* the medians, and what is exactly at a limit */
{
    double x[N];
    struct learning l;
    struct losses in = levels(x, 1, 2, 2, 1);
    int n_failures = expect_why(judge, &in, LEARNING_ROSE, "G4 nine in ten are enough");

    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_TOO_SHORT, "G8 twice the first part is not more than that");
    in = levels(x, 1, 0.5, 2, 1);
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G7 nine in ten are enough");
    in = levels(x, 3, CHANCE, 0, 0);
    in.chance = CHANCE;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G5 at chance is not below it");
    in = levels(x, 3, CHANCE, 2, 90);
    in.chance = CHANCE;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G5 nor is most of it");
    n_failures += expect(judge(&l, &in) == RC_OK && fabs(l.last - (0.9 * CHANCE + 9)) < 1e-12, "G6 tells the mean");
    in = levels(x, 3, 2, 0, 0);
    in.chance = 1;
    in.is_short = true;
    n_failures += expect_why(judge, &in, LEARNING_TOO_SHORT, "G8 twice chance is not more than that");
    in = levels(x, 4, 1, 10, 3);
    in.chance = 2;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 a mean at chance, however noisy");
    in.chance = 2.25;
    in.test = (1 - LEARNING_NOISE) * 2.25;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 a test just at its limit");
    for (size_t i = 0; i < N; i++)
        x[i] = pow(10, (double)i);
    in = (struct losses){ .value = x, .n = N, .chance = NAN, .test = NAN, .is_training = true };
    n_failures +=
        expect(judge(&l, &in) == RC_OK && fabs(l.first / 5.5e9 - 1) < 1e-12 && fabs(l.last / 5.5e189 - 1) < 1e-12,
               "medians of 20 losses");
    for (size_t i = 0; i < 21; i++)
        x[i] = i == 0 ? NAN : (double)i;
    in.n = 21;
    n_failures += expect(judge(&l, &in) == RC_OK && l.first == 4 && l.last == 17, "of 7, one not a number");
    return n_failures;
}

static int check_chance(learning_judge_fn *judge) /* measure.G5, G6, G7 */
{
    double x[N];
    struct losses in = line(x, N, 2.303, 2.303, 0.02, 6);
    struct learning l;
    int n_failures = expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 dead at chance");

    n_failures += expect(judge(&l, &in) == RC_OK && fabs(l.last - 2.303) < 0.01, "G6 tells its level");
    in = line(x, N, 9, 2.6, 0.4, 6);
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 fallen to above chance");
    in = line(x, N, 0.3, 0.3, 0.02, 6);
    for (size_t i = 30; i < N; i++)
        x[i] = 2.303 + 0.02 * rng_normal(6, RNG_TEST, i);
    in.is_training = true;
    n_failures += expect_why(judge, &in, LEARNING_ROSE, "G4 learned, then lost it");
    in = line(x, N, 2.31, 2.2, 0.02, 6);
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G5 slowly is learning");
    for (size_t i = 0; i < N; i++)
        x[i] = i < 20 ? 2.5 : i >= 180 ? CHANCE - (i % 2 ? 0.03 : -0.029) : 2.4; /* 2.3021 on average, +- 0.014 */
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 below by less than noise");
    for (size_t i = 180; i < N; i++)
        x[i] = CHANCE - (i % 2 ? 1 : -0.9); /* 0.05 below, +- 0.46 */
    n_failures += expect_why(judge, &in, LEARNING_TOO_NOISY, "G6 with too much noise it is not known");
    in.test = 2.19;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G6 unless a test tells");
    in.test = 2.18;
    n_failures += expect_why(judge, &in, LEARNING_TOO_NOISY, "G6 a test that is better than a guess does not");
    in.test = 9;
    for (size_t i = 180; i < N; i++)
        x[i] = i < 198 ? 0.5 : 100; /* mean 10.45 */
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G5 nine in ten are below chance");
    x[197] = 100;
    n_failures += expect_why(judge, &in, LEARNING_AT_CHANCE, "G5 eight in ten are not enough");
    in = line(x, N, 5, 3, 0.1, 6);
    in.chance = NAN;
    n_failures += expect_why(judge, &in, LEARNING_FELL, "G7 falling, whatever chance is");
    in = line(x, N, 3, 3, 0.1, 6);
    in.chance = NAN;
    n_failures += expect_why(judge, &in, LEARNING_TOO_NOISY, "G7 neither falling nor rising");
    return n_failures;
}

/* How many of N_RUNS runs of n losses are judged so. */
static int count(learning_judge_fn *judge, const struct losses *like, double first, double last, double deviation,
                 enum learned wanted)
{
    int n_judged = 0;

    for (uint64_t run = 0; run < N_RUNS; run++) {
        double x[N];
        struct learning l;
        struct losses in = line(x, like->n, first, last, deviation, 100 + run);

        in.chance = like->chance;
        if (judge(&l, &in) == RC_OK && l.learned == wanted)
            n_judged++;
    }
    return n_judged;
}

static int check_false_alarm(learning_judge_fn *judge)
{
    const struct losses full = { .n = N, .chance = CHANCE }, least = { .n = LEARNING_MIN_LOSSES, .chance = CHANCE };
    const struct losses unknown = { .n = N, .chance = NAN };
    int n_failures = 0;

    n_failures += expect(count(judge, &full, 2.3, 0.5, 0.3, LEARNED_YES) == N_RUNS, "every healthy run has learned");
    n_failures += expect(count(judge, &full, 2.31, 2.1, 0.15, LEARNED_NO) <= 20, "slow and noisy: at most 2 % alarms");
    n_failures += expect(count(judge, &least, 2.3, 1.5, 0.2, LEARNED_NO) == 0, "21 healthy losses: no alarm");
    n_failures += expect(count(judge, &full, 0.2, 0.2, 0.05, LEARNED_NO) == 0, "a plateau of 200: no alarm");
    n_failures += expect(count(judge, &least, 0.2, 0.2, 0.05, LEARNED_NO) <= 10, "a plateau of 21: at most 1 % alarms");
    n_failures += expect(count(judge, &unknown, 3, 3, 0.5, LEARNED_NOT_KNOWN) == N_RUNS, "a plateau of unknown chance");
    n_failures += expect(count(judge, &full, CHANCE, CHANCE, 0.05, LEARNED_NO) >= 950, "at chance: 95 % are told");
    n_failures += expect(count(judge, &full, 0.2, 0.6, 0.1, LEARNED_NO) == N_RUNS, "every risen run is told");
    return n_failures;
}

static int check_words(learning_judge_fn *judge)
{
    int n_failures = 0;

    (void)judge;
    n_failures += expect(strcmp(learned_word(LEARNED_YES), "yes") == 0 && strcmp(learned_word(LEARNED_NO), "no") == 0 &&
                             strcmp(learned_word(LEARNED_NOT_KNOWN), "not_known") == 0,
                         "words of the verdict");
    n_failures += expect(strcmp(learning_why_word(LEARNING_FELL), "fell") == 0 &&
                             strcmp(learning_why_word(LEARNING_NOT_FINITE), "not_finite") == 0 &&
                             strcmp(learning_why_word(LEARNING_ROSE), "rose") == 0 &&
                             strcmp(learning_why_word(LEARNING_AT_CHANCE), "at_chance") == 0 &&
                             strcmp(learning_why_word(LEARNING_NO_LOSS), "no_training_loss") == 0 &&
                             strcmp(learning_why_word(LEARNING_TOO_SHORT), "too_short") == 0 &&
                             strcmp(learning_why_word(LEARNING_TOO_NOISY), "too_noisy") == 0,
                         "words of the reason");
    return n_failures;
}

int learning_suite(learning_judge_fn *judge)
{
    static int (*const check[])(learning_judge_fn * judge) = { check_untrained,   check_finite, check_short,
                                                               check_rising,      check_chance, check_words,
                                                               check_false_alarm, check_levels };
    int n_failures = 0;

    for (size_t i = 0; i < N_ELEMS(check); i++)
        n_failures += check[i](judge);
    return n_failures;
}
