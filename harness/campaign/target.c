/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - the time to the target loss against one worker alone, split into throughput and samples needed. */
#include "harness/campaign/target.h"

#include <math.h>

const struct point *target_point(const struct campaign *c, const struct point *like, const struct module *mode)
{
    const int n_workers = campaign_largest(c, like, mode, NULL);

    return n_workers > 1 ? campaign_find_like(c, like, mode, n_workers) : NULL; /* J1 */
}

static bool reached(const struct launch *l)
{
    return l->seconds_to_target_s > 0;
}

size_t target_n_reached(const struct point *p)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_launches; i++)
        n += reached(&p->launch[i]);
    return n;
}

bool target_none_reached(const struct campaign *c, const struct point *like)
{
    bool has_launches = false;

    if (!(like->workload->default_target_loss > 0)) /* 0: its networks have none */
        return false;
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!point_comparable(p, like) || p->n_launches == 0)
            continue;
        if (target_n_reached(p) > 0 || isnan(point_mean(p, offsetof(struct launch, loss_last))))
            return false;
        has_launches = true;
    }
    return has_launches;
}

void target_tell_steps(const struct campaign *c, const struct point *like, FILE *to)
{
    unsigned long long most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (point_comparable(p, like) && p->n_launches > 0 && p->n_steps > most)
            most = p->n_steps;
    }
    if (most > 0)
        fprintf(to, " in %llu step%s", most, most == 1 ? "" : "s");
    fprintf(to, ". " TARGET_REMEDY "\n");
}

struct target_split target_split(const struct point *p, const struct point *single)
{
    const size_t n_blocks = p->n_launches < single->n_launches ? p->n_launches : single->n_launches;
    double sum_sooner = 0, sum_samples = 0;
    size_t n = 0;

    for (size_t i = 0; i < n_blocks; i++) {
        const struct launch *mine = &p->launch[i], *alone = &single->launch[i];
        if (!reached(mine) || !reached(alone))
            continue;
        sum_sooner += log(alone->seconds_to_target_s / mine->seconds_to_target_s);
        sum_samples += log(mine->samples_to_target_count / alone->samples_to_target_count); /* NaN: not known */
        n++;
    }
    const double sooner = n ? exp(sum_sooner / (double)n) : NAN, samples = n ? exp(sum_samples / (double)n) : NAN;
    return (struct target_split){ n, sooner, sooner * samples, samples }; /* J3 */
}

/* "12.35", "0.47", "0.0042" */
static const char *ratio_text(char out[32], double ratio)
{
    snprintf(out, 32, ratio < 0.095 ? "%.2g" : "%.2f", ratio);
    return out;
}

static void tell_rate(const struct point *p, const struct point *single, FILE *to)
{
    if (isnan(p->learning_rate))
        return;
    fprintf(to, ", at rate %.3g", p->learning_rate);
    if (p->learning_rate != single->learning_rate && !isnan(single->learning_rate))
        fprintf(to, " (alone %.3g)", single->learning_rate);
}

/* J3; and where the samples needed differ, which updates the mode makes of them. */
static void tell_split(const struct target_split *split, const struct point *p, const struct point *single, FILE *to)
{
    char number[2][32];

    if (isnan(split->samples_ratio))
        return;
    ratio_text(number[0], split->rate_ratio);
    ratio_text(number[1], split->samples_ratio);
    fprintf(to, ", of which throughput %s x and samples needed %s x", number[0], number[1]);
    if (fabs(split->samples_ratio - 1) < 0.005)
        return;
    if (p->mode->caps & MODE_SYNCHRONOUS || p->n_averaged > 0)
        fprintf(to, "; %s makes one update a round, of the mean of %d gradients", p->mode->name,
                p->n_averaged > 0 ? p->n_averaged : p->n_workers);
    else
        fprintf(to, "; %s makes %d updates a round, each of one worker's gradient", p->mode->name, p->n_workers);
    tell_rate(p, single, to);
    if (p->lowers_stale)
        fprintf(to, ", over its staleness");
}

/* J2 */
static void tell_some_reached(const struct target_split *split, const struct point *p, const struct point *single,
                              FILE *to)
{
    char number[32];

    fprintf(to, "target loss reached in %zu of %zu launch%s with %s, %d workers, and in %zu of %zu alone: no verdict",
            target_n_reached(p), p->n_launches, p->n_launches == 1 ? "" : "es", p->mode->name, p->n_workers,
            target_n_reached(single), single->n_launches);
    if (split->n_pairs == 0)
        return;
    fprintf(to, "; in the %zu block%s where both did: %s x", split->n_pairs, split->n_pairs == 1 ? "" : "s",
            ratio_text(number, split->sooner_ratio));
    tell_split(split, p, single, to);
}

bool target_all_reached(const struct point *p, const struct point *single)
{
    return target_n_reached(p) == p->n_launches && target_n_reached(single) == single->n_launches;
}

void target_tell(const struct point *p, const struct point *single, const struct comparison *x, const char *judged,
                 FILE *to)
{
    const size_t at = offsetof(struct launch, seconds_to_target_s);
    const struct target_split split = target_split(p, single);
    char setting[LAUNCH_NAME_BYTES], number[3][32];

    point_setting(setting, sizeof setting, p, ", ", " ");
    fprintf(to, "%s: ", setting);
    if (!target_all_reached(p, single)) {
        tell_some_reached(&split, p, single, to);
        fprintf(to, ".\n");
        return;
    }
    fprintf(to, "target loss after %.3g s with %s, %d workers, and %.3g s alone: ", point_mean(p, at), p->mode->name,
            p->n_workers, point_mean(single, at));
    if (!judged[0] || isnan(x->ratio_low))
        fprintf(to, "%s x", ratio_text(number[0], split.sooner_ratio));
    else
        fprintf(to, "%s (%s x, 95 %%: %s to %s)", judged, ratio_text(number[0], x->ratio),
                ratio_text(number[1], x->ratio_low), ratio_text(number[2], x->ratio_high));
    tell_split(&split, p, single, to);
    fprintf(to, ".\n");
}
