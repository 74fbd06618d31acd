/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cnn.c - the lab "cnn": two small networks by batch, workers and hosts, against the time to a target loss.
 *
 * In sim, with the networks' own arithmetic: samples to the target are real, seconds are those of the cluster. The
 * rate follows the global batch in every run (the linear scaling rule), so that what differs is how a batch is made
 * and where its parts are. A seed moves the target as far as some of these choices do, so each is trained with five.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/parts.h"
#include "harness/labs/records.h"
#include "harness/measure/sorted.h"
#include "harness/report/table.h"

enum { N_NETS = 2, N_SERIES = 3, N_COUNTS = 3, N_HOSTS = 3, N_OF_NET = N_SERIES * N_COUNTS + N_HOSTS };
enum { N_SEEDS = 5 };                                 /* 1 to N_SEEDS */
enum { CAPTION_BYTES = 768, N_TARGET_SAMPLES = 256 }; /* the largest round: 64 samples each of 4 workers */

static const int counts[N_COUNTS] = { 1, 2, 4 };
static const int hosts[N_HOSTS] = { 1, 2, 4 }; /* of 4 workers */

static const struct net {
    const char *name, *options, *target;
    double lr; /* of 16 samples */
} nets[N_NETS] = { { "lenet-digits", "--model lenet", "0.5", 0.01 },
                   { "resnet8-16px", "--model resnet8 --image-size 16 --width-divisor 2", "1", 0.05 } };

static const struct series {
    const char *name, *file;
    int batch;
    bool is_global;
    int n_steps[N_COUNTS]; /* nearly all seeds reach the target */
} series[N_SERIES] = { { "16 samples each", "16-each", 16, false, { 110, 64, 40 } },
                       { "64 samples each", "64-each", 64, false, { 40, 40, 40 } },
                       { "64 samples together", "64-together", 64, true, { 40, 40, 40 } } };

struct setting {                   /* a row of the tables */
    struct training_record first;  /* with seed 1; a step takes the same time with every seed */
    double seconds_s[N_SEEDS];     /* to the target; INFINITY: not reached */
    double samples_count[N_SEEDS]; /* likewise */
};

struct spread { /* over the seeds */
    double median, least, most;
};

struct cnn { /* one run of the lab */
    const struct lab_env *env;
    struct setting of_series[N_NETS][N_SERIES][N_COUNTS], of_hosts[N_NETS][N_HOSTS];
};

static struct spread spread_of(const double value[N_SEEDS])
{
    double sorted[N_SEEDS];

    memcpy(sorted, value, sizeof sorted);
    sorted_make(sorted, N_SEEDS);
    return (struct spread){ sorted_median(sorted, N_SEEDS), sorted[0], sorted[N_SEEDS - 1] };
}

/* "38.5 (33.4 to 39.8)", in units of 1/scale. */
static void print_spread(char *out, size_t n_bytes, const struct spread *s, double scale, int n_digits)
{
    if (isinf(s->median))
        snprintf(out, n_bytes, isinf(s->least) ? "not reached" : "not reached (%.*f at best)", n_digits,
                 scale * s->least);
    else if (isinf(s->most))
        snprintf(out, n_bytes, "%.*f (%.*f to never)", n_digits, scale * s->median, n_digits, scale * s->least);
    else
        snprintf(out, n_bytes, "%.*f (%.*f to %.*f)", n_digits, scale * s->median, n_digits, scale * s->least, n_digits,
                 scale * s->most);
}

static enum rc train_seed(struct cnn *l, struct setting *out, int seed, const char *name, const char *options)
{
    struct training_record other = { .n_points = 0 }, *record = seed == 1 ? &out->first : &other;
    char words[TRAINING_COMMAND_BYTES / 2 + 16], file[64];
    enum rc rc;

    snprintf(words, sizeof words, "%s --seed %d", options, seed);
    if (seed == 1)
        snprintf(file, sizeof file, "%.40s", name);
    else
        snprintf(file, sizeof file, "%.40s-seed-%d", name, seed);
    TRY(training_record_run(record, l->env, file, words));
    TRY(training_record_write_curve(record, l->env, file));
    const bool is_reached = !isnan(record->seconds_to_target_s);
    out->seconds_s[seed - 1] = is_reached ? record->seconds_to_target_s : (double)INFINITY;
    out->samples_count[seed - 1] = is_reached ? record->samples_to_target_count : (double)INFINITY;
out:
    training_record_close(&other);
    return rc;
}

/* c: of counts. */
static enum rc train_one(struct cnn *l, struct setting *out, const struct net *net, const struct series *s, int c,
                         int n_per_host)
{
    char options[TRAINING_COMMAND_BYTES / 2], name[64];
    const double lr = net->lr * s->batch / 16;
    const int n_workers = counts[c];
    enum rc rc = RC_OK;

    snprintf(name, sizeof name, "%s-%s-%dx%d", net->name, s->file, n_workers / n_per_host, n_per_host);
    snprintf(
        options, sizeof options,
        "%s --world sim --cluster ethernet-1g --cluster-set ranks_per_host_count=%d %s --workers %d %s %d --lr %g%s "
        "--steps %d --target-loss %s --target-samples %d",
        net->options, n_per_host, n_workers > 1 ? "--mode allreduce" : "--mode single", n_workers,
        s->is_global ? "--global-batch" : "--batch", s->batch, lr,
        !s->is_global && n_workers > 1 ? " --lr-scaling linear" : "", s->n_steps[c], net->target, N_TARGET_SAMPLES);
    for (int seed = 1; seed <= N_SEEDS; seed++)
        TRY(train_seed(l, out, seed, name, options));
out:
    return rc;
}

static enum rc train_all(struct cnn *l)
{
    enum rc rc = RC_OK;

    for (int n = 0; n < N_NETS; n++) {
        for (int s = 0; s < N_SERIES; s++)
            for (int c = 0; c < N_COUNTS; c++)
                TRY(train_one(l, &l->of_series[n][s][c], &nets[n], &series[s], c, 1));
        for (int h = 0; h < N_HOSTS - 1; h++) /* four hosts: as above */
            TRY(train_one(l, &l->of_hosts[n][h], &nets[n], &series[0], N_COUNTS - 1, 4 / hosts[h]));
    }
out:
    return rc;
}

/* Of 4 workers, 16 samples each. */
static const struct setting *on_hosts(const struct cnn *l, int n, int h)
{
    return h < N_HOSTS - 1 ? &l->of_hosts[n][h] : &l->of_series[n][0][N_COUNTS - 1];
}

/* --- tables --- */

/* A row of each seed. */
static void write_rows(FILE *to, const struct net *net, const char *what, int n_workers, int n_hosts,
                       const struct setting *t)
{
    for (int i = 0; i < N_SEEDS; i++) {
        const bool is_reached = isfinite(t->seconds_s[i]);
        fprintf(to, "%s,%s,%d,%d,%d,%.9g,%.9g,%.9g,%.9g\n", net->name, what, n_workers, n_hosts, i + 1,
                is_reached ? t->seconds_s[i] : (double)NAN, is_reached ? t->samples_count[i] : (double)NAN,
                t->first.step_s, t->first.exposed_comm_s);
    }
}

static enum rc write_all(const struct cnn *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "cnn.csv"));
    fputs("network,batch,workers,hosts,seed,to_target_s,to_target_samples,step_s,exposed_exchange_s\n", file.stream);
    for (int n = 0; n < N_NETS; n++) {
        for (int s = 0; s < N_SERIES; s++)
            for (int c = 0; c < N_COUNTS; c++)
                write_rows(file.stream, &nets[n], series[s].name, counts[c], counts[c], &l->of_series[n][s][c]);
        for (int h = 0; h < N_HOSTS - 1; h++)
            write_rows(file.stream, &nets[n], series[0].name, 4, hosts[h], on_hosts(l, n, h));
    }
out:
    return atomic_file_finish(&file, rc);
}

static void write_number(FILE *to, double x)
{
    if (isinf(x))
        fputs("\tnever", to);
    else
        fprintf(to, "\t%.9g", x);
}

/* Of a network: seconds, or samples, to the target against workers. */
static enum rc write_lines(const struct cnn *l, const char *name, int n, bool is_time)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, name));
    fputs("line\tkind\tx\ty\tlow\thigh\n", file.stream);
    for (int s = 0; s < N_SERIES; s++)
        for (int c = 0; c < N_COUNTS; c++) {
            const struct setting *t = &l->of_series[n][s][c];
            const struct spread of = spread_of(is_time ? t->seconds_s : t->samples_count);
            const double scale = is_time ? 1e3 : 1;
            fprintf(file.stream, "%s\tmeasured\t%d", series[s].name, counts[c]);
            write_number(file.stream, scale * of.median);
            write_number(file.stream, scale * of.least);
            write_number(file.stream, scale * of.most);
            fputc('\n', file.stream);
        }
out:
    return atomic_file_finish(&file, rc);
}

static enum rc write_hosts(const struct cnn *l)
{
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "hosts.tsv"));
    fputs("line\tkind\tx\ty\n", file.stream);
    for (int n = 0; n < N_NETS; n++)
        for (int h = 0; h < N_HOSTS; h++)
            fprintf(file.stream, "%s\tmeasured\t%d\t%.9g\n", nets[n].name, hosts[h],
                    1e3 * on_hosts(l, n, h)->first.step_s);
out:
    return atomic_file_finish(&file, rc);
}

/* --- what is shown --- */

static void add_row(struct table *t, const char *what, int n_workers, int n_hosts, const struct setting *r)
{
    const struct spread seconds = spread_of(r->seconds_s), samples = spread_of(r->samples_count);
    char text[64];

    table_cell(t, "%s", what);
    table_cell(t, "%d", n_workers);
    table_cell(t, "%d", n_hosts);
    print_spread(text, sizeof text, &seconds, 1e3, 1);
    table_cell(t, "%s", text);
    print_spread(text, sizeof text, &samples, 1, 0);
    table_cell(t, "%s", text);
    table_cell(t, "%.3f", 1e3 * r->first.step_s);
    table_cell(t, "%.3f", 1e3 * r->first.exposed_comm_s);
}

static enum rc show_table(const struct cnn *l, struct lesson *lesson, int n)
{
    static const struct column column[] = { { "batch", ALIGN_LEFT },       { "workers", ALIGN_RIGHT },
                                            { "hosts", ALIGN_RIGHT },      { "time to target, ms", ALIGN_RIGHT },
                                            { "samples", ALIGN_RIGHT },    { "step ms", ALIGN_RIGHT },
                                            { "exchange ms", ALIGN_RIGHT } };
    char caption[192];
    struct table *t = NULL;

    fprintf(lesson->env->tables, "%s, target loss %s: median of seeds 1 to %d (least to greatest)\n", nets[n].name,
            nets[n].target, (int)N_SEEDS);
    t = table_open(column, sizeof column / sizeof *column);
    for (int s = 0; s < N_SERIES; s++) {
        for (int c = 0; c < N_COUNTS; c++)
            add_row(t, series[s].name, counts[c], counts[c], &l->of_series[n][s][c]);
        table_rule(t);
    }
    for (int h = 0; h < N_HOSTS; h++)
        add_row(t, series[0].name, 4, hosts[h], on_hosts(l, n, h));
    snprintf(caption, sizeof caption,
             "%s: time and samples to a loss of %s; median of %d runs, seeds 1 to %d (least to greatest)", nets[n].name,
             nets[n].target, (int)N_SEEDS, (int)N_SEEDS);
    return lesson_table(lesson, t, caption);
}

/* Of the most workers over that of one, by seed: time, or samples. False: one worker does not reach the target with
 * every seed. */
static bool against_one(struct spread *out, const struct cnn *l, int n, int s, bool is_time)
{
    const struct setting *one = &l->of_series[n][s][0], *last = &l->of_series[n][s][N_COUNTS - 1];
    double ratio[N_SEEDS];

    for (int i = 0; i < N_SEEDS; i++) {
        if (isinf(one->seconds_s[i]))
            return false;
        ratio[i] = is_time ? last->seconds_s[i] / one->seconds_s[i] : last->samples_count[i] / one->samples_count[i];
    }
    *out = spread_of(ratio);
    return true;
}

/* What a picture of show_lines() shows, with the figures of the runs. */
static void caption_lines(char out[CAPTION_BYTES], const struct cnn *l, int n, bool is_time)
{
    int k = snprintf(out, CAPTION_BYTES,
                     "%s, to a loss of %s over %d samples. Each point is the median of %d seeds; its bar goes from the "
                     "least to the greatest, or to the top if a run does not reach the target. %s of one, by seed:",
                     nets[n].name, nets[n].target, (int)N_TARGET_SAMPLES, (int)N_SEEDS,
                     is_time ? "Time of four workers over that" : "Samples of four workers over those");

    for (int s = 0; s < N_SERIES; s++) {
        char text[64] = "one worker does not always reach it";
        struct spread ratio;
        if (against_one(&ratio, l, n, s, is_time))
            print_spread(text, sizeof text, &ratio, 1, 2);
        k += snprintf(out + k, (size_t)(CAPTION_BYTES - k), "%s %s with %s", s == 0 ? "" : ",", text, series[s].name);
    }
    if (is_time)
        snprintf(out + k, (size_t)(CAPTION_BYTES - k),
                 ". With 16 samples each, a step of four workers takes %.1f times as long as one worker's, with %.2f "
                 "ms of exchange.",
                 l->of_series[n][0][N_COUNTS - 1].first.step_s / l->of_series[n][0][0].first.step_s,
                 1e3 * l->of_series[n][0][N_COUNTS - 1].first.exposed_comm_s);
    else
        snprintf(out + k, (size_t)(CAPTION_BYTES - k),
                 ". 64 samples together give the same sum in every step, with any number of workers.");
}

static enum rc show_hosts(const struct cnn *l, struct lesson *lesson)
{
    static const struct chart_var var[] = { { "heading",
                                              "Time of a step: the same four workers on one, two and four hosts" },
                                            { "xtitle", "hosts of the 4 workers" },
                                            { "ytitle", "time of a step (ms, simulated)" },
                                            { "logx", "yes" } };
    char caption[CAPTION_BYTES];
    enum rc rc;

    int k = snprintf(caption, sizeof caption, "From one host to two the exchange leaves the machine:");
    for (int n = 0; n < N_NETS; n++)
        k += snprintf(caption + k, sizeof caption - (size_t)k,
                      "%s a step of %s takes %.2f times as long, on four hosts %.2f times", n == 0 ? "" : ",",
                      nets[n].name, on_hosts(l, n, 1)->first.step_s / on_hosts(l, n, 0)->first.step_s,
                      on_hosts(l, n, 2)->first.step_s / on_hosts(l, n, 0)->first.step_s);
    snprintf(caption + k, sizeof caption - (size_t)k, ".");
    TRY(write_hosts(l));
    TRY(lesson_picture(lesson, "against", "hosts", caption, var, 4));
out:
    return rc;
}

static bool all_reach(const struct cnn *l, int n)
{
    for (int s = 0; s < N_SERIES; s++)
        for (int c = 0; c < N_COUNTS; c++)
            if (isinf(spread_of(l->of_series[n][s][c].seconds_s).most))
                return false;
    return true;
}

static enum rc show_lines(const struct cnn *l, struct lesson *lesson, int n, bool is_time)
{
    char name[64], file[80], heading[128], note[128], caption[CAPTION_BYTES];
    const struct chart_var var[] = { { "heading", heading },
                                     { "xtitle", "workers, each on its own host" },
                                     { "ytitle", is_time ? "time to the target loss (ms, simulated)"
                                                         : "samples to the target loss" },
                                     { "logx", "yes" },
                                     { "ranges", "yes" },
                                     { "machine", note } };
    enum rc rc;

    snprintf(name, sizeof name, "%s-%s", nets[n].name, is_time ? "time" : "samples");
    snprintf(file, sizeof file, "%s.tsv", name);
    snprintf(heading, sizeof heading, "%s: %s to a loss of %s", nets[n].name, is_time ? "time" : "samples",
             nets[n].target);
    snprintf(note, sizeof note, "median of %d seeds; bar: least to greatest%s", (int)N_SEEDS,
             all_reach(l, n) ? "" : "; a bar to the top: not every seed reaches it");
    TRY(write_lines(l, file, n, is_time));
    caption_lines(caption, l, n, is_time);
    TRY(lesson_picture(lesson, "against", name, caption, var, sizeof var / sizeof *var));
out:
    return rc;
}

/* A row of a table; NULL setting: with most seeds none reaches the target. */
struct first {
    const struct setting *setting;
    const char *batch;
    int n_workers, n_hosts;
    struct spread seconds;
};

static void take_sooner(struct first *f, const struct setting *t, const char *batch, int n_workers, int n_hosts)
{
    const struct spread seconds = spread_of(t->seconds_s);

    if (isfinite(seconds.median) && (!f->setting || seconds.median < f->seconds.median))
        *f = (struct first){ t, batch, n_workers, n_hosts, seconds };
}

/* The least median time. most_workers 1: of the rows of one worker only. */
static struct first find_first(const struct cnn *l, int n, int most_workers)
{
    struct first f = { .setting = NULL };

    for (int s = 0; s < N_SERIES; s++)
        for (int c = 0; c < N_COUNTS && counts[c] <= most_workers; c++)
            take_sooner(&f, &l->of_series[n][s][c], series[s].name, counts[c], counts[c]);
    for (int h = 0; h < N_HOSTS && most_workers >= counts[N_COUNTS - 1]; h++)
        take_sooner(&f, on_hosts(l, n, h), series[0].name, counts[N_COUNTS - 1], hosts[h]);
    return f;
}

static void tell_first(const struct cnn *l, struct lesson *lesson, int n)
{
    const struct first best = find_first(l, n, counts[N_COUNTS - 1]), alone = find_first(l, n, 1);
    char first_ms[64], alone_ms[64], others[CAPTION_BYTES / 2] = "One worker does not reach it with most seeds.";
    int n_sooner = 0;

    if (!best.setting) {
        lesson_say(lesson, "%s: with most seeds no training reaches a loss of %s.", nets[n].name, nets[n].target);
        return;
    }
    print_spread(first_ms, sizeof first_ms, &best.seconds, 1e3, 1);
    if (alone.setting) {
        for (int i = 0; i < N_SEEDS; i++)
            n_sooner += best.setting->seconds_s[i] < alone.setting->seconds_s[i];
        print_spread(alone_ms, sizeof alone_ms, &alone.seconds, 1e3, 1);
        snprintf(others, sizeof others, "One worker needs at least %s ms (%s), and is later with %d of %d seeds.",
                 alone_ms, alone.batch, n_sooner, (int)N_SEEDS);
    }
    lesson_say(lesson, "%s reaches a loss of %s first with %d worker%s on %d host%s, %s: after %s ms. %s", nets[n].name,
               nets[n].target, best.n_workers, best.n_workers == 1 ? "" : "s", best.n_hosts,
               best.n_hosts == 1 ? "" : "s", best.batch, first_ms, best.n_workers == 1 ? "" : others);
}

static enum rc write_page(const struct cnn *l)
{
    static const char *const question[] = {
        "64 samples together: one worker, two and four need nearly the same samples to the target. Why, and why is the "
        "time of four not a quarter of that of one?",
        "16 samples each: four workers need more samples than one. Where has the gain of four workers gone?",
        "Which series has the smallest part of exchange in a step? Why does that alone say nothing about the time to "
        "the target?",
        "Four workers on one host, two, or four: the files of their curves have the same losses to the last digit. "
        "Why, and what differs? (The samples in the table may differ by less than one round, because workers end a "
        "step in another order.)",
        "Which of the two networks has more to gain from a faster network card? Compare step and exchange.",
        NULL
    };
    static const char *const next[] = {
        "Type the run of lenet with 4 workers and 16 samples each for --seed 6 to 10: are they within its range?",
        "--cluster-set link_bits_per_s=10e9: which curves change, and which cannot change?",
        "--overlap on --bucket-bytes 32Ki for the second network: how much of the exchange is hidden?",
        ("Type the run of 64 samples each and 4 workers without --lr-scaling linear: does it reach the target earlier "
         "or later?"),
        "--mode ps in place of allreduce: fewer or more samples to the target, and why?",
        NULL
    };
    const char *commands[N_NETS * N_OF_NET + 1] = { NULL };
    struct lesson lesson = { .env = NULL };
    int n_commands = 0;
    enum rc rc;

    TRY(lesson_open(&lesson, l->env, "Two small networks: batch, workers and hosts against the time to a target"));
    lesson_text(&lesson, "The networks really compute, so the samples to the target are those of a real training. The "
                         "time is simulated: a cluster of desktop machines with 1 Gbit/s. The learning rate is always "
                         "proportional to the samples of a step. Each setting was trained five times, with seeds 1 to "
                         "5: read the range before you compare two medians.");
    lesson_say(&lesson, "Times are medians of seeds 1 to %d, with the least and the greatest in parentheses.",
               (int)N_SEEDS);
    for (int n = 0; n < N_NETS; n++)
        tell_first(l, &lesson, n);
    for (int n = 0; n < N_NETS; n++) {
        TRY(show_table(l, &lesson, n));
        TRY(show_lines(l, &lesson, n, true));
        TRY(show_lines(l, &lesson, n, false));
        for (int i = 0; i < N_SERIES * N_COUNTS; i++)
            commands[n_commands++] = l->of_series[n][i / N_COUNTS][i % N_COUNTS].first.command;
        for (int h = 0; h < N_HOSTS - 1; h++)
            commands[n_commands++] = l->of_hosts[n][h].first.command;
    }
    TRY(show_hosts(l, &lesson));
    lesson_questions(&lesson, question, next);
    lesson_commands(&lesson, commands);
    lesson_text(&lesson, "Each ran with --seed 2, 3, 4 and 5, too.");
out:
    return lesson_finish(&lesson, rc);
}

static enum rc cnn_run(const struct lab_env *env)
{
    struct cnn *l = calloc(1, sizeof *l);
    enum rc rc;

    if (!l)
        return rc_raise(RC_NOMEM, "lab cnn: no memory");
    l->env = env;
    parts_expect(env, N_SEEDS * N_NETS * (N_OF_NET - 1), 2 * N_NETS + 1); /* four hosts: trained as four workers */
    TRY(train_all(l));
    TRY(write_all(l));
    TRY(write_page(l));
out:
    for (int n = 0; n < N_NETS; n++) {
        for (int i = 0; i < N_SERIES * N_COUNTS; i++)
            training_record_close(&l->of_series[n][i / N_COUNTS][i % N_COUNTS].first);
        for (int h = 0; h < N_HOSTS; h++)
            training_record_close(&l->of_hosts[n][h].first);
    }
    free(l);
    return rc;
}

const struct lab lab_cnn = {
    .name = "cnn",
    .summary = "Which batch, workers and hosts reach the target first?",
    .run = cnn_run,
};
