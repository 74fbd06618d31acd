/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline_runs.c - the trainings of the lab "pipeline", and the tables that are drawn; see pipeline_lab.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/labs/lesson.h"
#include "harness/labs/pipeline_lab.h"

enum { STEP = 1, DRAWN = 2 }; /* the step that is looked at; whose count of micro-batches "held" shows */

const int pipeline_count[PIPELINE_COUNTS] = { 2, 4, 8, 16 }; /* micro-batches */

const struct pipeline_way pipeline_way[PIPELINE_WAYS] = { { "gpipe", "--schedule gpipe" },
                                                          { "1f1b", "--schedule 1f1b" },
                                                          { "gpipe, recompute", "--schedule gpipe --recompute" },
                                                          { "1f1b, recompute", "--schedule 1f1b --recompute" } };

const struct pipeline_kind pipeline_kind[PIPELINE_KINDS] = {
    { "equal", "equal stages", "equal stages, each 1 ms forward and 2 ms backward for 8 samples; a batch of 64",
      "--world sim --cluster h200-400g --compute hollow", "balanced.json", PIPELINE_SCHEDULES },
    { "network", "slim resnet152", "resnet152 with 1/16 of its channels, links of 10 Gbit/s; a batch of 64",
      "--model resnet152 --width-divisor 16 --image-size 32 --classes 10 --threads 1 --world sim --cluster ethernet-1g "
      "--cluster-set hosts_count=0,flops_per_s=1e9,link_bits_per_s=1e10",
      NULL, PIPELINE_WAYS }
};

extern const char pipeline_profile[]; /* page/: built by embed_text.cmake */

double pipeline_bubble(int n_micro_batches)
{
    return (PIPELINE_STAGES - 1.0) / (n_micro_batches + PIPELINE_STAGES - 1.0);
}

double pipeline_step_ms(const struct pipeline_run *r)
{
    return 1e-6 * (double)(r->step.end_ns - r->step.start_ns);
}

/* The stage that holds most. */
int pipeline_held_most(const struct pipeline_run *r)
{
    int most = 0;

    for (int s = 0; s < PIPELINE_STAGES; s++)
        most = r->held[s] > most ? r->held[s] : most;
    return most;
}

double pipeline_bytes_most(const struct pipeline_run *r)
{
    double most = 0;

    for (int s = 0; s < PIPELINE_STAGES; s++)
        most = fmax(most, r->n_bytes[s]);
    return most;
}

/* --- trainings --- */

static enum rc write_profile(const struct pipeline *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, pipeline_kind[PIPELINE_EQUAL].profile));
    fputs(pipeline_profile, file.stream);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

/* Of a network a record says, too, how many micro-batches each stage has held: the spans must say the same. */
static enum rc find_held(struct pipeline_run *r, const struct training_record *record, const char *name)
{
    if (record->n_stages != PIPELINE_STAGES || r->spans.n_stages != PIPELINE_STAGES)
        return rc_raise(RC_MISMATCH, "%s: has records of %d stages and spans of %d, not %d", name, record->n_stages,
                        r->spans.n_stages, PIPELINE_STAGES);
    for (int s = 0; s < PIPELINE_STAGES; s++) {
        r->held[s] = stage_spans_most_held(&r->spans, STEP, s);
        r->n_bytes[s] = record->stage[s].activations_bytes;
        if (r->n_bytes[s] > 0 && record->stage[s].held_count != r->held[s])
            return rc_raise(RC_MISMATCH, "%s: stage %d held %d micro-batches by its spans, %g by its record", name, s,
                            r->held[s], record->stage[s].held_count);
    }
    return RC_OK;
}

static enum rc train(struct pipeline *l, int k, int c, int w)
{
    struct pipeline_run *r = &l->run[k][c][w];
    char name[TRAINING_NAME_BYTES], options[TRAINING_COMMAND_BYTES], path[4096 + 64];
    struct training_record record = { .point = NULL };
    enum rc rc;

    snprintf(name, sizeof name, "%s-%d-%s%s", pipeline_kind[k].name, pipeline_count[c],
             pipeline_way[w % PIPELINE_SCHEDULES].name, w < PIPELINE_SCHEDULES ? "" : "-recompute");
    snprintf(options, sizeof options, "%s --batch 64 --steps 3 --mode single --stages %d --accumulate %d %s",
             pipeline_kind[k].options, PIPELINE_STAGES, pipeline_count[c], pipeline_way[w].options);
    TRY(training_record_run_stages(&record, l->env, name, options, pipeline_kind[k].profile));
    memcpy(r->command, record.command, sizeof r->command);
    snprintf(path, sizeof path, "%s/%s.json", l->env->folder, name);
    TRY(stage_spans_read(&r->spans, path));
    TRY(stage_spans_step(&r->step, &r->spans, STEP));
    r->bubble_ratio = 1 - r->step.busy_ratio;
    TRY(find_held(r, &record, name));
out:
    training_record_close(&record);
    return rc;
}

enum rc pipeline_train(struct pipeline *l)
{
    enum rc rc;

    TRY(write_profile(l));
    for (int k = 0; k < PIPELINE_KINDS; k++)
        for (int c = 0; c < PIPELINE_COUNTS; c++)
            for (int w = 0; w < pipeline_kind[k].n_ways; w++)
                TRY(train(l, k, c, w));
out:
    return rc;
}

void pipeline_close(struct pipeline *l)
{
    for (int k = 0; k < PIPELINE_KINDS; k++)
        for (int c = 0; c < PIPELINE_COUNTS; c++)
            for (int w = 0; w < PIPELINE_WAYS; w++)
                stage_spans_close(&l->run[k][c][w].spans);
}

/* --- tables that are drawn --- */

static void write_spans(FILE *to, const struct pipeline_run *r, int n_micro_batches, const char *schedule)
{
    fprintf(to, "%d\t%s\t0\tstep\t0\t%.9g\t%.9g\n", n_micro_batches, schedule, 100 * r->bubble_ratio,
            pipeline_step_ms(r));
    for (size_t i = 0; i < r->spans.n; i++) {
        const struct stage_span *s = &r->spans.span[i];
        if (s->step == STEP)
            fprintf(to, "%d\t%s\t%d\t%s\t%d\t%.9g\t%.9g\n", n_micro_batches, schedule, s->stage,
                    s->is_backward ? "backward" : "forward", s->micro_batch,
                    1e-6 * (double)(s->start_ns - r->step.start_ns), 1e-6 * (double)(s->end_ns - r->step.start_ns));
    }
}

static enum rc write_schedule(const struct pipeline *l, int k, const char *name)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, name));
    fputs("micro_batches\tschedule\tstage\tkind\tmicro_batch\tstart_ms\tend_ms\n", file.stream);
    for (int c = 0; c < PIPELINE_COUNTS; c++)
        for (int w = 0; w < PIPELINE_SCHEDULES; w++)
            write_spans(file.stream, &l->run[k][c][w], pipeline_count[c], pipeline_way[w].name);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

static enum rc write_bubble(const struct pipeline *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "bubble.tsv"));
    fputs("line\tkind\tx\ty\n", file.stream);
    for (int c = 0; c < PIPELINE_COUNTS; c++)
        fprintf(file.stream, "(S - 1) / (M + S - 1)\tformula\t%d\t%.9g\n", pipeline_count[c],
                100 * pipeline_bubble(pipeline_count[c]));
    for (int k = 0; k < PIPELINE_KINDS; k++)
        for (int w = 0; w < PIPELINE_SCHEDULES; w++)
            for (int c = 0; c < PIPELINE_COUNTS; c++)
                fprintf(file.stream, "%s, %s\tpoint\t%d\t%.9g\n", pipeline_kind[k].shown, pipeline_way[w].name,
                        pipeline_count[c], 100 * l->run[k][c][w].bubble_ratio);
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

/* What the first stage holds, from one change to the next: a step of a line for each. */
static void add_held(struct curves *to, const struct pipeline_run *r, const char *line)
{
    int n_before = 0;

    for (size_t i = 0; i < r->spans.n; i++) {
        const struct stage_span *s = &r->spans.span[i];
        if (s->step != STEP || s->stage != 0)
            continue;
        const uint64_t at_ns = s->is_backward ? s->end_ns : s->start_ns;
        const double at_ms = 1e-6 * (double)(at_ns - r->step.start_ns);
        const int n_held = stage_spans_held(&r->spans, STEP, 0, at_ns);
        curves_add(to, line, at_ms, n_before);
        curves_add(to, line, at_ms, n_held);
        n_before = n_held;
    }
}

static enum rc write_held(const struct pipeline *l)
{
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, l->env, "held"));
    for (int w = 0; w < PIPELINE_SCHEDULES; w++)
        add_held(&to, &l->run[PIPELINE_EQUAL][DRAWN][w], pipeline_way[w].name);
    TRY(curves_commit(&to));
out:
    curves_discard(&to);
    return rc;
}

static enum rc write_memory(const struct pipeline *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "memory.tsv"));
    fputs("way\tmicro_batches\tstep_ms\tmegabytes\n", file.stream);
    for (int w = 0; w < PIPELINE_WAYS; w++)
        for (int c = 0; c < PIPELINE_COUNTS; c++)
            fprintf(file.stream, "%s\t%d\t%.9g\t%.9g\n", pipeline_way[w].name, pipeline_count[c],
                    pipeline_step_ms(&l->run[PIPELINE_NETWORK][c][w]),
                    1e-6 * pipeline_bytes_most(&l->run[PIPELINE_NETWORK][c][w]));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

static enum rc write_figures(const struct pipeline *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "pipeline.csv"));
    fputs("stages,micro_batches,way,step_s,bubble_ratio,formula_ratio,held_0,held_1,held_2,held_3,bytes_0,bytes_1,"
          "bytes_2,bytes_3\n",
          file.stream);
    for (int k = 0; k < PIPELINE_KINDS; k++)
        for (int c = 0; c < PIPELINE_COUNTS; c++)
            for (int w = 0; w < pipeline_kind[k].n_ways; w++) {
                const struct pipeline_run *r = &l->run[k][c][w];
                fprintf(file.stream, "%s,%d,%s%s,%.9f,%.9f,%.9f", pipeline_kind[k].name, pipeline_count[c],
                        pipeline_way[w % PIPELINE_SCHEDULES].name, w < PIPELINE_SCHEDULES ? "" : " recompute",
                        1e-3 * pipeline_step_ms(r), r->bubble_ratio, pipeline_bubble(pipeline_count[c]));
                for (int s = 0; s < PIPELINE_STAGES; s++)
                    fprintf(file.stream, ",%d", r->held[s]);
                for (int s = 0; s < PIPELINE_STAGES; s++)
                    fprintf(file.stream, ",%.0f", r->n_bytes[s]);
                fputs("\n", file.stream);
            }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc pipeline_write_drawn(const struct pipeline *l)
{
    enum rc rc;

    TRY(write_schedule(l, PIPELINE_EQUAL, "schedule.tsv"));
    TRY(write_schedule(l, PIPELINE_NETWORK, "schedule-resnet152.tsv"));
    TRY(write_bubble(l));
    TRY(write_held(l));
    TRY(write_memory(l));
    TRY(write_figures(l));
out:
    return rc;
}
