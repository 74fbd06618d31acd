/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consistency_test.c WORLD TRANSPORT N - the rules of consistency on whole servers and workers, in N schedules of
 * random pauses, each a run of its own. With the rate 1 the gradient of worker w is 1 in parameters w and W + w alone
 * (they are on different servers): what a worker reads there is how many gradients of which worker it has got, whatever
 * servers and workers say of it themselves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "harness/world/world.h"
#include "ps/ps.h"
#include "ps/suite/ps_rank.h"

enum { N_WORKERS = 4, N_SERVERS = 2, N_PARAMS = 2 * N_WORKERS, N_STEPS = 6, N_RULES = 8 };

static const struct consistency rules[N_RULES] = { { CONSISTENCY_ASYNC, 0 }, { CONSISTENCY_SSP, 0 },
                                                   { CONSISTENCY_SSP, 1 },   { CONSISTENCY_SSP, 3 },
                                                   { CONSISTENCY_SYNC, 0 },  { CONSISTENCY_SYNC, 1 },
                                                   { CONSISTENCY_SYNC, 2 },  { CONSISTENCY_SYNC, 3 } };

struct check {
    uint64_t unit_ns;                    /* of a pause */
    _Atomic int n_failures;              /* of this process, on all its ranks */
    _Atomic uint32_t most_lead[N_RULES]; /* that any worker was told */
    uint32_t n_late[N_WORKERS];          /* of each in this schedule: parts, of which a step has N_SERVERS */
};

struct rank { /* of one schedule */
    struct check *c;
    struct world *w;
    uint64_t schedule;
    const struct consistency *rule;
};

static void expect(const struct rank *r, bool holds, const char *what, int step, const float *param)
{
    if (holds || r->c->n_failures++ > 0)
        return;
    fprintf(stderr, "schedule %llu, rank %d, step %d: %s; it holds", (unsigned long long)r->schedule, r->w->rank, step,
            what);
    for (int i = 0; i < N_PARAMS; i++)
        fprintf(stderr, " %g", (double)param[i]);
    fprintf(stderr, "\n");
}

/* What worker `of` has contributed to param, by parameter w or W + w: gradients, in sync times the share of each. */
static double seen(const struct rank *r, const float *param, int of, int server)
{
    const int n_of_round = r->rule->kind == CONSISTENCY_SYNC ? N_WORKERS - (int)r->rule->bound_count : 1;

    return -(double)param[server * N_WORKERS + of] * n_of_round;
}

/* After n_done steps of this worker. */
static void check_read(const struct rank *r, const float *param, int n_done)
{
    const bool is_sync = r->rule->kind == CONSISTENCY_SYNC;

    for (int server = 0; server < N_SERVERS; server++) {
        double all = 0;
        for (int w = 0; w < N_WORKERS; w++) {
            const double n = seen(r, param, w, server);
            all += n;
            expect(r, fabs(n - round(n)) < 1e-3, "a gradient counts whole or not at all", n_done, param);
            if (r->rule->kind == CONSISTENCY_SSP)
                expect(r, n >= n_done - (double)r->rule->bound_count, "Q1: reads too early", n_done, param);
            if (!is_sync && w == r->w->rank)
                expect(r, n == n_done, "its own gradients are there", n_done, param);
        }
        const double n_updates = all / (N_WORKERS - (double)r->rule->bound_count);
        if (is_sync)
            expect(r, fabs(n_updates - round(n_updates)) < 1e-3 && n_updates > n_done - 0.5,
                   "Q2: an update a step, of N - B gradients", n_done, param);
        if (is_sync && r->rule->bound_count == 0)
            expect(r, fabs(n_updates - n_done) < 1e-3, "sync: an update a step, and none beyond", n_done, param);
    }
}

static void dawdle(const struct rank *r, int step)
{
    const uint64_t key = (r->schedule * N_STEPS + (uint64_t)step) * N_WORKERS + (uint64_t)r->w->rank;
    const bool is_slow = rng_u64(1, RNG_TEST, r->schedule) % N_WORKERS == (uint64_t)r->w->rank;

    world_pause(r->w, (is_slow ? 10 : 1) * (rng_u64(2, RNG_TEST, key) % 100) * r->c->unit_ns);
}

static enum rc work(struct ps_rank *at, void *arg, uint64_t schedule)
{
    struct check *c = arg;
    struct rank rank = { c, at->w, schedule, &rules[schedule % N_RULES] }, *r = &rank;
    const size_t rule = schedule % N_RULES;
    float param[N_PARAMS] = { 0 }, grad[N_PARAMS] = { 0 };
    uint32_t n_late = 0; /* of this worker: parts, of which a step has N_SERVERS */
    enum rc rc = RC_OK;

    grad[r->w->rank] = grad[N_WORKERS + r->w->rank] = 1;
    for (int step = 0; step < N_STEPS; step++) {
        struct chunk_cost cost = { 0 };
        dawdle(r, step);
        TRY(ps_push_pull(at->sync, 1.0f, param, grad, &cost));
        n_late += cost.late_count;
        if (cost.lead_count > r->c->most_lead[rule])
            r->c->most_lead[rule] = cost.lead_count;
        check_read(r, param, step + 1);
    }
    c->n_late[r->w->rank] = n_late;
    TRY(sync_ps.servers->final(at->sync, param, NULL));
    if (r->w->rank > 0)
        return RC_OK;
    const int n_dropped = r->rule->kind == CONSISTENCY_SYNC ? (int)r->rule->bound_count : 0;
    double all = 0;
    for (int i = 0; i < N_PARAMS; i++)
        all += seen(r, param, i % N_WORKERS, i / N_WORKERS);
    expect(r, fabs(all - N_SERVERS * N_STEPS * (N_WORKERS - n_dropped)) < 1e-2, "Q2: all gradients but the late ones",
           N_STEPS, param);
out:
    return rc;
}

static void choose(struct sync_env *env, uint64_t schedule)
{
    env->consistency = rules[schedule % N_RULES];
}

/* In all workers together, and as the servers count them. */
static enum rc check_late(const struct ps_rank *at, void *arg, uint64_t schedule)
{
    const struct rank rank = { arg, at->w, schedule, &rules[schedule % N_RULES] }, *r = &rank;
    const bool is_sync = r->rule->kind == CONSISTENCY_SYNC, is_server = r->w->rank >= N_WORKERS;
    struct server_facts facts = { .late_count = 0 };
    struct late {
        uint64_t of_worker, of_server, applied;
    } own = { .of_worker = is_server ? 0 : r->c->n_late[r->w->rank] }, all[N_WORKERS + N_SERVERS] = { { 0, 0, 0 } },
      sum = { 0, 0, 0 };
    enum rc rc;

    if (is_server)
        sync_ps.servers->served(at->sync, &facts);
    own.of_server = facts.late_count;
    for (int i = 0; i < STALENESS_BINS; i++)
        own.applied += facts.pushes_count[i];
    TRY(world_allgather(r->w, &own, all, sizeof own));
    for (int i = 0; i < N_WORKERS + N_SERVERS; i++) {
        sum.of_worker += all[i].of_worker;
        sum.of_server += all[i].of_server;
        sum.applied += all[i].applied;
    }
    const float none[N_PARAMS] = { 0 };
    const uint64_t n_late = is_sync ? (uint64_t)r->rule->bound_count * N_STEPS * N_SERVERS : 0;
    expect(r, sum.of_worker == n_late && sum.of_server == n_late, "Q2: B of each step are late, and counted", N_STEPS,
           none);
    expect(r, sum.applied == N_WORKERS * N_STEPS * N_SERVERS - n_late, "applied gradients are counted", N_STEPS, none);
out:
    return rc;
}

/* In virtual time the bounds are reached: no rule is stricter than it has to be. */
static int check_reached(struct check *c)
{
    int n_failures = 0;

    for (int i = 0; i < N_RULES; i++) {
        const bool is_ssp = rules[i].kind == CONSISTENCY_SSP;
        if (is_ssp ? c->most_lead[i] == rules[i].bound_count
                   : (c->most_lead[i] > 0) == !consistency_waits_for_all(&rules[i]))
            continue;
        fprintf(stderr, "rule %d: somebody was %u steps ahead, and nobody more\n", i, c->most_lead[i]);
        n_failures++;
    }
    return n_failures;
}

int main(int argc, char **argv)
{
    struct check c = { .unit_ns = 1000 };
    struct ps_trial trial = { .n_params = N_PARAMS,
                              .n_workers = N_WORKERS,
                              .n_servers = N_SERVERS,
                              .n_cases = argc == 4 ? strtoull(argv[3], NULL, 10) : 0,
                              .choose = choose,
                              .work = work,
                              .end = check_late,
                              .arg = &c };
    const int exit_code = ps_trial_main(argc, argv, &trial, &c.n_failures);

    if (exit_code > 0 || trial.n_cases == 0)
        return exit_code > 0 ? exit_code : 2;
    return strcmp(argv[1], "sim") == 0 && check_reached(&c) > 0;
}
