/* SPDX-License-Identifier: Apache-2.0 */
/* train_verb.c - gradmark train: one run, its records, its checkpoint, a table of what it did. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/report/horovod.h"
#include "harness/report/progress.h"
#include "harness/report/table.h"
#include "harness/train/train.h"
#include "harness/verbs/verb.h"
#include "harness/world/wait.h"
#include "models/profile.h"

struct own_opts {
    const char *out;
    bool lines;
};

static const struct opt own_table[] = {
    OPT_TEXT_(struct own_opts, out, "out", "", "FILE", "write records as JSON lines; - for standard output"),
    OPT_BOOL_(struct own_opts, lines, "lines", "true",
              "end with the lines Horovod's and tf_cnn_benchmarks' parsers read"),
    OPT_END_,
};

enum { MAX_GROUPS = TRAIN_MAX_OPT_GROUPS + 1 };

static int opt_groups(struct opt_group group[MAX_GROUPS], struct train_opts *opts, struct own_opts *own)
{
    const int n = train_opt_groups(group, opts);

    group[n] = (struct opt_group){ "output", own_table, own, 0, NULL };
    return n + 1;
}

struct run { /* shared by the ranks of this process */
    const struct train_job *job;
    struct train_result result; /* rank 0's */
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;

    return train_rank(w, run->job, &run->result);
}

static void train_help(FILE *to)
{
    struct train_opts opts;
    struct own_opts own;
    struct opt_group group[MAX_GROUPS];

    const int n_groups = opt_groups(group, &opts, &own);
    opt_help(to, group, n_groups);
}

static enum rc print_row(struct table *t, const char *name, const char *value)
{
    enum rc rc;

    TRY(table_cell(t, "%s", name));
    TRY(table_cell(t, "%s", value));
out:
    return rc;
}

static void format_interval(char *out, size_t n_bytes, const struct interval *i)
{
    if (isnan(i->low))
        snprintf(out, n_bytes, "%.4g samples/s (too few steps for an interval)", i->mean);
    else
        snprintf(out, n_bytes, "%.4g samples/s, 95 %% interval %.4g to %.4g", i->mean, i->low, i->high);
}

/* The model's shape, its data, its memory. */
static enum rc print_work(struct table *t, const struct train_job *job, const struct train_result *r)
{
    char text[256];
    enum rc rc = RC_OK;

    if (job->profile) {
        snprintf(text, sizeof text, "%s, batch %d, %s", job->profile->model, job->profile->batch, job->profile->device);
        TRY(print_row(t, "profile", text));
    }
    if (job->workload->network) {
        snprintf(text, sizeof text, "%zu parameters, images %d x %d, %d classes, %s, %d thread%s each, data %s",
                 job->n_params, job->network.image_size, job->network.image_size, job->network.n_classes,
                 job->opts.precision, r->n_threads, r->n_threads == 1 ? "" : "s", job->dataset->name);
        TRY(print_row(t, "work", text));
    }
    if (job->memory.host_bytes > 0 && job->workload->network) {
        snprintf(text, sizeof text,
                 "%.3g GB planned in all; a worker: activations %.3g, parameters %.3g, exchange %.3g",
                 (double)job->memory.host_bytes * 1e-9, (double)job->memory.activations_bytes * 1e-9,
                 (double)job->memory.params_bytes * 1e-9, (double)job->memory.exchange_bytes * 1e-9);
        TRY(print_row(t, "memory", text));
    }
out:
    return rc;
}

/* What was learnt. */
static enum rc print_learnt(struct table *t, const struct train_job *job, const struct train_result *r,
                            const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    const size_t n_last_steps = job->n_steps < STEPS_LAST ? job->n_steps : STEPS_LAST;
    char text[256];
    enum rc rc = RC_OK;

    if (isfinite(m->loss_last))
        snprintf(text, sizeof text, "first %.4g, last %.4g (mean of %zu step%s)", m->loss_first, m->loss_last,
                 n_last_steps, n_last_steps == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, r->has_params && !job->profile ? "first %.4g, then it diverged" : "not computed",
                 m->loss_first);
    TRY(print_row(t, job->opts.forward_only ? "loss" : "training loss", text));
    if (!isnan(r->evaluation.accuracy_ratio)) {
        snprintf(text, sizeof text, "%.2f %%", 100 * r->evaluation.accuracy_ratio);
        TRY(print_row(t, "test accuracy", text));
    }
    if (r->has_params && strcmp(job->opts.model, "linear") == 0 && isfinite((double)r->final.param[0])) {
        snprintf(text, sizeof text, "slope=%.6f offset=%.6f", (double)r->final.param[0], (double)r->final.param[1]);
        TRY(print_row(t, "line", text));
    }
    if (!isnan(job->opts.target_loss)) {
        if (isnan(s->seconds_to_target_loss))
            snprintf(text, sizeof text, "%g was not reached", job->opts.target_loss);
        else
            snprintf(text, sizeof text, "%g after %.4g s, %llu samples", job->opts.target_loss,
                     s->seconds_to_target_loss, (unsigned long long)s->samples_to_target_loss_count);
        TRY(print_row(t, "target loss", text));
    }
out:
    return rc;
}

static enum rc fill_table(struct table *t, const struct train_job *job, const struct train_result *r,
                          const struct train_summary *s)
{
    const struct steps_summary *m = &s->measured;
    char text[256];
    enum rc rc;

    snprintf(text, sizeof text, "%s%s, %s, world %s, %d worker%s, %d server%s, batch %llu each, %llu steps",
             job->opts.model, job->opts.forward_only ? ", inference" : "", job->opts.mode, job->opts.world,
             job->n_workers, job->n_workers == 1 ? "" : "s", job->n_servers, job->n_servers == 1 ? "" : "s",
             (unsigned long long)job->opts.batch, (unsigned long long)job->opts.steps);
    TRY(print_row(t, "run", text));
    TRY(print_work(t, job, r));
    format_interval(text, sizeof text, &m->throughput_samples_per_s);
    TRY(print_row(t, "throughput", text));
    snprintf(text, sizeof text, "%.1f %% of %d x one worker alone", 100 * s->efficiency_ratio, job->n_workers);
    TRY(print_row(t, "efficiency", text));
    if (!isnan(s->bound_ratio)) {
        snprintf(text, sizeof text, "%.1f %% of what the slowest of compute, wire and server allows",
                 100 * s->bound_ratio);
        TRY(print_row(t, "of the bound", text));
    }
    snprintf(text, sizeof text, "compute %.4g, wait %.4g, wire %.4g, server %.4g, apply %.4g us", m->compute_s * 1e6,
             m->wait_s * 1e6, m->wire_s * 1e6, m->server_s * 1e6, m->apply_s * 1e6);
    TRY(print_row(t, "mean step", text));
    if (job->mode->module.caps & MODE_SERVERS) {
        snprintf(text, sizeof text, "mean %.4g, max %u updates", m->staleness_mean_count, m->staleness_max_count);
        TRY(print_row(t, "staleness", text));
    }
    TRY(print_learnt(t, job, r, s));
out:
    return rc;
}

/* The two peers' closing lines, from worker 0's steps in ten parts (fewer steps: each a part), as they would have
 * measured it. */
static enum rc print_lines(const struct train_job *job, const struct train_result *r, const struct train_summary *s)
{
    enum { MAX_PARTS = 10 };
    const size_t n_parts = job->n_steps < MAX_PARTS ? job->n_steps : MAX_PARTS;
    const size_t n_per_part = job->n_steps / n_parts;
    double rate[MAX_PARTS], *step_s = NULL;
    enum rc rc = RC_OK;

    step_s = malloc(job->n_steps * sizeof *step_s);
    if (!step_s)
        return rc_raise(RC_NOMEM, "no memory for %zu steps", job->n_steps);
    for (size_t i = 0; i < job->n_steps; i++)
        step_s[i] = (double)(r->stamp[i].end_ns - r->stamp[i].start_ns) * 1e-9;
    for (size_t part = 0; part < n_parts; part++) {
        const struct step_stamp *first = &r->stamp[part * n_per_part], *last = first + n_per_part - 1;
        rate[part] = (double)(n_per_part * job->opts.batch) / ((double)(last->end_ns - first->start_ns) * 1e-9);
    }
    horovod_print(stdout, strcmp(job->opts.compute, "cuda") == 0 ? "GPU" : "CPU", (size_t)job->n_workers, rate,
                  n_parts);
    TRY(tf_cnn_print(stdout, (double)job->opts.batch * job->n_workers, step_s, job->n_steps,
                     r->stamp[job->n_steps - 1].loss, s->measured.throughput_samples_per_s.mean));
out:
    free(step_s);
    return rc;
}

static enum rc print_result(const struct own_opts *own, const struct train_job *job, const struct train_result *r,
                            const struct train_summary *s)
{
    static const struct column column[] = { { "", ALIGN_LEFT }, { "", ALIGN_LEFT } };
    struct table *t = NULL;
    enum rc rc;

    if (strcmp(own->out, "-") == 0)
        return RC_OK;
    TRY(table_open(&t, column, 2));
    TRY(fill_table(t, job, r, s));
    table_print(t, stdout);
    if (own->lines)
        TRY(print_lines(job, r, s));
out:
    table_close(&t);
    return rc;
}

static void warn_shared_cores(const struct train_job *job, const struct train_result *r)
{
    const int n_sharing = train_n_sharing(job, r);

    if (n_sharing > 0)
        fprintf(stderr,
                "gradmark train: warning: %d of %d workers share their cores with others: this run is oversubscribed\n",
                n_sharing, job->n_workers);
}

/* A path that cannot be written is found before hours of work, not after. */
static enum rc check_writable(const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc = RC_OK;

    if (path[0])
        TRY(atomic_file_open(&file, path));
out:
    atomic_file_discard(&file);
    return rc;
}

static enum rc finish(struct report *to, const struct own_opts *own, const struct train_job *job,
                      const struct train_result *r)
{
    struct train_summary summary;
    enum rc rc;

    TRY(train_summarise(&summary, job, r));
    TRY(train_write(to, job, r, &summary));
    if (job->opts.save[0])
        TRY(checkpoint_save(&r->final, job->opts.save));
    TRY(report_commit(to));
    warn_shared_cores(job, r);
    TRY(print_result(own, job, r, &summary));
out:
    return rc;
}

static enum rc train_check(int argc, char **argv)
{
    struct train_opts opts;
    struct own_opts own;
    struct opt_group group[MAX_GROUPS];

    const int n_groups = opt_groups(group, &opts, &own);
    return opt_parse(group, n_groups, train_opt_rules, train_n_opt_rules, argc, argv);
}

/* On a terminal, at most twice a second: steps are not measured while it prints. */
static void show_step(void *arg, size_t n_done, uint64_t now_ns)
{
    struct progress *p = arg;

    (void)now_ns; /* of the world; the line goes by this process's clock */
    if (wait_clock_ns() - p->printed_ns >= UINT64_C(500000000))
        progress_update(p, n_done, "steps", wait_clock_ns());
}

static enum rc train_run(int argc, char **argv, enum verb_stage *stage)
{
    struct train_opts opts;
    struct own_opts own;
    struct opt_group group[MAX_GROUPS];
    const struct launcher launcher = world_launcher();
    struct train_job job = { 0 };
    struct run run = { .job = &job };
    struct report *to = NULL;
    struct progress progress;
    const struct train_watch watch = { show_step, &progress };
    enum rc rc;

    const int n_groups = opt_groups(group, &opts, &own);
    TRY(opt_parse(group, n_groups, train_opt_rules, train_n_opt_rules, argc, argv));
    TRY(train_prepare(&job, &opts, group, n_groups, launcher.name ? launcher.n_ranks : 0));
    if (own.out[0] && strcmp(own.out, job.opts.save) == 0)
        FAIL(RC_INVAL, "--save %s: is also --out; records and checkpoint need a file each", own.out);
    if (launcher.rank == 0) {
        TRY(check_writable(job.opts.save));
        TRY(check_writable(strcmp(own.out, "-") == 0 ? "" : own.out));
    }
    *stage = STAGE_RUN;
    const struct world_opts world = train_world_opts(&job);
    progress_init(&progress, stderr, job.n_steps, wait_clock_ns());
    if (progress.is_terminal && !(job.world->module.caps & WORLD_VIRTUAL_TIME))
        job.watch = &watch;
    const enum rc ran = world_run(job.world, &world, job.n_ranks, body, &run);
    if (job.watch)
        progress_fini(&progress, wait_clock_ns());
    TRY(ran);
    if (run.result.stamp) {                                 /* rank 0 lived in this process */
        TRY(report_open(&to, own.out[0] ? own.out : NULL)); /* only now: a run that is killed leaves no litter */
        TRY(finish(to, &own, &job, &run.result));
    }
out:
    report_close(&to);
    train_result_free(&run.result);
    train_job_free(&job);
    return rc;
}

const struct verb verb_train = {
    .name = "train",
    .summary = "train one model one way: throughput, cost of a step, loss, checkpoint",
    .run = train_run,
    .check = train_check,
    .help = train_help,
};
