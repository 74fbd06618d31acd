/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer.c - what a campaign found, in at most five lines for each setting: how many workers to use, which mode is
 * faster with equal resources, and what gradient exchange costs. verdict.c prints every comparison.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/curves.h"
#include "harness/campaign/verdict_parts.h"
#include "harness/world/cores.h"

#define TOGETHER " Sure enough alone, but not as one of %zu comparisons (Holm's correction)"

static const char *mode_title(const struct module *mode)
{
    return mode->caps & MODE_SERVERS ? "the parameter server" : mode->name;
}

/* "(95 % CI 1.06 to 1.37)", or behind another one of the line "(1.06 to 1.37)"; simulated: nothing. */
static void tell_interval(const struct claims *all, double low, double high, const char *format, bool is_first,
                          FILE *to)
{
    char ends[2][32];

    if (all->campaign->is_virtual || isnan(low))
        return;
    snprintf(ends[0], sizeof ends[0], format, low);
    snprintf(ends[1], sizeof ends[1], format, high);
    fprintf(to, " (%s%s to %s)", is_first ? "95 % CI " : "", ends[0], ends[1]);
}

static const char *remedy_of(const struct claims *all, const struct claim *k)
{
    if (all->campaign->is_virtual)
        return k->withheld == WITHHELD_BOUND
                   ? "Use more --steps. If that does not help, it is a fault of gradmark: report it."
                   : "Use more --steps.";
    if (k->withheld == WITHHELD_UNSTEADY)
        return "Run again with more --steps, or on an idle machine.";
    if (k->withheld == WITHHELD_DISTURBED && claim_others_cores(k) > 0)
        return "Stop them (top shows them), then run again.";
    return "Run again on an idle machine.";
}

/* The end of a line: why it cannot be told, and what to do. */
static void tell_why_not(const struct claims *all, const struct claim *k, FILE *to)
{
    claim_tell_why_withheld(k, to);
    fprintf(to, " %s\n", remedy_of(all, k));
}

static bool is_of(const struct claim *k, enum claim_kind kind, const struct point *like)
{
    return k->kind == kind && point_comparable(k->a, like);
}

/* --- how many workers --- */

enum use { USE_SOONER, USE_LATER, USE_UNSURE, USE_WITHHELD, USE_NOT_REACHED };

static enum use judge_use(const struct claims *all, const struct claim *k)
{
    if (!target_all_reached(k->a, k->b))
        return USE_NOT_REACHED;
    if (k->withheld)
        return USE_WITHHELD;
    if (!all->campaign->is_virtual && !k->holds)
        return USE_UNSURE;
    return k->x.ratio > 1 ? USE_SOONER : USE_LATER;
}

/* "allreduce is 1.80x as fast (95 % CI 1.60 to 2.02)"; if it is later: "allreduce takes 1.92x as long (...)". Behind a
 * claim that says the same: "allreduce 1.80x (1.60 to 2.02)". */
static void tell_times(const struct claims *all, const struct claim *k, const struct claim *told, FILE *to)
{
    const double sooner = target_split(k->a, k->b).sooner_ratio;
    const bool is_later = judge_use(all, k) == USE_LATER, is_first = !told;
    const bool is_short = told && (judge_use(all, told) == USE_LATER) == is_later;

    fprintf(to, "%s ", mode_title(k->a->mode));
    if (is_later) {
        fprintf(to, is_short ? "%.2fx" : "takes %.2fx as long", 1 / sooner);
        tell_interval(all, 1 / k->x.ratio_high, 1 / k->x.ratio_low, "%.2f", is_first, to);
        return;
    }
    fprintf(to, is_short ? "%.2fx" : "is %.2fx as fast", sooner);
    tell_interval(all, k->x.ratio_low, k->x.ratio_high, "%.2f", is_first, to);
}

/* The claim of this outcome with the largest ratio; NULL: none. */
static const struct claim *best_of(const struct claims *all, const struct point *like, enum use use)
{
    const struct claim *best = NULL;

    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (is_of(k, CLAIM_TARGET, like) && judge_use(all, k) == use && (!best || k->x.ratio > best->x.ratio))
            best = k;
    }
    return best;
}

/* The other modes of these outcomes: ", the parameter server 1.50x (1.20 to 1.80).". */
static void tell_other_modes(const struct claims *all, const struct point *like, const struct claim *told,
                             bool are_sooner, FILE *to)
{
    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (!is_of(k, CLAIM_TARGET, like) || k == told || (judge_use(all, k) == USE_SOONER) != are_sooner)
            continue;
        fprintf(to, ", ");
        tell_times(all, k, told, to);
    }
    fputc('.', to);
}

static void tell_not_reached(const struct claim *k, FILE *to)
{
    fprintf(
        to,
        "  Cannot tell how many workers to use: %zu of %zu run%s of %s reached the target loss, and %zu of %zu with 1 "
        "worker. " TARGET_REMEDY "\n",
        target_n_reached(k->a), k->a->n_launches, k->a->n_launches == 1 ? "" : "s", mode_title(k->a->mode),
        target_n_reached(k->b), k->b->n_launches);
}

/* Did one worker alone and others run, and none of them reached the target loss? */
static bool none_reached(const struct claims *all, const struct point *like)
{
    const struct campaign *c = all->campaign;
    const struct point *single = campaign_find_baseline(c, like);
    bool has_others = false;

    if (!single || single->n_launches == 0 || !target_none_reached(c, like))
        return false;
    for (size_t i = 0; i < all->n_claims; i++)
        if (is_of(&all->claim[i], CLAIM_LAYOUT, like)) /* not how many workers: which layout */
            return false;
    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        has_others = has_others || (point_comparable(p, like) && p->n_launches > 0 && p->n_workers > 1 &&
                                    !p->oversubscribed); /* those would not be compared with more steps either */
    }
    return has_others;
}

static void tell_none_reached(const struct claims *all, const struct point *like, FILE *to)
{
    fprintf(to, "  Cannot tell how many workers to use: no run reached the target loss");
    target_tell_steps(all->campaign, like, to);
}

/* Of the hosts of a launch; 0: not known, or simulated. */
static long n_cores_of(const struct campaign *c, const struct point *p)
{
    if (c->is_virtual || c->is_launched || c->machine[0] || p->n_host_cores > 0)
        return c->is_virtual ? 0 : p->n_host_cores;
    return cores_allowed_count();
}

/* " (1 of 2 cores)": one worker alone could use more threads. */
static void tell_idle_cores(const struct campaign *c, const struct point *single, FILE *to)
{
    const long n_cores = n_cores_of(c, single);

    if (point_n_cores(single) < n_cores)
        fprintf(to, " (%ld of %ld cores)", point_n_cores(single), n_cores);
}

static void tell_sooner(const struct claims *all, const struct point *like, const struct claim *k, FILE *to)
{
    fprintf(to, "  Use %d workers. They reach the target loss sooner than 1 worker", k->a->n_workers);
    tell_idle_cores(all->campaign, k->b, to);
    fprintf(to, ": ");
    tell_times(all, k, NULL, to);
    tell_other_modes(all, like, k, true, to);
    fputc('\n', to);
}

/* Which of these modes would surely be sooner, or later, in a comparison of their own. */
static void tell_together(const struct claims *all, const struct point *like, FILE *to)
{
    bool is_told = false;

    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (!is_of(k, CLAIM_TARGET, like) || !claim_fails_together(all, k))
            continue;
        if (is_told)
            fprintf(to, ", %s", mode_title(k->a->mode));
        else
            fprintf(to, TOGETHER ": %s", all->n_tested, mode_title(k->a->mode));
        is_told = true;
    }
    if (is_told)
        fprintf(to, ". Use more --launches.");
}

static void tell_not_sooner(const struct claims *all, const struct point *like, const struct claim *k, FILE *to)
{
    const bool is_unsure = judge_use(all, k) == USE_UNSURE;

    fprintf(to, "  Use 1 worker");
    tell_idle_cores(all->campaign, k->b, to);
    fprintf(to,
            is_unsure ? ". It is not shown that %d workers reach the target loss sooner: "
                      : ". %d workers reach the target loss later: ",
            k->a->n_workers);
    tell_times(all, k, NULL, to);
    tell_other_modes(all, like, k, false, to);
    tell_together(all, like, to);
    fputc('\n', to);
}

static void tell_use(const struct claims *all, const struct point *like, FILE *to)
{
    const struct claim *sooner = best_of(all, like, USE_SOONER), *unsure = best_of(all, like, USE_UNSURE);
    const struct claim *later = best_of(all, like, USE_LATER), *withheld = best_of(all, like, USE_WITHHELD);
    const struct claim *not_reached = best_of(all, like, USE_NOT_REACHED), *told = unsure ? unsure : later;

    if (sooner) {
        tell_sooner(all, like, sooner, to);
    } else if (withheld) {
        fprintf(to, "  Cannot tell how many workers to use: ");
        tell_why_not(all, withheld, to);
    } else if (not_reached) {
        tell_not_reached(not_reached, to);
    } else if (told) {
        tell_not_sooner(all, like, told, to);
    } else if (none_reached(all, like)) {
        tell_none_reached(all, like, to);
    }
}

/* --- which mode --- */

/* Does a comparison at equal cores say it better: the same modes, where one uses more cores? */
static const struct claim *at_equal_cores(const struct claims *all, const struct claim *k)
{
    if (point_n_cores(k->a) == point_n_cores(k->b) || k->a->servers_share || k->b->servers_share)
        return NULL;
    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *other = &all->claim[i];
        if (is_of(other, CLAIM_EQUAL_CORES, k->a) && other->a->mode == k->a->mode && other->b->mode == k->b->mode)
            return other;
    }
    return NULL;
}

/* "With 2 workers", "With 2 workers, or 1 worker and 1 server" */
static void tell_resources(const struct claim *k, const struct point *fast, const struct point *slow, FILE *to)
{
    const struct point *serves = fast->n_servers > 0 ? fast : slow, *other = serves == fast ? slow : fast;

    if (k->kind == CLAIM_EQUAL_CORES)
        fprintf(to, "With %ld cores for each mode (%d worker%s, or %d worker%s and %d server%s)", point_n_cores(k->a),
                other->n_workers, other->n_workers == 1 ? "" : "s", serves->n_workers,
                serves->n_workers == 1 ? "" : "s", serves->n_servers, serves->n_servers == 1 ? "" : "s");
    else
        fprintf(to, "With %d worker%s", k->a->n_workers, k->a->n_workers == 1 ? "" : "s");
}

static void tell_cores(const struct claim *k, FILE *to)
{
    const long more = point_n_cores(k->a) - point_n_cores(k->b), n_more = labs(more);
    const struct point *most = more > 0 ? k->a : k->b;

    if (n_more == 0 || k->kind == CLAIM_EQUAL_CORES || most->servers_share)
        return;
    fprintf(to, " It uses %ld core%s more: not equal resources.", n_more, n_more == 1 ? "" : "s");
}

static void tell_faster(const struct claims *all, const struct claim *k, FILE *to)
{
    const double measured = point_throughput(k->a).mean / point_throughput(k->b).mean;
    const double ratio = all->campaign->is_virtual ? measured : k->x.ratio;
    const bool is_first = ratio >= 1, has_runs = k->a->n_launches > 0 && k->b->n_launches > 0;
    const struct point *fast = is_first ? k->a : k->b, *slow = is_first ? k->b : k->a;

    fprintf(to, "  ");
    tell_resources(k, fast, slow, to);
    if (has_runs && (k->holds || claim_is_exact(all, k))) {
        fprintf(to, ", %s trains %.2fx as fast as %s", mode_title(fast->mode), is_first ? ratio : 1 / ratio,
                mode_title(slow->mode));
        tell_interval(all, is_first ? k->x.ratio_low : 1 / k->x.ratio_high,
                      is_first ? k->x.ratio_high : 1 / k->x.ratio_low, "%.2f", true, to);
        points_tell_unlearned(fast, slow, to);
        fputc('.', to);
        if (fast->n_servers > 0)
            tell_cores(k, to);
        fputc('\n', to);
        return;
    }
    fprintf(to, ", cannot tell whether %s or %s is faster: ", mode_title(k->a->mode), mode_title(k->b->mode));
    if (!has_runs)
        fprintf(to, "no run of %s ended.\n", mode_title(k->a->n_launches > 0 ? k->b->mode : k->a->mode));
    else if (k->withheld)
        tell_why_not(all, k, to);
    else if (isnan(measured))
        fprintf(to, "in some run the workers never trained all at once. Use more --steps.\n");
    else if (k->x.n_pairs < 2)
        fprintf(to, "there are fewer than 2 complete runs of each.\n");
    else {
        fprintf(to, "%.2fx (95 %% CI %.2f to %.2f).", k->x.ratio, k->x.ratio_low, k->x.ratio_high);
        if (claim_fails_together(all, k))
            fprintf(to, TOGETHER ". Use more --launches.", all->n_tested);
        else
            fprintf(to, " More --launches would show a smaller difference.");
        fputc('\n', to);
    }
}

static void tell_modes(const struct claims *all, const struct point *like, FILE *to)
{
    bool has_pair = false;

    for (size_t i = 0; i < all->n_claims; i++)
        if (is_of(&all->claim[i], CLAIM_FASTER, like)) {
            const struct claim *equal = at_equal_cores(all, &all->claim[i]);
            tell_faster(all, equal ? equal : &all->claim[i], to);
            has_pair = true;
        }
    for (size_t i = 0; i < all->n_claims && !has_pair; i++)
        if (is_of(&all->claim[i], CLAIM_EQUAL_CORES, like))
            tell_faster(all, &all->claim[i], to);
}

/* --- what exchange costs --- */

/* "allreduce 7 % of the throughput (95 % CI 1 to 13)" */
static void tell_price(const struct claims *all, const struct claim *k, bool is_first, FILE *to)
{
    const double kept = all->campaign->is_virtual || isnan(k->x.ratio_low)
                            ? point_throughput(k->a).mean / point_throughput(k->b).mean
                            : k->x.ratio;
    const bool is_known = k->holds || !claim_is_tested(all, k);
    char cost[32];

    fprintf(to, "%s%s ", is_first ? "  Gradient exchange costs " : ", ", mode_title(k->a->mode));
    if (!is_known) { /* less than the interval may be nothing */
        fprintf(to, "%.0f to %.0f %%%s (95 %% CI)", 100 * (1 - k->x.ratio_high), 100 * (1 - k->x.ratio_low),
                is_first ? " of the throughput" : "");
        return;
    }
    if (all->campaign->is_virtual && kept > 1) { /* its servers update while workers compute */
        fprintf(to, "0 %%%s", is_first ? " of the throughput" : "");
        if (kept >= 1.005)
            fprintf(to, " (%.2fx as fast as none)", kept);
        return;
    }
    const char *const format = kept < 0.005 ? "%.2f" : "%.0f"; /* something is left: not 100 % */
    snprintf(cost, sizeof cost, format, 100 * (1 - kept));
    fprintf(to, "%s %%%s", cost, is_first ? " of the throughput" : "");
    tell_interval(all, 100 * (1 - k->x.ratio_high), 100 * (1 - k->x.ratio_low), format, is_first, to);
}

/* One line: of all modes that are withheld for this reason. */
static void tell_withheld_prices(const struct claims *all, const struct point *like, enum withheld why, FILE *to)
{
    const struct claim *first = NULL;

    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (!is_of(k, CLAIM_PRICE, like) || k->withheld != why)
            continue;
        fprintf(to, "%s%s", first ? " or " : "  Cannot tell what gradient exchange costs ", mode_title(k->a->mode));
        first = first ? first : k;
    }
    if (!first)
        return;
    fprintf(to, ": ");
    tell_why_not(all, first, to);
}

static void tell_prices(const struct claims *all, const struct point *like, FILE *to)
{
    bool is_first = true;

    for (size_t i = 0; i < all->n_claims; i++)
        if (is_of(&all->claim[i], CLAIM_PRICE, like) && !all->claim[i].withheld) {
            tell_price(all, &all->claim[i], is_first, to);
            is_first = false;
        }
    if (!is_first)
        fprintf(to, ".\n");
    for (enum withheld why = WITHHELD_DISTURBED; why <= WITHHELD_CONTROL; why++)
        tell_withheld_prices(all, like, why, to);
}

/* --- a setting --- */

/* "lenet, data shards, batch 32 per worker, 2 cores"; without launches, whose records tell the batch: "lenet, 2 cores";
 * if batches are compared: "lenet, batch 32, 2 cores". */
static void tell_setting(const struct campaign *c, const struct point *p, FILE *to)
{
    const struct point *launched = campaign_find_launched(c, p);
    char setting[LAUNCH_NAME_BYTES], scaling[96] = "";
    long n_cores = 0;

    for (size_t i = 0; i < c->n_points; i++) /* of its hosts: a launcher binds this rank to a part of them */
        n_cores = c->point[i].n_host_cores > n_cores ? c->point[i].n_host_cores : n_cores;
    n_cores = n_cores > 0 ? n_cores : cores_allowed_count();
    point_setting(setting, sizeof setting, p, ", ", " ");
    if (launched && !point_value(p, "batch"))
        point_scaling_text(scaling, sizeof scaling, launched);
    const char *batch = strchr(scaling, ':');
    fprintf(to, "%s%s%s%s%s", setting, launched && launched->is_inference ? ", inference" : "", c->data,
            batch ? "," : "", batch ? batch + 1 : "");
    if (c->is_virtual)
        fprintf(to, ", simulated%s%s\n", c->cluster_name[0] ? " cluster " : "", c->cluster_name);
    else if (c->machine[0])
        fprintf(to, ", %s\n", c->machine);
    else
        fprintf(to, ", %ld core%s\n", n_cores, n_cores == 1 ? "" : "s");
}

static bool is_compared(const struct claims *all, const struct point *like)
{
    for (size_t i = 0; i < all->n_claims; i++)
        if (point_comparable(all->claim[i].a, like) && all->claim[i].kind != CLAIM_VALUE)
            return true;
    return false;
}

/* Are values of an option compared, this setting's with another one's? */
static bool has_values(const struct claims *all, const struct point *like)
{
    for (size_t i = 0; i < all->n_claims; i++)
        if (all->claim[i].kind == CLAIM_VALUE &&
            (point_comparable(all->claim[i].a, like) || point_comparable(all->claim[i].b, like)))
            return true;
    return false;
}

/* The claim that stands for all of the setting, where each is withheld for the same reason; NULL: not so. */
static const struct claim *all_withheld(const struct claims *all, const struct point *like)
{
    const struct claim *first = NULL;

    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (!point_comparable(k->a, like) || k->kind == CLAIM_VALUE)
            continue;
        first = first ? first : k;
        if (k->withheld != first->withheld || !k->withheld || k->withheld == WITHHELD_CONTROL) /* that of a mode */
            return NULL;
    }
    return first;
}

/* What would have been needed even on an idle machine. */
static void tell_lack_of_steps(const struct claims *all, const struct point *like, FILE *to)
{
    const struct claim *not_reached = best_of(all, like, USE_NOT_REACHED);

    if (not_reached)
        tell_not_reached(not_reached, to);
    else if (none_reached(all, like))
        tell_none_reached(all, like, to);
}

/* The point whose threads are most above the number of cores; NULL: none. */
static const struct point *most_shared(const struct campaign *c, const struct point *like)
{
    const struct point *most = NULL;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (point_comparable(p, like) && p->oversubscribed && (!most || point_n_cores(p) > point_n_cores(most)))
            most = p;
    }
    return most;
}

void campaign_tell_uncompared(const struct campaign *c, const struct point *like, FILE *to)
{
    const struct point *p = most_shared(c, like), *launched = campaign_find_launched(c, like);
    const long n_cores = p ? n_cores_of(c, p) : 0;

    fprintf(to, "Nothing to compare: ");
    if (!p && launched && launched->is_inference) {
        fprintf(to, "--forward-only exchanges nothing. Leave it out to compare modes.\n");
        return;
    }
    if (!p) {
        fprintf(to, "use --mode with two modes that exchange gradients, or with mode none beside one of them.\n");
        return;
    }
    fprintf(to, "%d worker%s with %d thread%s each need %ld cores", p->n_workers, p->n_workers == 1 ? "" : "s",
            p->n_threads, p->n_threads == 1 ? "" : "s", (long)point_n_ranks(p) * p->n_threads);
    if (n_cores > 0)
        fprintf(to, ", and there are %ld", n_cores);
    fprintf(to, ". Use fewer --workers or --threads.\n");
}

static void tell_all_of(const struct claims *all, const struct point *like, FILE *to)
{
    const struct claim *withheld = all_withheld(all, like);

    tell_setting(all->campaign, like, to);
    if (withheld) {
        fprintf(to, "  Cannot tell what to use, which mode is faster or what exchange costs: ");
        tell_why_not(all, withheld, to);
        tell_lack_of_steps(all, like, to);
        return;
    }
    if (!is_compared(all, like) && !none_reached(all, like)) {
        fprintf(to, "  ");
        if (has_values(all, like))
            fprintf(to, "No modes to compare. Values of --over are compared below.\n");
        else
            campaign_tell_uncompared(all->campaign, like, to);
    }
    for (size_t i = 0; i < all->n_claims; i++) {
        const struct claim *k = &all->claim[i];
        if (is_of(k, CLAIM_LAYOUT, like))
            claim_tell_layouts(all, k, to);
        else if (is_of(k, CLAIM_LAYOUT_TARGET, like))
            claim_tell_layouts_target(all, k, to);
    }
    tell_use(all, like, to);
    tell_modes(all, like, to);
    tell_prices(all, like, to);
}

/* Of all settings. */
enum rc campaign_answer(const struct campaign *c, FILE *to)
{
    struct claims all;
    enum rc rc;

    TRY(claims_open(&all, c));
    for (size_t i = 0; i < c->n_points; i++)
        if (campaign_represents(c, i))
            tell_all_of(&all, &c->point[i], to);
    for (size_t i = 0; i < all.n_claims; i++)
        if (all.claim[i].kind == CLAIM_VALUE)
            claim_tell_value(&all, &all.claim[i], to);
    campaign_tell_unknown_load(c, to);
out:
    claims_close(&all);
    return rc;
}
