/* SPDX-License-Identifier: Apache-2.0 */
/* profile_verb.c - gradmark profile: where the time of a training step goes, layer by layer, and a file of it. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/base/opt.h"
#include "harness/base/share.h"
#include "harness/base/terminal.h"
#include "harness/report/manifest.h"
#include "harness/report/record.h"
#include "harness/report/table.h"
#include "harness/train/disturbed.h"
#include "harness/train/input.h"
#include "harness/train/job.h"
#include "harness/verbs/profile_report.h"
#include "harness/verbs/verb.h"
#include "harness/world/cores.h"
#include "harness/world/host_load.h"
#include "harness/world/stop.h"
#include "models/replay/published.h"

#ifndef GRADMARK_PUBLISHED_RATES
#error "GRADMARK_PUBLISHED_RATES names the table of published images/s"
#endif

struct profile_opts {
    const char *model, *compute, *precision, *data, *out, *chart, *published;
    uint64_t batch, image_size, classes, width_divisor, threads, steps, warmup, seed;
    double images_per_s;
    bool aux, list, force;
};

static const struct opt table[] = {
    OPT_MODULE_(struct profile_opts, model, "model", network_kind, "network"),
    OPT_U64_(struct profile_opts, batch, "batch", "", 1, PROFILE_MAX_BATCH, "",
             "images in a step (default: 8). Of published rates it chooses one; without it that is the nearest to 64"),
    OPT_U64_(struct profile_opts, image_size, "image-size", "", 1, 8192, "",
             "height and width in pixels (default: as published)"),
    OPT_U64_(struct profile_opts, classes, "classes", "", 2, 1 << 20, "",
             "number of classes of images (default: as published)"),
    OPT_BOOL_(struct profile_opts, aux, "aux", "false", "use the auxiliary head. Only of inception3"),
    OPT_U64_(struct profile_opts, width_divisor, "width-divisor", "1", 1, 1024, "",
             "divide all numbers of channels by this. For lessons and tests"),
    OPT_MODULE_(struct profile_opts, compute, "compute", measured_compute_kind, "backend of the arithmetic"),
    OPT_CHOICE_(
        struct profile_opts, precision, "precision", "fp32", "fp32|tf32|bf16|amp",
        "number format of matrix products and convolutions. amp mixes fp16 and fp32, and is for published rates only"),
    OPT_U64_(struct profile_opts, threads, "threads", "", 1, 4096, "",
             "threads of the step (default: the cores of this process)"),
    OPT_U64_(struct profile_opts, steps, "steps", "10", 1, 100000, "", "measured steps"),
    OPT_U64_(struct profile_opts, warmup, "warmup", "2", 1, 100000, "", "steps before the measured ones"),
    OPT_U64_(struct profile_opts, seed, "seed", "1", 0, 9007199254740992.0, "", "seed of random images and parameters"),
    OPT_FILE_(struct profile_opts, data, "data", OPT_READ, "", "PATH",
              "data set to use instead of random images, as for gradmark train"),
    OPT_FILE_(struct profile_opts, out, "out", OPT_WRITTEN, "", "FILE",
              "file for the profile. gradmark train, simulate and reproduce read it by --profile"),
    OPT_BOOL_(struct profile_opts, force, "force", "false", "replace the file of --out if it exists"),
    OPT_FILE_(struct profile_opts, chart, "chart", OPT_CHART, "", "FILE.png",
              "draw a roofline of the layers, as .png and .svg. Its data is written beside them, as .tsv. The limits "
              "of the machine go to roofs.tsv: other charts in that folder are drawn again with the same limits"),
    OPT_TEXT_(struct profile_opts, published, "published", "", "GPU",
              "measure nothing, and spread a published rate of this GPU over the layers. GPUs are P100, V100, K80 and "
              "others: --list prints them"),
    OPT_F64_(struct profile_opts, images_per_s, "images-per-s", "", 1e-3, 1e9, "",
             "measure nothing, and spread this rate of one GPU over the layers. --batch is the batch that it had"),
    OPT_BOOL_(struct profile_opts, list, "list", "false",
              "print the published rates. Choose among them by --published, --model, --precision and --batch"),
    OPT_END_,
};

static const struct opt_topic topics[] = {
    { "size of the network", "model" },
    { "steps and data", "compute" },
    { "files", "out" },
    { "rates", "published" },
    { NULL, NULL },
};

static const struct verb_group groups[] = { { "profile", table, 0, topics }, { NULL, NULL, 0, NULL } };

/* What one kind of profile has no use for is refused, not passed over. */
static enum rc check_use(const struct verb_call *call)
{
    const struct profile_opts *o = call->opts;
    enum { MEASURED = 1, PUBLISHED = 2, GIVEN = 4 };
    static const struct {
        const char *option;
        unsigned when; /* kinds of profiles with which it is wrong */
        const char *why;
    } useless[] = {
        { "compute", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "threads", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "steps", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "warmup", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "seed", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "data", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "chart", PUBLISHED | GIVEN, "a published rate is not measured, nor is one of --images-per-s" },
        { "image-size", PUBLISHED, "a published rate is of the network as published" },
        { "classes", PUBLISHED, "a published rate is of the network as published" },
        { "aux", PUBLISHED, "a published rate is of the network as published" },
        { "width-divisor", PUBLISHED, "a published rate is of the network as published" },
        { "images-per-s", PUBLISHED, "is a rate of your own; leave --published and --list out" },
    };
    const bool is_published = o->published[0] != '\0' || o->list, is_given = !isnan(o->images_per_s);
    const bool derives = is_published || is_given;
    const unsigned kind = is_published ? PUBLISHED : is_given ? GIVEN : MEASURED;

    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++)
        if ((useless[i].when & kind) != 0 && verb_given(call, useless[i].option))
            return rc_raise(RC_INVAL, "--%s: %s", useless[i].option, useless[i].why);
    if (strcmp(o->out, "-") == 0)
        return rc_raise(RC_INVAL, "--out -: name a file for the profile; the table goes to standard output");
    if (o->list && o->out[0] != '\0')
        return rc_raise(RC_INVAL, "--out %.200s: --list only prints; leave one of them out", o->out);
    if (!derives && strcmp(o->precision, "amp") == 0)
        return rc_raise(RC_INVAL, "--precision amp: only of published rates; fp32, tf32 or bf16 can be measured");
    if (!o->list && o->published[0] != '\0' && o->out[0] == '\0' && !call->output.json)
        return rc_raise(RC_INVAL, "--published %.40s: needs --out FILE to write the profile to", o->published);
    if (is_given && !verb_given(call, "batch"))
        return rc_raise(RC_INVAL, "--images-per-s %g: needs --batch N, the images in a step at this rate",
                        o->images_per_s);
    if (is_given && o->out[0] == '\0' && !call->output.json)
        return rc_raise(RC_INVAL, "--images-per-s %g: needs --out FILE to write the profile to", o->images_per_s);
    return RC_OK;
}

static struct network_opts network_opts_of(const struct profile_opts *o)
{
    return (struct network_opts){ .image_size = (int)o->image_size,
                                  .n_classes = (int)o->classes,
                                  .aux_head = o->aux,
                                  .width_divisor = (int)o->width_divisor };
}

static bool have_same_source(const struct published_rate *a, const struct published_rate *b)
{
    return strcmp(a->framework, b->framework) == 0 && strcmp(a->source, b->source) == 0;
}

/* The number of its source: sources count from 1, in the order of their first rates that fit. */
static int source_number(const struct published *all, const struct published_wish *wish, size_t of)
{
    int n = 0;

    for (size_t i = 0; i <= of; i++) {
        size_t first = 0;
        if (!published_fits(&all->rate[i], wish))
            continue;
        while (!published_fits(&all->rate[first], wish) || !have_same_source(&all->rate[first], &all->rate[i]))
            first++;
        n += first == i;
        if (have_same_source(&all->rate[i], &all->rate[of]))
            return n;
    }
    return n;
}

/* source: its number in place of framework and source, which are long; 0: these themselves. */
static void list_row(struct table *t, const struct published_rate *r, int source)
{
    table_cell(t, "%s", r->model);
    table_cell(t, "%s", r->gpu);
    r->batch > 0 ? table_cell(t, "%d", r->batch) : table_cell(t, "-");
    table_cell(t, "%s", r->precision);
    table_cell(t, "%s", r->data);
    table_cell(t, "%g", r->images_per_s);
    if (source > 0) {
        table_cell(t, "%d", source);
        return;
    }
    table_cell(t, "%s", r->framework);
    table_cell(t, "%s", r->source);
}

/* "1  TensorFlow 1.3; horovod git README" */
static enum rc print_sources(const struct published *all, const struct published_wish *wish, FILE *to)
{
    static const struct column column[] = { { "", ALIGN_LEFT }, { "", ALIGN_LEFT } };
    int n = 0;
    struct table *t = table_open(column, sizeof column / sizeof *column);
    enum rc rc;

    for (size_t i = 0; i < all->n_rates; i++)
        if (published_fits(&all->rate[i], wish) && source_number(all, wish, i) > n) {
            table_cell(t, "%d", ++n);
            table_cell(t, "%s; %s", all->rate[i].framework, all->rate[i].source);
        }
    fputs("\nsources:\n", to);
    TRY(table_print_named(t, to));
out:
    table_close(&t);
    return rc;
}

/* On a terminal in 100 columns. */
static enum rc print_rates(const struct published *all, const struct published_wish *wish, bool is_csv, FILE *to)
{
    static const struct column column[] = { { "model", ALIGN_LEFT },     { "GPU", ALIGN_LEFT },
                                            { "batch", ALIGN_RIGHT },    { "precision", ALIGN_LEFT },
                                            { "data", ALIGN_LEFT },      { "images/s", ALIGN_RIGHT },
                                            { "framework", ALIGN_LEFT }, { "source", ALIGN_LEFT } };
    enum { N_COLUMNS = sizeof column / sizeof *column };
    struct column numbered[N_COLUMNS - 1];
    struct table *t = NULL;
    enum rc rc;

    memcpy(numbered, column, sizeof numbered);
    numbered[N_COLUMNS - 2] = (struct column){ "source", ALIGN_RIGHT };
    t = table_open(is_csv ? column : numbered, is_csv ? N_COLUMNS : N_COLUMNS - 1);
    for (size_t i = 0; i < all->n_rates; i++)
        if (published_fits(&all->rate[i], wish))
            list_row(t, &all->rate[i], is_csv ? 0 : source_number(all, wish, i));
    TRY(table_print(t, to));
    if (!is_csv)
        TRY(print_sources(all, wish, to));
out:
    table_close(&t);
    return rc;
}

static enum rc write_row(struct report *to, const struct published_rate *rate)
{
    struct record *r = report_begin(to, "published_rate");

    record_text(r, "model", rate->model);
    record_text(r, "gpu", rate->gpu);
    record_f64(r, "batch", rate->batch > 0 ? (double)rate->batch : NAN);
    record_text(r, "precision", rate->precision);
    record_text(r, "data", rate->data);
    record_f64(r, "images_per_s", rate->images_per_s);
    record_text(r, "framework", rate->framework);
    record_text(r, "source", rate->source);
    return report_end(to);
}

static enum rc load_published(struct published *out)
{
    char path[PATH_MAX];

    share_path(path, sizeof path, "published/single_gpu.csv", GRADMARK_PUBLISHED_RATES);
    return published_load(out, path);
}

static enum rc list_rates(struct verb_call *call)
{
    const struct profile_opts *o = call->opts;
    const struct published_wish wish = { .gpu = o->published,
                                         .model = verb_given(call, "model") ? o->model : "",
                                         .precision = verb_given(call, "precision") ? o->precision : "",
                                         .batch = (int)o->batch };
    const bool is_csv = strcmp(call->output.format, "csv") == 0;
    struct published all = { 0 };
    struct report *to = NULL;
    const struct published_rate *unused;
    enum rc rc;

    TRY(load_published(&all));
    TRY(published_choose(&unused, NULL, &all, &wish)); /* an empty list is an answer nobody looks for */
    call->stage = STAGE_RUN;
    TRY(report_open(&to, call->output.json ? "-" : NULL));
    for (size_t i = 0; i < all.n_rates; i++)
        if (published_fits(&all.rate[i], &wish))
            TRY(write_row(to, &all.rate[i]));
    TRY(print_rates(&all, &wish, is_csv, stdout));
    fflush(stdout);
    TRY(report_commit(to));
out:
    report_close(&to);
    published_free(&all);
    return rc;
}

/* The rate of --images-per-s, or the published one that the options choose: fp32 if they name no precision, where
 * there is any. */
static enum rc choose_rate(struct published_rate *out, size_t *n_fitting, const struct verb_call *call,
                           const struct published *all)
{
    const struct profile_opts *o = call->opts;
    struct published_wish wish = { o->published, o->model, o->precision, (int)o->batch };
    const struct published_rate *rate = NULL;
    enum rc rc;

    if (!isnan(o->images_per_s)) {
        *out = (struct published_rate){ .gpu = "own", .batch = (int)o->batch, .images_per_s = o->images_per_s };
        snprintf(out->model, sizeof out->model, "%s", o->model);
        snprintf(out->precision, sizeof out->precision, "%s", o->precision);
        snprintf(out->source, sizeof out->source, "--images-per-s");
        return RC_OK;
    }
    rc = published_choose(&rate, n_fitting, all, &wish);
    if (rc != RC_OK && !verb_given(call, "precision")) {
        wish.precision = "";
        rc = published_choose(&rate, n_fitting, all, &wish);
    }
    if (rc == RC_OK)
        *out = *rate;
    return rc;
}

static enum rc print_derived(const struct profile_opts *o, const struct profile *p, size_t n_fitting)
{
    struct terminal_text text = { .lines = NULL };
    enum rc rc;

    TRY(terminal_text_open(&text));
    fprintf(text.lines, "%s: %s\n", o->out, p->source);
    if (n_fitting > 0)
        fprintf(text.lines,
                "%zu published rate%s fit: --list shows them; chosen: synthetic data first, batch nearest to 64, "
                "order of the table\n",
                n_fitting, n_fitting == 1 ? "" : "s");
    TRY(terminal_text_close(&text, stdout));
    TRY(output_flush(stdout));
out:
    return rc;
}

static enum rc derive(struct verb_call *call, const struct workload *workload)
{
    const struct profile_opts *o = call->opts;
    const struct network_opts opts = network_opts_of(o);
    struct published_rate rate;
    struct published all = { 0 };
    struct network *n = NULL;
    struct profile *p = NULL;
    size_t n_fitting = 0;
    enum rc rc;

    TRY(network_open(&n, workload->network, &opts));
    TRY(load_published(&all));
    TRY(choose_rate(&rate, &n_fitting, call, &all));
    TRY(file_of_option(file_check_writable(o->out), "out"));
    TRY(file_of_option(file_check_new(o->out, o->force), "out"));
    call->stage = STAGE_RUN;
    TRY(published_profile(&p, &rate, n));
    if (o->out[0] != '\0')
        TRY(profile_save(p, o->out));
    if (call->output.json)
        TRY(profile_print_json(p));
    TRY(print_derived(o, p, n_fitting));
out:
    profile_close(&p);
    published_free(&all);
    network_close(&n);
    return rc;
}

/* --data: opened before the network, which follows its images. */
static enum rc open_file(struct dataset **out, struct profile_opts *o)
{
    const struct dataset_source *named = dataset_source_find(o->data);

    if (o->data[0] == '\0' || (named && named->makes_images))
        return RC_OK;
    return file_data_open(out, o->data, &o->image_size, &o->classes);
}

static enum rc open_data(struct dataset **out, const struct profile_opts *o, const struct network *n)
{
    const struct synthetic_opts opts = { .C = n->C_in,
                                         .H = n->opts.image_size,
                                         .W = n->opts.image_size,
                                         .n_classes = n->opts.n_classes,
                                         .n_train = 1024,
                                         .n_test = 0 };

    return *out != NULL ? file_data_check(*out, o->data, n) : dataset_open_synthetic(out, &opts, o->seed);
}

static size_t measured_batch(const struct profile_opts *o)
{
    enum { USUAL = 8 };

    return o->batch > 0 ? (size_t)o->batch : USUAL;
}

struct needing {
    struct compute *compute[2]; /* that computes all; of GEMMs alone */
    const struct network *network;
};

/* The activations of both (the gemm_only baseline has its own), three times the parameters. */
static enum rc needed_bytes(const void *arg, size_t batch, double *n_bytes)
{
    const struct needing *of = arg;
    const struct network *n = of->network;
    struct network_memory k;
    enum rc rc;

    *n_bytes = 12.0 * (double)n->n_params;
    for (int i = 0; i < 2; i++) {
        TRY(network_memory_needed(&k, of->compute[i], n,
                                  &(struct network_step){ .n_samples = batch, .n_micro_batches = 1 }));
        *n_bytes += (double)k.planned_bytes + (double)k.state_bytes + (double)k.device_bytes;
    }
out:
    return rc;
}

/* Before anything large is allocated. */
static enum rc check_memory(const struct layer_timing_env *env, const struct network *n)
{
    const struct compute_env compute = { .precision = env->precision };
    char remedy[MAX_BATCH_TEXT_BYTES];
    const struct compute_env gemm_only = { .precision = env->precision, .gemm_only = true };
    struct compute *c = NULL, *alone = NULL;
    double bytes;
    enum rc rc;

    TRY(compute_open(&c, env->backend, &compute));
    TRY(compute_open(&alone, env->backend, &gemm_only));
    const struct needing needing = { { c, alone }, n };
    TRY(needed_bytes(&needing, env->batch, &bytes));
    const size_t available_bytes = c->ops->memory_available != NULL ? c->ops->memory_available(c) : SIZE_MAX;
    if (available_bytes == SIZE_MAX || bytes <= (double)available_bytes)
        goto out;
    TRY(max_batch_text(remedy, env->batch, 1, (double)available_bytes, needed_bytes, &needing));
    rc = rc_raise(RC_INVAL, "--batch %zu: %s at %d x %d needs %.0f MB, %.0f MB are available; %s", env->batch, n->name,
                  n->opts.image_size, n->opts.image_size, bytes * 1e-6, (double)available_bytes * 1e-6, remedy);
out:
    compute_close(&alone);
    compute_close(&c);
    return rc;
}

/* What measures, with what, when: a profile file outlives the run that made it. */
static void name_program(char *out, size_t n_bytes)
{
    char version[64], date[32];

    manifest_version(version, sizeof version);
    manifest_date(date, sizeof date);
    snprintf(out, n_bytes, "gradmark %s, products: %s, %s", version, GRADMARK_PRODUCTS, date);
}

static enum rc report(const struct profile_opts *o, const struct layer_timing_env *env, const struct layer_timing *m,
                      const char *others, bool prints_json)
{
    char device[PROFILE_TEXT_BYTES], program[256];
    const struct report_about about = { .program = program,
                                        .compute = o->compute,
                                        .precision = o->precision,
                                        .device = device,
                                        .batch = (int)measured_batch(o),
                                        .n_threads = env->n_threads,
                                        .n_warmup = env->n_warmup,
                                        .others = others[0] != '\0' ? others : NULL };
    struct profile *p = NULL;
    enum rc rc;

    name_program(program, sizeof program);
    if (m->device[0] != '\0')
        snprintf(device, sizeof device, "%s", m->device);
    else
        manifest_cpu_model(device, sizeof device);
    TRY(profile_print(stdout, m, &about));
    if (o->out[0] != '\0' || prints_json)
        TRY(profile_of_timing(&p, m, &about));
    if (o->out[0] != '\0')
        TRY(profile_save(p, o->out));
    if (prints_json)
        TRY(profile_print_json(p));
    if (o->chart[0] != '\0')
        TRY(profile_draw(m, &about, o->chart));
out:
    profile_close(&p);
    return rc;
}

/* Looks at the machine for a fifth of a second. others: "others use 1.4 of 2 cores" if they disturb, else "". */
static void warn_if_busy(char *others, size_t n_bytes, int n_threads)
{
    struct host_load before, after;

    host_load_watch(&before, &after, HOST_LOAD_WINDOW_NS, hold_root());
    const struct disturbance d = disturbance_between(&before, &after, n_threads);
    others[0] = '\0';
    if (!disturbance_is_too_much(&d))
        return;
    disturbance_now_text(others, n_bytes, &d, after.n_cores);
    terminal_note(
        stderr,
        "gradmark profile: warning: %s now. While they do, layers take longer: stop them (top shows them), then "
        "start again",
        others);
}

/* --out can be written, and the chart beside it. */
static enum rc check_files(const struct profile_opts *o)
{
    enum rc rc;

    TRY(file_of_option(file_check_writable(o->out), "out"));
    TRY(file_of_option(file_check_new(o->out, o->force), "out"));
    if (o->chart[0] != '\0')
        TRY(profile_check_chart(o->chart, o->out));
out:
    return rc;
}

static enum rc measure(struct verb_call *call, const struct workload *workload)
{
    char others[PROFILE_TEXT_BYTES];
    struct profile_opts *o = call->opts;
    struct layer_timing_env env = { .workload = workload,
                                    .batch = measured_batch(o),
                                    .n_threads = o->threads > 0 ? (int)o->threads : cores_allowed_count(),
                                    .n_steps = (int)o->steps,
                                    .n_warmup = (int)o->warmup,
                                    .seed = o->seed,
                                    .largest_matrix = 8192,
                                    .stream_bytes = (size_t)256 << 20,
                                    .stop_wanted = stop_wanted };
    struct layer_timing m = { 0 };
    struct dataset *data = NULL;
    struct network *n = NULL;
    enum rc rc;

    TRY(compute_find(&env.backend, o->compute));
    TRY(precision_find(&env.precision, o->precision));
    TRY(open_file(&data, o));
    env.network = network_opts_of(o);
    TRY(network_open(&n, workload->network, &env.network));
    TRY(check_memory(&env, n));
    TRY(check_files(o));
    TRY(open_data(&data, o, n));
    env.dataset = data;
    call->stage = STAGE_RUN;
    stop_catch();
    warn_if_busy(others, sizeof others, env.n_threads);
    TRY(layer_timing_run(&m, &env));
    TRY(report(o, &env, &m, others, call->output.json));
    if (m.n_steps < env.n_steps)
        FAIL(RC_PEER, "stopped after %d of %d steps; the results of these are printed and written", m.n_steps,
             env.n_steps);
out:
    layer_timing_free(&m);
    dataset_close(&data);
    network_close(&n);
    return rc;
}

static enum rc profile_run(struct verb_call *call)
{
    const struct profile_opts *o = call->opts;
    const struct workload *workload = NULL;
    enum rc rc;

    TRY(workload_find(&workload, o->model));
    if (o->list)
        return list_rates(call);
    TRY(o->published[0] != '\0' || !isnan(o->images_per_s) ? derive(call, workload) : measure(call, workload));
out:
    return rc;
}

static const struct verb_example examples[] = {
    { "profile --model lenet --out lenet.json", "Measure lenet, and write its profile" },
    { "profile --model resnet50 --batch 2 --steps 3", "Print the time of each layer of ResNet-50" },
    { "profile --published P100 --model vgg16 --out p100.json", "Derive a profile from a published rate" },
    { "profile --model vgg16 --images-per-s 600 --batch 64 --out own.json", "The same, from a rate of your own" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "network", "model batch image-size" }, { "measurement", "compute precision threads steps data" },
    { "output", "out force chart" },         { "published rates", "published list" },
    { "rate of your own", "images-per-s" },  { NULL, NULL },
};

static const struct verb_hint hints[] = {
    { "gpu", "a published rate is --published GPU; --compute cuda measures the GPU of this machine" },
    { NULL, NULL },
};

const struct verb verb_profile = {
    .name = "profile",
    .summary = "measure the time of each layer in a training step",
    .introduction = "Measures a training step, and prints the time of each layer, forward and backward. With --out it "
                    "writes a profile, which gradmark train, simulate and reproduce use instead of real computing.\n\n"
                    "With --published or --images-per-s it measures nothing, and derives a profile from a rate.",
    .example = examples,
    .basics = basics,
    .page = "predict",
    .is_one_process = true,
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct profile_opts),
    .group = groups,
    .check = check_use,
    .hint = hints,
    .run = profile_run,
};
