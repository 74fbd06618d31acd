/* SPDX-License-Identifier: Apache-2.0 */
/* predict_verb.c - gradmark predict: steps of more workers than were measured, and how wrong that may be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/campaign/predict.h"
#include "harness/report/progress.h"
#include "harness/verbs/verb.h"
#include "harness/world/child.h"
#include "harness/world/cores.h"
#include "harness/world/stop.h"
#include "harness/world/wait.h"

enum { PATH_BYTES = 1024 };

struct predict_opts {
    const char *from, *to, *cluster, *profile, *out, *json;
    uint64_t jobs;
};

static const struct opt table[] = {
    OPT_TEXT_(struct predict_opts, from, "from", "", "FOLDER|FILE,...",
              "measured runs at two numbers of workers and more: the folder that gradmark compare left, or files that "
              "gradmark train --out wrote, named, or all *.jsonl of a folder"),
    OPT_LIST_(struct predict_opts, to, "to", "", NULL, 1, 8192, "numbers of workers to predict"),
    OPT_TEXT_(struct predict_opts, cluster, "cluster", "", "FILE",
              "their cluster, as gradmark calibrate measured it on two hosts and more, by the transport of the runs"),
    OPT_TEXT_(struct predict_opts, profile, "profile", "", "FILE",
              "of model replay; without it: the file that the runs name"),
    OPT_TEXT_(struct predict_opts, out, "out", "", "FOLDER",
              "table, records and a page; new, or empty; without it: the table is printed"),
    OPT_TEXT_(struct predict_opts, json, "json", "", "FILE", "write the records there, too"),
    OPT_U64_(struct predict_opts, jobs, "jobs", "", 1, 1024, "processes",
             "simulations at a time; without it: the cores of this process"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "prediction", table, 0 }, { NULL, NULL, 0 } };

static enum rc check_use(const struct verb_call *call)
{
    const struct predict_opts *o = call->opts;

    if (!o->from[0])
        return rc_raise(RC_INVAL,
                        "--from: is missing; name the folder of measured runs that gradmark compare left, or the "
                        "files that gradmark train --out wrote");
    if (!o->to[0])
        return rc_raise(RC_INVAL, "--to: is missing; a number of workers, or several as in 16,64, would be right");
    if (!o->cluster[0])
        return rc_raise(RC_INVAL, "--cluster: is missing; name the file that gradmark calibrate wrote");
    if (strcmp(o->json, "-") == 0 || strcmp(o->out, "-") == 0)
        return rc_raise(RC_INVAL, "--%s -: name a %s; the table goes to standard output",
                        strcmp(o->json, "-") == 0 ? "json" : "out", strcmp(o->json, "-") == 0 ? "file" : "folder");
    return RC_OK;
}

static enum rc simulate(struct prediction *p, const struct predict_opts *o, const char *folder)
{
    char self_path[512];
    struct progress progress;
    const struct simulations_env env = { .self_path = self_path,
                                         .folder = folder,
                                         .n_jobs = o->jobs > 0 ? (int)o->jobs : cores_allowed_count(),
                                         .progress = &progress };
    enum rc rc;

    TRY(child_self_path(self_path, sizeof self_path));
    progress_init(&progress, stderr, p->n_simulations, wait_clock_ns());
    rc = prediction_run(p, &env);
    progress_fini(&progress, wait_clock_ns());
out:
    return rc;
}

static enum rc keep(const struct prediction *p, const char *folder)
{
    struct atomic_file file = { .stream = NULL };
    char path[PATH_BYTES + 32];
    enum rc rc;

    snprintf(path, sizeof path, "%s/predictions.jsonl", folder);
    TRY(prediction_write(p, path));
    snprintf(path, sizeof path, "%s/table.txt", folder);
    TRY(atomic_file_open(&file, path));
    TRY(prediction_print(p, file.stream));
    TRY(atomic_file_commit(&file));
    snprintf(path, sizeof path, "%s/report.html", folder);
    TRY(prediction_page(p, path));
out:
    atomic_file_discard(&file);
    return rc;
}

/* --out, or one that is discarded at the end. */
static enum rc open_folder(struct atomic_folder *folder, const struct predict_opts *o)
{
    const char *tmp = getenv("TMPDIR");
    char path[PATH_BYTES / 2];

    if (o->out[0] && strlen(o->out) >= sizeof path)
        return rc_raise(RC_INVAL, "--out %.64s...: is too long a name", o->out);
    snprintf(path, sizeof path, "%s/gradmark-predict-%ld", tmp && *tmp ? tmp : "/tmp", (long)getpid());
    return o->out[0] ? file_of_option(atomic_folder_open(folder, o->out), "out") : atomic_folder_open(folder, path);
}

static enum rc predict_run(struct verb_call *call)
{
    const struct predict_opts *o = call->opts;
    const struct predict_terms terms = { .runs = o->from, .cluster = o->cluster, .profile = o->profile, .to = o->to };
    struct atomic_folder folder = { .path = NULL };
    struct prediction p = { .terms = NULL };
    enum rc rc;

    TRY(file_of_option(file_check_writable(o->json), "json"));
    TRY(prediction_open(&p, &terms));
    TRY(open_folder(&folder, o));
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(simulate(&p, o, folder.temporary_path));
    TRY(prediction_print(&p, stdout));
    if (o->json[0])
        TRY(prediction_write(&p, o->json));
    if (o->out[0]) {
        TRY(keep(&p, folder.temporary_path));
        TRY(atomic_folder_commit(&folder));
    }
out:
    prediction_close(&p);
    atomic_folder_discard(&folder);
    return rc;
}

const struct verb verb_predict = {
    .name = "predict",
    .summary = "predict steps of more workers than were measured, by simulation, and say how wrong that may be",
    .introduction =
        "usage: gradmark predict --from FOLDER|FILE,... --cluster FILE.yaml --to N,... [--option value ...]\n\n"
        "Each way to train that these runs have at two numbers of workers and more is simulated with as many, and with "
        "N, "
        "on\n"
        "the cluster that gradmark calibrate measured. What measured steps take longer than simulated ones, computing "
        "and\n"
        "exchange apart, is applied to those of N workers. The largest measured number is predicted from the smaller\n"
        "ones, too: that error is printed beside every prediction. Too little data is refused.\n\n",
    .opts_bytes = sizeof(struct predict_opts),
    .group = groups,
    .check = check_use,
    .run = predict_run,
};
