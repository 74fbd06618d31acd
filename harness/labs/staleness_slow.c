/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness_slow.c - one of eight workers is slow: time to a loss by who waits for it.
 *
 *   sync     all wait: a round takes as long as the slow worker
 *   sync:1   nobody does: its gradients, and whatever else comes last, are dropped
 *   ssp:4    nobody, for 4 steps; then all do, but never for one whole step at a time
 *   async    nobody: its gradients count, and come late
 *
 * All at the same pace: sync makes one update of eight gradients at eight times the rate. That is a bold one: eight
 * asynchronous workers of the same speed are so late by it that they do not come to rest; sync does.
 */
#include <math.h>
#include <stdio.h>

#include "harness/labs/curves.h"
#include "harness/labs/staleness_lab.h"
#include "harness/report/table.h"

enum { N_WORKERS = 8, N_STEPS = 60, BATCH = 200 };

static const struct {
    const char *rule, *file, *options; /* file: the rule as part of a file's name, which no system refuses */
} way[SLOW_N_WAYS] = { { "sync", "sync", " --lr-scaling linear" },
                       { "sync:1", "sync-1", " --lr-scaling linear" },
                       { "ssp:4", "ssp-4", "" },
                       { "async", "async", "" } };
static const double ratio[SLOW_N_RATIOS] = { 1, 1.5, 2, 3, 4, 8, 16 };
#define LR 0.118
#define TARGET 0.005 /* loss of all samples above the least one */

static enum rc train_one(struct slow_part *p, struct staleness_lab *s, int k, int i)
{
    const struct training_record *record;
    struct server_path path = { .point = NULL };
    char name[TRAINING_NAME_BYTES], options[300];
    enum rc rc;

    snprintf(name, sizeof name, "slow-%g-%s", ratio[i], way[k].file);
    snprintf(options, sizeof options,
             "--workers %d --steps %d --batch %d --lr %g --seed %d --consistency %s%s --cluster-set "
             "flops_per_s=8e4,server_flops_per_s=2e10,stragglers_count=1,straggler_ratio=%g",
             N_WORKERS, N_STEPS, BATCH, LR, STALENESS_SEED, way[k].rule, way[k].options, ratio[i]);
    TRY(staleness_train(s, &path, &record, name, options, BATCH));
    p->time_s[k][i] = server_path_time_to(&path, &s->squares, TARGET, 2 * N_WORKERS);
out:
    server_path_close(&path);
    return rc;
}

enum rc slow_part_run(struct slow_part *p, struct staleness_lab *s)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < SLOW_N_WAYS; k++)
        for (int i = 0; i < SLOW_N_RATIOS; i++)
            TRY(train_one(p, s, k, i));
out:
    return rc;
}

/* The way that is there first; of those as good as equal the one named first. */
static int first_of(const struct slow_part *p, int i)
{
    int first = -1;

    for (int k = 0; k < SLOW_N_WAYS; k++)
        if (!isnan(p->time_s[k][i]) && (first < 0 || p->time_s[k][i] < 0.98 * p->time_s[first][i]))
            first = k;
    return first;
}

static void add_row(struct table *t, const struct slow_part *p, int i)
{
    const int first = first_of(p, i);

    table_cell(t, "%g", ratio[i]);
    for (int k = 0; k < SLOW_N_WAYS; k++)
        if (isnan(p->time_s[k][i]))
            table_cell(t, "never");
        else
            table_cell(t, "%.3g", p->time_s[k][i]);
    table_cell(t, "%s", first < 0 ? "none" : way[first].rule);
}

static enum rc show_table(const struct slow_part *p, struct lesson *l)
{
    static const struct column column[] = { { "slow/others", ALIGN_RIGHT }, { "sync", ALIGN_RIGHT },
                                            { "sync:1", ALIGN_RIGHT },      { "ssp:4", ALIGN_RIGHT },
                                            { "async", ALIGN_RIGHT },       { "first", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < SLOW_N_RATIOS; i++)
        add_row(t, p, i);
    return lesson_table(l, t,
                        "simulated seconds until the loss is 0.005 above the minimum; one of 8 workers is slow; "
                        "slow/others: its step time divided by theirs; first: the rule that is fastest");
}

static enum rc write_curves(const struct slow_part *p, const struct lab_env *env)
{
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, env, "slow"));
    for (int k = 0; k < SLOW_N_WAYS; k++)
        for (int i = 0; i < SLOW_N_RATIOS; i++)
            if (isnan(p->time_s[k][i]))
                curves_add_never(&to, way[k].rule, ratio[i]);
            else
                curves_add(&to, way[k].rule, ratio[i], p->time_s[k][i]);
out:
    return curves_finish(&to, rc);
}

enum rc slow_part_show(const struct slow_part *p, struct lesson *l)
{
    const struct chart_var var[] = { { "heading", "Time to the target loss when one of eight workers is slow" },
                                     { "xtitle", "step time of the slow worker / step time of the others" },
                                     { "ytitle", "seconds to the target loss (simulated, log.)" },
                                     { "marks", "1" },
                                     { "machine", "never: it did not stay at the target loss for two rounds" } };
    enum rc rc;

    TRY(show_table(p, l));
    TRY(write_curves(p, l->env));
    TRY(lesson_picture(
        l, "lesson", "slow",
        "Time to a loss 0.005 above the minimum, by the step time of one slow worker. never: it did not stay there for "
        "two rounds.",
        var, 5));
out:
    return rc;
}
