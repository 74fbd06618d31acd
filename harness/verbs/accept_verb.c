/* SPDX-License-Identifier: Apache-2.0 */
/* accept_verb.c - gradmark accept: is this cluster as fast as it should be, and if not, which node or link is not? */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/accept.h"
#include "harness/accept/acceptance_report.h"
#include "harness/accept/judge.h"
#include "harness/accept/metrics.h"
#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/report/manifest.h"
#include "harness/report/progress.h"
#include "harness/verbs/accept_trials.h"
#include "harness/verbs/accept_world.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { PROGRESS_PARTS = 1000 };

/* Repeats of a healthy cluster differ by some per cent; a fault of a link or a node costs more than this. */
static const double MARGIN_RATIO = 0.1;

static const struct opt table[] = {
    OPT_FILE_(struct accept_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "new or empty folder for the results (default: results/<date>-accept). It gets report, page, host lists "
              "and JUnit"),
    OPT_FILE_(struct accept_opts, metrics, "metrics", OPT_WRITTEN, "", "FILE.prom",
              "file for metrics of the running test. The text is OpenMetrics, which node_exporter's textfile collector "
              "reads. It is replaced after each stage, after each training of a soak, and at the end"),
    OPT_TEXT_(struct accept_opts, stages, "stages", "", "LIST",
              "run only these stages (default: as the criteria say). Stages are preflight, compute, noise, pairwise, "
              "collectives, ps, training, integrity and soak"),
    OPT_JOINED_(struct accept_opts, set, "criteria-set", "KEY=VALUE", "change a criterion"),
    OPT_BOOL_(struct accept_opts, node_per_rank, "node-per-rank", "false",
              "count each rank as a node, to try the test on one machine"),
    OPT_U64_(struct accept_opts, seed, "seed", "1", 0, UINT64_MAX >> 1, "", "seed of faults, data and parameters"),
    OPT_TEXT_(
        struct accept_opts, inject, "inject", "", "FAULT,...",
        "make ranks, nodes or links faulty, to try the test. rank:R=X computes at X of its speed. node:N=X and "
        "link:A-B=X have X of their rate. With loss:N=X a part X of the small messages of node N is lost, and comes "
        "200 ms late. stall:R hangs. kill:R and kill:R@STAGE end rank R. flip:R@STEP flips a bit of its gradient. "
        "Ranks and nodes count from 0"),
    OPT_F64_(struct accept_opts, noise_ratio, "noise-ratio", "0", 0, 1, "",
             "random part by which timed work takes longer. Each time takes |normal| x X longer. Use it in world sim, "
             "where nothing varies by itself"),
    OPT_F64_(struct accept_opts, stall_abort_s, "stall-abort-s", "60", 1, 1e6, "s",
             "time without a sign of life after which a rank is lost. A lost rank ends the test"),
    OPT_END_,
};

static const struct opt init_table[] = {
    OPT_FILE_(struct accept_opts, init, "init", OPT_WRITTEN, "", "FILE.yaml",
              "write criteria with comments to this file, and exit. Its limits come from --declared or --reference. "
              "Without these it has no limits"),
    OPT_BOOL_(struct accept_opts, force, "force", "false", "replace the file of --init if it exists"),
    OPT_FILE_(struct accept_opts, declared, "declared", OPT_READ, "", "PRESET|FILE",
              "limits 10 % below the rates of a cluster description. They are those of fp32"),
    OPT_FILE_(
        struct accept_opts, reference, "reference", OPT_READ, "", "FOLDER",
        "limits 10 % worse than the results of a healthy cluster. Such a folder is what gradmark accept wrote. For "
        "detours the spread of these results counts, too"),
    OPT_END_,
};

static const struct opt self_test_table[] = {
    OPT_U64_(struct accept_opts, self_test, "self-test", "", 1, 10000, "",
             "inject random faults in N tests, and count how many are found. False alarms are counted, too"),
    OPT_END_,
};

static const struct verb_group groups[] = {
    { "acceptance", table, 0, NULL },
    { "limits", init_table, 0, NULL },
    { "self-test", self_test_table, 0, NULL },
    { "ranks and machine", machine_opt_table, offsetof(struct accept_opts, machine), NULL },
    { NULL, NULL, 0, NULL },
};

/* --- criteria --- */

/* Of the file, as options change them. */
static enum rc load_criteria(struct criteria *out, const struct verb_call *call)
{
    const struct accept_opts *o = call->opts;
    enum rc rc = RC_OK;

    criteria_default(out);
    if (call->operand[0])
        TRY(criteria_load(out, call->operand[0]));
    TRY(criteria_set(out, o->set.text));
    if (verb_given(call, "stages") && o->stages[0] == '\0')
        FAIL(RC_INVAL, "--stages: is empty; use names of stages, as compute,pairwise");
    TRY(criteria_choose(out, "--stages", o->stages));
    if (out->runs[ACCEPT_SOAK] && !(out->soak_minutes > 0))
        FAIL(RC_INVAL, "--stages %s: soak_minutes is 0; add --criteria-set soak_minutes=60", o->stages);
out:
    return rc;
}

/* Stages without results in the reference, which give no limits. The soak is no part of a usual test. */
static void say_missing(const struct acceptance *healthy, const char *folder)
{
    char names[256] = ""; /* longer than all of them */
    size_t n_chars = 0;
    int n = 0;

    for (int s = 0; s < ACCEPT_N_STAGES; s++)
        if (s != ACCEPT_SOAK && healthy->stage[s].outcome == OUTCOME_SKIPPED)
            n_chars += (size_t)snprintf(names + n_chars, sizeof names - n_chars, "%s%s", n++ > 0 ? ", " : "",
                                        accept_stage_name((enum accept_stage)s));
    if (n > 0)
        terminal_note(stderr, "gradmark: warning: no limits of %s: %s has no results of %s", names, folder,
                      n == 1 ? "this stage" : "these stages");
    if (healthy->is_virtual)
        terminal_note(stderr, "gradmark: warning: %s was simulated: its limits are those of a simulated cluster",
                      folder);
}

static enum rc limits_of_reference(struct criteria *c, const struct accept_opts *o, struct criteria_sources *sources)
{
    struct acceptance healthy = { .n_nodes = 0 };
    enum rc rc;

    if (!acceptance_is_bundle(o->reference))
        FAIL(RC_INVAL, "--reference %s: not a folder of gradmark accept; it has no acceptance.jsonl", o->reference);
    TRY(file_of_option(acceptance_load(&healthy, o->reference), "reference"));
    TRY(rc_prefix(criteria_from_reference(c, &healthy, MARGIN_RATIO, sources), "--reference %s: ", o->reference));
    say_missing(&healthy, o->reference);
out:
    acceptance_close(&healthy);
    return rc;
}

static enum rc limits_of_declared(struct criteria *c, const struct accept_opts *o, struct criteria_sources *sources)
{
    struct cluster cluster;
    enum rc rc;

    TRY(file_of_option(cluster_find(&cluster, NULL, o->declared), "declared"));
    TRY(file_of_option(cluster_check_compute(&cluster), "declared"));
    criteria_from_cluster(c, &cluster, MARGIN_RATIO, sources);
out:
    return rc;
}

static enum rc write_criteria(struct criteria *c, const struct accept_opts *o)
{
    struct criteria_sources *sources = calloc(1, sizeof *sources);
    char file[PATH_MAX];
    enum rc rc = RC_OK;

    if (!sources)
        return rc_raise(RC_NOMEM, "no memory for the sources of criteria");

    TRY(verb_refuse_ranks("--init: "));
    if (o->reference[0] && o->declared[0])
        FAIL(RC_INVAL, "--reference: and --declared are two sources of limits; use one");
    if (o->reference[0])
        TRY(limits_of_reference(c, o, sources));
    if (o->declared[0])
        TRY(limits_of_declared(c, o, sources));
    TRY(file_of_option(file_check_new(o->init, o->force), "init"));
    TRY(file_of_option(criteria_write(c, sources, "Criteria of gradmark accept.\n", o->init), "init"));
    text_shell_word(file, sizeof file, o->init);
    terminal_note(stdout, "%s: written. Test with these limits: gradmark accept %s", o->init, file);
out:
    free(sources);
    return rc;
}

/* --- the test --- */

struct test { /* shared by the ranks of this process */
    const struct verb_call *call;
    const struct accept_opts *opts;
    const struct machine *machine;
    struct accept_terms terms;
    struct acceptance result;
    bool has_result; /* rank 0 was in this process, and got so far */
    struct progress progress;
    bool has_progress; /* it is open */
    bool has_begun;    /* acceptance_begin() */
    struct accept_start start;
};

static struct record *manifest_of(const struct test *t)
{
    const struct verb_call *call = t->call;
    struct record *r = record_open("accept"), *options = record_open("options");

    for (int i = 0; i < call->n_groups; i++)
        record_options(options, call->group[i].table, call->group[i].into);
    record_text(r, "criteria_file", call->operand[0]);
    record_text(r, "injected", t->opts->inject);
    record_child(r, "options", &options);
    manifest_fill(r, machine_is_virtual(t->machine));
    return r;
}

/* What a test leaves, whatever ends it: acceptance_begin(). Rank 0. */
static enum rc begin_report(const struct test *t)
{
    struct record *manifest = NULL;
    enum rc rc;

    manifest = manifest_of(t);
    TRY(acceptance_begin(t->terms.criteria, manifest, t->start.folder));
out:
    record_close(&manifest);
    return rc;
}

static void open_progress(struct test *t)
{
    if (!t->has_progress)
        progress_init(&t->progress, stderr, PROGRESS_PARTS, wait_clock_ns());
    t->has_progress = true;
    t->progress.hides_number = true;
}

static void show_progress(void *arg, double done_ratio, const char *what)
{
    struct test *t = arg;

    open_progress(t);
    progress_weigh(&t->progress, done_ratio);
    progress_update(&t->progress, (size_t)(done_ratio * PROGRESS_PARTS), what, wait_clock_ns());
}

static enum rc write_metrics(const struct test *t, const struct acceptance *a, const struct soak_part *part,
                             bool is_running)
{
    const char *path = t->opts->metrics;

    return path[0] ? file_of_option(metrics_write(a, part, is_running, path), "metrics") : RC_OK;
}

/* What is measured so far, against a launcher that ends this process. Failing to keep it ends nothing. */
static void keep_so_far(void *arg, const struct acceptance *so_far)
{
    struct test *t = arg;
    enum rc rc = RC_OK;

    open_progress(t);
    if (!t->has_begun)
        TRY(begin_report(t));
    t->has_begun = true;
    TRY(acceptance_keep(so_far, t->start.folder));
    TRY(write_metrics(t, so_far, NULL, true));
out:
    if (rc != RC_OK)
        progress_say(&t->progress, "gradmark: warning: %s", rc_message());
}

/* --metrics, in a soak: failing to write them ends nothing. */
static void tell_soak(void *arg, const struct acceptance *so_far, const struct soak_part *part)
{
    struct test *t = arg;

    open_progress(t);
    if (write_metrics(t, so_far, part, true) != RC_OK)
        progress_say(&t->progress, "gradmark: warning: %s", rc_message());
    hold_at("soak", 0, so_far->soak.n_parts);
}

static enum rc body(struct world *w, void *arg)
{
    struct test *t = arg;
    struct compute *compute = NULL;
    bool goes_on;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(accept_start_in(w, &t->start, &compute, t->machine, t->opts, &t->terms, &goes_on));
    if (!goes_on) /* the same on all ranks, so nobody waits; run_test() tells */
        goto out;
    if (w->rank == 0)
        t->has_result = true;
    TRY(accept_rank(w, compute, machine_n_threads(t->machine, w), &t->terms, &t->result));
out:
    compute_close(&compute);
    return rc;
}

static int exit_code_of(const struct acceptance *a)
{
    return a->outcome == OUTCOME_PASS ? 0 : a->outcome == OUTCOME_FAIL ? 1 : COULD_NOT_TEST;
}

/* The folder and the metrics of an ended test. One that cannot be written does not prevent the other. */
static enum rc write_ended(const struct test *t)
{
    struct record *manifest = NULL;
    char why[RC_MESSAGE_BYTES];
    enum rc rc;

    manifest = manifest_of(t);
    TRY(acceptance_write(&t->result, t->terms.criteria, manifest, t->start.folder));
    printf("page: %s/report.html\n", t->start.folder);
out:
    record_close(&manifest);
    if (rc == RC_OK)
        return write_metrics(t, &t->result, NULL, false);
    snprintf(why, sizeof why, "%s", rc_message());
    if (write_metrics(t, &t->result, NULL, false) != RC_OK)
        terminal_note(stderr, "gradmark: warning: %s", rc_message());
    return rc_raise(rc, "%s", why);
}

/* Verdict and figures are printed, whatever cannot be written. */
static enum rc report(struct test *t, struct verb_call *call)
{
    char why[RC_MESSAGE_BYTES];
    enum rc rc;

    TRY(judge(&t->result, t->terms.criteria));
    TRY(acceptance_print(&t->result, stdout));
    const enum rc written = write_ended(t);
    snprintf(why, sizeof why, "%s", rc_message());
    TRY(acceptance_print_figures(&t->result, stdout));
    TRY(output_flush(stdout));
    if (written != RC_OK)
        FAIL(written, "%s", why);
    if (call->output.json)
        TRY(verb_copy_records(t->start.folder));
    call->exit_code = exit_code_of(&t->result);
out:
    return rc;
}

static enum rc run_test(struct test *t, struct verb_call *call)
{
    const struct world_opts world = accept_world_opts(t->machine, t->opts);
    enum rc rc, ran;

    ran = same_options_run(call, t->machine->world, &world, t->machine->n_ranks, body, t);
    if (t->has_progress)
        progress_fini(&t->progress, wait_clock_ns());
    TRY(accept_start_check(&t->start, ran, call));
    if (!t->has_result || t->result.n_nodes == 0)
        return ran;
    TRY(report(t, call));
    rc = ran; /* reported, and the error of the run beside it */
out:
    return rc;
}

/* As many hosts as the description has, eight where it has any number. */
static int sim_ranks(const struct cluster *c)
{
    enum { MOST = 4096, ANY = 8 };
    const int n_hosts = c->n_hosts > 0 ? c->n_hosts : ANY;

    return n_hosts * c->n_ranks_per_host < MOST ? n_hosts * c->n_ranks_per_host : MOST;
}

/* The stage that shows a fault. */
static enum accept_stage stage_of(const struct fault *f, const struct criteria *c)
{
    if (f->kind == FAULT_FLIP)
        return ACCEPT_INTEGRITY;
    if (f->kind == FAULT_SLOW_RANK)
        return c->runs[ACCEPT_TRAINING] ? ACCEPT_TRAINING : ACCEPT_COMPUTE;
    if (f->kind == FAULT_STALL || f->kind == FAULT_KILL)
        return f->stage;
    return ACCEPT_PAIRWISE;
}

/* A fault that nothing would come of is refused. */
static enum rc check_faults(const struct inject *inject, const struct criteria *c)
{
    char text[64];

    for (int i = 0; i < inject->n_faults; i++) {
        const struct fault *f = &inject->fault[i];
        const enum accept_stage stage = stage_of(f, c);
        inject_text(text, sizeof text, f);
        if (!c->runs[stage])
            return rc_raise(RC_INVAL, "--inject %s: shows in stage %s, which is left out", text,
                            accept_stage_name(stage));
        if (f->kind == FAULT_FLIP && (double)f->step >= c->integrity_steps_count)
            return rc_raise(RC_INVAL, "--inject %s: integrity_steps_count is %g; use an earlier step", text,
                            c->integrity_steps_count);
    }
    return RC_OK;
}

static enum rc accept_run(struct verb_call *call)
{
    const struct accept_opts *o = call->opts;
    struct criteria criteria;
    struct inject inject;
    struct machine machine;
    struct test t = { .call = call, .opts = o, .machine = &machine };
    enum rc rc;

    call->failure_exit_code = COULD_NOT_TEST;
    TRY(load_criteria(&criteria, call));
    if (o->init[0])
        return write_criteria(&criteria, o);
    if (o->reference[0] || o->declared[0])
        FAIL(RC_INVAL, "--%s: says where --init has limits from; without --init it has no meaning",
             o->reference[0] ? "reference" : "declared");
    if (o->self_test > 0 && o->inject[0])
        FAIL(RC_INVAL, "--inject: the self-test draws its faults; leave it out");
    if (o->self_test > 0 && o->metrics[0])
        FAIL(RC_INVAL, "--metrics: are of one test, and the self-test makes several; leave it out");
    TRY(inject_parse(&inject, o->inject));
    TRY(check_faults(&inject, &criteria));
    inject.noise_ratio = o->noise_ratio;
    inject.seed = o->seed;
    TRY(machine_prepare(&machine, &o->machine, sim_ranks));
    if (machine.is_root)
        TRY(file_of_option(file_check_writable(o->metrics), "metrics"));
    t.terms = (struct accept_terms){ .criteria = &criteria,
                                     .inject = &inject,
                                     .transport = machine.transport,
                                     .backend = machine.compute,
                                     .cluster = &machine.cluster,
                                     .stall_abort_s = o->stall_abort_s,
                                     .wait = o->machine.wait,
                                     .node_per_rank = o->node_per_rank,
                                     .seed = o->seed,
                                     .progress = show_progress,
                                     .keep = keep_so_far,
                                     .soaked = o->metrics[0] ? tell_soak : NULL,
                                     .arg = &t };
    call->stage = STAGE_RUN;
    stop_catch_first();
    TRY(o->self_test > 0 ? accept_self_test(call, &t.terms, &machine) : run_test(&t, call));
out:
    acceptance_close(&t.result);
    return rc;
}

static const struct verb_example examples[] = {
    { "accept --world sim --cluster ethernet-1g --out healthy", "Test a simulated cluster" },
    { "accept --world sim --cluster ethernet-1g --inject rank:5=0.7", "Find a slow rank" },
    { "accept --init mine.yaml --declared ethernet-1g", "Write criteria, with limits from a description" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "test", "out stages criteria-set metrics" },
    { "criteria", "init declared reference force" },
    { "ranks", "workers threads interface compute node-per-rank" },
    { "simulation", "world cluster cluster-set" },
    { "faults", "inject noise-ratio self-test seed" },
    { NULL, NULL },
};

const struct verb verb_accept = {
    .name = "accept",
    .summary = "test a cluster, and name slow nodes, ranks and links",
    .operands = "[CRITERIA.yaml]",
    .usage = "[CRITERIA.yaml] [--option value ...]\n"
             "mpirun -np N gradmark accept [CRITERIA.yaml] [--option value ...]\n"
             "--init FILE.yaml [--declared NAME | --reference FOLDER]",
    .introduction = "Measures each rank, each pair of nodes, collectives, push and pull, and training. Each part is "
                    "judged against the rest of the cluster, and against the limits in CRITERIA.yaml.\n\n"
                    "Exit status: 0: pass. 1: fail, and line 1 names the slow node, rank or link. 2: no data, which is "
                    "no pass.",
    .example = examples,
    .basics = basics,
    .page = "accept",
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct accept_opts),
    .group = groups,
    .rule = machine_opt_rules,
    .run = accept_run,
};
