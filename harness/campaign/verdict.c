/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.c - what a campaign found, in plain words.
 *
 * All that could be claimed is collected first: which of two modes is faster, with as many workers, and where servers
 * need cores too with as many cores; which of the layouts of as many ranks is faster, and at the target loss sooner
 * (verdict_layouts.c); what a value of an option gives over its first one (verdict_layouts.c); what a mode keeps of the
 * throughput without exchange, whether the target loss is reached sooner than alone. Which of it holds is decided
 * together (paired.C4).
 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/campaign/curves.h"
#include "harness/campaign/verdict_parts.h"
#include "harness/report/record.h"
#include "harness/train/bound.h"

/* --- claims that are withheld --- */

/*
 * A comparison of pairs is right when what disturbs a machine slows both launches of a pair alike. It does not: the
 * scheduler of a busy machine gives a rank that sleeps in every step more of a core than one that only computes.
 *
 * Simulated claims have one pair. Nothing disturbs it, but it is withheld by its other marks, as all pairs are. It is
 * not withheld by its control: a server applies updates while workers compute, so without exchange a step can be
 * longer.
 */

static size_t n_pairs_of(const struct claim *k)
{
    return k->a->n_launches < k->b->n_launches ? k->a->n_launches : k->b->n_launches;
}

static bool is_too_many(const struct claim *k, size_t n)
{
    return (double)n > WITHHELD_RATIO * (double)n_pairs_of(k);
}

/* Pairs of which at least one launch is faster than its bound (train.B3): the table shows those as failed. */
static size_t n_beyond_bound(const struct claim *k)
{
    size_t n = 0;

    for (size_t i = 0; i < n_pairs_of(k); i++)
        n += train_bound_failed(k->a->launch[i].bound_ratio) || train_bound_failed(k->b->launch[i].bound_ratio);
    return n;
}

/* Has it pairs enough to be withheld by their marks? */
static bool has_pairs(const struct claims *all, const struct claim *k)
{
    return k->x.n_pairs > 0 && (all->campaign->is_virtual || claim_is_tested(all, k));
}

/* Withhold claims because of their launches; call this before the claims are decided. */
static void claims_withhold_marked(struct claims *all)
{
    for (size_t i = 0; i < all->n_claims; i++) {
        struct claim *k = &all->claim[i];
        if (!has_pairs(all, k))
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

/* Then: withhold claims because of a contradicted control. */
static void claims_withhold_contradicted(struct claims *all)
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
    const size_t n_pairs = n_pairs_of(k);

    switch (k->withheld) {
    case WITHHELD_NOT:
        break;
    case WITHHELD_DISTURBED:
        tell_disturbed(k, to);
        break;
    case WITHHELD_UNSTEADY:
        if (n_pairs == 1) /* simulated */
            fprintf(to, "a simulated run has no steady state.");
        else
            fprintf(to, "no steady state in %zu of %zu pairs of runs.", pairs_n_marked(k->a, k->b, MARK_UNSTEADY),
                    n_pairs);
        break;
    case WITHHELD_BOUND:
        if (n_pairs == 1)
            fprintf(to, "a simulated run is faster than its bound.");
        else
            fprintf(to, "a launch is faster than its bound in %zu of %zu pairs.", n_beyond_bound(k), n_pairs);
        break;
    case WITHHELD_CONTROL:
        fprintf(to, "the control makes no sense: %s trains %.2f x as many samples/s as %s (95 %%: %.2f to %.2f).",
                price->a->mode->name, price->x.ratio, price->b->mode->name, price->x.ratio_low, price->x.ratio_high);
        break;
    }
}

static void claim_tell_withheld(const struct claim *k, FILE *to)
{
    claim_tell_why_withheld(k, to);
    fputc('\n', to);
}

/* Print a line with the number of withheld claims and the rule; nothing if no claim is withheld. */
static void claims_tell_rule(const struct claims *all, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n_claims; i++)
        n += all->claim[i].withheld != WITHHELD_NOT;
    if (n > 0 && all->campaign->is_virtual)
        fprintf(to,
                "%zu verdict%s withheld. The rule: a simulated run has no steady state or is faster than its bound.\n",
                n, n == 1 ? " is" : "s are");
    else if (n > 0)
        fprintf(to,
                "%zu verdict%s withheld. The rule: more than %.0f %% of the pairs of runs are disturbed, without a "
                "steady state or faster than their bound, or a mode is faster than no exchange.\n",
                n, n == 1 ? " is" : "s are", 100 * WITHHELD_RATIO);
}

#define AT(member) offsetof(struct launch, member)
#define MEAN(p, member) point_mean((p), AT(member))

enum { MAX_MODES = 16 };
static const double POWER = 0.8;

bool claim_is_tested(const struct claims *all, const struct claim *k)
{
    return !all->campaign->is_virtual && k->x.n_pairs > 1;
}

bool claim_is_exact(const struct claims *all, const struct claim *k)
{
    return all->campaign->is_virtual && !k->withheld && isfinite(k->x.ratio);
}

bool claim_fails_together(const struct claims *all, const struct claim *k)
{
    return claim_is_tested(all, k) && !k->withheld && !k->holds && k->x.p <= PAIRED_LEVEL;
}

/* --- numbers --- */

/* Two significant digits at least: "103", "85", "4.2", "0.35". */
static const char *percent_text(char out[32], double ratio)
{
    snprintf(out, 32, 100 * ratio < 9.95 ? "%.2g" : "%.0f", 100 * ratio);
    return out;
}

static double or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

/* Mean step of a worker but for computing: wait, wire, server, apply, rest; what a mode has none of is NaN. */
static double beyond_compute_s(const struct point *p)
{
    return or_zero(MEAN(p, wait_s)) + or_zero(MEAN(p, wire_s)) + or_zero(MEAN(p, server_s)) +
           or_zero(MEAN(p, apply_s)) + or_zero(MEAN(p, rest_s));
}

/* --- claims --- */

enum rc claims_add(struct claims *all, enum claim_kind kind, const struct point *a, const struct point *b)
{
    struct claim *grown = realloc(all->claim, (all->n_claims + 1) * sizeof *grown);

    if (!grown)
        return rc_raise(RC_NOMEM, "no memory for verdict %zu", all->n_claims + 1);
    all->claim = grown;
    grown[all->n_claims++] = (struct claim){
        .kind = kind,
        .a = a,
        .b = b,
        .x = kind == CLAIM_TARGET || kind == CLAIM_LAYOUT_TARGET ? campaign_compare(b, a, AT(seconds_to_target_s))
                                                                 : campaign_compare(a, b, AT(throughput_samples_per_s)),
    };
    return RC_OK;
}

enum rc claims_add_price(struct claims *all, const struct point *p)
{
    const struct point *none = campaign_find_control(all->campaign, p);

    if (!none || isnan(point_throughput(p).mean / point_throughput(none).mean) ||
        (!all->campaign->is_virtual && (p->n_launches < 2 || none->n_launches < 2)))
        return RC_OK;
    return claims_add(all, CLAIM_PRICE, p, none);
}

/* Has some launch of a point comparable to like reached the target loss? */
static bool any_reached(const struct campaign *c, const struct point *like)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (point_comparable(&c->point[i], like) && target_n_reached(&c->point[i]) > 0)
            return true;
    return false;
}

/* Is the target loss reached sooner than by one worker alone? Of each mode the point that was declared (curves.J1). */
static enum rc claim_target(struct claims *all, const struct point *like, const struct module *const *mode, int n_modes)
{
    const struct campaign *c = all->campaign;
    const struct point *single = campaign_find_baseline(c, like);
    enum rc rc = RC_OK;

    if (!single || single->n_launches == 0 || !any_reached(c, like))
        return RC_OK;
    for (int i = 0; i < n_modes; i++) {
        const struct point *p = target_point(c, like, mode[i]);
        if (p)
            TRY(claims_add(all, CLAIM_TARGET, p, single));
    }
out:
    return rc;
}

static bool has_several_workers(const struct campaign *c, const struct point *like, const struct module *mode)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].mode == mode && c->point[i].n_workers > 1 && point_comparable(&c->point[i], like))
            return true;
    return false;
}

/* The worker count at which two modes are compared: the largest that both have. That is 1 only where the user asked for
 * no more of either; 0: none. */
static int compared_count(const struct campaign *c, const struct point *like, const struct module *mode,
                          const struct module *other)
{
    const int w = campaign_largest(c, like, mode, other);

    return w == 1 && (has_several_workers(c, like, mode) || has_several_workers(c, like, other)) ? 0 : w;
}

/* The worker count at which two modes would be compared, had the points that are without launches some; 0: none. */
static int count_without_launches(const struct campaign *c, const struct point *like, const struct module *mode,
                                  const struct module *other)
{
    int most = 0;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i], *q = campaign_find_like(c, like, other, p->n_workers);
        if (p->mode == mode && point_comparable(p, like) && q && !p->oversubscribed && !q->oversubscribed &&
            p->n_workers > most)
            most = p->n_workers;
    }
    return most == 1 && (has_several_workers(c, like, mode) || has_several_workers(c, like, other)) ? 0 : most;
}

/* The worker count at which mode is compared with the control; 0: none. */
static int count_with_control(const struct campaign *c, const struct point *like, const struct module *mode)
{
    for (size_t i = 0; i < c->n_points; i++) {
        const struct module *control = c->point[i].mode;
        if (!mode_exchanges(control) && !(control->caps & MODE_ONE_WORKER))
            return compared_count(c, like, mode, control);
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

/* Two modes at the largest worker count that both were launched with, or, where there is none, should have been; and at
 * equal cores. */
static enum rc claim_pair(struct claims *all, const struct point *like, const struct module *mode,
                          const struct module *other)
{
    const struct campaign *c = all->campaign;
    const struct module *const pair[2] = { mode, other };
    const int launched = compared_count(c, like, mode, other);
    const int w = launched > 0 ? launched : count_without_launches(c, like, mode, other);
    const struct point *equal[2];
    enum rc rc = RC_OK;

    if (w > 0)
        TRY(claims_add(all, CLAIM_FASTER, campaign_find_like(c, like, mode, w), campaign_find_like(c, like, other, w)));
    if (campaign_equal_cores(c, like, pair, equal))
        TRY(claims_add(all, CLAIM_EQUAL_CORES, equal[0], equal[1]));
out:
    return rc;
}

/* Each pair of modes; each mode against the control. */
static enum rc claim_setting(struct claims *all, const struct point *like)
{
    const struct campaign *c = all->campaign;
    const struct module *mode[MAX_MODES];
    const int n_modes = exchanging_modes(mode, c, like);
    enum rc rc = RC_OK;

    if (campaign_compares_layouts(c, like))
        return claims_add_layouts(all, like);
    for (int i = 0; i < n_modes; i++)
        for (int k = i + 1; k < n_modes; k++)
            TRY(claim_pair(all, like, mode[i], mode[k]));
    for (int i = 0; i < n_modes; i++) {
        const int w = count_with_control(c, like, mode[i]);
        if (w > 0)
            TRY(claims_add_price(all, campaign_find_like(c, like, mode[i], w)));
    }
    TRY(claim_target(all, like, mode, n_modes));
out:
    return rc;
}

/* Which claims hold, together. */
static enum rc judge(struct claims *all)
{
    double *p = malloc((all->n_claims + 1) * sizeof *p);
    bool *holds = malloc((all->n_claims + 1) * sizeof *holds);
    enum rc rc = RC_OK;

    if (!p || !holds)
        FAIL(RC_NOMEM, "no memory for %zu verdicts", all->n_claims);
    claims_withhold_marked(all);
    for (size_t i = 0; i < all->n_claims; i++)
        if (claim_is_tested(all, &all->claim[i]) && !all->claim[i].withheld)
            p[all->n_tested++] = all->claim[i].x.p;
    verdicts_that_hold(holds, p, all->n_tested);
    for (size_t i = 0, k = 0; i < all->n_claims; i++)
        if (claim_is_tested(all, &all->claim[i]) && !all->claim[i].withheld)
            all->claim[i].holds = holds[k++];
    claims_withhold_contradicted(all);
out:
    free(p);
    free(holds);
    return rc;
}

/* --- what is told --- */

static void tell_who(const struct point *p, FILE *to)
{
    const struct layout layout = point_layout(p);
    char setting[LAUNCH_NAME_BYTES], text[LAYOUT_TEXT_BYTES];

    point_setting(setting, sizeof setting, p, ", ", " ");
    layout_text(text, &layout);
    if (point_has_layout(p))
        fprintf(to, "%s, layout %s: ", setting, text);
    else
        fprintf(to, "%s, %d worker%s: ", setting, p->n_workers, p->n_workers == 1 ? "" : "s");
}

/* "1 worker", "2 workers", "1 worker + 1 server" */
static void ranks_text(char *out, size_t n_bytes, const struct point *p)
{
    const int n_used = snprintf(out, n_bytes, "%d worker%s", p->n_workers, p->n_workers == 1 ? "" : "s");

    if (p->n_servers > 0)
        snprintf(out + n_used, n_bytes - (size_t)n_used, " + %d server%s", p->n_servers, p->n_servers == 1 ? "" : "s");
}

static void tell_who_at_equal_cores(const struct claim *k, FILE *to)
{
    char setting[LAUNCH_NAME_BYTES], ranks[2][64];

    point_setting(setting, sizeof setting, k->a, ", ", " ");
    ranks_text(ranks[0], sizeof ranks[0], k->a);
    ranks_text(ranks[1], sizeof ranks[1], k->b);
    fprintf(to, "%s, at %ld cores each (%s: %s, %s: %s): ", setting, point_n_cores(k->a), k->a->mode->name, ranks[0],
            k->b->mode->name, ranks[1]);
}

/* C3 */
void claim_tell_far_pairs(const struct comparison *x, double robust_ratio, FILE *to)
{
    if (x->has_far_pairs)
        fprintf(to, "; single launches are far off, the median is %.2f x", robust_ratio);
}

void claim_tell_doubt(const struct claims *all, const struct claim *k, FILE *to)
{
    const int n_wanted = pairs_for_power(log(k->x.ratio), k->x.sd,
                                         PAIRED_LEVEL / (double)(all->n_tested > 0 ? all->n_tested : 1), POWER);
    const int n_more = n_wanted - (int)k->x.n_pairs;

    if (k->withheld) {
        claim_tell_withheld(k, to);
        return;
    }
    if (claim_fails_together(all, k))
        fprintf(to, "%.2f x (95 %%: %.2f to %.2f) is not sure enough for one of %zu verdicts", k->x.ratio,
                k->x.ratio_low, k->x.ratio_high, all->n_tested);
    else
        fprintf(to, "%.2f x (95 %%: %.2f to %.2f)", k->x.ratio, k->x.ratio_low, k->x.ratio_high);
    claim_tell_far_pairs(&k->x, k->x.robust_ratio, to);
    if (n_wanted < 0)
        fprintf(to, ": they may well be equal.\n");
    else if (n_more > 0)
        fprintf(to, "; %d more %s would tell such a difference in 4 of 5 campaigns.\n", n_more,
                n_more == 1 ? "launch" : "launches");
    else
        fprintf(to, ".\n");
}

void claim_tell_not_told(const struct claims *all, const struct claim *k, FILE *to)
{
    if (k->withheld)
        claim_tell_withheld(k, to);
    else if (isnan(point_throughput(k->a).mean / point_throughput(k->b).mean))
        fprintf(to, "in some launch the workers never trained all at once; more --steps would help.\n");
    else if (k->x.n_pairs < 2)
        fprintf(to, "fewer than 2 launches of each.\n");
    else
        claim_tell_doubt(all, k, to);
}

/* "9.46", "104", "2894": in us, three digits, or all before the point. */
static const char *us_text(char out[32], double seconds)
{
    snprintf(out, 32, 1e6 * seconds < 999.5 ? "%.3g" : "%.0f", 1e6 * seconds);
    return out;
}

/* What of a difference in step time lies in computing, which a mode does not change, and what in the exchange. */
static void tell_where(const struct point *fast, const struct point *slow, FILE *to)
{
    const double compute_s = MEAN(slow, compute_s) - MEAN(fast, compute_s);
    const double all_s = compute_s + beyond_compute_s(slow) - beyond_compute_s(fast);
    const struct comparison compute = campaign_compare(slow, fast, AT(compute_s));
    const bool differs = compute.p <= PAIRED_LEVEL;
    char part[32], all[32];

    if (!(all_s > 0)) /* costs are not known, or differ otherwise than the throughput */
        return;
    tell_who(fast, to);
    if (compute_s > all_s / 2)
        fprintf(to, "difference lies in compute, which the mode does not change: %s of %s us a step%s.\n",
                us_text(part, compute_s), us_text(all, all_s),
                differs ? "" : ", though launches of one mode differ by as much");
    else if (compute_s < 0)
        fprintf(to, "difference lies in exchange: %s us a step, less %s us of compute.\n",
                us_text(part, all_s - compute_s), us_text(all, -compute_s));
    else
        fprintf(to, "difference lies in exchange: %s of %s us a step%s.\n", us_text(part, all_s - compute_s),
                us_text(all, all_s),
                differs && compute_s > all_s / 10 ? "; the rest is compute, which the mode does not change" : "");
}

/* Of modes with as many workers: who uses more cores, and what would compare them at equal ones. */
static void tell_cores(const struct claims *all, const struct claim *k, FILE *to)
{
    const bool is_first = point_n_cores(k->a) > point_n_cores(k->b);
    const struct point *most = is_first ? k->a : k->b, *least = is_first ? k->b : k->a;
    const long n_more = point_n_cores(most) - point_n_cores(least);
    const long n_left = point_n_cores(least) - most->n_servers; /* of as many cores, for workers */
    const struct module *const pair[2] = { k->a->mode, k->b->mode };
    const struct point *equal[2];

    if (n_more == 0)
        return;
    tell_who(k->a, to);
    if (most->servers_share)
        fprintf(to, "%s runs %d server%s on the workers' cores", most->mode->name, most->n_servers,
                most->n_servers == 1 ? "" : "s");
    else
        fprintf(to, "%s uses %ld core%s more", most->mode->name, n_more, n_more == 1 ? "" : "s");
    if (campaign_equal_cores(all->campaign, k->a, pair, equal) || n_left < most->n_threads ||
        n_left % most->n_threads != 0)
        fprintf(to, ".\n");
    else
        fprintf(to, "; --workers %ld,%d would compare them at %ld cores each.\n", n_left / most->n_threads,
                least->n_workers, point_n_cores(least));
}

/* Of a claim whose points are not both launched: which is not. */
static void tell_not_launched(const struct claim *k, FILE *to)
{
    const char *missing = k->b->n_launches > 0 ? k->a->mode->name : k->a->n_launches > 0 ? k->b->mode->name : "either";

    tell_who(k->a, to);
    fprintf(to, "cannot tell whether %s or %s is faster: there is no launch of %s.\n", k->a->mode->name,
            k->b->mode->name, missing);
}

static void tell_faster(const struct claims *all, const struct claim *k, FILE *to)
{
    const double ratio = point_throughput(k->a).mean / point_throughput(k->b).mean;
    const bool is_first = k->holds ? k->x.ratio > 1 : ratio >= 1;
    const struct point *fast = is_first ? k->a : k->b, *slow = is_first ? k->b : k->a;

    if (k->kind == CLAIM_EQUAL_CORES)
        tell_who_at_equal_cores(k, to);
    else
        tell_who(k->a, to);
    if (claim_is_exact(all, k)) {
        fprintf(to, "%s trains %.2f x as many samples/s as %s (simulated: no spread)", fast->mode->name,
                is_first ? ratio : 1 / ratio, slow->mode->name);
        points_tell_unlearned(fast, slow, to);
        fprintf(to, ".\n");
        return;
    }
    if (k->holds) {
        fprintf(to, "%s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f)", fast->mode->name,
                slow->mode->name, is_first ? k->x.ratio : 1 / k->x.ratio,
                is_first ? k->x.ratio_low : 1 / k->x.ratio_high, is_first ? k->x.ratio_high : 1 / k->x.ratio_low);
        claim_tell_far_pairs(&k->x, is_first ? k->x.robust_ratio : 1 / k->x.robust_ratio, to);
        points_tell_unlearned(fast, slow, to);
        fprintf(to, ".\n");
        if (k->kind == CLAIM_FASTER) /* steps of as many workers */
            tell_where(fast, slow, to);
        return;
    }
    fprintf(to, "cannot tell whether %s or %s is faster: ", k->a->mode->name, k->b->mode->name);
    claim_tell_not_told(all, k, to);
}

static void tell_faster_of_workers(const struct claims *all, const struct claim *k, FILE *to)
{
    if (k->a->n_launches == 0 || k->b->n_launches == 0) {
        tell_not_launched(k, to);
        return;
    }
    tell_faster(all, k, to);
    tell_cores(all, k, to);
}

/* What is left of the control's throughput: the price of the exchange. */
static void tell_price(const struct claims *all, const struct claim *k, FILE *to)
{
    const double kept = point_throughput(k->a).mean / point_throughput(k->b).mean;
    char number[3][32];

    tell_who(k->a, to);
    if (k->withheld) {
        fprintf(to, "cannot tell what exchanging gradients costs %s: ", k->a->mode->name);
        claim_tell_withheld(k, to);
        return;
    }
    if (all->campaign->is_virtual || isnan(k->x.ratio_low)) {
        fprintf(to, "%s keeps %s %% of the throughput without exchange", k->a->mode->name,
                percent_text(number[0], kept));
        points_tell_unlearned(k->a, k->b, to);
        fprintf(to, ".\n");
        return;
    }
    percent_text(number[0], k->x.ratio);
    percent_text(number[1], k->x.ratio_low);
    percent_text(number[2], k->x.ratio_high);
    if (!k->holds) {
        fprintf(to, "the price of %s is not resolved (+-%.2g %%): %s to %s %% of the throughput without exchange",
                k->a->mode->name, 100 * (k->x.ratio_high / k->x.ratio - 1), number[1], number[2]);
        if (claim_fails_together(all, k))
            fprintf(to, " is not sure enough for one of %zu verdicts", all->n_tested);
        fprintf(to, ".\n");
        return;
    }
    fprintf(to, "%s keeps %s %% of the throughput without exchange (95 %%: %s to %s)", k->a->mode->name, number[0],
            number[1], number[2]);
    points_tell_unlearned(k->a, k->b, to);
    fprintf(to, ".\n");
}

static void tell_target(const struct claims *all, const struct claim *k, FILE *to)
{
    char unsure[96];

    if (k->withheld && target_all_reached(k->a, k->b)) {
        tell_who(k->a, to);
        fprintf(to, "cannot tell whether %s reaches the target loss sooner than 1 worker alone: ", k->a->mode->name);
        claim_tell_withheld(k, to);
        return;
    }
    snprintf(unsure, sizeof unsure, "cannot tell which is sooner");
    if (claim_fails_together(all, k))
        snprintf(unsure, sizeof unsure, "cannot tell which is sooner, not sure enough for one of %zu verdicts",
                 all->n_tested);
    target_tell(k->a, k->b, &k->x,
                all->campaign->is_virtual ? ""
                : !k->holds               ? unsure
                : k->x.ratio > 1          ? "sooner"
                                          : "later",
                to);
}

/* Which points target lines are about (curves.J1). */
static void tell_declared(const struct claims *all, FILE *to)
{
    for (size_t i = 0; i < all->n_claims; i++)
        if (all->claim[i].kind == CLAIM_TARGET) {
            fprintf(to, "The time to the target loss is compared by a fixed rule: each mode at its largest worker "
                        "count with a core "
                        "for every worker, against one worker alone.\n");
            return;
        }
}

enum rc claims_open(struct claims *all, const struct campaign *c)
{
    enum rc rc = RC_OK;

    *all = (struct claims){ .campaign = c };
    for (size_t i = 0; i < c->n_points; i++)
        if (campaign_represents(c, i))
            TRY(claim_setting(all, &c->point[i]));
    TRY(claims_add_values(all));
    TRY(judge(all));
out:
    return rc;
}

void claims_close(struct claims *all)
{
    free(all->claim);
    all->claim = NULL;
    all->n_claims = 0;
}

enum rc campaign_verdict(const struct campaign *c, FILE *to)
{
    static void (*const tell[])(const struct claims *all, const struct claim *k, FILE *to) = {
        [CLAIM_FASTER] = tell_faster_of_workers,
        [CLAIM_EQUAL_CORES] = tell_faster,
        [CLAIM_PRICE] = tell_price,
        [CLAIM_TARGET] = tell_target,
        [CLAIM_LAYOUT] = claim_tell_layouts,
        [CLAIM_LAYOUT_TARGET] = claim_tell_layouts_target,
        [CLAIM_VALUE] = claim_tell_value,
    };
    struct claims all;
    enum rc rc;

    TRY(claims_open(&all, c));
    for (size_t i = 0; i < all.n_claims; i++) {
        tell[all.claim[i].kind](&all, &all.claim[i], to);
        if (all.claim[i].kind != CLAIM_LAYOUT_TARGET && claim_is_tested(&all, &all.claim[i]) && !all.claim[i].withheld)
            pairs_tell_marks(all.claim[i].a, all.claim[i].b, to); /* CLAIM_LAYOUT has those of CLAIM_LAYOUT_TARGET */
    }
    for (size_t i = 0; i < c->n_points; i++)
        if (campaign_represents(c, i))
            layouts_tell_shared_cores(c, &c->point[i], to);
    tell_declared(&all, to);
    campaign_tell_scaling(c, to);
    claims_tell_rule(&all, to);
    if (all.n_tested > 1)
        fprintf(to,
                "Of %zu verdicts none is wrong in 95 %% of campaigns (Holm's correction). Each interval alone is a 95 "
                "%% interval, over pairs of launches in the same block.\n",
                all.n_tested);
out:
    claims_close(&all);
    return rc;
}

/* --- records --- */

/*
 * The answer and every comparison of a campaign, kept in its folder: answer.txt and verdicts.jsonl. Both are computed
 * from runs.jsonl, and written anew each time the campaign ends.
 */

static const char ANSWER[] = "answer.txt", VERDICTS[] = "verdicts.jsonl";

static void path_of(char out[CAMPAIGN_DIR_BYTES + 32], const struct campaign *c, const char *name)
{
    snprintf(out, CAMPAIGN_DIR_BYTES + 32, "%s/%s", c->dir, name);
}

static bool is_of_target(const struct claim *k)
{
    return k->kind == CLAIM_TARGET || k->kind == CLAIM_LAYOUT_TARGET;
}

static const char *quantity_of(const struct claim *k)
{
    return is_of_target(k) ? "time_to_target" : k->kind == CLAIM_PRICE ? "exchange_cost" : "throughput";
}

/* NaN: not known, or some run did not reach the target loss (curves.J2). */
static double ratio_of(const struct claim *k)
{
    if (is_of_target(k))
        return target_all_reached(k->a, k->b) ? target_split(k->a, k->b).sooner_ratio : (double)NAN;
    return isnan(k->x.ratio) ? point_throughput(k->a).mean / point_throughput(k->b).mean : k->x.ratio;
}

/* Which setting is better: "a", "b" or "equal", the latter in simulated time alone; else "cannot tell". */
static const char *result_of(const struct claims *all, const struct claim *k, double ratio)
{
    if (isnan(ratio) || k->withheld || (!all->campaign->is_virtual && !k->holds))
        return "cannot tell";
    return ratio > 1 ? "a" : ratio < 1 ? "b" : "equal";
}

/* side: "a", "b" */
static void record_side(struct record *r, const char *side, const struct campaign *c, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char name[LAUNCH_NAME_BYTES], text[LAYOUT_TEXT_BYTES], key[OPTION_BYTES + 32];

    point_name(name, sizeof name, p);
    record_text(r, side, name);
    snprintf(key, sizeof key, "%s_mode", side);
    record_text(r, key, p->mode->name);
    snprintf(key, sizeof key, "%s_workers_count", side);
    record_i64(r, key, p->n_workers);
    snprintf(key, sizeof key, "%s_servers_count", side);
    record_i64(r, key, p->n_servers);
    snprintf(key, sizeof key, "%s_cores_count", side);
    record_i64(r, key, point_n_cores(p));
    snprintf(key, sizeof key, "%s_layout", side);
    layout_text(text, &layout);
    record_text(r, key, point_has_layout(p) ? text : NULL);
    for (int i = 0; campaign_other_option(c, i); i++) {
        snprintf(key, sizeof key, "%s_%s", side, campaign_other_option(c, i));
        record_text(r, key, point_value(p, campaign_other_option(c, i)));
    }
}

static enum rc record_withheld(struct record *r, const struct claim *k)
{
    static const char *const key[] = { [WITHHELD_NOT] = NULL,
                                       [WITHHELD_DISTURBED] = "disturbed",
                                       [WITHHELD_UNSTEADY] = "unsteady",
                                       [WITHHELD_BOUND] = "bound",
                                       [WITHHELD_CONTROL] = "control" };
    char reason[512] = "";
    FILE *to = fmemopen(reason, sizeof reason - 1, "w");

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for a verdict");
    claim_tell_why_withheld(k, to);
    fclose(to);
    record_text(r, "withheld", key[k->withheld]);
    record_text(r, "withheld_reason", k->withheld ? reason : NULL);
    return RC_OK;
}

static enum rc write_claim(struct report *to, const struct claims *all, const struct claim *k)
{
    const double ratio = ratio_of(k);
    const bool has_interval = !all->campaign->is_virtual && !isnan(ratio);
    struct record *r = report_begin(to, "verdict");
    enum rc rc;

    record_text(r, "model", k->a->workload->module.name);
    record_text(r, "quantity", quantity_of(k));
    record_side(r, "a", all->campaign, k->a);
    record_side(r, "b", all->campaign, k->b);
    record_f64(r, "ratio", ratio);
    record_f64(r, "low_ratio", has_interval ? k->x.ratio_low : (double)NAN);
    record_f64(r, "high_ratio", has_interval ? k->x.ratio_high : (double)NAN);
    record_f64(r, "p_value", has_interval && claim_is_tested(all, k) ? k->x.p : (double)NAN);
    record_u64(r, "pairs_count", k->x.n_pairs);
    record_u64(r, "disturbed_pairs_count", pairs_n_marked(k->a, k->b, MARK_DISTURBED));
    record_u64(r, "unsteady_pairs_count", pairs_n_marked(k->a, k->b, MARK_UNSTEADY));
    record_text(r, "result", result_of(all, k, ratio));
    TRY(record_withheld(r, k));
    TRY(report_end(to));
out:
    return rc;
}

static enum rc write_verdicts(const struct campaign *c)
{
    char path[CAMPAIGN_DIR_BYTES + 32];
    struct report *to = NULL;
    struct claims all = { .claim = NULL };
    enum rc rc;

    path_of(path, c, VERDICTS);
    TRY(claims_open(&all, c));
    TRY(report_open(&to, path));
    for (size_t i = 0; i < all.n_claims; i++)
        TRY(write_claim(to, &all, &all.claim[i]));
    TRY(report_commit(to));
out:
    report_close(&to);
    claims_close(&all);
    return rc;
}

static enum rc write_answer(const struct campaign *c)
{
    char path[CAMPAIGN_DIR_BYTES + 32];
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    path_of(path, c, ANSWER);
    TRY(atomic_file_open(&file, path));
    TRY(campaign_answer(c, file.stream));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc campaign_keep_verdicts(const struct campaign *c)
{
    enum rc rc;

    TRY(write_answer(c));
    TRY(write_verdicts(c));
out:
    return rc;
}

void campaign_remove_verdicts(const struct campaign *c)
{
    static const char *const name[] = { ANSWER, VERDICTS };
    char path[CAMPAIGN_DIR_BYTES + 32];

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        path_of(path, c, name[i]);
        (void)unlink(path);
    }
}
