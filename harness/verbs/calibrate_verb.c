/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate_verb.c - gradmark calibrate: measure what runs use, and write it as a description for the sim world. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/bench/calibration.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/cluster_write.h"
#include "harness/report/manifest.h"
#include "harness/train/train.h"
#include "harness/verbs/calibrate_report.h"
#include "harness/verbs/verb.h"
#include "harness/world/host_address.h"

enum { MAX_WORKERS = 65536, SIM_WORKERS = 16, MESSAGE_LIMIT_MS = 240000 };

#define STALL_WARN_NS UINT64_C(60000000000)
#define STALL_ABORT_NS UINT64_C(120000000000)

struct calibrate_opts {
    const char *world, *transport, *interface, *compute, *cluster, *protocol, *wait, *out, *name;
    struct opt_joined cluster_set;
    uint64_t workers, threads;
    bool bind;
};

static const struct opt table[] = {
    OPT_TEXT_(struct calibrate_opts, out, "out", "", "FILE.yaml",
              "write the description: for train, compare and info --cluster"),
    OPT_TEXT_(struct calibrate_opts, name, "name", "", "TEXT",
              "of the cluster; without it: that of the file, without folder and ending"),
    OPT_AUTO_MODULE_(struct calibrate_opts, world, "world", world_kind,
                     "how ranks run; auto: mpi under mpirun or srun, else threads"),
    OPT_U64_(struct calibrate_opts, workers, "workers", "", 1, MAX_WORKERS, "ranks",
             "that measure; without it: all that were launched, in threads 2, in sim those of two hosts, 16 at most"),
    OPT_AUTO_MODULE_(struct calibrate_opts, transport, "transport", transport_kind,
                     "what carries messages; auto: as train does for allreduce, inproc, mpi, or sim"),
    OPT_TEXT_(struct calibrate_opts, interface, "interface", "", "NAME|ADDRESS",
              "network interface at which other hosts reach a rank, mpi only, as for train"),
    OPT_CHOICE_(struct calibrate_opts, protocol, "protocol", "tcp", "tcp|rdma",
                "name in the file of what carries messages between hosts, where they have an overhead"),
    OPT_AUTO_MODULE_(struct calibrate_opts, compute, "compute", compute_kind,
                     "backend that is measured; auto: cpu, in sim hollow"),
    OPT_U64_(struct calibrate_opts, threads, "threads", "", 1, 1024, "threads",
             "of each rank; without it: the cores bound to it, 1 where cores are shared, and in sim"),
    OPT_BOOL_(struct calibrate_opts, bind, "bind", "true", "give each rank cores of its own"),
    OPT_CHOICE_(struct calibrate_opts, wait, "wait", "auto", "auto|spin|sleep",
                "how ranks wait for messages, as for train: measure as the runs will wait; auto: spin where each rank "
                "has a core of its host, but hosts that are namespaces of one machine do not know of each other"),
    OPT_TEXT_(struct calibrate_opts, cluster, "cluster", "", "PRESET|FILE",
              "the simulated cluster that is measured, sim only: what comes out is what went in"),
    OPT_JOINED_(struct calibrate_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of that description, sim only"),
    OPT_END_,
};

static const struct verb_group groups[] = { { "calibrate", table, 0 }, { NULL, NULL, 0 } };

static const struct opt_rule rules[] = {
    { "cluster", "world", NULL, WORLD_VIRTUAL_TIME },
    { "cluster-set", "world", NULL, WORLD_VIRTUAL_TIME },
};

struct run { /* shared by the ranks of this process */
    const struct calibrate_opts *opts;
    const struct world_ops *world;
    const struct transport_ops *transport;
    const struct compute_backend *compute;
    struct cluster cluster; /* sim */
    int n_ranks;
    bool is_root; /* rank 0 was in this process */
    bool spun;    /* as ranks waited */
    struct calibration result;
};

static bool is_virtual(const struct run *run)
{
    return run->world->module.caps & WORLD_VIRTUAL_TIME;
}

static void charge(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

static void tick(void *world)
{
    world_tick(world);
}

static enum rc open_compute(struct compute **out, const struct run *run, struct world *w,
                            const struct compute_backend *backend)
{
    const int n_given = (int)run->opts->threads, n_own = w->n_own_cores > 0 && !is_virtual(run) ? w->n_own_cores : 1;
    const struct compute_env env = { .charge = w->ops->charge ? charge : NULL,
                                     .tick = tick,
                                     .arg = w,
                                     .n_threads = n_given > 0 ? n_given : n_own,
                                     .may_spin = (n_given > 0 ? n_given : n_own) <= w->n_own_cores,
                                     .device = w->host_rank };

    return compute_open(out, backend, &env);
}

/* Servers work in the memory of the host: measured apart where workers do not. */
static enum rc measure_servers(struct calibration *c, const struct run *run, struct world *w)
{
    struct compute_bench bench;
    struct compute *compute = NULL;
    enum rc rc = RC_OK;

    if (run->compute->host_memory || !run->compute->touches_memory)
        return RC_OK;
    TRY(open_compute(&compute, run, w, &compute_cpu));
    TRY(compute_bench_measure(&bench, w, compute));
    c->server_flops_per_s = bench.flops_per_s.median;
    c->server_memory_bytes_per_s = bench.memory_bytes_per_s.median;
out:
    compute_close(&compute);
    return rc;
}

/* As asked for, or as ranks of a run wait: they spin where each has a core. */
static enum rc choose_wait(const struct run *run, struct world *w)
{
    const enum wait_policy asked = train_wait_policy(run->opts->wait);
    bool has_cores = asked == WAIT_SPIN;
    enum rc rc = RC_OK;

    if (is_virtual(run))
        return RC_OK;
    if (asked == WAIT_AUTO)
        TRY(world_has_cores(w, 1, &has_cores));
    world_set_wait(w, has_cores ? WAIT_SPIN : WAIT_SLEEP);
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;
    const struct link_bench_env links = { w, run->transport, is_virtual(run) ? WAIT_FOREVER : MESSAGE_LIMIT_MS };
    struct calibration c = { .n_ranks = w->n_ranks };
    struct compute *compute = NULL;
    enum rc rc;

    world_set_duty(w, &(struct peer_duty){ .phase = PHASE_PROBE, .step = -1, .bucket = -1 });
    TRY(choose_wait(run, w));
    TRY(open_compute(&compute, run, w, run->compute));
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
    return is_virtual(run) ? "" : run->spun ? ", --wait spin" : ", --wait sleep";
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
             is_virtual(run) ? "" : " ", is_virtual(run) ? "" : version, is_virtual(run) ? "" : ", ",
             is_virtual(run) ? "" : date, run->world->module.name, run->transport->module.name,
             run->compute->module.name, run->n_ranks, run->result.links.n_hosts, waited(run));
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
    TRY(calibration_describe(&cluster, sources, &run->result,
                             strcmp(o->protocol, "rdma") == 0 ? PROTOCOL_RDMA : PROTOCOL_TCP, name));
    head_of_file(head, sizeof head, run);
    TRY(cluster_write(&cluster, sources, head, o->out));
    printf("%s: written; gradmark info --cluster shows it, gradmark train --world sim --cluster simulates it\n",
           o->out);
    fflush(stdout);
out:
    free(sources);
    return rc;
}

static enum rc find_compute(struct run *run)
{
    const char *name = run->opts->compute;
    enum rc rc;

    for (int i = 0; strcmp(name, "auto") == 0 && compute_kind.at(i); i++) { /* the first that is right there */
        const struct compute_backend *b = (const struct compute_backend *)compute_kind.at(i);
        if (module_runs_in(&b->module, &run->world->module) && b->touches_memory != is_virtual(run))
            name = b->module.name;
    }
    TRY(compute_find(&run->compute, name));
    TRY(module_check_world(&compute_kind, &run->compute->module, &world_kind, &run->world->module));
out:
    return rc;
}

static enum rc find_transport(struct run *run)
{
    const bool is_auto = strcmp(run->opts->transport, "auto") == 0;
    const char *name = is_auto ? transport_auto(&run->world->module, 0) : run->opts->transport;
    enum rc rc;

    if (!name)
        FAIL(RC_UNSUPPORTED, "no transport of this program runs in world %s", run->world->module.name);
    TRY(transport_find(&run->transport, name));
    TRY(module_check_world(&transport_kind, &run->transport->module, &world_kind, &run->world->module));
out:
    return rc;
}

static enum rc find_ranks(struct run *run, int n_launched)
{
    const struct calibrate_opts *o = run->opts;
    const struct cluster *c = &run->cluster;
    const int n_hosts = c->n_hosts == 1 ? 1 : 2,
              n_held = n_hosts * (c->n_ranks_per_host < SIM_WORKERS ? c->n_ranks_per_host : SIM_WORKERS);

    if (run->world->module.caps & WORLD_LAUNCHED) {
        run->n_ranks = n_launched > 0 ? n_launched : 1;
        if (o->workers > 0 && o->workers != (uint64_t)run->n_ranks)
            return rc_raise(RC_INVAL, "--workers %llu: %d ranks were launched; leave it out, or launch as many",
                            (unsigned long long)o->workers, run->n_ranks);
        return RC_OK;
    }
    if (n_launched > 1)
        return rc_raise(RC_INVAL,
                        "--world %s: %d processes were launched; use --world mpi, or start without the launcher",
                        run->world->module.name, n_launched);
    run->n_ranks = o->workers > 0         ? (int)o->workers
                   : !is_virtual(run)     ? 2
                   : n_held < SIM_WORKERS ? n_held
                                          : SIM_WORKERS;
    return is_virtual(run) ? cluster_check(c, run->n_ranks, run->n_ranks) : RC_OK;
}

/* All that can be wrong with the input. */
static enum rc prepare(struct run *run)
{
    const struct calibrate_opts *o = run->opts;
    const struct launcher launcher = world_launcher();
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
    TRY(world_choose(&run->world, o->world, launcher.name && launcher.n_ranks > 0));
    TRY(host_address_check_option(o->interface, &run->world->module));
    if (is_virtual(run) && o->threads > 1)
        FAIL(RC_INVAL, "--threads %llu: world sim computes with one", (unsigned long long)o->threads);
    if (is_virtual(run) && train_wait_policy(o->wait) != WAIT_AUTO)
        FAIL(RC_INVAL, "--wait %s: world sim waits in virtual time", o->wait);
    TRY(find_transport(run));
    TRY(find_compute(run));
    TRY(file_of_option(cluster_find(&run->cluster, NULL, o->cluster), "cluster"));
    TRY(cluster_set(&run->cluster, NULL, o->cluster_set.text));
    TRY(find_ranks(run, launcher.name ? launcher.n_ranks : 0));
    if (launcher.rank == 0)
        TRY(file_of_option(file_check_writable(o->out), "out"));
out:
    return rc;
}

static enum rc calibrate_run(struct verb_call *call)
{
    struct run run = { .opts = call->opts };
    enum rc rc;

    TRY(prepare(&run));
    call->stage = STAGE_RUN;
    const struct world_opts world = { .bind_cores = run.opts->bind,
                                      .n_bound_ranks = run.n_ranks,
                                      .n_threads = (int)run.opts->threads,
                                      .interface = run.opts->interface,
                                      .cluster = is_virtual(&run) ? &run.cluster : NULL,
                                      .stall = { .warn_ns = STALL_WARN_NS, .abort_ns = STALL_ABORT_NS } };
    TRY(world_run(run.world, &world, run.n_ranks, body, &run));
    if (run.is_root)
        TRY(write_results(&run));
out:
    return rc;
}

const struct verb verb_calibrate = {
    .name = "calibrate",
    .summary = "measure links, processors and noise of these machines, and write them as a cluster to simulate",
    .opts_bytes = sizeof(struct calibrate_opts),
    .group = groups,
    .rule = rules,
    .n_rules = sizeof rules / sizeof *rules,
    .run = calibrate_run,
};
