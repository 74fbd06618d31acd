/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier_test.c threads|sim RANKS - nobody leaves a barrier before all have entered it, whoever comes late, and none
 * is mistaken for the next; in sim its time is that of its rounds.
 */
#include "allreduce/barrier.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"

enum { N_BARRIERS = 60, TIMEOUT_MS = 120000 };

#define LATE_NS UINT64_C(300000)

struct job {
    const char *transport;
    double round_s; /* sim: of a message; else 0 */
    _Atomic int n_entered, n_failures;
};

static void expect(struct job *job, int ok, const char *what, int rank, int i)
{
    if (!ok && atomic_fetch_add(&job->n_failures, 1) < 5)
        fprintf(stderr, "rank %d, barrier %d: %s\n", rank, i, what);
}

/* Rank i % p comes late to barrier i, in virtual time, too. */
static enum rc late_ranks(struct job *job, struct world *w, struct transport *t)
{
    enum rc rc = RC_OK;

    for (int i = 0; i < N_BARRIERS; i++) {
        if (i % w->n_ranks == w->rank)
            world_pause(w, LATE_NS);
        atomic_fetch_add(&job->n_entered, 1);
        TRY(barrier_run(t, TIMEOUT_MS));
        expect(job, atomic_load(&job->n_entered) >= (i + 1) * w->n_ranks, "left before all had entered", w->rank, i);
        expect(job, atomic_load(&job->n_entered) < (i + 2) * w->n_ranks, "some are two ahead", w->rank, i);
    }
out:
    return rc;
}

static enum rc rounds_cost(struct job *job, struct world *w, struct transport *t)
{
    const int n_rounds = barrier_n_rounds(w->n_ranks);
    enum rc rc;

    TRY(world_barrier(w));
    const struct traffic before = t->moved;
    const uint64_t started_ns = world_now_ns(w);
    TRY(barrier_run(t, TIMEOUT_MS));
    const double took_s = 1e-9 * (double)(world_now_ns(w) - started_ns);
    expect(job, t->moved.msgs_sent - before.msgs_sent == (uint64_t)n_rounds && t->moved.bytes_sent == before.bytes_sent,
           "sends other messages than its rounds", w->rank, 0);
    expect(job, job->round_s == 0 || fabs(took_s - n_rounds * job->round_s) < 1e-3 * job->round_s,
           "takes other time than its rounds", w->rank, 0);
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    const struct transport_ops *ops = NULL;
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_find(&ops, job->transport));
    TRY(transport_open(&t, ops, w));
    TRY(late_ranks(job, w, t));
    TRY(rounds_cost(job, w, t));
    TRY(world_barrier(w));
out:
    transport_close(&t);
    return rc;
}

static int rounds_are_logarithms(void)
{
    static const int n_ranks[] = { 1, 2, 3, 4, 5, 8, 9, 512, 513 }, n_rounds[] = { 0, 1, 2, 2, 3, 3, 4, 9, 10 };
    int n_wrong = 0;

    for (size_t i = 0; i < sizeof n_ranks / sizeof *n_ranks; i++)
        n_wrong += barrier_n_rounds(n_ranks[i]) != n_rounds[i];
    return n_wrong;
}

int main(int argc, char **argv)
{
    const bool is_sim = argc == 3 && strcmp(argv[1], "sim") == 0;
    const int n_ranks = argc == 3 ? atoi(argv[2]) : 0;
    const struct world_ops *world = NULL;
    struct cluster cluster;
    enum rc rc;

    cluster_default(&cluster);
    struct job job = { .transport = is_sim ? "sim" : "inproc", .round_s = is_sim ? cluster.link_latency_s : 0 };
    const struct world_opts opts = { .cluster = is_sim ? &cluster : NULL };
    TRY(world_find(&world, argc == 3 ? argv[1] : "threads"));
    TRY(world_run(world, &opts, n_ranks, body, &job));
    return rounds_are_logarithms() + atomic_load(&job.n_failures) > 0;
out:
    fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return 1;
}
