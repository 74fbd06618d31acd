/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - a campaign as tables, with a row for each point: for readers, and for programs as comma-separated values.
 *
 *   table     what it has                  its columns       printed by
 *   short     the main results             short_columns     compare; report --format markdown
 *   results   all results                  result_columns    report --format text; page
 *   steps     the parts of a mean step     step_columns      report --format text; page
 *
 * Before them each table has first_columns. A new column is a row of one of these. It needs a figure of
 * launch_figures.h, whose mean over the launches it prints, or a function that prints its cell. Its meaning belongs in
 * campaign_print_notes() (results, steps) and in docs/compare.md. The expected text is in table_test.c, and in
 * harness/verbs/words.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/curves.h"
#include "harness/report/table.h"
#include "harness/train/job_batch.h"

struct cell { /* of a point; which one: `print` of its column */
    struct table *to;
    const struct campaign *campaign;
    const struct point *point;
    const struct point_column *column;
    int i; /* of a column of a row with title_of: its number */
};

struct point_column {
    struct column head;
    void (*print)(const struct cell *at);
    struct { /* what print_mean() prints: the mean of a member of struct launch, times `scale` */
        size_t at;
        double scale;
        const char *format;
    } figure;
    bool (*is_shown)(const struct campaign *c); /* NULL: always */
    /* NULL: one column, `head`. Otherwise the row stands for a column for each title; NULL ends them. */
    const char *(*title_of)(const struct campaign *c, int i);
};

static void cell_number(struct table *t, const char *fmt, double value)
{
    char text[64];

    snprintf(text, sizeof text, fmt, value);
    table_cell(t, "%s", !isfinite(value) ? "-" : text);
}

/* "104.2 ±3.1": two digits of half the interval, the mean as exact. Launches that are all equal: the mean alone. */
static void cell_microseconds(struct table *t, const struct interval *seconds)
{
    enum { MOST_DECIMALS = 3 };
    const double us = 1e6 * seconds->mean, half_us = 1e6 * (seconds->high - seconds->mean);

    if (!(half_us > 0)) {
        cell_number(t, us < 9999.5 ? "%.4g" : "%.0f", us);
        return;
    }
    const double digits = 1 - floor(log10(half_us));
    const int n_decimals = digits > MOST_DECIMALS ? MOST_DECIMALS : digits > 0 ? (int)digits : 0;
    table_cell(t, "%.*f ±%.*f", n_decimals, us, n_decimals, half_us);
}

/* A number of samples, or what there is none of. */
static void cell_samples(struct table *t, double samples_count)
{
    char text[32];

    rate_text(text, sizeof text, samples_count);
    table_cell(t, "%s", text);
}

size_t point_columns(struct column *out, const struct campaign *c)
{
    const char *option;
    size_t n = 0;

    out[n++] = (struct column){ "model", ALIGN_LEFT };
    out[n++] = (struct column){ "mode", ALIGN_LEFT };
    out[n++] = (struct column){ campaign_has_layouts(c) ? "layout" : "workers", ALIGN_RIGHT };
    for (int i = 0; n < MOST_POINT_COLUMNS && (option = campaign_other_option(c, i)) != NULL; i++)
        out[n++] = (struct column){ option, ALIGN_RIGHT };
    return n;
}

static void cell_layout(struct table *t, const struct point *p)
{
    const struct layout layout = point_layout(p);
    char text[LAYOUT_TEXT_BYTES];

    layout_text(text, &layout);
    table_cell(t, "%s", text);
}

static void cell_value(struct table *t, const struct point *p, const char *option)
{
    const char *value = point_value(p, option);

    table_cell(t, "%s", value ? value : "-");
}

void point_print_assigned(struct table *t, const struct campaign *c, const struct point *p)
{
    struct column column[MOST_POINT_COLUMNS];
    const size_t n = point_columns(column, c);

    table_cell(t, "%s", p->workload->module.name);
    table_cell(t, "%s", p->mode->name);
    campaign_has_layouts(c) ? cell_layout(t, p) : table_cell(t, "%d", p->n_workers);
    for (size_t i = 3; i < n; i++)
        cell_value(t, p, column[i].title);
}

/* --- the marks of the short table --- */

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

/* --- the cells of a point --- */

static void print_model(const struct cell *at)
{
    table_cell(at->to, "%s", at->point->workload->module.name);
}

static void print_mode(const struct cell *at)
{
    table_cell(at->to, "%s", at->point->mode->name);
}

static void print_workers(const struct cell *at)
{
    const struct point *p = at->point;

    table_cell(at->to, "%d%s%s", p->n_workers, p->oversubscribed ? "*" : "", p->servers_share ? "+" : "");
}

static void print_layout(const struct cell *at)
{
    cell_layout(at->to, at->point);
}

/* Of other options that the campaign sweeps. */
static void print_value(const struct cell *at)
{
    cell_value(at->to, at->point, campaign_other_option(at->campaign, at->i));
}

/* With strong scaling it differs between points. */
static void print_batch(const struct cell *at)
{
    const uint64_t n_samples = at->point->batch_per_worker_count;

    cell_number(at->to, "%.0f", n_samples > 0 ? (double)n_samples : (double)NAN);
}

static void print_learning_rate(const struct cell *at)
{
    cell_number(at->to, "%.3g", at->point->tuned_lr > 0 ? at->point->tuned_lr : NAN);
}

static void print_cores(const struct cell *at)
{
    table_cell(at->to, "%ld", point_n_cores(at->point));
}

static void print_throughput(const struct cell *at)
{
    cell_samples(at->to, point_throughput(at->point).mean);
}

static void print_throughput_interval(const struct cell *at)
{
    const struct interval i = point_throughput(at->point);
    char low[32], high[32];

    rate_text(low, sizeof low, i.low);
    rate_text(high, sizeof high, i.high);
    !isfinite(i.low)    ? table_cell(at->to, "-")
    : !isfinite(i.high) ? table_cell(at->to, "%s or more", low)
                        : table_cell(at->to, "%s .. %s", low, high);
}

/* Half of the interval, in percent of the mean; "-": there is none. */
static void print_throughput_half_width(const struct cell *at)
{
    const struct interval i = point_throughput(at->point);
    const double half = 50 * (i.high - i.low) / i.mean;

    if (half > 100)
        table_cell(at->to, "over 100 %%");
    else
        isfinite(half) && half >= 0.05 ? table_cell(at->to, half < 9.95 ? "±%.1f %%" : "±%.0f %%", half)
                                       : table_cell(at->to, "-");
}

/* "0.720 (0.408 .. 1.269)" */
static void print_efficiency(const struct cell *at)
{
    const struct interval i = campaign_efficiency(at->campaign, at->point);
    char ends[INTERVAL_ENDS_BYTES];

    !isfinite(i.low) ? cell_number(at->to, "%.3f", i.mean)
                     : table_cell(at->to, "%.3f (%s)", i.mean, interval_ends(ends, "%.3f", " .. ", i.low, i.high));
}

static void print_efficiency_short(const struct cell *at)
{
    cell_number(at->to, "%.2f", campaign_efficiency(at->campaign, at->point).mean);
}

/* "51.2 % (49.8 .. 52.7)"; "2 of 10 failed": then the others have no mean (train/bound.h, B3). */
static void print_bound(const struct cell *at)
{
    const struct point *p = at->point;
    const struct interval i = point_bound(p);
    const size_t n_failed = point_n_failed_bounds(p);
    char ends[INTERVAL_ENDS_BYTES];

    if (n_failed > 0)
        table_cell(at->to, "%zu of %zu failed", n_failed, p->n_launches);
    else
        !isfinite(i.low) ? cell_number(at->to, "%.1f %%", 100 * i.mean)
                         : table_cell(at->to, "%.1f %% (%s)", 100 * i.mean,
                                      interval_ends(ends, "%.1f", " .. ", 100 * i.low, 100 * i.high));
}

static void print_bound_short(const struct cell *at)
{
    point_n_failed_bounds(at->point) > 0 ? table_cell(at->to, "failed")
                                         : cell_number(at->to, "%.0f %%", 100 * point_bound(at->point).mean);
}

static void print_loss(const struct cell *at)
{
    cell_number(at->to, "%.4f", point_loss_at(at->point, campaign_equal_samples(at->campaign, at->point)));
}

static void print_mean(const struct cell *at)
{
    const struct point_column *c = at->column;

    cell_number(at->to, c->figure.format, c->figure.scale * point_mean(at->point, c->figure.at));
}

static void print_samples(const struct cell *at)
{
    cell_samples(at->to, point_samples(at->point));
}

/* "2 of 3", and the word that follows: not all launches reached the target loss. */
static void cell_target(const struct cell *at, const char *of_some)
{
    const size_t n_reached = target_n_reached(at->point);

    if (n_reached > 0 && n_reached < at->point->n_launches)
        table_cell(at->to, "%zu of %zu%s", n_reached, at->point->n_launches, of_some);
    else
        cell_number(at->to, "%.3g s", point_mean(at->point, offsetof(struct launch, seconds_to_target_s)));
}

static void print_target(const struct cell *at)
{
    cell_target(at, "");
}

static void print_target_short(const struct cell *at)
{
    cell_target(at, " runs");
}

static void print_target_samples(const struct cell *at)
{
    cell_samples(at->to, point_mean(at->point, offsetof(struct launch, samples_to_target_count)));
}

/* The i-th mark that some point has; N_MARKS: there are no more. */
static enum launch_mark mark_at(const struct campaign *c, int i)
{
    enum launch_mark mark = 0;

    for (; mark < N_MARKS; mark++)
        if (campaign_has_mark(c, mark) && i-- == 0)
            break;
    return mark;
}

static const char *title_of_mark(const struct campaign *c, int i)
{
    const enum launch_mark mark = mark_at(c, i);

    return mark < N_MARKS ? mark_column(mark) : NULL;
}

/* "3 of 10" launches. */
static void print_mark(const struct cell *at)
{
    const size_t n_marked = point_n_marked(at->point, mark_at(at->campaign, at->i));

    n_marked > 0 ? table_cell(at->to, "%zu of %zu", n_marked, at->point->n_launches) : table_cell(at->to, "-");
}

static void print_short_marks(const struct cell *at)
{
    char marks[N_SHORT + 1];

    short_marks(marks, at->point);
    table_cell(at->to, "%s", marks);
}

/* "2", "3, given up": launches that failed. */
static void print_failures(const struct cell *at)
{
    const struct point *p = at->point;

    p->n_failures == 0 ? table_cell(at->to, "-")
                       : table_cell(at->to, "%zu%s", p->n_failures, p->is_given_up ? ", given up" : "");
}

static void print_step(const struct cell *at)
{
    const struct interval whole = point_interval(at->point, step_whole.at);

    cell_microseconds(at->to, &whole);
}

static const char *title_of_step_part(const struct campaign *c, int i)
{
    (void)c;
    return i < N_STEP_PARTS ? step_parts[i].name : NULL;
}

static void print_step_part(const struct cell *at)
{
    const struct interval part = point_interval(at->point, step_parts[at->i].at);

    cell_microseconds(at->to, &part);
}

/* --- the tables --- */

#define AT(member) offsetof(struct launch, member)

static bool is_tuned(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].tuned_lr > 0)
            return true;
    return false;
}

static bool scales_weakly(const struct campaign *c)
{
    return !campaign_scales_strongly(c);
}

/* What a point assigns. */
static const struct point_column first_columns[] = {
    { { "model", ALIGN_LEFT }, .print = print_model },
    { { "mode", ALIGN_LEFT }, .print = print_mode },
    { { "workers", ALIGN_RIGHT }, .print = print_workers },
    { { "layout", ALIGN_LEFT }, .print = print_layout, .is_shown = campaign_has_layouts },
    { { NULL, ALIGN_RIGHT }, .print = print_value, .title_of = campaign_other_option },
};

static const struct point_column short_columns[] = {
    { { "lr", ALIGN_RIGHT }, .print = print_learning_rate, .is_shown = is_tuned },
    { { "samples/s", ALIGN_RIGHT }, .print = print_throughput },
    { { "95 % CI", ALIGN_RIGHT }, .print = print_throughput_half_width },
    { { "efficiency", ALIGN_RIGHT }, .print = print_efficiency_short },
    { { "of bound", ALIGN_RIGHT }, .print = print_bound_short },
    { { "time to target", ALIGN_RIGHT }, .print = print_target_short },
    { { "marks", ALIGN_LEFT }, .print = print_short_marks },
};

static const struct point_column result_columns[] = {
    { { "batch each", ALIGN_RIGHT }, .print = print_batch, .is_shown = campaign_scales_strongly },
    { { "lr", ALIGN_RIGHT }, .print = print_learning_rate, .is_shown = is_tuned },
    { { "cores", ALIGN_RIGHT }, .print = print_cores },
    { { "samples/s", ALIGN_RIGHT }, .print = print_throughput },
    { { "95 % interval", ALIGN_RIGHT }, .print = print_throughput_interval },
    { { "efficiency", ALIGN_RIGHT }, .print = print_efficiency, .is_shown = scales_weakly },
    { { "strong efficiency", ALIGN_RIGHT }, .print = print_efficiency, .is_shown = campaign_scales_strongly },
    { { "of bound", ALIGN_RIGHT }, .print = print_bound },
    { { "loss", ALIGN_RIGHT }, .print = print_loss },
    { { "accuracy", ALIGN_RIGHT }, .print = print_mean, .figure = { AT(accuracy_ratio), 100, "%.2f %%" } },
    { { "samples", ALIGN_RIGHT }, .print = print_samples },
    { { "time to target", ALIGN_RIGHT }, .print = print_target },
    { { "samples to target", ALIGN_RIGHT }, .print = print_target_samples },
    { { "staleness", ALIGN_RIGHT }, .print = print_mean, .figure = { AT(staleness_mean_count), 1, "%.2f" } },
    { { NULL, ALIGN_RIGHT }, .print = print_mark, .title_of = title_of_mark },
    { { "failed", ALIGN_RIGHT }, .print = print_failures, .is_shown = campaign_has_failures },
};

static const struct point_column step_columns[] = {
    { { "step us", ALIGN_RIGHT }, .print = print_step },
    { { NULL, ALIGN_RIGHT }, .print = print_step_part, .title_of = title_of_step_part },
};

enum { MOST_COLUMNS = MAX_ASSIGNMENTS + N_MARKS + 32 };

struct shown { /* the columns of a table, each with its title */
    struct column head[MOST_COLUMNS];
    const struct point_column *of[MOST_COLUMNS];
    int i[MOST_COLUMNS]; /* cell.i */
    size_t n;
};

static void show_column(struct shown *s, const struct point_column *of, int i, const char *title)
{
    assert(s->n < MOST_COLUMNS);
    s->head[s->n] = (struct column){ title, of->head.align };
    s->of[s->n] = of;
    s->i[s->n++] = i;
}

static void show_columns(struct shown *s, const struct campaign *c, const struct point_column *of, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const char *title;
        if (of[k].is_shown && !of[k].is_shown(c))
            continue;
        if (!of[k].title_of)
            show_column(s, &of[k], 0, of[k].head.title);
        for (int i = 0; of[k].title_of && (title = of[k].title_of(c, i)); i++)
            show_column(s, &of[k], i, title);
    }
}

/* show NULL: print it, in parts. */
static enum rc print_points(const struct campaign *c, const struct point_column *column, size_t n_columns,
                            show_table_fn *show, FILE *to)
{
    struct shown s = { .n = 0 };
    struct table *t = NULL;
    enum rc rc;

    show_columns(&s, c, first_columns, sizeof first_columns / sizeof *first_columns);
    const size_t n_keys = s.n;
    show_columns(&s, c, column, n_columns);
    t = table_open(s.head, s.n);
    for (size_t i = 0; i < c->n_points; i++) {
        if (i > 0 && c->point[i].workload != c->point[i - 1].workload)
            table_rule(t);
        for (size_t k = 0; k < s.n; k++)
            s.of[k]->print(&(struct cell){ t, c, &c->point[i], s.of[k], s.i[k] });
    }
    rc = show ? show(t, to) : table_print_parts(t, n_keys, to);
    table_close(&t);
    return rc;
}

enum rc campaign_print_short(const struct campaign *c, show_table_fn *show, FILE *to)
{
    return print_points(c, short_columns, sizeof short_columns / sizeof *short_columns, show, to);
}

enum rc campaign_print_results(const struct campaign *c, show_table_fn *show, FILE *to)
{
    return print_points(c, result_columns, sizeof result_columns / sizeof *result_columns, show, to);
}

enum rc campaign_print_steps(const struct campaign *c, show_table_fn *show, FILE *to)
{
    return print_points(c, step_columns, sizeof step_columns / sizeof *step_columns, show, to);
}

/* --- notes --- */

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

/* Why the column "time to target" is empty. */
static void print_note_of_targets(const struct campaign *c, FILE *to)
{
    char setting[LAUNCH_NAME_BYTES];

    for (size_t i = 0; i < c->n_points; i++) {
        const struct point *p = &c->point[i];
        if (!campaign_represents(c, i) || !target_none_reached(c, p))
            continue;
        point_setting(setting, sizeof setting, p, ", ", " ");
        fprintf(to, "time to target: no run of %s reached the target loss", setting);
        target_tell_steps(c, p, to);
    }
}

/* Of what there are intervals, and where there are none. */
static void print_note_of_intervals(const struct campaign *c, FILE *to)
{
    if (c->is_virtual)
        fprintf(to, "simulated runs are equal: efficiency and step are exact, the interval is within one run.\n");
    else if (has_single_launch(c))
        fprintf(to, "a setting with one run: its interval is within that run; efficiency and step have none.\n");
}

void campaign_print_notes(const struct campaign *c, FILE *to)
{
    const bool is_strong = campaign_scales_strongly(c), has_layouts = campaign_has_layouts(c);

    fprintf(to,
            "95 %% interval: from all runs of a setting; of efficiency: from pairs of runs in the same round.\n"
            "efficiency: throughput / (%s x throughput of %s).\n"
            "%s scaling: the batch of %s stays the same.\n"
            "of bound: throughput / what the slowest of compute, wire and server allows.\n"
            "accuracy: of the test images, at the end of a run; samples: of all workers, until then.\n"
            "time to target: seconds until the target loss; samples to target: of all workers, until then.\n"
            "staleness: updates by other workers between a pull and its push.\n"
            "step us: mean step of a worker, in microseconds: the sum of the columns after it.\n"
            "rest: time of a step that no other column has.\n"
            "cores: one for each thread of a worker%s.\n",
            has_layouts ? "ranks" : "workers", has_layouts ? "one rank alone" : "single", scaling_text(is_strong),
            is_strong ? "all workers together" : "each worker",
            any(c, offsetof(struct point, servers_beside)) ? ", and for each server on a host without workers"
                                                           : ", and for each server");
    if (has_layouts)
        fprintf(to, "layout: workers x stages of each x shards of the dense layers.\n"
                    "ranks: workers x stages; each has its cores.\n"
                    "step us of a layout with stages: of its first stage; wait: also for other stages and shards.\n");
    print_note_of_losses(c, to);
    print_note_of_targets(c, to);
    print_note_of_intervals(c, to);
    if (n_failed_bounds(c) > 0)
        fprintf(to, "of bound, failed: runs that were faster than the bound. Then no mean is shown.\n");
    if (lacks_baseline(c))
        fprintf(to, "efficiency is missing where single with 1 worker did not run: it is relative to that.\n");
    if (any(c, offsetof(struct point, oversubscribed)))
        fprintf(to, "* more threads of workers than cores\n");
    if (any(c, offsetof(struct point, servers_share)))
        fprintf(to, "+ the server shares the workers' cores\n");
    campaign_tell_marks(c, to);
}

enum rc campaign_print(const struct campaign *c, FILE *to)
{
    struct terminal_text notes = { .lines = NULL };
    enum rc rc;

    if (c->exchange[0])
        fprintf(to, "exchange: %s\n\n", c->exchange);
    TRY(campaign_print_results(c, NULL, to));
    fprintf(to, "\n");
    TRY(campaign_print_steps(c, NULL, to));
    fprintf(to, "\n");
    TRY(terminal_text_open(&notes));
    campaign_print_notes(c, notes.lines);
    TRY(terminal_text_close(&notes, to));
out:
    return rc;
}

/* --- as comma-separated values --- */

/*
 * A campaign as one table for programs: a row for each point, nothing where a value is not known. Numbers read back
 * as the same values.
 */

#define MEAN(p, member) point_mean((p), offsetof(struct launch, member))

static const char *const titles[] = {
    "workers_count",
    "servers_count",
    "stages_count",
    "shards_count",
    "cores_count",
    "batch_per_worker_count",
    "learning_rate",
    "launches_count",
    "failed_launches_count",
    "disturbed_launches_count",
    "unsteady_launches_count",
    "unlearned_launches_count",
    "throughput_samples_per_s",
    "throughput_low_samples_per_s",
    "throughput_high_samples_per_s",
    "efficiency_ratio",
    "efficiency_low_ratio",
    "efficiency_high_ratio",
    "bound_ratio",
    "bound_low_ratio",
    "bound_high_ratio",
    "bound_failed_count",
    "loss",
    "accuracy_ratio",
    "samples_count",
    "target_reached_count",
    "seconds_to_target_loss_s",
    "samples_to_target_loss_count",
    "staleness_mean_count",
    "step_mean_s",
    "compute_s",
    "wait_s",
    "wire_s",
    "server_s",
    "apply_s",
    "rest_s",
};
enum { N_NUMBERS = sizeof titles / sizeof *titles };

static double at_least_1(int n)
{
    return n > 1 ? n : 1;
}

static double or_unknown(double count)
{
    return count > 0 ? count : (double)NAN;
}

static void cells_of_numbers(struct table *t, const struct campaign *c, const struct point *p)
{
    const struct interval rate = point_throughput(p), efficiency = campaign_efficiency(c, p), bound = point_bound(p);
    const double value[] = {
        p->n_workers,
        p->n_servers,
        at_least_1(p->n_stages),
        at_least_1(p->n_shards),
        (double)point_n_cores(p),
        or_unknown((double)p->batch_per_worker_count),
        p->learning_rate,
        (double)p->n_launches,
        (double)p->n_failures,
        (double)point_n_marked(p, MARK_DISTURBED),
        (double)point_n_marked(p, MARK_UNSTEADY),
        (double)point_n_unlearned(p),
        rate.mean,
        rate.low,
        rate.high,
        efficiency.mean,
        efficiency.low,
        efficiency.high,
        bound.mean,
        bound.low,
        bound.high,
        (double)point_n_failed_bounds(p),
        point_loss_at(p, campaign_equal_samples(c, p)),
        MEAN(p, accuracy_ratio),
        point_samples(p),
        (double)target_n_reached(p),
        MEAN(p, seconds_to_target_s),
        MEAN(p, samples_to_target_count),
        MEAN(p, staleness_mean_count),
        MEAN(p, step_mean_s),
        MEAN(p, compute_s),
        MEAN(p, wait_s),
        MEAN(p, wire_s),
        MEAN(p, server_s),
        MEAN(p, apply_s),
        MEAN(p, rest_s),
    };
    char text[32];

    _Static_assert(sizeof value / sizeof *value == N_NUMBERS, "a value for each title");
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (!isfinite(value[i]))
            table_cell(t, "%s", "");
        else {
            if (strcmp(titles[i], "learning_rate") == 0)
                text_of_f32(text, (float)value[i]);
            else
                text_of_f64(text, value[i]);
            table_cell(t, "%s", text);
        }
}

static void cells_of(struct table *t, const struct campaign *c, const struct point *p)
{
    table_cell(t, "%s", p->workload->module.name);
    table_cell(t, "%s", p->mode->name);
    for (int i = 0; campaign_other_option(c, i); i++) {
        const char *value = point_value(p, campaign_other_option(c, i));
        table_cell(t, "%s", value ? value : "");
    }
    cells_of_numbers(t, c, p);
}

enum rc campaign_print_csv(const struct campaign *c, FILE *to)
{
    struct column column[2 + MAX_ASSIGNMENTS + N_NUMBERS] = { { "model", ALIGN_LEFT }, { "mode", ALIGN_LEFT } };
    struct table *t = NULL;
    size_t n = 2;
    enum rc rc;

    for (int i = 0; campaign_other_option(c, i); i++)
        column[n++].title = campaign_other_option(c, i);
    for (size_t i = 0; i < N_NUMBERS; i++)
        column[n++].title = titles[i];
    t = table_open(column, n);
    for (size_t i = 0; i < c->n_points; i++)
        cells_of(t, c, &c->point[i]);
    TRY(table_print_csv(t, to));
out:
    table_close(&t);
    return rc;
}
