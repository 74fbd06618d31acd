/* SPDX-License-Identifier: Apache-2.0 */
/*
 * round_test.c WORLD TRANSPORT - large chunks, which servers update block by block and answer from where they are:
 * after each step of a synchronous server every element is what the gradients of all workers make of it, to the bit;
 * and what an asynchronous one answers, or one with a backup worker, is of one version, whatever others push meanwhile,
 * and however late it is read.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 4, N_SERVERS = 2, N_PARAMS = 2 * (5 * 16384 + 77), N_STEPS = 12, N_RULES = 3 };

static const struct consistency rules[N_RULES] = { { CONSISTENCY_SYNC, 0 },
                                                   { CONSISTENCY_SYNC, 1 },
                                                   { CONSISTENCY_ASYNC, 0 } };

struct check {
    _Atomic int n_failures;        /* on all ranks */
    _Atomic int n_pushed[N_RULES]; /* by workers that do not read late */
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

static void expect(const struct ps_rank *r, struct check *c, size_t i, int step, float wanted)
{
    if (r->param[i] == wanted || c->n_failures++ > 0)
        return;
    fprintf(stderr, "rank %d, step %d: element %zu is %g, and not %g\n", r->w->rank, step, i, (double)r->param[i],
            (double)wanted);
}

static void check_read(const struct ps_rank *r, struct check *c, const struct consistency *rule, int step)
{
    const bool is_exact = consistency_waits_for_all(rule);

    for (int server = 0; server < N_SERVERS; server++) {
        const struct range part = placement_part(&r->placement, server, (struct range){ 0, N_PARAMS });
        const size_t first = (size_t)server * (N_PARAMS / N_SERVERS);
        for (size_t i = first; i < first + part.n_elems; i++)
            expect(r, c, i, step, is_exact ? param_after(i, step + 1) : r->param[first]);
    }
}

/* Worker 0, which others do not wait for, takes its answer when each of them has pushed some times more. */
static enum rc exchange_late(struct ps_rank *r, const _Atomic int *n_pushed, struct chunk_cost *cost)
{
    enum { N_MORE = 3 * (N_WORKERS - 1), N_ALL = N_STEPS * (N_WORKERS - 1) };
    const struct chunk_work both = { 0, EXCHANGE_PUSH | EXCHANGE_PULL, 1.0f, r->param, r->grad };
    enum rc rc;

    const int n_before = *n_pushed;
    TRY(ps_post(r->sync, &both));
    while (*n_pushed < n_before + N_MORE && *n_pushed < N_ALL) {
        TRY(world_check(r->w));
        world_pause(r->w, 100000);
    }
    TRY(ps_complete(r->sync, r->param, cost));
out:
    return rc;
}

static void choose(struct sync_env *env, uint64_t k)
{
    env->consistency = rules[k];
}

static enum rc work(struct ps_rank *r, void *arg, uint64_t k)
{
    const struct consistency *rule = &rules[k];
    struct check *c = arg;
    enum rc rc = RC_OK;

    if (!r->grad && !(r->grad = malloc(N_PARAMS * sizeof *r->grad)))
        FAIL(RC_NOMEM, "no memory for %d parameters", N_PARAMS);
    for (size_t i = 0; i < N_PARAMS; i++)
        r->param[i] = 0;
    for (int step = 0; step < N_STEPS; step++) {
        struct chunk_cost cost = { 0 };
        for (size_t i = 0; i < N_PARAMS; i++)
            r->grad[i] = consistency_waits_for_all(rule) ? gradient_at(i, r->w->rank, step) : 1.0f;
        if (r->w->rank == 0 && rule->kind == CONSISTENCY_ASYNC)
            TRY(exchange_late(r, &c->n_pushed[k], &cost));
        else
            TRY(ps_push_pull(r->sync, 1.0f, r->param, r->grad, &cost));
        c->n_pushed[k] += r->w->rank > 0;
        check_read(r, c, rule, step);
    }
    TRY(sync_ps.servers->final(r->sync, r->param, NULL));
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct check c = { .n_failures = 0 };
    struct ps_trial trial = { .n_params = N_PARAMS,
                              .n_workers = N_WORKERS,
                              .n_servers = N_SERVERS,
                              .n_cases = N_RULES,
                              .choose = choose,
                              .work = work,
                              .arg = &c };

    return ps_trial_main(argc, argv, &trial, &c.n_failures);
}
