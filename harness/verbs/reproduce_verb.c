/* SPDX-License-Identifier: Apache-2.0 */
/* reproduce_verb.c - gradmark reproduce: published efficiencies, predicted by simulation, and how wrong that is. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"
#include "harness/base/opt.h"
#include "harness/base/share.h"
#include "harness/campaign/reproduce.h"
#include "harness/verbs/simulating.h"
#include "harness/verbs/verb.h"
#include "harness/world/stop.h"

#ifndef GRADMARK_PUBLISHED_HOROVOD
#error "GRADMARK_PUBLISHED_HOROVOD names the table of published efficiencies"
#endif

struct reproduce_opts {
    const char *out, *json, *profile, *cluster, *ps_transport, *placement, *consistency, *overlap;
    struct opt_joined cluster_set;
    uint64_t bucket_bytes, ps_bucket_bytes, jobs;
    bool charts;
};

static const struct opt table[] = {
    OPT_FILE_(struct reproduce_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "table, records, charts and manifest; new, or empty; without it: the table is printed"),
    OPT_FILE_(struct reproduce_opts, json, "json", OPT_WRITTEN, "", "FILE", "write the records there, too"),
    OPT_FILE_(struct reproduce_opts, profile, "profile", OPT_READ, "", "MODEL=FILE,...",
              "what one GPU computes (gradmark profile writes it), for each model of the table; at a row's "
              "one_gpu_images_per_s, where it has that"),
    OPT_FILE_(struct reproduce_opts, cluster, "cluster", OPT_READ, "", "PRESET|FILE", "of rows that name none"),
    OPT_JOINED_(struct reproduce_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of all clusters: what does the result depend on?"),
    OPT_CHOICE_(struct reproduce_opts, ps_transport, "ps-transport", "grpc", "cluster|grpc|rdma|tcp|bare",
                "of rows of ps that tell none; cluster: as the description says"),
    OPT_TEXT_(struct reproduce_opts, placement, "placement", "whole", "split|whole|round-robin|chunk:BYTES",
              "of parameters on servers, as for train; whole is TensorFlow's"),
    OPT_TEXT_(struct reproduce_opts, consistency, "consistency", "sync", "async|ssp:S|sync|sync:B",
              "of servers, of rows ps or ps-sync"),
    OPT_CHOICE_(struct reproduce_opts, overlap, "overlap", "on", "off|on", "exchange while computing"),
    OPT_U64_(struct reproduce_opts, bucket_bytes, "bucket-bytes", "64Mi", 4, 1099511627776.0, "bytes",
             "of gradients, exchanged together by a ring"),
    OPT_U64_(struct reproduce_opts, ps_bucket_bytes, "ps-bucket-bytes", "", 4, 1099511627776.0, "bytes",
             "the same with servers; without it: all at once"),
    OPT_U64_(struct reproduce_opts, jobs, "jobs", "", 1, 1024, "processes",
             "simulations at a time; without it: the cores of this process"),
    OPT_BOOL_(struct reproduce_opts, charts, "charts", "true",
              "simulate 1, 2, 4, ... GPUs of every line, too, and draw the charts; needs --out"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "reproduce", table, 0, NULL }, { NULL, NULL, 0, NULL } };

static const char preset_name[] = "horovod-512";

static enum rc check_use(const struct verb_call *call)
{
    const struct reproduce_opts *o = call->opts;

    if (call->operand[0] && strcmp(call->operand[0], preset_name) == 0 && o->cluster[0])
        return rc_raise(RC_INVAL,
                        "--cluster %.100s: the rows of %s name their clusters; --cluster-set changes values of "
                        "these",
                        o->cluster, preset_name);
    if (verb_given(call, "charts") && o->charts && !o->out[0])
        return rc_raise(RC_INVAL, "--charts: needs --out FOLDER, where they go");
    return simulating_check(o->out, o->json);
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

static enum rc reproduce_run(struct verb_call *call)
{
    const struct reproduce_opts *o = call->opts;
    const bool is_preset = strcmp(call->operand[0], preset_name) == 0;
    const struct reproduce_terms terms = { .profiles = o->profile,
                                           .cluster = o->cluster,
                                           .cluster_set = o->cluster_set.text,
                                           .ps_transport = o->ps_transport,
                                           .placement = o->placement,
                                           .consistency = o->consistency,
                                           .overlap = o->overlap,
                                           .bucket_bytes = o->bucket_bytes,
                                           .ps_bucket_bytes = o->ps_bucket_bytes,
                                           .has_charts = o->charts && o->out[0] };
    struct atomic_folder folder = { .path = NULL };
    struct reproduction r = { .terms = NULL };
    char published[PATH_MAX];
    enum rc rc;

    share_path(published, sizeof published, "published/horovod.csv", GRADMARK_PUBLISHED_HOROVOD);
    TRY(file_of_option(file_check_writable(o->json), "json"));
    TRY(simulating_folder_open(&folder, o->out, "reproduce"));
    TRY(reproduction_open(&r, is_preset ? preset_name : call->operand[0], is_preset ? published : call->operand[0],
                          folder.temporary_path, &terms));
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(simulating_run(run, &r, r.folder, o->jobs, r.simulations.n));
    TRY(reproduction_print(&r, stdout));
    if (o->json[0])
        TRY(reproduction_write(&r, o->json));
    if (o->out[0]) {
        TRY(keep(&r, o));
        TRY(simulating_write_manifest("reproduce", call, folder.temporary_path));
        TRY(atomic_folder_commit(&folder));
    }
    TRY(simulations_check(r.simulations.simulation, r.simulations.n));
out:
    reproduction_close(&r);
    atomic_folder_discard(&folder);
    return rc;
}

const struct verb verb_reproduce = {
    .name = "reproduce",
    .summary = "predict published efficiencies by simulation, and say how wrong that is",
    .operands = "horovod-512|FILE.csv",
    .introduction =
        "usage: gradmark reproduce horovod-512|FILE.csv [--option value ...]\n\n"
        "horovod-512: the published tables and charts of Horovod and distributed TensorFlow, 16 to 512 GPUs "
        "(Inception\n"
        "V3, ResNet-101, VGG-16). FILE.csv: anybody's, with the columns model, gpus, mode (ring, ps, ps-async, none),\n"
        "servers and efficiency (a ratio), and if wanted transport, cluster, one_gpu_images_per_s, batch, counted, "
        "table,\n"
        "source, note.\n"
        "Each row is simulated by gradmark's own collectives and servers (train --world sim --model replay), several "
        "at\n"
        "a time. Nothing is fitted to a row or a model: what one GPU does is given, all else is of the cluster's\n"
        "description, for all its rows alike. Where a description says that a value was chosen beside the published\n"
        "rows, as the built-in ones of horovod-512 do of five, the error is that of rows which had a say.\n\n",
    .opts_bytes = sizeof(struct reproduce_opts),
    .group = groups,
    .check = check_use,
    .run = reproduce_run,
};
