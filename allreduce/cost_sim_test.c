/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost_sim_test.c RANKS - on a simulated 1 Gbit/s cluster, each reducer takes what its critical path says, and
 * ring beats root by the ratio the two formulas give; both within 10 %. Virtual time: no noise, a golden value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "allreduce/reducer.h"
#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_ELEMS = 1000000, TIMEOUT_MS = 600000 };

struct measured {
    double ring_s, root_s; /* the slowest rank */
};

static void charge(void *w, double flops, double bytes)
{
    world_charge(w, flops, bytes);
}

static enum rc time_reducer(double *slowest_s, struct world *w, struct transport *t, struct compute *c,
                            const char *name)
{
    const struct reduce_env env = { .transport = t, .compute = c, .timeout_ms = TIMEOUT_MS };
    const struct reducer *ops = NULL;
    struct reduction *reduction = NULL;
    double own_s, *all_s = NULL;
    enum rc rc;

    all_s = calloc((size_t)w->n_ranks, sizeof *all_s);
    if (!all_s)
        FAIL(RC_NOMEM, "no memory");
    TRY(reducer_find(&ops, name));
    TRY(reducer_open(&reduction, ops, &env, N_ELEMS));
    TRY(world_barrier(w));
    const uint64_t started_ns = world_now_ns(w);
    TRY(reducer_run(reduction, NULL, N_ELEMS));
    own_s = (double)(world_now_ns(w) - started_ns) * 1e-9;
    TRY(world_allgather(w, &own_s, all_s, sizeof own_s));
    *slowest_s = 0;
    for (int r = 0; r < w->n_ranks; r++)
        *slowest_s = all_s[r] > *slowest_s ? all_s[r] : *slowest_s;
out:
    reducer_close(&reduction);
    free(all_s);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    const struct compute_env env = { .charge = charge, .arg = w };
    const struct compute_backend *hollow = NULL;
    const struct transport_ops *sim = NULL;
    struct measured *out = arg, own;
    struct compute *c = NULL;
    struct transport *t = NULL;
    enum rc rc;

    TRY(compute_find(&hollow, "hollow"));
    TRY(compute_open(&c, hollow, &env));
    TRY(transport_find(&sim, "sim"));
    TRY(transport_open(&t, sim, w));
    TRY(time_reducer(&own.ring_s, w, t, c, "ring"));
    TRY(time_reducer(&own.root_s, w, t, c, "root"));
    if (w->rank == 0)
        *out = own;
out:
    transport_close(&t);
    compute_close(&c);
    return rc;
}

static double predict_s(const char *name, int n_ranks, const struct cluster *cluster)
{
    const struct reducer *ops = NULL;

    if (reducer_find(&ops, name) != RC_OK)
        return NAN;
    const struct cost path = ops->critical_path(NULL, n_ranks, N_ELEMS);
    const double add_s = 12.0 / cluster->memory_bytes_per_s; /* two floats read, one written */
    return (double)path.msgs * cluster->link_latency_s + (double)path.bytes / cluster->link_bytes_per_s +
           (double)path.adds * add_s;
}

static int differs(const char *what, double measured, double predicted)
{
    printf("%s: measured %.6g, predicted %.6g\n", what, measured, predicted);
    return !(fabs(measured / predicted - 1) < 0.1);
}

int main(int argc, char **argv)
{
    const int n_ranks = argc == 2 ? atoi(argv[1]) : 0;
    const struct world_ops *sim = NULL;
    struct measured measured = { 0 };
    struct cluster cluster;
    enum rc rc;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = &cluster };
    TRY(world_find(&sim, "sim"));
    TRY(world_run(sim, &opts, n_ranks, body, &measured));
    const double ring_s = predict_s("ring", n_ranks, &cluster), root_s = predict_s("root", n_ranks, &cluster);
    const int n_failures = differs("ring seconds", measured.ring_s, ring_s) +
                           differs("root seconds", measured.root_s, root_s) +
                           differs("root / ring", measured.root_s / measured.ring_s, root_s / ring_s) +
                           !(measured.root_s > measured.ring_s);
    return n_failures > 0;
out:
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return 1;
}
