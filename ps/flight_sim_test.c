/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flight_sim_test.c - eight or sixteen chunks to four servers, in virtual time: all
 * at once they take what the link of the worker takes for them, one after the other the sum of their round trips.
 *
 * A chunk is a quarter on each server. m: the time of such a part on the link of the worker, a: its latency. At once:
 * 32 parts go up; the answers to a chunk come down while the next goes up, and those to the last behind it: 36 m + 2 a.
 * Sixteen, each in a slot of its own (wire.P4): 68 m + 2 a.
 * Two at once: the link is idle before every other chunk until the answers to the one two before it are there, for 2 a:
 * 36 m + 8 a. In turn: each chunk is 4 m + a up, and as much down: 64 m + 16 a. The bound knows that one answer comes
 * down behind the last push, 33 m, and of each row of chunks in turn that a part goes up and one down. Work on
 * processors takes no time here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/exchange/exchange.h"
#include "harness/net/transport.h"
#include "harness/world/world.h"
#include "ps/ps.h"

enum { MOST_CHUNKS = 16, N_SERVERS = 4, PART_ELEMS = 25000, CHUNK_ELEMS = N_SERVERS * PART_ELEMS, N_STEPS = 3 };
enum { PART_BYTES = 64 + 4 * PART_ELEMS };

#define NO_TIME 1e18 /* of work on processors: its rate */

struct way {
    const char *name;
    int n_chunks, n_in_flight;
    double n_parts, n_latencies; /* of a step: m, a */
    double n_in_turn;            /* of the bound */
};

static const struct way ways[] = { { "at-once", 8, PS_CREDITS, 36, 2, 2 },
                                   { "two-at-once", 8, 2, 36, 8, 8 },
                                   { "in-turn", 8, 1, 64, 16, 16 },
                                   { "sixteen", 16, PS_MOST_CREDITS, 68, 2, 2 } };
enum { N_WAYS = sizeof ways / sizeof *ways };

struct play {
    const struct way *way;
    double latency_s, part_s;
    double step_s[N_STEPS];
    struct exchange_cost cost[N_STEPS];
    struct wire_plan plan;
    float first, last; /* parameters, at the end */
};

static size_t n_params(const struct play *p)
{
    return (size_t)p->way->n_chunks * CHUNK_ELEMS;
}

static enum rc work(struct play *p, struct world *w, struct exchange *x, struct compute *c)
{
    float *grad = exchange_grad(x);
    enum rc rc = RC_OK;

    for (size_t i = 0; i < n_params(p); i++)
        grad[i] = 1;
    p->plan = exchange_wire_plan(x);
    for (int step = 0; step < N_STEPS; step++) {
        const uint64_t start_ns = world_now_ns(w);
        uint64_t now_ns = start_ns;
        TRY(exchange_begin(x, (uint64_t)step, 1));
        TRY(compute_sync(c));
        TRY(exchange_submit(x, NULL, now_ns));
        TRY(exchange_await_all(x, &now_ns));
        p->step_s[step] = 1e-9 * (double)(now_ns - start_ns);
        p->cost[step] = exchange_cost(x);
    }
    p->first = exchange_param(x)[0];
    p->last = exchange_param(x)[n_params(p) - 1];
    TRY(exchange_final(x, NULL));
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    static struct segment layout[MOST_CHUNKS];
    const struct initial_state from = { .n_running = 0 };
    const struct transport_ops *sim = NULL;
    struct play *p = arg;
    struct compute *c = NULL;
    struct exchange *x = NULL;
    enum rc rc;

    for (size_t i = 0; i < MOST_CHUNKS; i++)
        layout[i] = (struct segment){ i * CHUNK_ELEMS, CHUNK_ELEMS };
    TRY(transport_find(&sim, "sim"));
    TRY(compute_open(&c, &compute_cpu, &(struct compute_env){ .n_threads = 1 }));
    const struct exchange_env env = { .world = w,
                                      .compute = c,
                                      .mode = &sync_ps,
                                      .transport = sim,
                                      .segment = layout,
                                      .n_segments = (size_t)p->way->n_chunks,
                                      .n_workers = 1,
                                      .n_servers = N_SERVERS,
                                      .opts = { .buckets = { .bucket_bytes = CHUNK_ELEMS * sizeof(float) },
                                                .placement = { PLACEMENT_CHUNK, PART_ELEMS * sizeof(float) },
                                                .n_in_flight = p->way->n_in_flight },
                                      .optimizer = optimizer_sgd(0, 0),
                                      .n_steps = N_STEPS };
    TRY(exchange_open(&x, &env));
    TRY(exchange_start(x, &from));
    TRY(w->rank == 0 ? work(p, w, x, c) : exchange_serve(x, 0));
out:
    exchange_close(&x);
    compute_close(&c);
    return rc;
}

static int expect(const struct way *way, const char *what, double is, double should)
{
    if (fabs(is - should) <= 1e-3 * fabs(should))
        return 0;
    fprintf(stderr, "%s: %s: %.6g, not %.6g\n", way->name, what, is, should);
    return 1;
}

static int check(const struct play *p)
{
    const double want_s = p->way->n_parts * p->part_s + p->way->n_latencies * p->latency_s;
    int n_failures = 0;

    for (int step = 0; step < N_STEPS; step++) {
        const struct exchange_cost *c = &p->cost[step];
        const double waited_ns = (double)c->waited_ns;
        n_failures += expect(p->way, "seconds of a step", p->step_s[step], want_s);
        n_failures += expect(p->way, "ns waited", waited_ns, 1e9 * want_s);
        n_failures += expect(p->way, "ns of all its parts (X1)",
                             (double)(c->exchange_ns + c->server_ns + c->apply_ns + c->held_ns), waited_ns);
        n_failures += c->hidden_ns != 0;
    }
    n_failures += expect(p->way, "the first parameter", (double)p->first, -N_STEPS);
    n_failures += expect(p->way, "the last parameter", (double)p->last, -N_STEPS);
    n_failures += expect(p->way, "bytes of a message of the plan", (double)p->plan.message_bytes, PART_BYTES);
    n_failures += expect(p->way, "messages of the plan in turn", p->plan.n_in_turn, p->way->n_in_turn);
    n_failures += expect(p->way, "messages of the plan on a link", p->plan.n_on_link, p->way->n_chunks * N_SERVERS + 1);
    return n_failures;
}

int main(void)
{
    const struct world_ops *sim = NULL;
    struct cluster cluster;
    int n_failures = 0;
    enum rc rc;

    cluster_default(&cluster);
    cluster.flops_per_s = cluster.memory_bytes_per_s = NO_TIME;
    const struct world_opts opts = { .cluster = &cluster };
    TRY(world_find(&sim, "sim"));
    for (int i = 0; i < N_WAYS; i++) {
        struct play play = { .way = &ways[i],
                             .latency_s = cluster.link_latency_s,
                             .part_s = PART_BYTES / cluster.link_bytes_per_s };
        TRY(world_run(sim, &opts, 1 + N_SERVERS, body, &play));
        n_failures += check(&play);
    }
out:
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc != RC_OK || n_failures > 0;
}
