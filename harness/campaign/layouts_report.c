/* SPDX-License-Identifier: Apache-2.0 */
/* layouts_report.c - layouts as a table, as records, and in words (layouts.h). */
#include <math.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/layouts.h"
#include "harness/report/record.h"
#include "harness/report/table.h"

static double megabytes(uint64_t n_bytes)
{
    return 1e-6 * (double)n_bytes;
}

static void describe(char clause[LAYOUT_CLAUSE_BYTES], const struct layout_point *p)
{
    const struct layout_facts facts = { .activations_bytes = (double)p->activations_bytes,
                                        .gradients_bytes = (double)p->gradients_bytes,
                                        .memory_bytes = (double)p->memory_bytes,
                                        .bubble_ratio = p->bubble_ratio,
                                        .imbalance_ratio = p->imbalance_ratio };

    layout_describe(clause, &p->layout, &facts);
}

void layouts_verdict(char *out, size_t n_bytes, const struct layout_point *point, size_t n_points)
{
    const struct layout_point *best = &point[0], *other = n_points > 1 ? &point[1] : NULL;
    char name[LAYOUT_TEXT_BYTES], other_name[LAYOUT_TEXT_BYTES], clause[LAYOUT_CLAUSE_BYTES],
        other_clause[LAYOUT_CLAUSE_BYTES];

    for (size_t i = 1; i < n_points; i++) /* the fastest of another kind says more */
        if (layout_is_of_another_kind(&point[i].layout, &best->layout)) {
            other = &point[i];
            break;
        }
    layout_text(name, &best->layout);
    describe(clause, best);
    if (!other) {
        snprintf(out, n_bytes, "%s is the only layout that can be: it %s.", name, clause);
        return;
    }
    layout_text(other_name, &other->layout);
    describe(other_clause, other);
    snprintf(out, n_bytes,
             "%s wins: %.4g ms a step, where %s takes %.4g (%.3g x). It %s; %s %s. A rank needs %.3g GB, there %.3g.",
             name, 1e3 * layout_step_s(best), other_name, 1e3 * layout_step_s(other),
             layout_step_s(other) / layout_step_s(best), clause, other_name, other_clause,
             1e-9 * (double)best->memory_bytes, 1e-9 * (double)other->memory_bytes);
}

static enum rc add_row(struct table *t, const struct layouts *l, const struct layout_point *p)
{
    char name[LAYOUT_TEXT_BYTES];
    enum rc rc;

    layout_text(name, &p->layout);
    TRY(table_cell(t, "%s", l->base.profiles.profile[p->profile].model));
    TRY(table_cell(t, "%s", name));
    TRY(table_cell(t, "%llu", (unsigned long long)p->n_micro_batches));
    if (isnan(p->step_s))
        TRY(table_cell(t, p->is_simulated ? "failed" : "-"));
    else
        TRY(table_cell(t, "%.4g", 1e3 * p->step_s));
    TRY(table_cell(t, "%.4g", 1e3 * p->formula_s));
    TRY(table_cell(t, "%.4g", (double)l->global_batch[p->profile] / layout_step_s(p)));
    TRY(table_cell(t, "%.1f", 100 * p->bubble_ratio));
    TRY(table_cell(t, "%.3f", p->imbalance_ratio));
    TRY(table_cell(t, "%.4g", megabytes(p->activations_bytes)));
    TRY(table_cell(t, "%.4g", megabytes(p->gradients_bytes)));
    TRY(table_cell(t, "%.3g", 1e-9 * (double)p->memory_bytes));
out:
    return rc;
}

enum rc layouts_print(const struct layouts *l, FILE *to)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },     { "layout", ALIGN_LEFT },
                                            { "parts", ALIGN_RIGHT },    { "step ms", ALIGN_RIGHT },
                                            { "formula", ALIGN_RIGHT },  { "images/s", ALIGN_RIGHT },
                                            { "bubble %", ALIGN_RIGHT }, { "cost/mean", ALIGN_RIGHT },
                                            { "act. MB", ALIGN_RIGHT },  { "grad. MB", ALIGN_RIGHT },
                                            { "GB", ALIGN_RIGHT } };
    struct terminal_text text = { .lines = NULL };
    char verdict[LAYOUTS_VERDICT_BYTES];
    struct table *t = NULL;
    enum rc rc;

    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (size_t i = 0; i < l->n_points; i++)
        TRY(add_row(t, l, &l->point[i]));
    TRY(terminal_text_open(&text));
    for (size_t i = 0, end; i < l->n_points; i = end) {
        const size_t profile = l->point[i].profile;
        for (end = i; end < l->n_points && l->point[end].profile == profile; end++)
            ;
        layouts_verdict(verdict, sizeof verdict, &l->point[i], end - i);
        fprintf(text.lines, "%s, %llu images a step on %s: %s\n", l->base.profiles.profile[profile].model,
                (unsigned long long)l->global_batch[profile], l->base.cluster[0].cluster.name, verdict);
    }
    fputc('\n', text.lines);
    TRY(terminal_text_close(&text, to));
    table_print(t, to);
    TRY(terminal_text_open(&text));
    fprintf(text.lines,
            "parts: micro-batches of a worker's batch. step: simulated; -: by the formula alone. cost/mean: of the "
            "stage that computes most. act., grad.: activations and gradients that a rank sends in a step, GB: memory "
            "that it needs; of the rank with most.\n");
    TRY(terminal_text_close(&text, to));
out:
    table_close(&t);
    return rc;
}

static enum rc write_point(struct report *to, const struct layouts *l, const struct layout_point *p, bool is_best)
{
    char name[LAYOUT_TEXT_BYTES];
    struct record *r = NULL;
    enum rc rc;

    layout_text(name, &p->layout);
    TRY(record_open(&r, "layout"));
    record_text(r, "model", l->base.profiles.profile[p->profile].model);
    record_text(r, "cluster", l->base.cluster[0].cluster.name);
    record_text(r, "layout", name);
    record_i64(r, "workers_count", p->layout.n_workers);
    record_i64(r, "stages_count", p->layout.n_stages);
    record_i64(r, "shards_count", p->layout.n_shards);
    record_u64(r, "global_batch_count", l->global_batch[p->profile]);
    record_u64(r, "micro_batches_count", p->n_micro_batches);
    record_f64(r, "step_s", p->step_s);
    record_f64(r, "formula_step_s", p->formula_s);
    record_f64(r, "throughput_samples_per_s", (double)l->global_batch[p->profile] / layout_step_s(p));
    record_f64(r, "bubble_ratio", p->bubble_ratio);
    record_f64(r, "stage_imbalance_ratio", p->imbalance_ratio);
    record_u64(r, "activations_bytes", p->activations_bytes);
    record_u64(r, "gradients_bytes", p->gradients_bytes);
    record_u64(r, "memory_bytes", p->memory_bytes);
    record_bool(r, "is_best", is_best);
    TRY(report_write(to, r));
out:
    record_close(&r);
    return rc;
}

enum rc layouts_write(const struct layouts *l, const char *path)
{
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, path));
    for (size_t i = 0; i < l->n_points; i++)
        TRY(write_point(to, l, &l->point[i], i == 0 || l->point[i - 1].profile != l->point[i].profile));
    TRY(report_commit(to));
out:
    report_close(&to);
    return rc;
}
