/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_verb.c - gradmark calibrate: measure what runs use, and write it as a description for the sim world. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/hold.h"
#include "harness/bench/calibration.h"
#include "harness/campaign/last_words.h"
#include "harness/campaign/prediction_inputs.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/report/manifest.h"
#include "harness/verbs/calibrate_report.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/refusal.h"
#include "harness/verbs/same_options.h"
#include "harness/verbs/verb.h"

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

/* What measured it, with what; in virtual time nothing of this machine, and no date: the same file each time. */
static void head_of_file(char *out, size_t n_bytes, const struct run *run)
{
    char version[96], date[32];

    manifest_version(version, sizeof version);
    manifest_date(date, sizeof date);
    snprintf(out, n_bytes,
             "SPDX-License-Identifier: Apache-2.0\nMeasured by gradmark calibrate%s%s%s%s: world %s, "
             "transport %s, compute %s, %d ranks on %d hosts%s.\n",
             machine_is_virtual(&run->machine) ? "" : " ", machine_is_virtual(&run->machine) ? "" : version,
             machine_is_virtual(&run->machine) ? "" : ", ", machine_is_virtual(&run->machine) ? "" : date,
             run->machine.world->module.name, run->machine.transport->module.name, run->machine.compute->module.name,
             run->machine.n_ranks, run->result.links.n_hosts, waited(run));
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
    head_of_file(head, sizeof head, run);
    TRY(cluster_write(&cluster, sources, head, o->out));
    printf("%s: written. gradmark info --cluster shows it, simulate --cluster uses it.\n", o->out);
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
        return rc_raise(RC_INVAL, "--name: is longer than 63 bytes, or not printable");
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
