/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - what a campaign found, in plain words. */
#include <math.h>

#include "harness/campaign/campaign.h"

#define THROUGHPUT offsetof(struct launch, throughput_samples_per_s)
#define MEAN(p, member) point_mean((p), offsetof(struct launch, member))

enum { MAX_MODES = 16 };

/* Two significant digits at least: "103", "85", "4.2", "0.35". */
static const char *percent_text(char out[32], double ratio)
{
    snprintf(out, 32, 100 * ratio < 9.95 ? "%.2g" : "%.0f", 100 * ratio);
    return out;
}

/* "12.35", "0.47", "0.0042" */
static const char *ratio_text(char out[32], double ratio)
{
    snprintf(out, 32, ratio < 0.095 ? "%.2g" : "%.2f", ratio);
    return out;
}

static void tell_faster(const struct campaign *c, const struct point *a, const struct point *b, FILE *to)
{
    const struct decision d = campaign_decide(a, b, THROUGHPUT);
    const double ratio = point_throughput(a).mean / point_throughput(b).mean;
    const char *first = a->mode->name, *second = b->mode->name;
    char setting[LAUNCH_NAME_BYTES], who[LAUNCH_NAME_BYTES + 32];

    point_setting(setting, sizeof setting, a, ", ", " ");
    snprintf(who, sizeof who, "%s, %d workers", setting, a->n_workers);
    if (c->is_virtual) {
        fprintf(to, "%s: %s trains %.2f x as many samples/s as %s (simulated: no spread).\n", who,
                ratio >= 1 ? first : second, ratio >= 1 ? ratio : 1 / ratio, ratio >= 1 ? second : first);
        return;
    }
    switch (d.verdict) {
    case VERDICT_FIRST_HIGHER:
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f).\n", who, first, second,
                d.ratio, d.ratio_low, d.ratio_high);
        break;
    case VERDICT_SECOND_HIGHER:
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f).\n", who, second, first,
                1 / d.ratio, 1 / d.ratio_high, 1 / d.ratio_low);
        break;
    case VERDICT_CANNOT_TELL:
        if (isnan(ratio))
            fprintf(to,
                    "%s: cannot tell whether %s or %s is faster: in some launch the workers never trained all at once; "
                    "more --steps would help.\n",
                    who, first, second);
        else if (a->n_launches < 2 || b->n_launches < 2)
            fprintf(to, "%s: cannot tell whether %s or %s is faster: fewer than 2 launches of each.\n", who, first,
                    second);
        else if (d.n_more_launches < 0)
            fprintf(to, "%s: cannot tell whether %s or %s is faster: intervals overlap, they may well be equal.\n", who,
                    first, second);
        else
            fprintf(to, "%s: cannot tell whether %s or %s is faster: intervals overlap, %d more %s needed.\n", who,
                    first, second, d.n_more_launches, d.n_more_launches == 1 ? "launch is" : "launches are");
    }
}

/* What is left of the control's throughput: the price of the exchange. */
static void tell_price(const struct campaign *c, const struct point *p, FILE *to)
{
    const struct point *none = campaign_find_control(c, p);
    char setting[LAUNCH_NAME_BYTES], number[3][32];

    if (!none)
        return;
    const double kept = point_throughput(p).mean / point_throughput(none).mean;
    if (isnan(kept) || (!c->is_virtual && (p->n_launches < 2 || none->n_launches < 2)))
        return;
    const struct decision d = campaign_decide(p, none, THROUGHPUT);
    point_setting(setting, sizeof setting, p, ", ", " ");
    fprintf(to, "%s, %d workers: %s keeps %s %% of the throughput of no exchange at all", setting, p->n_workers,
            p->mode->name, percent_text(number[0], kept));
    if (isnan(d.ratio_low))
        fprintf(to, ".\n");
    else
        fprintf(to, " (95 %%: %s to %s%s).\n", percent_text(number[1], d.ratio_low),
                percent_text(number[2], d.ratio_high),
                d.verdict == VERDICT_CANNOT_TELL ? ": cannot tell it from 100" : "");
}

/* Was the target loss reached sooner than by one worker alone? The best of the points with a core for every worker. */
static void tell_target(const struct campaign *c, const struct point *like, FILE *to)
{
    const struct point *single = campaign_find_baseline(c, like), *best = NULL;
    char setting[LAUNCH_NAME_BYTES], number[3][32];

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!point_comparable(p, like) || !mode_exchanges(p->mode) || p->n_workers == 1 || p->oversubscribed ||
            !(MEAN(p, seconds_to_target_s) > 0))
            continue;
        if (!best || MEAN(p, seconds_to_target_s) < MEAN(best, seconds_to_target_s))
            best = p;
    }
    if (!best || !single || !(MEAN(single, seconds_to_target_s) > 0))
        return;
    const struct decision d = campaign_decide(single, best, offsetof(struct launch, seconds_to_target_s));
    const double best_s = MEAN(best, seconds_to_target_s), single_s = MEAN(single, seconds_to_target_s);
    point_setting(setting, sizeof setting, best, ", ", " ");
    fprintf(to, "%s: target loss after %.3g s with %s, %d workers, and %.3g s alone", setting, best_s, best->mode->name,
            best->n_workers, single_s);
    if (isnan(d.ratio_low))
        fprintf(to, ": %s x.\n", ratio_text(number[0], single_s / best_s));
    else
        fprintf(to, ": %s (%s x, 95 %%: %s to %s).\n",
                d.verdict == VERDICT_FIRST_HIGHER    ? "sooner"
                : d.verdict == VERDICT_SECOND_HIGHER ? "later"
                                                     : "cannot tell which is sooner",
                ratio_text(number[0], d.ratio), ratio_text(number[1], d.ratio_low),
                ratio_text(number[2], d.ratio_high));
}

/* The largest worker count of mode that the control has too. */
static int largest_with_control(const struct campaign *c, const struct point *like, const struct module *mode)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct module *control = c->point[i].mode;
        if (!mode_exchanges(control) && !(control->caps & MODE_ONE_WORKER))
            return campaign_largest(c, like, mode, control);
    }
    return 0;
}

/* The modes of points comparable to like that exchange: synchronous ones first, then in the order of points. */
static int exchanging_modes(const struct module *mode[MAX_MODES], const struct campaign *c, const struct point *like)
{
    int n = 0;

    for (int is_synchronous = 1; is_synchronous >= 0; is_synchronous--)
        for (size_t i = 0; i < c->n_points; i++) {
            const struct module *m = c->point[i].mode;
            bool is_wanted = mode_exchanges(m) && (m->caps & MODE_SYNCHRONOUS ? 1 : 0) == is_synchronous &&
                             point_comparable(&c->point[i], like) && n < MAX_MODES;
            for (int k = 0; k < n; k++)
                is_wanted = is_wanted && mode[k] != m;
            if (is_wanted)
                mode[n++] = m;
        }
    return n;
}

/* Each pair of modes at the largest worker count that both have; each mode against the control. */
static void tell_setting(const struct campaign *c, const struct point *like, FILE *to)
{
    const struct module *mode[MAX_MODES];
    const int n_modes = exchanging_modes(mode, c, like);

    for (int i = 0; i < n_modes; i++)
        for (int k = i + 1; k < n_modes; k++) {
            const int w = campaign_largest(c, like, mode[i], mode[k]);
            if (w > 1)
                tell_faster(c, campaign_find_like(c, like, mode[i], w), campaign_find_like(c, like, mode[k], w), to);
        }
    for (int i = 0; i < n_modes; i++) {
        const int w = largest_with_control(c, like, mode[i]);
        if (w > 1)
            tell_price(c, campaign_find_like(c, like, mode[i], w), to);
    }
    tell_target(c, like, to);
}

void campaign_verdict(const struct campaign *c, FILE *to)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (campaign_represents(c, i))
            tell_setting(c, &c->point[i], to);
}
