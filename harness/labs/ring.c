/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - the lab "ring": an allreduce around a ring, step by step, and what it costs beside two other ways.
 *
 * Every picture is of messages that a training in sim has sent (--messages): who sends which chunk when, and whose
 * addends are in it then (ring_steps.h); and the bytes of each rank against the number of workers, by the ring, by one
 * rank that reduces for all (root), and by a parameter server, beside what the formula of each says.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/labs/lab_list.h"
#include "harness/labs/lesson.h"
#include "harness/labs/moved.h"
#include "harness/labs/parts.h"
#include "harness/labs/ring_steps.h"
#include "harness/report/table.h"

enum { N_DRAWN = 4, N_WAYS = 3, N_COUNTS = 4, N_RUNS = 1 + N_WAYS * N_COUNTS, TEXT_BYTES = 160 };

static const int counts[N_COUNTS] = { 2, 4, 8, 16 };

static const struct way {
    const char *name, *options;
    int n_servers;
} ways[N_WAYS] = { { "by-root", "--mode allreduce --reducer root", 0 },
                   { "by-server", "--mode ps --servers 1", 1 },
                   { "by-ring", "--mode allreduce --reducer ring", 0 } };
enum { ROOT, SERVER, RING };
enum { N_PICTURES = 1 + 2 * (N_DRAWN - 1) + 1 + 2 }; /* moving; before and behind each step; of bytes and time */

struct ring { /* one run of the lab */
    const struct lab_env *env;
    char command[N_RUNS][MOVED_COMMAND_BYTES];
    struct ring_steps steps;
    struct moved_bytes sum[N_COUNTS][N_WAYS];
    double gradient_bytes;
};

static enum rc train(struct ring *l, int i, struct moved *out, const char *name, const char *way, int n_workers)
{
    char options[256];
    enum rc rc;

    snprintf(options, sizeof options,
             "--model lenet --world sim --cluster ethernet-1g --cluster-set hosts_count=0 %s --workers %d --batch 1 "
             "--steps 1",
             way, n_workers);
    TRY(moved_run(out, l->env, name, options));
    memcpy(l->command[i], out->command, sizeof l->command[i]);
out:
    return rc;
}

static enum rc train_drawn(struct ring *l)
{
    struct moved m = { .message = NULL };
    enum rc rc;

    TRY(train(l, 0, &m, "messages", ways[RING].options, N_DRAWN));
    TRY(ring_steps_find(&l->steps, &m, N_DRAWN));
    if (!ring_steps_are_whole(&l->steps))
        FAIL(RC_MISMATCH, "the ring has ended before every worker had the whole sum");
out:
    moved_close(&m);
    return rc;
}

/* The longest message of a run by root, in which gradients cross whole. */
static double longest_bytes(const struct moved *m)
{
    uint64_t most = 0;

    for (size_t i = 0; i < m->n; i++)
        most = m->message[i].n_bytes > most ? m->message[i].n_bytes : most;
    return (double)most;
}

static enum rc train_ways(struct ring *l)
{
    struct moved m = { .message = NULL };
    enum rc rc = RC_OK;

    for (int c = 0; c < N_COUNTS; c++)
        for (int w = 0; w < N_WAYS; w++) {
            char name[48];
            snprintf(name, sizeof name, "messages-%s-%d", ways[w].name, counts[c]);
            TRY(train(l, 1 + c * N_WAYS + w, &m, name, ways[w].options, counts[c]));
            l->sum[c][w] = moved_sum(&m, counts[c], counts[c] + ways[w].n_servers);
            if (w == ROOT)
                l->gradient_bytes = longest_bytes(&m);
            moved_close(&m);
        }
out:
    moved_close(&m);
    return rc;
}

/* Of n workers, in gradients: what one sends in the mean, and what the busiest rank sends. */
static double mean_by_formula(int way, int n)
{
    return way == SERVER ? 1 : 2.0 * (n - 1) / n;
}

static double busiest_by_formula(int way, int n)
{
    return way == SERVER ? n : way == ROOT ? n - 1 : 2.0 * (n - 1) / n;
}

/* --- tables --- */

static const char *meaning_of_step(const struct ring_steps *s, int k)
{
    int n_adding = 0;

    for (int r = 0; r < s->n_ranks; r++)
        n_adding += s->sent[k][r].adds;
    return n_adding == s->n_ranks ? "each sends a chunk to the next, which adds it to its own"
           : n_adding == 0        ? "each sends a chunk to the next, which copies it"
                                  : "each sends a chunk to the next; some add it, some copy it";
}

static void write_state(FILE *to, const struct ring_steps *s, int step)
{
    for (int r = 0; r < s->n_ranks; r++)
        for (int c = 0; c < s->n_chunks; c++) {
            for (int i = 0; i < s->n_ranks; i++) {
                if (step == 0)
                    fprintf(to, "0\tslot\t%d\t%d\t%d\t%d\t-\n", r, r, c, i);
                if (s->held[step][r][c] & 1u << i)
                    fprintf(to, "%d\thas\t%d\t%d\t%d\t%d\t-\n", step, r, r, c, i);
            }
            fprintf(to, "%d\t%s\t%d\t%d\t%d\t0\t-\n", step,
                    s->held[step][r][c] == (1u << s->n_ranks) - 1 ? "whole" : "part", r, r, c);
        }
}

static enum rc write_steps(const struct ring *l)
{
    const struct ring_steps *s = &l->steps;
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&file, l->env, "ring-steps.tsv"));
    fputs("step\tkind\tworker\tpeer\tchunk\taddend\ttext\n", file.stream);
    fprintf(file.stream, "0\ttitle\t0\t0\t0\t0\tbefore the first step: each has its own gradient, in %d chunks\n",
            s->n_chunks);
    write_state(file.stream, s, 0);
    for (int k = 0; k < s->n_steps; k++) {
        fprintf(file.stream, "%d\ttitle\t0\t0\t0\t0\tstep %d of %d: %s\n", k + 1, k + 1, s->n_steps,
                meaning_of_step(s, k));
        write_state(file.stream, s, k + 1);
        for (int r = 0; r < s->n_ranks; r++) {
            const struct ring_message *m = &s->sent[k][r];
            fprintf(file.stream, "%d\tnew\t%d\t%d\t%d\t0\t-\n", k + 1, m->to, r, m->chunk);
            fprintf(file.stream, "%d\tsend\t%d\t%d\t%d\t0\tchunk %d\n", k + 1, r, m->to, m->chunk, m->chunk);
        }
    }
out:
    return atomic_file_finish(&file, rc);
}

static enum rc write_bytes(const struct ring *l)
{
    struct atomic_file csv = { .stream = NULL }, bytes = { .stream = NULL }, took = { .stream = NULL };
    enum rc rc;

    TRY(lesson_file(&csv, l->env, "bytes.csv"));
    TRY(lesson_file(&bytes, l->env, "bytes.tsv"));
    TRY(lesson_file(&took, l->env, "took.tsv"));
    fputs("workers,way,worker_mean_bytes,worker_formula_bytes,busiest_bytes,busiest_formula_bytes,took_s\n",
          csv.stream);
    fputs("line\tkind\tx\ty\n", bytes.stream);
    fputs("line\tkind\tx\ty\n", took.stream);
    for (int w = 0; w < N_WAYS; w++)
        for (int c = 0; c < N_COUNTS; c++) {
            const struct moved_bytes *sum = &l->sum[c][w];
            fprintf(csv.stream, "%d,%s,%llu,%.17g,%llu,%.17g,%.9f\n", counts[c], ways[w].name,
                    (unsigned long long)sum->worker_mean_bytes, mean_by_formula(w, counts[c]) * l->gradient_bytes,
                    (unsigned long long)sum->busiest_bytes, busiest_by_formula(w, counts[c]) * l->gradient_bytes,
                    sum->took_s);
            fprintf(bytes.stream, "%s\tformula\t%d\t%.9g\n%s\tpoint\t%d\t%.9g\n", ways[w].name, counts[c],
                    busiest_by_formula(w, counts[c]), ways[w].name, counts[c],
                    (double)sum->busiest_bytes / l->gradient_bytes);
            fprintf(took.stream, "%s\tmeasured\t%d\t%.9g\n", ways[w].name, counts[c], 1e3 * sum->took_s);
        }
out:
    rc = atomic_file_finish(&csv, rc);
    rc = atomic_file_finish(&bytes, rc);
    return atomic_file_finish(&took, rc);
}

/* --- what is shown --- */

static int n_addends(uint32_t held)
{
    int n = 0;

    for (; held; held >>= 1)
        n += (int)(held & 1);
    return n;
}

static void fill_steps(struct table *t, const struct ring_steps *s)
{
    for (int k = 0; k < s->n_steps; k++) {
        for (int r = 0; r < s->n_ranks; r++) {
            const struct ring_message *m = &s->sent[k][r];
            table_cell(t, "%d", k + 1);
            table_cell(t, "%d", r);
            table_cell(t, "%d", m->to);
            table_cell(t, "%d", m->chunk);
            table_cell(t, "%d", n_addends(s->held[k + 1][m->to][m->chunk]));
            table_cell(t, "%llu", (unsigned long long)m->n_bytes);
            table_cell(t, "%.1f", 1e6 * m->start_s);
            table_cell(t, "%.1f", 1e6 * m->end_s);
        }
        if (k + 1 < s->n_steps)
            table_rule(t);
    }
}

static enum rc show_steps(const struct ring *l, struct lesson *lesson)
{
    static const struct column column[] = { { "step", ALIGN_RIGHT },    { "from", ALIGN_RIGHT },
                                            { "to", ALIGN_RIGHT },      { "chunk", ALIGN_RIGHT },
                                            { "addends", ALIGN_RIGHT }, { "bytes", ALIGN_RIGHT },
                                            { "sent us", ALIGN_RIGHT }, { "received us", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    fill_steps(t, &l->steps);
    return lesson_table(
        lesson, t,
        "every message of the ring; addends: how many gradients are then added up in this chunk of the receiver");
}

static enum rc show_slides(const struct ring *l, struct lesson *lesson)
{
    char step[16], name[32], caption[TEXT_BYTES], workers[16];
    struct chart_var var[] = { { "workers", workers }, { "step", step } };
    enum rc rc;

    snprintf(workers, sizeof workers, "%d", l->steps.n_ranks);
    snprintf(step, sizeof step, "0");
    TRY(lesson_moving_picture(lesson, "ring-steps", "ring-steps",
                              "The ring, step by step: the messages, then the chunks of each worker.", var, 2));
    for (int k = 0; k <= l->steps.n_steps; k++) {
        snprintf(step, sizeof step, "%d", k);
        snprintf(name, sizeof name, "ring-step-%d", k);
        snprintf(caption, sizeof caption,
                 k == 0 ? "Before the first step." : "Step %d, and the chunks of each worker after it.", k);
        TRY(lesson_picture_of(lesson, "ring-steps", "ring-steps", name, caption, var, 2));
    }
out:
    return rc;
}

static void fill_bytes(struct table *t, const struct ring *l)
{
    for (int c = 0; c < N_COUNTS; c++) {
        for (int w = 0; w < N_WAYS; w++) {
            table_cell(t, "%d", counts[c]);
            table_cell(t, "%s", ways[w].name);
            table_cell(t, "%llu", (unsigned long long)l->sum[c][w].worker_mean_bytes);
            table_cell(t, "%.0f", mean_by_formula(w, counts[c]) * l->gradient_bytes);
            table_cell(t, "%llu", (unsigned long long)l->sum[c][w].busiest_bytes);
            table_cell(t, "%.0f", busiest_by_formula(w, counts[c]) * l->gradient_bytes);
            table_cell(t, "%.3f", 1e3 * l->sum[c][w].took_s);
        }
        if (c + 1 < N_COUNTS)
            table_rule(t);
    }
}

static enum rc show_bytes(const struct ring *l, struct lesson *lesson)
{
    static const struct column column[] = { { "workers", ALIGN_RIGHT },          { "way", ALIGN_LEFT },
                                            { "bytes per worker", ALIGN_RIGHT }, { "bytes by formula", ALIGN_RIGHT },
                                            { "bytes of busiest", ALIGN_RIGHT }, { "bytes by formula", ALIGN_RIGHT },
                                            { "took ms", ALIGN_RIGHT } };
    static const struct chart_var bytes[] = { { "heading", "Gradients sent by the busiest rank of an allreduce" },
                                              { "xtitle", "workers" },
                                              { "ytitle", "sent, in sizes of the gradient (logarithmic)" },
                                              { "logx", "yes" },
                                              { "logy", "yes" } };
    static const struct chart_var took[] = { { "heading", "Time of one allreduce of all gradients, links of 1 Gbit/s" },
                                             { "xtitle", "workers" },
                                             { "ytitle", "time (ms, simulated, logarithmic)" },
                                             { "logx", "yes" },
                                             { "logy", "yes" } };
    struct table *t = table_open(column, sizeof column / sizeof *column);
    enum rc rc;

    fill_bytes(t, l);
    TRY(lesson_table(lesson, t,
                     "bytes of one exchange: of a worker on average, and of the rank that sends or receives most"));
    TRY(lesson_picture(lesson, "against", "bytes",
                       "What the busiest rank sends: in the ring always less than two gradients.", bytes, 5));
    TRY(lesson_picture(lesson, "against", "took", "The time of one exchange, from the first message to the last.", took,
                       5));
out:
    return rc;
}

static void tell_busiest(const struct ring *l, struct lesson *lesson)
{
    char text[TEXT_BYTES];
    int n = snprintf(text, sizeof text, "With %d workers the busiest rank sends", counts[N_COUNTS - 1]);

    for (int w = 0; w < N_WAYS; w++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %.2f%s by %s", w > 0 ? "," : "",
                      (double)l->sum[N_COUNTS - 1][w].busiest_bytes / l->gradient_bytes, w == 0 ? " gradients" : "",
                      ways[w].name + strlen("by-"));
    lesson_say(lesson, "%s.", text);
}

static enum rc write_page(const struct ring *l)
{
    static const char *const question[] = {
        "How many steps has a ring of N workers, and how many chunks does it send in all?",
        ("First the workers add chunks, then they copy them. Which worker has a complete chunk first, and after which "
         "step?"),
        "All workers together send as many bytes in the ring as by root. What does the ring gain?",
        "A worker of the ring sends 2 (N - 1) / N gradients. Why does that hardly grow with N? What grows instead?",
        "With a server, a worker sends half of what it sends in a large ring. Why is the server still slower?",
        "How many servers are needed to be as fast as the ring?",
        NULL
    };
    static const char *const next[] = {
        "Type the first command with --workers 3, or 5, and read its table of messages: which chunks are sent first?",
        "Try --servers 4 --colocate with --mode ps: what does the busiest rank send now?",
        ("Make the latency ten times as long: --cluster-set hosts_count=0,link_latency_s=250e-6. Which way is fastest "
         "for two workers, and for 16?"),
        "Replace --model lenet by --model resnet50 --compute hollow: 102 MB of gradients. Which way becomes slowest?",
        NULL
    };
    const char *commands[N_RUNS + 1] = { NULL };
    struct lesson lesson = { .env = NULL };
    enum rc rc;

    for (int i = 0; i < N_RUNS; i++)
        commands[i] = l->command[i];
    TRY(lesson_open(&lesson, l->env, "The ring: how workers sum their gradients without a server"));
    lesson_text(&lesson, "Every worker has a gradient, and all need the sum. The pictures show the messages of one "
                         "training step of lenet on a simulated cluster: four workers on links of 1 Gbit/s.");
    tell_busiest(l, &lesson);
    TRY(show_slides(l, &lesson));
    TRY(show_steps(l, &lesson));
    lesson_text(
        &lesson,
        "Three ways to compute the same sum. root: all send their gradients to worker 0, which adds them and sends the "
        "sum to all. server: all send them to a parameter server, and receive new parameters. ring: as above.");
    TRY(show_bytes(l, &lesson));
    lesson_questions(&lesson, question, next);
    lesson_commands(&lesson, commands);
out:
    return lesson_finish(&lesson, rc);
}

static enum rc ring_run(const struct lab_env *env)
{
    struct ring *l = calloc(1, sizeof *l);
    enum rc rc;

    if (!l)
        return rc_raise(RC_NOMEM, "lab ring: no memory");
    l->env = env;
    parts_expect(env, N_RUNS, N_PICTURES);
    TRY(train_drawn(l));
    TRY(train_ways(l));
    TRY(write_steps(l));
    TRY(write_bytes(l));
    TRY(write_page(l));
out:
    free(l);
    return rc;
}

const struct lab lab_ring = {
    .name = "ring",
    .summary = "Which chunk goes where, and what does each mode send?",
    .run = ring_run,
};
