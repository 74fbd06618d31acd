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
    const char *models, *modes, *gpus, *servers, *placements, *profile, *published, *cluster, *ps_transport, *overlap,
        *out, *json, *layout, *schedule;
    struct opt_joined cluster_set;
    uint64_t global_batch, micro_batches;
    uint64_t bucket_bytes, ps_bucket_bytes, most_messages, seeds, what_if_gpus, jobs;
    bool what_if, assumptions, systems;
};

static const struct opt table[] = {
    OPT_TEXT_(struct simulate_opts, models, "models", "vgg16,resnet101,inception3", "MODEL,...",
              "each with --profile, a rate of --published, or one that was published of the cluster"),
    OPT_TEXT_(struct simulate_opts, modes, "modes", "ring,ps-sync", "MODE,...",
              "none, a collective algorithm by its name (ring), ps-async, ps-ssp:S, ps-sync, ps-sync:B"),
    OPT_TEXT_(struct simulate_opts, gpus, "gpus", "1,2,4,8,16", "N,...", "numbers of GPUs, ascending, a worker each"),
    OPT_TEXT_(struct simulate_opts, servers, "servers", "host", "N|host,...",
              "parameter servers; host: one for each host of workers, at most one for each tensor where none is cut"),
    OPT_TEXT_(struct simulate_opts, placements, "placements", "split,whole", "PLACEMENT,...",
              "of parameters on servers: split, whole, round-robin, chunk:BYTES, as for train"),
    OPT_FILE_(struct simulate_opts, profile, "profile", OPT_READ, "", "MODEL=FILE,...",
              "what one GPU computes (gradmark profile writes it)"),
    OPT_TEXT_(struct simulate_opts, published, "published", "", "GPU",
              "of models without a profile: a published rate of this GPU, as gradmark profile --published takes it"),
    OPT_FILE_(struct simulate_opts, cluster, "cluster", OPT_READ, "pascal-25g-roce", "PRESET|FILE",
              "where; gradmark info --cluster shows it"),
    OPT_JOINED_(struct simulate_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of that description; may be given several times"),
    OPT_CHOICE_(struct simulate_opts, ps_transport, "ps-transport", "cluster", "cluster|grpc|rdma|tcp|bare",
                "what carries messages of parameter servers; cluster: as the description says"),
    OPT_CHOICE_(struct simulate_opts, overlap, "overlap", "on", "off|on", "exchange while computing"),
    OPT_U64_(struct simulate_opts, bucket_bytes, "bucket-bytes", "64Mi", 4, 1099511627776.0, "bytes",
             "of gradients, exchanged together by collectives"),
    OPT_U64_(struct simulate_opts, ps_bucket_bytes, "ps-bucket-bytes", "", 4, 1099511627776.0, "bytes",
             "the same with servers; without it: all at once"),
    OPT_U64_(struct simulate_opts, most_messages, "most-messages", "65536", 1, 1048576, "messages",
             "that servers and workers may have under way at once, GPUs x servers: points above it are left out"),
    OPT_U64_(
        struct simulate_opts, seeds, "seeds", "", 1, SIMULATE_MOST_SEEDS, "simulations",
        "of each point, with other draws of jitter: the band of its efficiency; without it: 5 where the cluster has "
        "anything random, else 1"),
    OPT_BOOL_(
        struct simulate_opts, what_if, "what-if", "true",
        "simulate what a faster network, half the latency, more servers, fewer bytes and no overlap would do, too"),
    OPT_BOOL_(struct simulate_opts, assumptions, "assumptions", "true",
              "simulate what every assumption of the cluster moves, too; needs --out"),
    OPT_BOOL_(struct simulate_opts, systems, "systems", "true",
              "the systems in one table, too: one host, a collective, asynchronous and synchronous servers, and what a "
              "slow link does to each"),
    OPT_U64_(struct simulate_opts, what_if_gpus, "what-if-gpus", "", 1, ROW_MAX_GPUS, "GPUs",
             "that all of this is asked of, one of --gpus; without it: the most of each mode"),
    OPT_TEXT_(struct simulate_opts, layout, "layout", "", "WxSxK,...|best",
              "compare layouts instead: W workers of S stages each, K of which share the dense layers, data "
              "parallelism being "
              "Wx1x1, with the same batch in all; best: of all of --gpus GPUs, the best few simulated"),
    OPT_U64_(struct simulate_opts, global_batch, "global-batch", "", 1, 1e9, "samples",
             "of --layout, a step of all workers; without it: the profile's batch for each GPU of the first layout"),
    OPT_U64_(struct simulate_opts, micro_batches, "micro-batches", "", 1, 1048576, "parts",
             "of --layout, of a worker's batch, where there are stages; without it: four a stage, or fewer"),
    OPT_CHOICE_(struct simulate_opts, schedule, "schedule", "1f1b", "1f1b|gpipe",
                "of --layout, of its stages, as for train"),
    OPT_U64_(struct simulate_opts, jobs, "jobs", "", 1, 1024, "processes",
             "simulations at a time; without it: the cores of this process"),
    OPT_FILE_(struct simulate_opts, out, "out", OPT_MADE_FOLDER, "", "FOLDER",
              "table, records, charts, a page and manifest; new, or empty; without it: the table is printed"),
    OPT_FILE_(struct simulate_opts, json, "json", OPT_WRITTEN, "", "FILE", "write the records there, too"),
    OPT_END_,
};
static const struct verb_group groups[] = { { "simulate", table, 0, NULL }, { NULL, NULL, 0, NULL } };

/* What only one of the two comparisons asks for. */
static enum rc check_layout(const struct verb_call *call)
{
    static const char *const of_layouts[] = { "global-batch", "micro-batches", "schedule" };
    static const char *const of_ways[] = { "modes",           "servers",       "placements",  "ps-transport",
                                           "ps-bucket-bytes", "most-messages", "seeds",       "what-if",
                                           "assumptions",     "systems",       "what-if-gpus" };
    const struct simulate_opts *o = call->opts;

    for (size_t i = 0; !o->layout[0] && i < sizeof of_layouts / sizeof *of_layouts; i++)
        if (verb_given(call, of_layouts[i]))
            return rc_raise(RC_INVAL, "--%s: is of --layout, which is not given", of_layouts[i]);
    for (size_t i = 0; o->layout[0] && i < sizeof of_ways / sizeof *of_ways; i++)
        if (verb_given(call, of_ways[i]))
            return rc_raise(RC_INVAL,
                            "--%s: layouts are compared by a ring at one batch; leave out one of it and --layout",
                            of_ways[i]);
    if (o->layout[0] && strcmp(o->layout, "best") != 0 && verb_given(call, "gpus"))
        return rc_raise(RC_INVAL,
                        "--gpus %s: a layout says how many GPUs it has; --layout best looks among those of --gpus",
                        o->gpus);
    return RC_OK;
}

static enum rc check_use(const struct verb_call *call)
{
    const struct simulate_opts *o = call->opts;
    enum rc rc;

    TRY(check_layout(call));

    if (!o->cluster[0])
        return rc_raise(RC_INVAL, "--cluster: is empty; a preset or a file would be right");
    if (verb_given(call, "assumptions") && o->assumptions && !o->out[0])
        return rc_raise(RC_INVAL, "--assumptions: needs --out FOLDER, whose page shows them");
    TRY(simulating_check(o->out, o->json));
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
static enum rc compare_layouts(struct verb_call *call, const struct simulate_terms *simulate)
{
    const struct simulate_opts *o = call->opts;
    const struct layouts_terms terms = { .simulate = *simulate,
                                         .list = o->layout,
                                         .schedule = o->schedule,
                                         .global_batch = o->global_batch,
                                         .n_micro_batches = o->micro_batches };
    struct atomic_folder folder = { .path = NULL };
    struct layouts l = { .terms = NULL };
    enum rc rc;

    TRY(file_of_option(file_check_writable(o->json), "json"));
    TRY(simulating_folder_open(&folder, o->out, "simulate"));
    TRY(layouts_open(&l, folder.temporary_path, &terms));
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(simulating_run(run_layouts, &l, folder.temporary_path, o->jobs, l.base.simulations.n));
    TRY(layouts_print(&l, stdout));
    if (o->json[0])
        TRY(layouts_write(&l, o->json));
    if (o->out[0]) {
        TRY(keep_layouts(&l, folder.temporary_path));
        TRY(simulating_write_manifest("simulate", call, folder.temporary_path));
        TRY(atomic_folder_commit(&folder));
    }
    TRY(simulations_check(l.base.simulations.simulation, l.base.simulations.n));
out:
    layouts_close(&l);
    atomic_folder_discard(&folder);
    return rc;
}

static enum rc simulate_verb_run(struct verb_call *call)
{
    const struct simulate_opts *o = call->opts;
    char rates[PATH_MAX], rows[PATH_MAX];
    const struct simulate_terms terms = { .models = o->models,
                                          .modes = o->modes,
                                          .gpus = o->gpus,
                                          .servers = o->servers,
                                          .placements = o->placements,
                                          .profiles = o->profile,
                                          .published = o->published,
                                          .published_rates = rates,
                                          .published_rows = rows,
                                          .cluster = o->cluster,
                                          .cluster_set = o->cluster_set.text,
                                          .ps_transport = o->ps_transport,
                                          .overlap = o->overlap,
                                          .bucket_bytes = o->bucket_bytes,
                                          .ps_bucket_bytes = o->ps_bucket_bytes,
                                          .most_messages = o->most_messages,
                                          .n_seeds = o->seeds,
                                          .what_if_gpus = o->what_if_gpus,
                                          .has_what_if = o->what_if,
                                          .has_systems = o->systems,
                                          .has_assumptions = o->assumptions && o->out[0] };
    struct atomic_folder folder = { .path = NULL };
    struct simulate s = { .terms = NULL };
    enum rc rc;

    share_path(rates, sizeof rates, "published/single_gpu.csv", GRADMARK_PUBLISHED_RATES);
    share_path(rows, sizeof rows, "published/horovod.csv", GRADMARK_PUBLISHED_HOROVOD);
    if (o->layout[0])
        return compare_layouts(call, &terms);
    TRY(file_of_option(file_check_writable(o->json), "json"));
    TRY(simulating_folder_open(&folder, o->out, "simulate"));
    TRY(simulate_open(&s, folder.temporary_path, &terms));
    call->stage = STAGE_RUN;
    stop_catch();
    TRY(simulating_run(run, &s, s.folder, o->jobs, s.simulations.n));
    TRY(simulate_print(&s, stdout));
    if (o->json[0])
        TRY(simulate_write(&s, o->json));
    if (o->out[0]) {
        TRY(keep(&s));
        TRY(simulating_write_manifest("simulate", call, folder.temporary_path));
        TRY(atomic_folder_commit(&folder));
    }
    TRY(simulations_check(s.simulations.simulation, s.simulations.n));
out:
    simulate_close(&s);
    atomic_folder_discard(&folder);
    return rc;
}

const struct verb verb_simulate = {
    .name = "simulate",
    .summary = "predict what models would do on a described cluster, with any number of GPUs",
    .introduction =
        "usage: gradmark simulate [--option value ...]\n\n"
        "Every model of --models on every number of GPUs of --gpus, by every way to exchange: --modes, those of\n"
        "parameter servers with every one of --placements and --servers. Each is simulated by gradmark's own "
        "collectives\n"
        "and servers (train --world sim --model replay), several at a time; what one GPU does is given, all else is "
        "of\n"
        "the cluster's description (--cluster), whose assumptions are told.\n\n",
    .opts_bytes = sizeof(struct simulate_opts),
    .group = groups,
    .check = check_use,
    .run = simulate_verb_run,
};
