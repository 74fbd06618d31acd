/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distribute.c - the lab "distribute": the line of lab batch-size by several workers, built up step by step as every
 * recipe for distributed training does it, from nothing shared to all of it. What a step is for is what its omission
 * shows (train/omission.h); a verdict finds from paths, losses and files alone what is missing (verdict.h).
 *
 * The rate of one worker is such that the scaled one is always 0.5: with all steps of the recipe W workers are the big
 * batch, sample for sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/dataset.h"
#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/squares.h"
#include "harness/labs/training.h"
#include "harness/labs/verdict.h"
#include "harness/report/table.h"
#include "harness/train/checkpoint.h"
#include "harness/train/omission.h"

enum { N_STAGES = 6, BATCH = 20, N_STEPS = 300, SEED = 1, N_FIRST = 40, N_SENTENCE = 192, PATH_BYTES = 4096 };
static const double scaled_lr = 0.5;

static const struct stage_text {
    const char *name, *title, *text;
    unsigned omitted;
} stages[N_STAGES] = {
    { "nothing-shared", "Nothing shared",
      "Every worker is a separate program. It begins with random parameters, reads all the data, and uses its own "
      "gradient. All read the same samples in the same order, so they end at the same point. Each costs a whole "
      "training.",
      OMIT_BROADCAST | OMIT_SHARD | OMIT_AVERAGE | OMIT_SCALING | OMIT_RANK0_SAVE },
    { "shard", "Shard the data",
      "Now each worker reads its own part of the data. That alone makes each training worse: a worker sees only its "
      "part of the samples, and the workers end at different points.",
      OMIT_BROADCAST | OMIT_AVERAGE | OMIT_SCALING | OMIT_RANK0_SAVE },
    { "average", "Average the gradients",
      "All make the same step, by the mean of all gradients. But they began at different points, so the distance "
      "between them stays the same. The mean gradient fits none of these points.",
      OMIT_BROADCAST | OMIT_SCALING | OMIT_RANK0_SAVE },
    { "broadcast", "Broadcast the start",
      "All begin with the parameters of rank 0, so all have the same path. It is one training with the batches of all "
      "workers together, at the rate for the batch of one worker.",
      OMIT_SCALING | OMIT_RANK0_SAVE },
    { "scale", "Scale the rate",
      "The mean of more samples allows a longer step: the rate times the number of workers (the linear scaling rule). "
      "The training goes as far with the same samples, in fewer steps.",
      OMIT_RANK0_SAVE },
    { "save", "Save on rank 0 only",
      "Until now all workers wrote the same checkpoint file, and the last one stayed. All have the same parameters, so "
      "one file is enough.",
      0 },
};

struct stage {
    const struct stage_text *of;
    unsigned omitted;
    struct training_path run;
    double *part_loss;
    struct checkpoint saved; /* its header, then its parameters */
    struct evidence evidence;
    struct verdict verdict;
};

struct distribute { /* one run of the lab */
    const struct lab_env *env;
    struct squares squares;
    struct dataset *data;
    int n_workers, n_stages;
    double lr; /* of one worker */
    struct stage stage[N_STAGES];
};

/* --- what was done --- */

/* Of the n samples of the run from `first` on. */
static double loss_of_samples(const struct dataset *d, uint64_t first, size_t n, const struct path_point *p)
{
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        const size_t i = dataset_index(d, SEED, first + k);
        const double missed = p->slope * (double)d->feature[i] + p->offset - (double)d->target[i];
        sum += missed * missed;
    }
    return sum / (double)n;
}

/* What every worker would note if it had its own part: train.L1. */
static enum rc find_part_losses(struct stage *s, const struct dataset *d)
{
    const size_t n_steps = s->run.n_points - 1, n_workers = (size_t)s->run.n_workers;

    s->part_loss = calloc(n_workers * n_steps + 1, sizeof *s->part_loss);
    if (!s->part_loss)
        return rc_raise(RC_NOMEM, "no memory for the losses of %zu steps", n_steps);
    for (size_t w = 0; w < n_workers; w++)
        for (size_t i = 0; i < n_steps; i++)
            s->part_loss[w * n_steps + i] =
                loss_of_samples(d, (i * n_workers + w) * BATCH, BATCH, &s->run.point[w * s->run.n_points + i]);
    return RC_OK;
}

static enum rc judge(struct stage *s, const struct distribute *d)
{
    char path[PATH_BYTES + 64];
    enum rc rc;

    TRY(find_part_losses(s, d->data));
    snprintf(path, sizeof path, "%s/%s.ckpt", d->env->folder, s->run.name);
    TRY(checkpoint_load(&s->saved, path));
    s->evidence = (struct evidence){ .path = &s->run,
                                     .loss = &d->squares,
                                     .part_loss = s->part_loss,
                                     .lr = d->lr,
                                     .has_file = true,
                                     .writer_rank = (int)s->saved.writer_rank };
    verdict_of(&s->verdict, &s->evidence);
out:
    return rc;
}

static enum rc train_stage(struct distribute *d, struct stage *s)
{
    char options[256], omitted[OMISSIONS_BYTES] = "";

    for (int i = 0; omission_name(i); i++)
        if (s->omitted & (1u << i))
            snprintf(omitted + strlen(omitted), sizeof omitted - strlen(omitted), "%s%s", omitted[0] ? "," : "",
                     omission_name(i));
    snprintf(options, sizeof options,
             "--mode allreduce --workers %d --batch %d --lr %.9g --lr-scaling linear --steps %d --seed %d%s%s",
             d->n_workers, BATCH, d->lr, N_STEPS, SEED, omitted[0] ? " --omit " : "", omitted);
    return training_run_saving(&s->run, d->env, s->of->name, options);
}

static enum rc train_all(struct distribute *d)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < d->n_stages; i++) {
        TRY(train_stage(d, &d->stage[i]));
        TRY(judge(&d->stage[i], d));
    }
out:
    return rc;
}

/* --- what is told --- */

/* Every sentence of the verdict, with its name in front of the first. A riddle has it on the terminal alone. */
static void tell_verdict(const struct stage *s, struct lesson *l, bool is_on_page)
{
    char sentence[N_SENTENCE];

    if (s->verdict.missing == 0) {
        if (is_on_page)
            lesson_text(l, "Verdict: nothing is missing.");
        fprintf(parts_text(l->env), "%s: verdict: nothing is missing\n", s->of->name);
    }
    for (int i = 0; omission_name(i); i++)
        if (s->verdict.missing & (1u << i)) {
            char line[N_SENTENCE + 64];
            verdict_sentence(sentence, sizeof sentence, &s->verdict, (enum omission)(1 << i), &s->evidence);
            snprintf(line, sizeof line, "Verdict: %s.", sentence);
            if (is_on_page)
                lesson_text(l, line);
            fprintf(parts_text(l->env), "%s: verdict: without %s: %s\n", s->of->name, omission_name(i), sentence);
        }
}

static void write_place(FILE *to, const struct stage *s, int worker, size_t i, const char *part)
{
    const struct path_point *p = &s->run.point[(size_t)worker * s->run.n_points + i];

    fprintf(to, "worker %d\t%s\t%.9g\t%.9g\n", worker, part, p->slope, p->offset);
}

static enum rc write_paths(const struct stage *s, const struct lab_env *env)
{
    struct atomic_file file = { .stream = NULL };
    char name[TRAINING_NAME_BYTES + 8];
    enum rc rc;

    snprintf(name, sizeof name, "%s.tsv", s->run.name);
    TRY(lesson_file(&file, env, name));
    fputs("line\tpart\tslope\toffset\n", file.stream);
    for (int w = 0; w < s->run.n_workers; w++)
        for (size_t i = 0; i < s->run.n_points; i++)
            write_place(file.stream, s, w, i, i < N_FIRST ? "begin" : "rest");
out:
    return atomic_file_finish(&file, rc);
}

static enum rc write_distances(const struct distribute *d)
{
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, d->env, "apart"));
    for (int k = 0; k < d->n_stages; k++)
        for (size_t i = 1; i < d->stage[k].run.n_points; i++)
            if (training_apart(&d->stage[k].run, i) > 1e-5) /* float by float: else they are one path */
                curves_add(&to, d->stage[k].of->title, (double)i, training_apart(&d->stage[k].run, i));
out:
    return curves_finish(&to, rc);
}

static enum rc show_stage(const struct distribute *d, struct stage *s, struct lesson *l)
{
    char heading[128];
    enum rc rc;

    lesson_heading(l, s->of->title);
    if (d->n_stages > 1)
        lesson_text(l, s->of->text);
    tell_verdict(s, l, d->n_stages > 1);
    TRY(write_paths(s, d->env));
    snprintf(heading, sizeof heading, "%s%s the paths of %d workers over the loss", s->of->title,
             strchr(s->of->title, '?') ? "" : ":", d->n_workers);
    TRY(lesson_paths(l, s->run.name, heading,
                     "The path of each worker. Grey lines: equal loss of all 1000 samples. Cross: the exact answer "
                     "(least squares). If two paths are equal, the second is drawn on the first, and narrower.",
                     "last", &d->squares));
out:
    return rc;
}

static void add_row(struct table *t, const struct stage *s, bool is_riddle)
{
    const struct path_point *last = &s->run.point[s->run.n_points - 1];
    char missing[OMISSIONS_BYTES];

    omission_text(missing, sizeof missing, s->verdict.missing);
    table_cell(t, "%s", s->of->name);
    table_cell(t, "%.4f", last->slope);
    table_cell(t, "%.4f", last->offset);
    table_cell(t, "%.3g", s->verdict.begins_apart);
    table_cell(t, "%.3g", s->verdict.ends_apart);
    table_cell(t, "%.3f", s->verdict.rate);
    table_cell(t, "rank %d", s->evidence.writer_rank);
    table_cell(t, "%s", is_riddle ? "?" : missing[0] ? missing : "nothing");
}

static enum rc show_table(const struct distribute *d, struct lesson *l)
{
    static const struct column column[] = { { "step of the recipe", ALIGN_LEFT },
                                            { "slope", ALIGN_RIGHT },
                                            { "offset", ALIGN_RIGHT },
                                            { "begin apart", ALIGN_RIGHT },
                                            { "end apart", ALIGN_RIGHT },
                                            { "rate", ALIGN_RIGHT },
                                            { "file by", ALIGN_LEFT },
                                            { "missing", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < d->n_stages; i++)
        add_row(t, &d->stage[i], d->n_stages == 1);
    return lesson_table(l, t,
                        "slope and offset of rank 0; how far apart workers begin and end; the rate of their steps");
}

static enum rc show_distances(const struct distribute *d, struct lesson *l)
{
    static const struct chart_var var[] = { { "heading", "Distance of the workers' parameters against steps" },
                                            { "xtitle", "steps (logarithmic)" },
                                            { "ytitle", "distance from worker 0 (logarithmic)" } };
    bool is_any = false;
    enum rc rc = RC_OK;

    for (int k = 0; k < d->n_stages; k++)
        is_any = is_any || training_apart(&d->stage[k].run, 1) > 1e-5;
    if (!is_any) { /* one path: there is nothing to draw */
        parts_expect(l->env, d->n_stages, d->n_stages);
        return RC_OK;
    }
    TRY(write_distances(d));
    TRY(lesson_picture(l, "lesson", "apart",
                       "The distance of the farthest worker from worker 0. Steps of the recipe that are not shown have "
                       "all workers on one path.",
                       var, 3));
out:
    return rc;
}

static void tell_questions(struct lesson *l)
{
    static const char *const question[] = {
        "Which steps of the recipe turn the workers into one training? Which ones make it the training that you want?",
        "With gradients averaged but no broadcast the workers stay apart by the same distance for ever. Why?",
        "With shards, but without averages, each worker learns from its own part. How good is the mean of their "
        "parameters?",
        "With the same start and without shards, the workers agree in every step, also without averages. Nothing looks "
        "wrong. Why is it useless?",
        "All workers save, and all have the same parameters. When would it matter which of them was the last to write?",
        NULL
    };
    static const char *const next[] = {
        "gradmark lab distribute --without broadcast (or shard, average, scaling, rank0-save): what is missing?",
        "gradmark lab distribute --workers 4: what changes with the number of workers, and what does not?",
        "Add --momentum 0.9 to the command of the last training: is it still equal to one worker with the large batch?",
        "Train with --mode ps instead of --mode allreduce: which steps of the recipe does a server do?", NULL
    };

    lesson_questions(l, question, next);
}

static void tell_commands(const struct distribute *d, struct lesson *l)
{
    const char *command[N_STAGES + 1] = { NULL };

    for (int i = 0; i < d->n_stages; i++)
        command[i] = d->stage[i].run.command;
    lesson_commands(l, command);
}

static enum rc write_page(struct distribute *d)
{
    struct lesson l = { .env = NULL };
    char text[512];
    enum rc rc;

    TRY(lesson_open(&l, d->env, "Distribute: from workers that share nothing to one training"));
    snprintf(text, sizeof text,
             "The data and the model are those of lab batch-size: 1000 samples y = 2 x + U(-0.5, 0.5), slope and "
             "offset. %d workers, batch %d each, %d steps, learning rate %.3g for one worker and %.3g for all.",
             d->n_workers, BATCH, N_STEPS, d->lr, scaled_lr);
    lesson_text(&l, text);
    for (int i = 0; i < d->n_stages; i++)
        TRY(show_stage(d, &d->stage[i], &l));
    lesson_heading(&l, "All of it");
    TRY(show_table(d, &l));
    TRY(show_distances(d, &l));
    lesson_say_histories(&l, d->n_workers);
    tell_questions(&l);
    tell_commands(d, &l);
out:
    return lesson_finish(&l, rc);
}

/* --without: the whole recipe but for this. */
static enum rc choose_stages(struct distribute *d)
{
    static const struct stage_text alone = { .name = "without", .title = "What is missing?" };
    unsigned omitted;
    enum rc rc;

    TRY(omission_parse(&omitted, d->env->without, "without"));
    d->n_stages = omitted == 0 ? N_STAGES : 1;
    for (int i = 0; i < d->n_stages; i++) {
        d->stage[i].of = omitted == 0 ? &stages[i] : &alone;
        d->stage[i].omitted = omitted == 0 ? stages[i].omitted : omitted;
    }
out:
    return rc;
}

static enum rc distribute_check(const struct lab_env *env)
{
    unsigned omitted;

    return omission_parse(&omitted, env->without, "without");
}

static enum rc distribute_run(const struct lab_env *env)
{
    struct distribute d = { .env = env, .n_workers = env->n_workers > 0 ? env->n_workers : 2 };
    enum rc rc;

    d.lr = scaled_lr / d.n_workers;
    TRY(choose_stages(&d));
    TRY(squares_of_line(&d.squares, SEED));
    TRY(dataset_open_line(&d.data, SEED));
    parts_expect(env, d.n_stages, d.n_stages + 1);
    TRY(train_all(&d));
    TRY(training_histories(&d.stage[d.n_stages - 1].run, env));
    TRY(write_page(&d));
out:
    for (int i = 0; i < d.n_stages; i++) {
        training_close(&d.stage[i].run);
        checkpoint_free(&d.stage[i].saved);
        free(d.stage[i].part_loss);
    }
    dataset_close(&d.data);
    return rc;
}

const struct lab lab_distribute = {
    .name = "distribute",
    .summary = "Which steps make two workers one training?",
    .takes = LAB_WITHOUT | LAB_WORKERS,
    .most_workers = 6, /* colours that are told apart */
    .check = distribute_check,
    .run = distribute_run,
};
