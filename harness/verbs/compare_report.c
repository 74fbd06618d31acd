/* SPDX-License-Identifier: Apache-2.0 */
/* compare_report.c - a campaign as a table, and in plain words. */
#include <math.h>
#include <string.h>

#include "harness/report/table.h"
#include "harness/verbs/campaign.h"

#define THROUGHPUT offsetof(struct launch, throughput_samples_per_s)
#define MEAN(p, member) point_mean((p), offsetof(struct launch, member))

/* 1234567 -> "1.235 M": four significant digits. */
static void format_rate(char *out, size_t n_bytes, double per_s)
{
    static const struct {
        double factor;
        const char *prefix;
    } scale[] = { { 1e9, " G" }, { 1e6, " M" }, { 1e3, " k" }, { 1, "" } };

    for (size_t i = 0; i < sizeof scale / sizeof *scale; i++)
        if (!isnan(per_s) && (per_s >= scale[i].factor || scale[i].factor == 1)) {
            snprintf(out, n_bytes, "%.4g%s", per_s / scale[i].factor, scale[i].prefix);
            return;
        }
    snprintf(out, n_bytes, "-"); /* not a number */
}

static enum rc cell_number(struct table *t, const char *fmt, double value)
{
    char text[64];

    snprintf(text, sizeof text, fmt, value);
    return table_cell(t, "%s", isnan(value) ? "-" : text);
}

static enum rc cell_rates(struct table *t, const struct interval *i)
{
    char mean[32], low[32], high[32];
    enum rc rc;

    format_rate(mean, sizeof mean, i->mean);
    format_rate(low, sizeof low, i->low);
    format_rate(high, sizeof high, i->high);
    TRY(table_cell(t, "%s", mean));
    TRY(isnan(i->low) ? table_cell(t, "-") : table_cell(t, "%s .. %s", low, high));
out:
    return rc;
}

static enum rc print_point(struct table *t, const struct campaign *c, const struct point *p)
{
    static const struct { /* the columns behind efficiency */
        size_t at;
        double scale;
        const char *fmt;
    } means[] = {
        { offsetof(struct launch, bound_ratio), 100, "%.0f %%" },
        { offsetof(struct launch, compute_s), 1e6, "%.4g" },
        { offsetof(struct launch, wait_s), 1e6, "%.3g" },
        { offsetof(struct launch, wire_s), 1e6, "%.3g" },
        { offsetof(struct launch, server_s), 1e6, "%.3g" },
        { offsetof(struct launch, apply_s), 1e6, "%.3g" },
        { offsetof(struct launch, loss_last), 1, "%.4f" },
        { offsetof(struct launch, accuracy_ratio), 100, "%.2f %%" },
        { offsetof(struct launch, seconds_to_target_s), 1, "%.3g s" },
        { offsetof(struct launch, staleness_mean_count), 1, "%.2f" },
    };
    const struct interval throughput = point_throughput(p), efficiency = campaign_efficiency(c, p);
    enum rc rc;

    TRY(table_cell(t, "%s", p->model));
    TRY(table_cell(t, "%s", p->mode));
    TRY(table_cell(t, "%d%s%s", p->n_workers, p->oversubscribed ? "*" : "", p->servers_share ? "+" : ""));
    TRY(cell_rates(t, &throughput));
    TRY(cell_number(t, "%.3f", efficiency.mean));
    for (size_t i = 0; i < sizeof means / sizeof *means; i++)
        TRY(cell_number(t, means[i].fmt, means[i].scale * point_mean(p, means[i].at)));
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

enum rc campaign_print(const struct campaign *c, FILE *to)
{
    static const struct column column[] = {
        { "model", ALIGN_LEFT },      { "mode", ALIGN_LEFT },           { "workers", ALIGN_RIGHT },
        { "samples/s", ALIGN_RIGHT }, { "95 % interval", ALIGN_RIGHT }, { "efficiency", ALIGN_RIGHT },
        { "of bound", ALIGN_RIGHT },  { "compute us", ALIGN_RIGHT },    { "wait", ALIGN_RIGHT },
        { "wire", ALIGN_RIGHT },      { "server", ALIGN_RIGHT },        { "apply", ALIGN_RIGHT },
        { "loss", ALIGN_RIGHT },      { "accuracy", ALIGN_RIGHT },      { "to target", ALIGN_RIGHT },
        { "staleness", ALIGN_RIGHT },
    };
    struct table *t = NULL;
    enum rc rc;

    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (size_t i = 0; i < c->n_points; i++) {
        if (i > 0 && strcmp(c->point[i].model, c->point[i - 1].model) != 0)
            TRY(table_rule(t));
        TRY(print_point(t, c, &c->point[i]));
    }
    table_print(t, to);
    fprintf(to,
            "\nefficiency: throughput / (workers x throughput of single). of bound: throughput / what the slowest of\n"
            "compute, wire and server allows. compute to apply: a worker's mean step. to target: seconds until the\n"
            "target loss. staleness: updates by others between a pull and its push.\n");
    if (any(c, offsetof(struct point, oversubscribed)))
        fprintf(to, "* more threads of workers than cores\n");
    if (any(c, offsetof(struct point, servers_share)))
        fprintf(to, "+ the server shares the workers' cores\n");
out:
    table_close(&t);
    return rc;
}

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
