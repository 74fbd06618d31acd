/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.c - ranks, world, transport and compute of the subcommands that measure machines (calibrate, accept): their
 * options, resolved and checked; see machine.h.
 */
#include "harness/verbs/machine.h"

#include <string.h>

#include "harness/base/file.h"
#include "harness/base/rule.h"
#include "harness/train/rank_state.h"
#include "harness/train/train.h"
#include "harness/world/host_address.h"

enum { MAX_WORKERS = 65536 };

#define STALL_WARN_NS UINT64_C(60000000000)
#define STALL_ABORT_NS UINT64_C(120000000000)

const struct opt machine_opt_table[] = {
    OPT_AUTO_MODULE_(struct machine_opts, world, "world", world_kind,
                     "where ranks run. With auto it is mpi under mpirun, srun or flux run, and tcp under gradmark "
                     "launch. Otherwise ranks are threads of one process"),
    OPT_U64_(struct machine_opts, workers, "workers", "", 1, MAX_WORKERS, "",
             "number of ranks that measure (default: 2 threads, or all started ranks). In world sim the default is all "
             "ranks of the cluster, but at most 64 for comm, and at most 16 on two hosts for calibrate"),
    OPT_AUTO_MODULE_(struct machine_opts, transport, "transport", transport_kind,
                     "what carries messages. With auto it is inproc in world threads, mpi in world mpi, sim in world "
                     "sim, and zmq in world tcp"),
    OPT_TEXT_(struct machine_opts, interface, "interface", "", "NAME",
              "network at which other hosts reach a rank. NAME is a device, its IPv4 address, or a network as in "
              "10.0.0.0/24. For worlds mpi and tcp"),
    OPT_BOOL_(struct machine_opts, insecure, "insecure", "false",
              "do not encrypt messages between hosts. Without it transports zmq and tcp encrypt them (CURVE), except "
              "on the loopback"),
    OPT_BOOL_(struct machine_opts, secure, "secure", "false",
              "encrypt messages on the loopback, too. This shows what encryption costs"),
    OPT_AUTO_MODULE_(struct machine_opts, compute, "compute", compute_kind,
                     "backend of the arithmetic. With auto it is cpu, and hollow in world sim. With hollow the time is "
                     "simulated and nothing is computed"),
    OPT_U64_(struct machine_opts, threads, "threads", "", 1, 1024, "",
             "threads of each rank (default: the cores bound to it). The default is 1 where ranks share cores, and in "
             "world sim"),
    OPT_BOOL_(struct machine_opts, bind, "bind", "true", "give each rank its own cores"),
    OPT_CHOICE_(
        struct machine_opts, wait, "wait", "auto", "auto|spin|sleep",
        "how ranks wait for messages. With spin they spin for about 100 us before they sleep; over ipc, tcp and zmq "
        "only if each rank of the host has two cores. With auto they "
        "spin if each rank has a core, or two with gloo and nccl. Measure as your trainings will wait. Network "
        "namespaces of one machine do not know of each other: give them sleep"),
    OPT_FILE_(
        struct machine_opts, cluster, "cluster", OPT_READ, "", "PRESET|FILE",
        "simulated cluster: a built-in name, or a YAML file. Only in world sim. See gradmark info --cluster NAME"),
    OPT_JOINED_(struct machine_opts, cluster_set, "cluster-set", "KEY=VALUE",
                "change a value of the simulated cluster. Only in world sim"),
    OPT_END_,
};

const struct opt_rule machine_opt_rules[] = {
    { "cluster", "world", NULL, WORLD_VIRTUAL_TIME },
    { "cluster-set", "world", NULL, WORLD_VIRTUAL_TIME },
    { NULL, NULL, NULL, 0 },
};

enum fact { INSECURE, N_FACTS };

static const struct rule rows[] = { { "secure", NULL, INSECURE, WORLD_SECURE_REFUSED } };

const struct rules machine_rules = { .table = (const struct opt *const[]){ machine_opt_table, NULL },
                                     .row = rows,
                                     .n_rows = sizeof rows / sizeof *rows,
                                     .fact_words = (const char *const[]){ [INSECURE] = "--insecure" } };

bool machine_is_virtual(const struct machine *m)
{
    return m->world->module.caps & WORLD_VIRTUAL_TIME;
}

static void charge(void *world, double flops, double bytes)
{
    world_charge(world, flops, bytes);
}

int machine_n_threads(const struct machine *m, const struct world *w)
{
    if (m->opts->threads > 0)
        return (int)m->opts->threads;
    return w->n_own_cores > 0 && !machine_is_virtual(m) ? w->n_own_cores : 1;
}

enum rc machine_open_compute(struct compute **out, const struct machine *m, struct world *w,
                             const struct compute_backend *backend)
{
    const int n_threads = machine_n_threads(m, w);
    int device = 0;
    enum rc rc;

    TRY(rank_device_number(&device, backend, w->host_rank));
    const struct compute_env env = { .charge = w->ops->charge ? charge : NULL,
                                     .tick = world_tick_callback,
                                     .arg = w,
                                     .n_threads = n_threads,
                                     .may_spin = n_threads <= w->n_own_cores,
                                     .device = device };
    TRY(compute_open(out, backend, &env));
out:
    return rc;
}

/* As asked for, or as ranks of a run wait: they spin where each has a core. */
enum rc machine_choose_wait(const struct machine *m, struct world *w)
{
    const enum wait_policy asked = train_wait_policy(m->opts->wait);
    bool has_cores = asked == WAIT_SPIN;
    enum rc rc = RC_OK;

    if (machine_is_virtual(m))
        return RC_OK;
    if (asked == WAIT_AUTO)
        TRY(world_has_cores(w, 1, &has_cores));
    world_set_wait(w, has_cores ? WAIT_SPIN : WAIT_SLEEP);
out:
    return rc;
}

/* --- all that can be wrong with the options --- */

static enum rc find_compute(struct machine *m)
{
    const char *name = m->opts->compute;
    enum rc rc;

    for (int i = 0; strcmp(name, "auto") == 0 && compute_kind.at(i); i++) { /* the first that is right there */
        const struct compute_backend *b = (const struct compute_backend *)compute_kind.at(i);
        if (module_runs_in(&b->module, &m->world->module) && b->touches_memory != machine_is_virtual(m))
            name = b->module.name;
    }
    TRY(compute_find(&m->compute, name));
    TRY(module_check_world(&compute_kind, &m->compute->module, &world_kind, &m->world->module));
out:
    return rc;
}

static enum rc find_transport(struct machine *m)
{
    const bool is_auto = strcmp(m->opts->transport, "auto") == 0;
    const char *name = is_auto ? transport_auto(&m->world->module, 0) : m->opts->transport;
    enum rc rc;

    if (!name)
        FAIL(RC_UNSUPPORTED, "no transport of this program runs in world %s", m->world->module.name);
    TRY(transport_find(&m->transport, name));
    TRY(module_check_world(&transport_kind, &m->transport->module, &world_kind, &m->world->module));
    TRY(transport_check_encrypts(m->transport, m->security == SECURITY_ON));
    TRY(transport_check_host(m->transport, &m->world->module, m->opts->interface));
out:
    return rc;
}

int machine_sim_ranks_of_two_hosts(const struct cluster *c)
{
    enum { MOST = 16 };
    const int n_hosts = c->n_hosts == 1 ? 1 : 2, n_each = c->n_ranks_per_host < MOST ? c->n_ranks_per_host : MOST;

    return n_hosts * n_each < MOST ? n_hosts * n_each : MOST;
}

static enum rc find_ranks(struct machine *m, machine_sim_ranks_fn *sim_ranks, int n_launched)
{
    const uint64_t n_servers = m->opts->n_servers, n_asked = m->opts->workers > 0 ? m->opts->workers + n_servers : 0;

    if (m->world->module.caps & WORLD_LAUNCHED) {
        m->n_ranks = n_launched > 0 ? n_launched : 1;
        if (n_asked > 0 && n_asked != (uint64_t)m->n_ranks)
            return rc_raise(RC_INVAL, "--workers %llu: %d ranks were launched%s; leave it out, or launch as many",
                            (unsigned long long)m->opts->workers, m->n_ranks,
                            n_servers > 0 ? ", servers among them" : "");
        return RC_OK;
    }
    if (n_launched > 1)
        return rc_raise(RC_INVAL,
                        "--world %s: %d processes were launched; use --world %s, or start without the launcher",
                        m->world->module.name, n_launched, world_of_launcher());
    m->n_ranks = n_asked > 0             ? (int)n_asked
                 : n_servers > 0         ? (int)n_servers + 1
                 : machine_is_virtual(m) ? sim_ranks(&m->cluster)
                                         : 2;
    return machine_is_virtual(m) ? cluster_check(&m->cluster, m->n_ranks, m->n_ranks) : RC_OK;
}

enum rc machine_prepare(struct machine *out, const struct machine_opts *opts, machine_sim_ranks_fn *sim_ranks)
{
    const struct launcher launcher = world_launcher();
    struct machine m = { .opts = opts, .is_root = launcher.rank == 0 };
    enum rc rc;

    TRY(world_choose(&m.world, opts->world, launcher.name && launcher.n_ranks > 0));
    TRY(host_address_check_option(opts->interface, &m.world->module));
    const char *why = rules_why(&machine_rules, (const bool[N_FACTS]){ [INSECURE] = opts->insecure }, "secure");
    if (opts->secure && why)
        FAIL(RC_INVAL, "--secure: %s", why);
    m.security = world_security_option(opts->insecure, opts->secure);
    if (machine_is_virtual(&m) && opts->threads > 1)
        FAIL(RC_INVAL, "--threads %llu: world sim computes with one", (unsigned long long)opts->threads);
    if (machine_is_virtual(&m) && train_wait_policy(opts->wait) != WAIT_AUTO)
        FAIL(RC_INVAL, "--wait %s: world sim waits in virtual time", opts->wait);
    TRY(find_transport(&m));
    TRY(find_compute(&m));
    TRY(file_of_option(cluster_find(&m.cluster, NULL, opts->cluster), "cluster"));
    TRY(cluster_set(&m.cluster, NULL, opts->cluster_set.text));
    TRY(file_of_option(cluster_check_compute(&m.cluster), "cluster"));
    TRY(find_ranks(&m, sim_ranks, launcher.name ? launcher.n_ranks : 0));
    *out = m;
out:
    return rc;
}

struct world_opts machine_world_opts(const struct machine *m)
{
    return (struct world_opts){ .bind_cores = m->opts->bind,
                                .n_bound_ranks = m->n_ranks,
                                .n_threads = (int)m->opts->threads,
                                .interface = m->opts->interface,
                                .security = m->security,
                                .cluster = machine_is_virtual(m) ? &m->cluster : NULL,
                                .stall = { .warn_ns = STALL_WARN_NS, .abort_ns = STALL_ABORT_NS } };
}
