/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replica_test.c points|copies WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N - servers and workers
 * that die at any call of the transport, with a replica of each server: nothing is lost, nothing counts twice, and the
 * others end.
 *
 *   points     a server dies at its 1st, (1 + STRIDE)th, ... call, or behind it: before it has forwarded a push, before
 *              the heir has it, between HELD and the answer, in the middle of the end; by each rule, with 2 to 4
 *              servers, with two chunks, which are under way at once, and with twelve, of which three are (at every
 *              fifth of these calls); and the run ends where both servers of a slice die
 *   seeds      the same at calls that the seed draws, with pauses that it draws, and another rank that dies: of 4
 *              servers the one beyond the heir, else for every third seed a worker. Some push and pull apart, or push
 *              what is not finite once; half of them have twelve chunks, of which one to eight are under way at once.
 *              In a third of those with 3 or 4 servers two or three die, one after the other, each when all slices are
 *              in two places again: the last one that is left holds all
 *   copies     a server dies in the middle, or late, and then another one at its 1st, (1 + STRIDE)th, ... call since:
 *              before, while and behind new replicas are made, in a third of the cases with pulls apart. The run ends
 *              only where a slice was in one place, and says so
 *
 * A gradient is of small integers that step, worker and parameter give, at rate 1 and without momentum: sums are exact
 * in any order. With sync the update has a momentum, and is the same to the bit in every run.
 * Each run is made in a copy of this process, of which SIGALRM ends one that hangs.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "ps/ps.h"
#include "ps/recovery/suite/replica_kit.h"

static void describe(FILE *to)
{
    char rule[CONSISTENCY_TEXT_BYTES];

    consistency_text(rule, sizeof rule, &plan.rule);
    fprintf(to, "%s%s%s%s, %d servers, %d of %d chunks at once, seed %llu", rule, plan.stops ? " stops" : "",
            plan.splits ? " splits" : "", plan.spoils ? " spoils" : "", plan.n_servers, plan.n_in_flight, plan.n_chunks,
            (unsigned long long)plan.seed);
    for (int i = 0; i < MOST_VICTIMS && plan.victim[i].rank >= 0; i++)
        fprintf(to, ", rank %d dies at call %d%s%s", plan.victim[i].rank, plan.victim[i].n_call,
                plan.victim[i].follows ? " since" : "", plan.victim[i].waits ? " all was safe" : "");
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

/* Without the lost worker's, or with its first n_of_lost gradients. */
static float summed(int i, int n_of_lost)
{
    const bool is_beside_nan = i < N_PARAMS / plan.n_servers && i < N_PARAMS / plan.n_chunks; /* in one message */
    float sum = plan_initial(i);

    for (int w = 0; w < N_WORKERS; w++)
        for (int step = 0; step < (w == plan_lost_worker() ? n_of_lost : N_STEPS); step++)
            sum -= is_beside_nan && plan_is_spoiled(w, step) ? 0 : plan_gradient(w, step, i);
    return sum;
}

/* Each gradient counts once: of a worker that was lost, in each parameter, all that were answered, and at most one
 * more.
 */
static bool check_sums(const struct outcome *o)
{
    const int lost = plan_lost_worker(), n_ended = lost >= 0 ? o->n_ended[lost] : 0;
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
        holds = says(o->final[i] == plan_initial(i) - STOPS_AT, "parameter", i, (double)o->final[i],
                     (double)plan_initial(i) - STOPS_AT);
    return holds;
}

/* Of the run without a fault, where no worker was lost. */
static bool check_bits(const struct outcome *o, const struct outcome *even)
{
    bool holds = says(o->n_updates == N_STEPS, "updates of run", 0, (double)o->n_updates, N_STEPS);

    for (int i = 0; i < N_PARAMS && holds && plan_lost_worker() < 0; i++)
        holds = says(memcmp(&o->final[i], &even->final[i], sizeof(float)) == 0, "parameter", i, (double)o->final[i],
                     (double)even->final[i]) &&
                says(memcmp(&o->moment[i], &even->moment[i], sizeof(float)) == 0, "moment", i, (double)o->moment[i],
                     (double)even->moment[i]);
    return holds;
}

/* Parts of chunks on servers: SPLIT cuts 24 parameters in 2 chunks on 2 to 4 servers; of 12 chunks none. */
static int n_parts(void)
{
    return plan.n_chunks > 2 ? plan.n_chunks : plan.n_servers == 2 ? 2 : 4;
}

/* Each slice whose holder has said that it has a replica again has one at the end; of one server none has any. */
static bool check_replicas(const struct outcome *o, bool is_counted)
{
    int n_safe = 0, n_living = 0;

    for (int s = 0; s < plan.n_servers; s++) {
        n_safe += o->is_safe[s];
        n_living += !o->is_dead[N_WORKERS + s];
    }
    if (n_safe == plan.n_servers)
        return says(o->n_alone == 0, "slices alone of run", 0, o->n_alone, 0);
    if (n_living == 1 && is_counted)
        return says(o->n_alone == plan.n_servers, "slices alone of run", 0, o->n_alone, plan.n_servers);
    return true;
}

static bool check_run(const struct outcome *o, const struct outcome *even)
{
    const uint64_t n_all = (uint64_t)(N_WORKERS * N_STEPS * n_parts() - plan.spoils),
                   n_counted = o->n_pushes + o->n_late;
    const uint64_t n_late = plan_is_sync() ? (uint64_t)(plan.rule.bound_count * N_STEPS * (unsigned)n_parts()) : 0;
    /* What a server has counted is known, unless it dies when everything is done, and nobody takes its place. */
    const bool is_counted = o->n_died == (int)o->n_taken_over;
    bool holds = check_replicas(o, is_counted);

    if (holds && plan_lost_worker() < 0 && !plan.stops && is_counted)
        holds = says(n_counted == n_all, "pushes of run", 0, (double)n_counted, (double)n_all) &&
                says(o->n_late == n_late, "late pushes of run", 0, (double)o->n_late, (double)n_late);
    if (holds && plan.stops)
        return check_stopped(o);
    if (holds && !plan_is_sync())
        return check_sums(o);
    if (holds && plan.rule.bound_count == 0)
        return check_bits(o, even);
    return holds;
}

/* --- schedules --- */

static const struct {
    struct consistency rule;
    bool stops;
} rules[] = { { { CONSISTENCY_ASYNC, 0 }, false },
              { { CONSISTENCY_SSP, 1 }, false },
              { { CONSISTENCY_SYNC, 0 }, false },
              { { CONSISTENCY_SYNC, 1 }, false },
              { { CONSISTENCY_ASYNC, 0 }, true } };
enum { N_UNSTOPPED_RULES = 4 }; /* of rules: the first */
enum { N_RULES = sizeof rules / sizeof *rules, FEWEST_SERVERS = 2, N_SIZES = MOST_SERVERS - FEWEST_SERVERS + 1 };
enum { COARSE, FINE, N_CUTS, FINE_AT_ONCE = 3, FINE_STRIDES = 5 }; /* of parameters into chunks */

static void choose(int rule, int n_servers, int cut)
{
    plan.n_chunks = cut == FINE ? MOST_CHUNKS : 2;
    plan.n_in_flight = cut == FINE ? FINE_AT_ONCE : 2;
    plan.rule = rules[rule].rule;
    plan.stops = rules[rule].stops;
    plan.n_servers = n_servers;
    plan.splits = plan.spoils = plan.opens = false;
    plan.seed = 0;
    plan_spare_all();
}

static bool run_and_check(struct outcome *out, const struct outcome *even)
{
    if (replica_run(out))
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

    choose(0, 2, COARSE);
    plan.victim[0] = (struct victim){ .rank = N_WORKERS, .n_call = 40 };
    plan.victim[1] = (struct victim){ .rank = N_WORKERS + 1, .n_call = 60 };
    const bool has_ended = replica_run(&o);
    if (!has_ended && strstr(o.message, "lost"))
        return true;
    describe(stderr);
    fprintf(stderr, ": both servers died, and \"%s\"\n", has_ended ? "the run ended well" : o.message);
    return false;
}

/* replica.R7: a copy with a gradient of a round that ends after the copy. */
static bool check_open_round(void)
{
    enum { SYNC = 2 }; /* of rules */
    struct outcome even, o;

    choose(SYNC, 3, COARSE);
    if (!run_even(&even))
        return false;
    plan.opens = true;
    return run_and_check(&o, &even) &&
           says(o.is_dead[N_WORKERS + OPENER_DIES], "server that died", OPENER_DIES, 0, 1) &&
           says(o.n_copies == 2, "copies", 0, o.n_copies, 2);
}

static int points(int stride)
{
    int n_failures = !check_both_lost() + !check_open_round(), n_runs = 0;

    for (int i = 0; i < N_RULES * N_SIZES * N_CUTS; i++) {
        const int cut = i % N_CUTS, size = i / N_CUTS % N_SIZES, every = cut == FINE ? FINE_STRIDES * stride : stride;
        struct outcome even, o;
        choose(i / (N_CUTS * N_SIZES), FEWEST_SERVERS + size, cut);
        const int server = N_WORKERS + i / N_CUTS % plan.n_servers;
        if (!run_even(&even))
            return 1;
        plan.victim[0].rank = server;
        for (int n = i / N_CUTS % every; n < even.n_calls[server]; n += every) {
            plan.victim[0].n_call = n;
            n_runs++;
            n_failures += !run_and_check(&o, &even);
        }
    }
    printf("%d runs, %d failures\n", n_runs, n_failures);
    return n_failures > 0;
}

struct tally {
    int n_runs, n_ended;
};

/* Server `first` dies in the middle, or late, then `second` at any call. */
static int copies_of(int first, int second, bool is_late, int stride, const struct outcome *even, struct tally *t)
{
    int n_failures = 0, n_calls;
    struct outcome o;

    const int n_of_first = even->n_calls[N_WORKERS + first], n_before_end = 1 + (first + second) % 8;
    plan.victim[0] =
        (struct victim){ .rank = N_WORKERS + first, .n_call = is_late ? n_of_first - n_before_end : n_of_first / 3 };
    plan.victim[1] = (struct victim){ .rank = N_WORKERS + second, .n_call = INT_MAX, .follows = true };
    if (!run_and_check(&o, even))
        return 1;
    n_calls = o.n_since[1];
    for (plan.victim[1].n_call = (first + second) % stride; plan.victim[1].n_call < n_calls;
         plan.victim[1].n_call += stride) {
        t->n_runs++;
        if (replica_run(&o)) {
            n_failures += !check_run(&o, even);
            continue;
        }
        t->n_ended++;
        if (o.may_end && strstr(o.last_words, "are lost: who held them was lost before server"))
            continue; /* R9 */
        n_failures++;
        describe(stderr);
        fprintf(stderr, ": %s; %s\n", o.message[0] ? o.message : "it did not end, or crashed",
                o.may_end ? "no line tells of the slice" : "and each slice was in two places");
    }
    return n_failures;
}

static int copies(int stride)
{
    enum { N_CASES = N_RULES * (N_SIZES - 1) * N_CUTS };
    struct tally t = { 0 };
    int n_failures = 0;
    struct outcome even;

    for (int i = 0; i < N_CASES * MOST_SERVERS; i++) {
        const int cut = i % N_CUTS, size = 1 + i / N_CUTS % (N_SIZES - 1), by = i / N_CASES;
        choose(i / (N_CUTS * (N_SIZES - 1)) % N_RULES, FEWEST_SERVERS + size, cut);
        const int first = i % plan.n_servers;
        if (by == 0 || by >= plan.n_servers)
            continue;
        plan.splits = !plan.stops && by == 2;
        if (!run_even(&even))
            return 1;
        const int second = (first + by) % plan.n_servers, every = cut == FINE ? 3 * stride : stride;
        n_failures += copies_of(first, second, false, every, &even, &t) + copies_of(first, second, true, 3, &even, &t);
    }
    printf("%d runs, of which %d ended with a slice, %d failures\n", t.n_runs, t.n_ended, n_failures);
    return n_failures > 0 || t.n_ended == 0 || t.n_ended == t.n_runs;
}

static int drawn(uint64_t seed, uint64_t what, int below)
{
    return (int)(rng_u64(seed, RNG_TEST, what) % (uint64_t)below);
}

/* A server, and then others, each when all slices are in two places again. */
static void draw_in_turn(uint64_t seed, int first)
{
    int n_left = plan.n_servers, server = first;

    for (int i = 1; i < plan.n_servers - 1; i++) {
        const int by = 1 + drawn(seed, 10 + (uint64_t)i, --n_left); /* of those that live, behind the last one */
        for (int n = 0; n < by;) {
            server = (server + 1) % plan.n_servers;
            bool is_dead = false;
            for (int k = 0; k < i; k++)
                is_dead |= plan.victim[k].rank == N_WORKERS + server;
            n += !is_dead;
        }
        plan.victim[i] = (struct victim){ N_WORKERS + server, drawn(seed, 20 + (uint64_t)i, 40), true, true };
    }
}

/* What dies when, by the calls of a run without a fault. */
static void draw(uint64_t seed, struct outcome even[N_RULES][N_SIZES][N_CUTS])
{
    const int rule = drawn(seed, 0, N_RULES), size = drawn(seed, 1, N_SIZES), n_servers = FEWEST_SERVERS + size;
    const int cut = drawn(seed, 6, N_CUTS);
    const int server = drawn(seed, 2, n_servers), worker = 1 + drawn(seed, 3, N_WORKERS - 1);
    const int *n_calls = even[rule][size][cut].n_calls;

    choose(rule, n_servers, cut);
    plan.n_in_flight = cut == FINE ? 1 + drawn(seed, 7, PS_CREDITS) : plan.n_in_flight;
    plan.seed = seed;
    plan.splits = !plan.stops && seed % 4 == 1;
    plan.spoils = !plan.stops && !plan_is_sync() && seed % 5 == 2;
    plan.victim[0] =
        (struct victim){ .rank = N_WORKERS + server, .n_call = drawn(seed, 4, n_calls[N_WORKERS + server]) };
    if (n_servers > 2 && seed % 3 == 2) {
        plan.victim[0].n_call /= 2;
        draw_in_turn(seed, server);
        return;
    }
    const int second = n_servers == 4 ? N_WORKERS + (server + 2) % 4 : worker; /* not its heir, nor whose it is */
    if (n_servers == 4 || (seed % 3 == 0 && !plan.stops))
        plan.victim[1] = (struct victim){ .rank = second, .n_call = drawn(seed, 5, n_calls[second]) };
}

static int seeds(uint64_t first, uint64_t n)
{
    struct outcome even[N_RULES][N_SIZES][N_CUTS], o;
    int n_failures = !check_open_round(), n_died = 0, n_taken_over = 0, n_copies = 0, n_alone = 0;

    for (int i = 0; i < N_RULES * N_SIZES * N_CUTS; i++) {
        const int rule = i / (N_CUTS * N_SIZES), size = i / N_CUTS % N_SIZES, cut = i % N_CUTS;
        choose(rule, FEWEST_SERVERS + size, cut);
        if (!run_even(&even[rule][size][cut]))
            return 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        draw(seed, even);
        size_t rule = 0;
        while (memcmp(&rules[rule].rule, &plan.rule, sizeof plan.rule) != 0 || rules[rule].stops != plan.stops)
            rule++;
        const int size = plan.n_servers - FEWEST_SERVERS, cut = plan.n_chunks > 2 ? FINE : COARSE;
        if (!run_and_check(&o, &even[rule][size][cut])) {
            n_failures++;
            continue;
        }
        n_died += o.n_died;
        n_taken_over += (int)o.n_taken_over;
        n_copies += o.n_copies;
        n_alone += o.n_taken_over == (uint32_t)plan.n_servers - 1 && plan.n_servers > 2;
    }
    printf("%llu seeds, %d deaths, %d servers replaced, %d replicas made again, %d times all but one of 3 or 4 "
           "servers, %d "
           "failures\n",
           (unsigned long long)n, n_died, n_taken_over, n_copies, n_alone, n_failures);
    return n_failures > 0 || n_taken_over == 0 || (n >= 100 && n_alone == 0);
}

int main(int argc, char **argv)
{
    if (argc < 5 || world_find(&plan.world, argv[2]) != RC_OK || transport_find(&plan.transport, argv[3]) != RC_OK) {
        fprintf(stderr, "usage: replica_test points|copies WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N\n");
        return 2;
    }
    if (!replica_kit_open())
        return 2;
    if (strcmp(argv[1], "points") == 0)
        return points(atoi(argv[4]));
    if (strcmp(argv[1], "copies") == 0)
        return copies(atoi(argv[4]));
    return argc == 6 ? seeds(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)) : 2;
}
