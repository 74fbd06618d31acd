/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic_test.c points WORLD TRANSPORT STRIDE | seeds|joins WORLD TRANSPORT FIRST N - workers of an elastic run
 * (leases.h) that die at any call of the transport: no batch is lost, none counts twice in any part of the parameters,
 * and those that are left do what the others had.
 *
 *   points   one worker dies at its 1st, (1 + STRIDE)th, ... call, or behind it: before it has a batch, between the
 *            pushes of two pieces, or of two servers, before the answer, while it waits for a batch at the end; with 1
 *            to 4 servers; and so that one that waits gets what it had
 *   joins    two guests join, at moments that the seed draws, also such at which all is done; one of all workers leaves
 *            after some batches, and up to two die, guests or not, also while they join
 *   seeds    both workers beside worker 0 die, at calls that the seed draws, with pauses that it draws: one is left and
 *            does the rest. Some push and pull apart, or push what is not finite once
 *
 * A gradient is of small integers that batch and parameter give, at rate 1: sums are exact in any order. Each run is
 * made in a copy of this process, of which SIGALRM ends one that hangs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "ps/suite/replica_kit.h"

static bool says(bool holds, const char *what, double is, double wanted)
{
    if (holds)
        return true;
    fprintf(stderr, "%d servers, seed %llu%s%s, rank %d dies at call %d, rank %d at %d: %s is %g, not %g\n",
            plan.n_servers, (unsigned long long)plan.seed, plan.splits ? " splits" : "", plan.spoils ? " spoils" : "",
            plan.victim[0].rank, plan.victim[0].n_call, plan.victim[1].rank, plan.victim[1].n_call, what, is, wanted);
    return false;
}

/* --- what a run has to come to --- */

/* Of all batches, each once. */
static float summed(int i)
{
    const bool is_beside_nan = i < N_PARAMS / plan.n_servers && i < N_PARAMS / plan.n_pieces; /* in one message */
    float sum = plan_initial(i);

    for (int w = 0; w < N_WORKERS; w++)
        for (int step = 0; step < N_STEPS; step++)
            sum -= is_beside_nan && plan_is_spoiled(w, step) ? 0 : plan_gradient(w, step, i);
    return sum;
}

/* Parts of pieces on servers: SPLIT cuts 24 parameters in 2 pieces on 1 to 4 servers. */
static int n_parts(void)
{
    return plan.n_servers <= 2 ? 2 : 4;
}

static bool check_run(const struct outcome *o)
{
    /* What a worker had when it died, and had ahead, is handed out again, and of each part of it one gradient counts.
     */
    const bool gives_back = o->n_left > 0 && plan.leaves_after == 0 && plan.leaver < N_WORKERS; /* its first one, B6 */
    const uint64_t most_again = (uint64_t)(2 * o->n_died + gives_back),
                   n_all = (uint64_t)(N_BATCHES * n_parts() - plan.spoils);
    bool holds = says(o->n_batches_done == N_BATCHES, "batches done", (double)o->n_batches_done, N_BATCHES) &&
                 says(o->n_held == N_BATCHES, "batches in all parts", (double)o->n_held, N_BATCHES) &&
                 says(o->n_again <= most_again, "batches again", (double)o->n_again, (double)most_again) &&
                 says(o->n_pushes == n_all, "gradients of parts", (double)o->n_pushes, (double)n_all) &&
                 says(o->n_repeated <= o->n_again * (uint64_t)(n_parts() - (plan.n_servers == 1)), "parts again",
                      (double)o->n_repeated, (double)o->n_again * n_parts());
    int n_ended = 0, n_begun = 0;

    for (int w = 0; w < MOST_WORKERS; w++) {
        n_ended += o->n_ended[w];
        n_begun += o->n_begun[w];
    }
    holds = holds && says(n_begun >= N_BATCHES && n_ended <= N_BATCHES + o->n_died, "steps", n_begun, N_BATCHES);
    for (int i = 0; i < N_PARAMS && holds; i++)
        holds = says(o->final[i] == summed(i), "a parameter", (double)o->final[i], (double)summed(i));
    return holds;
}

/* --- schedules --- */

static void choose(int n_servers)
{
    plan.rule = (struct consistency){ CONSISTENCY_ASYNC, 0 };
    plan.n_servers = n_servers;
    plan.is_elastic = true;
    plan.n_pieces = plan.n_in_flight = 2;
    plan.splits = plan.spoils = false;
    plan.seed = 0;
    memset(plan.guest, 0, sizeof plan.guest);
    plan.leaver = plan.leaves_after = 0;
    plan_spare_all();
}

static bool run_and_check(struct outcome *out)
{
    if (replica_run(out))
        return check_run(out);
    (void)says(false, out->message[0] ? out->message : "the end", 0, 1);
    return false;
}

/* The run of `plan` without a fault. */
static bool run_even(struct outcome *out)
{
    int n_asked = 0;

    if (!run_and_check(out))
        return false;
    for (int r = 0; r < MOST_RANKS; r++)
        n_asked += out->n_asked[r];
    /* The first, that of the end, and at the end, where fewer are left than workers have some, one that is not ahead.
     */
    return says(out->n_died == 0 && out->n_again == 0 && out->n_repeated == 0, "batches again", (double)out->n_again,
                0) &&
           says(n_asked >= 2 * N_WORKERS && n_asked <= 3 * N_WORKERS, "times asked", n_asked, 3 * N_WORKERS);
}

static int points(int stride)
{
    int n_failures = 0, n_runs = 0;
    uint64_t n_again = 0, n_repeated = 0;

    for (int n_servers = 1; n_servers <= MOST_SERVERS; n_servers++) {
        const int worker = 1 + n_servers % (N_WORKERS - 1);
        struct outcome even, o;
        choose(n_servers);
        if (!run_even(&even))
            return 1;
        plan.victim[0].rank = worker;
        for (int n = n_servers % stride; n < even.n_calls[worker]; n += stride) {
            plan.victim[0].n_call = n;
            n_runs++;
            n_failures += !run_and_check(&o);
            n_again += o.n_again;
            n_repeated += o.n_repeated;
        }
    }
    printf("%d runs, %llu batches handed out again, %llu parts of them dropped, %d failures\n", n_runs,
           (unsigned long long)n_again, (unsigned long long)n_repeated, n_failures);
    return n_failures > 0 || n_again == 0 || n_repeated == 0;
}

static int drawn(uint64_t seed, uint64_t what, int below)
{
    return (int)(rng_u64(seed, RNG_TEST, what) % (uint64_t)below);
}

static int seeds(uint64_t first, uint64_t n)
{
    struct outcome even[MOST_SERVERS], o;
    int n_failures = 0, n_died = 0;
    uint64_t n_again = 0;

    for (int i = 0; i < MOST_SERVERS; i++) {
        choose(i + 1);
        if (!run_even(&even[i]))
            return 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        const int i = drawn(seed, 0, MOST_SERVERS);
        choose(i + 1);
        plan.seed = seed;
        plan.splits = seed % 4 == 1;
        plan.spoils = seed % 5 == 2;
        for (int v = 0; v < 2; v++)
            plan.victim[v] =
                (struct victim){ .rank = 1 + v, .n_call = drawn(seed, 1 + (uint64_t)v, 2 * even[i].n_calls[1 + v]) };
        if (!run_and_check(&o)) {
            n_failures++;
            continue;
        }
        n_died += o.n_died;
        n_again += o.n_again;
    }
    printf("%llu seeds, %d deaths, %llu batches handed out again, %d failures\n", (unsigned long long)n, n_died,
           (unsigned long long)n_again, n_failures);
    return n_failures > 0 || n_again == 0;
}

/* Of a run that nobody leaves: how long it is, in steps of an idle worker, so that a guest comes at any moment of it.
 */
enum { LONGEST_NS = 1200000 };

/* Who joins when, leaves, and dies in a run of `seed`. */
static void draw_changes(uint64_t seed, const struct outcome *even)
{
    const int n_die = drawn(seed, 10, 3);

    for (int g = 0; g < MOST_GUESTS; g++)
        plan.guest[g] =
            (struct guest){ drawn(seed, 20 + (uint64_t)g, 8) > 0, (uint64_t)drawn(seed, 30 + (uint64_t)g, LONGEST_NS) };
    if (drawn(seed, 11, 2) == 0) {
        plan.leaver = 1 + drawn(seed, 12, MOST_WORKERS - 1);
        plan.leaves_after = drawn(seed, 13, 4);
    }
    for (int v = 0; v < n_die; v++) {
        const int worker = 1 + drawn(seed, 40 + (uint64_t)v, MOST_WORKERS - 1);
        const int rank = worker < N_WORKERS ? worker : worker + plan.n_servers;
        plan.victim[v] = (struct victim){ .rank = rank, .n_call = drawn(seed, 50 + (uint64_t)v, even->n_calls[1]) };
    }
}

static int joins(uint64_t first, uint64_t n)
{
    struct outcome even[MOST_SERVERS], o;
    int n_failures = 0, n_died = 0, n_joined = 0, n_late = 0, n_left = 0, n_by_guests = 0;

    for (int i = 0; i < MOST_SERVERS; i++) {
        choose(i + 1);
        if (!run_even(&even[i]))
            return 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        const int i = drawn(seed, 0, MOST_SERVERS);
        choose(i + 1);
        plan.seed = seed;
        plan.splits = seed % 4 == 1;
        plan.spoils = seed % 5 == 2;
        draw_changes(seed, &even[i]);
        if (!run_and_check(&o)) {
            n_failures++;
            continue;
        }
        n_died += o.n_died;
        n_joined += o.n_joined;
        n_late += o.n_late_guests;
        n_left += o.n_left;
        n_by_guests += o.n_ended[N_WORKERS] + o.n_ended[N_WORKERS + 1];
    }
    printf("%llu seeds, %d joined, %d came too late, %d left, %d died, %d batches by guests, %d failures\n",
           (unsigned long long)n, n_joined, n_late, n_left, n_died, n_by_guests, n_failures);
    return n_failures > 0 || n_joined == 0 || n_late == 0 || n_left == 0 || n_died == 0 || n_by_guests == 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || world_find(&plan.world, argv[2]) != RC_OK || transport_find(&plan.transport, argv[3]) != RC_OK) {
        fprintf(stderr, "usage: elastic_test points WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N | "
                        "joins WORLD TRANSPORT FIRST N\n");
        return 2;
    }
    if (!replica_kit_open())
        return 2;
    if (strcmp(argv[1], "points") == 0)
        return points(atoi(argv[4]));
    if (strcmp(argv[1], "joins") == 0 && argc == 6)
        return joins(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    return argc == 6 ? seeds(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)) : 2;
}
