/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - a campaign as tables for readers, with a row for each point. For programs: table_csv.c.
 *
 *   table     what it has                  its titles                  its cells        printed by
 *   short     the main results             campaign_print_short()      print_short()    compare; report --markdown
 *   results   all results                  campaign_print_results()    print_result()   report --text; page
 *   steps     the parts of a mean step     campaign_print_steps()      print_step()     report --text; page
 *
 * A new column is a title and a cell at the same position. Its meaning belongs in campaign_print_notes() (results,
 * steps) and in docs/compare.md. The expected text is in table_test.c, and in harness/verbs/words.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/target.h"
#include "harness/report/table.h"
#include "harness/train/job_batch.h"

static enum rc cell_number(struct table *t, const char *fmt, double value)
{
    char text[64];

    snprintf(text, sizeof text, fmt, value);
    return table_cell(t, "%s", !isfinite(value) ? "-" : text);
}

static enum rc cell_rates(struct table *t, const struct interval *i)
{
    char mean[32], low[32], high[32];
    enum rc rc;

    rate_text(mean, sizeof mean, i->mean);
    rate_text(low, sizeof low, i->low);
    rate_text(high, sizeof high, i->high);
    TRY(table_cell(t, "%s", mean));
    TRY(!isfinite(i->low)    ? table_cell(t, "-")
        : !isfinite(i->high) ? table_cell(t, "%s or more", low)
                             : table_cell(t, "%s .. %s", low, high));
out:
    return rc;
}

/* "0.720 (0.408 .. 1.269)" */
static enum rc cell_efficiency(struct table *t, const struct interval *i)
{
    char ends[INTERVAL_ENDS_BYTES];

    return !isfinite(i->low)
               ? cell_number(t, "%.3f", i->mean)
               : table_cell(t, "%.3f (%s)", i->mean, interval_ends(ends, "%.3f", " .. ", i->low, i->high));
}

/* "51.2 % (49.8 .. 52.7)"; "2 of 10 failed": then the others have no mean (train/bound.h, B3). */
static enum rc cell_bound(struct table *t, const struct point *p)
{
    const struct interval i = point_bound(p);
    const size_t n_failed = point_n_failed_bounds(p);
    char ends[INTERVAL_ENDS_BYTES];

    if (n_failed > 0)
        return table_cell(t, "%zu of %zu failed", n_failed, p->n_launches);
    return !isfinite(i.low) ? cell_number(t, "%.1f %%", 100 * i.mean)
                            : table_cell(t, "%.1f %% (%s)", 100 * i.mean,
                                         interval_ends(ends, "%.1f", " .. ", 100 * i.low, 100 * i.high));
}

/* "104.2 ±3.1": two digits of half the interval, the mean as exact. Launches that are all equal: the mean alone. */
static enum rc cell_microseconds(struct table *t, const struct interval *seconds)
{
    enum { MOST_DECIMALS = 3 };
    const double us = 1e6 * seconds->mean, half_us = 1e6 * (seconds->high - seconds->mean);

    if (!(half_us > 0))
        return cell_number(t, us < 9999.5 ? "%.4g" : "%.0f", us);
    const double digits = 1 - floor(log10(half_us));
    const int n_decimals = digits > MOST_DECIMALS ? MOST_DECIMALS : digits > 0 ? (int)digits : 0;
    return table_cell(t, "%.*f ±%.*f", n_decimals, us, n_decimals, half_us);
}

const char *point_size_title(const struct campaign *c)
{
    return campaign_has_layouts(c) ? "layout" : "workers";
}

enum rc point_print_size(struct table *t, const struct campaign *c, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    return campaign_has_layouts(c) ? table_cell(t, "%s", text) : table_cell(t, "%d", p->n_workers);
}

static enum rc cells_of_point(struct table *t, const struct campaign *c, const struct point *p)
{
    enum rc rc;

    TRY(table_cell(t, "%s", p->workload->module.name));
    TRY(table_cell(t, "%s", p->mode->name));
    TRY(table_cell(t, "%d%s%s", p->n_workers, p->oversubscribed ? "*" : "", p->servers_share ? "+" : ""));
    if (campaign_has_layouts(c))
        TRY(point_print_size(t, c, p));
    for (int i = 0; campaign_other_option(c, i); i++) {
        const char *value = point_value(p, campaign_other_option(c, i));
        TRY(table_cell(t, "%s", value ? value : "-"));
    }
out:
    return rc;
}

/* "3 of 10" launches, of each mark that some point has. */
static enum rc cells_of_marks(struct table *t, const struct campaign *c, const struct point *p)
{
    enum rc rc = RC_OK;

    for (enum launch_mark mark = 0; mark < N_MARKS; mark++) {
        const size_t n_marked = point_n_marked(p, mark);
        if (!campaign_has_mark(c, mark))
            continue;
        TRY(n_marked > 0 ? table_cell(t, "%zu of %zu", n_marked, p->n_launches) : table_cell(t, "-"));
    }
out:
    return rc;
}

/* "2", "3, given up": launches that failed, where those of some point did. */
static enum rc cell_failures(struct table *t, const struct campaign *c, const struct point *p)
{
    if (!campaign_has_failures(c))
        return RC_OK;
    return p->n_failures == 0 ? table_cell(t, "-")
                              : table_cell(t, "%zu%s", p->n_failures, p->is_given_up ? ", given up" : "");
}

/* A number of samples, or what there is none of. */
static enum rc cell_samples(struct table *t, double samples_count)
{
    char text[32];

    rate_text(text, sizeof text, samples_count);
    return table_cell(t, "%s", text);
}

/* Seconds and samples until the target loss; "2 of 3": so many launches reached it. */
static enum rc cells_target(struct table *t, const struct point *p)
{
    const size_t n_reached = target_n_reached(p);
    enum rc rc;

    if (n_reached > 0 && n_reached < p->n_launches)
        TRY(table_cell(t, "%zu of %zu", n_reached, p->n_launches));
    else
        TRY(cell_number(t, "%.3g s", point_mean(p, offsetof(struct launch, seconds_to_target_s))));
    TRY(cell_samples(t, point_mean(p, offsetof(struct launch, samples_to_target_count))));
out:
    return rc;
}

static bool is_tuned(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].tuned_lr > 0)
            return true;
    return false;
}

/* Batch and rate where they differ between points. */
static enum rc cells_of_what_differs(struct table *t, const struct campaign *c, const struct point *p)
{
    enum rc rc = RC_OK;

    if (campaign_scales_strongly(c))
        TRY(cell_number(t, "%.0f", p->batch_per_worker_count > 0 ? (double)p->batch_per_worker_count : (double)NAN));
    if (is_tuned(c))
        TRY(cell_number(t, "%.3g", p->tuned_lr > 0 ? p->tuned_lr : NAN));
out:
    return rc;
}

static enum rc cells_of_learning(struct table *t, const struct campaign *c, const struct point *p)
{
    enum rc rc;

    TRY(cell_number(t, "%.4f", point_loss_at(p, campaign_equal_samples(c, p))));
    TRY(cell_number(t, "%.2f %%", 100 * point_mean(p, offsetof(struct launch, accuracy_ratio))));
    TRY(cell_samples(t, point_samples(p)));
    TRY(cells_target(t, p));
out:
    return rc;
}

static enum rc print_result(struct table *t, const struct campaign *c, const struct point *p)
{
    const struct interval throughput = point_throughput(p), efficiency = campaign_efficiency(c, p);
    enum rc rc;

    TRY(cells_of_point(t, c, p));
    TRY(cells_of_what_differs(t, c, p));
    TRY(table_cell(t, "%ld", point_n_cores(p)));
    TRY(cell_rates(t, &throughput));
    TRY(cell_efficiency(t, &efficiency));
    TRY(cell_bound(t, p));
    TRY(cells_of_learning(t, c, p));
    TRY(cell_number(t, "%.2f", point_mean(p, offsetof(struct launch, staleness_mean_count))));
    TRY(cells_of_marks(t, c, p));
    TRY(cell_failures(t, c, p));
out:
    return rc;
}

static enum rc print_step(struct table *t, const struct campaign *c, const struct point *p)
{
    const struct interval whole = point_interval(p, step_whole.at);
    enum rc rc;

    TRY(cells_of_point(t, c, p));
    TRY(cell_microseconds(t, &whole));
    for (int i = 0; i < N_STEP_PARTS; i++) {
        const struct interval part = point_interval(p, step_parts[i].at);
        TRY(cell_microseconds(t, &part));
    }
out:
    return rc;
}

static bool any(const struct campaign *c, size_t flag_offset)
{
    for (size_t i = 0; i < c->n_points; i++) {
        bool flag;
        memcpy(&flag, (const char *)&c->point[i] + flag_offset, sizeof flag);
        if (flag)
            return true;
    }
    return false;
}

/* Has some point nothing that its efficiency is measured by? */
static bool lacks_baseline(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (!campaign_find_baseline(c, &c->point[i]))
            return true;
    return false;
}

static size_t n_failed_bounds(const struct campaign *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n_points; i++)
        n += point_n_failed_bounds(&c->point[i]);
    return n;
}

static bool has_single_launch(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].n_launches == 1)
            return true;
    return false;
}

typedef enum rc print_fn(struct table *t, const struct campaign *c, const struct point *p);

/* Prints a table. Its first columns are what a point assigns: model, mode, workers, and each other option that the
 * campaign sweeps. after[n_after] are the columns after them. */
static enum rc print_points(const struct campaign *c, const struct column *after, size_t n_after, print_fn *print,
                            show_table_fn *show, FILE *to)
{
    enum { MOST_AFTER = 20 };
    struct column column[4 + MAX_ASSIGNMENTS + MOST_AFTER] = { { "model", ALIGN_LEFT },
                                                               { "mode", ALIGN_LEFT },
                                                               { "workers", ALIGN_RIGHT } };
    struct table *t = NULL;
    size_t n = 3;
    enum rc rc;

    assert(n_after <= MOST_AFTER);
    if (campaign_has_layouts(c))
        column[n++] = (struct column){ "layout", ALIGN_LEFT };
    for (int i = 0; campaign_other_option(c, i); i++)
        column[n++] = (struct column){ campaign_other_option(c, i), ALIGN_RIGHT };
    memcpy(column + n, after, n_after * sizeof *after);
    TRY(table_open(&t, column, n + n_after));
    for (size_t i = 0; i < c->n_points; i++) {
        if (i > 0 && c->point[i].workload != c->point[i - 1].workload)
            TRY(table_rule(t));
        TRY(print(t, c, &c->point[i]));
    }
    show(t, to);
out:
    table_close(&t);
    return rc;
}

/* Columns before `always`: with strong scaling the batch of a worker; learning rates, if they were tuned. Columns after
 * it: one for each mark that some launch has, and one for failures if there are any. */
enum rc campaign_print_results(const struct campaign *c, show_table_fn *show, FILE *to)
{
    static const struct column always[] = {
        { "cores", ALIGN_RIGHT },      { "samples/s", ALIGN_RIGHT }, { "95 % interval", ALIGN_RIGHT },
        { "efficiency", ALIGN_RIGHT }, { "of bound", ALIGN_RIGHT },  { "loss", ALIGN_RIGHT },
        { "accuracy", ALIGN_RIGHT },   { "after", ALIGN_RIGHT },     { "to target", ALIGN_RIGHT },
        { "in", ALIGN_RIGHT },         { "staleness", ALIGN_RIGHT },
    };
    enum { N_ALWAYS = sizeof always / sizeof *always, AT_EFFICIENCY = 3 };
    const bool is_strong = campaign_scales_strongly(c);
    struct column after[2 + N_ALWAYS + N_MARKS + 1];
    size_t n = 0;

    if (is_strong)
        after[n++] = (struct column){ "batch each", ALIGN_RIGHT };
    if (is_tuned(c))
        after[n++] = (struct column){ "lr", ALIGN_RIGHT };
    memcpy(after + n, always, sizeof always);
    if (is_strong)
        after[n + AT_EFFICIENCY].title = "strong efficiency";
    n += N_ALWAYS;
    for (enum launch_mark mark = 0; mark < N_MARKS; mark++)
        if (campaign_has_mark(c, mark))
            after[n++] = (struct column){ mark_column(mark), ALIGN_RIGHT };
    if (campaign_has_failures(c))
        after[n++] = (struct column){ "failed", ALIGN_RIGHT };
    return print_points(c, after, n, print_result, show, to);
}

/* Losses are of equal samples: of how many, for the points of each representative. */
static void print_note_of_losses(const struct campaign *c, FILE *to)
{
    char setting[LAUNCH_NAME_BYTES], samples[32];
    bool is_first = true;

    for (size_t i = 0; i < c->n_points; i++) {
        const double equal = campaign_equal_samples(c, &c->point[i]);
        if (!campaign_represents(c, i) || isnan(equal))
            continue;
        point_setting(setting, sizeof setting, &c->point[i], ", ", " ");
        rate_text(samples, sizeof samples, equal);
        fprintf(to, "%s%s (%s)",
                is_first ? "loss: mean over the last tenth of the first N samples of all workers; N: " : "; ", samples,
                setting);
        is_first = false;
    }
    if (!is_first)
        fprintf(to, "\n");
}

/* Why the column "to target" is empty. */
static void print_note_of_targets(const struct campaign *c, FILE *to)
{
    char setting[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!campaign_represents(c, i) || !target_none_reached(c, p))
            continue;
        point_setting(setting, sizeof setting, p, ", ", " ");
        fprintf(to, "to target: no run of %s reached the target loss", setting);
        target_tell_steps(c, p, to);
    }
}

enum rc campaign_print_steps(const struct campaign *c, show_table_fn *show, FILE *to)
{
    struct column after[1 + N_STEP_PARTS] = { { "step us", ALIGN_RIGHT } };

    for (int i = 0; i < N_STEP_PARTS; i++)
        after[1 + i] = (struct column){ step_parts[i].name, ALIGN_RIGHT };
    return print_points(c, after, 1 + N_STEP_PARTS, print_step, show, to);
}

/* Of what there are intervals, and where there are none. */
static void print_note_of_intervals(const struct campaign *c, FILE *to)
{
    if (c->is_virtual)
        fprintf(to, "simulated launches are equal: efficiency and step are exact, the interval is within the run\n");
    else if (has_single_launch(c))
        fprintf(to, "of a point with a single launch the interval is within this run, not over launches; efficiency\n"
                    "and step have none\n");
}

void campaign_print_notes(const struct campaign *c, FILE *to)
{
    const bool is_strong = campaign_scales_strongly(c), has_layouts = campaign_has_layouts(c);

    fprintf(
        to,
        "intervals: 95 %%, over launches; of efficiency over pairs of launches in the same block. efficiency:\n"
        "throughput / (%s x throughput of %s), with the same batch of %s: %s scaling.\n"
        "of bound: throughput / what the slowest of compute, wire and server allows. accuracy: after so many\n"
        "samples of all workers; - without test images. to target: seconds until the target loss, in so many samples.\n"
        "staleness: updates by others between a pull and its push. step: a worker's mean step, which is compute to\n"
        "rest; rest: what the measured parts leave. cores: of a point's workers, one for each thread%s.\n",
        has_layouts ? "ranks" : "workers", has_layouts ? "one rank alone" : "single",
        is_strong ? "all workers together" : "each worker", scaling_text(is_strong),
        any(c, offsetof(struct point, servers_beside)) ? ";\nof servers beside workers none, of others one for each"
                                                       : ", and one for each server");
    if (has_layouts)
        fprintf(to,
                "layout: workers x stages of each x shards of the dense layers. ranks: workers x stages, each of which "
                "has\nits cores. step, of a layout with stages: of its first one; wait: for other stages and shards "
                "too\n");
    print_note_of_losses(c, to);
    print_note_of_targets(c, to);
    print_note_of_intervals(c, to);
    if (n_failed_bounds(c) > 0)
        fprintf(to,
                "of bound, failed: launches that did more than their parts could do when measured; the others' mean\n"
                "would look right, and is not shown\n");
    if (lacks_baseline(c))
        fprintf(to, "efficiency needs single with 1 worker, which --no-baseline left out\n");
    if (any(c, offsetof(struct point, oversubscribed)))
        fprintf(to, "* more threads of workers than cores\n");
    if (any(c, offsetof(struct point, servers_share)))
        fprintf(to, "+ the server shares the workers' cores\n");
    campaign_tell_marks(c, to);
}

enum rc campaign_print(const struct campaign *c, FILE *to)
{
    enum rc rc;

    if (c->exchange[0])
        fprintf(to, "exchange: %s\n\n", c->exchange);
    TRY(campaign_print_results(c, table_print, to));
    fprintf(to, "\n");
    TRY(campaign_print_steps(c, table_print, to));
    fprintf(to, "\n");
    campaign_print_notes(c, to);
out:
    return rc;
}

/* --- the short table, which compare prints --- */

enum short_mark {
    SHORT_SHARED,
    SHORT_BESIDE,
    SHORT_DISTURBED,
    SHORT_UNSTEADY,
    SHORT_TOO_SHORT,
    SHORT_UNLEARNED,
    SHORT_FAILED,
    N_SHORT
};

static bool has_short_mark(const struct point *p, enum short_mark mark)
{
    switch (mark) {
    case SHORT_SHARED:
        return p->oversubscribed;
    case SHORT_BESIDE:
        return p->servers_share;
    case SHORT_DISTURBED:
        return point_is_marked(p, MARK_DISTURBED);
    case SHORT_UNSTEADY:
        return point_is_marked(p, MARK_UNSTEADY);
    case SHORT_TOO_SHORT:
        return p->n_launches > 0 && !isfinite(point_throughput(p).mean);
    case SHORT_UNLEARNED:
        return point_n_unlearned(p) > 0;
    case SHORT_FAILED:
        return p->n_failures > 0;
    case N_SHORT:
        break;
    }
    return false;
}

static const char short_mark_letter[N_SHORT + 1] = "*+dusnf";

static void short_marks(char out[N_SHORT + 1], const struct point *p)
{
    size_t n = 0;

    for (int mark = 0; mark < N_SHORT; mark++)
        if (has_short_mark(p, (enum short_mark)mark))
            out[n++] = short_mark_letter[mark];
    out[n] = '\0';
}

/* Half of the interval, in percent of the mean; "-": there is none. */
static enum rc cell_half_width(struct table *t, const struct interval *i)
{
    const double half = 50 * (i->high - i->low) / i->mean;

    if (half > 100)
        return table_cell(t, "over 100 %%");
    return isfinite(half) && half >= 0.05 ? table_cell(t, half < 9.95 ? "±%.1f %%" : "±%.0f %%", half)
                                          : table_cell(t, "-");
}

static enum rc cell_time_to_target(struct table *t, const struct point *p)
{
    const size_t n_reached = target_n_reached(p);

    if (n_reached > 0 && n_reached < p->n_launches)
        return table_cell(t, "%zu of %zu runs", n_reached, p->n_launches);
    return cell_number(t, "%.3g s", point_mean(p, offsetof(struct launch, seconds_to_target_s)));
}

static enum rc print_short(struct table *t, const struct campaign *c, const struct point *p)
{
    const struct interval throughput = point_throughput(p), efficiency = campaign_efficiency(c, p);
    char marks[N_SHORT + 1], rate[32];
    enum rc rc;

    short_marks(marks, p);
    rate_text(rate, sizeof rate, throughput.mean);
    TRY(cells_of_point(t, c, p));
    if (is_tuned(c))
        TRY(cell_number(t, "%.3g", p->tuned_lr > 0 ? p->tuned_lr : NAN));
    TRY(table_cell(t, "%s", rate));
    TRY(cell_half_width(t, &throughput));
    TRY(cell_number(t, "%.2f", efficiency.mean));
    TRY(point_n_failed_bounds(p) > 0 ? table_cell(t, "failed") : cell_number(t, "%.0f %%", 100 * point_bound(p).mean));
    TRY(cell_time_to_target(t, p));
    TRY(table_cell(t, "%s", marks));
out:
    return rc;
}

/* Does the mark hold for all launches of a point that has it? */
static bool has_short_mark_whole(const struct point *p, enum short_mark mark)
{
    return mark == SHORT_UNLEARNED ? point_n_unlearned(p) == p->n_launches : p->n_launches == 0;
}

/* "f  some runs failed (2 of 4 rows; in 1 of them all runs failed)" */
static void tell_some(const struct campaign *c, enum short_mark mark, const char *some, const char *all, size_t n,
                      FILE *to)
{
    size_t n_whole = 0;

    for (size_t i = 0; i < c->n_points; i++)
        n_whole += has_short_mark(&c->point[i], mark) && has_short_mark_whole(&c->point[i], mark);
    fprintf(to, "%c  %s (%zu of %zu rows", short_mark_letter[mark], n_whole == n ? all : some, n, c->n_points);
    if (n_whole > 0 && n_whole < n)
        fprintf(to, "; in %zu of them %s", n_whole, all);
    fputs(")\n", to);
}

void campaign_print_short_marks(const struct campaign *c, FILE *to)
{
    const struct {
        const char *meaning, *of_all; /* of_all: NULL: the meaning is the same for all launches */
    } of[N_SHORT] = {
        [SHORT_SHARED] = { "more threads of workers than cores: no statement about scaling", NULL },
        [SHORT_BESIDE] = { "the servers share the workers' cores", NULL },
        [SHORT_DISTURBED] = { mark_meaning(MARK_DISTURBED), NULL },
        [SHORT_UNSTEADY] = { mark_meaning(MARK_UNSTEADY), NULL },
        [SHORT_TOO_SHORT] = { "no throughput: in some run the workers never trained all at once; use more --steps",
                              NULL },
        [SHORT_UNLEARNED] = { "some runs did not learn", "no run learned" },
        [SHORT_FAILED] = { "some runs failed", "all runs failed" },
    };

    for (int mark = 0; mark < N_SHORT; mark++) {
        size_t n = 0;
        for (size_t i = 0; i < c->n_points; i++)
            n += has_short_mark(&c->point[i], (enum short_mark)mark);
        if (n > 0 && of[mark].of_all)
            tell_some(c, (enum short_mark)mark, of[mark].meaning, of[mark].of_all, n, to);
        else if (n > 0)
            fprintf(to, "%c  %s (%zu of %zu rows)\n", short_mark_letter[mark], of[mark].meaning, n, c->n_points);
    }
}

enum rc campaign_print_short(const struct campaign *c, show_table_fn *show, FILE *to)
{
    static const struct column always[] = { { "samples/s", ALIGN_RIGHT },      { "95 % CI", ALIGN_RIGHT },
                                            { "efficiency", ALIGN_RIGHT },     { "of bound", ALIGN_RIGHT },
                                            { "time to target", ALIGN_RIGHT }, { "marks", ALIGN_LEFT } };
    enum { N_ALWAYS = sizeof always / sizeof *always };
    struct column after[1 + N_ALWAYS];
    size_t n = 0;

    if (is_tuned(c))
        after[n++] = (struct column){ "lr", ALIGN_RIGHT };
    memcpy(after + n, always, sizeof always);
    return print_points(c, after, n + N_ALWAYS, print_short, show, to);
}
