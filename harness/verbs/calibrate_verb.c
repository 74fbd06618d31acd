/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_verb.c - gradmark calibrate: measure what runs use, and write it as a description for the sim world. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/base/terminal.h"
#include "harness/bench/calibration.h"
#include "harness/campaign/last_words.h"
#include "harness/campaign/prediction_inputs.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/manifest.h"
#include "harness/report/table.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/refusal.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/verb.h"

/* --- what is printed --- */

/* A residual from which on the line does not describe the times. */
#define BAD_RESIDUAL_RATIO 0.25
/* A rank that is slower than the median by more is named. */
#define SLOW_RATIO 0.9

static void row(struct table *t, const char *what, double value, const char *unit, const char *fit, const char *from)
{
    table_cell(t, "%s", what);
    table_cell(t, "%.4g %s", value, unit);
    table_cell(t, "%s", fit);
    table_cell(t, "%s", from);
}

static void link_rows(struct table *t, const struct link_fit *f, enum link_class of)
{
    char what[64], fit[64], from[64];

    if (f->n_pairs == 0)
        return;
    snprintf(from, sizeof from, "%d pair%s, %d sizes", f->n_pairs, f->n_pairs == 1 ? "" : "s", LINK_N_SIZES);
    snprintf(fit, sizeof fit, "%.1f %% at %zu bytes", 100 * fabs(f->message.worst_ratio),
             link_size_bytes((int)f->message.worst));
    snprintf(what, sizeof what, "%s: latency, one way", calibration_class_name(of));
    row(t, what, 1e6 * f->alpha_s, "us", fit, from);
    snprintf(what, sizeof what, "%s: rate", calibration_class_name(of));
    if (of == LINK_BETWEEN)
        row(t, what, 8e-9 / f->message.slope_s, "Gbit/s", fit, from);
    else
        row(t, what, 1e-9 / f->message.slope_s, "GB/s", fit, from);
    snprintf(from, sizeof from, "%d pair%s, %d bursts", f->n_pairs, f->n_pairs == 1 ? "" : "s", LINK_N_BURSTS);
    snprintf(fit, sizeof fit, "%.1f %%%s", 100 * fabs(f->burst.worst_ratio), f->is_capped ? ", half of latency" : "");
    snprintf(what, sizeof what, "%s: overhead of a message", calibration_class_name(of));
    row(t, what, 1e6 * f->message_s, "us", fit, from);
}

static void compute_rows(struct table *t, const struct calibration *c)
{
    static const char *const kind[] = { "none above 0.1 %", "exponential", "half-normal", "lognormal" };
    const struct compute_bench *m = &c->compute;
    char fit[64], from[64];

    snprintf(from, sizeof from, "%d ranks at once", c->n_ranks);
    snprintf(fit, sizeof fit, "%.4g to %.4g", 1e-9 * m->flops_per_s.least, 1e-9 * m->flops_per_s.most);
    row(t, "GEMM of a rank", 1e-9 * m->flops_per_s.median, "GFLOP/s", fit, from);
    snprintf(fit, sizeof fit, "%.4g to %.4g", 1e-9 * m->memory_bytes_per_s.least, 1e-9 * m->memory_bytes_per_s.most);
    row(t, "update of a rank", 1e-9 * m->memory_bytes_per_s.median, "GB/s", fit, from);
    if (c->server_memory_bytes_per_s > 0)
        row(t, "update of a server", 1e-9 * c->server_memory_bytes_per_s, "GB/s", "on the host", from);
    if (m->jitter.kind == JITTER_NONE)
        snprintf(fit, sizeof fit, "%s", kind[0]);
    else
        snprintf(fit, sizeof fit, "%s, KS %.3f", kind[m->jitter.kind], m->jitter.distance);
    snprintf(from, sizeof from, "%zu times %.3g ms", m->jitter.n_times, 1e3 * m->work_s);
    row(t, "jitter of equal work, mean", 100 * m->jitter.ratio, "%", fit, from);
}

static enum rc print_parts(FILE *to, const struct calibration *c)
{
    static const struct column column[] = { { "measured", ALIGN_LEFT },
                                            { "value", ALIGN_RIGHT },
                                            { "largest residual, range", ALIGN_LEFT },
                                            { "from", ALIGN_LEFT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        link_rows(t, &c->links.link[of], (enum link_class)of);
    compute_rows(t, c);
    return table_finish(t, to);
}

static void size_cells(struct table *t, const struct link_fit *f, int i)
{
    const double x = (double)link_size_bytes(i);

    if (f->n_pairs == 0) {
        table_cell(t, "-");
        table_cell(t, "-");
    } else {
        table_cell(t, "%.5g", 1e6 * f->median_s[i]);
        table_cell(t, "%+.1f %%", 100 * line_fit_residual_ratio(&f->message, x, f->median_s[i]));
    }
}

static enum rc print_sizes(FILE *to, const struct calibration *c)
{
    static const struct column column[] = { { "message, bytes", ALIGN_RIGHT },
                                            { "between hosts, us", ALIGN_RIGHT },
                                            { "over its line", ALIGN_RIGHT },
                                            { "within a host, us", ALIGN_RIGHT },
                                            { "over its line", ALIGN_RIGHT } };
    struct table *t = table_open(column, sizeof column / sizeof *column);

    for (int i = 0; i < LINK_N_SIZES; i++) {
        table_cell(t, "%zu", link_size_bytes(i));
        size_cells(t, &c->links.link[LINK_BETWEEN], i);
        size_cells(t, &c->links.link[LINK_WITHIN], i);
    }
    fprintf(to, "\none way, median over pairs:\n");
    return table_finish(t, to);
}

static void print_links_notes(FILE *to, const struct link_fit *f, enum link_class of)
{
    enum { LONGEST = LINK_N_SIZES - 1 };
    const char *name = calibration_class_name(of);

    if (f->n_pairs == 0) {
        fprintf(to, "%s: not measured, %s; its values in the file are assumed\n", name,
                of == LINK_BETWEEN ? "all ranks are on one host" : "each host has one rank");
        return;
    }
    fprintf(to, "%s: 16 MiB take %.2f times as long while as many come in%s\n", name, f->both_ratio,
            of != LINK_BETWEEN                ? ""
            : isnan(link_fit_duplex_ratio(f)) ? "; two ranks that exchange wait for each other by this transport: "
                                                "three hosts would tell what links carry both ways"
            : link_fit_duplex_ratio(f) < 2    ? "; the description says so: link_duplex_ratio"
                                              : "");
    if (f->differs)
        fprintf(to, "%s: ranks %d and %d need %.3g times as long for 16 MiB as ranks %d and %d\n", name,
                f->slowest.from, f->slowest.to, f->slowest.median_s[LONGEST] / f->fastest.median_s[LONGEST],
                f->fastest.from, f->fastest.to);
    if (fabs(f->message.worst_ratio) > BAD_RESIDUAL_RATIO)
        fprintf(to, "%s: no line fits: messages of %zu bytes take %.3g times what it says\n", name,
                link_size_bytes((int)f->message.worst), 1 + f->message.worst_ratio);
}

static void print_notes(FILE *to, const struct calibration *c)
{
    const struct local_sharing *s = &c->links.sharing;
    const struct compute_spread *flops = &c->compute.flops_per_s;

    fprintf(to, "\n");
    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        print_links_notes(to, &c->links.link[of], (enum link_class)of);
    if (s->n_pairs > 0)
        fprintf(to, "within a host: 16 MiB take %.2f times as long with %d pairs at once, %.2f from one rank to two\n",
                s->pairs_s / s->one_s, s->n_pairs, s->fan_s / s->one_s);
    if (flops->least < SLOW_RATIO * flops->median)
        fprintf(to, "the slowest rank computes at %.2f of the rate of the median one\n", flops->least / flops->median);
}

static void tell_link(FILE *to, const struct link_fit *f, enum link_class of)
{
    if (f->n_pairs == 0)
        return;
    fprintf(to, "  %s: latency %.4g us, ", of == LINK_BETWEEN ? "Between hosts" : "Within a host", 1e6 * f->alpha_s);
    if (of == LINK_BETWEEN)
        fprintf(to, "%.4g Gbit/s", 8e-9 / f->message.slope_s);
    else
        fprintf(to, "%.4g GB/s", 1e-9 / f->message.slope_s);
    if (fabs(f->message.worst_ratio) > BAD_RESIDUAL_RATIO)
        fprintf(to, ", doubtful: a message takes up to %.0f %% longer or less than these say",
                100 * fabs(f->message.worst_ratio));
    fprintf(to, ".\n");
}

static void tell_answer(FILE *to, const struct calibration *c)
{
    const struct compute_bench *m = &c->compute;

    fprintf(to, "%d rank%s on %d host%s, at most %d each: %.4g GFLOP/s a rank, jitter %.3g %%.\n", c->n_ranks,
            c->n_ranks == 1 ? "" : "s", c->links.n_hosts, c->links.n_hosts == 1 ? "" : "s", c->links.n_most_host_ranks,
            1e-9 * m->flops_per_s.median, 100 * m->jitter.ratio);
    for (int of = LINK_N_CLASSES - 1; of >= 0; of--)
        tell_link(to, &c->links.link[of], (enum link_class)of);
    if (c->links.link[LINK_BETWEEN].n_pairs == 0)
        fprintf(to, "  Links between hosts were not measured: gradmark predict needs ranks on two hosts.\n");
    if (calibration_is_noisy(c))
        fprintf(to, "  Doubtful: equal work took %.0f %% longer than the fastest. Run again on an idle machine.\n",
                100 * m->jitter.ratio);
    fputc('\n', to);
}

/* Print two tables, each value with its source: the parts of the machine, and messages by size beside the fitted line.
 * Then print a line for each problem: a slow link, a slow rank, a bad fit, a missing measurement. RC_NOMEM. */
static enum rc calibrate_print(FILE *to, const struct calibration *c)
{
    struct terminal_text text;
    enum rc rc;

    TRY(terminal_text_open(&text));
    tell_answer(text.lines, c);
    TRY(terminal_text_close(&text, to));
    TRY(print_parts(to, c));
    if (c->n_ranks > 1)
        TRY(print_sizes(to, c));
    TRY(terminal_text_open(&text));
    print_notes(text.lines, c);
    TRY(terminal_text_close(&text, to));
out:
    return rc;
}

enum { MESSAGE_LIMIT_MS = 240000 };

struct calibrate_opts {
    const char *out, *name;
    bool force;
    struct machine_opts machine;
};

static const struct opt table[] = {
    OPT_FILE_(struct calibrate_opts, out, "out", OPT_WRITTEN, "", "FILE.yaml",
              "file for the description. gradmark train, compare, simulate and predict read it by --cluster"),
    OPT_BOOL_(struct calibrate_opts, force, "force", "false", "replace the file of --out if it exists"),
    OPT_TEXT_(struct calibrate_opts, name, "name", "", "TEXT", "name of the cluster (default: that of the file)"),
    OPT_END_,
};

static const struct verb_group groups[] = { { "calibrate", table, 0, NULL },
                                            { "ranks and machine", machine_opt_table,
                                              offsetof(struct calibrate_opts, machine), NULL },
                                            { NULL, NULL, 0, NULL } };

struct run { /* shared by the ranks of this process */
    const struct calibrate_opts *opts;
    struct machine machine;
    bool is_root; /* rank 0 was in this process */
    bool spun;    /* as ranks waited */
    struct calibration result;
    struct refusal refusal; /* the compute of a rank does not open */
};

/* Servers work in the memory of the host: measured apart where workers do not. */
static enum rc measure_servers(struct calibration *c, const struct run *run, struct world *w)
{
    struct compute_bench bench;
    struct compute *compute = NULL;
    enum rc rc = RC_OK;

    if (!compute_has_own_memory(run->machine.compute))
        return RC_OK;
    TRY(machine_open_compute(&compute, &run->machine, w, &compute_cpu));
    TRY(compute_bench_measure(&bench, w, compute));
    c->server_flops_per_s = bench.flops_per_s.median;
    c->server_memory_bytes_per_s = bench.memory_bytes_per_s.median;
out:
    compute_close(&compute);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    const struct link_bench_env links = { w, run->machine.transport,
                                          machine_is_virtual(&run->machine) ? WAIT_FOREVER : MESSAGE_LIMIT_MS };
    struct calibration c = { .n_ranks = w->n_ranks };
    struct compute *compute = NULL;
    bool is_refused;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(machine_choose_wait(&run->machine, w));
    TRY(refusal_agree(w, &run->refusal, machine_open_compute(&compute, &run->machine, w, run->machine.compute),
                      &is_refused));
    if (is_refused)
        goto out;
    hold_at("measure", w->rank, 0);
    TRY(link_bench_measure(&c.links, &links));
    TRY(compute_bench_measure(&c.compute, w, compute));
    TRY(measure_servers(&c, run, w));
    if (w->rank == 0) {
        run->spun = w->wait == WAIT_SPIN;
        run->result = c;
        run->is_root = true;
    }
out:
    compute_close(&compute);
    return rc;
}

/* "my-cluster" of "folder/my-cluster.yaml" */
static void name_of_file(char out[sizeof((struct cluster *)0)->name], const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');

    snprintf(out, sizeof((struct cluster *)0)->name, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base),
             base);
}

/* As ranks waited, whether --wait or its auto chose that. */
static const char *waited(const struct run *run)
{
    return machine_is_virtual(&run->machine) ? "" : run->spun ? ", --wait spin" : ", --wait sleep";
}

/* In virtual time jitter is what the description says, however much. */
static bool is_doubtful(const struct run *run)
{
    return !machine_is_virtual(&run->machine) && calibration_is_noisy(&run->result);
}

/* What measured it, with what; in virtual time nothing of this machine, and no date: the same file each time. */
static void head_of_file(char *out, size_t n_bytes, const struct run *run)
{
    char version[96], date[32];

    manifest_version(version, sizeof version);
    manifest_date(date, sizeof date);
    snprintf(out, n_bytes,
             "SPDX-License-Identifier: Apache-2.0\nMeasured by gradmark calibrate%s%s%s%s: world %s, "
             "transport %s, compute %s, %d ranks on %d hosts%s.\n%s",
             machine_is_virtual(&run->machine) ? "" : " ", machine_is_virtual(&run->machine) ? "" : version,
             machine_is_virtual(&run->machine) ? "" : ", ", machine_is_virtual(&run->machine) ? "" : date,
             run->machine.world->module.name, run->machine.transport->module.name, run->machine.compute->module.name,
             run->machine.n_ranks, run->result.links.n_hosts, waited(run),
             is_doubtful(run) ? "Doubtful: " CALIBRATION_DOUBTFUL CALIBRATION_REMEDY : "");
}

static enum rc write_results(const struct run *run)
{
    const struct calibrate_opts *o = run->opts;
    char name[sizeof((struct cluster *)0)->name], head[512];
    struct cluster cluster;
    struct cluster_sources *sources = calloc(1, sizeof *sources);
    enum rc rc = RC_OK;

    if (!sources)
        FAIL(RC_NOMEM, "no memory for the description");
    TRY(calibrate_print(stdout, &run->result));
    snprintf(name, sizeof name, "%s", o->name);
    if (name[0] == '\0')
        name_of_file(name, o->out);
    TRY(calibration_describe(&cluster, sources, &run->result, name));
    if (is_doubtful(run))
        calibration_doubt(&cluster, sources, &run->result);
    head_of_file(head, sizeof head, run);
    TRY(cluster_write(&cluster, sources, head, o->out));
    terminal_note(stdout, "%s: written. gradmark info --cluster shows it, simulate --cluster uses it.", o->out);
    fflush(stdout);
out:
    free(sources);
    return rc;
}

/* All that can be wrong with the input. */
static enum rc prepare(struct run *run)
{
    const struct calibrate_opts *o = run->opts;
    char name[sizeof((struct cluster *)0)->name];
    struct cluster unused;
    enum rc rc;

    if (o->out[0] == '\0')
        return rc_raise(RC_INVAL, "--out: is missing; name a file for the description, such as my-cluster.yaml");
    if (strcmp(o->out, "-") == 0)
        return rc_raise(RC_INVAL, "--out -: name a file for the description; the table goes to standard output");
    cluster_default(&unused);
    if (cluster_key_set(&unused, cluster_key_find("name"), o->name) != RC_OK)
        return rc_raise(RC_INVAL, "--name: is longer than 63 bytes, or not printable; use a short name, as cluster-1");
    name_of_file(name, o->out);
    if (o->name[0] == '\0' && cluster_key_set(&unused, cluster_key_find("name"), name) != RC_OK)
        return rc_raise(RC_INVAL, "--out: the cluster would be called by a name that is not printable; give --name");
    TRY(machine_prepare(&run->machine, &o->machine, machine_sim_ranks_of_two_hosts));
    if (run->machine.is_root) {
        TRY(file_of_option(file_check_writable(o->out), "out"));
        TRY(file_of_option(file_check_new(o->out, o->force), "out"));
    }
out:
    return rc;
}

static enum rc calibrate_run(struct verb_call *call)
{
    struct run run = { .opts = call->opts };
    char farewell[4096 + 128];
    enum rc rc;

    TRY(prepare(&run));
    call->stage = STAGE_RUN;
    snprintf(farewell, sizeof farewell, "gradmark calibrate: stopped while it measured; %s is not written\n",
             run.opts->out);
    if (run.machine.is_root)
        last_words_set(farewell);
    const struct world_opts world = machine_world_opts(&run.machine);
    TRY(same_options_run(call, run.machine.world, &world, run.machine.n_ranks, body, &run));
    TRY(refusal_raise(&run.refusal, call));
    last_words_set(NULL);
    if (run.is_root)
        TRY(write_results(&run));
    if (run.is_root && call->output.json)
        TRY(used_cluster_print_json("out", run.opts->out, ""));
out:
    last_words_set(NULL);
    return rc;
}

static const struct verb_example examples[] = {
    { "calibrate --out here.yaml", "Measure two ranks on this machine" },
    { "calibrate --world sim --workers 4 --out sim.yaml", "Measure a simulated cluster, to try it" },
    { NULL, NULL },
};

static const struct verb_basics basics[] = {
    { "output", "out force name" },
    { "ranks", "workers threads bind wait" },
    { "network", "interface transport" },
    { "simulation", "world cluster cluster-set" },
    { NULL, NULL },
};

const struct verb verb_calibrate = {
    .name = "calibrate",
    .summary = "measure these machines as a cluster to simulate",
    .usage = "--out FILE.yaml [--option value ...]\n"
             "mpirun -np N gradmark calibrate --out FILE.yaml [--option value ...]",
    .introduction = "Measures links, processors and noise of these machines, and writes a description of the cluster. "
                    "Start one rank on each host. With one host alone the values between hosts are assumed.\n\n"
                    "Each value in the file has a comment: measured or assumed.",
    .example = examples,
    .basics = basics,
    .page = "predict",
    .has_records = true,
    .format = verb_format_table,
    .opts_bytes = sizeof(struct calibrate_opts),
    .group = groups,
    .rule = machine_opt_rules,
    .run = calibrate_run,
};
