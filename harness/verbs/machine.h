/* SPDX-License-Identifier: Apache-2.0 */
/*
 * machine.h - who measures: the ranks, world, transport and compute that verbs take which measure machines themselves
 * (calibrate, accept), as options, resolved and checked.
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
    uint64_t n_servers; /* no option: ranks behind the workers, of a verb that has them; else 0 */
};
extern const struct opt machine_opt_table[];
enum { MACHINE_N_OPT_RULES = 2 };
extern const struct opt_rule machine_opt_rules[MACHINE_N_OPT_RULES];

struct machine { /* shared by the ranks of this process */
    const struct machine_opts *opts;
    const struct world_ops *world;
    enum world_security security;
    const struct transport_ops *transport;
    const struct compute_backend *compute;
    struct cluster cluster; /* sim */
    int n_ranks;            /* with servers */
    bool is_root;           /* the launcher's rank 0, or nothing was launched */
};

/* How many ranks a description has that measure in sim, where --workers is not given. */
typedef int machine_sim_ranks_fn(const struct cluster *c);
/* Those of two hosts, 16 at most. */
int machine_sim_ranks_of_two_hosts(const struct cluster *c);
/* All that can be wrong with the options. Borrows opts. RC_INVAL, RC_UNSUPPORTED: names the option. */
enum rc machine_prepare(struct machine *out, const struct machine_opts *opts,
                        machine_sim_ranks_fn *sim_ranks) MUST_CHECK;
bool machine_is_virtual(const struct machine *m);
/* What it asks of its world. Borrows m. */
struct world_opts machine_world_opts(const struct machine *m);
/* How this rank waits, as --wait says: spin where each has a core. Collective. */
enum rc machine_choose_wait(const struct machine *m, struct world *w) MUST_CHECK;
/* Of this rank's compute: as --threads says, else its own cores. */
int machine_n_threads(const struct machine *m, const struct world *w);
/* Of m->compute, or of another. */
enum rc machine_open_compute(struct compute **out, const struct machine *m, struct world *w,
                             const struct compute_backend *backend) MUST_CHECK;

#endif
