/* SPDX-License-Identifier: Apache-2.0 */
/* predict_verb.c - gradmark predict: steps of more workers than were measured, and how wrong that may be. */
#include <stdio.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/campaign/predict.h"
#include "harness/verbs/simulating.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"

enum { PATH_BYTES = 1024 };

struct predict_opts {
    const char *from, *to, *cluster, *profile, *out, *records;
    uint64_t jobs;
};

static const struct opt table[] = {
    OPT_FILE_(struct predict_opts, from, "from", OPT_READ, "", "PATH,...",
              "measured runs with two or more numbers of workers. A folder of gradmark compare, files of gradmark "
              "train --out, or a folder with such files (*.jsonl)"),
    OPT_LIST_(struct predict_opts, to, "to", "", NULL, 1, 8192, "numbers of workers to predict"),
    OPT_FILE_(struct predict_opts, cluster, "cluster", OPT_READ, "", "FILE",
              "cluster of the runs, as gradmark calibrate measured it. It needs two hosts or more, and the transport "
              "of the runs"),
    OPT_FILE_(struct predict_opts, profile, "profile", OPT_READ, "", "FILE",
              "profile of model replay (default: the one that the runs name). It is looked for beside the runs, and in "
              "this folder"),
    OPT_U64_(struct predict_opts, jobs, "jobs", "", 1, 1024, "",
             "simulations at a time (default: the cores of this process)"),
    OPT_FILE_(struct predict_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "new or empty folder for table, records and a page. Without it only the table is printed"),
    OPT_FILE_(struct predict_opts, records, "records", OPT_WRITTEN, "", "FILE", "file for the records"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "prediction", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static enum rc check_use(const struct verb_call *call)
{
    const struct predict_opts *o = call->opts;

    if (!o->from[0])
        return rc_raise(RC_INVAL,
                        "--from: is missing; name the folder of measured runs that gradmark compare left, or the "
                        "files that gradmark train --out wrote");
    if (!o->to[0])
        return rc_raise(RC_INVAL, "--to: is missing; use a number of workers, or several as in 16,64");
    if (!o->cluster[0])
        return rc_raise(RC_INVAL, "--cluster: is missing; name the file that gradmark calibrate wrote");
    return simulating_check(o->out, o->records);
}

static enum rc run(void *what, const struct simulations_env *env)
{
    return prediction_run(what, env);
}

static enum rc print(const void *what, FILE *to)
{
    return prediction_print(what, to);
}

static enum rc keep(const struct prediction *p, const char *folder)
{
    char path[PATH_BYTES];
    enum rc rc;

    snprintf(path, sizeof path, "%s/predictions.jsonl", folder);
    TRY(prediction_write(p, path));
    snprintf(path, sizeof path, "%s/table.txt", folder);
    TRY(simulating_print_into(print, p, path));
    snprintf(path, sizeof path, "%s/report.html", folder);
    TRY(prediction_page(p, path));
out:
    return rc;
}

/* The answer, and what else the options name; the folder, if there is one, is committed. */
static enum rc hand_out(struct verb_call *call, const struct prediction *p, struct atomic_folder *folder)
{
    const struct predict_opts *o = call->opts;
    enum rc rc;

    TRY(prediction_print_answer(p, stdout));
    if (!o->out[0])
        TRY(prediction_print_rest(p, stdout));
    if (o->records[0])
        TRY(prediction_write(p, o->records));
    if (call->output.json)
        TRY(prediction_write(p, "-"));
    if (!o->out[0])
        goto out;
    TRY(keep(p, folder->temporary_path));
    TRY(simulating_write_manifest(call, folder->temporary_path, "", NULL));
    TRY(atomic_folder_commit(folder));
    TRY(simulating_tell_folder(o->out));
out:
    return rc;
}

static enum rc predict_run(struct verb_call *call)
{
    const struct predict_opts *o = call->opts;
    const struct predict_terms terms = { .runs = o->from, .cluster = o->cluster, .profile = o->profile, .to = o->to };
    struct atomic_folder folder = { .path = NULL };
    struct prediction p = { .terms = NULL };
    enum rc rc;

    TRY(file_of_option(file_check_writable(o->records), "records"));
    TRY(prediction_open(&p, &terms));
    TRY(simulating_folder_open(&folder, o->out, "predict"));
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(simulating_run(&(struct simulating_run){
        .run = run, .what = &p, .folder = folder.temporary_path, .n_jobs = o->jobs, .n = p.n_simulations }));
    TRY(hand_out(call, &p, &folder));
out:
    prediction_close(&p);
    atomic_folder_discard(&folder);
    return rc;
}

static const struct verb_example examples[] = {
    { "predict --from results/measured --cluster my.yaml --to 16,64", "Runs of gradmark compare" },
    { "predict --from 2.jsonl,4.jsonl --cluster my.yaml --to 8", "Runs of gradmark train --out" },
    { NULL, NULL },
};

const struct verb verb_predict = {
    .name = "predict",
    .summary = "predict steps of more workers than were measured",
    .usage = "--from FOLDER --cluster FILE --to N,... [--option ...]",
    .introduction = "Predicts steps of more workers from measured runs. It simulates the measured numbers of workers, "
                    "and N. Then it corrects the simulation of N by the ratio of measured to simulated time.\n\n"
                    "As a check it predicts the largest measured number from the smaller ones, and prints that error.",
    .example = examples,
    .page = "predict",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct predict_opts),
    .group = groups,
    .check = check_use,
    .run = predict_run,
};
