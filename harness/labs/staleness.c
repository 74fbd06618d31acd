/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness.c - the lab "staleness": asynchronous workers, whose gradients come late.
 *
 * W workers that nobody waits for are W - 1 updates late. A gradient that is s updates late turns the path back only
 * s updates later: at rate r it is stable along a direction of curvature c while r c < 2 sin(pi / (2 (2 s + 1))), the
 * least root of x(t + 1) = x(t) - r c x(t - s). So the rate that one worker learns with makes 64 leave for good, and
 * the rate over staleness, which is about r / W, keeps them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/curves.h"
#include "harness/labs/interactive.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/parts.h"
#include "harness/labs/staleness_lab.h"
#include "harness/report/table.h"

enum { N_PICTURES = 6, N_CROWDS = 5, FIRST_REPAIRED = 2, BATCH = 10, N_UPDATES = 4096 };

static const int crowd[N_CROWDS] = { 1, 4, 16, 64, 512 };
#define LR 0.04
#define LR_TEXT LESSON_DIGITS(LR)                      /* "0.04" */
#define HOST "flops_per_s=4e3,server_flops_per_s=2e10" /* a gradient of 10 samples takes 10 ms, an update nothing */
#define MOST_DRAWN 10.0                                /* loss, beyond which a path has left */

struct crowds { /* of each number of workers */
    struct server_path plain[N_CROWDS], repaired[N_CROWDS];
    double staleness_count[N_CROWDS], repaired_staleness_count[N_CROWDS];
};

static const double pi = 3.14159265358979323846;

enum rc staleness_train(struct staleness_lab *s, struct server_path *out, const struct training_record **record,
                        const char *name, const char *options, double batch)
{
    struct training_path path = { .point = NULL };
    char all[TRAINING_COMMAND_BYTES];
    enum rc rc;

    if (s->n_runs == STALENESS_MOST_RUNS)
        return rc_raise(RC_BUG, "more than %d runs of a lab", (int)STALENESS_MOST_RUNS);
    snprintf(all, sizeof all, "--world sim --mode ps %s", options);
    TRY(training_record_run_linear(&s->record[s->n_runs], &path, s->env, name, all));
    *record = &s->record[s->n_runs++];
    TRY(server_path_open(out, &path, batch));
out:
    training_close(&path);
    return rc;
}

/* --- more and more workers --- */

static int n_steps(int k)
{
    return N_UPDATES / crowd[k];
}

static enum rc train_crowd(struct staleness_lab *s, struct crowds *c, int k, bool is_repaired)
{
    const struct training_record *record;
    char name[TRAINING_NAME_BYTES], options[256];
    enum rc rc;

    snprintf(name, sizeof name, "%s-%d", is_repaired ? "over-staleness" : "async", crowd[k]);
    snprintf(options, sizeof options, "--workers %d --steps %d --batch %d --lr %g --seed %d%s --cluster-set %s",
             crowd[k], n_steps(k), BATCH, LR, STALENESS_SEED, is_repaired ? " --lr-staleness inverse" : "", HOST);
    TRY(staleness_train(s, is_repaired ? &c->repaired[k] : &c->plain[k], &record, name, options, BATCH));
    *(is_repaired ? &c->repaired_staleness_count[k] : &c->staleness_count[k]) = record->staleness_mean_count;
out:
    return rc;
}

static enum rc train_crowds(struct staleness_lab *s, struct crowds *c)
{
    enum rc rc = RC_OK;

    for (int k = 0; k < N_CROWDS; k++)
        TRY(train_crowd(s, c, k, false));
    for (int k = FIRST_REPAIRED; k < N_CROWDS; k++)
        TRY(train_crowd(s, c, k, true));
out:
    return rc;
}

static void close_crowds(struct crowds *c)
{
    for (int k = 0; k < N_CROWDS; k++) {
        server_path_close(&c->plain[k]);
        server_path_close(&c->repaired[k]);
    }
}

/* In turn, the first gradients of all workers are 0, 1, ... W - 1 late, and all others W - 1. */
static double staleness_by_turns(int k)
{
    return (crowd[k] - 1) * (1 - 0.5 / n_steps(k));
}

/* The greater curvature of the loss: of its matrix 2 (xx, x; x, 1). */
static double curvature(const struct squares *s)
{
    return s->xx + 1 + sqrt((s->xx - 1) * (s->xx - 1) + 4 * s->x * s->x);
}

static double most_stable_lr(const struct squares *s, double staleness_count)
{
    return 2 * sin(pi / (2 * (2 * staleness_count + 1))) / curvature(s);
}

static double last_excess(const struct staleness_lab *s, const struct server_path *p)
{
    return excess_loss(&s->squares, &p->point[p->n_points - 1]);
}

/* Farther from the least loss than it began. */
static bool has_left(const struct staleness_lab *s, const struct server_path *p)
{
    return !(last_excess(s, p) < excess_loss(&s->squares, &p->point[0]));
}

/* Up to where it has left. */
static void add_path(struct curves *to, const struct staleness_lab *s, const struct server_path *p, const char *line,
                     bool by_time)
{
    for (size_t i = 1; i < p->n_points; i++) {
        const double loss = excess_loss(&s->squares, &p->point[i]);
        if (!(loss < MOST_DRAWN))
            break;
        curves_add_mean(to, line, by_time ? p->point[i].time_s : p->point[i].samples_count, loss);
    }
}

static enum rc write_crowds(const struct staleness_lab *s, const struct crowds *c, const char *name, bool by_time,
                            bool is_repaired)
{
    struct curves to = { .file.stream = NULL };
    char line[48];
    enum rc rc;

    TRY(curves_open(&to, s->env, name));
    for (int k = 0; k < N_CROWDS; k++) {
        const bool of_repaired = is_repaired && k > 0; /* one worker is never late */
        if (k > 0 && k < FIRST_REPAIRED)               /* as good as one worker, on the same line */
            continue;
        snprintf(line, sizeof line, "%d worker%s", crowd[k], crowd[k] == 1 ? "" : "s");
        add_path(&to, s, of_repaired ? &c->repaired[k] : &c->plain[k], line, by_time);
    }
out:
    return curves_finish(&to, rc);
}

static enum rc write_staleness(const struct staleness_lab *s, const struct crowds *c)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, s->env, "staleness.tsv"));
    fputs("line\tkind\tx\ty\n", file.stream);
    for (int k = 1; k < N_CROWDS; k++)
        fprintf(file.stream, "workers - 1\tformula\t%d\t%d\n", crowd[k], crowd[k] - 1);
    for (int k = 1; k < N_CROWDS; k++)
        fprintf(file.stream, "measured, mean of all gradients\tpoint\t%d\t%.9g\n", crowd[k], c->staleness_count[k]);
out:
    return atomic_file_finish(&file, rc);
}

/* Where a path ended; empty: it was not gone. */
static void add_end(struct table *t, const struct staleness_lab *s, const struct server_path *p)
{
    if (p->n_points == 0)
        table_cell(t, "%s", "");
    else if (has_left(s, p))
        table_cell(t, "diverged");
    else
        table_cell(t, "%.2g", last_excess(s, p));
}

static void add_row(struct table *t, const struct staleness_lab *s, const struct crowds *c, int k)
{
    const double most = most_stable_lr(&s->squares, crowd[k] - 1);

    table_cell(t, "%d", crowd[k]);
    table_cell(t, "%d", n_steps(k));
    table_cell(t, "%.3f", c->staleness_count[k]);
    table_cell(t, "%.3f", staleness_by_turns(k));
    table_cell(t, "%.4f", most);
    table_cell(t, "%s", LR < most ? "yes" : "no");
    add_end(t, s, &c->plain[k]);
    add_end(t, s, &c->repaired[k]);
}

static enum rc show_table(const struct staleness_lab *s, const struct crowds *c, struct lesson *l)
{
    static const struct column column[] = { { "workers", ALIGN_RIGHT },
                                            { "steps each", ALIGN_RIGHT },
                                            { "mean staleness", ALIGN_RIGHT },
                                            { "by formula", ALIGN_RIGHT },
                                            { "stable below rate", ALIGN_RIGHT },
                                            { "stable", ALIGN_LEFT },
                                            { "loss above minimum", ALIGN_RIGHT },
                                            { "at rate / staleness", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int k = 0; k < N_CROWDS; k++)
        add_row(t, s, c, k);
    return lesson_table(l, t, "asynchronous workers, rate " LR_TEXT ", as many updates for all");
}

static enum rc show_curves(const struct staleness_lab *s, const struct crowds *c, struct lesson *l)
{
    static const char *const loss = "loss of all samples above the minimum (log.)";
    const struct chart_var of_staleness[] = { { "heading", "Staleness of gradients against the number of workers" },
                                              { "xtitle", "asynchronous workers" },
                                              { "ytitle", "staleness (updates by others since the pull, log.)" },
                                              { "logx", "yes" },
                                              { "logy", "yes" } };
    const struct chart_var of_samples[] = { { "heading", "Loss against samples: asynchronous workers at one rate" },
                                            { "xtitle", "samples seen by all workers (logarithmic)" },
                                            { "ytitle", loss },
                                            { "ends", "1" } };
    const struct chart_var of_seconds[] = { { "heading", "Loss against time: asynchronous workers at one rate" },
                                            { "xtitle", "seconds (simulated, logarithmic)" },
                                            { "ytitle", loss },
                                            { "ends", "1" } };
    const struct chart_var of_repair[] = {
        { "heading", "Loss against time: asynchronous workers at the rate divided by staleness" },
        { "xtitle", "seconds (simulated, logarithmic)" },
        { "ytitle", loss },
        { "ends", "1" },
        { "on_top", "last" },
        { "machine", "each line ends after the same number of samples" }
    };
    enum rc rc;

    TRY(write_staleness(s, c));
    TRY(write_crowds(s, c, "loss-samples", false, false));
    TRY(write_crowds(s, c, "loss-seconds", true, false));
    TRY(write_crowds(s, c, "repair-seconds", true, true));
    TRY(lesson_picture(l, "against", "staleness", "A gradient of W workers is W - 1 updates late.", of_staleness, 5));
    TRY(lesson_picture(l, "lesson", "loss-samples",
                       "Against samples: late gradients keep the old direction of the path. The loss falls earlier, "
                       "then the path goes beyond the minimum, and the loss rises. Lines that end at the top have "
                       "diverged. 4 workers are not drawn: they have the line of one.",
                       of_samples, 4));
    TRY(lesson_picture(
        l, "lesson", "loss-seconds",
        "Against time: more workers are faster, until they diverge because their gradients are too late.", of_seconds,
        4));
    TRY(lesson_picture(l, "lesson", "repair-seconds",
                       "The same workers with --lr-staleness inverse: all are as fast as one worker, with less noise. "
                       "A line ends, with its name, after as many updates as one worker makes.",
                       of_repair, 6));
out:
    return rc;
}

/* --- the page --- */

static const char *const question[] = {
    "No worker waits for another. Why is a gradient of W workers W - 1 updates late, and not W / 2?",
    "At rate " LR_TEXT " sixteen workers oscillate, and 64 diverge. Which two numbers decide that, besides the rate?",
    "With the rate divided by staleness, no number of workers diverges, and none is faster than one. What do they "
    "gain?",
    "Asynchrony looks like momentum 1 - 1/W. A training has momentum 0.9 already. How should you change it as W grows?",
    "One of eight workers is 16 times slower. Who waits for it under sync, ssp:4, sync:1 and async? Whose samples are "
    "lost, and under which rule?",
    "Neither sync:1 nor async waits for the slow worker. Which reaches the target first here, and when would you "
    "choose the other?",
    NULL
};
static const char *const next[] = {
    ("Halve the rate (--lr 0.02): do 32 workers converge now? Compute the largest number of workers that converges, "
     "and try it."),
    "Give 64 workers --consistency ssp:0: how late are their gradients now, and why not 63 updates?",
    "Add --lr-scaling linear to a run with --lr-staleness inverse: at which rate are gradients applied now?",
    "Make two workers slow (stragglers_count=2): is sync:1 still fast? What does it need?",
    "In the source folder, scripts/sweep --over straggler_ratio=1,4,16 draws such a picture for any model.",
    NULL
};

static const struct interactive sliders = {
    .sliders = interactive_staleness,
    .text = "This page computes the parameters of the server after each update, with the arithmetic of the program. "
            "sync: one update by the mean of all gradients, and no gradient is late. ssp:0: all wait for all, but each "
            "gradient is an update. async: no worker waits. async-inverse: async, with the rate divided by staleness. "
            "All settings use the same number of gradients. From how many workers on does the path oscillate, and from "
            "how many on does it diverge?",
    .seed = STALENESS_SEED,
    .write_curves = NULL,
    .arg = NULL,
};

/* Names the workers of crowds whose paths diverge, or converge. */
static void list_crowds(char *out, size_t n_bytes, const struct staleness_lab *s, const struct server_path *p,
                        bool diverging)
{
    out[0] = '\0';
    for (int k = 0; k < N_CROWDS; k++)
        if (p[k].n_points > 0 && has_left(s, &p[k]) == diverging)
            snprintf(out + strlen(out), n_bytes - strlen(out), "%s%d", out[0] ? ", " : "", crowd[k]);
}

static void tell_found(const struct staleness_lab *s, const struct crowds *c, struct lesson *l)
{
    enum { LAST = N_CROWDS - 1 };
    char converging[64], diverging[64], repaired[64];

    lesson_say(l, "A gradient of %d workers is %.1f updates late on average, and one of %d workers %.1f.",
               crowd[LAST - 1], c->staleness_count[LAST - 1], crowd[LAST], c->staleness_count[LAST]);
    list_crowds(converging, sizeof converging, s, c->plain, false);
    list_crowds(diverging, sizeof diverging, s, c->plain, true);
    list_crowds(repaired, sizeof repaired, s, c->repaired, false);
    lesson_say(l,
               "At learning rate " LR_TEXT " the training converges with %s workers and diverges with %s. With "
               "--lr-staleness inverse it does not diverge with %s.",
               converging[0] ? converging : "no", diverging[0] ? diverging : "no number",
               repaired[0] ? repaired : "no number");
}

static enum rc write_page(const struct staleness_lab *s, const struct crowds *c, const struct momentum_part *momentum,
                          const struct slow_part *slow)
{
    struct lesson l = { .env = NULL };
    enum rc rc;

    TRY(interactive_open(&l, s->env, "Staleness: what it costs when no worker waits"));
    lesson_text(&l, "Asynchronous workers and one parameter server train a line through 1000 points, in simulated time "
                    "and with real arithmetic. Each worker pulls the parameters, computes a gradient of 10 samples in "
                    "10 ms, and pushes it. The server applies it at once. While a worker computes, the others push. So "
                    "its gradient belongs to old parameters.");
    tell_found(s, c, &l);
    TRY(show_table(s, c, &l));
    TRY(show_curves(s, c, &l));
    TRY(momentum_part_show(momentum, &l));
    TRY(slow_part_show(slow, &l));
    TRY(interactive_show(&l, &sliders));
    lesson_questions(&l, question, next);
    lesson_heading(&l, "What was run");
    for (size_t i = 0; i < s->n_runs; i++)
        lesson_command(&l, s->record[i].command);
out:
    return lesson_finish(&l, rc);
}

static enum rc staleness_run(const struct lab_env *env)
{
    struct staleness_lab *s = calloc(1, sizeof *s);
    struct momentum_part momentum = { .fitted = { 0 } };
    struct slow_part slow = { .time_s = { { 0 } } };
    struct crowds crowds = { .staleness_count = { 0 } };
    enum rc rc;

    if (!s)
        return rc_raise(RC_NOMEM, "no memory for the runs of a lab");
    s->env = env;
    TRY(squares_of_line(&s->squares, STALENESS_SEED));
    parts_expect(env,
                 2 * N_CROWDS - FIRST_REPAIRED + MOMENTUM_N_CROWDS * MOMENTUM_N_SEEDS + SLOW_N_WAYS * SLOW_N_RATIOS,
                 N_PICTURES);
    TRY(train_crowds(s, &crowds));
    TRY(momentum_part_run(&momentum, s));
    TRY(slow_part_run(&slow, s));
    TRY(write_page(s, &crowds, &momentum, &slow));
out:
    close_crowds(&crowds);
    momentum_part_close(&momentum);
    for (size_t i = 0; i < s->n_runs; i++)
        training_record_close(&s->record[i]);
    free(s);
    return rc;
}

const struct lab lab_staleness = {
    .name = "staleness",
    .summary = "How late are gradients, and what does it cost?",
    .run = staleness_run,
};
