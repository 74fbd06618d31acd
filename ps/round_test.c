/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round_test.c TRANSPORT - large chunks, which servers update block by block and answer from where they are: after each
 * step of a synchronous server every element is what the gradients of all workers make of it, to the bit; and what an
 * asynchronous one answers, or one with a backup worker, is of one version, whatever others push meanwhile, and however
 * late it is read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/cluster/cluster.h"
#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 4, N_SERVERS = 2, N_PARAMS = 2 * (5 * 16384 + 77), N_STEPS = 12, N_RULES = 3 };

static const struct consistency rules[N_RULES] = { { CONSISTENCY_SYNC, 0 },
                                                   { CONSISTENCY_SYNC, 1 },
                                                   { CONSISTENCY_ASYNC, 0 } };

struct check {
    const struct transport_ops *transport;
    _Atomic int n_failures; /* on all ranks */
    _Atomic int n_pushed;   /* of a rule: by workers that do not read late */
};

struct rank {
    struct check *c;
    struct world *w;
    const struct consistency *rule;
    struct placement *placement;
    struct sync *sync;
    float *param, *grad; /* [N_PARAMS] */
};

/* Small whole numbers: sums of quarters of them are exact. */
static float gradient_at(size_t i, int worker, int step)
{
    return (float)((i * 7 + (size_t)worker * 3 + (size_t)step * 5) % 13);
}

/* Of an array that stays 0: the mean of the gradients of all workers, in all steps to this one. */
static float param_after(size_t i, int n_steps)
{
    float sum = 0;

    for (int step = 0; step < n_steps; step++)
        for (int w = 0; w < N_WORKERS; w++)
            sum += gradient_at(i, w, step);
    return -sum / N_WORKERS;
}

static void expect(const struct rank *r, size_t i, int step, float wanted)
{
    if (r->param[i] == wanted || r->c->n_failures++ > 0)
        return;
    fprintf(stderr, "rank %d, step %d: element %zu is %g, and not %g\n", r->w->rank, step, i, (double)r->param[i],
            (double)wanted);
}

static void check_read(const struct rank *r, int step)
{
    const bool is_exact = consistency_waits_for_all(r->rule);

    for (int server = 0; server < N_SERVERS; server++) {
        const struct range part = placement_part(r->placement, server, (struct range){ 0, N_PARAMS });
        const size_t first = (size_t)server * (N_PARAMS / N_SERVERS);
        for (size_t i = first; i < first + part.n_elems; i++)
            expect(r, i, step, is_exact ? param_after(i, step + 1) : r->param[first]);
    }
}

/* Worker 0, which others do not wait for, takes its answer when each of them has pushed some times more. */
static enum rc exchange_late(struct rank *r, struct chunk_cost *cost)
{
    enum { N_MORE = 3 * (N_WORKERS - 1), N_ALL = N_STEPS * (N_WORKERS - 1) };
    const struct chunk_work both = { 0, EXCHANGE_PUSH | EXCHANGE_PULL, 1.0f, r->param, r->grad };
    enum rc rc;

    const int n_before = r->c->n_pushed;
    TRY(ps_post(r->sync, &both));
    while (r->c->n_pushed < n_before + N_MORE && r->c->n_pushed < N_ALL) {
        TRY(world_check(r->w));
        world_pause(r->w, 100000);
    }
    TRY(ps_complete(r->sync, r->param, cost));
out:
    return rc;
}

static enum rc work(struct rank *r)
{
    enum rc rc = RC_OK;

    for (int step = 0; step < N_STEPS; step++) {
        struct chunk_cost cost = { 0 };
        for (size_t i = 0; i < N_PARAMS; i++)
            r->grad[i] = consistency_waits_for_all(r->rule) ? gradient_at(i, r->w->rank, step) : 1.0f;
        if (r->w->rank == 0 && r->rule->kind == CONSISTENCY_ASYNC)
            TRY(exchange_late(r, &cost));
        else
            TRY(ps_push_pull(r->sync, 1.0f, r->param, r->grad, &cost));
        r->c->n_pushed += r->w->rank > 0;
        check_read(r, step);
    }
    TRY(sync_ps.servers->final(r->sync, r->param, NULL));
out:
    return rc;
}

static enum rc run_rule(struct rank *r, const struct sync_env *rest)
{
    struct transport *transport = NULL;
    struct sync_env env = *rest;
    enum rc rc;

    for (size_t i = 0; i < N_PARAMS; i++)
        r->param[i] = 0;
    r->c->n_pushed = 0;
    TRY(transport_open(&transport, r->c->transport, r->w));
    env.transport = transport;
    env.consistency = *r->rule;
    env.slice_param = r->param;
    TRY(sync_ps.open(&r->sync, &env));
    TRY(r->w->rank < N_WORKERS ? work(r) : sync_ps.servers->serve(r->sync, 0));
    TRY(world_barrier(r->w));
out:
    transport_close(&transport);
    if (r->sync)
        sync_ps.close(&r->sync);
    return rc;
}

static enum rc run_rules(struct check *c, struct world *w, const struct sync_env *env, struct placement *placement)
{
    struct rank r = { .c = c,
                      .w = w,
                      .placement = placement,
                      .param = malloc(N_PARAMS * sizeof *r.param),
                      .grad = malloc(N_PARAMS * sizeof *r.grad) };
    enum rc rc = RC_OK;

    if (!r.param || !r.grad)
        FAIL(RC_NOMEM, "no memory for %d parameters", N_PARAMS);
    for (int i = 0; i < N_RULES; i++) {
        r.rule = &rules[i];
        TRY(run_rule(&r, env));
    }
out:
    free(r.param);
    free(r.grad);
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct ps_rank rank;
    struct sync_env env;
    enum rc rc;

    TRY(ps_rank_open_split(&rank, &env, w, N_PARAMS, N_WORKERS, N_SERVERS));
    TRY(run_rules(arg, w, &env, &rank.placement));
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    ps_rank_close(&rank);
    return rc;
}

int main(int argc, char **argv)
{
    const struct world_ops *world = NULL;
    struct cluster cluster;
    struct check c = { 0 };

    cluster_default(&cluster);
    if (argc != 2 || world_find(&world, "threads") != RC_OK || transport_find(&c.transport, argv[1]) != RC_OK) {
        fprintf(stderr, "usage: round_test TRANSPORT\n");
        return 2;
    }
    const struct world_opts opts = { .cluster = &cluster };
    if (world_run(world, &opts, N_WORKERS + N_SERVERS, body, &c) != RC_OK) {
        fprintf(stderr, "%s\n", rc_message());
        return 1;
    }
    return c.n_failures > 0;
}
