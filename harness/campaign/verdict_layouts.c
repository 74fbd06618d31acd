/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_layouts.c - which layout is the fastest of those of as many ranks, and why; and which is at the target loss
 * first.
 *
 * Whatever can be launched with layouts takes part, but for modes without exchange, and what has more threads than
 * cores. All pairs are claimed, so that the one that turns out to be the fastest may be named (paired.C4).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/curves.h"
#include "harness/campaign/verdict_parts.h"

enum { MAX_CONTESTANTS = 64, NAMED_BYTES = LAYOUT_NAME_BYTES + 32 };

/* A mode that has one worker exchanges nothing, and need not; one without exchange that has several is a control. */
static bool takes_part(const struct point *p, const struct point *like)
{
    return p->n_launches > 0 && point_comparable(p, like) &&
           (mode_exchanges(p->mode) || p->mode->caps & MODE_ONE_WORKER);
}

/* Of the points that take part, in their order, those of n_ranks; the first ones, where there are too many. */
static int find_contestants(const struct point *out[MAX_CONTESTANTS], const struct campaign *c,
                            const struct point *like, int n_ranks, bool shares_cores)
{
    int n = 0;

    for (size_t i = 0; i < c->n_points && n < MAX_CONTESTANTS; i++)
        if (takes_part(&c->point[i], like) && point_n_ranks(&c->point[i]) == n_ranks &&
            c->point[i].oversubscribed == shares_cores)
            out[n++] = &c->point[i];
    return n;
}

static int most_ranks(const struct campaign *c)
{
    int most = 0;

    for (size_t i = 0; i < c->n_points; i++)
        most = point_n_ranks(&c->point[i]) > most ? point_n_ranks(&c->point[i]) : most;
    return most;
}

/* Of the same contest, as many as there are already. */
static enum rc add_pairs(struct claims *all, enum claim_kind kind, const struct point *const *p, int n)
{
    const size_t contest = all->n_claims + 1;
    enum rc rc = RC_OK;

    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            TRY(claims_add(all, kind, p[i], p[k]));
            all->claim[all->n_claims - 1].contest = contest;
        }
out:
    return rc;
}

static bool some_reached(const struct point *const *p, int n)
{
    for (int i = 0; i < n; i++)
        if (target_n_reached(p[i]) > 0)
            return true;
    return false;
}

enum rc claims_add_layouts(struct claims *all, const struct point *like)
{
    const struct point *p[MAX_CONTESTANTS];
    enum rc rc = RC_OK;

    for (int n_ranks = most_ranks(all->campaign); n_ranks > 0; n_ranks--) {
        const int n = find_contestants(p, all->campaign, like, n_ranks, false);
        TRY(add_pairs(all, CLAIM_LAYOUT, p, n));
        if (some_reached(p, n))
            TRY(add_pairs(all, CLAIM_LAYOUT_TARGET, p, n));
        for (int i = 0; i < n; i++)
            if (mode_exchanges(p[i]->mode) && p[i]->n_workers + p[i]->n_servers > 1)
                TRY(claims_add_price(all, p[i]));
    }
out:
    return rc;
}

/* --- what is told --- */

struct contest {
    const struct claims *all;
    enum claim_kind kind;
    const struct point *p[MAX_CONTESTANTS]; /* the fastest first, or the one that is soonest at the target loss */
    int n;
    char who[LAUNCH_NAME_BYTES + 32]; /* "lenet, 2 ranks" */
};

/* One whose throughput is not known is the slowest. */
static int by_throughput(const void *a, const void *b)
{
    const double x = point_throughput(*(const struct point *const *)a).mean;
    const double y = point_throughput(*(const struct point *const *)b).mean;

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static double to_target_s(const struct point *p)
{
    return point_mean(p, offsetof(struct launch, seconds_to_target_s));
}

/* What did not reach the target is last. */
static int by_target(const void *a, const void *b)
{
    const double x = to_target_s(*(const struct point *const *)a), y = to_target_s(*(const struct point *const *)b);

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static void name_who(char *out, size_t n_bytes, const struct point *p)
{
    char setting[LAUNCH_NAME_BYTES];
    const int n_ranks = point_n_ranks(p);

    point_setting(setting, sizeof setting, p, ", ", " ");
    snprintf(out, n_bytes, "%s, %d rank%s", setting, n_ranks, n_ranks == 1 ? "" : "s");
}

static void open_contest(struct contest *out, const struct claims *all, const struct claim *first)
{
    const struct claim *end = all->claim + all->n_claims;

    *out = (struct contest){ .all = all, .kind = first->kind, .p = { first->a }, .n = 1 };
    for (const struct claim *k = first; k < end && k->contest == first->contest && out->n < MAX_CONTESTANTS; k++)
        if (k->kind == first->kind && k->a == first->a)
            out->p[out->n++] = k->b;
    qsort(out->p, (size_t)out->n, sizeof *out->p, first->kind == CLAIM_LAYOUT ? by_throughput : by_target);
    name_who(out->who, sizeof out->who, first->a);
}

/* "2x1x1", "ps:2x1x1 + 1 server" */
static const char *name_of(char out[NAMED_BYTES], const struct contest *c, const struct point *p)
{
    const int n_servers = p->n_servers * p->n_stages;
    char name[LAYOUT_NAME_BYTES];

    point_layout_name(name, c->all->campaign, p);
    if (n_servers > 0)
        snprintf(out, NAMED_BYTES, "%s + %d server%s", name, n_servers, n_servers == 1 ? "" : "s");
    else
        snprintf(out, NAMED_BYTES, "%s", name);
    return out;
}

static const struct claim *claim_on(const struct contest *c, const struct point *p, const struct point *q)
{
    const struct claim *k = c->all->claim;

    while (k->kind != c->kind || !((k->a == p && k->b == q) || (k->a == q && k->b == p)))
        k++;
    return k;
}

struct lead { /* of one point over another */
    double ratio, low, high, robust;
};

static struct lead lead_of(const struct claim *k, const struct point *p)
{
    const struct comparison *x = &k->x;

    if (k->a == p)
        return (struct lead){ x->ratio, x->ratio_low, x->ratio_high, x->robust_ratio };
    return (struct lead){ 1 / x->ratio, 1 / x->ratio_high, 1 / x->ratio_low, 1 / x->robust_ratio };
}

/* Surely, and by its pairs too, the first n_all of all? What is simulated is sure. */
static bool leads_all(const struct contest *c, int n_all)
{
    for (int i = 1; i < n_all; i++) {
        const struct claim *k = claim_on(c, c->p[0], c->p[i]);
        if (!claim_is_exact(c->all, k) && (!k->holds || !(lead_of(k, c->p[0]).ratio > 1)))
            return false;
    }
    return true;
}

/* "2x1x1 wins: 1.21 x the samples/s of 2x1x2 (95 %: 1.15 to 1.28), 1.84 x those of 1x2x1 (95 %: 1.70 to 1.99)." */
static void tell_winner(const struct contest *c, FILE *to)
{
    const bool is_virtual = c->all->campaign->is_virtual;
    char name[NAMED_BYTES];

    fprintf(to, "%s: %s wins: ", c->who, name_of(name, c, c->p[0]));
    for (int i = 1; i < c->n; i++) {
        const struct claim *k = claim_on(c, c->p[0], c->p[i]);
        const struct lead lead = lead_of(k, c->p[0]);
        const double means = point_throughput(c->p[0]).mean / point_throughput(c->p[i]).mean;
        fprintf(to, "%s%.2f x %s of %s", i > 1 ? ", " : "", is_virtual ? means : lead.ratio,
                i > 1 ? "those" : "the samples/s", name_of(name, c, c->p[i]));
        if (!is_virtual)
            fprintf(to, " (95 %%: %.2f to %.2f)", lead.low, lead.high);
        if (!is_virtual)
            claim_tell_far_pairs(&k->x, lead.robust, to);
    }
    fprintf(to, "%s.\n", is_virtual ? " (simulated: no spread)" : "");
}

static void tell_pair(const struct contest *c, const struct point *other, FILE *to)
{
    const struct claim *k = claim_on(c, c->p[0], other);
    const struct point *fast = k->x.ratio > 1 ? k->a : k->b, *slow = fast == k->a ? k->b : k->a;
    const struct lead lead = lead_of(k, fast);
    char name[2][NAMED_BYTES];

    if (claim_is_exact(c->all, k)) {
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (simulated: no spread).\n", c->who,
                name_of(name[0], c, fast), name_of(name[1], c, slow), lead.ratio);
        return;
    }
    if (k->holds) {
        fprintf(to, "%s: %s is faster than %s: %.2f x the samples/s (95 %%: %.2f to %.2f)", c->who,
                name_of(name[0], c, fast), name_of(name[1], c, slow), lead.ratio, lead.low, lead.high);
        claim_tell_far_pairs(&k->x, lead.robust, to);
        fprintf(to, ".\n");
        return;
    }
    fprintf(to, "%s: cannot tell whether %s or %s is faster: ", c->who, name_of(name[0], c, k->a),
            name_of(name[1], c, k->b));
    claim_tell_not_told(c->all, k, to);
}

static bool is_known(const struct point *p)
{
    return !isnan(p->moves.activations_bytes) && !isnan(p->moves.gradients_bytes);
}

/* What the fastest moves, and the fastest of another kind, or else the next one. */
static void tell_why(const struct contest *c, FILE *to)
{
    const struct point *best = c->p[0], *other = c->p[1];
    const struct layout mine = point_layout(best);
    char name[2][NAMED_BYTES], clause[2][LAYOUT_CLAUSE_BYTES];

    for (int i = 1; i < c->n; i++) {
        const struct layout its = point_layout(c->p[i]);
        if (layout_is_of_another_kind(&its, &mine)) {
            other = c->p[i];
            break;
        }
    }
    if (!is_known(best) || !is_known(other))
        return;
    const struct layout its = point_layout(other);
    layout_describe(clause[0], &mine, &best->moves);
    layout_describe(clause[1], &its, &other->moves);
    fprintf(to, "%s: %s %s; %s %s.", c->who, name_of(name[0], c, best), clause[0], name_of(name[1], c, other),
            clause[1]);
    if (best->moves.memory_bytes > 0 && other->moves.memory_bytes > 0)
        fprintf(to, " A worker's rank needs %.4g MB, there %.4g.", 1e-6 * best->moves.memory_bytes,
                1e-6 * other->moves.memory_bytes);
    fprintf(to, "\n");
}

/* Of its contest. */
static bool is_first(const struct claims *all, const struct claim *k)
{
    return k == all->claim || k[-1].kind != k->kind || k[-1].contest != k->contest;
}

void claim_tell_layouts(const struct claims *all, const struct claim *k, FILE *to)
{
    struct contest c;

    if (!is_first(all, k))
        return;
    open_contest(&c, all, k);
    if (leads_all(&c, c.n))
        tell_winner(&c, to);
    else
        for (int i = 1; i < c.n; i++)
            tell_pair(&c, c.p[i], to);
    tell_why(&c, to);
}

/* --- the time to the target loss --- */

/* Those that reached it in every launch are at the front. Returns how many. */
static int keep_reached(struct contest *c)
{
    const struct point *missed[MAX_CONTESTANTS];
    int n = 0, n_missed = 0;

    for (int i = 0; i < c->n; i++)
        if (target_n_reached(c->p[i]) == c->p[i]->n_launches)
            c->p[n++] = c->p[i];
        else
            missed[n_missed++] = c->p[i];
    for (int i = 0; i < n_missed; i++)
        c->p[n + i] = missed[i];
    return n;
}

static void tell_missed(const struct contest *c, const struct point *p, FILE *to)
{
    char name[NAMED_BYTES];

    fprintf(to, "%s: %s reached the target loss in %zu of %zu launch%s: no verdict on it.\n", c->who,
            name_of(name, c, p), target_n_reached(p), p->n_launches, p->n_launches == 1 ? "" : "es");
}

/* "2x1x1 is at the target loss first, after 4 s: 2x1x2 takes 1.21 x as long (95 %: 1.15 to 1.28), 1x2x1 1.84 x." */
static void tell_soonest(const struct contest *c, int n, FILE *to)
{
    const bool is_virtual = c->all->campaign->is_virtual;
    char name[NAMED_BYTES];

    fprintf(to, "%s: %s is at the target loss first, after %.3g s: ", c->who, name_of(name, c, c->p[0]),
            to_target_s(c->p[0]));
    for (int i = 1; i < n; i++) {
        const struct claim *k = claim_on(c, c->p[0], c->p[i]);
        const struct lead lead = lead_of(k, c->p[0]);
        fprintf(to, "%s%s %s%.2f x%s", i > 1 ? ", " : "", name_of(name, c, c->p[i]), i > 1 ? "" : "takes ",
                is_virtual ? to_target_s(c->p[i]) / to_target_s(c->p[0]) : lead.ratio, i > 1 ? "" : " as long");
        if (!is_virtual)
            fprintf(to, " (95 %%: %.2f to %.2f)", lead.low, lead.high);
        if (!is_virtual)
            claim_tell_far_pairs(&k->x, lead.robust, to);
    }
    fprintf(to, "%s.\n", is_virtual ? " (simulated: no spread)" : "");
}

/* Does some pair of the first n differ surely, or is withheld? */
static bool some_differ(const struct contest *c, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            if (claim_on(c, c->p[i], c->p[k])->holds || claim_on(c, c->p[i], c->p[k])->withheld)
                return true;
    return false;
}

static void tell_none_sooner(const struct contest *c, int n, FILE *to)
{
    char name[NAMED_BYTES];

    fprintf(to, "%s: no layout is surely sooner at the target loss than another: ", c->who);
    for (int i = 0; i < n; i++)
        fprintf(to, "%s%s after %.3g s", i > 0 ? ", " : "", name_of(name, c, c->p[i]), to_target_s(c->p[i]));
    fprintf(to, "%s.\n", c->p[0]->n_launches < 2 ? "; fewer than 2 launches of each" : "");
}

static void tell_target_pair(const struct contest *c, const struct point *other, FILE *to)
{
    const struct claim *k = claim_on(c, c->p[0], other);
    const struct point *soon = k->x.ratio > 1 ? k->a : k->b, *late = soon == k->a ? k->b : k->a;
    const struct lead lead = lead_of(k, soon);
    char name[2][NAMED_BYTES];

    if (claim_is_exact(c->all, k)) {
        fprintf(to, "%s: %s is at the target loss sooner than %s, which takes %.2f x as long (simulated: no spread).\n",
                c->who, name_of(name[0], c, soon), name_of(name[1], c, late), lead.ratio);
        return;
    }
    if (!k->holds) {
        fprintf(to, "%s: cannot tell whether %s or %s is at the target loss first: ", c->who, name_of(name[0], c, k->a),
                name_of(name[1], c, k->b));
        claim_tell_doubt(c->all, k, to);
        return;
    }
    fprintf(to, "%s: %s is at the target loss sooner than %s, which takes %.2f x as long (95 %%: %.2f to %.2f)", c->who,
            name_of(name[0], c, soon), name_of(name[1], c, late), lead.ratio, lead.low, lead.high);
    claim_tell_far_pairs(&k->x, lead.robust, to);
    fprintf(to, ".\n");
}

void claim_tell_layouts_target(const struct claims *all, const struct claim *k, FILE *to)
{
    struct contest c;

    if (!is_first(all, k))
        return;
    open_contest(&c, all, k);
    const int n = keep_reached(&c);
    if (n > 1 && leads_all(&c, n))
        tell_soonest(&c, n, to);
    else if (n > 1 && !some_differ(&c, n))
        tell_none_sooner(&c, n, to);
    else
        for (int i = 1; i < n; i++)
            tell_target_pair(&c, c.p[i], to);
    for (int i = n; i < c.n; i++)
        tell_missed(&c, c.p[i], to);
}

void layouts_tell_shared_cores(const struct campaign *c, const struct point *like, FILE *to)
{
    const struct point *p[MAX_CONTESTANTS];
    char who[LAUNCH_NAME_BYTES + 32];

    if (!campaign_compares_layouts(c, like))
        return;
    for (int n_ranks = most_ranks(c); n_ranks > 0; n_ranks--) {
        if (find_contestants(p, c, like, n_ranks, true) < 2)
            continue;
        name_who(who, sizeof who, p[0]);
        fprintf(to, "%s: layouts are not compared: they have more threads than cores.\n", who);
    }
}

/*
 * What a value of an option that a campaign varies (--over) gives, over its first value.
 *
 * Of each mode at its largest number of workers, with as many workers and all other options alike.
 */

/* The point like p with the first value of this option, in the order of points; NULL: p has it itself, or none has. */
static const struct point *of_first_value(const struct campaign *c, const struct point *p, const char *option)
{
    struct assignment assigned[MAX_ASSIGNMENTS];
    const char *first = NULL;

    for (size_t i = 0; i < c->n_points && !first; i++)
        first = point_value(&c->point[i], option);
    memcpy(assigned, p->assigned, sizeof assigned);
    for (int k = 0; k < p->n_assigned; k++)
        if (strcmp(assigned[k].option, option) == 0)
            snprintf(assigned[k].value, sizeof assigned[k].value, "%s", first);
    const struct point *q = campaign_find(c, assigned, p->n_assigned);
    return q == p ? NULL : q;
}

enum rc claims_add_values(struct claims *all)
{
    const struct campaign *c = all->campaign;
    enum rc rc = RC_OK;

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        const char *option;
        if (p->n_launches == 0 || p->n_workers != campaign_largest(c, p, p->mode, NULL))
            continue;
        for (int k = 0; (option = campaign_other_option(c, k)) != NULL; k++) {
            const struct point *first = point_value(p, option) ? of_first_value(c, p, option) : NULL;
            if (!first || first->n_launches == 0)
                continue;
            TRY(claims_add(all, CLAIM_VALUE, p, first));
            all->claim[all->n_claims - 1].option = option;
        }
    }
out:
    return rc;
}

void claim_tell_value(const struct claims *all, const struct claim *k, FILE *to)
{
    const double ratio = point_throughput(k->a).mean / point_throughput(k->b).mean;
    const char *value = point_value(k->a, k->option), *first = point_value(k->b, k->option);
    char name[LAUNCH_NAME_BYTES];

    point_name(name, sizeof name, k->a);
    fprintf(to, "%s: ", name);
    if (claim_is_exact(all, k))
        fprintf(to, "%.2f x the samples/s of %s %s (simulated: no spread).\n", ratio, k->option, first);
    else if (k->holds)
        fprintf(to, "%.2f x the samples/s of %s %s (95 %%: %.2f to %.2f).\n", k->x.ratio, k->option, first,
                k->x.ratio_low, k->x.ratio_high);
    else {
        fprintf(to, "cannot tell whether %s %s or %s is faster: ", k->option, value, first);
        claim_tell_not_told(all, k, to);
    }
}
