/* SPDX-License-Identifier: Apache-2.0 */
/* table_csv.c - a campaign as one table for programs: a row for each point, nothing where a value is not known. Numbers
 * read back as the same values. */
#include <math.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/curves.h"
#include "harness/report/table.h"

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

static enum rc cells_of_numbers(struct table *t, const struct campaign *c, const struct point *p)
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
    enum rc rc = RC_OK;

    _Static_assert(sizeof value / sizeof *value == N_NUMBERS, "a value for each title");
    for (size_t i = 0; i < N_NUMBERS; i++)
        if (!isfinite(value[i]))
            TRY(table_cell(t, "%s", ""));
        else {
            if (strcmp(titles[i], "learning_rate") == 0)
                text_of_f32(text, (float)value[i]);
            else
                text_of_f64(text, value[i]);
            TRY(table_cell(t, "%s", text));
        }
out:
    return rc;
}

static enum rc cells_of(struct table *t, const struct campaign *c, const struct point *p)
{
    enum rc rc;

    TRY(table_cell(t, "%s", p->workload->module.name));
    TRY(table_cell(t, "%s", p->mode->name));
    for (int i = 0; campaign_other_option(c, i); i++) {
        const char *value = point_value(p, campaign_other_option(c, i));
        TRY(table_cell(t, "%s", value ? value : ""));
    }
    TRY(cells_of_numbers(t, c, p));
out:
    return rc;
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
    TRY(table_open(&t, column, n));
    for (size_t i = 0; i < c->n_points; i++)
        TRY(cells_of(t, c, &c->point[i]));
    table_print_csv(t, to);
out:
    table_close(&t);
    return rc;
}
