/* SPDX-License-Identifier: Apache-2.0 */
/* train_verb.c - gradmark train: one run, its records, its checkpoint. What it prints: train_report.c. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/terminal.h"
#include "harness/campaign/autotune.h"
#include "harness/campaign/sim_cost.h"
#include "harness/report/progress.h"
#include "harness/train/elastic.h"
#include "harness/train/integrity.h"
#include "harness/train/layout.h"
#include "harness/train/messages.h"
#include "harness/train/omission.h"
#include "harness/train/shard.h"
#include "harness/train/train.h"
#include "harness/train/trajectory.h"
#include "harness/verbs/gang_options.h"
#include "harness/verbs/restart.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/stages_report.h"
#include "harness/verbs/train_report.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

struct train_verb_opts {
    struct train_opts train;
    struct autotune_opts tune;
    struct gang_opts gang;
    const char *out, *cost, *layout;
    bool lines;
};

static const struct opt own_table[] = {
    OPT_FILE_(struct train_verb_opts, out, "out", OPT_WRITTEN, "", "FILE",
              "write records as JSON lines. With - they go to standard output"),
    OPT_FILE_(struct train_verb_opts, cost, "cost", OPT_WRITTEN, "", "FILE",
              "write what the simulation itself cost, as JSON. The file has its messages, its real seconds, and the "
              "busiest link of each kind. Only in world sim"),
    OPT_BOOL_(struct train_verb_opts, lines, "lines", "true",
              "end with lines for Horovod's and TensorFlow's tools. The parsers of Horovod's benchmark and of "
              "tf_cnn_benchmarks read them"),
    OPT_END_,
};
static const struct opt layout_table[] = {
    OPT_TEXT_(struct train_verb_opts, layout, "layout", "", "WxSxK",
              "workers, stages and shards in one word. It stands for --workers W --stages S --shard-dense K, and has "
              "W x S ranks"),
    OPT_END_,
};
static const struct verb_group groups[] = {
    { "one run", train_run_table, offsetof(struct train_verb_opts, train), train_run_topics },
    { "training", train_opt_table, offsetof(struct train_verb_opts, train), train_opt_topics },
    { "tuning", autotune_opt_table, offsetof(struct train_verb_opts, tune), NULL },
    { "processes without a launcher", gang_opt_table, offsetof(struct train_verb_opts, gang), NULL },
    { "layout", layout_table, 0, NULL },
    { "output", own_table, 0, NULL },
    { NULL, NULL, 0, NULL }
};

struct run { /* shared by the ranks of this process */
    const struct train_verb_opts *own;
    struct train_job job;
    struct progress progress;
    struct train_result result; /* rank 0's */
    struct autotune_plan plan;  /* of --autotune */
    int tuning_stop_signal;     /* rank 0: it ended the run before its first step; 0: none did */
    struct autotune tuned;      /* what rank 0 has found; options of job are lent by it */
    struct autotune_file *file; /* likewise; NULL: none is used */
    bool may_restart;           /* --restarts, of this command or of the launcher */
    bool is_written, is_saved;  /* results were to be written; the checkpoint is */
};

/* The records and the table. */
static enum rc report(struct report *to, const struct train_verb_opts *own, const struct train_job *job,
                      const struct train_result *r, const struct autotune *tuned)
{
    struct train_summary summary;
    enum rc rc;

    TRY(train_summarise(&summary, job, r));
    TRY(train_write(to, job, r, &summary));
    TRY(job_shard_write(to, job, r));
    if (own->tune.budget_s > 0)
        TRY(autotune_write(to, tuned));
    TRY(report_commit(to));
    train_warn_shared_cores(stderr, job, r);
    if (strcmp(own->out, "-") != 0) /* there the records are the output */
        TRY(train_print(stdout, job, r, &summary, own->lines));
    elastic_tell_changes(stderr, job, r);
    train_tell_losses(stderr, job, r);
out:
    return rc;
}

static enum rc write_checkpoint(void *arg, struct world *w)
{
    struct run *run = arg;
    const char *save = run->job.opts.save;
    const bool saves = save[0] && run->result.checks.n_corruptions == 0; /* a file that is there is a better one */
    enum rc rc = RC_OK;

    if (saves && !(run->job.omitted & OMIT_RANK0_SAVE)) /* there every rank has */
        TRY(checkpoint_save(&run->result.final, save, world_tick_callback, w));
    run->is_saved = saves;
out:
    return rc;
}

static enum rc write_records(void *arg)
{
    struct run *run = arg;
    const char *out = run->own->out[0] ? run->own->out : NULL;
    struct report *to = NULL;
    enum rc rc = RC_OK;

    if (run->job.opts.trajectory[0])
        TRY(trajectory_write(run->job.opts.trajectory, &run->job, &run->result));
    if (run->job.opts.messages[0])
        TRY(messages_write(run->job.opts.messages, &run->result));
    TRY(report_open(&to, out)); /* only now: a run that is killed leaves no litter */
    TRY(report(to, run->own, &run->job, &run->result, &run->tuned));
out:
    report_close(&to);
    return rc;
}

/* The end of the progress, checkpoint, records and table: of the process of rank 0. w: its world; NULL: it has ended.
 * Which of them comes first: restart.h. */
static enum rc write_results(struct run *run, struct world *w)
{
    if (run->job.watch)
        progress_fini(&run->progress, wait_clock_ns());
    run->is_written = true;
    return restart_write(run->may_restart && run->result.stop_signal == 0,
                         &(struct restart_results){ write_checkpoint, write_records, run }, w);
}

/* Results of a run that is stopped are written before its world ends: where mpirun was told to end it, it kills the
 * ranks a second later, and until then it does not let MPI_Finalize() return. */
static enum rc train_in(struct world *w, struct run *run, const struct train_job *job)
{
    enum rc rc;

    TRY(train_rank(w, job, &run->result));
    if (w->rank == 0 && job != &run->job)
        run->job = *job; /* which records are of; the other ranks have copies of their own */
    if (w->rank == 0 && run->result.stop_signal)
        TRY(write_results(run, w));
out:
    return rc;
}

/* At once: where mpirun was told to end it, it kills the ranks a second later. */
static void tell_stopped_tuning(struct run *run, int number)
{
    run->tuning_stop_signal = number;
    terminal_note(stderr, "gradmark train: %s: stopped while it was tuned, nothing was trained",
                  stop_signal_name(number));
}

/* --autotune: what it finds is kept before the run, which may fail. */
static enum rc tune_and_train(struct world *w, struct run *run)
{
    const bool is_root = w->rank == 0;
    const char *path = run->own->tune.file;
    struct autotune found = { .trial = NULL }, *tuned = is_root ? &run->tuned : &found;
    struct train_job job;
    enum rc rc;

    TRY(autotune_run(tuned, w, &run->plan, &run->job, is_root ? stderr : NULL));
    if (tuned->is_stopped) {
        if (is_root)
            tell_stopped_tuning(run, world_stop_signal(w));
        goto out;
    }
    if (is_root && path[0])
        TRY(autotune_save(path, tuned, &run->job));
    TRY(autotune_job(&job, &run->job, &tuned->plan, &tuned->chosen));
    job.n_begun_before = tuned->n_begun;
    if (is_root)
        progress_init(&run->progress, stderr, run->job.n_steps, wait_clock_ns());
    TRY(train_in(w, run, &job));
out:
    autotune_free(&found);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;

    return run->own->tune.budget_s > 0 ? tune_and_train(w, run) : train_in(w, run, &run->job);
}

/* On a terminal, at most twice a second: steps are not measured while it prints. */
static void show_step(void *arg, size_t n_done, uint64_t now_ns)
{
    struct progress *p = arg;

    (void)now_ns; /* of the world; the line goes by this process's clock */
    if (wait_clock_ns() - p->printed_ns >= UINT64_C(500000000))
        progress_update(p, n_done, "steps", wait_clock_ns());
}

/* Each thing that is written needs a name. Only records can go to standard output: it has the table of the
 * run, too, which is not to be in the middle of a timeline. */
static enum rc check_files(const struct verb_call *call, const struct train_verb_opts *own, const struct train_job *job)
{
    const struct {
        const char *option, *path, *what;
    } file[] = { { "out", own->out, "records" },
                 { "save", job->opts.save, "checkpoint" },
                 { "timeline", job->opts.timeline, "timeline" },
                 { "trajectory", job->opts.trajectory, "trajectory" },
                 { "messages", job->opts.messages, "messages" },
                 { "autotune-file", own->tune.file, "settings" },
                 { "cost", own->cost, "cost" } };

    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        if (verb_given(call, file[i].option) && file[i].path[0] == '\0')
            return rc_raise(RC_INVAL, "--%s: is empty; name a file for the %s", file[i].option, file[i].what);
        if (i > 0 && strcmp(file[i].path, "-") == 0)
            return rc_raise(RC_INVAL, "--%s -: name a file for the %s; --out alone takes -, standard output",
                            file[i].option, file[i].what);
    }
    return RC_OK;
}

/* Before the run: what it is to write can be written. */
static enum rc check_writable(const struct train_verb_opts *own, const struct train_job *job)
{
    enum rc rc;

    TRY(file_of_option(file_check_writable(job->opts.save), "save"));
    TRY(file_of_option(file_check_writable(job->opts.timeline), "timeline"));
    TRY(file_of_option(file_check_writable(job->opts.trajectory), "trajectory"));
    TRY(file_of_option(file_check_writable(job->opts.messages), "messages"));
    if (own->tune.budget_s > 0)
        TRY(file_of_option(file_check_writable(own->tune.file), "autotune-file"));
    TRY(file_of_option(file_check_writable(strcmp(own->out, "-") == 0 ? "" : own->out), "out"));
out:
    return rc;
}

/* --autotune-file without --autotune: options that the job is then prepared with. */
static enum rc apply_file(struct run *run, struct verb_call *call)
{
    const struct autotune_opts *tune = &run->own->tune;
    enum rc rc = RC_OK;

    if (tune->budget_s > 0 || !tune->file[0])
        return RC_OK;
    TRY(file_of_option(autotune_file_open(&run->file, tune->file), "autotune-file"));
    TRY(autotune_file_apply(run->file, call->group, call->n_groups));
out:
    return rc;
}

/* The job, and all that can be wrong with it before it runs. */
static enum rc prepare(struct run *run, struct verb_call *call)
{
    struct train_job *job = &run->job;
    const struct train_verb_opts *own = call->opts;
    const struct launcher launcher = world_launcher();
    enum rc rc;

    TRY(apply_file(run, call));
    TRY(train_prepare(job, &own->train, call->group, call->n_groups, launcher.name ? launcher.n_ranks : 0));
    if (own->train.shard_dense > 1 && (own->tune.budget_s > 0 || own->tune.file[0]))
        FAIL(RC_INVAL, "--autotune: is of ranks that have all of a network; leave out --shard-dense %llu",
             (unsigned long long)own->train.shard_dense);
    TRY(check_files(call, own, job));
    if (launcher.rank == 0)
        TRY(train_note_inputs(job));
    if (run->file)
        TRY(autotune_file_check(run->file, job, launcher.rank == 0 ? stderr : NULL));
    if (own->tune.budget_s > 0)
        TRY(autotune_plan(&run->plan, &own->tune, job, call->group, call->n_groups));
    TRY(sim_cost_check(own->cost, job->world->module.name, job->world->module.caps & WORLD_VIRTUAL_TIME));
    if (launcher.rank == 0) {
        TRY(check_writable(own, job));
        TRY(train_warn_useless_exchange(stderr, job));
    }
out:
    return rc;
}

/* After the world has ended: what is left to write, to tell, and whether the run has failed. */
static enum rc end_run(struct verb_call *call, struct run *run, const struct world_cost *cost)
{
    const bool is_root = run->result.stamp; /* rank 0 lived in this process */
    enum rc rc = RC_OK;

    if (is_root && !run->is_written)
        TRY(write_results(run, NULL));
    if (run->job.world->module.caps & WORLD_VIRTUAL_TIME)
        TRY(sim_cost_write(stderr, "train", run->own->cost, cost));
    if (run->tuning_stop_signal)
        call->exit_code = VERB_STOPPED + run->tuning_stop_signal;
    if (is_root) { /* all that is left is written; the run has failed all the same */
        TRY(integrity_check_result(&run->job, &run->result));
        TRY(train_check_stopped(&run->job, &run->result));
        train_tell_stop(stderr, &run->job, &run->result);
        call->exit_code = run->result.stop_signal ? VERB_STOPPED + run->result.stop_signal : 0;
    }
out:
    return rc;
}

/* Has it failed only in what comes behind the training and its checkpoint? A run that lost ranks, and so did fewer
 * steps than it was to do, can go on from that. */
static bool is_trained(bool is_saved, const struct train_job *job, const struct train_result *result)
{
    return is_saved && (train_is_whole(job, result) || result->stop_signal != 0);
}

static enum rc run_once(struct verb_call *call, const struct train_restarts *restarts, bool may_restart)
{
    const struct train_verb_opts *own = call->opts;
    struct run run = { .own = own, .may_restart = may_restart };
    const struct train_watch watch = { show_step, &run.progress };
    struct world_cost cost = { 0 };
    char *identity = NULL;
    enum rc rc;

    TRY(prepare(&run, call));
    run.job.restarts = *restarts;
    call->stage = STAGE_RUN;
    stop_catch_first();
    struct world_opts world = train_world_opts(&run.job);
    if (own->tune.budget_s > 0)
        autotune_ask_world(&world, &run.plan, &run.job);
    world.cost = &cost;
    if (world.n_guests > 0)
        world.identity = identity = same_options_text(call);
    progress_init(&run.progress, stderr, run.job.n_steps, wait_clock_ns());
    if (run.progress.is_terminal && !(run.job.world->module.caps & WORLD_VIRTUAL_TIME))
        run.job.watch = &watch;
    const enum rc ran = same_options_run(call, run.job.world, &world, train_n_ranks(&run.job), body, &run);
    if (run.job.watch && !run.is_written && (ran != RC_OK || !run.result.stamp))
        progress_fini(&run.progress, wait_clock_ns());
    TRY(train_explain_lost_root(&run.job, job_shard_explain(&run.job, train_explain_refusal(&world, ran))));
    TRY(end_run(call, &run, &cost));
out:
    if (may_restart && is_trained(run.is_saved, &run.job, &run.result))
        call->failure_exit_code = RESTART_NOT;
    free(identity);
    train_result_free(&run.result);
    autotune_free(&run.tuned);
    train_job_free(&run.job);
    autotune_file_close(&run.file);
    return rc;
}

/* --stages */
static enum rc run_stages(struct verb_call *call, const struct train_restarts *restarts, bool may_restart)
{
    const struct train_verb_opts *own = call->opts;
    const struct launcher launcher = world_launcher();
    struct train_stages_run run = { .group = call->group,
                                    .n_groups = call->n_groups,
                                    .n_stages = (int)own->train.stages,
                                    .out = own->out,
                                    .on_stop = stages_report,
                                    .restarts = restarts,
                                    .may_restart = may_restart };
    struct world_cost cost = { 0 };
    enum rc rc;

    if (own->tune.budget_s > 0 || own->tune.file[0])
        FAIL(RC_INVAL, "--autotune: is of ranks that have all of a network; leave out --stages %llu",
             (unsigned long long)own->train.stages);
    TRY(train_stages_prepare(&run, &own->train, &launcher));
    struct train_job *job = &run.job[0];
    TRY(check_files(call, own, job));
    TRY(sim_cost_check(own->cost, job->world->module.name, job->world->module.caps & WORLD_VIRTUAL_TIME));
    if (launcher.rank == 0)
        TRY(check_writable(own, job));
    call->stage = STAGE_RUN;
    stop_catch_first();
    struct world_opts world = train_stages_world_opts(&run);
    world.cost = &cost;
    TRY(train_explain_refusal(
        &world, same_options_run(call, job->world, &world, train_stages_n_ranks(&run), train_stages_body, &run)));
    if (job->world->module.caps & WORLD_VIRTUAL_TIME)
        TRY(sim_cost_write(stderr, "train", own->cost, &cost));
    if (run.result.stamp) { /* rank 0 lived in this process */
        TRY(stages_report(&run, NULL));
        TRY(train_check_stopped(&run.whole, &run.result));
        train_tell_stop(stderr, &run.whole, &run.result);
        call->exit_code = run.result.stop_signal ? VERB_STOPPED + run.result.stop_signal : 0;
    }
out:
    if (may_restart && is_trained(run.is_saved, &run.whole, &run.result))
        call->failure_exit_code = RESTART_NOT;
    train_stages_free(&run);
    return rc;
}

struct train_opts *train_opts_of(const struct verb_call *call)
{
    return &((struct train_verb_opts *)call->opts)->train;
}

/* --restarts: in a child process, once or more often. */
static enum rc train_as(struct verb_call *call, enum gang_job job)
{
    struct train_verb_opts *own = call->opts;
    struct train_restarts restarts = { 0 };
    bool runs_here = true, is_in_gang = false;
    enum rc rc = RC_OK;

    TRY(restart_in_gang(call, &own->train, &restarts, &is_in_gang));
    TRY(gang_resolve(call, &own->gang, &own->train, job));
    TRY(layout_apply(&own->train, own->layout, call->group, call->n_groups,
                     world_launcher().name ? world_launcher().n_ranks : 0));
    if (own->train.restarts > 0)
        TRY(restart_run(call, &own->train, &restarts, &runs_here));
    if (runs_here)
        TRY(own->train.stages > 1 ? run_stages(call, &restarts, own->train.restarts > 0 || is_in_gang)
                                  : run_once(call, &restarts, own->train.restarts > 0 || is_in_gang));
out:
    return rc;
}

static enum rc train_run(struct verb_call *call)
{
    struct train_verb_opts *own = call->opts;

    if (call->output.json && own->out[0] && strcmp(own->out, "-") != 0)
        return rc_raise(RC_INVAL, "--json: the records go to --out %s; leave one of them out", own->out);
    if (verb_prints_csv(call) && strcmp(own->out, "-") == 0)
        return rc_raise(RC_INVAL, "--format csv: --out - prints records; leave one of them out");
    if (call->output.json)
        own->out = "-";
    return train_as(call, GANG_WORKER);
}

static enum rc serve_run(struct verb_call *call)
{
    const struct train_verb_opts *own = call->opts;
    bool has_tf_config = false;
    enum rc rc = RC_OK;

    if (own->gang.ps_hosts[0] == '\0')
        TRY(gang_has_tf_config(&has_tf_config, getenv("TF_CONFIG")));
    if (own->gang.ps_hosts[0] == '\0' && !has_tf_config)
        FAIL(RC_INVAL, "--ps-hosts: is not given; name the servers and, by --worker-hosts, the workers as HOST:PORT");
    TRY(train_as(call, GANG_PS));
out:
    return rc;
}

static const struct verb_hint hints[] = {
    { "launches", "one run is one launch; gradmark compare makes several" },
    { "results", "the records of one run go to a file: --out FILE" },
    { "staleness", "bounded staleness is --mode ps --consistency ssp:4" },
    { "learning-rate", "the learning rate is --lr" },
    { "epochs", "the length of a training is --steps" },
    { "model *", "a network of your own needs a profile: see gradmark help predict" },
    { "mode async", "write --mode ps --consistency async" },
    { "mode ssp", "write --mode ps --consistency ssp:4" },
    { "mode sync", "write --mode allreduce, or --mode ps --consistency sync" },
    { "mode ring", "write --mode allreduce --reducer ring" },
    { "compute gpu", "write --compute cuda" },
    { NULL, NULL },
};

/* What a server takes is what its workers take. */
#define OPTIONS_OF_TRAIN                                                                                    \
    .opts_bytes = sizeof(struct train_verb_opts), .group = groups, .kinds = train_kinds,                    \
    .modules_offset_bytes = offsetof(struct train_verb_opts, train) + offsetof(struct train_opts, modules), \
    .rule = train_opt_rules, .hint = hints

static const struct verb_example train_examples[] = {
    { "train --steps 500 --save half.ckpt", "Train lenet with one worker, and write a checkpoint" },
    { "train --mode allreduce --reducer shm --workers 2 --out run.jsonl", "Train with two workers, and write records" },
    { "train --world sim --workers 8 --mode ps --servers 2", "Simulate eight workers of a cluster" },
    { NULL, NULL },
};

static const struct verb_basics train_basics[] = {
    { "what is trained", "model data batch steps lr optimizer target-loss seed" },
    { "workers and exchange", "mode workers servers consistency bucket-bytes overlap" },
    { "where it runs", "world cluster interface compute precision threads" },
    { "checkpoints and output", "save resume out timeline" },
    { NULL, NULL },
};

const struct verb verb_train = {
    .name = "train",
    .summary = "train one network in one mode: speed, cost of a step, loss",
    .introduction = "Prints the throughput, where the time of a step goes, the loss and the test accuracy. Without "
                    "options one worker trains lenet on images of digits, which takes seconds.\n\n"
                    "The exit status is 1 if the run fails. After Ctrl-C it writes its results and exits with 130.",
    .example = train_examples,
    .basics = train_basics,
    .page = "training",
    .has_records = true,
    .format = verb_format_table,
    OPTIONS_OF_TRAIN,
    .run = train_run,
};

static const struct verb_example serve_examples[] = {
    { "serve --ps-hosts localhost:2222 --worker-hosts localhost:2223", "Start the server, and wait for one worker" },
    { "train --ps-hosts localhost:2222 --worker-hosts localhost:2223", "Start its worker, in a second terminal" },
    { NULL, NULL },
};

static const struct verb_basics serve_basics[] = {
    { "members of the run", "ps-hosts worker-hosts task key-file start-timeout" },
    { "the same as the workers have", "model batch steps lr optimizer consistency placement interface on-loss" },
    { NULL, NULL },
};

const struct verb verb_serve = {
    .name = "serve",
    .summary = "run one parameter server of a training without launcher",
    .usage = "--ps-hosts LIST --worker-hosts LIST [--option value ...]",
    .introduction =
        "Runs one parameter server of a training whose processes you start by hand. It takes the options of "
        "gradmark train, and all processes need the same ones.\n\n"
        "Worker 0 prints the results. If the variable TF_CONFIG names the hosts, no list is needed.",
    .example = serve_examples,
    .basics = serve_basics,
    .page = "running",
    .has_records = true,
    OPTIONS_OF_TRAIN,
    .run = serve_run,
};
