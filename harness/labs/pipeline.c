/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.c - the lab "pipeline": a network cut into four stages, and micro-batches that go through them.
 *
 * Two trainings in sim, by M micro-batches, and GPipe beside 1F1B: "equal", which replays a profile of four layers that
 * take as long as each other, so that what theory says of equal stages can be seen; and "network", slim resnet152 with
 * its own arithmetic, whose stages are as equal as it can be cut, and which holds activations. Every picture is of the
 * spans of their timelines (stage_spans.h) and of their records of stages.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/labs/lab.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/records.h"
#include "harness/labs/stage_spans.h"
#include "harness/report/table.h"

enum { PIPELINE_STAGES = 4, PIPELINE_COUNTS = 4, PIPELINE_WAYS = 4, PIPELINE_SCHEDULES = 2 };

enum { PIPELINE_EQUAL, PIPELINE_NETWORK, PIPELINE_KINDS };

struct pipeline_way { /* first the schedules, then the same schedules with recompute */
    const char *name, *options;
};

struct pipeline_kind { /* kinds of stages */
    const char *name, *shown, *note, *options;
    const char *profile; /* a file of the folder; NULL: none */
    int n_ways;          /* number of ways, from the first */
};

struct pipeline_run { /* the second step of a training */
    char command[TRAINING_COMMAND_BYTES];
    struct stage_spans spans;
    struct stage_step step;
    double bubble_ratio;
    int held[PIPELINE_STAGES];       /* most micro-batches held, from the spans */
    double n_bytes[PIPELINE_STAGES]; /* of activations; 0: a replayed profile has none */
};

struct pipeline { /* one run of the lab */
    const struct lab_env *env;
    struct pipeline_run run[PIPELINE_KINDS][PIPELINE_COUNTS][PIPELINE_WAYS];
};

/* --- the runs --- */

enum { STEP = 1, DRAWN = 2 }; /* the step that is looked at; whose count of micro-batches "held" shows */

static const int pipeline_count[PIPELINE_COUNTS] = { 2, 4, 8, 16 }; /* micro-batches */

static const struct pipeline_way pipeline_way[PIPELINE_WAYS] = { { "gpipe", "--schedule gpipe" },
                                                                 { "1f1b", "--schedule 1f1b" },
                                                                 { "gpipe, recompute", "--schedule gpipe --recompute" },
                                                                 { "1f1b, recompute", "--schedule 1f1b --recompute" } };

static const struct pipeline_kind pipeline_kind[PIPELINE_KINDS] = {
    { "equal", "equal stages", "equal stages, each 1 ms forward and 2 ms backward for 8 samples; a batch of 64",
      "--world sim --cluster h200-400g --compute hollow", "balanced.json", PIPELINE_SCHEDULES },
    { "network", "slim resnet152", "resnet152 with 1/16 of its channels, links of 10 Gbit/s; a batch of 64",
      "--model resnet152 --width-divisor 16 --image-size 32 --classes 10 --threads 1 --world sim --cluster ethernet-1g "
      "--cluster-set hosts_count=0,flops_per_s=1e9,link_bits_per_s=1e10",
      NULL, PIPELINE_WAYS }
};

extern const char pipeline_profile[]; /* page/: built by embed_text.cmake */

/* Bubble ratio in theory: (S - 1) / (M + S - 1). */
static double pipeline_bubble(int n_micro_batches)
{
    return (PIPELINE_STAGES - 1.0) / (n_micro_batches + PIPELINE_STAGES - 1.0);
}

static double pipeline_step_ms(const struct pipeline_run *r)
{
    return 1e-6 * (double)(r->step.end_ns - r->step.start_ns);
}

/* Most micro-batches that one stage holds. */
static int pipeline_held_most(const struct pipeline_run *r)
{
    int most = 0;

    for (int s = 0; s < PIPELINE_STAGES; s++)
        most = r->held[s] > most ? r->held[s] : most;
    return most;
}

static double pipeline_bytes_most(const struct pipeline_run *r)
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
out:
    return atomic_file_finish(&file, rc);
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

/* Run all trainings. Errors: those of lab.h, and RC_MISMATCH if spans and records of a training contradict each other.
 */
static enum rc pipeline_train(struct pipeline *l)
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

/* Accepts a zeroed one. */
static void pipeline_close(struct pipeline *l)
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
out:
    return atomic_file_finish(&file, rc);
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
out:
    return atomic_file_finish(&file, rc);
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
out:
    return curves_finish(&to, rc);
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
out:
    return atomic_file_finish(&file, rc);
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
out:
    return atomic_file_finish(&file, rc);
}

/* Write the tables of all pictures, and pipeline.csv. RC_IO. */
static enum rc pipeline_write_drawn(const struct pipeline *l)
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

enum {
    N_RUNS = PIPELINE_COUNTS * (PIPELINE_SCHEDULES + PIPELINE_WAYS),
    N_PICTURES = 1 + PIPELINE_COUNTS + 1 + 3 /* moving; by micro-batches; of the network; held, bubble, memory */
};

static enum rc show_schedules(struct lesson *lesson)
{
    char n[16], name[32], caption[160];
    struct chart_var var[] = { { "micro_batches", n }, { "machine", pipeline_kind[PIPELINE_EQUAL].note } };
    enum rc rc;

    snprintf(n, sizeof n, "%d", pipeline_count[0]);
    TRY(lesson_moving_picture(lesson, "pipeline-schedule", "schedule",
                              "The same batch in 2, 4, 8 and 16 micro-batches: the white part shrinks.", var, 2));
    for (int c = 0; c < PIPELINE_COUNTS; c++) {
        snprintf(n, sizeof n, "%d", pipeline_count[c]);
        snprintf(name, sizeof name, "schedule-%d", pipeline_count[c]);
        snprintf(caption, sizeof caption,
                 "Who computes what when, with %d micro-batches: equal stages, one step, GPipe above 1F1B.",
                 pipeline_count[c]);
        TRY(lesson_picture_of(lesson, "pipeline-schedule", "schedule", name, caption, var, 2));
    }
out:
    return rc;
}

static void add_row(struct table *t, const struct pipeline_run *r, int k, int c, int w)
{
    table_cell(t, "%s", pipeline_kind[k].shown);
    table_cell(t, "%d", pipeline_count[c]);
    table_cell(t, "%s", pipeline_way[w].name);
    table_cell(t, "%.3f", pipeline_step_ms(r));
    table_cell(t, "%.1f", 100 * r->bubble_ratio);
    table_cell(t, "%.1f", 100 * pipeline_bubble(pipeline_count[c]));
    table_cell(t, "%d", pipeline_held_most(r));
    if (pipeline_bytes_most(r) > 0)
        table_cell(t, "%.0f", pipeline_bytes_most(r));
    else
        table_cell(t, "none");
}

static void fill_table(struct table *t, const struct pipeline *l, int k)
{
    for (int c = 0; c < PIPELINE_COUNTS; c++) {
        for (int w = 0; w < pipeline_kind[k].n_ways; w++)
            add_row(t, &l->run[k][c][w], k, c, w);
        if (c + 1 < PIPELINE_COUNTS)
            table_rule(t);
    }
}

static enum rc show_table(const struct pipeline *l, struct lesson *lesson, int k, const char *caption)
{
    static const struct column column[] = { { "stages of", ALIGN_LEFT }, { "M", ALIGN_RIGHT },
                                            { "schedule", ALIGN_LEFT },  { "step ms", ALIGN_RIGHT },
                                            { "bubble %", ALIGN_RIGHT }, { "by formula", ALIGN_RIGHT },
                                            { "held", ALIGN_RIGHT },     { "bytes", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    fill_table(t, l, k);
    return lesson_table(lesson, t, caption);
}

static enum rc show_equal(const struct pipeline *l, struct lesson *lesson)
{
    static const struct chart_var held[] = { { "heading",
                                               "Activations held by the first of 4 equal stages, 8 micro-batches" },
                                             { "xtitle", "time since the start of the step (ms)" },
                                             { "ytitle", "micro-batches whose activations it holds" },
                                             { "axes", "plain" } };
    enum rc rc;

    TRY(show_schedules(lesson));
    TRY(show_table(l, lesson, PIPELINE_EQUAL,
                   "4 equal stages, one step: time, the share of it in which stages wait, and the micro-batches "
                   "that one stage holds at most"));
    TRY(lesson_picture(lesson, "lesson", "held",
                       "A forward pass adds a micro-batch, and its backward pass frees it. GPipe holds all of them. "
                       "1F1B never holds more micro-batches than there are stages.",
                       held, 4));
out:
    return rc;
}

static enum rc show_network(const struct pipeline *l, struct lesson *lesson)
{
    const struct chart_var eight[] = { { "micro_batches", "8" }, { "machine", pipeline_kind[PIPELINE_NETWORK].note } };
    static const struct chart_var bubble[] = { { "heading",
                                                 "Bubble of 4 stages: formula (line) and measured (points)" },
                                               { "xtitle", "micro-batches M" },
                                               { "ytitle", "bubble (% of the time of all stages)" },
                                               { "logx", "yes" } };
    static const struct chart_var memory[] = {
        { "heading", "Memory against time: slim resnet152, 4 stages, one batch in M micro-batches" }
    };
    enum rc rc;

    TRY(lesson_picture_of(
        lesson, "pipeline-schedule", "schedule-resnet152", "schedule-resnet152",
        "A real network is not cut into equal stages: the slowest stage decides how long a step takes.", eight, 2));
    TRY(lesson_picture(lesson, "against", "bubble",
                       "The bubble by the number of micro-batches, for equal stages and for the stages of a network.",
                       bubble, 4));
    TRY(lesson_picture(lesson, "pipeline-memory", "memory",
                       "Activations of the stage that holds most, against the time of a step. Nearer to the lower left "
                       "corner is better.",
                       memory, 1));
    TRY(show_table(l, lesson, PIPELINE_NETWORK,
                   "slim resnet152 in 4 stages, one step; held and bytes: of the stage that holds most, of its "
                   "activations"));
out:
    return rc;
}

static void tell_found(const struct pipeline *l, struct lesson *lesson)
{
    enum { LEAST = 0, MOST = PIPELINE_COUNTS - 1, GPIPE = 0, ONE_F_ONE_B = 1 };
    const struct pipeline_run(*equal)[PIPELINE_WAYS] = l->run[PIPELINE_EQUAL];
    const struct pipeline_run *network = l->run[PIPELINE_NETWORK][MOST];

    lesson_say(lesson,
               "From %d to %d micro-batches the time that %d equal stages wait changes from %.1f %% to %.1f %% of a "
               "step (GPipe).",
               pipeline_count[LEAST], pipeline_count[MOST], (int)PIPELINE_STAGES,
               100 * equal[LEAST][GPIPE].bubble_ratio, 100 * equal[MOST][GPIPE].bubble_ratio);
    lesson_say(lesson,
               "With %d micro-batches of %s a stage holds activations of up to %.2f MB under GPipe and %.2f MB under "
               "1F1B. A step takes %.1f ms and %.1f ms.",
               pipeline_count[MOST], pipeline_kind[PIPELINE_NETWORK].shown, 1e-6 * pipeline_bytes_most(&network[GPIPE]),
               1e-6 * pipeline_bytes_most(&network[ONE_F_ONE_B]), pipeline_step_ms(&network[GPIPE]),
               pipeline_step_ms(&network[ONE_F_ONE_B]));
}

static enum rc write_page(const struct pipeline *l)
{
    static const char *const question[] = {
        "Why must a stage wait at the start of a step, and why at its end? Which stage waits longest?",
        "GPipe and 1F1B have the same white area. What is then the advantage of 1F1B?",
        "With 16 micro-batches instead of 2 the bubble is a quarter. Why not take 64?",
        "The batch is the same in every row. Why do the bytes of GPipe not change with M, and those of 1F1B do?",
        "Which stage holds most under 1F1B, and which one holds a single micro-batch? Where would you put the layers "
        "with large activations?",
        "--recompute computes each forward pass twice: a third more work. With how many micro-batches does 1F1B hide "
        "it, and with how many not?",
        "The network's points are above the line. Which part comes from the bubble, and which from unequal stages?",
        NULL
    };
    static const char *const next[] = {
        "Give a stage twice the time: edit balanced.json, and type the first command again. What does 1F1B do now?",
        "Type the commands of equal stages with --cluster ethernet-1g --cluster-set hosts_count=0 in place of their "
        "cluster: activations travel at 1 Gbit/s. Which of both schedules loses more, and why?",
        "Train the network without the pipeline, --accumulate 8 in place of --stages 4 --accumulate 8: how much "
        "longer is the "
        "step of one rank, and how much does it hold?",
        "Open a timeline (one of the .json files) in Perfetto, and find the waits inside of forward and backward.", NULL
    };
    const char *commands[N_RUNS + 1] = { NULL };
    struct lesson lesson = { .env = NULL };
    int n = 0;
    enum rc rc;

    for (int k = 0; k < PIPELINE_KINDS; k++)
        for (int c = 0; c < PIPELINE_COUNTS; c++)
            for (int w = 0; w < pipeline_kind[k].n_ways; w++)
                commands[n++] = l->run[k][c][w].command;
    TRY(lesson_open(&lesson, l->env, "The pipeline: a network cut into stages, and what it waits for"));
    lesson_text(&lesson, "A network that is too large for one worker is cut into stages. Each stage has some of the "
                         "layers. It passes activations to the next stage, and gradients back. A whole batch would be "
                         "in one stage at a time. Cut into M micro-batches, it keeps all stages busy, except for the "
                         "bubble: the time in which stages wait. The pictures show trainings in simulated time. All "
                         "stages are equal: 1 ms forward and 2 ms backward for 8 samples. The batch has 64 samples.");
    tell_found(l, &lesson);
    TRY(show_equal(l, &lesson));
    lesson_text(&lesson, "The same with a real network: resnet152 with a sixteenth of its channels, on links of 10 "
                         "Gbit/s. What its stages hold was measured. With --recompute a stage keeps only the input of "
                         "a micro-batch, and computes its activations again before the backward pass.");
    TRY(show_network(l, &lesson));
    lesson_questions(&lesson, question, next);
    lesson_commands(&lesson, commands);
out:
    return lesson_finish(&lesson, rc);
}

static enum rc pipeline_run(const struct lab_env *env)
{
    struct pipeline *l = calloc(1, sizeof *l);
    enum rc rc;

    if (!l)
        return rc_raise(RC_NOMEM, "lab pipeline: no memory");
    l->env = env;
    parts_expect(env, N_RUNS, N_PICTURES);
    TRY(pipeline_train(l));
    TRY(pipeline_write_drawn(l));
    TRY(write_page(l));
out:
    pipeline_close(l);
    free(l);
    return rc;
}

const struct lab lab_pipeline = {
    .name = "pipeline",
    .summary = "Which stage waits, and what does it hold?",
    .run = pipeline_run,
};
