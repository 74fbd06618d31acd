/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness_momentum.c - asynchrony begets momentum: see momentum.h.
 *
 * Gradients of all samples, so that nothing is random but who comes when; steps of memoryless length (the model of the
 * theory); several seeds, of which a path is one draw each. The momentum that fits their paths best is beside 1 - 1/W.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/labs/curves.h"
#include "harness/labs/momentum.h"
#include "harness/labs/staleness_lab.h"
#include "harness/report/table.h"

enum { ALL_SAMPLES = 1000, N_FITTED = 97 };

static const int crowd[MOMENTUM_N_CROWDS] = { 2, 4, 8, 16 };
#define LR 0.1

/* Jitter 100 times as long as the step without it, of exponential distribution. Of twice as many updates as are looked
 * at, as workers that are through with their steps are late for nobody. */
static enum rc train_one(struct momentum_part *m, struct staleness_lab *s, int k, int seed)
{
    const struct training_record *record;
    char name[TRAINING_NAME_BYTES], options[256];

    snprintf(name, sizeof name, "momentum-%d-seed-%d", crowd[k], seed + 1);
    snprintf(options, sizeof options,
             "--workers %d --steps %d --batch %d --lr %g --seed %d --cluster-set "
             "flops_per_s=8e6,server_flops_per_s=2e10,jitter=exponential,jitter_ratio=100",
             crowd[k], 3 * N_FITTED / crowd[k], ALL_SAMPLES, LR, seed + 1);
    return staleness_train(s, &m->path[k][seed], &record, name, options, ALL_SAMPLES);
}

static enum rc fit(struct momentum_part *m, int k)
{
    struct observed_path observed[MOMENTUM_N_SEEDS];

    for (int i = 0; i < MOMENTUM_N_SEEDS; i++)
        observed[i] = (struct observed_path){ &m->squares[i], m->path[k][i].point };
    return momentum_fit(&m->fitted[k], observed, MOMENTUM_N_SEEDS, N_FITTED, LR);
}

enum rc momentum_part_run(struct momentum_part *m, struct staleness_lab *s)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < MOMENTUM_N_SEEDS; i++)
        TRY(squares_of_line(&m->squares[i], (uint64_t)i + 1));
    for (int k = 0; k < MOMENTUM_N_CROWDS; k++) {
        for (int i = 0; i < MOMENTUM_N_SEEDS; i++)
            TRY(train_one(m, s, k, i));
        TRY(fit(m, k));
    }
out:
    return rc;
}

void momentum_part_close(struct momentum_part *m)
{
    for (int k = 0; k < MOMENTUM_N_CROWDS; k++)
        for (int i = 0; i < MOMENTUM_N_SEEDS; i++)
            server_path_close(&m->path[k][i]);
}

/* --- what is shown --- */

enum shown { OF_WORKERS, OF_MOMENTUM, OF_PLAIN, N_SHOWN };

/* Add the way of seed i from its own least point to deviation[N_FITTED]. */
static void add_deviation(struct line_point *deviation, const struct momentum_part *m, int i, enum shown shown,
                          struct line_point *scratch)
{
    const struct line_point least = squares_least(&m->squares[i]);
    const double momentum = 1 - 1.0 / crowd[MOMENTUM_SHOWN];

    if (shown != OF_WORKERS)
        momentum_path(scratch, N_FITTED, &m->squares[i], shown == OF_MOMENTUM ? momentum : 0, LR);
    for (int t = 0; t < N_FITTED; t++) {
        const struct path_point *p = &m->path[MOMENTUM_SHOWN][i].point[t];
        const struct line_point at = shown == OF_WORKERS ? (struct line_point){ p->slope, p->offset } : scratch[t];
        deviation[t].slope += (at.slope - least.slope) / MOMENTUM_N_SEEDS;
        deviation[t].offset += (at.offset - least.offset) / MOMENTUM_N_SEEDS;
    }
}

static enum rc write_curves(const struct momentum_part *m, const struct lab_env *env)
{
    static const char *const name[N_SHOWN] = { "8 asynchronous workers, mean of 6 runs",
                                               "one worker, momentum 1 - 1/8 at rate / 8", "one worker, no momentum" };
    struct curves to = { .file.stream = NULL };
    struct line_point deviation[N_FITTED], scratch[N_FITTED];
    enum rc rc;

    TRY(curves_open(&to, env, "momentum"));
    for (int shown = 0; shown < N_SHOWN; shown++) {
        for (int t = 0; t < N_FITTED; t++)
            deviation[t] = (struct line_point){ 0, 0 };
        for (int i = 0; i < MOMENTUM_N_SEEDS; i++)
            add_deviation(deviation, m, i, (enum shown)shown, scratch);
        for (int t = 0; t < N_FITTED; t++)
            curves_add(&to, name[shown], t, deviation[t].offset);
    }
out:
    return curves_finish(&to, rc);
}

static enum rc show_table(const struct momentum_part *m, struct lesson *l)
{
    static const struct column column[] = { { "workers", ALIGN_RIGHT },
                                            { "momentum that fits", ALIGN_RIGHT },
                                            { "1 - 1 / workers", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int k = 0; k < MOMENTUM_N_CROWDS; k++) {
        table_cell(t, "%d", crowd[k]);
        table_cell(t, "%.3f", m->fitted[k]);
        table_cell(t, "%.3f", 1 - 1.0 / crowd[k]);
    }
    return lesson_table(l, t, "asynchronous workers without momentum have the path of one worker with momentum");
}

enum rc momentum_part_show(const struct momentum_part *m, struct lesson *l)
{
    const struct chart_var var[] = { { "heading", "Asynchronous workers beside one worker with momentum" },
                                     { "xtitle", "updates" },
                                     { "ytitle", "offset, distance from the minimum" },
                                     { "axes", "plain" } };
    enum rc rc;

    TRY(show_table(m, l));
    TRY(write_curves(m, l->env));
    TRY(lesson_picture(
        l, "lesson", "momentum",
        "Late gradients keep the direction that the path had before: on average they are momentum 1 - 1/W at the "
        "rate over W.",
        var, 4));
out:
    return rc;
}
