/* SPDX-License-Identifier: Apache-2.0 */
/*
 * why_not.c - the lab "why-not": when one machine is enough.
 *
 * A slim resnet8 to a target loss by 1 to 8 workers in sim, beside three things that one could do on one machine
 * instead, and beside as many experiments at once as there are machines. What it takes to begin is measured here, as
 * the real time of runs of one step; the verdict is computed from these figures (worth.h).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/file.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/records.h"
#include "harness/labs/worth.h"
#include "harness/measure/disturbance.h"
#include "harness/report/table.h"
#include "harness/world/cores.h"
#include "harness/world/host_load.h"

enum { N_COUNTS = 4, N_OTHERS = 3, N_WAYS = N_COUNTS + N_OTHERS, N_EXPERIMENTS = 4, AT_ONCE = 2 };
enum { N_STARTS = 5, N_RUNS = N_WAYS + N_COUNTS * N_STARTS + 2 * (N_EXPERIMENTS - 1), N_LENGTHS = 9, N_PICTURES = 2 };
#define T_4 2.776 /* of N_STARTS - 1 degrees of freedom, 97.5 % */

static const int counts[N_COUNTS] = { 1, 2, 4, 8 };
static const char *const named[N_COUNTS] = { "1 worker", "2 workers", "4 workers", "8 workers" };
static const double lengths_s[N_LENGTHS] = { 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000 };

static const struct other { /* on one machine */
    const char *name, *file, *options;
} others[N_OTHERS] = { { "a smaller model", "smaller", "--width-divisor 4 --steps 250" },
                       { "less data", "less-data", "--width-divisor 2 --data synthetic:160 --steps 100" },
                       { "faster hardware", "faster",
                         "--width-divisor 2 --steps 100 --cluster-set flops_per_s=40e9 --cluster-set "
                         "memory_bytes_per_s=16e9" } };

struct why_not { /* one run of the lab */
    const struct lab_env *env;
    char command[N_RUNS][TRAINING_COMMAND_BYTES];
    int n_commands;
    struct way_to_target way[N_WAYS]; /* workers, then others */
    double samples_count[N_WAYS];
    double start_s[N_COUNTS][N_STARTS];                      /* of each launch */
    double alone_s[N_EXPERIMENTS], several_s[N_EXPERIMENTS]; /* each with its start */
    double others_s, window_s; /* while start-up was measured: what other programs computed; NaN: not known */
    struct worth verdict;
};

static enum rc train(struct why_not *l, struct training_record *out, const char *name, const char *options)
{
    static const char common[] = "--model resnet8 --image-size 16 --batch 16 --lr 0.05 --target-loss 1 "
                                 "--target-samples 256"; /* two rounds of 8 workers */
    char words[TRAINING_COMMAND_BYTES];
    enum rc rc;

    snprintf(words, sizeof words, "%s %.300s", common, options);
    TRY(training_record_run(out, l->env, name, words));
    TRY(training_record_write_curve(out, l->env, name));
    memcpy(l->command[l->n_commands++], out->command, sizeof out->command);
out:
    training_record_close(out); /* the curve is in its file */
    return rc;
}

static enum rc train_workers(struct why_not *l, struct training_record *out, const char *name, int n_workers, int seed)
{
    char options[256];

    snprintf(options, sizeof options,
             "--world sim --cluster ethernet-1g --width-divisor 2 %s --workers %d --steps %d --seed %d",
             n_workers > 1 ? "--mode allreduce --lr-scaling linear" : "--mode single", n_workers,
             n_workers > 1 ? 40 + 40 / n_workers : 100, seed);
    return train(l, out, name, options);
}

/* Processor time of the runs that have ended. */
static double children_s(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_CHILDREN, &u) != 0)
        return (double)NAN;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* What ranks take to begin, and to end again, here: runs of one step in real time, without that step. */
static enum rc measure_start(struct why_not *l, int i)
{
    char options[128], name[32];
    double mean_s = 0, squares = 0;
    struct training_record t;
    struct host_load before, after;
    enum rc rc = RC_OK;

    host_load_read(&before, "");
    const double children_before_s = children_s();
    snprintf(options, sizeof options, "--world threads --width-divisor 2 --threads 1 %s --workers %d --steps 1",
             counts[i] > 1 ? "--mode allreduce" : "--mode single", counts[i]);
    for (int k = 0; k < N_STARTS; k++) {
        snprintf(name, sizeof name, "start-%d-launch-%d", counts[i], k + 1);
        TRY(train(l, &t, name, options));
        l->start_s[i][k] = t.process_s > t.run_s ? t.process_s - t.run_s : 0;
        mean_s += l->start_s[i][k] / N_STARTS;
    }
    host_load_read(&after, "");
    l->window_s += 1e-9 * (double)(after.now_ns - before.now_ns);
    l->others_s += after.busy_s - before.busy_s - (after.own_s - before.own_s) - (children_s() - children_before_s);
    for (int k = 0; k < N_STARTS; k++)
        squares += (l->start_s[i][k] - mean_s) * (l->start_s[i][k] - mean_s);
    l->way[i].start_s = mean_s;
    l->way[i].start_half_s = T_4 * sqrt(squares / (N_STARTS - 1) / N_STARTS);
out:
    return rc;
}

static enum rc train_ways(struct why_not *l)
{
    char name[32], options[256];
    struct training_record t;
    enum rc rc = RC_OK;

    for (int i = 0; i < N_COUNTS; i++) {
        snprintf(name, sizeof name, "workers-%d", counts[i]);
        TRY(train_workers(l, &t, name, counts[i], 1));
        l->way[i] = (struct way_to_target){ named[i], counts[i], 0, t.seconds_to_target_s, 0 };
        l->samples_count[i] = t.samples_to_target_count;
        TRY(measure_start(l, i));
    }
    for (int i = 0; i < N_OTHERS; i++) {
        snprintf(options, sizeof options, "--world sim --cluster ethernet-1g --mode single --workers 1 %s",
                 others[i].options);
        TRY(train(l, &t, others[i].file, options));
        l->way[N_COUNTS + i] = (struct way_to_target){ others[i].name, 1, l->way[0].start_s, t.seconds_to_target_s,
                                                       l->way[0].start_half_s };
        l->samples_count[N_COUNTS + i] = t.samples_to_target_count;
    }
out:
    return rc;
}

/* The same question put four times, by four seeds: each on a machine of its own, or one after the other on all four. */
static enum rc train_experiments(struct why_not *l)
{
    char name[48];
    struct training_record t;
    enum rc rc = RC_OK;

    for (int i = 0; i < N_EXPERIMENTS; i++) {
        double alone_s = l->way[0].to_target_s, several_s = l->way[AT_ONCE].to_target_s;
        if (i > 0) {
            snprintf(name, sizeof name, "alone-seed-%d", i + 1);
            TRY(train_workers(l, &t, name, 1, i + 1));
            alone_s = t.seconds_to_target_s;
            snprintf(name, sizeof name, "several-seed-%d", i + 1);
            TRY(train_workers(l, &t, name, counts[AT_ONCE], i + 1));
            several_s = t.seconds_to_target_s;
        }
        l->alone_s[i] = l->way[0].start_s + alone_s;
        l->several_s[i] = l->way[AT_ONCE].start_s + several_s;
    }
out:
    return rc;
}

/* Until the last of the experiments has its answer; NaN: one of them has none. */
static double all_at_once_s(const struct why_not *l)
{
    double most = 0;

    for (int i = 0; i < N_EXPERIMENTS; i++)
        most = isnan(l->alone_s[i]) || l->alone_s[i] > most ? l->alone_s[i] : most;
    return most;
}

static double one_by_one_s(const struct why_not *l)
{
    double sum = 0;

    for (int i = 0; i < N_EXPERIMENTS; i++)
        sum += l->several_s[i];
    return sum;
}

/* --- tables --- */

static enum rc write_ways(const struct why_not *l)
{
    struct atomic_file csv = { .stream = NULL }, tsv = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&csv, l->env, "why-not.csv"));
    TRY(lesson_file(&tsv, l->env, "time.tsv"));
    fputs("way,workers,start_s,to_target_s,samples_count,start_half_s\n", csv.stream);
    fputs("way\tpart\ty\n", tsv.stream);
    for (int i = 0; i < N_WAYS; i++) {
        const struct way_to_target *w = &l->way[i];
        fprintf(csv.stream, "%s,%d,%.9g,%.9g,%.9g,%.9g\n", w->name, w->n_workers, w->start_s, w->to_target_s,
                l->samples_count[i], w->start_half_s);
        fprintf(tsv.stream, "%s\tlower\t%.9g\n", w->name, w->start_s);
        fprintf(tsv.stream, "%s\tupper\t%.9g\n", w->name, w->to_target_s);
        for (int k = 0; k < N_STARTS; k++)
            fprintf(tsv.stream, "%s\tlaunch\t%.9g\n", w->name, l->start_s[i < N_COUNTS ? i : 0][k] + w->to_target_s);
    }
out:
    rc = atomic_file_finish(&csv, rc);
    return atomic_file_finish(&tsv, rc);
}

/* The gain of several workers where the same training took so long alone. */
static enum rc write_lengths(const struct why_not *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "lengths.tsv"));
    fputs("line\tkind\tx\ty\n", file.stream);
    for (int i = 1; i < N_COUNTS; i++)
        for (int k = 0; k < N_LENGTHS; k++) {
            const double speedup = l->way[0].to_target_s / l->way[i].to_target_s, t = lengths_s[k];
            fprintf(file.stream, "%s\tformula\t%g\t%.9g\n", named[i], t,
                    (l->way[0].start_s + t) / (l->way[i].start_s + t / speedup));
        }
out:
    return atomic_file_finish(&file, rc);
}

/* --- what is shown --- */

static void fill_table(struct table *t, const struct why_not *l)
{
    for (int i = 0; i < N_WAYS; i++) {
        const struct way_to_target *w = &l->way[i];
        const double whole_s = w->start_s + w->to_target_s;
        if (i == N_COUNTS)
            table_rule(t);
        table_cell(t, "%s", w->name);
        table_cell(t, "%.3f", w->start_s);
        table_cell(t, "%.3f", w->start_half_s);
        isnan(whole_s) ? table_cell(t, "not reached") : table_cell(t, "%.3f", w->to_target_s);
        isnan(whole_s) ? table_cell(t, "-") : table_cell(t, "%.3f", whole_s);
        isnan(whole_s) ? table_cell(t, "-") : table_cell(t, "%.3f", whole_s * w->n_workers);
        isnan(whole_s) ? table_cell(t, "-") : table_cell(t, "%.0f", l->samples_count[i]);
    }
}

static enum rc show_table(const struct why_not *l, struct lesson *lesson)
{
    static const struct column column[] = { { "way", ALIGN_LEFT },         { "start-up s", ALIGN_RIGHT },
                                            { "+-", ALIGN_RIGHT },         { "training s", ALIGN_RIGHT },
                                            { "together s", ALIGN_RIGHT }, { "machine s", ALIGN_RIGHT },
                                            { "samples", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    fill_table(t, l);
    return lesson_table(lesson, t,
                        "time to the target loss; start-up: mean of 5 launches here and half of its interval of 95 %; "
                        "machine s: of all "
                        "machines together");
}

static void show_verdict(const struct why_not *l, struct lesson *lesson)
{
    const struct worth *v = &l->verdict;
    char text[512];

    worth_print(text, sizeof text, v);
    lesson_say(lesson, "%s", text);
    lesson_say(lesson,
               "Start-up is the real time of %d launches for each number of workers on this machine's %d cores. On "
               "another machine, or a busy one, it differs, and the verdict may differ too.",
               (int)N_STARTS, cores_allowed_count());
    if (isfinite(l->others_s)) {
        const double n_others = fmax(0, l->others_s / l->window_s);
        const bool is_disturbed = n_others > DISTURBED_RATIO * cores_allowed_count();
        lesson_say(lesson, "While start-up was measured, other programs used %.1f cores.%s", n_others,
                   is_disturbed ? " That disturbs it: run the lab again on an idle machine." : "");
    }
    if (v->several && isfinite(v->pays_from_s))
        lesson_say(lesson,
                   "With the start-up measured here %d workers are earlier than one if the training takes one worker "
                   "more than %.3f s (%.3f to %.3f, by the intervals); this one takes %.3f s.",
                   v->several->n_workers, v->pays_from_s, v->pays_from_least_s, v->pays_from_most_s,
                   l->way[0].to_target_s);
    const double at_once_s = all_at_once_s(l), by_turns_s = one_by_one_s(l);
    if (!isnan(at_once_s) && !isnan(by_turns_s))
        lesson_say(lesson,
                   "Four experiments on four machines: each on its own, all have ended after %.3f s; distributed, one "
                   "after the other, after %.3f s.",
                   at_once_s, by_turns_s);
}

static enum rc write_page(const struct why_not *l)
{
    static const char *const question[] = {
        "Which way reaches the target first, and which takes the least machine time? When does each of the two matter?",
        "How much of the gain of workers is lost to samples, how much to the exchange, how much to the start?",
        "A queue gives you 1 machine at once, and 8 tomorrow. How long must a training be, so that waiting is better?",
        ("Less data needs fewer samples to the target. On which images is that loss measured? What else should you "
         "measure?"),
        "You have four machines and four learning rates to try. What do you do first?",
        NULL
    };
    static const char *const next[] = {
        "--eval-samples 500 for the runs with less data, and with all: which model is better on new images?",
        "--cluster-set link_bits_per_s=25e9: does the verdict change? If not, what would change it?",
        "Add the minutes of your own cluster's queue to the start-up of several: read the second picture again.",
        "Take --target-loss 0.3, a longer training: which way reaches the target first now?", NULL
    };
    static const struct chart_var time[] = {
        { "heading", "Time to the target loss: several workers, and other remedies on one machine" },
        { "ytitle", "seconds to the target loss" },
        { "lower", "start-up, measured here" },
        { "upper", "training, virtual time" },
        { "launch", "with the start-up of one launch" }
    };
    static const struct chart_var lengths[] = { { "heading",
                                                  "Speed-up of several workers against the length of the training" },
                                                { "xtitle", "seconds that one worker needs (logarithmic)" },
                                                { "ytitle", "speed-up over one worker, start-up included" },
                                                { "logx", "yes" } };
    const char *commands[N_RUNS + 1] = { NULL };
    struct lesson lesson = { .env = NULL };
    enum rc rc;

    for (int i = 0; i < l->n_commands; i++)
        commands[i] = l->command[i];
    TRY(lesson_open(&lesson, l->env, "Why not one machine?"));
    lesson_text(&lesson, "A small residual network is trained to a loss of 1, on simulated desktop machines with 1 "
                         "Gbit/s between them: with 1 to 8 workers, and with one worker in other ways. Start-up is "
                         "real: the time of a run of one step on this machine, without the step. The target is reached "
                         "when the mean loss of 256 samples is 1, for any number of workers.");
    TRY(show_table(l, &lesson));
    show_verdict(l, &lesson);
    TRY(lesson_picture(&lesson, "bars", "time",
                       "Time to the target loss. Workers can shorten only the upper part of a bar. Dots: with the "
                       "start-up of each of five launches.",
                       time, 5));
    TRY(lesson_picture(&lesson, "against", "lengths", "Below 1, one worker alone reaches the target first.", lengths,
                       4));
    lesson_questions(&lesson, question, next);
    lesson_commands(&lesson, commands);
out:
    return lesson_finish(&lesson, rc);
}

static enum rc why_not_run(const struct lab_env *env)
{
    struct why_not *l = calloc(1, sizeof *l);
    enum rc rc;

    if (!l)
        return rc_raise(RC_NOMEM, "lab why-not: no memory");
    l->env = env;
    parts_expect(env, N_RUNS, N_PICTURES);
    TRY(train_ways(l));
    TRY(train_experiments(l));
    l->verdict = worth_of(l->way, N_COUNTS, l->way + N_COUNTS, N_OTHERS);
    TRY(write_ways(l));
    TRY(write_lengths(l));
    TRY(write_page(l));
out:
    free(l);
    return rc;
}

const struct lab lab_why_not = {
    .name = "why-not",
    .summary = "When is one machine enough?",
    .run = why_not_run,
};
