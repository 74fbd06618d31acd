/* SPDX-License-Identifier: Apache-2.0 */
/* learning.c - the rules of learning.h, on two sorted parts of the losses. */
#include "harness/measure/learning.h"

#include <math.h>
#include <stdlib.h>

#include "harness/measure/interval.h"
#include "harness/measure/sorted.h"

struct parts {
    double *first, *last;     /* [n] each, sorted; a loss that is not a number counts as infinite */
    size_t n;                 /* of a part */
    double share_higher;      /* of the pairs: the later is higher, */
    double share_lower;       /* or lower */
    struct interval last_one; /* of the mean of the last part */
};

static void take_part(double *out, const double *value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = isnan(value[i]) ? (double)INFINITY : value[i];
    sorted_make(out, n);
}

/* Share of the pairs (one of low[n], one of high[n], both sorted) in which that of high is the higher. */
static double share_of_pairs(const double *low, const double *high, size_t n)
{
    double n_pairs = 0;

    for (size_t i = 0, n_below = 0; i < n; i++) {
        while (n_below < n && low[n_below] < high[i])
            n_below++;
        n_pairs += (double)n_below;
    }
    return n_pairs / ((double)n * (double)n);
}

static enum rc parts_open(struct parts *p, const struct losses *in)
{
    const size_t n = in->n / 10 > LEARNING_PART ? in->n / 10 : LEARNING_PART;
    const double *last = in->value + (in->n - n);

    *p = (struct parts){ .first = malloc(2 * n * sizeof *p->first), .n = n };
    if (!p->first)
        return rc_raise(RC_NOMEM, "no memory for %zu losses", 2 * n);
    p->last = p->first + n;
    take_part(p->first, in->value, n);
    take_part(p->last, last, n);
    p->share_higher = share_of_pairs(p->first, p->last, n);
    p->share_lower = share_of_pairs(p->last, p->first, n);
    p->last_one = interval_of_launches(last, n);
    return RC_OK;
}

/* measure.G2: does a loss of the last part, or the test loss, fail to be finite? Then *first is the first that does. */
static bool is_broken(size_t *first, const struct losses *in)
{
    const size_t n_tenth = in->n / 10, n_least = in->n < LEARNING_PART ? in->n : LEARNING_PART;
    const size_t n_last = n_tenth > n_least ? n_tenth : n_least;
    bool found = isinf(in->test);
    size_t i = 0;

    for (size_t k = in->n - n_last; k < in->n; k++)
        found = found || !isfinite(in->value[k]);
    while (i < in->n && isfinite(in->value[i]))
        i++;
    *first = found ? i : 0;
    return found;
}

static bool is_below(const struct parts *p, double chance)
{
    size_t n_below = 0;

    while (n_below < p->n && p->last[n_below] < chance)
        n_below++;
    return p->last_one.high < chance || (double)n_below >= LEARNING_SHARE * (double)p->n;
}

static enum learning_why why_of(const struct parts *p, const struct losses *in)
{
    const double first = sorted_median(p->first, p->n), last = sorted_median(p->last, p->n);
    const double half = p->last_one.high - p->last_one.mean;

    if (p->share_higher >= LEARNING_SHARE) /* measure.G4 */
        return !in->is_short || last > LEARNING_FAR * first ? LEARNING_ROSE : LEARNING_TOO_SHORT;
    if (isnan(in->chance)) /* measure.G7 */
        return p->share_lower >= LEARNING_SHARE ? LEARNING_FELL : LEARNING_TOO_NOISY;
    if (is_below(p, in->chance)) /* measure.G5 */
        return LEARNING_FELL;
    if (in->is_short && last <= LEARNING_FAR * in->chance) /* measure.G8 */
        return LEARNING_TOO_SHORT;
    if (p->last_one.mean >= in->chance || half <= LEARNING_NOISE * in->chance) /* measure.G6 */
        return LEARNING_AT_CHANCE;
    return in->test >= (1 - LEARNING_NOISE) * in->chance ? LEARNING_AT_CHANCE : LEARNING_TOO_NOISY;
}

static enum learned learned_of(enum learning_why why)
{
    if (why == LEARNING_FELL)
        return LEARNED_YES;
    return why <= LEARNING_AT_CHANCE ? LEARNED_NO : LEARNED_NOT_KNOWN;
}

enum rc learning_judge(struct learning *out, const struct losses *in)
{
    struct learning l = { .why = LEARNING_NO_LOSS, .first = NAN, .last = NAN }; /* measure.G1 */
    struct parts p = { 0 };
    enum rc rc = RC_OK;

    if (in->is_training && is_broken(&l.first_broken_loss, in)) /* measure.G2 */
        l.why = LEARNING_NOT_FINITE;
    else if (in->is_training && in->n < LEARNING_MIN_LOSSES) /* measure.G3 */
        l.why = LEARNING_TOO_SHORT;
    else if (in->is_training) {
        TRY(parts_open(&p, in));
        l.why = why_of(&p, in);
        l.first = sorted_median(p.first, p.n);
        l.last = l.why == LEARNING_AT_CHANCE ? p.last_one.mean : sorted_median(p.last, p.n);
    }
    l.learned = learned_of(l.why);
    *out = l;
out:
    free(p.first);
    return rc;
}

const char *learned_word(enum learned learned)
{
    static const char *const word[] = { "yes", "no", "not_known" };

    return word[learned];
}

const char *learning_why_word(enum learning_why why)
{
    static const char *const word[] = { "fell",      "not_finite", "rose", "at_chance", "no_training_loss",
                                        "too_short", "too_noisy" };

    return word[why];
}
