/* SPDX-License-Identifier: Apache-2.0 */
/* stages_report.c - the output of gradmark train --stages S: a checkpoint, records, tables; see stages_report.h. */
#include "harness/verbs/stages_report.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/terminal.h"
#include "harness/report/table.h"
#include "harness/train/stages.h"
#include "harness/verbs/restart.h"
#include "harness/verbs/train_report.h"

static enum rc print_stages(FILE *to, const struct train_stages_run *run)
{
    static const struct column column[] = { { "stage", ALIGN_RIGHT },           { "nodes", ALIGN_RIGHT },
                                            { "parameters", ALIGN_RIGHT },      { "flops, %", ALIGN_RIGHT },
                                            { "cost / mean", ALIGN_RIGHT },     { "held", ALIGN_RIGHT },
                                            { "activations, MB", ALIGN_RIGHT }, { "memory, MB", ALIGN_RIGHT },
                                            { "passes, MB", ALIGN_RIGHT },      { "ms", ALIGN_RIGHT },
                                            { "waits, %", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    TRY(terminal_text_open(&text));
    for (int i = 0; i < run->n_stages; i++) {
        const struct stage_figures *f = &run->figures[i];
        table_cell(t, "%d", (int)f->number);
        table_cell(t, "%d to %d", (int)f->first_node, (int)f->end_node - 1);
        table_cell(t, "%llu", (unsigned long long)f->n_params);
        table_cell(t, "%.1f", 100 * f->flops_ratio);
        table_cell(t, "%.3f", f->cost_ratio);
        table_cell(t, "%llu", (unsigned long long)f->n_held);
        table_cell(t, "%.4g", 1e-6 * (double)f->memory.activations_bytes);
        table_cell(t, "%.4g", 1e-6 * (double)train_worker_bytes(&f->memory));
        table_cell(t, "%.4g", 1e-6 * (double)f->passed_bytes);
        table_cell(t, "%.4g", f->passed_bytes > 0 ? 1e3 * (f->limits.latency_s + f->limits.pass_s) : 0);
        table_cell(t, "%.1f", 100 * f->waited_ratio);
    }
    TRY(table_print(t, to));
    fprintf(text.lines, "stages are balanced by %s: the most expensive one costs %.3f x the mean\n",
            run->whole.opts.profile[0] ? "the times of --profile" : "multiply-adds", job_stages_imbalance(&run->whole));
    fprintf(text.lines, "schedule %s; stages that took equally long would wait for %.1f %% of a step\n",
            run->whole.opts.schedule, 100 * job_stages_bubble_ratio(&run->whole));
    if (run->result.pipe_bound_s > 0)
        fprintf(text.lines,
                "a step takes %.4g ms; at the times of %s and these links it cannot take less than %.4g ms\n",
                1e3 * train_stages_step_s(run),
                stages_have_profile(&run->whole) ? "--profile" : "its fastest micro-batches",
                1e3 * run->result.pipe_bound_s);
    TRY(terminal_text_close(&text, to));
out:
    if (terminal_text_close(&text, NULL) != RC_OK && rc == RC_OK)
        rc = RC_NOMEM;
    table_close(&t);
    return rc;
}

static enum rc write_checkpoint(void *arg, struct world *w)
{
    struct train_stages_run *run = arg;
    const char *save = run->whole.opts.save;
    enum rc rc = RC_OK;

    if (save[0])
        TRY(checkpoint_save(&run->result.final, save, world_tick_callback, w));
    run->is_saved = save[0] != '\0';
out:
    return rc;
}

static enum rc write_records(void *arg)
{
    struct train_stages_run *run = arg;
    struct train_summary s;
    struct report *to = NULL;
    enum rc rc;

    TRY(report_open(&to, run->out[0] ? run->out : NULL));
    TRY(train_stages_write(to, run));
    TRY(report_commit(to));
    if (strcmp(run->out, "-") == 0) /* there the records are the output */
        goto out;
    TRY(train_summarise(&s, &run->whole, &run->result));
    TRY(train_print(stdout, &run->whole, &run->result, &s, false));
    TRY(print_stages(stdout, run));
out:
    report_close(&to);
    return rc;
}

enum rc stages_report(struct train_stages_run *run, struct world *w)
{
    if (run->is_written)
        return RC_OK;
    run->is_written = true;
    return restart_write(run->may_restart && run->result.stop_signal == 0,
                         &(struct restart_results){ write_checkpoint, write_records, run }, w);
}
