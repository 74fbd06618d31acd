/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learning_rate.c - the lab "learning-rate": which learning rate do W workers need?
 *
 * The mean of W gradients has less noise, but is no longer than one of them: at one worker's rate W workers go as far a
 * round as one does a step, of W times the samples. W times the rate makes a round go as far as W steps do (the linear
 * scaling rule: Goyal et al. 2017), as long as the loss bends little on the way; sqrt(W) keeps the noise (Krizhevsky
 * 2014). Warm-up begins at one worker's rate, where the loss bends most.
 *
 * That the curve of W workers is that of one is judged against several runs of one worker from other seeds: the
 * interval in which one more run of it would be, in 95 of 100 cases, of the logarithm of the mean loss of each window.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/labs/curves.h"
#include "harness/labs/interactive.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/records.h"
#include "harness/report/table.h"

enum { N_PICTURES = 4, N_SEEDS = 5, N_CROWDS = 3, N_WAYS = 4, N_RUNS = N_SEEDS + N_CROWDS * N_WAYS };
enum { N_TRAININGS = N_SEEDS + N_CROWDS * N_WAYS * N_SEEDS };
enum { N_TARGET_SAMPLES = 512 }; /* a round of 64 workers */
enum { SEED = 1, BATCH = 8, N_SAMPLES = 24576, N_WINDOWS = 12, ONE = -1, TEXT_BYTES = 512 };
enum { N_AS_ONE = N_WINDOWS - 2 }; /* windows in the interval, from which on a curve is that of one worker */

static const int crowd[N_CROWDS] = { 4, 16, 64 };
static const struct {
    const char *name, *options;
} way[N_WAYS] = { { "rate", " --lr-scaling none" },
                  { "rate x sqrt W", " --lr-scaling sqrt" },
                  { "rate x W", " --lr-scaling linear" },
                  { "rate x W, warm-up", " --lr-scaling linear:4" } };
enum { UNSCALED = 0, TIMES_W = 2 };
#define LR 0.005
#define LR_TEXT LESSON_DIGITS(LR) /* "0.005" */
#define TARGET 0.3
#define T_4 2.776 /* of N_SEEDS - 1 degrees of freedom, 97.5 % */
#define NETWORK "link_bits_per_s=1e11,link_latency_s=2e-6"

struct target { /* of the runs with all seeds */
    int n_reached;
    double seconds_s, samples_count; /* mean; NaN: not all reach it */
};

struct learning_rate { /* one run of the lab */
    const struct lab_env *env;
    struct training_record record[N_RUNS]; /* one worker with all seeds; several with the first */
    struct target target[N_CROWDS][N_WAYS];
    double window[N_RUNS][N_WINDOWS];       /* mean loss */
    double low[N_WINDOWS], high[N_WINDOWS]; /* the interval of one worker */
    double target_s, target_samples_count;  /* of one worker, the mean over its seeds */
};

/* Run of W workers; runs of one worker are the first N_SEEDS. */
static int run_of(int k, int w)
{
    return N_SEEDS + k * N_WAYS + w;
}

static enum rc train_one(struct learning_rate *r, struct training_record *out, int n_workers, int seed,
                         const char *name, const char *scaling)
{
    char options[300];
    enum rc rc;

    snprintf(options, sizeof options,
             "--threads 1 --model lenet --world sim --mode allreduce --workers %d --steps %d --batch %d --lr %g%s "
             "--seed %d --target-loss %g --target-samples %d --cluster-set %s",
             n_workers, N_SAMPLES / BATCH / n_workers, BATCH, LR, scaling, seed, TARGET, N_TARGET_SAMPLES, NETWORK);
    TRY(training_record_run(out, r->env, name, options));
    TRY(training_record_write_curve(out, r->env, name));
out:
    return rc;
}

/* Several workers with every seed: the record of the first is kept, of each the target. */
static enum rc train_seeds(struct learning_rate *r, int k, int w, const char *word)
{
    struct target *t = &r->target[k][w];
    enum rc rc = RC_OK;

    for (int seed = SEED; seed < SEED + N_SEEDS; seed++) {
        struct training_record other = { .n_points = 0 }, *record = seed == SEED ? &r->record[run_of(k, w)] : &other;
        char name[TRAINING_NAME_BYTES], suffix[16] = "";
        if (seed != SEED)
            snprintf(suffix, sizeof suffix, "-seed-%d", seed);
        snprintf(name, sizeof name, "workers-%d-%s%s", crowd[k], word, suffix);
        TRY(train_one(r, record, crowd[k], seed, name, way[w].options));
        t->n_reached += !isnan(record->seconds_to_target_s);
        t->seconds_s += record->seconds_to_target_s / N_SEEDS; /* NaN: of all */
        t->samples_count += record->samples_to_target_count / N_SEEDS;
        training_record_close(&other);
    }
out:
    return rc;
}

static enum rc train_all(struct learning_rate *r)
{
    static const char *const word[N_WAYS] = { "unscaled", "times-sqrt", "times", "times-warm-up" };
    char name[TRAINING_NAME_BYTES];
    enum rc rc = RC_OK;

    for (int seed = 1; seed <= N_SEEDS; seed++) {
        snprintf(name, sizeof name, "one-seed-%d", seed);
        TRY(train_one(r, &r->record[seed - 1], 1, seed, name, ""));
    }
    for (int k = 0; k < N_CROWDS; k++)
        for (int w = 0; w < N_WAYS; w++)
            TRY(train_seeds(r, k, w, word[w]));
out:
    return rc;
}

/* --- figures --- */

/* The mean loss of the rounds that end in each window of samples; NaN: of one of them. */
static void find_windows(double window[N_WINDOWS], const struct training_record *t)
{
    const double width = (double)N_SAMPLES / N_WINDOWS;

    for (int k = 0; k < N_WINDOWS; k++) {
        double sum = 0;
        size_t n = 0;
        for (size_t i = 0; i < t->n_points; i++)
            if (t->point[i].samples_count > k * width && t->point[i].samples_count <= (k + 1) * width) {
                sum += t->point[i].loss;
                n++;
            }
        window[k] = sum / (double)n;
    }
}

/* Where one more run of one worker would be. */
static void find_interval(struct learning_rate *r)
{
    for (int k = 0; k < N_WINDOWS; k++) {
        double mean = 0, squares = 0;
        for (int i = 0; i < N_SEEDS; i++)
            mean += log(r->window[i][k]) / N_SEEDS;
        for (int i = 0; i < N_SEEDS; i++)
            squares += (log(r->window[i][k]) - mean) * (log(r->window[i][k]) - mean);
        const double half = T_4 * sqrt(squares / (N_SEEDS - 1) * (1 + 1.0 / N_SEEDS));
        r->low[k] = exp(mean - half);
        r->high[k] = exp(mean + half);
    }
}

static void find_figures(struct learning_rate *r)
{
    for (int i = 0; i < N_RUNS; i++)
        find_windows(r->window[i], &r->record[i]);
    find_interval(r);
    for (int i = 0; i < N_SEEDS; i++) {
        r->target_s += r->record[i].seconds_to_target_s / N_SEEDS;
        r->target_samples_count += r->record[i].samples_to_target_count / N_SEEDS;
    }
}

static int n_inside(const struct learning_rate *r, int i)
{
    int n = 0;

    for (int k = 0; k < N_WINDOWS; k++)
        n += r->window[i][k] >= r->low[k] && r->window[i][k] <= r->high[k];
    return n;
}

/* The most workers whose curve at W times the rate is that of one, as are those of all fewer ones; 1: of no more. */
static int held_up_to(const struct learning_rate *r)
{
    int n_workers = 1;

    for (int k = 0; k < N_CROWDS && n_inside(r, run_of(k, TIMES_W)) >= N_AS_ONE; k++)
        n_workers = crowd[k];
    return n_workers;
}

/* Samples to the target over those of one worker; NaN: not all runs reach it. */
static double samples_ratio(const struct learning_rate *r, int k, int w)
{
    return r->target[k][w].samples_count / r->target_samples_count;
}

static double rate_of(int k, int w)
{
    const int n = k == ONE ? 1 : crowd[k];

    return w == UNSCALED ? LR : w < TIMES_W ? LR * sqrt(n) : LR * n;
}

/* --- tables and pictures --- */

static void add_target(struct table *t, const struct target *of)
{
    if (of->n_reached < N_SEEDS) {
        table_cell(t, of->n_reached > 0 ? "-" : "never");
        table_cell(t, of->n_reached > 0 ? "-" : "never");
    } else {
        table_cell(t, "%.0f", of->samples_count);
        table_cell(t, "%.4f", of->seconds_s);
    }
    table_cell(t, "%d of %d", of->n_reached, (int)N_SEEDS);
}

static void add_row(struct table *t, const struct learning_rate *r, int k, int w)
{
    const int i = k == ONE ? 0 : run_of(k, w);
    const struct outcome o = outcome_of(&r->record[i], (double)N_SAMPLES / N_WINDOWS);
    const struct target one = { isnan(r->target_s) ? 0 : N_SEEDS, r->target_s, r->target_samples_count };
    char verdict[TEXT_BYTES];

    outcome_print(verdict, sizeof verdict, &o);
    table_cell(t, "%d", k == ONE ? 1 : crowd[k]);
    table_cell(t, "%s", way[k == ONE ? UNSCALED : w].name);
    table_cell(t, "%.4g", rate_of(k, w));
    add_target(t, k == ONE ? &one : &r->target[k][w]);
    table_cell(t, "%.3g", r->window[i][N_WINDOWS - 1]);
    if (k == ONE)
        table_cell(t, "%s", "");
    else
        table_cell(t, "%d of %d", n_inside(r, i), (int)N_WINDOWS);
    table_cell(t, "%s", k == ONE ? "" : verdict);
}

static enum rc show_table(const struct learning_rate *r, struct lesson *l)
{
    static const struct column column[] = { { "workers", ALIGN_RIGHT },
                                            { "scaling", ALIGN_LEFT },
                                            { "rate", ALIGN_RIGHT },
                                            { "samples to target", ALIGN_RIGHT },
                                            { "seconds to target", ALIGN_RIGHT },
                                            { "reached", ALIGN_RIGHT },
                                            { "loss at the end", ALIGN_RIGHT },
                                            { "as one worker", ALIGN_RIGHT },
                                            { "seed 1", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    add_row(t, r, ONE, UNSCALED);
    for (int k = 0; k < N_CROWDS; k++) {
        table_rule(t);
        for (int w = 0; w < N_WAYS; w++)
            add_row(t, r, k, w);
    }
    return lesson_table(
        l, t,
        "target: a mean training loss of 0.3 over 512 samples; as one worker: in how many parts of its "
        "loss curve the loss is within the interval of one worker. Samples, seconds and reached: mean of "
        "5 runs, seeds 1 to 5; the other columns: seed 1");
}

/* In samples. */
static double window_end(int k)
{
    return (k + 1) * (double)N_SAMPLES / N_WINDOWS;
}

static void add_windows(struct curves *to, const char *line, const double window[N_WINDOWS])
{
    for (int k = 0; k < N_WINDOWS; k++)
        curves_add(to, line, window_end(k), window[k]);
}

/* One worker, its interval, and all crowds by one scaling. */
static enum rc write_losses(const struct learning_rate *r, const char *name, int w)
{
    struct curves to = { .file.stream = NULL };
    char line[32];
    enum rc rc;

    TRY(curves_open(&to, r->env, name));
    for (int k = 0; k < N_WINDOWS; k++)
        curves_add_band(&to, "1 worker, 95 %", window_end(k), r->low[k], r->high[k]);
    for (int k = 0; k < N_CROWDS; k++) {
        snprintf(line, sizeof line, "%d workers", crowd[k]);
        add_windows(&to, line, r->window[run_of(k, w)]);
    }
out:
    return curves_finish(&to, rc);
}

static enum rc write_targets(const struct learning_rate *r, const char *name, bool by_time)
{
    struct curves to = { .file.stream = NULL };
    enum rc rc;

    TRY(curves_open(&to, r->env, name));
    for (int w = 0; w < N_WAYS; w++) {
        curves_add(&to, way[w].name, 1, by_time ? r->target_s : r->target_samples_count);
        for (int k = 0; k < N_CROWDS; k++) {
            const struct target *t = &r->target[k][w];
            if (t->n_reached < N_SEEDS)
                curves_add_never(&to, way[w].name, crowd[k]);
            else
                curves_add(&to, way[w].name, crowd[k], by_time ? t->seconds_s : t->samples_count);
        }
    }
out:
    return curves_finish(&to, rc);
}

/* What the pictures of losses show, with the figures of the runs. */
static void caption_unscaled(char out[TEXT_BYTES], const struct learning_rate *r)
{
    int n = snprintf(out, TEXT_BYTES,
                     "At the rate of one worker, a step of W workers is hardly longer than a step of one, and uses W "
                     "times the samples. To reach the target,");

    for (int k = 0; k < N_CROWDS; k++) {
        const double ratio = samples_ratio(r, k, UNSCALED);
        const char *comma = k == 0 ? "" : ",";
        n += isnan(ratio)
                 ? snprintf(out + n, (size_t)(TEXT_BYTES - n), "%s %d workers did not reach it", comma, crowd[k])
                 : snprintf(out + n, (size_t)(TEXT_BYTES - n), "%s %d workers needed %.1f times the samples of one",
                            comma, crowd[k], ratio);
    }
    snprintf(out + n, (size_t)(TEXT_BYTES - n), ".");
}

static void caption_scaled(char out[TEXT_BYTES], const struct learning_rate *r)
{
    const int n_held = held_up_to(r);
    int n = n_held == 1
                ? snprintf(out, TEXT_BYTES, "At W times the rate no curve is that of one worker")
                : snprintf(out, TEXT_BYTES, "At W times the rate the curve is that of one worker up to W = %d", n_held);

    n += snprintf(out + n, (size_t)(TEXT_BYTES - n), ". Of %d windows lie in its interval (grey):", (int)N_WINDOWS);
    for (int k = 0; k < N_CROWDS; k++)
        n += snprintf(out + n, (size_t)(TEXT_BYTES - n), "%s %d with %d workers", k == 0 ? "" : ",",
                      n_inside(r, run_of(k, TIMES_W)), crowd[k]);
    snprintf(out + n, (size_t)(TEXT_BYTES - n),
             ". %d and more count as the curve of one. Each curve of several workers is one run, seed %d.",
             (int)N_AS_ONE, (int)SEED);
}

static enum rc write_tables(const struct learning_rate *r)
{
    enum rc rc;

    TRY(write_losses(r, "loss-unscaled", UNSCALED));
    TRY(write_losses(r, "loss-scaled", TIMES_W));
    TRY(write_targets(r, "target-samples", false));
    TRY(write_targets(r, "target-seconds", true));
out:
    return rc;
}

static enum rc show_pictures(const struct learning_rate *r, struct lesson *l)
{
    static const char *const workers = "workers W", *const loss = "training loss, mean of 2048 samples (log.)";
    static const char *const band = "grey: 95 % interval of one worker, over 5 runs";
    static const char *const never = "never: not all of 5 runs reached the target loss";
    char unscaled[TEXT_BYTES], scaled[TEXT_BYTES];
    const struct {
        const char *name, *heading, *xtitle, *ytitle, *caption, *note;
    } picture[N_PICTURES] = { { "loss-unscaled", "Loss of W workers at the rate of one worker (seed 1)",
                                "samples (logarithmic)", loss, unscaled, band },
                              { "loss-scaled", "Loss of W workers at W times the rate of one (seed 1)",
                                "samples (logarithmic)", loss, scaled, band },
                              { "target-samples", "Samples to the target loss (mean of 5 runs)", workers,
                                "samples to a loss of 0.3 (logarithmic)",
                                "Samples of all workers until the target, a mean loss of 0.3 over 512 samples. never: "
                                "not all of 5 runs reach it within 24576 samples.",
                                never },
                              { "target-seconds", "Time to the target loss (mean of 5 runs)", workers,
                                "seconds to a loss of 0.3 (simulated, log.)",
                                "Seconds to the target: the reason to use more workers.", never } };
    enum rc rc;

    caption_unscaled(unscaled, r);
    caption_scaled(scaled, r);
    TRY(write_tables(r));
    for (size_t i = 0; i < N_PICTURES; i++) {
        const struct chart_var var[] = { { "heading", picture[i].heading },
                                         { "xtitle", picture[i].xtitle },
                                         { "ytitle", picture[i].ytitle },
                                         { "marks", "1" },
                                         { "machine", picture[i].note } };
        TRY(lesson_picture(l, "lesson", picture[i].name, picture[i].caption, var, 5));
    }
out:
    return rc;
}

static void write_run(FILE *to, const struct learning_rate *r, int i, int n_workers, const char *scaling)
{
    const struct outcome o = outcome_of(&r->record[i], (double)N_SAMPLES / N_WINDOWS);
    const double to_target = r->record[i].samples_to_target_count;
    char verdict[TEXT_BYTES];

    outcome_print(verdict, sizeof verdict, &o);
    fprintf(to, "{\"workers\":%d,\"scaling\":\"%s\",\"verdict\":\"%s\",\"to_target\":", n_workers, scaling, verdict);
    fprintf(to, isnan(to_target) ? "null," : "%.0f,", to_target);
    interactive_numbers(to, "loss", r->window[i], N_WINDOWS);
    fputs("}", to);
}

/* For the sliders: the JSON of page/curves.js. */
static void write_curves(FILE *to, const void *arg)
{
    const struct learning_rate *r = arg;
    double end[N_WINDOWS];

    for (int k = 0; k < N_WINDOWS; k++)
        end[k] = window_end(k);
    fprintf(to, "{\"heading\":\"The network of this page: lenet, batch %d, rate %g, momentum 0.9\",\"target\":%g,\n",
            (int)BATCH, LR, TARGET);
    interactive_numbers(to, "x", end, N_WINDOWS);
    fputs(",\n", to);
    interactive_numbers(to, "low", r->low, N_WINDOWS);
    fputs(",\n", to);
    interactive_numbers(to, "high", r->high, N_WINDOWS);
    fputs(",\n\"runs\":[", to);
    write_run(to, r, 0, 1, way[UNSCALED].name);
    for (int k = 0; k < N_CROWDS; k++)
        for (int w = 0; w < N_WAYS; w++) {
            fputs(",\n", to);
            write_run(to, r, run_of(k, w), crowd[k], way[w].name);
        }
    fputs("]}", to);
}

/* What the table says of W times the rate, and of one worker's. */
static void tell_found(const struct learning_rate *r, struct lesson *l)
{
    const int n_held = held_up_to(r);
    const double ratio = samples_ratio(r, 0, UNSCALED);
    int next = 0; /* the crowd after those */

    while (next < N_CROWDS && crowd[next] <= n_held)
        next++;
    if (n_held > 1)
        lesson_say(l, "At W times the rate up to %d workers have the loss curve of one worker.", n_held);
    if (next < N_CROWDS)
        lesson_say(l,
                   "At %d times the rate %d workers do not: their loss is within the range of one worker in %d of %d "
                   "windows.",
                   crowd[next], crowd[next], n_inside(r, run_of(next, TIMES_W)), (int)N_WINDOWS);
    lesson_say(
        l,
        "With %d workers, %d of %d runs reach the target at %d times the rate, %d of %d with warm-up, and %d of %d at "
        "sqrt W times the rate.",
        crowd[N_CROWDS - 1], r->target[N_CROWDS - 1][TIMES_W].n_reached, (int)N_SEEDS, crowd[N_CROWDS - 1],
        r->target[N_CROWDS - 1][TIMES_W + 1].n_reached, (int)N_SEEDS, r->target[N_CROWDS - 1][TIMES_W - 1].n_reached,
        (int)N_SEEDS);
    if (isnan(ratio))
        lesson_say(l, "At the rate of one worker %d workers do not reach a loss of %g.", crowd[0], TARGET);
    else
        lesson_say(l, "At the rate of one worker %d workers need %.1f times its samples to a loss of %g.", crowd[0],
                   ratio, TARGET);
}

/* Of four workers at one worker's rate. */
static void first_question(char out[TEXT_BYTES], const struct learning_rate *r)
{
    const double ratio = samples_ratio(r, 0, UNSCALED);

    if (isnan(ratio))
        snprintf(out, TEXT_BYTES,
                 "Four workers at one worker's rate did not reach the target. What happened to their samples?");
    else
        snprintf(out, TEXT_BYTES,
                 "Four workers at one worker's rate needed %.1f times the samples of one. Why more than one worker, "
                 "and why not four times as many?",
                 ratio);
}

static enum rc write_page(const struct learning_rate *r)
{
    char first[TEXT_BYTES];
    const char *const question[] = {
        first,
        "Why does W times the rate give the curve of one worker, and why not for every W?",
        "64 workers at 64 times the rate: what breaks, at which step, and what does a warm-up change?",
        "Which row needs the fewest samples, which the least time? Which would you choose if you paid for workers?",
        ("The rule of sqrt W keeps the noise of a step the same. The rule of W keeps the path the same. When do you "
         "want which?"),
        NULL
    };
    static const char *const next[] = {
        "Type the run of 64 workers with the warm-up for --seed 6 to 10: how many reach the target? And by sqrt W?",
        ("Give 64 workers --lr-scaling linear:8 and twice the --steps: do they reach the target, and is it worth the "
         "time?"),
        "Halve the rate (--lr 0.0025): from which number of workers on does the scaled rate break now?",
        "Try --momentum 0 with four times the rate: does the rule hold up to more workers, or to fewer?",
        "gradmark compare --workers 1,2 --tune-lr auto finds the best rate of each number of workers, with intervals.",
        NULL
    };
    const struct interactive sliders = {
        .sliders = interactive_learning_rate,
        .text = "This page trains a line with W workers that average their gradients, with the arithmetic of the "
                "program. All settings use the same number of samples. At which rate of one worker does W times the "
                "rate diverge? Workers and scaling choose a curve of the network below, too.",
        .seed = SEED,
        .write_curves = write_curves,
        .arg = r,
    };
    struct lesson l = { .env = NULL };
    enum rc rc;

    first_question(first, r);
    TRY(interactive_open(&l, r->env, "The learning rate for several workers"));
    lesson_text(&l, "A small convolutional network on 8 x 8 digits, batch 8 for each worker, rate " LR_TEXT
                    " for one, momentum 0.9, gradients averaged by a ring allreduce, in simulated time with real "
                    "arithmetic. All trainings use the same number of samples. They differ in the number of workers, "
                    "and in the factor of the rate.");
    tell_found(r, &l);
    TRY(show_table(r, &l));
    TRY(show_pictures(r, &l));
    TRY(interactive_show(&l, &sliders));
    lesson_questions(&l, question, next);
    lesson_heading(&l, "What was run");
    for (int i = 0; i < N_RUNS; i++)
        lesson_command(&l, r->record[i].command);
    lesson_text(&l, "Those of several workers ran with --seed 2, 3, 4 and 5, too.");
out:
    return lesson_finish(&l, rc);
}

static enum rc learning_rate_run(const struct lab_env *env)
{
    struct learning_rate *r = calloc(1, sizeof *r);
    enum rc rc;

    if (!r)
        return rc_raise(RC_NOMEM, "no memory for the runs of a lab");
    r->env = env;
    parts_expect(env, N_TRAININGS, N_PICTURES);
    TRY(train_all(r));
    find_figures(r);
    TRY(write_page(r));
out:
    for (int i = 0; i < N_RUNS; i++)
        training_record_close(&r->record[i]);
    free(r);
    return rc;
}

const struct lab lab_learning_rate = {
    .name = "learning-rate",
    .summary = "How should the rate grow, and when does it break?",
    .run = learning_rate_run,
};
