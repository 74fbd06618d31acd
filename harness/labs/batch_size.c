/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch_size.c - the lab "batch-size": a line through 1000 points by all of them at a time, by 100, and by one.
 *
 * The same number of epochs at the same rate. A full batch goes down the gradient of the loss itself, smoothly; a
 * sample alone points somewhere else every time, and the path never rests: its distance from the least point grows with
 * the rate, not with the number of steps. An epoch of 1000 steps costs more than one of a step, as each step has its
 * own cost beside its arithmetic.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/labs/interactive.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/squares.h"
#include "harness/labs/training.h"
#include "harness/report/table.h"

enum { N_RUNS = 3, N_PICTURES = 4, N_SAMPLES = 1000, N_EPOCHS = 150, SEED = 1, N_FIRST = 40, MOST_DRAWN = 1500 };

static const int batches[N_RUNS] = { N_SAMPLES, 100, 1 };

struct batch_size { /* one run of the lab */
    const struct lab_env *env;
    struct squares squares;
    struct line_point least;
    struct training_path run[N_RUNS];
    double step_s[N_RUNS]; /* the median one */
};

static enum rc train_all(struct batch_size *b)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < N_RUNS; i++) {
        char name[TRAINING_NAME_BYTES], options[128];
        snprintf(name, sizeof name, "batch-%d", batches[i]);
        snprintf(options, sizeof options, "--batch %d --lr 0.5 --steps %d --seed %d", batches[i],
                 N_EPOCHS * (N_SAMPLES / batches[i]), SEED);
        TRY(training_run(&b->run[i], b->env, name, options));
        TRY(training_median_step_s(&b->step_s[i], &b->run[i]));
    }
out:
    return rc;
}

static double loss_at(const struct batch_size *b, const struct path_point *p)
{
    return squares_loss(&b->squares, p->slope, p->offset);
}

static const struct path_point *last_point(const struct training_path *t)
{
    return &t->point[t->n_points - 1];
}

static void write_place(FILE *to, const struct batch_size *b, int k, size_t i, const char *part)
{
    fprintf(to, "batch %d\t%s\t%.9g\t%.9g\n", batches[k], part, b->run[k].point[i].slope, b->run[k].point[i].offset);
}

/* The first steps, one by one; then MOST_DRAWN of the others. */
static enum rc write_paths(const struct batch_size *b)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, b->env, "paths.tsv"));
    fputs("line\tpart\tslope\toffset\n", file.stream);
    for (int k = 0; k < N_RUNS; k++) {
        const size_t n = b->run[k].n_points, n_first = n < N_FIRST ? n : N_FIRST;
        for (size_t i = 0; i < n_first; i++)
            write_place(file.stream, b, k, i, "begin");
        for (size_t i = n_first; i < n; i += n / MOST_DRAWN + 1)
            write_place(file.stream, b, k, i, "rest");
    }
out:
    return atomic_file_finish(&file, rc);
}

/* How far above the least loss, against steps, samples and seconds: from the first step on. */
static enum rc write_curve(const struct batch_size *b, const char *name, int axis)
{
    const double least = squares_loss(&b->squares, b->least.slope, b->least.offset);
    struct curves to = { .file.stream = NULL };
    char line[32];
    enum rc rc;

    TRY(curves_open(&to, b->env, name));
    for (int k = 0; k < N_RUNS; k++) {
        snprintf(line, sizeof line, "batch %d", batches[k]);
        for (size_t i = 1; i < b->run[k].n_points; i++) {
            const struct path_point *p = &b->run[k].point[i];
            const double x = axis == 0 ? (double)i : axis == 1 ? p->samples_count : (double)i * b->step_s[k];
            curves_add_mean(&to, line, x, loss_at(b, p) - least);
        }
    }
out:
    return curves_finish(&to, rc);
}

static enum rc write_tables(const struct batch_size *b)
{
    enum rc rc;

    TRY(training_histories(&b->run[0], b->env));
    TRY(write_paths(b));
    TRY(write_curve(b, "loss-steps", 0));
    TRY(write_curve(b, "loss-samples", 1));
    TRY(write_curve(b, "loss-seconds", 2));
out:
    return rc;
}

static void add_row(struct table *t, const struct batch_size *b, int k)
{
    const struct path_point *p = last_point(&b->run[k]);
    const double steps_of_epoch = (double)N_SAMPLES / batches[k];

    table_cell(t, "%d", batches[k]);
    table_cell(t, "%zu", b->run[k].n_points - 1);
    table_cell(t, "%.6f", p->slope);
    table_cell(t, "%.6f", p->offset);
    table_cell(t, "%.2g", hypot(p->slope - b->least.slope, p->offset - b->least.offset));
    table_cell(t, "%.6f", loss_at(b, p));
    table_cell(t, "%.2f", 1e6 * b->step_s[k]);
    table_cell(t, "%.0f", 1e6 * b->step_s[k] * steps_of_epoch);
}

static void add_least(struct table *t, const struct batch_size *b)
{
    table_cell(t, "least squares");
    table_cell(t, "%s", "");
    table_cell(t, "%.6f", b->least.slope);
    table_cell(t, "%.6f", b->least.offset);
    table_cell(t, "0");
    table_cell(t, "%.6f", squares_loss(&b->squares, b->least.slope, b->least.offset));
    table_cell(t, "%s", "");
    table_cell(t, "%s", "");
}

static void fill_table(struct table *t, const struct batch_size *b)
{
    for (int k = 0; k < N_RUNS; k++)
        add_row(t, b, k);
    table_rule(t);
    add_least(t, b);
}

static enum rc show_table(const struct batch_size *b, struct lesson *l)
{
    static const struct column column[] = { { "batch", ALIGN_RIGHT },          { "steps", ALIGN_RIGHT },
                                            { "slope", ALIGN_RIGHT },          { "offset", ALIGN_RIGHT },
                                            { "to the minimum", ALIGN_RIGHT }, { "loss", ALIGN_RIGHT },
                                            { "us/step", ALIGN_RIGHT },        { "us/epoch", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    fill_table(t, b);
    return lesson_table(l, t, "where each training ended, and the time of its median step and of one epoch");
}

static enum rc show_paths(const struct batch_size *b, struct lesson *l)
{
    return lesson_paths(l, "paths", "Three paths over the loss: 150 epochs with batches of 1000, 100 and 1",
                        "Each path: slope and offset, step by step. Grey lines: equal loss of all 1000 samples. Cross: "
                        "the exact answer (least squares).",
                        "first", &b->squares);
}

static enum rc show_curves(const struct batch_size *b, struct lesson *l)
{
    char seconds[256];
    const struct {
        const char *name, *caption, *xlabel, *heading;
    } curve[] = { { "loss-steps",
                    "Against steps: a step with all samples lowers the loss most. A point of a curve is a mean over a "
                    "small piece of the axis.",
                    "steps (logarithmic)", "Loss above its minimum against steps" },
                  { "loss-samples",
                    "Against samples: small batches come near the minimum with few samples, but do not reach it.",
                    "samples seen (logarithmic)", "Loss above its minimum against samples" },
                  { "loss-seconds", seconds, "seconds: steps x the median step (logarithmic)",
                    "Loss above its minimum against time" } };
    enum rc rc = RC_OK;

    snprintf(seconds, sizeof seconds,
             "Against time on this machine: steps times the median step, %.3g us with all samples, %.3g with 100, %.3g "
             "with one. Interruptions by other programs are left out.",
             1e6 * b->step_s[0], 1e6 * b->step_s[1], 1e6 * b->step_s[2]);
    for (size_t i = 0; i < sizeof curve / sizeof *curve; i++) {
        const struct chart_var var[] = { { "heading", curve[i].heading },
                                         { "xtitle", curve[i].xlabel },
                                         { "ytitle", "loss of all samples above the minimum (log.)" } };
        TRY(lesson_picture(l, "lesson", curve[i].name, curve[i].caption, var, 3));
    }
out:
    return rc;
}

static enum rc write_page(const struct batch_size *b)
{
    static const char *const question[] = {
        "All three paths begin at slope 0, offset 0 and follow gradients. Why is one of them smooth, and another not?",
        "Which batch needs the fewest steps, which the fewest samples, which the least time? Why do the answers "
        "differ?",
        "With batches of one sample the path never settles. What must change during the training, so that it settles?",
        "An epoch with batch 1 does the same multiplications as one with batch 1000, and takes far longer. What else "
        "does a step cost?",
        "The data were made with slope 2 and offset 0. The red cross is not there. Why?",
        NULL
    };
    static const struct interactive sliders = {
        .sliders = interactive_batch_size,
        .text = "This page computes the same training, with the arithmetic of the program. Which is the largest rate "
                "that does not diverge, with all samples and with one? What does momentum change?",
        .seed = SEED,
        .write_curves = NULL,
        .arg = NULL,
    };
    static const char *const next[] = {
        "Run the command of batch 1 with --lr 0.05. How far is the printed slope from that of row \"least squares\"?",
        "Try --batch 10 with --steps 15000. Between which paths is it, by steps, by samples, by time?",
        ("Run the command of batch 1000 with --lr 1.5. From which rate on does it diverge? Compare with the curvature "
         "of the loss."),
        "Take another --seed: which of the figures change, and by how much?", NULL
    };
    const char *const commands[] = { b->run[0].command, b->run[1].command, b->run[2].command, NULL };
    struct lesson l = { .env = NULL };
    enum rc rc;

    TRY(interactive_open(&l, b->env, "Batch size: a line through 1000 points, with batches of 1000, 100 and 1"));
    lesson_text(&l, "The data: 1000 samples y = 2 x + U(-0.5, 0.5), x from U(-0.5, 0.5). The model: y = slope x + "
                    "offset, from 0 and 0. The loss: the mean of (y of the line - y of the sample)^2. Each training "
                    "goes 150 times through all samples, with learning rate 0.5. Only the batch differs: the number of "
                    "samples from which one gradient is computed.");
    TRY(show_table(b, &l));
    TRY(show_paths(b, &l));
    TRY(show_curves(b, &l));
    TRY(interactive_show(&l, &sliders));
    lesson_say_histories(&l, 1);
    lesson_questions(&l, question, next);
    lesson_commands(&l, commands);
out:
    return lesson_finish(&l, rc);
}

static enum rc batch_size_run(const struct lab_env *env)
{
    struct batch_size b = { .env = env };
    enum rc rc;

    TRY(squares_of_line(&b.squares, SEED));
    b.least = squares_least(&b.squares);
    parts_expect(env, N_RUNS, N_PICTURES);
    TRY(train_all(&b));
    for (int k = 0; k < N_RUNS; k++)
        fprintf(parts_text(env), "batch %d: slope=%.6f offset=%.6f\n", batches[k], last_point(&b.run[k])->slope,
                last_point(&b.run[k])->offset);
    TRY(write_tables(&b));
    TRY(write_page(&b));
out:
    for (int k = 0; k < N_RUNS; k++)
        training_close(&b.run[k]);
    return rc;
}

const struct lab lab_batch_size = {
    .name = "batch-size",
    .summary = "Why do the paths of 3 batch sizes differ?",
    .run = batch_size_run,
};
