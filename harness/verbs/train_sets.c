/* SPDX-License-Identifier: Apache-2.0 */
/* train_sets.c - see train_sets.h. What a set has come to goes from its rank 0 to rank 0 of all as text. */
#include "harness/verbs/train_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/report/table.h"
#include "harness/verbs/train_report.h"

struct set_figures { /* of one set */
    uint64_t seed;
    int32_t set, stop_signal, first_rank, n_workers;
    double samples_per_s, low_samples_per_s, high_samples_per_s, step_mean_s, compute_s, exposed_s;
    uint64_t n_records_bytes, n_table_bytes;
};

struct set_text { /* of one set; owned */
    char *records, *table;
    size_t n_records_bytes, n_table_bytes;
};

static void text_free(struct set_text *t)
{
    free(t->records);
    free(t->table);
    *t = (struct set_text){ 0 };
}

/* --- before the run --- */

int train_set_of_rank(const struct train_job *job, int n_sets, int rank)
{
    const int n_workers = n_sets * job->n_workers;

    return rank < n_workers ? rank / job->n_workers : (rank - n_workers) / job->n_servers;
}

enum rc train_sets_refuse(const struct verb_call *call, const struct train_opts *opts, int n_given_ranks)
{
    static const char *const of_one[] = { "save",     "resume", "restarts",     "timeline", "trajectory",
                                          "messages", "inject", "verify-every", "autotune", "autotune-file" };
    char fitting[48];

    for (size_t i = 0; i < sizeof of_one / sizeof *of_one; i++)
        if (verb_given(call, of_one[i]))
            return rc_raise(RC_INVAL, "--%s: is of one training, and --sets %llu are several; leave out one of the two",
                            of_one[i], (unsigned long long)opts->sets);
    if (strcmp(opts->on_loss, "abort") != 0)
        return rc_raise(RC_INVAL, "--on-loss %s: a loss ends all --sets; use abort", opts->on_loss);
    if (train_n_drivers(opts->input) > 0)
        return rc_raise(RC_INVAL, "--input feed: a driver feeds one training; use direct with --sets");
    if (opts->colocate)
        return rc_raise(RC_INVAL, "--colocate: servers of several --sets have cores and hosts of their own");
    text_near_multiples(fitting, sizeof fitting, (uint64_t)n_given_ranks, opts->sets);
    if (n_given_ranks > 0 && (uint64_t)n_given_ranks % opts->sets != 0)
        return rc_raise(RC_INVAL,
                        "--sets %llu: %d ranks were launched, which so many sets cannot share evenly; launch %s",
                        (unsigned long long)opts->sets, n_given_ranks, fitting);
    if (opts->seed + opts->sets - 1 > TRAIN_MAX_SEED)
        return rc_raise(RC_INVAL, "--seed %llu: set s has the seed --seed + s, and the greatest is %llu",
                        (unsigned long long)opts->seed, (unsigned long long)TRAIN_MAX_SEED);
    return RC_OK;
}

/* Of all sets on this host; each was held to what there is by itself. */
static enum rc check_memory(const struct train_sets_run *run, const struct train_job *job,
                            const struct launcher *launcher)
{
    const int n_all = run->n_sets * job->n_ranks;
    const int n_here = launcher->n_host_ranks > 0 ? launcher->n_host_ranks : n_all;
    const bool is_counted = !job->compute->host_memory && !launcher->name; /* of a device, for all sets */
    const double n_sets_here = n_here > job->n_ranks && !is_counted ? (double)n_here / (double)job->n_ranks : 1;
    const double need_bytes = n_sets_here * (double)job->memory.host_bytes;

    if (need_bytes <= (double)job->memory.available_bytes)
        return RC_OK;
    return rc_raise(RC_INVAL, "--sets %d: they need %.2f GB of memory here, %.2f GB are available", run->n_sets,
                    1e-9 * need_bytes, 1e-9 * (double)job->memory.available_bytes);
}

static enum rc prepare_set(struct train_sets_run *run, struct verb_call *call, const struct train_opts *opts,
                           const struct launcher *launcher, int set)
{
    struct train_opts own = *opts;
    struct train_job *job = &run->job[set];
    enum rc rc;

    own.seed += (uint64_t)set;
    TRY(train_prepare(job, &own, call->group, call->n_groups, launcher->name ? launcher->n_ranks / run->n_sets : 0));
    if (job->world->module.caps & WORLD_VIRTUAL_TIME) {
        TRY(cluster_check(&job->cluster, run->n_sets * job->n_workers, run->n_sets * job->n_ranks));
        if (job->servers_beside)
            FAIL(RC_INVAL, "--sets: server_placement beside: servers of several sets have hosts of their own");
    }
    TRY(check_memory(run, job, launcher));
    TRY(train_note_inputs(job));
out:
    return rc;
}

enum rc train_sets_prepare(struct train_sets_run *run, struct verb_call *call, const struct train_opts *opts,
                           const struct launcher *launcher)
{
    enum rc rc;

    TRY(train_sets_refuse(call, opts, launcher->name ? launcher->n_ranks : 0));
    run->n_sets = (int)opts->sets;
    run->job = calloc((size_t)run->n_sets, sizeof *run->job);
    if (!run->job)
        FAIL(RC_NOMEM, "no memory for %d sets", run->n_sets);
    TRY(prepare_set(run, call, opts, launcher, 0)); /* says how many workers and servers a set has */
    if (!(run->job[0].world->module.caps & WORLD_LAUNCHED)) {
        for (int set = 1; set < run->n_sets; set++)
            TRY(prepare_set(run, call, opts, launcher, set));
        return RC_OK;
    }
    const int own = train_set_of_rank(&run->job[0], run->n_sets, launcher->name ? launcher->rank : 0);
    if (own != 0)
        TRY(prepare_set(run, call, opts, launcher, own));
out:
    return rc;
}

int train_sets_n_ranks(const struct train_sets_run *run, const struct train_job *job)
{
    return run->n_sets * job->n_ranks;
}

struct world_opts train_sets_world_opts(const struct train_sets_run *run, const struct train_job *job)
{
    struct world_opts opts = train_world_opts(job);

    opts.n_bound_ranks = run->n_sets * job->n_workers;
    return opts;
}

void train_sets_free(struct train_sets_run *run)
{
    for (int set = 0; run->job && set < run->n_sets; set++)
        train_job_free(&run->job[set]);
    free(run->job);
    run->job = NULL;
}

/* --- a set's rank 0 --- */

static enum rc write_records(struct set_text *out, const struct train_job *job, const struct train_result *r,
                             const struct train_summary *s, int set)
{
    FILE *to = open_memstream(&out->records, &out->n_records_bytes);
    struct report *report = NULL;
    enum rc rc;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the records of a set");
    TRY(report_open_stream(&report, to, "set", set));
    TRY(train_write(report, job, r, s));
out:
    report_close(&report);
    return fclose(to) == 0 || rc != RC_OK ? rc : rc_raise(RC_NOMEM, "no memory for the records of a set");
}

static enum rc write_table(struct set_text *out, const struct train_job *job, const struct train_result *r,
                           const struct train_summary *s)
{
    FILE *to = open_memstream(&out->table, &out->n_table_bytes);

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the table of a set");
    const enum rc rc = train_print(to, job, r, s, false);
    return fclose(to) == 0 || rc != RC_OK ? rc : rc_raise(RC_NOMEM, "no memory for the table of a set");
}

static enum rc describe_set(struct set_figures *out, struct set_text *text, const struct train_job *job,
                            const struct train_result *r, int set)
{
    struct train_summary s;
    enum rc rc;

    TRY(train_summarise(&s, job, r));
    TRY(write_records(text, job, r, &s, set));
    TRY(write_table(text, job, r, &s));
    *out = (struct set_figures){ .seed = job->opts.seed,
                                 .set = set,
                                 .stop_signal = r->stop_signal,
                                 .first_rank = job->all->rank,
                                 .n_workers = job->n_workers,
                                 .samples_per_s = s.measured.throughput_samples_per_s.mean,
                                 .low_samples_per_s = s.measured.throughput_samples_per_s.low,
                                 .high_samples_per_s = s.measured.throughput_samples_per_s.high,
                                 .step_mean_s = s.measured.step_mean_s,
                                 .compute_s = s.measured.compute_s,
                                 .exposed_s = s.measured.exposed_s,
                                 .n_records_bytes = text->n_records_bytes,
                                 .n_table_bytes = text->n_table_bytes };
out:
    return rc;
}

/* --- rank 0 of all --- */

struct gathered { /* from the sets; owned */
    int n_sets;
    struct set_figures *figures; /* [n_sets] */
    size_t most_bytes;
    char *text; /* [n_sets][most_bytes]: records, then table */
};

static void gathered_free(struct gathered *g)
{
    free(g->figures);
    free(g->text);
    *g = (struct gathered){ 0 };
}

/* Collective over the ranks 0 of the sets; g->text is of the first of them alone. */
static enum rc gather(struct gathered *g, struct world *leaders, const struct set_figures *own,
                      const struct set_text *text)
{
    char *padded = NULL;
    enum rc rc;

    g->n_sets = leaders->n_ranks;
    g->figures = calloc((size_t)g->n_sets, sizeof *g->figures);
    if (!g->figures)
        FAIL(RC_NOMEM, "no memory for the figures of %d sets", g->n_sets);
    TRY(world_allgather(leaders, own, g->figures, sizeof *own));
    for (int s = 0; s < g->n_sets; s++) {
        const size_t n_bytes = g->figures[s].n_records_bytes + g->figures[s].n_table_bytes;
        g->most_bytes = n_bytes > g->most_bytes ? n_bytes : g->most_bytes;
    }
    padded = calloc(1, g->most_bytes);
    g->text = leaders->rank == 0 ? malloc((size_t)g->n_sets * g->most_bytes) : NULL;
    if (!padded || (leaders->rank == 0 && !g->text))
        FAIL(RC_NOMEM, "no memory for the records of %d sets", g->n_sets);
    memcpy(padded, text->records, text->n_records_bytes);
    memcpy(padded + text->n_records_bytes, text->table, text->n_table_bytes);
    TRY(world_gather(leaders, padded, g->text, g->most_bytes));
out:
    free(padded);
    return rc;
}

static double sum_of_sets(const struct gathered *g)
{
    double sum = 0;

    for (int s = 0; s < g->n_sets; s++)
        sum += g->figures[s].samples_per_s;
    return sum;
}

/* T3 */
static enum rc write_all(const struct gathered *g, const char *path)
{
    struct report *report = NULL;
    struct record *r = NULL;
    enum rc rc;

    TRY(report_open(&report, path[0] ? path : NULL));
    for (int s = 0; s < g->n_sets; s++)
        TRY(report_write_lines(report, g->text + (size_t)s * g->most_bytes, g->figures[s].n_records_bytes));
    TRY(record_open(&r, "sets"));
    record_i64(r, "sets_count", g->n_sets);
    record_i64(r, "workers_count", g->n_sets * g->figures[0].n_workers);
    record_f64(r, "throughput_samples_per_s", sum_of_sets(g));
    TRY(report_write(report, r));
    TRY(report_commit(report));
out:
    record_close(&r);
    report_close(&report);
    return rc;
}

static enum rc print_sets(FILE *to, const struct gathered *g)
{
    static const struct column column[] = { { "set", ALIGN_RIGHT },           { "first worker", ALIGN_RIGHT },
                                            { "seed", ALIGN_RIGHT },          { "samples/s", ALIGN_RIGHT },
                                            { "95 % from", ALIGN_RIGHT },     { "to", ALIGN_RIGHT },
                                            { "mean step, ms", ALIGN_RIGHT }, { "compute", ALIGN_RIGHT },
                                            { "exposed", ALIGN_RIGHT } };
    struct table *t = NULL;
    enum rc rc;

    TRY(table_open(&t, column, sizeof column / sizeof *column));
    for (int s = 0; s < g->n_sets; s++) {
        const struct set_figures *f = &g->figures[s];
        TRY(table_cell(t, "%d", (int)f->set));
        TRY(table_cell(t, "%d", (int)f->first_rank));
        TRY(table_cell(t, "%llu", (unsigned long long)f->seed));
        TRY(table_cell(t, "%.4g", f->samples_per_s));
        TRY(table_cell(t, "%.4g", f->low_samples_per_s));
        TRY(table_cell(t, "%.4g", f->high_samples_per_s));
        TRY(table_cell(t, "%.4g", 1e3 * f->step_mean_s));
        TRY(table_cell(t, "%.4g", 1e3 * f->compute_s));
        TRY(table_cell(t, "%.4g", 1e3 * f->exposed_s));
    }
    table_print(t, to);
    (void)fprintf(to, "all %d sets: %.4g samples/s; --sets 1 tells what one of them does alone\n", g->n_sets,
                  sum_of_sets(g));
out:
    table_close(&t);
    return rc;
}

static enum rc print_all(FILE *to, const struct gathered *g)
{
    for (int s = 0; s < g->n_sets; s++) {
        const char *table = g->text + (size_t)s * g->most_bytes + g->figures[s].n_records_bytes;
        (void)fprintf(to, "set %d\n%.*s\n", s, (int)g->figures[s].n_table_bytes, table);
    }
    return print_sets(to, g);
}

static enum rc report_all(struct train_sets_run *run, const struct gathered *g)
{
    enum rc rc;

    for (int s = 0; s < g->n_sets; s++)
        if (g->figures[s].stop_signal > run->stop_signal)
            run->stop_signal = g->figures[s].stop_signal;
    TRY(write_all(g, run->out));
    if (strcmp(run->out, "-") != 0) /* there the records are the output */
        TRY(print_all(stdout, g));
out:
    return rc;
}

/* --- a rank --- */

static enum rc train_set(struct world *all, struct world *own, const struct train_job *prepared, int set,
                         struct set_figures *figures, struct set_text *text)
{
    struct train_job job = *prepared; /* its arrays are the original's */
    struct train_result result = { 0 };
    enum rc rc;

    job.all = all;
    if (set > 0)
        job.watch = NULL;
    TRY(train_rank(own, &job, &result));
    if (own->rank == 0)
        TRY(describe_set(figures, text, &job, &result, set));
out:
    train_result_free(&result);
    return rc;
}

enum rc train_sets_body(struct world *w, void *arg)
{
    struct train_sets_run *run = arg;
    const int set = train_set_of_rank(&run->job[0], run->n_sets, w->rank);
    struct world *own = NULL, *leaders = NULL;
    struct set_figures figures = { 0 };
    struct set_text text = { 0 };
    struct gathered g = { 0 };
    enum rc rc;

    TRY(world_split(w, set, w->rank, &own));
    TRY(world_split(w, own->rank == 0 ? 0 : -1, w->rank, &leaders));
    TRY(train_set(w, own, &run->job[set], set, &figures, &text));
    if (leaders)
        TRY(gather(&g, leaders, &figures, &text));
    if (w->rank == 0)
        TRY(report_all(run, &g));
    TRY(world_barrier(w));
out:
    gathered_free(&g);
    text_free(&text);
    world_split_close(&leaders);
    world_split_close(&own);
    return rc;
}
