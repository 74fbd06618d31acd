/* SPDX-License-Identifier: Apache-2.0 */
/* diff.c - two campaigns, point by point. */
#include "harness/campaign/diff.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/diff_parts.h"
#include "harness/measure/independent.h"
#include "harness/report/table.h"

static const double SAME_RATIO = 1e-9; /* simulated throughputs that rounding alone tells apart */

static const char *const outcome_text[] = {
    [BETTER] = "better", [WORSE] = "worse", [UNTOLD] = "cannot tell", [EQUAL] = "equal", [NOT_COMPARED] = "not compared"
};

static const struct point *point_of(const struct diff *d, int which, const struct pair *p)
{
    return &d->of[which]->campaign.point[which ? p->b : p->a];
}

/* N2 */
static void note_samples(const struct diff *d, struct pair *p)
{
    static const char *const keys[] = { "task", "dataset", "image_size_px", "classes_count", "params_count" };
    char text[DIFF_TEXT_BYTES];

    p->differs[0] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const size_t n_used = strlen(p->differs);
        if (diff_values(text, sizeof text, keys[i], json_object_get(diff_about(d, 0, p)->summary, keys[i]),
                        json_object_get(diff_about(d, 1, p)->summary, keys[i])))
            snprintf(p->differs + n_used, sizeof p->differs - n_used, "%s%s", n_used > 0 ? ", " : "", text);
    }
}

/* --- comparing --- */

/* The throughputs of all launches; 0: some launch has none. */
static size_t throughputs(double *out, const struct point *p)
{
    point_values(out, p, offsetof(struct launch, throughput_samples_per_s));
    for (size_t i = 0; i < p->n_launches; i++)
        if (!(out[i] > 0))
            return 0;
    return p->n_launches;
}

static struct contrast contrast_of(const struct diff *d, const struct pair *p)
{
    double a[MAX_LAUNCHES], b[MAX_LAUNCHES];
    const size_t n_a = throughputs(a, point_of(d, 0, p)), n_b = throughputs(b, point_of(d, 1, p));

    return compare_independent(b, n_b, a, n_a);
}

/* N5 */
static bool is_withheld(const struct diff *d, const struct pair *p)
{
    return !p->differs[0] && (point_is_doubtful(point_of(d, 0, p)) || point_is_doubtful(point_of(d, 1, p)));
}

static bool is_tested(const struct diff *d, const struct pair *p)
{
    return !d->of[0]->campaign.is_virtual && !p->differs[0] && p->x.n_first > 1 && p->x.n_second > 1 &&
           !is_withheld(d, p);
}

static enum outcome virtual_outcome(const struct pair *p)
{
    if (isnan(p->x.ratio))
        return UNTOLD;
    return fabs(p->x.ratio - 1) < SAME_RATIO ? EQUAL : p->x.ratio > 1 ? BETTER : WORSE;
}

/* N4 */
static enum rc judge(struct diff *d)
{
    double *p = malloc((d->n_pairs + 1) * sizeof *p);
    bool *holds = malloc((d->n_pairs + 1) * sizeof *holds);
    enum rc rc = RC_OK;

    if (!p || !holds)
        FAIL(RC_NOMEM, "no memory for %zu points", d->n_pairs);
    for (size_t i = 0; i < d->n_pairs; i++)
        if (is_tested(d, &d->pair[i]))
            p[d->n_tested++] = d->pair[i].x.p;
    verdicts_that_hold(holds, p, d->n_tested);
    for (size_t i = 0, k = 0; i < d->n_pairs; i++) {
        struct pair *at = &d->pair[i];
        const bool is_held = is_tested(d, at) && holds[k++];
        at->outcome = is_held ? at->x.ratio > 1 ? BETTER : WORSE : UNTOLD;
        if (at->differs[0])
            at->outcome = NOT_COMPARED;
        else if (d->of[0]->campaign.is_virtual)
            at->outcome = virtual_outcome(at);
    }
out:
    free(p);
    free(holds);
    return rc;
}

/* N1, in the order of the first campaign. */
static enum rc pair_points(struct diff *d)
{
    const struct campaign *a = &d->of[0]->campaign, *b = &d->of[1]->campaign;
    size_t n_compared = 0;

    d->pair = calloc(a->n_points, sizeof *d->pair);
    if (!d->pair)
        return rc_raise(RC_NOMEM, "no memory for %zu points", a->n_points);
    for (size_t i = 0; i < a->n_points; i++) {
        const struct point *same = campaign_find(b, a->point[i].assigned, a->point[i].n_assigned);
        struct pair *p = &d->pair[d->n_pairs];
        if (!same)
            continue;
        d->n_pairs++;
        p->a = i;
        p->b = (size_t)(same - b->point);
        note_samples(d, p);
        p->x = contrast_of(d, p);
        n_compared += p->differs[0] == '\0';
    }
    if (d->n_pairs == 0)
        return rc_raise(RC_INVAL, "%s and %s: no point is in both", d->of[0]->name, d->of[1]->name);
    if (n_compared == 0)
        return rc_raise(RC_INVAL, "%s and %s: no point can be compared: %s", d->of[0]->name, d->of[1]->name,
                        d->pair[0].differs);
    return RC_OK;
}

/* --- what is told --- */

static void tell_which(const struct recorded *k, char letter, FILE *to)
{
    char date[64], host[128], commit[64];

    recorded_text(date, sizeof date, json_object_get(recorded_manifest(k), "date_utc"));
    recorded_text(host, sizeof host, json_object_get(recorded_manifest(k), "host"));
    recorded_text(commit, sizeof commit, json_object_get(recorded_manifest(k), "git_commit"));
    fprintf(to, "%c: %s, %s, host %s, commit %.12s%s\n", letter, k->name, date, host, commit,
            json_is_true(json_object_get(recorded_manifest(k), "git_dirty")) ? " with changes" : "");
}

static enum rc add_marks(struct table *t, const struct diff *d, const struct pair *p)
{
    for (enum launch_mark mark = 0; mark < N_MARKS; mark++)
        if (campaign_has_mark(&d->of[0]->campaign, mark) || campaign_has_mark(&d->of[1]->campaign, mark)) {
            const enum rc rc = table_cell(t, "%zu, %zu", point_n_marked(point_of(d, 0, p), mark),
                                          point_n_marked(point_of(d, 1, p), mark));
            if (rc != RC_OK)
                return rc;
        }
    return RC_OK;
}

static enum rc add_pair(struct table *t, const struct diff *d, const struct pair *p)
{
    const struct point *a = point_of(d, 0, p), *b = point_of(d, 1, p);
    char rate[2][32];
    enum rc rc;

    rate_text(rate[0], sizeof rate[0], point_throughput(a).mean);
    rate_text(rate[1], sizeof rate[1], point_throughput(b).mean);
    TRY(table_cell(t, "%s", a->workload->module.name));
    TRY(table_cell(t, "%s", a->mode->name));
    TRY(point_print_size(t, &d->of[0]->campaign, a));
    TRY(table_cell(t, "%s", rate[0]));
    TRY(table_cell(t, "%s", rate[1]));
    if (p->differs[0] || isnan(p->x.ratio))
        TRY(table_cell(t, "-"));
    else
        TRY(table_cell(t, "%.3f", p->x.ratio));
    if (p->differs[0] || isnan(p->x.ratio_low))
        TRY(table_cell(t, "-"));
    else
        TRY(table_cell(t, "%.3f .. %.3f", p->x.ratio_low, p->x.ratio_high));
    TRY(table_cell(t, "%s", outcome_text[p->outcome]));
    TRY(table_cell(t, "%zu, %zu", a->n_launches, b->n_launches));
    TRY(add_marks(t, d, p));
out:
    return rc;
}

static enum rc print_table(const struct diff *d, FILE *to)
{
    struct column column[9 + N_MARKS] = { { "model", ALIGN_LEFT },
                                          { "mode", ALIGN_LEFT },
                                          { point_size_title(&d->of[0]->campaign), ALIGN_RIGHT },
                                          { "A samples/s", ALIGN_RIGHT },
                                          { "B samples/s", ALIGN_RIGHT },
                                          { "B / A", ALIGN_RIGHT },
                                          { "95 % interval", ALIGN_RIGHT },
                                          { "B is", ALIGN_LEFT },
                                          { "launches", ALIGN_RIGHT } };
    struct table *t = NULL;
    size_t n = 9;
    enum rc rc;

    for (enum launch_mark mark = 0; mark < N_MARKS; mark++)
        if (campaign_has_mark(&d->of[0]->campaign, mark) || campaign_has_mark(&d->of[1]->campaign, mark))
            column[n++] = (struct column){ mark_column(mark), ALIGN_RIGHT };
    TRY(table_open(&t, column, n));
    for (size_t i = 0; i < d->n_pairs; i++) {
        if (i > 0 && point_of(d, 0, &d->pair[i])->workload != point_of(d, 0, &d->pair[i - 1])->workload)
            TRY(table_rule(t));
        TRY(add_pair(t, d, &d->pair[i]));
    }
    table_print(t, to);
out:
    table_close(&t);
    return rc;
}

/* N2, and points that are fast for nothing. */
static void tell_pairs(const struct diff *d, FILE *to)
{
    char name[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < d->n_pairs; i++) {
        const struct point *a = point_of(d, 0, &d->pair[i]), *b = point_of(d, 1, &d->pair[i]);
        point_name(name, sizeof name, a);
        if (d->pair[i].differs[0])
            fprintf(to, "%s: not compared: %s\n", name, d->pair[i].differs);
        if (point_n_unlearned(a) > 0 || point_n_unlearned(b) > 0)
            fprintf(to, "%s: did not learn in %zu of %zu launches of A, in %zu of %zu of B\n", name,
                    point_n_unlearned(a), a->n_launches, point_n_unlearned(b), b->n_launches);
    }
}

/* N1 */
static void tell_missing(const struct diff *d, int which, FILE *to)
{
    const struct campaign *mine = &d->of[which]->campaign, *other = &d->of[1 - which]->campaign;
    char name[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < mine->n_points; i++) {
        if (campaign_find(other, mine->point[i].assigned, mine->point[i].n_assigned))
            continue;
        point_name(name, sizeof name, &mine->point[i]);
        fprintf(to, "%s: in %c alone\n", name, which ? 'B' : 'A');
    }
}

/* Why a point has fewer launches than others, or none. */
static void tell_failures(const struct diff *d, int which, FILE *to)
{
    if (!campaign_has_failures(&d->of[which]->campaign))
        return;
    fprintf(to, "\nLaunches of %c that failed:\n", which ? 'B' : 'A');
    campaign_tell_failures(&d->of[which]->campaign, to);
}

static void count(const struct diff *d, struct diff_counts *out)
{
    *out = (struct diff_counts){ 0, 0, 0, 0 };
    for (size_t i = 0; i < d->n_pairs; i++) {
        const enum outcome outcome = d->pair[i].outcome;
        out->n_better += outcome == BETTER;
        out->n_worse += outcome == WORSE;
        out->n_untold += outcome == UNTOLD || outcome == EQUAL;
        out->n_not_compared += outcome == NOT_COMPARED;
    }
}

static void tell_withheld(const struct diff *d, FILE *to)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n_pairs; i++)
        n += is_withheld(d, &d->pair[i]);
    if (n > 0)
        fprintf(
            to,
            "%zu verdict%s withheld: more than %.0f %% of the launches of a point are disturbed or without a steady "
            "state.\n",
            n, n == 1 ? " is" : "s are", 100 * WITHHELD_RATIO);
}

static void tell_sum(const struct diff *d, const struct diff_counts *n, FILE *to)
{
    const bool is_virtual = d->of[0]->campaign.is_virtual;

    fprintf(to, "\nB against A: better in %zu, worse in %zu, %s in %zu of %zu points", n->n_better, n->n_worse,
            is_virtual ? "equal" : "cannot tell", n->n_untold, d->n_pairs);
    if (n->n_not_compared > 0)
        fprintf(to, ", %zu not compared", n->n_not_compared);
    fprintf(to, ".\n");
    tell_withheld(d, to);
    if (is_virtual)
        fprintf(to, "Simulated throughputs have no spread: any difference is one.\n");
    else
        fprintf(
            to,
            "Of %zu comparisons all verdicts are right in 95 %% of cases (Welch's test on logarithms, Holm); each "
            "interval\nis 95 %% by itself, over the launches of each campaign. What changed on the machine between the "
            "two campaigns\nis in the ratio and not in the interval: two campaigns of the same program tell how much "
            "that is.\n",
            d->n_tested);
}

enum rc campaign_diff(const struct recorded *a, const struct recorded *b, struct diff_counts *out, FILE *to)
{
    struct diff d = { .of = { a, b } };
    enum rc rc;

    if (a->campaign.is_virtual != b->campaign.is_virtual)
        return rc_raise(RC_INVAL, "%s is simulated, %s was measured: they cannot be compared",
                        (a->campaign.is_virtual ? a : b)->name, (a->campaign.is_virtual ? b : a)->name);
    TRY(pair_points(&d));
    TRY(judge(&d));
    tell_which(a, 'A', to);
    tell_which(b, 'B', to);
    diff_tell_conditions(&d, to);
    fprintf(to, "\n");
    TRY(print_table(&d, to));
    tell_pairs(&d, to);
    tell_missing(&d, 0, to);
    tell_missing(&d, 1, to);
    tell_failures(&d, 0, to);
    tell_failures(&d, 1, to);
    count(&d, out);
    tell_sum(&d, out, to);
out:
    free(d.pair);
    return rc;
}
