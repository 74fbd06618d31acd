/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - ranks, world, transport and compute of the subcommands that measure machines (calibrate, accept): their
 * options, resolved and checked.
 */
#ifndef HARNESS_VERBS_MACHINE_H
#define HARNESS_VERBS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/opt.h"
#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

struct machine_opts {
    const char *world, *transport, *interface, *compute, *cluster, *wait;
    struct opt_joined cluster_set;
    uint64_t workers, threads;
    bool bind, insecure, secure;
    uint64_t n_servers; /* not an option: ranks after the workers, for a subcommand that has servers; else 0 */
};
extern const struct opt machine_opt_table[];
extern const struct opt_rule machine_opt_rules[];
extern const struct rules machine_rules; /* which of them do not go together: base/rule.h */

struct machine { /* shared by the ranks of this process */
    const struct machine_opts *opts;
    const struct world_ops *world;
    enum world_security security;
    const struct transport_ops *transport;
    const struct compute_backend *compute;
    struct cluster cluster; /* sim */
    int n_ranks;            /* including servers */
    bool is_root;           /* the launcher's rank 0, or no launcher */
};

/* Number of ranks that measure a description in sim if --workers is not given. */
typedef int machine_sim_ranks_fn(const struct cluster *c);
/* The ranks of two hosts, at most 16. */
int machine_sim_ranks_of_two_hosts(const struct cluster *c);
/* Check all options. Borrows opts. RC_INVAL, RC_UNSUPPORTED: names the option. */
enum rc machine_prepare(struct machine *out, const struct machine_opts *opts,
                        machine_sim_ranks_fn *sim_ranks) MUST_CHECK;
bool machine_is_virtual(const struct machine *m);
/* World options that the machine needs. Borrows m. */
struct world_opts machine_world_opts(const struct machine *m);
/* Choose how this rank waits, from --wait: spin if each rank has a core. Collective. */
enum rc machine_choose_wait(const struct machine *m, struct world *w) MUST_CHECK;
/* Threads of this rank's compute: --threads, else its own cores. */
int machine_n_threads(const struct machine *m, const struct world *w);
/* Open m->compute, or another backend. */
enum rc machine_open_compute(struct compute **out, const struct machine *m, struct world *w,
                             const struct compute_backend *backend) MUST_CHECK;

#endif
