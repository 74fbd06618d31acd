/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness_test.c WORLD TRANSPORT - at which rate servers apply gradients that come late, by every rule of
 * consistency.h, on whole servers and workers that push in a given order: so each push's staleness is known here,
 * whatever servers say of it. The gradient of worker w is 1 in parameters w and W + w alone (they are on different
 * servers), and the rate of push i is rates[i]: what a worker reads there is the sum of the rates that were applied.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 3, N_SERVERS = 2, N_PARAMS = 2 * N_WORKERS, N_PUSHES = 16, N_CASES = 4, POLL_NS = 2000 };

/* Whose push comes next: staleness from 0 to 9. */
static const int order[N_PUSHES] = { 0, 0, 1, 0, 1, 0, 0, 0, 0, 2, 0, 1, 1, 1, 2, 0 };
static const float rates[2] = { 1.0f, 0.25f }; /* of pushes in turn: the rate of a push is that of its step */

static const struct {
    struct consistency consistency;
    enum lr_staleness rule;
} cases[N_CASES] = { { { CONSISTENCY_ASYNC, 0 }, LR_STALENESS_NONE },
                     { { CONSISTENCY_ASYNC, 0 }, LR_STALENESS_INVERSE },
                     { { CONSISTENCY_SSP, N_PUSHES }, LR_STALENESS_NONE },
                     { { CONSISTENCY_SSP, N_PUSHES }, LR_STALENESS_INVERSE } };

struct check {
    _Atomic int n_done[N_CASES]; /* pushes: whose turn it is */
    _Atomic int n_failures;
};

static void expect(struct check *c, bool holds, int k, int push, const char *what, double is, double wanted)
{
    if (!holds && c->n_failures++ == 0)
        fprintf(stderr, "case %d, push %d: %s is %.9g, not %.9g\n", k, push, what, is, wanted);
}

/* By the order alone: pushes of others since worker order[push] pushed last, or since the beginning. */
static int staleness_of(int push)
{
    int n = 0;

    for (int i = push - 1; i >= 0 && order[i] != order[push]; i--)
        n++;
    return n;
}

/* What pushes up to and with this one have made of the parameter of its worker. */
static double wanted_after(int k, int push)
{
    double sum = 0;

    for (int i = 0; i <= push; i++) {
        const int stale = staleness_of(i);
        const bool is_lowered = cases[k].rule == LR_STALENESS_INVERSE && stale > 1;
        if (order[i] == order[push])
            sum -= (double)rates[i % 2] / (is_lowered ? stale : 1);
    }
    return sum;
}

static enum rc work(struct ps_rank *r, void *arg, uint64_t number)
{
    struct check *c = arg;
    struct world *w = r->w;
    const int k = (int)number;
    float param[N_PARAMS] = { 0 }, grad[N_PARAMS] = { 0 };
    enum rc rc = RC_OK;

    grad[w->rank] = grad[N_WORKERS + w->rank] = 1;
    for (int push = 0; push < N_PUSHES; push++) {
        struct chunk_cost cost = { 0 };
        if (order[push] != w->rank)
            continue;
        while (c->n_done[k] < push) {
            TRY(world_check(w));
            world_pause(w, POLL_NS);
        }
        TRY(ps_push_pull(r->sync, rates[push % 2], param, grad, &cost));
        c->n_done[k]++;
        const double wanted = wanted_after(k, push);
        expect(c, (int)cost.staleness_count == staleness_of(push), k, push, "staleness", cost.staleness_count,
               staleness_of(push));
        for (int server = 0; server < N_SERVERS; server++) {
            const double is = (double)param[server * N_WORKERS + w->rank];
            expect(c, fabs(is - wanted) < 1e-5, k, push, "the worker's parameter", is, wanted);
        }
    }
    TRY(sync_ps.servers->final(r->sync, param, NULL));
out:
    return rc;
}

static void choose(struct sync_env *env, uint64_t k)
{
    env->consistency = cases[k].consistency;
    env->lr_staleness = cases[k].rule;
}

/* The rate itself: to the bit where the gradient is not late. */
static void check_rates(struct check *c)
{
    static const struct {
        enum lr_staleness rule;
        float lr;
        uint64_t staleness;
        float wanted;
    } r[] = { { LR_STALENESS_NONE, 0.1f, 0, 0.1f },           { LR_STALENESS_NONE, 0.1f, 7, 0.1f },
              { LR_STALENESS_INVERSE, 0.1f, 0, 0.1f },        { LR_STALENESS_INVERSE, 0.1f, 1, 0.1f },
              { LR_STALENESS_INVERSE, 0.1f, 2, 0.1f / 2.0f }, { LR_STALENESS_INVERSE, 0.1f, 511, 0.1f / 511.0f } };

    for (size_t i = 0; i < sizeof r / sizeof *r; i++) {
        const float is = lr_of_stale(r[i].rule, r[i].lr, r[i].staleness);
        expect(c, memcmp(&is, &r[i].wanted, sizeof is) == 0, (int)i, -1, "the rate", (double)is, (double)r[i].wanted);
    }
}

int main(int argc, char **argv)
{
    struct check c = { .n_failures = 0 };
    struct ps_trial trial = { .n_params = N_PARAMS,
                              .n_workers = N_WORKERS,
                              .n_servers = N_SERVERS,
                              .n_cases = N_CASES,
                              .choose = choose,
                              .work = work,
                              .arg = &c };

    check_rates(&c);
    return ps_trial_main(argc, argv, &trial, &c.n_failures);
}
