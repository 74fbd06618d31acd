/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic_test.c points|servers WORLD TRANSPORT STRIDE | seeds|joins|losses WORLD TRANSPORT FIRST N - workers of an
 * elastic run (leases.h), and with replicas (replica.h) servers, that die at any call of the transport: no batch is
 * lost, none counts twice in any part of the parameters, and those that are left do what the others had.
 *
 *   points   one worker dies at its 1st, (1 + STRIDE)th, ... call, or behind it: before it has a batch, between the
 *            pushes of two chunks, or of two servers, before the answer, while it waits for a batch at the end; with 1
 *            to 4 servers; and so that one that waits gets what it had
 *   joins    two guests join, at moments that the seed draws, also such at which all is done; one of all workers leaves
 *            after some batches, and up to two die, guests or not, also while they join
 *   seeds    both workers beside worker 0 die, at calls that the seed draws, with pauses that it draws: one is left and
 *            does the rest. Some push and pull apart, or push what is not finite once
 *   servers  with replicas one of 2 to 4 servers dies, each at its 1st, (1 + STRIDE)th, ... call, or behind it: the one
 *            with the book, too, before and behind the change that its heir has made; and without replicas the run
 *            ends, and names the server
 *   losses   with replicas the seed draws which server dies; which other ones do, when new replicas are whole, or at
 *            any moment: then the run may end, if it says whose parameters are lost; which workers do; who joins, and
 *            who leaves
 *
 * A gradient is of small integers that batch and parameter give, at rate 1: sums are exact in any order. Each run is
 * made in a copy of this process, of which SIGALRM ends one that hangs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/rng.h"
#include "ps/recovery/suite/replica_kit.h"

static bool says(bool holds, const char *what, double is, double wanted)
{
    if (holds)
        return true;
    fprintf(stderr, "%d servers%s, seed %llu%s%s", plan.n_servers, plan.replicates ? " with replicas" : "",
            (unsigned long long)plan.seed, plan.splits ? " splits" : "", plan.spoils ? " spoils" : "");
    for (int i = 0; i < MOST_VICTIMS; i++)
        if (plan.victim[i].rank >= 0)
            fprintf(stderr, ", rank %d dies at call %d%s", plan.victim[i].rank, plan.victim[i].n_call,
                    plan.victim[i].follows ? " since" : "");
    fprintf(stderr, ": %s is %g, not %g\n", what, is, wanted);
    return false;
}

/* --- what a run has to come to --- */

/* Parts of chunks on servers: SPLIT cuts 24 parameters in 2 chunks on 1 to 4 servers. */
static int n_parts(void)
{
    return plan.n_servers <= 2 ? 2 : 4;
}

static bool is_server(int rank)
{
    return rank >= N_WORKERS && rank < N_WORKERS + plan.n_servers;
}

static int n_dead(const struct outcome *o, bool of_servers)
{
    int n = 0;

    for (int r = 0; r < MOST_RANKS; r++)
        n += o->is_dead[r] && is_server(r) == of_servers;
    return n;
}

/* Of a server that dies when everything is done, and whose place nobody takes, not all is known; but the book is: who
 * follows it has it, unless that is lost, too. */
static bool check_followed(const struct outcome *o)
{
    return says(plan.replicates, "servers replaced", o->n_taken_over, n_dead(o, true)) &&
           says(o->knows_book || n_dead(o, true) > 1, "books that are known", o->knows_book, 1) &&
           says(!o->knows_book || o->n_batches_done == N_BATCHES, "batches done", (double)o->n_batches_done, N_BATCHES);
}

/* What servers have counted. */
static bool check_counts(const struct outcome *o)
{
    const int n_lost = n_dead(o, false);
    /* What a worker had when it died, and had ahead, is handed out again, and of each part of it one gradient counts.
     */
    const bool gives_back = o->n_left > 0 && plan.leaves_after == 0 && plan.leaver < N_WORKERS; /* its first one, B6 */
    const uint64_t most_again = (uint64_t)(2 * n_lost + gives_back),
                   n_all = (uint64_t)(N_BATCHES * n_parts() - plan.spoils);

    if (n_dead(o, true) != (int)o->n_taken_over)
        return check_followed(o);
    return says(o->n_books == 1, "servers with the book", o->n_books, 1) &&
           says(o->n_batches_done == N_BATCHES, "batches done", (double)o->n_batches_done, N_BATCHES) &&
           says(o->n_again <= most_again, "batches again", (double)o->n_again, (double)most_again) &&
           says(o->n_pushes == n_all, "gradients of parts", (double)o->n_pushes, (double)n_all) &&
           says(o->n_repeated <= o->n_again * (uint64_t)(n_parts() - (plan.n_servers == 1)), "parts again",
                (double)o->n_repeated, (double)o->n_again * n_parts());
}

static bool check_run(const struct outcome *o)
{
    bool holds = says(o->n_held == N_BATCHES, "batches in all parts", (double)o->n_held, N_BATCHES) && check_counts(o);
    int n_ended = 0, n_begun = 0;

    for (int w = 0; w < MOST_WORKERS; w++) {
        n_ended += o->n_ended[w];
        n_begun += o->n_begun[w];
    }
    holds = holds && says(n_begun >= N_BATCHES && n_ended <= N_BATCHES + n_dead(o, false), "steps", n_begun, N_BATCHES);
    for (int i = 0; i < N_PARAMS && holds; i++)
        holds = says(o->final[i] == plan_summed(i), "a parameter", (double)o->final[i], (double)plan_summed(i));
    return holds;
}

/* --- schedules --- */

static void choose(int n_servers)
{
    plan.rule = (struct consistency){ CONSISTENCY_ASYNC, 0 };
    plan.n_servers = n_servers;
    plan.is_elastic = true;
    plan.replicates = false;
    plan.n_chunks = plan.n_in_flight = 2;
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

/* --- with replicas --- */

/* R9: the run ended, as both places of a slice were lost. */
static bool ended_with_slice(const struct outcome *o)
{
    return o->may_end && strstr(o->last_words, "are lost: who held them was lost before server");
}

/* Without a replica. */
static bool check_server_lost(void)
{
    struct outcome o;

    choose(2);
    plan.victim[0] = (struct victim){ .rank = N_WORKERS, .n_call = 40 };
    const bool has_ended = replica_run(&o);
    const bool is_named = strstr(o.message, "rank 3") && strstr(o.message, "ended");
    return says(!has_ended && is_named, o.message, has_ended, 0);
}

static int servers(int stride)
{
    int n_failures = !check_server_lost(), n_runs = 0, n_of_book = 0;

    for (int i = 0; i < 2 + 3 + 4; i++) {
        const int n_servers = i < 2 ? 2 : i < 5 ? 3 : 4, server = i < 2 ? i : i < 5 ? i - 2 : i - 5;
        struct outcome even, o;
        choose(n_servers);
        plan.replicates = true;
        plan.splits = i % 3 == 1;
        if (!run_even(&even))
            return 1;
        plan.victim[0].rank = N_WORKERS + server;
        for (int n = i % stride; n < even.n_calls[N_WORKERS + server]; n += stride) {
            plan.victim[0].n_call = n;
            n_runs++;
            n_failures += !run_and_check(&o);
            n_of_book += server == 0 && o.n_books == 1 && o.n_taken_over == 1;
        }
    }
    printf("%d runs, in %d of which another server took the book, %d failures\n", n_runs, n_of_book, n_failures);
    return n_failures > 0 || n_of_book == 0;
}

/* A server, then up to two more ranks: servers, each when all slices are in two places again or else at any moment,
 * and workers. */
static void draw_losses(uint64_t seed, const struct outcome *even)
{
    const int n = plan.n_servers, server = drawn(seed, 60, n), is_in_turn = drawn(seed, 61, 4) > 0;
    const int n_calls = even->n_calls[N_WORKERS + server];

    plan.victim[0] = (struct victim){ .rank = N_WORKERS + server, .n_call = drawn(seed, 62, n_calls) };
    for (int v = 1; v < MOST_VICTIMS; v++) {
        const uint64_t what = 70 + 10 * (uint64_t)v;
        const bool is_other = v == 1 && n > 2 && drawn(seed, what, 2) == 0;
        const int worker = v + drawn(seed, what + 1, 2), other = (server + 1 + drawn(seed, what + 2, n - 1)) % n;
        if (is_other)
            plan.victim[v] = (struct victim){ N_WORKERS + other, drawn(seed, what + 3, 60), true, is_in_turn };
        else if (drawn(seed, what + 4, 2) == 0)
            plan.victim[v] = (struct victim){ .rank = worker < N_WORKERS ? worker : N_WORKERS + n,
                                              .n_call = drawn(seed, what + 5, even->n_calls[1]) };
    }
    if (is_in_turn && plan.victim[1].follows)
        plan.victim[0].n_call /= 2;
    for (int g = 0; g < MOST_GUESTS; g++)
        plan.guest[g] =
            (struct guest){ drawn(seed, 20 + (uint64_t)g, 2) > 0, (uint64_t)drawn(seed, 30 + (uint64_t)g, LONGEST_NS) };
    if (drawn(seed, 11, 4) == 0) {
        plan.leaver = 1 + drawn(seed, 12, MOST_WORKERS - 1);
        plan.leaves_after = drawn(seed, 13, 4);
    }
}

struct losses {
    int n_servers, n_workers, n_ended, n_in_turn, n_of_book, n_joined, n_left, n_copies, n_again;
};

static void add_losses(struct losses *to, const struct outcome *o)
{
    to->n_servers += n_dead(o, true);
    to->n_workers += n_dead(o, false);
    to->n_in_turn += n_dead(o, true) > 1;
    to->n_of_book += o->is_dead[N_WORKERS] && o->n_books == 1;
    to->n_joined += o->n_joined;
    to->n_left += o->n_left;
    to->n_copies += o->n_copies;
    to->n_again += (int)o->n_again;
}

static int losses(uint64_t first, uint64_t n)
{
    struct outcome even[MOST_SERVERS], o;
    struct losses t = { 0 };
    int n_failures = 0;

    for (int i = 1; i < MOST_SERVERS; i++) {
        choose(i + 1);
        plan.replicates = true;
        if (!run_even(&even[i]))
            return 1;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        const int i = 1 + drawn(seed, 0, MOST_SERVERS - 1);
        choose(i + 1);
        plan.replicates = true;
        plan.seed = seed;
        plan.splits = seed % 4 == 1;
        plan.spoils = seed % 5 == 2;
        draw_losses(seed, &even[i]);
        const bool has_ended = replica_run(&o);
        t.n_ended += !has_ended;
        if (has_ended ? !check_run(&o) : !says(ended_with_slice(&o), o.message[0] ? o.message : "the end", 0, 1)) {
            n_failures++;
            continue;
        }
        add_losses(&t, &o);
    }
    printf("%llu seeds, %d servers lost, in %d runs more than one, %d times another took the book, %d workers lost, %d "
           "joined, %d left, %d replicas made again, %d batches handed out again, %d runs ended with a slice, %d "
           "failures\n",
           (unsigned long long)n, t.n_servers, t.n_in_turn, t.n_of_book, t.n_workers, t.n_joined, t.n_left, t.n_copies,
           t.n_again, t.n_ended, n_failures);
    return n_failures > 0 || t.n_in_turn == 0 || t.n_of_book == 0 || t.n_workers == 0 || t.n_joined == 0 ||
           t.n_left == 0 || t.n_copies == 0 || t.n_again == 0;
}

int main(int argc, char **argv)
{
    if (argc < 5 || world_find(&plan.world, argv[2]) != RC_OK || transport_find(&plan.transport, argv[3]) != RC_OK) {
        fprintf(stderr, "usage: elastic_test points|servers WORLD TRANSPORT STRIDE | "
                        "seeds|joins|losses WORLD TRANSPORT FIRST N\n");
        return 2;
    }
    if (!replica_kit_open())
        return 2;
    if (strcmp(argv[1], "points") == 0)
        return points(atoi(argv[4]));
    if (strcmp(argv[1], "servers") == 0)
        return servers(atoi(argv[4]));
    if (strcmp(argv[1], "losses") == 0 && argc == 6)
        return losses(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    if (strcmp(argv[1], "joins") == 0 && argc == 6)
        return joins(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10));
    return argc == 6 ? seeds(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10)) : 2;
}
