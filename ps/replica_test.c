/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_test.c points WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N - servers and workers that die at any call
 * of the transport, with a replica of each server: nothing is lost, nothing counts twice, and the others end.
 *
 *   points   a server dies at its 1st, (1 + STRIDE)th, ... call, or behind it: before it has forwarded a push, before the
 *            heir has it, between HELD and the answer, in the middle of the end; by each rule, with 2 to 4 servers; and
 *            the run ends where both servers of a slice die
 *   seeds    the same at calls that the seed draws, with pauses that it draws, and another rank that dies: of 4 servers
 *            the one beyond the heir, else for every third seed a worker. Some push and pull apart, or push what is not
 *            finite once
 *
 * A gradient is of small integers that step, worker and parameter give, at rate 1 and without momentum: sums are exact
 * in any order. With sync the update has a momentum, and is the same to the bit in every run.
 * Each run is made in a copy of this process, of which SIGALRM ends one that hangs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/cluster/cluster.h"
#include "harness/net/transport.h"
#include "harness/world/child.h"
#include "harness/world/world.h"
#include "ps/ps.h"

enum {
    N_WORKERS = 3,
    MOST_SERVERS = 4,
    MOST_RANKS = N_WORKERS + MOST_SERVERS,
    N_PARAMS = 24,
    N_PIECES = 2,
    N_STEPS = 4,
    LOOKS_AT = 2,
    SPOILER = 1, /* a worker, which pushes NaN in this step, in parameter 0: */
    SPOILED_STEP = 1,
    STOPS_AT = N_WORKERS * N_STEPS - 2,
    LIMIT_S = 20
};

struct victim {
    int rank;   /* -1: nobody */
    int n_call; /* of its calls of the transport, at which it dies: even, before the call; odd, behind it */
};

struct plan { /* of a run */
    const struct world_ops *world;
    const struct transport_ops *transport;
    struct consistency rule;
    int n_servers;
    bool stops;  /* at STOPS_AT updates, in place of N_STEPS steps */
    bool splits; /* pushes, then pulls */
    bool spoils;
    struct victim victim[2];
    uint64_t seed; /* of pauses; 0: none */
};

struct outcome { /* in memory that a copy of this process shares */
    bool is_done;
    char message[RC_MESSAGE_BYTES]; /* else */
    float final[N_PARAMS], moment[N_PARAMS];
    uint64_t n_updates;               /* as worker 0 is told */
    int n_begun[N_WORKERS], n_ended[N_WORKERS];
    uint64_t n_pushes;                /* that servers which are left have counted, by themselves or for another one */
    uint64_t n_late;
    uint32_t n_taken_over;
    int n_calls[MOST_RANKS]; /* of a rank, twice as many, so far */
    bool is_counting[MOST_RANKS];
    int n_died;
    float grad[N_WORKERS][N_PARAMS], param[N_WORKERS][N_PARAMS]; /* of workers: not lost with them */
};

static struct outcome *outcome; /* of this process's run */
static struct plan plan;

/* --- deaths --- */

enum rc __real_transport_send(struct transport *t, struct xfer *x);
enum rc __wrap_transport_send(struct transport *t, struct xfer *x);
enum rc __real_transport_wait(struct transport *t, struct xfer *x, int timeout_ms);
enum rc __wrap_transport_wait(struct transport *t, struct xfer *x, int timeout_ms);
enum rc __real_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms);
enum rc __wrap_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms);

static void may_die(struct transport *t)
{
    const int rank = t->world->rank;

    if (!outcome->is_counting[rank])
        return;
    const int n = outcome->n_calls[rank]++;
    for (int i = 0; i < 2; i++)
        if (plan.victim[i].rank == rank && plan.victim[i].n_call == n) {
            outcome->is_counting[rank] = false;
            outcome->n_died++;
            world_die(t->world);
        }
}

enum rc __wrap_transport_send(struct transport *t, struct xfer *x)
{
    may_die(t);
    const enum rc rc = __real_transport_send(t, x);
    may_die(t);
    return rc;
}

enum rc __wrap_transport_wait(struct transport *t, struct xfer *x, int timeout_ms)
{
    may_die(t);
    const enum rc rc = __real_transport_wait(t, x, timeout_ms);
    may_die(t);
    return rc;
}

/* Not those that find nothing: how many they are is chance. */
enum rc __wrap_transport_recv_divided(struct transport *t, struct message *out, size_t n_head_bytes, int timeout_ms)
{
    const enum rc rc = __real_transport_recv_divided(t, out, n_head_bytes, timeout_ms);

    if (rc == RC_OK && out->peer >= 0)
        may_die(t);
    return rc;
}

/* --- ranks --- */

struct rank {
    struct world *w;
    struct compute *compute;
    struct transport *transport;
    struct buckets buckets;
    struct placement placement;
    struct sync *sync;
};

static bool is_sync(void)
{
    return plan.rule.kind == CONSISTENCY_SYNC;
}

static float gradient(int worker, int step, int i)
{
    if (plan.stops)
        return 1;
    return (float)((worker * 7 + step * 3 + i * 5 + worker * step) % 11 - 4);
}

static float initial(int i)
{
    return (float)(i % 7);
}

static enum rc rank_open(struct rank *r)
{
    static const struct segment segment[N_PIECES] = { { 0, N_PARAMS / N_PIECES },
                                                      { N_PARAMS / N_PIECES, N_PARAMS / N_PIECES } };
    const int n = plan.n_servers, own = r->w->rank - N_WORKERS, before = (own + n - 1) % n;
    const size_t n_slice = (size_t)(N_PARAMS / n);
    float param[N_PARAMS];
    enum rc rc;

    for (int i = 0; i < N_PARAMS; i++)
        param[i] = initial(i);
    TRY(compute_open(&r->compute, &compute_cpu, &(struct compute_env){ 0 }));
    TRY(buckets_open(&r->buckets, segment, N_PIECES, &(struct bucket_opts){ N_PARAMS / N_PIECES * sizeof(float), 0 }));
    TRY(placement_open(&r->placement, &(struct placement_opts){ PLACEMENT_SPLIT, 0 }, segment, N_PIECES, n));
    TRY(transport_open(&r->transport, plan.transport, r->w));
    const struct sync_env env = { .world = r->w,
                                  .compute = r->compute,
                                  .transport = r->transport,
                                  .buckets = &r->buckets,
                                  .placement = &r->placement,
                                  .consistency = plan.rule,
                                  .optimizer = optimizer_sgd(is_sync() ? 0.9 : 0, 0),
                                  .n_workers = N_WORKERS,
                                  .n_servers = n,
                                  .n_steps = N_STEPS,
                                  .stop_at = plan.stops ? STOPS_AT : 0,
                                  .slice_param = own < 0 ? NULL : param + (size_t)own * n_slice,
                                  .n_replicas = 1,
                                  .before_param = own < 0 ? NULL : param + (size_t)before * n_slice,
                                  .timeout_ms = 1000 * LIMIT_S };
    TRY(sync_ps.open(&r->sync, &env));
out:
    return rc;
}

static void rank_close(struct rank *r)
{
    transport_close(&r->transport);
    if (r->sync)
        sync_ps.close(&r->sync);
    placement_close(&r->placement);
    buckets_close(&r->buckets);
    compute_close(&r->compute);
}

static void dawdle(const struct rank *r, int step)
{
    const uint64_t key = (plan.seed * 64 + (uint64_t)step) * N_WORKERS + (uint64_t)r->w->rank;

    if (plan.seed > 0)
        world_pause(r->w, rng_u64(1, RNG_TEST, key) % 100 * 1000);
}

/* Of all pieces at once. */
static enum rc exchange_all(struct rank *r, unsigned parts, float *param, float *grad, bool *is_last)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < N_PIECES; k++) {
        const struct piece_work work = { k, parts, is_sync() ? 0.25f : 1.0f, param, grad };
        TRY(ps_post(r->sync, &work));
    }
    for (size_t k = 0; k < N_PIECES; k++) {
        struct piece_cost cost = { 0 };
        TRY(ps_end(r->sync, param, &cost));
        *is_last = *is_last || cost.is_last;
    }
out:
    return rc;
}

static bool is_spoiled(int worker, int step)
{
    return plan.spoils && worker == SPOILER && step == SPOILED_STEP;
}

static enum rc train_step(struct rank *r, int step, float *param, bool *is_last)
{
    float *grad = outcome->grad[r->w->rank];
    enum rc rc = RC_OK;

    for (int i = 0; i < N_PARAMS; i++)
        grad[i] = gradient(r->w->rank, step, i);
    if (is_spoiled(r->w->rank, step))
        grad[0] = NAN;
    outcome->n_begun[r->w->rank]++;
    TRY(exchange_all(r, plan.splits ? EXCHANGE_PUSH : EXCHANGE_PUSH | EXCHANGE_PULL, param, grad, is_last));
    if (plan.splits)
        TRY(exchange_all(r, EXCHANGE_PULL, param, NULL, &(bool){ false }));
    outcome->n_ended[r->w->rank]++;
out:
    return rc;
}

static enum rc work(struct rank *r)
{
    const int n_steps = plan.stops ? STOPS_AT : N_STEPS;
    float *param = outcome->param[r->w->rank], looked[N_PARAMS];
    struct optimizer_state state = { .moments = is_sync() ? outcome->moment : NULL }, unused = { 0 };
    bool is_last = false;
    enum rc rc = RC_OK;

    for (int step = 0; step < n_steps && !is_last; step++) {
        dawdle(r, step);
        TRY(train_step(r, step, param, &is_last));
        if (step == LOOKS_AT && r->w->rank == 0)
            TRY(sync_ps.snapshot(r->sync, looked, &unused));
    }
    TRY(sync_ps.final(r->sync, param, &state));
    if (r->w->rank > 0)
        return RC_OK;
    memcpy(outcome->final, param, sizeof outcome->final);
    outcome->n_updates = state.n_updates;
out:
    return rc;
}

/* One after the other: the memory is shared. */
static void note_served(const struct rank *r, struct server_facts *facts)
{
    sync_ps.served(r->sync, facts);
}

static enum rc body(struct world *w, void *arg)
{
    struct server_facts *facts = arg;
    struct rank r = { .w = w };
    enum rc rc;

    TRY(rank_open(&r));
    TRY(world_barrier(w));
    outcome->is_counting[w->rank] = true;
    TRY(w->rank < N_WORKERS ? work(&r) : sync_ps.serve(r.sync, 0));
    if (w->rank >= N_WORKERS)
        note_served(&r, &facts[w->rank]);
    outcome->is_counting[w->rank] = false;
out:
    if (rc != RC_OK)
        world_abort(w, rc);
    rank_close(&r);
    return rc;
}

static void run_here(void)
{
    const int n_ranks = N_WORKERS + plan.n_servers;
    struct server_facts facts[MOST_RANKS] = { 0 };
    struct cluster cluster;

    cluster_default(&cluster);
    const struct world_opts opts = { .cluster = &cluster, .on_loss = ON_LOSS_REPORT };
    if (world_run(plan.world, &opts, n_ranks, body, facts) != RC_OK) {
        (void)snprintf(outcome->message, sizeof outcome->message, "%s", rc_message());
        return;
    }
    for (int r = N_WORKERS; r < n_ranks; r++) {
        for (int i = 0; i < STALENESS_BINS; i++)
            outcome->n_pushes += facts[r].pushes_count[i];
        outcome->n_late += facts[r].late_count;
        outcome->n_taken_over += facts[r].n_taken_over;
    }
    outcome->is_done = true;
}

static void describe(FILE *to)
{
    char rule[CONSISTENCY_TEXT_BYTES];

    consistency_text(rule, sizeof rule, &plan.rule);
    fprintf(to, "%s%s%s%s, %d servers, seed %llu, rank %d dies at call %d, rank %d at %d", rule, plan.stops ? " stops" : "",
            plan.splits ? " splits" : "", plan.spoils ? " spoils" : "", plan.n_servers, (unsigned long long)plan.seed, plan.victim[0].rank, plan.victim[0].n_call,
            plan.victim[1].rank, plan.victim[1].n_call);
}

/* `plan` in a copy of this process: false where it does not end well. */
static bool run(struct outcome *out)
{
    bool is_child = false;
    int64_t pid;
    int exit_code = 1;

    memset(outcome, 0, sizeof *outcome);
    if (child_copy(&pid, &is_child) != RC_OK)
        return false;
    if (is_child) {
        alarm(2 * LIMIT_S);
        run_here();
        _exit(!outcome->is_done);
    }
    if (child_await_copy(pid, &exit_code) != RC_OK || exit_code != 0) {
        *out = *outcome;
        return false;
    }
    *out = *outcome;
    return true;
}

/* --- what a run has to come to --- */

static bool says(bool holds, const char *what, int i, double is, double wanted)
{
    if (holds)
        return true;
    describe(stderr);
    fprintf(stderr, ": %s %d is %g, not %g\n", what, i, is, wanted);
    return false;
}

static int lost_worker(void)
{
    for (int i = 0; i < 2; i++)
        if (plan.victim[i].rank >= 0 && plan.victim[i].rank < N_WORKERS)
            return plan.victim[i].rank;
    return -1;
}

/* Without the lost worker's, or with its first n_of_lost gradients. */
static float summed(int i, int n_of_lost)
{
    const bool is_beside_nan = i < N_PARAMS / plan.n_servers && i < N_PARAMS / N_PIECES; /* in one message */
    float sum = initial(i);

    for (int w = 0; w < N_WORKERS; w++)
        for (int step = 0; step < (w == lost_worker() ? n_of_lost : N_STEPS); step++)
            sum -= is_beside_nan && is_spoiled(w, step) ? 0 : gradient(w, step, i);
    return sum;
}

/* Each gradient counts once: of a worker that was lost, in each parameter, all that were answered, and at most one more.
 */
static bool check_sums(const struct outcome *o)
{
    const int lost = lost_worker(), n_ended = lost >= 0 ? o->n_ended[lost] : 0;
    const int n_begun = lost >= 0 ? o->n_begun[lost] : 0;
    bool holds = true;

    for (int i = 0; i < N_PARAMS && holds; i++) {
        bool found = false;
        for (int n = n_ended; n <= n_begun && !found; n++)
            found = o->final[i] == summed(i, n);
        holds = says(found, "parameter", i, (double)o->final[i], (double)summed(i, n_ended));
    }
    return holds;
}

static bool check_stopped(const struct outcome *o)
{
    bool holds = says(o->n_updates == STOPS_AT, "updates of run", 0, (double)o->n_updates, STOPS_AT);

    for (int i = 0; i < N_PARAMS && holds; i++)
        holds = says(o->final[i] == initial(i) - STOPS_AT, "parameter", i, (double)o->final[i],
                     (double)initial(i) - STOPS_AT);
    return holds;
}

/* Of the run without a fault, where no worker was lost. */
static bool check_bits(const struct outcome *o, const struct outcome *even)
{
    bool holds = says(o->n_updates == N_STEPS, "updates of run", 0, (double)o->n_updates, N_STEPS);

    for (int i = 0; i < N_PARAMS && holds && lost_worker() < 0; i++)
        holds = says(memcmp(&o->final[i], &even->final[i], sizeof(float)) == 0, "parameter", i, (double)o->final[i],
                     (double)even->final[i]) &&
                says(memcmp(&o->moment[i], &even->moment[i], sizeof(float)) == 0, "moment", i, (double)o->moment[i],
                     (double)even->moment[i]);
    return holds;
}

/* Parts of pieces on servers: SPLIT cuts 24 parameters in 2 pieces on 2 to 4 servers. */
static int n_parts(void)
{
    return plan.n_servers == 2 ? 2 : 4;
}

static bool check_run(const struct outcome *o, const struct outcome *even)
{
    const uint64_t n_all = (uint64_t)(N_WORKERS * N_STEPS * n_parts() - plan.spoils), n_counted = o->n_pushes + o->n_late;
    const uint64_t n_late = is_sync() ? (uint64_t)(plan.rule.bound_count * N_STEPS * (unsigned)n_parts()) : 0;
    /* What a server has counted is known, unless it dies when everything is done, and nobody takes its place. */
    const bool is_counted = o->n_died == (int)o->n_taken_over;
    bool holds = true;

    if (lost_worker() < 0 && !plan.stops && is_counted)
        holds = says(n_counted == n_all, "pushes of run", 0, (double)n_counted, (double)n_all) &&
                says(o->n_late == n_late, "late pushes of run", 0, (double)o->n_late, (double)n_late);
    if (holds && plan.stops)
        return check_stopped(o);
    if (holds && !is_sync())
        return check_sums(o);
    if (holds && plan.rule.bound_count == 0)
        return check_bits(o, even);
    return holds;
}

/* --- schedules --- */

static const struct {
    struct consistency rule;
    bool stops;
} rules[] = { { { CONSISTENCY_ASYNC, 0 }, false }, { { CONSISTENCY_SSP, 1 }, false }, { { CONSISTENCY_SYNC, 0 }, false },
              { { CONSISTENCY_SYNC, 1 }, false },  { { CONSISTENCY_ASYNC, 0 }, true } };
enum { N_RULES = sizeof rules / sizeof *rules, FEWEST_SERVERS = 2, N_SIZES = MOST_SERVERS - FEWEST_SERVERS + 1 };

static void choose(int rule, int n_servers)
{
    plan.rule = rules[rule].rule;
    plan.stops = rules[rule].stops;
    plan.n_servers = n_servers;
    plan.splits = plan.spoils = false;
    plan.seed = 0;
    plan.victim[0] = plan.victim[1] = (struct victim){ -1, 0 };
}

static bool run_and_check(struct outcome *out, const struct outcome *even)
{
    if (run(out))
        return check_run(out, even);
    describe(stderr);
    fprintf(stderr, ": %s\n", out->message[0] ? out->message : "it did not end, or crashed");
    return false;
}

/* The run of `plan` without a fault. */
static bool run_even(struct outcome *out)
{
    return run_and_check(out, out) && says(out->n_died == 0, "deaths of run", 0, out->n_died, 0);
}

/* replica.R9 */
static bool check_both_lost(void)
{
    struct outcome o;

    choose(0, 2);
    plan.victim[0] = (struct victim){ N_WORKERS, 40 };
    plan.victim[1] = (struct victim){ N_WORKERS + 1, 60 };
    const bool has_ended = run(&o);
    if (!has_ended && strstr(o.message, "was lost"))
        return true;
    describe(stderr);
    fprintf(stderr, ": both servers died, and \"%s\"\n", has_ended ? "the run ended well" : o.message);
    return false;
}

static int points(int stride)
{
    int n_failures = !check_both_lost(), n_runs = 0;

    for (int i = 0; i < N_RULES * N_SIZES; i++) {
        struct outcome even, o;
        choose(i / N_SIZES, FEWEST_SERVERS + i % N_SIZES);
        const int server = N_WORKERS + i % plan.n_servers;
        if (!run_even(&even))
            return 1;
        plan.victim[0].rank = server;
        for (int n = i % stride; n < even.n_calls[server]; n += stride) {
            plan.victim[0].n_call = n;
            n_runs++;
            n_failures += !run_and_check(&o, &even);
        }
    }
    printf("%d runs, %d failures\n", n_runs, n_failures);
    return n_failures > 0;
}

static int drawn(uint64_t seed, uint64_t what, int below)
{
    return (int)(rng_u64(seed, RNG_TEST, what) % (uint64_t)below);
}

/* What dies when, by the calls of a run without a fault. */
static void draw(uint64_t seed, struct outcome even[N_RULES][N_SIZES])
{
    const int rule = drawn(seed, 0, N_RULES), size = drawn(seed, 1, N_SIZES), n_servers = FEWEST_SERVERS + size;
    const int server = drawn(seed, 2, n_servers), worker = 1 + drawn(seed, 3, N_WORKERS - 1);
    const int *n_calls = even[rule][size].n_calls;

    choose(rule, n_servers);
    plan.seed = seed;
    plan.splits = !plan.stops && seed % 4 == 1;
    plan.spoils = !plan.stops && !is_sync() && seed % 5 == 2;
    plan.victim[0] = (struct victim){ N_WORKERS + server, drawn(seed, 4, n_calls[N_WORKERS + server]) };
    const int second = n_servers == 4 ? N_WORKERS + (server + 2) % 4 : worker; /* not its heir, nor whose it is */
    if (n_servers == 4 || (seed % 3 == 0 && !plan.stops))
        plan.victim[1] = (struct victim){ second, drawn(seed, 5, n_calls[second]) };
}

static int seeds(uint64_t first, uint64_t n)
{
    struct outcome even[N_RULES][N_SIZES], o;
    int n_failures = 0, n_died = 0, n_taken_over = 0;

    for (int i = 0; i < N_RULES * N_SIZES; i++) {
        choose(i / N_SIZES, FEWEST_SERVERS + i % N_SIZES);
        if (!run_even(&even[i / N_SIZES][i % N_SIZES]))
            return 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        draw(seed, even);
        size_t rule = 0;
        while (memcmp(&rules[rule].rule, &plan.rule, sizeof plan.rule) != 0 || rules[rule].stops != plan.stops)
            rule++;
        if (!run_and_check(&o, &even[rule][plan.n_servers - FEWEST_SERVERS])) {
            n_failures++;
            continue;
        }
        n_died += o.n_died;
        n_taken_over += (int)o.n_taken_over;
    }
    printf("%llu seeds, %d deaths, %d servers replaced, %d failures\n", (unsigned long long)n, n_died, n_taken_over,
           n_failures);
    return n_failures > 0 || n_taken_over == 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || world_find(&plan.world, argv[2]) != RC_OK || transport_find(&plan.transport, argv[3]) != RC_OK) {
        fprintf(stderr, "usage: replica_test points WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N\n");
        return 2;
    }
    outcome = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (outcome == MAP_FAILED)
        return 2;
    if (strcmp(argv[1], "points") == 0)
        return points(atoi(argv[4]));
    return argc == 6 ? seeds(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)) : 2;
}
