/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_withheld.c - which verdicts a campaign does not give, and why.
 *
 * A comparison of pairs is right when what disturbs a machine slows both launches of a pair alike. It does not: the
 * scheduler of a busy machine gives a rank that sleeps in every step more of a core than one that only computes.
 */
#include <math.h>

#include "harness/campaign/verdict_parts.h"

static size_t n_pairs_of(const struct claim *k)
{
    return k->a->n_launches < k->b->n_launches ? k->a->n_launches : k->b->n_launches;
}

static bool is_too_many(const struct claim *k, size_t n)
{
    return (double)n > WITHHELD_RATIO * (double)n_pairs_of(k);
}

/* Pairs of which at least one launch is faster than its bound, beyond its interval (train/bound.h). */
static size_t n_beyond_bound(const struct claim *k)
{
    size_t n = 0;

    for (size_t i = 0; i < n_pairs_of(k); i++)
        n += k->a->launch[i].bound_low_ratio > 1 || k->b->launch[i].bound_low_ratio > 1;
    return n;
}

void claims_withhold_marked(struct claims *all)
{
    for (size_t i = 0; i < all->n_claims; i++) {
        struct claim *k = &all->claim[i];
        if (!claim_is_tested(all, k))
            continue;
        if (is_too_many(k, pairs_n_marked(k->a, k->b, MARK_DISTURBED)))
            k->withheld = WITHHELD_DISTURBED;
        else if (is_too_many(k, pairs_n_marked(k->a, k->b, MARK_UNSTEADY)))
            k->withheld = WITHHELD_UNSTEADY;
        else if (is_too_many(k, n_beyond_bound(k)))
            k->withheld = WITHHELD_BOUND;
    }
}

/* A mode that is surely faster than no exchange. */
static bool contradicts_control(const struct claim *k)
{
    return k->kind == CLAIM_PRICE && k->holds && k->x.ratio > 1;
}

void claims_withhold_contradicted(struct claims *all)
{
    for (size_t i = 0; i < all->n_claims; i++) {
        struct claim *k = &all->claim[i];
        for (size_t j = 0; j < all->n_claims && !k->withheld && claim_is_tested(all, k); j++) {
            const struct claim *price = &all->claim[j];
            if (contradicts_control(price) && (price->a == k->a || price->a == k->b)) {
                k->withheld = WITHHELD_CONTROL;
                k->price = price;
            }
        }
    }
    for (size_t i = 0; i < all->n_claims; i++)
        all->claim[i].holds = all->claim[i].holds && !all->claim[i].withheld;
}

/* The most of a member over the disturbed launches of the pairs; NaN does not count. */
static double most_disturbed(const struct claim *k, size_t member_offset)
{
    const struct point *const both[2] = { k->a, k->b };
    double most = 0;

    for (size_t i = 0; i < 2 * n_pairs_of(k); i++) {
        const struct launch *l = &both[i % 2]->launch[i / 2];
        if (l->was_disturbed)
            most = fmax(most, *(const double *)(const void *)((const char *)l + member_offset));
    }
    return most;
}

double claim_others_cores(const struct claim *k)
{
    return most_disturbed(k, offsetof(struct launch, others_cores_count));
}

static void tell_disturbed(const struct claim *k, FILE *to)
{
    const double others_cores = claim_others_cores(k), steal = most_disturbed(k, offsetof(struct launch, steal_ratio));

    fprintf(to, "the machine was disturbed in %zu of %zu pairs of runs", pairs_n_marked(k->a, k->b, MARK_DISTURBED),
            n_pairs_of(k));
    if (others_cores > 0)
        fprintf(to, ". Other programs used up to %.2f cores", others_cores);
    if (steal > 0.005)
        fprintf(to, ". Other virtual machines took up to %.0f %% (steal)", 100 * steal);
    fprintf(to, ".");
}

void claim_tell_why_withheld(const struct claim *k, FILE *to)
{
    const struct claim *price = k->price;

    switch (k->withheld) {
    case WITHHELD_NOT:
        break;
    case WITHHELD_DISTURBED:
        tell_disturbed(k, to);
        break;
    case WITHHELD_UNSTEADY:
        fprintf(to, "no steady state in %zu of %zu pairs of runs.", pairs_n_marked(k->a, k->b, MARK_UNSTEADY),
                n_pairs_of(k));
        break;
    case WITHHELD_BOUND:
        fprintf(to, "a launch is faster than its bound in %zu of %zu pairs.", n_beyond_bound(k), n_pairs_of(k));
        break;
    case WITHHELD_CONTROL:
        fprintf(to, "the control makes no sense: %s trains %.2f x as many samples/s as %s (95 %%: %.2f to %.2f).",
                price->a->mode->name, price->x.ratio, price->b->mode->name, price->x.ratio_low, price->x.ratio_high);
        break;
    }
}

void claim_tell_withheld(const struct claim *k, FILE *to)
{
    claim_tell_why_withheld(k, to);
    fputc('\n', to);
}

void claims_tell_rule(const struct claims *all, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n_claims; i++)
        n += all->claim[i].withheld != WITHHELD_NOT;
    if (n > 0)
        fprintf(to,
                "%zu verdict%s withheld. The rule: more than %.0f %% of the pairs of runs are disturbed, without a "
                "steady state or faster than their bound, or a mode is faster than no exchange.\n",
                n, n == 1 ? " is" : "s are", 100 * WITHHELD_RATIO);
}
