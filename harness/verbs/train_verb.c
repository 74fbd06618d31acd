/* SPDX-License-Identifier: Apache-2.0 */
/* train_verb.c - gradmark train: one run, its records, its checkpoint. What it prints: train_report.c. */
#include <string.h>

#include "harness/base/file.h"
#include "harness/campaign/sim_cost.h"
#include "harness/report/progress.h"
#include "harness/train/train.h"
#include "harness/verbs/train_report.h"
#include "harness/verbs/verb.h"
#include "harness/world/wait.h"

struct train_verb_opts {
    struct train_opts train;
    const char *out, *cost;
    bool lines;
};

static const struct opt own_table[] = {
    OPT_TEXT_(struct train_verb_opts, out, "out", "", "FILE", "write records as JSON lines; - for standard output"),
    OPT_TEXT_(struct train_verb_opts, cost, "cost", "", "FILE",
              "write what the simulation cost, in messages and real seconds, as JSON; sim only"),
    OPT_BOOL_(struct train_verb_opts, lines, "lines", "true",
              "end with the lines Horovod's and tf_cnn_benchmarks' parsers read"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "one run", train_run_table, offsetof(struct train_verb_opts, train) },
                                            { "training", train_opt_table, offsetof(struct train_verb_opts, train) },
                                            { "output", own_table, 0 },
                                            { NULL, NULL, 0 } };

struct run { /* shared by the ranks of this process */
    const struct train_job *job;
    struct train_result result; /* rank 0's */
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;

    return train_rank(w, run->job, &run->result);
}

static enum rc finish(struct report *to, const struct train_verb_opts *own, const struct train_job *job,
                      const struct train_result *r)
{
    struct train_summary summary;
    enum rc rc;

    TRY(train_summarise(&summary, job, r));
    TRY(train_write(to, job, r, &summary));
    if (job->opts.save[0])
        TRY(checkpoint_save(&r->final, job->opts.save));
    TRY(report_commit(to));
    train_warn_shared_cores(stderr, job, r);
    if (strcmp(own->out, "-") != 0) /* there the records are the output */
        TRY(train_print(stdout, job, r, &summary, own->lines));
    train_tell_losses(stderr, job, r);
out:
    return rc;
}

/* On a terminal, at most twice a second: steps are not measured while it prints. */
static void show_step(void *arg, size_t n_done, uint64_t now_ns)
{
    struct progress *p = arg;

    (void)now_ns; /* of the world; the line goes by this process's clock */
    if (wait_clock_ns() - p->printed_ns >= UINT64_C(500000000))
        progress_update(p, n_done, "steps", wait_clock_ns());
}

/* Each thing that is written needs a file of its own. Only records can go to standard output: it has the table of the
 * run, too, which is not to be in the middle of a timeline. */
static enum rc check_files(const struct verb_call *call, const struct train_verb_opts *own, const struct train_job *job)
{
    const struct {
        const char *option, *path, *what;
    } file[] = { { "out", own->out, "records" },
                 { "save", job->opts.save, "checkpoint" },
                 { "timeline", job->opts.timeline, "timeline" },
                 { "cost", own->cost, "cost" } };

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        if (verb_given(call, file[i].option) && file[i].path[0] == '\0')
            return rc_raise(RC_INVAL, "--%s: is empty; name a file for the %s", file[i].option, file[i].what);
        if (i > 0 && strcmp(file[i].path, "-") == 0)
            return rc_raise(RC_INVAL, "--%s -: name a file for the %s; --out alone takes -, standard output",
                            file[i].option, file[i].what);
        for (size_t k = 0; k < i; k++)
            if (file[i].path[0] && strcmp(file[i].path, file[k].path) == 0)
                return rc_raise(RC_INVAL, "--%s %s: is also --%s; %s and %s need a file each", file[i].option,
                                file[i].path, file[k].option, file[k].what, file[i].what);
    }
    return RC_OK;
}

/* Before the run: what it is to write can be written. */
static enum rc check_writable(const struct train_verb_opts *own, const struct train_job *job)
{
    enum rc rc;

    TRY(file_check_writable(job->opts.save));
    TRY(file_check_writable(job->opts.timeline));
    TRY(file_check_writable(strcmp(own->out, "-") == 0 ? "" : own->out));
out:
    return rc;
}

/* The job, and all that can be wrong with it before it runs. */
static enum rc prepare(struct train_job *job, struct verb_call *call)
{
    const struct train_verb_opts *own = call->opts;
    const struct launcher launcher = world_launcher();
    enum rc rc;

    TRY(train_prepare(job, &own->train, call->group, call->n_groups, launcher.name ? launcher.n_ranks : 0));
    TRY(check_files(call, own, job));
    TRY(sim_cost_check(own->cost, job->world->module.name, job->world->module.caps & WORLD_VIRTUAL_TIME));
    if (launcher.rank == 0) {
        TRY(check_writable(own, job));
        TRY(train_warn_useless_exchange(stderr, job));
    }
out:
    return rc;
}

static enum rc train_run(struct verb_call *call)
{
    const struct train_verb_opts *own = call->opts;
    struct train_job job = { 0 };
    struct run run = { .job = &job };
    struct world_cost cost = { 0 };
    struct report *to = NULL;
    struct progress progress;
    const struct train_watch watch = { show_step, &progress };
    enum rc rc;

    TRY(prepare(&job, call));
    const bool is_virtual = job.world->module.caps & WORLD_VIRTUAL_TIME;
    call->stage = STAGE_RUN;
    struct world_opts world = train_world_opts(&job);
    world.cost = &cost;
    progress_init(&progress, stderr, job.n_steps, wait_clock_ns());
    if (progress.is_terminal && !is_virtual)
        job.watch = &watch;
    const enum rc ran = world_run(job.world, &world, job.n_ranks, body, &run);
    if (job.watch)
        progress_fini(&progress, wait_clock_ns());
    TRY(train_explain_refusal(&world, ran));
    if (run.result.stamp) {                                   /* rank 0 lived in this process */
        TRY(report_open(&to, own->out[0] ? own->out : NULL)); /* only now: a run that is killed leaves no litter */
        TRY(finish(to, own, &job, &run.result));
    }
    if (is_virtual)
        TRY(sim_cost_write(stderr, "train", own->cost, &cost));
    if (run.result.stamp) /* all that is left is written; the run has failed all the same */
        TRY(train_check_stopped(&job, &run.result));
out:
    report_close(&to);
    train_result_free(&run.result);
    train_job_free(&job);
    return rc;
}

static const struct verb_hint hints[] = {
    { "launches", "one run is one launch; gradmark compare makes several" },
    { "results", "the records of one run go to a file: --out FILE" },
    { NULL, NULL },
};

const struct verb verb_train = {
    .name = "train",
    .summary = "train one model one way: throughput, cost of a step, loss, checkpoint",
    .opts_bytes = sizeof(struct train_verb_opts),
    .group = groups,
    .kinds = train_kinds,
    .modules_offset_bytes = offsetof(struct train_verb_opts, train) + offsetof(struct train_opts, modules),
    .rule = train_opt_rules,
    .n_rules = TRAIN_N_OPT_RULES,
    .hint = hints,
    .run = train_run,
};
