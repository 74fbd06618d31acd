/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost_sim_test.c RANKS [PER-HOST [COLLECTIVE [N_ELEMS [eager]]]] - on a simulated 1 Gbit/s cluster, each type of each
 * algorithm takes as long as its critical path says, within 10 %. It runs with many bytes, with few for each rank, and
 * with one element, which some ranks never get. A ring's allreduce beats root's by the ratio of the two formulas. An
 * algorithm that chooses takes as long as the fastest. Time is virtual: no noise, a golden value.
 *   PER-HOST: ranks of a host. Above 1: of algorithms alone that work in the memory of hosts, and of the allreduce of
 *   one that chooses. COLLECTIVE: that one alone. N_ELEMS: with so many elements alone; 0:
 *   all. eager: not where senders wait until a message has arrived, which the path of the algorithm does not ask.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/collective_list.h"
#include "allreduce/rates.h"
#include "harness/cluster/cluster.h"
#include "harness/compute/compute.h"
#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { MANY_ELEMS = 1000000, FEW_ELEMS = 25, TIMEOUT_MS = 600000, MAX_RUNS = 256, MAX_RANKS = 64 };

/* More than a tick of the clock, by which two measured times of equal work may differ. */
#define CLOCK_ERROR_S 1.5e-9

struct run { /* one of those that are timed */
    const struct collective_ops *ops;
    struct collective_call call;
    double measured_s; /* of the slowest rank */
};

struct job {
    struct run run[MAX_RUNS];
    int n_runs, n_per_host;
    int n_planned; /* n_runs, or there are more than fit */
};

static void charge(void *w, double flops, double bytes)
{
    world_charge(w, flops, bytes);
}

static enum rc time_run(double *slowest_s, struct world *w, struct transport *t, struct compute *c,
                        const struct run *run)
{
    const struct collective_env env = { .kind = &collective_kind,
                                        .transport = t,
                                        .compute = c,
                                        .timeout_ms = TIMEOUT_MS,
                                        .types = run->call.type,
                                        .narrow = run->call.wire != WIRE_F32,
                                        .max_elems = run->call.n_elems };
    struct collective *collective = NULL;
    double own_s, *all_s = NULL;
    enum rc rc;

    all_s = calloc((size_t)w->n_ranks, sizeof *all_s);
    if (!all_s)
        FAIL(RC_NOMEM, "no memory");
    rc = collective_open(&collective, run->ops, &env);
    if (rc == RC_UNSUPPORTED) { /* it needs one host */
        *slowest_s = NAN;
        rc = RC_OK;
        goto out;
    }
    TRY(rc);
    TRY(world_barrier(w));
    const uint64_t started_ns = world_now_ns(w);
    TRY(collective_run(collective, &run->call, NULL));
    own_s = (double)(world_now_ns(w) - started_ns) * 1e-9;
    TRY(world_allgather(w, &own_s, all_s, sizeof own_s));
    *slowest_s = 0;
    for (int r = 0; r < w->n_ranks; r++)
        *slowest_s = all_s[r] > *slowest_s ? all_s[r] : *slowest_s;
out:
    collective_close(&collective);
    free(all_s);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    const struct compute_env env = { .charge = charge, .arg = w };
    const struct compute_backend *hollow = NULL;
    const struct transport_ops *sim = NULL;
    struct job *job = arg;
    struct compute *c = NULL;
    struct transport *t = NULL;
    enum rc rc;

    TRY(compute_find(&hollow, "hollow"));
    TRY(compute_open(&c, hollow, &env));
    TRY(transport_find(&sim, "sim"));
    TRY(transport_open(&t, sim, w));
    for (int i = 0; i < job->n_runs; i++) {
        double slowest_s = 0;
        TRY(time_run(&slowest_s, w, t, c, &job->run[i]));
        if (w->rank == 0)
            job->run[i].measured_s = slowest_s;
    }
out:
    transport_close(&t);
    compute_close(&c);
    return rc;
}

static uint64_t eager_bytes_of(const struct cluster *c)
{
    return c->protocol == PROTOCOL_TCP ? (uint64_t)c->tcp.eager_bytes : 0;
}

static double predicted_s(const struct run *run, int n_ranks, const struct cluster *cluster)
{
    int host[MAX_RANKS];

    for (int r = 0; r < n_ranks; r++)
        host[r] = r / cluster->n_ranks_per_host;
    const struct collective_cost path = run->ops->critical_path(
        NULL, &run->call,
        &(struct collective_group){ .n_ranks = n_ranks, .host = host, .eager_bytes = eager_bytes_of(cluster) });

    const struct rates rates = { .alpha_s = cluster->link_latency_s,
                                 .bytes_per_s = cluster->link_bytes_per_s,
                                 .memory_bytes_per_s = cluster->memory_bytes_per_s,
                                 .adds_meanwhile = true };

    return rates_time_s(&rates, &path, 0);
}

static int differs(const char *name, const struct collective_call *call, double measured, double predicted)
{
    const int is_far = !(fabs(measured / predicted - 1) < 0.1 || fabs(measured - predicted) < CLOCK_ERROR_S);

    printf("%s, %s of %zu elements of %zu bytes: measured %.6g, predicted %.6g%s\n", name,
           collective_type_name(call->type), call->n_elems, wire_elem_bytes(call->wire), measured, predicted,
           is_far ? ": MORE THAN 10 % APART" : "");
    return is_far;
}

/* Of n_elems; in 32 bits and, where it can, in 16. */
static void plan_call(struct job *job, const struct module *m, unsigned type, size_t n_elems)
{
    const enum wire_format last = type == COLL_ALLREDUCE && m->caps & COLL_NARROW ? WIRE_F16 : WIRE_F32;

    for (enum wire_format wire = WIRE_F32; wire <= last; wire++)
        if (job->n_planned++ < MAX_RUNS)
            job->run[job->n_runs++] =
                (struct run){ (const struct collective_ops *)m,
                              { .type = (enum collective_type)type, .root = 1, .n_elems = n_elems, .wire = wire },
                              0 };
}

static bool chooses(const struct module *m)
{
    return ((const struct collective_ops *)m)->chosen != NULL;
}

/* Of those that have the same call, and are not there for comparison alone, the least time. */
static double fastest_s(const struct job *job, const struct run *of)
{
    double s = INFINITY;

    for (int i = 0; i < job->n_runs; i++) {
        const struct run *run = &job->run[i];
        if (!chooses(&run->ops->module) && !(run->ops->module.caps & COLL_REFERENCE) &&
            run->call.type == of->call.type && run->call.n_elems == of->call.n_elems && run->call.wire == of->call.wire)
            s = fmin(s, run->measured_s); /* NaN: it cannot run here */
    }
    return s;
}

/* Every type of every algorithm, or the named one: many elements, few, and one; or n_elems alone, if it is not 0. */
static void plan(struct job *job, const char *name, size_t n_elems)
{
    const size_t n_all[] = { n_elems > 0 ? n_elems : MANY_ELEMS, FEW_ELEMS, 1 };
    const struct module *m;

    for (int i = 0; (m = collective_kind.at(i)); i++)
        for (unsigned type = 1; type < COLL_TYPES_END; type <<= 1)
            for (int k = 0; k < (n_elems > 0 ? 1 : 3); k++)
                if (m->caps & type && !(m->refuses_world & WORLD_VIRTUAL_TIME) && (!name || strcmp(name, m->name) == 0))
                    plan_call(job, m, type, n_all[k]);
}

static const struct run *find_run(const struct job *job, const char *name)
{
    const struct collective_ops *ops = NULL;

    if (collective_find(&ops, &collective_kind, name) != RC_OK)
        return NULL;
    for (int i = 0; i < job->n_runs; i++)
        if (job->run[i].ops == ops && job->run[i].call.type == COLL_ALLREDUCE &&
            job->run[i].call.n_elems == MANY_ELEMS && job->run[i].call.wire == WIRE_F32)
            return &job->run[i];
    return NULL;
}

/* On this cluster. *n_failures and *n_runs: added to. */
static enum rc compare(int *n_failures, int *n_runs, struct job *job, int n_ranks, const struct cluster *cluster)
{
    const struct world_opts opts = { .cluster = cluster };
    const struct world_ops *sim = NULL;
    enum rc rc;

    TRY(world_find(&sim, "sim"));
    TRY(world_run(sim, &opts, n_ranks, body, job));
    for (int i = 0; i < job->n_runs; i++) {
        const struct run *run = &job->run[i];
        const unsigned caps = run->ops->module.caps;
        if (isnan(run->measured_s))
            continue;
        const bool is_sum = run->call.type == COLL_ALLREDUCE && run->call.wire == WIRE_F32;
        if (job->n_per_host > 1 && (!(caps & COLL_SHARED) || (chooses(&run->ops->module) && !is_sum)))
            continue; /* ranks share a link, and messages inside a simulated host pass without its memory: the costs of
                         messages know neither, and of sums in 16 bits halving and doubling is then 11 % faster */
        *n_failures += differs(run->ops->module.name, &run->call, run->measured_s,
                               chooses(&run->ops->module) ? fastest_s(job, run) : predicted_s(run, n_ranks, cluster));
        ++*n_runs;
    }
out:
    return rc;
}

int main(int argc, char **argv)
{
    const int n_ranks = argc > 1 ? atoi(argv[1]) : 0;
    struct job job = { 0 };
    struct cluster cluster;
    int n_failures = 0, n_runs = 0;
    enum rc rc;

    cluster_default(&cluster);
    job.n_per_host = cluster.n_ranks_per_host = argc > 2 ? atoi(argv[2]) : 1;
    plan(&job, argc > 3 ? argv[3] : NULL, argc > 4 ? (size_t)atol(argv[4]) : 0);
    if (job.n_planned == 0 || job.n_planned != job.n_runs)
        return 1;
    if (job.n_per_host == 1 && argc <= 5) {
        struct cluster waiting = cluster; /* the same links, whose senders wait until a message has arrived */
        waiting.protocol = PROTOCOL_TCP;
        waiting.tcp = (struct protocol_cost){ .eager_bytes = 1, .rate_ratio = 1 };
        printf("senders wait:\n");
        TRY(compare(&n_failures, &n_runs, &job, n_ranks, &waiting));
        printf("no sender waits:\n");
    }
    TRY(compare(&n_failures, &n_runs, &job, n_ranks, &cluster));
    if (job.n_per_host > 1 || argc > 3)
        return n_runs == 0 || n_failures > 0;
    const struct run *ring = find_run(&job, "ring"), *root = find_run(&job, "root");
    if (!ring || !root)
        return 1;
    n_failures += differs("root / ring", &ring->call, root->measured_s / ring->measured_s,
                          predicted_s(root, n_ranks, &cluster) / predicted_s(ring, n_ranks, &cluster));
    return n_failures + !(root->measured_s > ring->measured_s) > 0;
out:
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return 1;
}
