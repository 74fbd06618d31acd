/* SPDX-License-Identifier: Apache-2.0 */
/*
 * split.c - the lab "split": what it does to a training that workers have different samples, and unlike shares of them.
 *
 * As long as gradients are averaged in every step, the mean is that of all samples, whoever has which. The longer each
 * worker goes by its own (local SGD), the farther it goes to where its own samples want it, and the mean of places so
 * far apart is a good one for nobody. Unequal shares change nothing of the mean, if each counts by its samples, but in
 * every step all wait for who has most.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>

#include "data/dataset.h"
#include "data/split.h"
#include "harness/labs/curves.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/records.h"
#include "harness/report/table.h"
#include "harness/world/world.h"

enum { N_SPLITS = 3, N_PERIODS = 4, N_SHARES = 4, N_WORKERS = 4, BATCH = 32, N_STEPS = 120, SEED = 1, N_LABELS = 10 };

static const char *const splits[N_SPLITS] = { "iid", "dirichlet:0.3", "by-label" };
static const char *const split_names[N_SPLITS] = { "iid", "dirichlet", "by-label" };
static const int periods[N_PERIODS] = { 1, 8, 30, N_STEPS };
static const int shares[N_SHARES] = { 1, 2, 4, 8 };

struct split_lab { /* one run of the lab */
    const struct lab_env *env;
    struct training_record local[N_SPLITS][N_PERIODS]; /* of a split and a period */
    struct training_record load[N_SHARES];
    bool has_sim;
    char virtual_time[32]; /* the name of that world */
    char why_no_sim[RC_MESSAGE_BYTES];
};

/* --- trainings --- */

static enum rc train_local(struct split_lab *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < N_SPLITS; i++)
        for (int k = 0; k < N_PERIODS; k++) {
            char name[TRAINING_NAME_BYTES], options[256];
            snprintf(name, sizeof name, "%s-%d", split_names[i], periods[k]);
            snprintf(options, sizeof options,
                     "--model lenet --mode allreduce --workers %d --threads 1 --batch %d --steps %d --seed %d "
                     "--split %s --average-every %d",
                     N_WORKERS, BATCH, N_STEPS, SEED, splits[i], periods[k]);
            TRY(training_record_run(&s->local[i][k], s->env, name, options));
        }
out:
    return rc;
}

static void find_sim(struct split_lab *s)
{
    const struct world_ops *sim;

    module_names_with(s->virtual_time, sizeof s->virtual_time, &world_kind, WORLD_VIRTUAL_TIME);
    s->has_sim = world_find(&sim, s->virtual_time) == RC_OK;
    if (!s->has_sim)
        snprintf(s->why_no_sim, sizeof s->why_no_sim, "%s", rc_message());
}

/* In sim, where a worker's time is that of its operations alone. */
static enum rc train_unequal(struct split_lab *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < (s->has_sim ? N_SHARES : 0); i++) {
        char name[TRAINING_NAME_BYTES], options[256];
        snprintf(name, sizeof name, "unequal-%d", shares[i]);
        snprintf(options, sizeof options,
                 "--world %s --model lenet --mode allreduce --workers 2 --batch 36 --steps 20 --seed %d "
                 "--split unequal:%d,1",
                 s->virtual_time, SEED, shares[i]);
        TRY(training_record_run(&s->load[i], s->env, name, options));
        if (s->load[i].n_workers != 2)
            FAIL(RC_MISMATCH, "%s.jsonl: has records of %d workers, not of 2", name, s->load[i].n_workers);
    }
out:
    return rc;
}

/* --- who has which labels --- */

static enum rc fill_labels(struct table *t, const struct dataset *d, const char *text)
{
    struct split_opts opts;
    struct split s = { .index = NULL };
    enum rc rc;

    TRY(split_parse(&opts, text));
    TRY(split_open(&s, d, &opts, N_WORKERS, SEED));
    for (int w = 0; w < N_WORKERS; w++) {
        const struct dataset_part p = split_part(&s, w);
        size_t n_of[N_LABELS] = { 0 };
        for (size_t k = 0; k < p.n_samples; k++)
            n_of[d->ops->label(d, p.index[k])]++;
        table_cell(t, "%s", text);
        table_cell(t, "%d", w);
        for (int c = 0; c < N_LABELS; c++)
            table_cell(t, "%zu", n_of[c]);
    }
out:
    split_close(&s);
    return rc;
}

static enum rc show_labels(struct lesson *l)
{
    static const struct column column[N_LABELS + 2] = {
        { "split", ALIGN_LEFT }, { "worker", ALIGN_RIGHT }, { "0", ALIGN_RIGHT }, { "1", ALIGN_RIGHT },
        { "2", ALIGN_RIGHT },    { "3", ALIGN_RIGHT },      { "4", ALIGN_RIGHT }, { "5", ALIGN_RIGHT },
        { "6", ALIGN_RIGHT },    { "7", ALIGN_RIGHT },      { "8", ALIGN_RIGHT }, { "9", ALIGN_RIGHT }
    };
    const struct dataset_source *source = dataset_source_find("digits");
    struct dataset *d = NULL;
    struct table *t = NULL;
    char shipped[PATH_MAX];
    enum rc rc;

    dataset_source_path(source, shipped, sizeof shipped);
    TRY(dataset_open_digits(&d, shipped));
    t = table_open(column, N_LABELS + 2);
    for (int i = 1; i < N_SPLITS; i++) {
        TRY(fill_labels(t, d, splits[i]));
        if (i + 1 < N_SPLITS)
            table_rule(t);
    }
    rc = lesson_table(l, t, "how many samples of each digit a worker has");
    t = NULL;
out:
    table_close(&t);
    dataset_close(&d);
    return rc;
}

/* --- local SGD --- */

static double wrong_percent(const struct training_record *o)
{
    return 100 * (1 - o->accuracy_ratio);
}

static enum rc write_errors(const struct split_lab *s)
{
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, s->env, "period"));
    for (int i = 0; i < N_SPLITS; i++)
        for (int k = 0; k < N_PERIODS; k++)
            curves_add(&to, splits[i], periods[k], wrong_percent(&s->local[i][k]));
out:
    return curves_finish(&to, rc);
}

static void fill_errors(struct table *t, const struct split_lab *s)
{
    for (int i = 0; i < N_SPLITS; i++) {
        table_cell(t, "%s", splits[i]);
        for (int k = 0; k < N_PERIODS; k++)
            table_cell(t, "%.1f %%", wrong_percent(&s->local[i][k]));
    }
}

static enum rc show_errors(const struct split_lab *s, struct lesson *l)
{
    static const struct chart_var var[] = {
        { "heading", "Test error against the period of averaging: lenet on digits, 4 workers, 120 steps" },
        { "xtitle", "steps from one average of the parameters to the next (logarithmic)" },
        { "ytitle", "test images classified wrong, % (logarithmic)" },
        { "marks", "1" }
    };
    char title[N_PERIODS][32];
    struct column column[N_PERIODS + 1] = { { "split", ALIGN_LEFT } };
    enum rc rc;

    for (int k = 0; k < N_PERIODS; k++) {
        snprintf(title[k], sizeof title[k], "every %d", periods[k]);
        column[k + 1] = (struct column){ title[k], ALIGN_RIGHT };
    }
    struct table *t = table_open(column, N_PERIODS + 1);
    fill_errors(t, s);
    TRY(lesson_table(
        l, t, "part of the test images that is classified wrong, by the number of steps from one average to the next"));
    TRY(write_errors(s));
    TRY(lesson_picture(l, "lesson", "period",
                       "Errors on the test set against the period of local SGD: it may be long if workers get samples "
                       "in turn, but not if each has samples of its own labels.",
                       var, 4));
out:
    return rc;
}

/* --- unequal shares --- */

static enum rc write_loads(const struct split_lab *s)
{
    static const char *const line[3] = { "worker 0 computes", "worker 1 computes", "worker 1 waits" };
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, s->env, "load"));
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < N_SHARES; i++) {
            const struct training_record *o = &s->load[i];
            const double of[3] = { o->worker[0].compute_s, o->worker[1].compute_s, o->worker[1].wait_s };
            curves_add(&to, line[k], shares[i], 1e6 * of[k]);
        }
out:
    return curves_finish(&to, rc);
}

static void add_load(struct table *t, const struct training_record *o, int share)
{
    for (int w = 0; w < 2; w++) {
        table_cell(t, "%d : 1", share);
        table_cell(t, "%d", w);
        table_cell(t, "%.0f", o->worker[w].batch_count);
        table_cell(t, "%.1f", 1e6 * o->worker[w].compute_s);
        table_cell(t, "%.1f", 1e6 * o->worker[w].wait_s);
        if (w == 0)
            table_cell(t, "%.0f", o->throughput_samples_per_s);
        else
            table_cell(t, "%s", "");
    }
}

static enum rc show_loads(const struct split_lab *s, struct lesson *l)
{
    static const struct column column[] = { { "shares", ALIGN_LEFT },    { "worker", ALIGN_RIGHT },
                                            { "samples", ALIGN_RIGHT },  { "computes us", ALIGN_RIGHT },
                                            { "waits us", ALIGN_RIGHT }, { "samples/s of both", ALIGN_RIGHT } };
    static const struct chart_var var[] = {
        { "heading", "Unequal batches of two workers: where the time of a step goes (simulated)" },
        { "xtitle", "samples of worker 0 for each of worker 1" },
        { "ytitle", "time in a mean step (us, simulated)" },
        { "axes", "plain" },
        { "marks", "1" }
    };
    enum rc rc = RC_OK;

    if (!s->has_sim) {
        lesson_say(l, "The waiting times need world sim, which is missing: %s", s->why_no_sim);
        return RC_OK;
    }
    struct table *t = table_open(column, sizeof column / sizeof *column);
    for (int i = 0; i < N_SHARES; i++)
        add_load(t, &s->load[i], shares[i]);
    TRY(lesson_table(l, t, "two workers share 72 samples a round: what each does in a step"));
    TRY(write_loads(s));
    TRY(lesson_picture(l, "lesson", "load",
                       "The fewer samples worker 1 has, the longer it waits. A round takes as long as worker 0 needs.",
                       var, 5));
out:
    return rc;
}

/* --- page --- */

static void tell_questions(struct lesson *l)
{
    static const char *const question[] = {
        "Split by label, but averaged in every step, the training is as good as with samples in turn. Why?",
        "With samples in turn, one average at the end gives a good model. What is different if samples are split by "
        "label?",
        "A worker that has only the digits 0 to 2 soon has a small training loss. What does this loss say about the "
        "other digits?",
        "Averaging every 8 steps sends an eighth of the bytes. On which networks would you take that, with which "
        "samples?",
        "With shares 8 : 1 both workers end each round together. Which of them decides how long a round takes, and "
        "what would you change: the shares, the batches, or the mode?",
        NULL
    };
    static const char *const next[] = {
        "--split dirichlet:A with A from 0.05 to 100: from which A on is it as good as iid?",
        "--average-every 8 --momentum 0: each worker has its own momentum: does it help or hurt here?",
        "--lr 0.002 --average-every 30 --split by-label: do smaller local steps give a better mean?",
        ("--mode ps --consistency async --split by-label: does a server have the problem of different samples, or of "
         "waiting?"),
        NULL
    };

    lesson_questions(l, question, next);
}

static void tell_commands(const struct split_lab *s, struct lesson *l)
{
    lesson_heading(l, "What was run");
    for (int i = 0; i < N_SPLITS; i++)
        for (int k = 0; k < N_PERIODS; k++)
            lesson_command(l, s->local[i][k].command);
    for (int i = 0; i < (s->has_sim ? N_SHARES : 0); i++)
        lesson_command(l, s->load[i].command);
}

static void tell_found(const struct split_lab *s, struct lesson *l)
{
    enum { IID = 0, BY_LABEL = N_SPLITS - 1 };
    const int shown[2] = { 0, N_PERIODS - 1 };

    for (int i = 0; i < 2; i++) {
        char every[32] = "";
        if (periods[shown[i]] > 1)
            snprintf(every, sizeof every, "%d steps", periods[shown[i]]);
        lesson_say(l, "Averaging every %s: %.1f %% of the test images are wrong with split %s, and %.1f %% with %s.",
                   every[0] ? every : "step", 100 * (1 - s->local[IID][shown[i]].accuracy_ratio), splits[IID],
                   100 * (1 - s->local[BY_LABEL][shown[i]].accuracy_ratio), splits[BY_LABEL]);
    }
}

static enum rc write_page(const struct split_lab *s)
{
    struct lesson l = { .env = NULL };
    enum rc rc;

    TRY(lesson_open(&l, s->env, "Split: when workers have different samples"));
    lesson_text(&l,
                "1438 images of digits for 4 workers, lenet, 120 steps of batch 32 each. Samples go to workers in turn "
                "(iid), by labels drawn from a Dirichlet distribution, or in the order of their labels. Each worker "
                "trains with its own gradients. Every K steps the workers average their parameters (local SGD).");
    tell_found(s, &l);
    lesson_heading(&l, "Who has which digits");
    TRY(show_labels(&l));
    lesson_heading(&l, "How long a worker may train alone");
    TRY(show_errors(s, &l));
    lesson_heading(&l, "Who waits for whom");
    lesson_text(&l, "Two workers have unequal shares of the samples of every round. The mean gradient is weighted by "
                    "samples, so it is the same as with equal shares. The time is not.");
    TRY(show_loads(s, &l));
    tell_questions(&l);
    tell_commands(s, &l);
out:
    return lesson_finish(&l, rc);
}

static enum rc split_lab_run(const struct lab_env *env)
{
    struct split_lab s = { .env = env };
    enum rc rc;

    find_sim(&s);
    parts_expect(env, N_SPLITS * N_PERIODS + (s.has_sim ? N_SHARES : 0), s.has_sim ? 2 : 1);
    TRY(train_local(&s));
    TRY(train_unequal(&s));
    TRY(write_page(&s));
out:
    for (int i = 0; i < N_SPLITS * N_PERIODS; i++)
        training_record_close(&s.local[i / N_PERIODS][i % N_PERIODS]);
    for (int i = 0; i < N_SHARES; i++)
        training_record_close(&s.load[i]);
    return rc;
}

const struct lab lab_split = {
    .name = "split",
    .summary = "How long may workers with different samples train alone?",
    .run = split_lab_run,
};
