/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_memory_test.c WORLD - memory_suite in a world; of sim on hosts of two ranks.
 * exchange_memory_test.c WORLD MUTANT - on a wrong version, which some rank must notice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/exchange/suite/memory_suite.h"
#include "harness/world/world.h"

enum { N_RANKS = 6 }; /* five workers and a server; not in mpi, whose ranks are launched */

struct run {
    const struct memory_impl *impl;
    bool quiet;
    _Atomic int n_failures;
};

static enum rc body(struct world *w, void *arg)
{
    struct run *run = arg;

    run->n_failures += memory_suite(w, run->impl, run->quiet);
    return RC_OK;
}

int main(int argc, char **argv)
{
    const struct memory_impl *mutant = argc == 3 ? memory_mutant(argv[2]) : NULL;
    struct run run = { .impl = mutant ? mutant : &memory_impl_real, .quiet = mutant != NULL };
    const struct world_ops *ops = NULL;
    struct cluster cluster;

    if (argc < 2 || (argc == 3 && !mutant) || world_find(&ops, argv[1]) != RC_OK)
        return 2;
    cluster_default(&cluster);
    cluster.n_hosts = 3;
    cluster.n_ranks_per_host = RANKS_PER_SIM_HOST;
    const struct world_opts opts = { .cluster = &cluster };
    const enum rc rc = world_run(ops, &opts, ops->module.caps & WORLD_LAUNCHED ? 0 : N_RANKS, body, &run);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    if (mutant)
        return run.n_failures == 0 || rc != RC_OK;
    return run.n_failures > 0 || rc != RC_OK;
}
