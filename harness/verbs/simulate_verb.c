/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_verb.c - gradmark simulate: what models would do on a described cluster, by every way to exchange. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/base/share.h"
#include "harness/campaign/layouts.h"
#include "harness/campaign/simulate.h"
#include "harness/verbs/simulating.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"

#if !defined GRADMARK_PUBLISHED_RATES || !defined GRADMARK_PUBLISHED_HOROVOD
#error "GRADMARK_PUBLISHED_RATES and GRADMARK_PUBLISHED_HOROVOD name the tables of published rates"
#endif

struct simulate_opts {
    struct simulate_terms terms; /* but for files of published rates, cluster_set and has_assumptions */
    const char *out, *records, *layout, *schedule, *continued;
    struct opt_joined cluster_set;
    uint64_t global_batch, accumulate, jobs;
    bool continue_anyway, dry_run;
};

static const struct opt table[] = {
    OPT_TEXT_(
        struct simulate_opts, terms.models, "models", "vgg16,resnet101,inception3", "MODEL,...",
        "models to simulate. Each needs the time of one GPU: from --profile, from --published, or a rate that was "
        "published for the cluster"),
    OPT_TEXT_(
        struct simulate_opts, terms.modes, "modes", "ring,ps-sync", "MODE,...",
        "modes: none, ring, ps-async, ps-ssp:S, ps-sync or ps-sync:B. Other collective algorithms can be named, too. "
        "allreduce is ring, and ps is ps-sync"),
    OPT_TEXT_(struct simulate_opts, terms.gpus, "gpus", "1,2,4,8,16", "N,...",
              "numbers of GPUs, ascending. Each GPU is one worker"),
    OPT_TEXT_(struct simulate_opts, terms.servers, "servers", "host", "N,...",
              "numbers of parameter servers, or host. With host there is one on each host of workers, but at most one "
              "for each tensor where tensors are not cut"),
    OPT_TEXT_(struct simulate_opts, terms.placements, "placements", "split,whole", "PLACEMENT,...",
              "which parameters are on which server. Values are split, whole, round-robin and chunk:BYTES, as for "
              "gradmark train"),
    OPT_FILE_(struct simulate_opts, terms.profiles, "profile", OPT_READ, "", "MODEL=FILE,...",
              "time of each layer on one GPU. gradmark profile writes such files"),
    OPT_TEXT_(struct simulate_opts, terms.published, "published", "", "GPU",
              "use a published rate of this GPU for models without a profile. gradmark profile --list prints the "
              "rates"),
    OPT_FILE_(struct simulate_opts, terms.cluster, "cluster", OPT_READ, "pascal-25g-roce", "PRESET|FILE",
              "cluster to simulate. A built-in name or a file. gradmark info --cluster shows a description"),
    OPT_JOINED_(struct simulate_opts, cluster_set, "cluster-set", "KEY=VALUE", "change one of its values"),
    OPT_CHOICE_(struct simulate_opts, terms.ps_transport, "ps-transport", "cluster", "cluster|grpc|rdma|tcp|bare",
                "what carries messages of parameter servers. With cluster, what its description says"),
    OPT_CHOICE_(struct simulate_opts, terms.overlap, "overlap", "on", "off|on", "exchange gradients while computing"),
    OPT_U64_(struct simulate_opts, terms.bucket_bytes, "bucket-bytes", "64Mi", 4, 1099511627776.0, "bytes",
             "gradients that a collective exchanges together"),
    OPT_BOOL_(
        struct simulate_opts, terms.has_what_if, "what-if", "true",
        "also simulate changes, systems and assumptions. The changes are a faster network, half the latency, more "
        "servers, half the bytes and no overlap. The systems are one host, a collective, and asynchronous and "
        "synchronous servers, each with a slow link, too. With --out it also simulates the effect of each "
        "assumed value"),
    OPT_TEXT_(struct simulate_opts, layout, "layout", "", "WxSxK,...",
              "compare parallel layouts instead: W x S x K GPUs, or best. A layout has W workers of S stages each, and "
              "K of the workers share the dense layers. Data parallelism is Wx1x1. All layouts have the same batch. "
              "With best, all layouts of --gpus GPUs are ranked, and the best few are simulated"),
    OPT_U64_(struct simulate_opts, global_batch, "global-batch", "", 1, 1e9, "",
             "samples of all workers in a step (default: the profile's batch for each GPU of the first layout). Only "
             "with --layout"),
    OPT_U64_(struct simulate_opts, accumulate, "accumulate", "", 1, 1048576, "",
             "parts of a worker's batch in a pipeline (default: 4 for each stage, or fewer). Only with --layout"),
    OPT_CHOICE_(struct simulate_opts, schedule, "schedule", "1f1b", "1f1b|gpipe",
                "order of the work in a pipeline. Only with --layout"),
    OPT_U64_(struct simulate_opts, terms.n_seeds, "seeds", "", 1, SIMULATE_MOST_SEEDS, "",
             "simulations of each setting (default: 5 if anything is random, else 1). Each draws other delays. Their "
             "range is the band of the efficiency"),
    OPT_U64_(struct simulate_opts, jobs, "jobs", "", 1, 1024, "",
             "simulations at a time (default: the cores of this process)"),
    OPT_FILE_(struct simulate_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "new or empty folder for table, records, charts and a page. Without it only the table is printed"),
    OPT_FILE_(struct simulate_opts, records, "records", OPT_WRITTEN, "", "FILE", "file for the records"),
    OPT_FILE_(struct simulate_opts, continued, "continue", OPT_FOLDER, "", "FOLDER",
              "continue a run that was stopped. It takes its options from FOLDER, which was its --out"),
    OPT_BOOL_(struct simulate_opts, continue_anyway, "continue-anyway", "false",
              "continue although program or input files changed. The manifest says so"),
    OPT_BOOL_(struct simulate_opts, dry_run, "dry-run", "false", "print what would run, and write nothing"),
    OPT_END_,
};

static const struct opt_topic topics[] = {
    { "models and modes", "models" },
    { "profiles", "profile" },
    { "network and servers", "cluster" },
    { "questions", "what-if" },
    { "layouts and pipelines", "layout" },
    { "number of simulations", "seeds" },
    { "files", "out" },
    { NULL, NULL },
};

static const struct verb_group groups[] = { { "simulate", table, 0, topics }, { NULL, NULL, 0, NULL } };

/* What only one of the two comparisons asks for. */
static enum rc check_layout(const struct verb_call *call)
{
    static const char *const of_layouts[] = { "global-batch", "accumulate", "schedule" };
    static const char *const of_ways[] = { "modes", "servers", "placements", "ps-transport", "seeds", "what-if" };
    const struct simulate_opts *o = call->opts;

    for (size_t i = 0; !o->layout[0] && i < sizeof of_layouts / sizeof *of_layouts; i++)
        if (verb_given(call, of_layouts[i]))
            return rc_raise(RC_INVAL, "--%s: has no meaning without --layout; leave it out, or add --layout",
                            of_layouts[i]);
    for (size_t i = 0; o->layout[0] && i < sizeof of_ways / sizeof *of_ways; i++)
        if (verb_given(call, of_ways[i]))
            return rc_raise(RC_INVAL, "--%s%s: has no meaning with --layout; leave it out",
                            strcmp(of_ways[i], "what-if") == 0 && !o->terms.has_what_if ? "no-" : "", of_ways[i]);
    if (o->layout[0] && strcmp(o->layout, "best") != 0 && verb_given(call, "gpus"))
        return rc_raise(RC_INVAL,
                        "--gpus %s: a layout says how many GPUs it has; --layout best looks among those of --gpus",
                        o->terms.gpus);
    return RC_OK;
}

static enum rc check_use(const struct verb_call *call)
{
    const struct simulate_opts *o = call->opts;
    enum rc rc;

    TRY(continued_check(call, o->continued, o->continue_anyway));
    TRY(check_layout(call));
    if (!o->terms.cluster[0])
        return rc_raise(RC_INVAL, "--cluster: is empty; use a preset or a file");
    TRY(simulating_check(o->out, o->records));
out:
    return rc;
}

static enum rc run(void *what, const struct simulations_env *env)
{
    return simulate_run(what, env);
}

static enum rc print(const void *what, FILE *to)
{
    return simulate_print(what, to);
}

/* What the folder is for. */
static enum rc keep(const struct simulate *s)
{
    char path[USED_PROFILE_PATH_BYTES + 32];
    enum rc rc;

    snprintf(path, sizeof path, "%s/predictions.jsonl", s->folder);
    TRY(simulate_write(s, path));
    snprintf(path, sizeof path, "%s/table.txt", s->folder);
    TRY(simulating_print_into(print, s, path));
    TRY(simulate_draw(s, stderr));
    snprintf(path, sizeof path, "%s/report.html", s->folder);
    TRY(simulate_page(s, path));
out:
    return rc;
}

static enum rc run_layouts(void *what, const struct simulations_env *env)
{
    return layouts_run(what, env);
}

static enum rc print_layouts(const void *what, FILE *to)
{
    return layouts_print(what, to);
}

static enum rc keep_layouts(const struct layouts *l, const char *folder)
{
    char path[USED_PROFILE_PATH_BYTES + 32];
    enum rc rc;

    snprintf(path, sizeof path, "%s/layouts.jsonl", folder);
    TRY(layouts_write(l, path));
    snprintf(path, sizeof path, "%s/table.txt", folder);
    TRY(simulating_print_into(print_layouts, l, path));
out:
    return rc;
}

/* --layout. simulate: what both comparisons take. */
static enum rc compare_layouts(struct verb_call *call, struct continued *c, const struct simulate_terms *simulate)
{
    const struct simulate_opts *o = call->opts;
    const struct layouts_terms terms = { .simulate = *simulate,
                                         .list = o->layout,
                                         .schedule = o->schedule,
                                         .global_batch = o->global_batch,
                                         .n_micro_batches = o->accumulate };
    struct simulating w = { .keeps = false };
    struct layouts l = { .terms = NULL };
    enum rc rc;

    TRY(file_of_option(file_check_writable(o->records), "records"));
    TRY(simulating_open(&w, c, "simulate", o->out, o->dry_run));
    TRY(layouts_open(&l, w.folder.temporary_path, &terms));
    if (o->dry_run) {
        TRY(simulating_print_plan(call, &l.base.simulations, o->jobs, stdout));
        goto out;
    }
    TRY(simulating_run_kept(&w, call, &l.base.simulations,
                            (struct simulating_run){ .run = run_layouts, .what = &l, .n_jobs = o->jobs }));
    TRY(layouts_print(&l, stdout));
    if (o->records[0])
        TRY(layouts_write(&l, o->records));
    if (call->output.json)
        TRY(layouts_write(&l, "-"));
    if (o->out[0])
        TRY(keep_layouts(&l, w.folder.temporary_path));
    TRY(simulating_commit(&w, call, &l.base.simulations));
    TRY(simulations_check(l.base.simulations.simulation, l.base.simulations.n));
out:
    layouts_close(&l);
    simulating_close(&w);
    return rc;
}

/* What is printed and written of finished predictions. */
static enum rc hand_out(struct verb_call *call, const struct continued *c, struct simulating *w, struct simulate *s)
{
    const struct simulate_opts *o = call->opts;
    enum rc rc;

    TRY(simulate_print_answer(s, stdout));
    if (!o->out[0])
        TRY(simulate_print_rest(s, stdout));
    if (o->records[0])
        TRY(simulate_write(s, o->records));
    if (call->output.json)
        TRY(simulate_write(s, "-"));
    if (o->out[0])
        TRY(keep(s));
    TRY(simulating_commit(w, call, &s->simulations));
    if (o->out[0])
        TRY(simulating_tell_folder(c->goes_on ? c->shown : o->out));
    TRY(simulations_check(s->simulations.simulation, s->simulations.n));
out:
    return rc;
}

static enum rc simulate_models(struct verb_call *call, struct continued *c)
{
    const struct simulate_opts *o = call->opts;
    char rates[PATH_MAX], rows[PATH_MAX];
    struct simulate_terms terms = o->terms;
    struct simulating w = { .keeps = false };
    struct simulate s = { .terms = NULL };
    enum rc rc;

    share_path(rates, sizeof rates, "published/single_gpu.csv", GRADMARK_PUBLISHED_RATES);
    share_path(rows, sizeof rows, "published/horovod.csv", GRADMARK_PUBLISHED_HOROVOD);
    terms.published_rates = rates;
    terms.published_rows = rows;
    terms.cluster_set = o->cluster_set.text;
    terms.has_assumptions = terms.has_what_if && o->out[0];
    if (o->layout[0])
        return compare_layouts(call, c, &terms);
    TRY(file_of_option(file_check_writable(o->records), "records"));
    TRY(simulating_open(&w, c, "simulate", o->out, o->dry_run));
    TRY(simulate_open(&s, w.folder.temporary_path, &terms));
    if (o->dry_run) {
        TRY(simulating_print_plan(call, &s.simulations, o->jobs, stdout));
        goto out;
    }
    TRY(simulating_run_kept(&w, call, &s.simulations,
                            (struct simulating_run){ .run = run, .what = &s, .n_jobs = o->jobs }));
    TRY(hand_out(call, c, &w, &s));
out:
    simulate_close(&s);
    simulating_close(&w);
    return rc;
}

static enum rc simulate_verb_run(struct verb_call *call)
{
    const struct simulate_opts *o = call->opts;
    const struct continued_terms terms = {
        .folder = o->continued, .anyway = o->continue_anyway, .proof = "manifest.json", .run = simulate_models
    };

    return continued_run(call, &terms);
}

static const struct verb_example examples[] = {
    { "simulate --models vgg16 --gpus 4,16", "One model on 4 and 16 GPUs of Horovod's cluster" },
    { "simulate --models resnet50 --published V100 --cluster h200-400g", "On another built-in cluster" },
    { "simulate --models vgg16 --layout best --gpus 8", "Find the best parallel layout of 8 GPUs" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "what is simulated", "models modes gpus servers placements" },
    { "time of one GPU", "profile published" },
    { "cluster and exchange", "cluster cluster-set overlap bucket-bytes" },
    { "further questions", "what-if" },
    { "parallel layouts", "layout global-batch" },
    { "effort", "seeds jobs" },
    { "output", "out records continue dry-run" },
    { NULL, NULL },
};

static const struct verb_hint hints[] = {
    { "batch", "each profile has its batch: gradmark profile --batch N makes one" },
    { "workers", "the numbers of workers are --gpus" },
    { "model", "the models are --models" },
    { "mode", "the modes are --modes" },
    { NULL, NULL },
};

const struct verb verb_simulate = {
    .name = "simulate",
    .summary = "predict how fast models train on a described cluster",
    .introduction =
        "Simulates each model on each number of GPUs, in each mode. gradmark's own collectives and servers "
        "run in virtual time.\n\n"
        "What one GPU does alone is an input: a profile, or a published rate. Everything else comes from "
        "the description of the cluster, whose assumed values are listed. With --out it also simulates the "
        "effect of each of them, which takes about three times as long. --no-what-if leaves all of that out.",
    .example = examples,
    .hint = hints,
    .basics = basics,
    .page = "predict",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct simulate_opts),
    .group = groups,
    .check = check_use,
    .run = simulate_verb_run,
};
