/* SPDX-License-Identifier: Apache-2.0 */
/* compare_verb.c - gradmark compare: every mode at every worker count, then table, verdict and charts. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/hold.h"
#include "harness/base/opt.h"
#include "harness/base/rule.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/begun.h"
#include "harness/campaign/last_words.h"
#include "harness/campaign/page.h"
#include "harness/campaign/sim_cost.h"
#include "harness/verbs/continued.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/host_load.h"
#include "harness/world/wait.h"

struct compare_opts {
    const char *model, *mode, *workers, *results, *name, *cost, *tune_lr, *continued, *over, *layout;
    uint64_t launches, order_seed;
    double budget_s;
    bool charts, page, baseline, continue_anyway, dry_run;
    struct train_opts train; /* options of every launch; those of a single run are not used */
};

enum { MOST_FAILURES = 3 }; /* of a setting or a rate, whose run is repeated until then */

static const struct opt compare_table[] = {
    OPT_MODULES_(struct compare_opts, model, "model", workload_kind,
                 "networks (default: two). The two are linear and lenet"),
    OPT_MODULES_(struct compare_opts, mode, "mode", mode_kind,
                 "modes. Efficiency is measured by single with one worker"),
    OPT_LIST_(struct compare_opts, workers, "workers", "", NULL, 1, 65536,
              "numbers of workers (default: 1, 2, 4 up to 2 x cores). The default ends with the number of cores and "
              "twice that number. In world sim it is 1,2,4,8"),
    OPT_TEXT_(struct compare_opts, layout, "layout", "", "WxSxK,...",
              "compare parallel layouts, not numbers of workers. W workers have S pipeline stages each. Dense layers "
              "are cut over K workers. All layouts have the same --global-batch"),
    OPT_TEXT_(struct compare_opts, over, "over", "", "OPTION=VALUE,...",
              "train everything with each value of another option. An example is input=direct,feed,synthetic"),
    OPT_BOOL_(struct compare_opts, baseline, "baseline", "true",
              "add single with one worker if it is missing. Efficiency is measured by it"),
    OPT_U64_(struct compare_opts, launches, "launches", "10", 1, MAX_LAUNCHES, "",
             "runs of each setting. In world sim it is always 1, as all runs are equal there"),
    OPT_F64_(struct compare_opts, budget_s, "budget-s", "95", 1, 1e6, "s",
             "time after which no new round starts. At least 2 rounds are made. Slow networks get fewer steps"),
    OPT_TEXT_(struct compare_opts, tune_lr, "tune-lr", "", "LIST",
              "learning rates to choose from for each setting, or auto. Trials before the comparison find the best "
              "one. Auto tries 1/4, 1/2, 1, 2 and 4 times --lr, or the model's rate"),
    OPT_U64_(struct compare_opts, order_seed, "order-seed", "1", 0, UINT32_MAX, "",
             "seed of the order of runs in a round. With 0 the order is that of the table"),
    OPT_FILE_(struct compare_opts, results, "results", OPT_FOLDER, "results", "DIR",
              "folder for the folders of results"),
    OPT_TEXT_(struct compare_opts, name, "name", "compare", "NAME", "name of the new folder. It is DIR/<date>-NAME"),
    OPT_BOOL_(struct compare_opts, page, "page", "false",
              "also write an HTML page of the results. It is the page of gradmark report"),
    OPT_BOOL_(struct compare_opts, charts, "charts", "true", "draw charts"),
    OPT_FILE_(struct compare_opts, cost, "cost", OPT_WRITTEN, "", "FILE",
              "write what the simulations themselves cost, as JSON. The file has their messages and their real "
              "seconds. Only in world sim"),
    OPT_FILE_(
        struct compare_opts, continued, "continue", OPT_FOLDER, "", "FOLDER",
        "continue an interrupted comparison. It makes the missing runs, with the options of the comparison in FOLDER"),
    OPT_BOOL_(struct compare_opts, continue_anyway, "continue-anyway", "false",
              "continue although program or machine changed. The results say so"),
    OPT_BOOL_(struct compare_opts, dry_run, "dry-run", "false", "print what would run, and write nothing"),
    OPT_END_,
};

static const struct opt_topic compare_topics[] = {
    { "networks, modes and workers", "model" },
    { "runs and their order", "launches" },
    { "files", "results" },
    { "interrupted comparisons", "continue" },
    { NULL, NULL },
};

static const struct verb_group groups[] = {
    { "comparison", compare_table, 0, compare_topics },
    { "every training of it", train_opt_table, offsetof(struct compare_opts, train), train_opt_topics },
    { NULL, NULL, 0, NULL },
};

/* Each process has measured its steps; rank 0's count. */
static enum rc agree_on_steps(struct campaign *c, struct world *w)
{
    uint64_t *all = calloc((size_t)w->n_ranks, sizeof *all);
    enum rc rc = RC_OK;

    if (!all)
        return rc_raise(RC_NOMEM, "no memory for %d ranks", w->n_ranks);
    for (size_t i = 0; i < c->n_points; i++) {
        TRY(world_allgather(w, &c->point[i].n_steps, all, sizeof *all));
        c->point[i].n_steps = all[0];
    }
out:
    free(all);
    return rc;
}

static enum rc launched_body(struct world *w, void *arg)
{
    struct sweep *s = arg;
    enum rc rc;

    TRY(sweep_check_hosts(s, w));
    TRY(agree_on_steps(&s->campaign, w));
    TRY(sweep_agree_on_wait(s, w));
    TRY(sweep_tune(s, w));
    TRY(sweep_launch_all(s, w));
out:
    return rc;
}

/* --- what does not go together --- */

enum fact { WORKERS, STAGES, SHARDS, BATCH, OVER_THOSE, RATE_BESIDE_LIST, N_FACTS };

static const char *const fact_words[N_FACTS] = {
    [WORKERS] = "--workers",
    [STAGES] = "--stages",
    [SHARDS] = "--shard-dense",
    [BATCH] = "--batch",
    [OVER_THOSE] = "--over with one of those",
    [RATE_BESIDE_LIST] = "--lr, unless it is auto",
};

/* What layouts say, or what would make them do unequal work, beside them. */
static const struct rule rows[] = {
    { "layout", "*", WORKERS, "a layout says how many workers it has; leave out --workers" },
    { "layout", "*", STAGES, "a layout says how many stages it has; leave out --stages" },
    { "layout", "*", SHARDS, "a layout says how many shards it has; leave out --shard-dense" },
    { "layout", "*", BATCH, "layouts are compared at equal work; use --global-batch, not --batch" },
    { "layout", "*", OVER_THOSE, "layouts say that, or have equal work; leave out --over" },
    { "tune-lr", "*", RATE_BESIDE_LIST,
      "says which rates are tried; leave out --lr, or use auto, which tries some around it" },
};

static const struct rules compare_rules = { .table = (const struct opt *const[]){ compare_table, NULL },
                                            .row = rows,
                                            .n_rows = sizeof rows / sizeof *rows,
                                            .fact_words = fact_words };

static bool sweeps(const char *over, const char *option)
{
    const size_t n = strlen(option);

    return strncmp(over, option, n) == 0 && over[n] == '=';
}

static enum rc check_use(const struct verb_call *call)
{
    const struct compare_opts *o = call->opts;
    const bool holds[N_FACTS] = { [WORKERS] = verb_given(call, "workers"),
                                  [STAGES] = verb_given(call, "stages"),
                                  [SHARDS] = verb_given(call, "shard-dense"),
                                  [BATCH] = verb_given(call, "batch"),
                                  [OVER_THOSE] = sweeps(o->over, "stages") || sweeps(o->over, "shard-dense") ||
                                                 sweeps(o->over, "batch"),
                                  [RATE_BESIDE_LIST] = verb_given(call, "lr") && strcmp(o->tune_lr, "auto") != 0 };

    return rules_check(&compare_rules, holds, call->group, call->n_groups, NULL);
}

static enum rc check_options(const struct verb_call *call)
{
    const struct compare_opts *o = call->opts;
    char name[160];

    if (verb_given(call, "continue") || o->continue_anyway)
        return continued_check(call, o->continued, o->continue_anyway);
    if (o->name[0] == '\0')
        return rc_raise(RC_INVAL, "--name: is empty; a campaign needs a name");
    if (text_has_control(name, sizeof name, o->name))
        return rc_raise(RC_INVAL, "--name %s: has a control character, shown as ?; give another name", name);
    if (strchr(o->name, '/'))
        return rc_raise(RC_INVAL, "--name %s: is part of a folder's name and cannot hold a /; --results is the folder",
                        o->name);
    return check_use(call);
}

/* As resolved: the world that was chosen, the model that plays the profile, one launch in simulated time. */
static struct record *manifest_options(const struct compare_opts *given, const struct sweep *s)
{
    struct record *r = record_open("options");
    struct compare_opts o = *given;

    o.model = s->axis[0].values;
    o.mode = s->axis[1].values;
    o.layout = strcmp(s->axis[2].option, LAYOUT_AXIS) == 0 ? s->axis[2].values : "";
    o.launches = s->campaign.n_launches_wanted;
    record_options(r, compare_table, &o);
    record_options(r, train_opt_table, &s->train);
    return r;
}

/* The folder of a new campaign, or of `begun`; rank 0. */
static enum rc open_files(struct sweep *s, const struct compare_opts *o, struct begun *begun, bool anyway)
{
    struct record *options = NULL;
    enum rc rc;

    if (begun) {
        TRY(begun_check(begun, anyway));
        TRY(begun_check_inputs(begun, s, anyway));
        TRY(sweep_reopen_files(s, begun));
    } else
        TRY(sweep_open_files(s, o->results, o->name));
    options = manifest_options(o, s);
    TRY(sweep_write_manifest(s, &options, false));
out:
    record_close(&options);
    return rc;
}

/* Model and mode, and layouts or worker counts; stages and shards that all points have. */
static enum rc choose_axes(struct sweep *s, const struct verb_call *call)
{
    const struct compare_opts *o = call->opts;
    const bool plays = verb_given(call, "profile") && !verb_given(call, "model");
    const char *layouts = o->layout;
    enum rc rc = RC_OK;

    s->axis[0] = (struct axis){ "model", plays ? workload_profile_player()->module.name : o->model };
    s->axis[1] = (struct axis){ "mode", o->mode };
    s->axis[2] = (struct axis){ "workers", o->workers };
    s->n_axes = 3;
    if (verb_given(call, LAYOUT_AXIS) && o->layout[0] == '\0')
        FAIL(RC_INVAL, "--%s: is empty; use 2x1x1,1x2x1", LAYOUT_AXIS);
    if (layouts[0]) {
        s->axis[2] = (struct axis){ LAYOUT_AXIS, layouts };
        if (!verb_given(call, "mode"))
            s->axis[1].values = plan_layout_mode();
        return RC_OK;
    }
    if (o->train.stages > 1)
        s->axis[s->n_axes++] = (struct axis){ "stages", s->stages };
    if (o->train.shard_dense > 1)
        s->axis[s->n_axes++] = (struct axis){ "shard-dense", s->shards };
out:
    return rc;
}

/* Records name the transport and the world that a run used: with `auto` two values may be the same run. RC_INVAL. */
static enum rc check_over_names(const char *over, const char *option, const char *values)
{
    char value[64];

    if (strcmp(option, "transport") != 0 && strcmp(option, "world") != 0)
        return RC_OK;
    for (const char *rest = values; text_next(&rest, value, sizeof value);)
        if (strcmp(value, "auto") == 0)
            return rc_raise(RC_INVAL, "--over %s: auto is one of the others; name each %s instead, as %s", over, option,
                            option[0] == 't' ? "transport=inproc,zmq" : "world=threads,tcp");
    return RC_OK;
}

/* --over OPTION=VALUE,... as another axis. */
static enum rc add_axis(struct sweep *s, const struct verb_call *call, const char *over)
{
    const char *values = strchr(over, '=');
    const size_t n = values ? (size_t)(values - over) : 0;

    if (over[0] == '\0')
        return RC_OK;
    if (n == 0 || values[1] == '\0')
        return rc_raise(RC_INVAL, "--over %s: is not OPTION=VALUE,VALUE,...; use input=direct,feed", over);
    if (sweeps(over, LAYOUT_AXIS))
        return rc_raise(RC_INVAL, "--over %s: layouts have an option of their own; use --%s", over, over);
    for (const struct opt *o = train_opt_table; o->type != OPT_END; o++)
        if (strlen(o->name) == n && memcmp(o->name, over, n) == 0) {
            if (verb_given(call, o->name))
                return rc_raise(RC_INVAL, "--over %s: --%s is given; leave out one of the two", over, o->name);
            s->axis[s->n_axes++] = (struct axis){ o->name, values + 1 };
            return check_over_names(over, o->name, values + 1);
        }
    return rc_raise(RC_INVAL, "--over %s: no training has an option %.*s that can be varied so", over, (int)n, over);
}

/* begun NULL: a new one. */
static enum rc open_sweep(struct sweep *s, const struct verb_call *call, struct begun *begun, bool anyway)
{
    const struct compare_opts *o = call->opts;
    enum rc rc;

    *s = (struct sweep){
        .adds_baseline = o->baseline,
        .train = o->train,
        .given = call->group,
        .n_given = call->n_groups,
        .tune_lr = o->tune_lr,
        .budget_s = o->budget_s,
        .order_seed = o->order_seed,
        .max_failures = MOST_FAILURES,
        .goes_on_anyway = anyway,
        .cost_file = o->cost,
        .launcher = world_launcher(),
        .campaign.n_launches_wanted = o->launches,
    };
    snprintf(s->stages, sizeof s->stages, "%llu", (unsigned long long)o->train.stages);
    snprintf(s->shards, sizeof s->shards, "%llu", (unsigned long long)o->train.shard_dense);
    TRY(choose_axes(s, call));
    TRY(add_axis(s, call, o->over));
    TRY(sweep_choose_world(s));
    TRY(child_self_path(s->self_path, sizeof s->self_path));
    TRY(sim_cost_check(o->cost, s->train.world, s->campaign.is_virtual));
    TRY(sweep_plan(s));
    campaign_set_data(&s->campaign, s->train.data);
    TRY(sweep_check(s));
    if (begun)
        TRY(begun_apply(begun, s));
    else
        TRY(sweep_choose_steps(s));
    TRY(sweep_plan_tuning(s));
    if (s->launcher.rank == 0 && !o->dry_run)
        TRY(open_files(s, o, begun, anyway));
    if (s->launcher.rank == 0 && o->dry_run)
        TRY(sweep_check_files(s, o->results, o->name));
out:
    return rc;
}

/* Looks at the machine for a fifth of a second. Under mpirun the other ranks are starting: they are no others. */
static void warn_if_busy(struct sweep *s)
{
    struct host_load before, after;

    if (s->campaign.is_virtual || s->launcher.n_ranks > 1)
        return;
    host_load_watch(&before, &after, HOST_LOAD_WINDOW_NS, hold_root());
    sweep_warn_if_busy(s, &before, &after, stderr);
}

/* Rank 0, before the first launch. */
static void announce(struct sweep *s, bool is_new)
{
    const uint64_t spent_ns = (uint64_t)(1e9 * s->spent_before_s);
    char command[CONTINUE_BYTES];

    sweep_continue_command(command, sizeof command, s);
    snprintf(s->farewell, sizeof s->farewell, "gradmark compare: finished runs are kept; to continue: %s\n", command);
    if (is_new) {
        sweep_announce(s, stderr);
        terminal_note(stderr, "gradmark compare: finished runs are kept; to continue an interrupted comparison: %s",
                      command);
    }
    warn_if_busy(s);
    progress_init(&s->progress, stderr, s->tuning.n_trials + s->campaign.n_points * s->campaign.n_launches_wanted,
                  s->started_ns - spent_ns);
}

static enum rc launch_all(struct sweep *s, struct verb_call *call)
{
    const struct world_opts world = { .bind_cores = true,
                                      .n_threads = sweep_n_threads(s),
                                      .interface = s->train.interface,
                                      .has_tasks = s->may_use_tasks,
                                      .tasks_are_optional = !s->needs_tasks };
    enum rc rc;

    if (s->world->module.caps & WORLD_LAUNCHED) {
        if (s->launcher.rank == 0)
            last_words_set(s->farewell);
        return train_explain_refusal(&world,
                                     same_options_run(call, s->world, &world, s->launcher.n_ranks, launched_body, s));
    }
    TRY(sweep_tune(s, NULL));
    TRY(sweep_launch_all(s, NULL));
out:
    return rc;
}

/* Of what was kept, however the campaign ended; that goes first. */
static enum rc add_page(const struct campaign *c, enum rc ended)
{
    char why[RC_MESSAGE_BYTES];

    snprintf(why, sizeof why, "%s", rc_message());
    const enum rc rc = c->n_launches_done > 0 ? page_of(c->dir, stdout) : RC_OK;
    return ended != RC_OK ? rc_raise(ended, "%s", why) : rc;
}

/* --dry-run */
static void print_plan(const struct sweep *s, FILE *to)
{
    const struct campaign *c = &s->campaign;
    const bool is_limited = !c->is_virtual && c->n_launches_wanted > LEAST_TURNS;
    char name[LAUNCH_NAME_BYTES];

    terminal_note(to, "gradmark compare would run %zu settings, %s%zu run%s each:", c->n_points,
                  is_limited ? "up to " : "", c->n_launches_wanted, c->n_launches_wanted == 1 ? "" : "s");
    for (size_t i = 0; i < c->n_points; i++) {
        point_name(name, sizeof name, &c->point[i]);
        terminal_note(to, "  %s, %llu steps", name, (unsigned long long)c->point[i].n_steps);
    }
    if (s->tuning.n_trials > 0)
        terminal_note(to, "Before them, --tune-lr needs %zu runs, in addition to --budget-s.", s->tuning.n_trials);
    if (is_limited)
        terminal_note(to, "No round begins after --budget-s, %g s; only the first %d rounds always run.", s->budget_s,
                      (int)LEAST_TURNS);
    else
        terminal_note(to, "The time depends on this machine: it is not known before a run has ended.");
}

static enum rc run_campaign(struct verb_call *call, struct begun *begun, bool anyway)
{
    const struct compare_opts *o = call->opts;
    struct sweep s = { 0 };
    struct record *options = NULL;
    enum rc rc;

    TRY(open_sweep(&s, call, begun, anyway));
    if (o->dry_run) {
        if (s.launcher.rank == 0)
            print_plan(&s, stdout);
        goto out;
    }
    call->stage = STAGE_RUN;
    s.started_ns = wait_clock_ns();
    if (s.launcher.rank == 0)
        announce(&s, !begun);
    const enum rc launched = launch_all(&s, call);
    if (s.launcher.rank == 0) {
        progress_fini(&s.progress, wait_clock_ns());
        options = manifest_options(o, &s);
        rc = sweep_finish(&s, launched, &options, o->charts, stdout);
        if (o->page)
            TRY(add_page(&s.campaign, rc));
        if (call->output.json && rc == RC_OK)
            TRY(verb_copy_records(s.campaign.dir));
    } else
        TRY(launched);
out:
    last_words_set(NULL);
    record_close(&options);
    sweep_tuning_free(&s);
    digests_free(&s.inputs);
    campaign_close(&s.campaign);
    return rc;
}

static enum rc continue_campaign(struct verb_call *call)
{
    const struct compare_opts *o = call->opts;
    const struct launcher launcher = world_launcher();
    struct verb_call again = { .stage = STAGE_INPUT };
    struct begun begun = { 0 };
    enum rc rc;

    call->every_rank_tells = true; /* the folder may be missing on one host alone */
    TRY(continued_check_kind(&verb_compare, o->continued));
    TRY(begun_open(&begun, o->continued, &launcher));
    TRY(verb_call_open(&again, &verb_compare, begun.n_words, begun.word));
    call->every_rank_tells = false;
    again.output = call->output;
    rc = run_campaign(&again, &begun, o->continue_anyway);
    call->stage = again.stage; /* the exit code of a failure depends on nothing else */
out:
    verb_call_close(&again);
    begun_close(&begun);
    return rc;
}

static enum rc compare_run(struct verb_call *call)
{
    return verb_given(call, "continue") ? continue_campaign(call) : run_campaign(call, NULL, false);
}

static const struct verb_hint hints[] = {
    { "out", "the records of all launches go to the folder of the campaign: --results DIR, --name NAME" },
    { "save", "gradmark train --save is of one run" },
    { "resume", "gradmark train --resume is of one run" },
    { "timeline", "gradmark train --timeline is of one run" },
    { "messages", "gradmark train --messages is of one run" },
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

static const struct verb_example examples[] = {
    { "compare --model lenet --workers 1,2 --launches 5 --budget-s 20", "Compare all modes with one and two workers" },
    { "compare --mode single,ps,allreduce --workers 2 --name first --page", "Compare three modes, and write a page" },
    { "compare --world sim --cluster piz-daint --workers 16 --budget-s 20",
      "Compare all modes on a simulated cluster" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "what is compared", "model mode workers layout over" },
    { "every training", "batch global-batch steps lr target-loss consistency servers" },
    { "runs", "launches budget-s tune-lr seed" },
    { "where it runs", "world cluster interface threads" },
    { "results", "results name page continue dry-run" },
    { NULL, NULL },
};

const struct verb verb_compare = {
    .name = "compare",
    .summary = "train in several modes and say which is faster",
    .introduction = "Trains each network (linear and lenet without --model) in each mode with each number of workers, "
                    "in several rounds. Prints which mode "
                    "is faster, with 95 % intervals, and writes records and charts to a folder.\n\n"
                    "The exit status is 0 also if the answer is \"Cannot tell\". It is 1 if a setting was given up.",
    .example = examples,
    .basics = basics,
    .page = "compare",
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct compare_opts),
    .group = groups,
    .kinds = train_kinds,
    .modules_offset_bytes = offsetof(struct compare_opts, train) + offsetof(struct train_opts, modules),
    .rule = train_opt_rules,
    .not_with = &compare_rules,
    .hint = hints,
    .check = check_options,
    .run = compare_run,
};
