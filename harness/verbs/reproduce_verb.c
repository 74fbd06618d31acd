/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_verb.c - gradmark reproduce: published efficiencies, predicted by simulation, and how wrong that is. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/base/share.h"
#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/campaign/reproduce_fit.h"
#include "harness/verbs/simulating.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"

#ifndef GRADMARK_PUBLISHED_HOROVOD
#error "GRADMARK_PUBLISHED_HOROVOD names the table of published efficiencies"
#endif

struct reproduce_opts {
    struct reproduce_terms terms; /* as far as they are options of their own */
    const char *out, *records, *continued, *fit, *fit_rows, *imitated;
    struct opt_joined cluster_set;
    uint64_t jobs;
    bool charts, continue_anyway, dry_run;
};

static const struct opt table[] = {
    OPT_BOOL_(struct reproduce_opts, terms.ignores_columns, "ignore-columns", "false",
              "pass over columns with unknown names. The answer lists them"),
    OPT_FILE_(struct reproduce_opts, terms.profiles, "profile", OPT_READ, "", "MODEL=FILE,...",
              "time of each layer on one GPU, for each model of the table. gradmark profile writes such files. A row "
              "with one_gpu_images_per_s has that rate instead"),
    OPT_FILE_(struct reproduce_opts, terms.cluster, "cluster", OPT_READ, "", "PRESET|FILE",
              "cluster of the rows that name none. A built-in name or a file. gradmark info --cluster shows a "
              "description"),
    OPT_JOINED_(struct reproduce_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of all clusters. It shows what the result depends on"),
    OPT_TEXT_(struct reproduce_opts, fit, "fit", "", "KEY,KEY",
              "fit one or two assumed values of the clusters, within their ranges, to the rows of --fit-rows"),
    OPT_TEXT_(struct reproduce_opts, fit_rows, "fit-rows", "", "gpus<=N",
              "rows for --fit, as gpus<=16 or model=vgg16. The errors of all other rows test the fit"),
    OPT_CHOICE_(struct reproduce_opts, imitated, "system", "none", "none|" SYSTEMS_ALL,
                "imitated system. For rows that name none, if they have its exchange. It sets buckets or placement, "
                "transport, and costs that the description of the cluster leaves out"),
    OPT_CHOICE_(struct reproduce_opts, terms.ps_transport, "ps-transport", "cluster", "cluster|grpc|rdma|tcp|bare",
                "transport of rows with servers that name none. With cluster, what its description says"),
    OPT_TEXT_(struct reproduce_opts, terms.placement, "placement", "split", "split|whole|round-robin|chunk:BYTES",
              "which parameters are on which server. The values are as for gradmark train"),
    OPT_TEXT_(struct reproduce_opts, terms.consistency, "consistency", "sync", "async|ssp:S|sync|sync:B",
              "how servers order gradients. For rows with mode ps or ps-sync"),
    OPT_CHOICE_(struct reproduce_opts, terms.overlap, "overlap", "on", "off|on", "exchange gradients while computing"),
    OPT_U64_(struct reproduce_opts, terms.bucket_bytes, "bucket-bytes", "64Mi", 4, 1099511627776.0, "bytes",
             "gradients that a ring exchanges together"),
    OPT_U64_(struct reproduce_opts, jobs, "jobs", "", 1, 1024, "",
             "simulations at a time (default: the cores of this process)"),
    OPT_FILE_(struct reproduce_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "new or empty folder for table, records, charts and a page. Without it only the table is printed"),
    OPT_FILE_(struct reproduce_opts, records, "records", OPT_WRITTEN, "", "FILE", "file for the records"),
    OPT_BOOL_(struct reproduce_opts, terms.has_bands, "bands", "true", "print how far each prediction may be off"),
    OPT_BOOL_(struct reproduce_opts, charts, "charts", "true",
              "also simulate 1, 2, 4 and more GPUs of each line, and draw charts. Needs --out"),
    OPT_FILE_(struct reproduce_opts, continued, "continue", OPT_FOLDER, "", "FOLDER",
              "continue a run that was stopped. It takes its options from FOLDER, which was its --out"),
    OPT_BOOL_(struct reproduce_opts, continue_anyway, "continue-anyway", "false",
              "continue although program or input files changed. The manifest says so"),
    OPT_BOOL_(struct reproduce_opts, dry_run, "dry-run", "false", "print what would run, and write nothing"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "reproduce", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static const char preset_name[] = "horovod-512";

static enum rc check_use(const struct verb_call *call)
{
    const struct reproduce_opts *o = call->opts;
    const char *const built_in[] = { preset_name, NULL }, *name = call->operand[0];

    if (name && strcmp(name, preset_name) != 0 && text_nearest(name, built_in) && access(name, F_OK) != 0)
        return rc_raise(RC_INVAL, "%.100s: no such file or table; the built-in table is %s", name, preset_name);
    if (call->operand[0] && strcmp(call->operand[0], preset_name) == 0 && o->terms.cluster[0])
        return rc_raise(RC_INVAL,
                        "--cluster %.100s: the rows of %s name their clusters; --cluster-set changes values of "
                        "these",
                        o->terms.cluster, preset_name);
    if (verb_given(call, "charts") && o->charts && !o->out[0])
        return rc_raise(RC_INVAL, "--charts: needs --out FOLDER, where they go");
    if (verb_given(call, "fit") != verb_given(call, "fit-rows"))
        return rc_raise(RC_INVAL, "--%s: needs --%s", verb_given(call, "fit") ? "fit" : "fit-rows",
                        verb_given(call, "fit") ? "fit-rows, as gpus<=16: the other rows test the fit"
                                                : "fit with one or two keys of a cluster");
    if (verb_given(call, "fit") && !o->fit[0])
        return rc_raise(RC_INVAL, "--fit: is empty; use one or two keys of a cluster, as tcp_rate_ratio");
    if (call->operand[0] && verb_given(call, "continue"))
        return rc_raise(RC_INVAL, "%.100s: --continue takes it from the folder; leave it out", call->operand[0]);
    const enum rc rc = continued_check(call, o->continued, o->continue_anyway);
    return rc == RC_OK ? simulating_check(o->out, o->records) : rc;
}

static enum rc run(void *what, const struct simulations_env *env)
{
    return reproduction_run(what, env);
}

static enum rc print(const void *what, FILE *to)
{
    return reproduction_print(what, to);
}

/* What the folder is for: table, records, charts. */
static enum rc keep(const struct reproduction *r, const struct reproduce_opts *o)
{
    char path[REPRODUCE_PATH_BYTES + 32];
    enum rc rc;

    snprintf(path, sizeof path, "%s/predictions.jsonl", r->folder);
    TRY(reproduction_write(r, path));
    snprintf(path, sizeof path, "%s/table.txt", r->folder);
    TRY(simulating_print_into(print, r, path));
    if (o->charts)
        TRY(reproduction_draw(r, stderr));
    snprintf(path, sizeof path, "%s/report.html", r->folder);
    TRY(reproduction_page(r, path));
out:
    return rc;
}

/* What is printed and written of finished predictions. */
static enum rc hand_out(struct verb_call *call, const struct continued *c, struct simulating *s,
                        const struct reproduction *r)
{
    const struct reproduce_opts *o = call->opts;
    enum rc rc;

    TRY(reproduction_print_answer(r, stdout));
    if (!o->out[0])
        TRY(reproduction_print_rest(r, stdout));
    if (o->records[0])
        TRY(reproduction_write(r, o->records));
    if (call->output.json)
        TRY(reproduction_write(r, "-"));
    if (o->out[0])
        TRY(keep(r, o));
    TRY(simulating_commit(s, call, &r->simulations));
    if (o->out[0])
        TRY(simulating_tell_folder(c->goes_on ? c->shown : o->out));
    TRY(simulations_check(r->simulations.simulation, r->simulations.n));
out:
    return rc;
}

/* A signal came: what is finished is kept, and the error stays (J7). */
static enum rc hand_out_finished(struct verb_call *call, struct simulating *s, const struct reproduction *r,
                                 enum rc stopped)
{
    const struct reproduce_opts *o = call->opts;
    char why[RC_MESSAGE_BYTES], path[REPRODUCE_PATH_BYTES + 32];
    enum rc rc;

    if (r->stop_signal == 0)
        return stopped;
    snprintf(why, sizeof why, "%s", rc_message());
    TRY(reproduction_print_answer(r, stdout));
    if (o->records[0])
        TRY(reproduction_write(r, o->records));
    if (call->output.json)
        TRY(reproduction_write(r, "-"));
    if (s->folder.stays) {
        snprintf(path, sizeof path, "%s/predictions.jsonl", r->folder);
        TRY(reproduction_write(r, path));
        snprintf(path, sizeof path, "%s/table.txt", r->folder);
        TRY(simulating_print_into(print, r, path));
        terminal_note(stderr, "gradmark reproduce: finished rows are in %s/table.txt and predictions.jsonl", r->folder);
    }
    rc = rc_raise(stopped, "%s", why);
out:
    return rc;
}

struct input { /* of one use of this subcommand; borrowed */
    const char *name, *path;
    struct reproduce_terms terms;
    struct fit_wish fit;
};

static void choose_input(struct input *out, char published[PATH_MAX], const struct verb_call *call)
{
    const struct reproduce_opts *o = call->opts;
    const bool is_preset = strcmp(call->operand[0], preset_name) == 0;

    share_path(published, PATH_MAX, "published/horovod.csv", GRADMARK_PUBLISHED_HOROVOD);
    *out = (struct input){ .name = call->operand[0],
                           .path = is_preset ? published : call->operand[0],
                           .terms = o->terms,
                           .fit = { .keys = o->fit, .rows = o->fit_rows } };
    out->terms.cluster_set = o->cluster_set.text;
    out->terms.has_ps_transport = verb_given(call, "ps-transport");
    out->terms.has_placement = verb_given(call, "placement");
    out->terms.has_bucket_bytes = verb_given(call, "bucket-bytes");
    out->terms.system = published_system_find(o->imitated);
    out->terms.has_charts = o->charts && o->out[0];
    out->terms.is_own_table = !is_preset;
}

/* Run the rows of the fit, and find its values; with --dry-run print what would run. A fit that is refused is a matter
 * of its options, and nothing of it is to be continued. */
static enum rc fit(struct reproduce_fit *out, struct verb_call *call, struct simulating *s, const struct input *in)
{
    const struct reproduce_opts *o = call->opts;
    enum rc rc;

    TRY(reproduce_fit_open(out, &in->fit, in->name, in->path, s->folder.temporary_path, &in->terms));
    if (o->dry_run) {
        reproduce_fit_pretend(out);
        return simulating_print_plan(call, &out->before.simulations, o->jobs, stdout);
    }
    TRY(simulating_run_kept(s, call, &out->before.simulations,
                            (struct simulating_run){ .run = run, .what = &out->before, .n_jobs = o->jobs }));
    rc = reproduce_fit_find(out);
    if (rc == RC_INVAL) {
        call->stage = STAGE_INPUT;
        s->folder.stays = false;
    }
out:
    return rc;
}

/* Open the predictions; with --fit, with the values of a fit. */
static enum rc open_predictions(struct reproduction *r, struct reproduce_fit *f, struct opt_joined *settings,
                                struct verb_call *call, struct simulating *s, struct input *in)
{
    char fitted[FIT_SETTING_BYTES];
    enum rc rc;

    if (in->fit.keys[0]) {
        TRY(fit(f, call, s, in));
        reproduce_fit_settings(fitted, f, &f->best);
        const int n = snprintf(settings->text, sizeof settings->text, "%s%s%s", in->terms.cluster_set,
                               in->terms.cluster_set[0] ? "," : "", fitted);
        if (n < 0 || (size_t)n >= sizeof settings->text)
            FAIL(RC_INVAL, "--cluster-set: is too long for --fit; write the values into a description");
        in->terms.cluster_set = settings->text;
        in->terms.fit = f;
    }
    TRY(reproduction_open(r, in->name, in->path, s->folder.temporary_path, &in->terms));
    if (in->terms.fit)
        TRY(reproduce_fit_plan(f, r));
out:
    return rc;
}

/* What makes a long run short, before it begins: no estimate is known yet. */
static void tell_bands(const struct reproduce_opts *o, size_t n_simulations, FILE *to)
{
    enum { MANY_SIMULATIONS = 200 };

    if (o->terms.has_bands && n_simulations > MANY_SIMULATIONS)
        terminal_note(to,
                      "%zu simulations, most of them for the range of each prediction. --no-bands leaves these out.",
                      n_simulations);
}

static enum rc reproduce_rows(struct verb_call *call, struct continued *c)
{
    const struct reproduce_opts *o = call->opts;
    struct simulating s = { .keeps = false };
    struct reproduction r = { .terms = NULL };
    struct reproduce_fit f = { .rows = NULL };
    struct opt_joined settings;
    struct input in;
    char published[PATH_MAX];
    enum rc rc;

    choose_input(&in, published, call);
    TRY(file_of_option(file_check_writable(o->records), "records"));
    TRY(simulating_open(&s, c, "reproduce", o->out, o->dry_run));
    TRY(open_predictions(&r, &f, &settings, call, &s, &in));
    if (o->dry_run) {
        TRY(simulating_print_plan(call, &r.simulations, o->jobs, stdout));
        tell_bands(o, r.simulations.n, stdout);
        goto out;
    }
    tell_bands(o, r.simulations.n, stderr);
    rc = simulating_run_kept(&s, call, &r.simulations,
                             (struct simulating_run){ .run = run, .what = &r, .n_jobs = o->jobs });
    TRY(rc == RC_OK ? hand_out(call, c, &s, &r) : hand_out_finished(call, &s, &r, rc));
out:
    reproduction_close(&r);
    reproduce_fit_close(&f);
    simulating_close(&s);
    return rc;
}

static enum rc reproduce_run(struct verb_call *call)
{
    const struct reproduce_opts *o = call->opts;
    const struct continued_terms terms = {
        .folder = o->continued, .anyway = o->continue_anyway, .proof = "manifest.json", .run = reproduce_rows
    };

    return continued_run(call, &terms);
}

static const char *operand_name(int i)
{
    return i == 0 ? preset_name : NULL;
}

static const struct verb_example examples[] = {
    { "reproduce horovod-512", "Print all rows of the built-in table (3 minutes)" },
    { "reproduce horovod-512 --no-bands", "Without the range of each prediction (10 s)" },
    { "reproduce horovod-512 --out charts", "Draw its charts, too, into the folder charts (20 minutes)" },
    { "reproduce my.csv --cluster my.yaml --profile vgg16=vgg16.json", "Your table, on your cluster" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "rows and cluster", "profile cluster cluster-set ignore-columns" },
    { "fitted values", "fit fit-rows" },
    { "exchange", "system overlap bucket-bytes placement" },
    { "output", "out records bands charts continue dry-run jobs" },
    { NULL, NULL },
};

const struct verb verb_reproduce = {
    .name = "reproduce",
    .summary = "predict published efficiencies, and print each error",
    .operands = "horovod-512|FILE.csv",
    .operand_name = operand_name,
    .usage = "horovod-512|FILE.csv [--option value ...]",
    .introduction = "Simulates each row of a published table, and prints how wrong the prediction is. horovod-512 is "
                    "built in: Horovod and TensorFlow on up to 512 GPUs. FILE.csv is your own table with the columns "
                    "model, gpus, mode, servers, and efficiency or images_per_s.\n\n"
                    "Five values of the built-in clusters were chosen to fit horovod-512, so its errors are small. "
                    "Charts take much longer than the table: --dry-run prints how many simulations.",
    .example = examples,
    .basics = basics,
    .page = "predict",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct reproduce_opts),
    .group = groups,
    .check = check_use,
    .run = reproduce_run,
};
