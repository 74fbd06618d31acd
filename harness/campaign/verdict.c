/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - what a campaign found, in plain words. */
#include <math.h>
#include <string.h>

#include "harness/campaign/campaign.h"

#define THROUGHPUT offsetof(struct launch, throughput_samples_per_s)
#define MEAN(p, member) point_mean((p), offsetof(struct launch, member))

static void tell_faster(const struct campaign *c, const struct point *a, const struct point *b, FILE *to)
{
    const struct decision d = campaign_decide(a, b, THROUGHPUT);
    const double ratio = point_throughput(a).mean / point_throughput(b).mean;
    char who[64];

    snprintf(who, sizeof who, "%s, %d workers", a->model, a->n_workers);
    if (c->is_virtual) {
        fprintf(to, "%s: %s trains %.2f x as many samples/s as %s (simulated: no spread).\n", who,
                ratio >= 1 ? a->mode : b->mode, ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? b->mode : a->mode);
        return;
    }
    switch (d.verdict) {
    case VERDICT_FIRST_HIGHER:
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f).\n", who, a->mode, b->mode,
                d.ratio, d.ratio_low, d.ratio_high);
        break;
    case VERDICT_SECOND_HIGHER:
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f).\n", who, b->mode, a->mode,
                1 / d.ratio, 1 / d.ratio_high, 1 / d.ratio_low);
        break;
    case VERDICT_CANNOT_TELL:
        if (isnan(ratio))
            fprintf(to,
                    "%s: cannot tell whether %s or %s is faster: in some launch the workers never trained all at once; "
                    "more --steps would help.\n",
                    who, a->mode, b->mode);
        else if (a->n_launches < 2 || b->n_launches < 2)
            fprintf(to, "%s: cannot tell whether %s or %s is faster: fewer than 2 launches of each.\n", who, a->mode,
                    b->mode);
        else if (d.n_more_launches < 0)
            fprintf(to, "%s: cannot tell whether %s or %s is faster: intervals overlap, they may well be equal.\n", who,
                    a->mode, b->mode);
        else
            fprintf(to, "%s: cannot tell whether %s or %s is faster: intervals overlap, %d more launches needed.\n",
                    who, a->mode, b->mode, d.n_more_launches);
    }
}

/* What is left of the control's throughput: the price of the exchange. */
static void tell_price(const struct campaign *c, const struct point *p, FILE *to)
{
    const struct point *none = campaign_find(c, p->model, "none", p->n_workers);

    if (!none)
        return;
    const double kept = point_throughput(p).mean / point_throughput(none).mean;
    if (isnan(kept) || (!c->is_virtual && (p->n_launches < 2 || none->n_launches < 2)))
        return;
    const struct decision d = campaign_decide(p, none, THROUGHPUT);
    fprintf(to, "%s, %d workers: %s keeps %.0f %% of the throughput of no exchange at all", p->model, p->n_workers,
            p->mode, 100 * kept);
    if (isnan(d.ratio_low))
        fprintf(to, ".\n");
    else
        fprintf(to, " (95 %%: %.0f to %.0f%s).\n", 100 * d.ratio_low, 100 * d.ratio_high,
                d.verdict == VERDICT_CANNOT_TELL ? ": cannot tell it from 100" : "");
}

/* Was the target loss reached sooner than by one worker alone? The best of the points with a core for every worker. */
static void tell_target(const struct campaign *c, const char *model, FILE *to)
{
    const struct point *single = campaign_find(c, model, "single", 1), *best = NULL;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (strcmp(p->model, model) != 0 || strcmp(p->mode, "none") == 0 || p->n_workers == 1 || p->oversubscribed ||
            !(MEAN(p, seconds_to_target_s) > 0))
            continue;
        if (!best || MEAN(p, seconds_to_target_s) < MEAN(best, seconds_to_target_s))
            best = p;
    }
    if (!best || !single || !(MEAN(single, seconds_to_target_s) > 0))
        return;
    const struct decision d = campaign_decide(single, best, offsetof(struct launch, seconds_to_target_s));
    const double best_s = MEAN(best, seconds_to_target_s), single_s = MEAN(single, seconds_to_target_s);
    fprintf(to, "%s: target loss after %.3g s with %s, %d workers, and %.3g s alone", model, best_s, best->mode,
            best->n_workers, single_s);
    if (isnan(d.ratio_low))
        fprintf(to, ": %.2f x.\n", single_s / best_s);
    else
        fprintf(to, ": %s (%.2f x, 95 %%: %.2f to %.2f).\n",
                d.verdict == VERDICT_FIRST_HIGHER    ? "sooner"
                : d.verdict == VERDICT_SECOND_HIGHER ? "later"
                                                     : "cannot tell which is sooner",
                d.ratio, d.ratio_low, d.ratio_high);
}

static void tell_price_at_largest(const struct campaign *c, const char *model, const char *mode, FILE *to)
{
    const int w = campaign_largest(c, model, mode, "none");

    if (w > 1)
        tell_price(c, campaign_find(c, model, mode, w), to);
}

static void tell_model(const struct campaign *c, const char *model, FILE *to)
{
    const int w = campaign_largest(c, model, "allreduce", "ps");

    if (w > 1)
        tell_faster(c, campaign_find(c, model, "allreduce", w), campaign_find(c, model, "ps", w), to);
    tell_price_at_largest(c, model, "allreduce", to);
    tell_price_at_largest(c, model, "ps", to);
    tell_target(c, model, to);
}

void campaign_verdict(const struct campaign *c, FILE *to)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (i == 0 || strcmp(c->point[i].model, c->point[i - 1].model) != 0)
            tell_model(c, c->point[i].model, to);
}
