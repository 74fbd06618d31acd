/* SPDX-License-Identifier: Apache-2.0 */
/*
 * period_staleness_test.c WORLD TRANSPORT - workers that push and pull in some steps alone, in a given order: how stale
 * each push is, and what each pull reads, is known here by the order. The gradient of worker w is 1 in parameters w and
 * W + w alone, which are on different servers, at rate 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 2, N_SERVERS = 2, N_PARAMS = 2 * N_WORKERS, POLL_NS = 2000 };
enum { NONE = 0, PUSH = EXCHANGE_PUSH, PULL = EXCHANGE_PULL, BOTH = EXCHANGE_PUSH | EXCHANGE_PULL };

/* Steps, one after the other. */
static const struct {
    int worker;
    unsigned push_pull;
} step[] = { { 0, PUSH }, { 1, NONE }, { 0, PUSH }, { 0, PULL }, { 1, PULL }, { 1, PUSH }, { 0, NONE },
             { 0, BOTH }, { 1, NONE }, { 0, PUSH }, { 0, PUSH }, { 1, BOTH }, { 1, PULL }, { 0, PULL },
             { 1, PUSH }, { 0, PUSH }, { 1, PUSH }, { 0, BOTH }, { 1, PULL }, { 1, BOTH } };
enum { N_STEPS = sizeof step / sizeof *step };

struct check {
    _Atomic int n_done; /* steps */
    _Atomic int n_failures;
};

static void expect(struct check *c, long is, long wanted, int n, const char *what)
{
    if (is != wanted && c->n_failures++ == 0)
        fprintf(stderr, "step %d: %s is %ld, not %ld\n", n, what, is, wanted);
}

/* By the order alone: of the push of step n, the updates by others since its worker pulled what the oldest gradient in
 * it was made with. */
static int staleness_of(int n)
{
    int n_updates = 0, n_own[N_WORKERS] = { 0 }, seen[N_WORKERS] = { 0 }, oldest[N_WORKERS] = { -1, -1 }, stale = 0;

    for (int i = 0; i <= n; i++) {
        const int w = step[i].worker;
        if (oldest[w] < 0)
            oldest[w] = seen[w];
        if (step[i].push_pull & PUSH) {
            stale = n_updates - n_own[w] - oldest[w];
            n_updates++;
            n_own[w]++;
            oldest[w] = -1;
        }
        if (step[i].push_pull & PULL)
            seen[w] = n_updates - n_own[w];
    }
    return stale;
}

/* Pushes of worker w up to and with step n. */
static int pushes_by(int w, int n)
{
    int n_pushes = 0;

    for (int i = 0; i <= n; i++)
        n_pushes += step[i].worker == w && step[i].push_pull & PUSH;
    return n_pushes;
}

static void check_params(struct check *c, const float *param, int n)
{
    for (int i = 0; i < N_PARAMS; i++)
        expect(c, (long)param[i], -pushes_by(i % N_WORKERS, n), n, "a parameter that was pulled");
}

static enum rc work(struct ps_rank *r, void *arg, uint64_t k)
{
    struct check *c = arg;
    struct world *w = r->w;
    float param[N_PARAMS] = { 0 }, grad[N_PARAMS] = { 0 }, kept[N_PARAMS];
    enum rc rc = RC_OK;

    (void)k;
    grad[w->rank] = grad[N_WORKERS + w->rank] = 1;
    for (int n = 0; n < N_STEPS; n++) {
        const struct chunk_work of_step = { 0, step[n].push_pull, 1, param, grad };
        struct chunk_cost cost = { 0 };
        if (step[n].worker != w->rank)
            continue;
        while (c->n_done < n) {
            TRY(world_check(w));
            world_pause(w, POLL_NS);
        }
        memcpy(kept, param, sizeof kept);
        if (step[n].push_pull != NONE) {
            TRY(ps_post(r->sync, &of_step));
            TRY(ps_complete(r->sync, param, &cost));
        }
        if (step[n].push_pull & PUSH)
            expect(c, cost.staleness_count, staleness_of(n), n, "staleness");
        else
            expect(c, cost.staleness_count, 0, n, "staleness of no push");
        expect(c, cost.is_last, 0, n, "is_last of a run without an end");
        if (step[n].push_pull & PULL)
            check_params(c, param, n);
        else
            expect(c, memcmp(kept, param, sizeof kept), 0, n, "that parameters change without a pull");
        c->n_done++;
    }
    TRY(sync_ps.servers->final(r->sync, param, NULL));
    if (w->rank == 0)
        check_params(c, param, N_STEPS - 1);
out:
    return rc;
}

/* All gradients of all workers were applied, each once. */
static enum rc check_served(const struct ps_rank *r, void *arg, uint64_t k)
{
    struct server_facts facts = { .late_count = 0 };
    long n_pushes = 0;

    (void)k;
    if (r->w->rank < N_WORKERS)
        return RC_OK;
    sync_ps.servers->served(r->sync, &facts);
    for (int i = 0; i < STALENESS_BINS; i++)
        n_pushes += facts.pushes_count[i];
    expect(arg, n_pushes, pushes_by(0, N_STEPS - 1) + pushes_by(1, N_STEPS - 1), N_STEPS, "pushes at a server");
    return RC_OK;
}

int main(int argc, char **argv)
{
    struct check c = { .n_failures = 0 };
    struct ps_trial trial = { .n_params = N_PARAMS,
                              .n_workers = N_WORKERS,
                              .n_servers = N_SERVERS,
                              .n_cases = 1,
                              .work = work,
                              .end = check_served,
                              .arg = &c };

    return ps_trial_main(argc, argv, &trial, &c.n_failures);
}
