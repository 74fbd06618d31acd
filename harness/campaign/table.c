/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - a campaign as a table: a row for each point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/campaign/campaign.h"
#include "harness/report/table.h"

/* 1234567 -> "1.235 M", 999.9999 -> "1 k": four significant digits, less than 1000 of a prefix where there is one. */
static void format_rate(char *out, size_t n_bytes, double per_s)
{
    static const char *const prefix[] = { "", " k", " M", " G" };
    enum { N_PREFIXES = sizeof prefix / sizeof *prefix };
    char digits[32];

    if (isnan(per_s)) {
        snprintf(out, n_bytes, "-");
        return;
    }
    for (int i = 0; i < N_PREFIXES; i++, per_s /= 1000) {
        snprintf(digits, sizeof digits, "%.4g", per_s);
        snprintf(out, n_bytes, "%s%s", digits, prefix[i]);
        if (strtod(digits, NULL) < 1000)
            break;
    }
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
        { offsetof(struct launch, bound_ratio), 100, "%.3g %%" },
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

    TRY(table_cell(t, "%s", p->workload->module.name));
    TRY(table_cell(t, "%s", p->mode->name));
    TRY(table_cell(t, "%d%s%s", p->n_workers, p->oversubscribed ? "*" : "", p->servers_share ? "+" : ""));
    for (int i = 0; campaign_other_option(c, i); i++) {
        const char *value = point_value(p, campaign_other_option(c, i));
        TRY(table_cell(t, "%s", value ? value : "-"));
    }
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

/* Has some point nothing that its efficiency is measured by? */
static bool lacks_baseline(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (!campaign_find_baseline(c, &c->point[i]))
            return true;
    return false;
}

static bool has_single_launch(const struct campaign *c)
{
    for (size_t i = 0; i < c->n_points; i++)
        if (c->point[i].n_launches == 1)
            return true;
    return false;
}

/* Behind the column of workers, one column for each other option that the campaign sweeps. */
static enum rc open_table(struct table **out, const struct campaign *c)
{
    static const struct column before[] = { { "model", ALIGN_LEFT },
                                            { "mode", ALIGN_LEFT },
                                            { "workers", ALIGN_RIGHT } };
    static const struct column behind[] = {
        { "samples/s", ALIGN_RIGHT }, { "95 % interval", ALIGN_RIGHT }, { "efficiency", ALIGN_RIGHT },
        { "of bound", ALIGN_RIGHT },  { "compute us", ALIGN_RIGHT },    { "wait", ALIGN_RIGHT },
        { "wire", ALIGN_RIGHT },      { "server", ALIGN_RIGHT },        { "apply", ALIGN_RIGHT },
        { "loss", ALIGN_RIGHT },      { "accuracy", ALIGN_RIGHT },      { "to target", ALIGN_RIGHT },
        { "staleness", ALIGN_RIGHT },
    };
    enum { N_BEFORE = sizeof before / sizeof *before, N_BEHIND = sizeof behind / sizeof *behind };
    struct column column[N_BEFORE + MAX_ASSIGNMENTS + N_BEHIND];
    size_t n = N_BEFORE;

    memcpy(column, before, sizeof before);
    for (int i = 0; campaign_other_option(c, i); i++)
        column[n++] = (struct column){ campaign_other_option(c, i), ALIGN_RIGHT };
    memcpy(column + n, behind, sizeof behind);
    return table_open(out, column, n + N_BEHIND);
}

enum rc campaign_print(const struct campaign *c, FILE *to)
{
    struct table *t = NULL;
    enum rc rc;

    TRY(open_table(&t, c));
    for (size_t i = 0; i < c->n_points; i++) {
        if (i > 0 && c->point[i].workload != c->point[i - 1].workload)
            TRY(table_rule(t));
        TRY(print_point(t, c, &c->point[i]));
    }
    if (c->exchange[0])
        fprintf(to, "exchange: %s\n\n", c->exchange);
    table_print(t, to);
    fprintf(to,
            "\nefficiency: throughput / (workers x throughput of single). of bound: throughput / what the slowest of\n"
            "compute, wire and server allows. compute to apply: a worker's mean step. to target: seconds until the\n"
            "target loss. staleness: updates by others between a pull and its push.\n");
    if (has_single_launch(c))
        fprintf(to, "of a point with a single launch the interval is within this run, not over launches\n");
    if (lacks_baseline(c))
        fprintf(to, "efficiency needs single: 1 in --workers, and single in --mode\n");
    if (any(c, offsetof(struct point, oversubscribed)))
        fprintf(to, "* more threads of workers than cores\n");
    if (any(c, offsetof(struct point, servers_share)))
        fprintf(to, "+ the server shares the workers' cores\n");
out:
    table_close(&t);
    return rc;
}
