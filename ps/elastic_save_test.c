/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elastic_save_test.c points WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N - servers of an elastic run
 * (leases.h) that write snapshots (snapshot.h) die at any call of the transport: what was rolled back is handed out
 * again (audit.h, leases.B12), so that each batch counts once in each part of the parameters that the run ends with.
 *
 *   points   one of 2 to 4 servers dies at its 1st, (1 + STRIDE)th, ... call, or behind it: that with the book, too,
 *            and behind its last batch; and server 0 at each of its last calls, where a worker looks for the answer to
 *            its LEAVE when worker 0 has all it needs
 *   seeds    the seed draws which server dies, and when, with pauses that it draws; with 4 servers another one, too,
 *            beside neither of whose neighbours is lost; how often snapshots are written; which worker dies, and which
 *            leaves. Where it draws two servers of which one has the other's slice, the run ends, and names the server
 *
 * A gradient is of small integers that batch and parameter give, at rate 1: sums are exact in any order, and no two
 * batches are alike in all parameters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "ps/suite/replica_kit.h"

static bool says(bool holds, const char *what, double is, double wanted)
{
    if (holds)
        return true;
    fprintf(stderr, "%d servers, seed %llu, a snapshot every %llu updates%s%s", plan.n_servers,
            (unsigned long long)plan.seed, (unsigned long long)plan.snapshot_every, plan.splits ? " splits" : "",
            plan.spoils ? " spoils" : "");
    if (plan.leaver > 0)
        fprintf(stderr, ", worker %d leaves after %d", plan.leaver, plan.leaves_after);
    for (int i = 0; i < MOST_VICTIMS; i++)
        if (plan.victim[i].rank >= 0)
            fprintf(stderr, ", rank %d dies at call %d%s", plan.victim[i].rank, plan.victim[i].n_call,
                    plan.victim[i].follows ? " since" : "");
    fprintf(stderr, ": %s is %g, not %g\n", what, is, wanted);
    return false;
}

/* --- what a run has to come to --- */

static int n_dead_servers(const struct outcome *o)
{
    int n = 0;

    for (int s = 0; s < plan.n_servers; s++)
        n += o->is_dead[N_WORKERS + s];
    return n;
}

/* Of a server that dies when all is over, and whose place nobody takes, the book is not known. */
static bool check_book(const struct outcome *o)
{
    if (n_dead_servers(o) != (int)o->n_taken_over)
        return true;
    return says(o->n_books == 1, "servers with the book", o->n_books, 1) &&
           says(o->n_batches_done == N_BATCHES, "batches done", (double)o->n_batches_done, N_BATCHES);
}

static bool check_run(const struct outcome *o)
{
    const bool is_known = n_dead_servers(o) < plan.n_servers; /* all may die when all is over */
    bool holds = !is_known ||
                 (says(o->n_held == N_BATCHES, "batches in all parts", (double)o->n_held, N_BATCHES) && check_book(o));

    for (int i = 0; i < N_PARAMS && holds; i++)
        holds = says(o->final[i] == plan_summed(i), "a parameter", (double)o->final[i], (double)plan_summed(i));
    return holds;
}

/* --- schedules --- */

static void choose(int n_servers, const char *folder)
{
    plan.rule = (struct consistency){ CONSISTENCY_ASYNC, 0 };
    plan.n_servers = n_servers;
    plan.is_elastic = true;
    plan.snapshots = folder;
    plan.snapshot_every = 5;
    plan.n_pieces = plan.n_in_flight = 2;
    plan.splits = plan.spoils = false;
    plan.seed = 0;
    plan.leaver = plan.leaves_after = plan.late_hearer = 0;
    plan_spare_all();
}

static bool run_and_check(struct outcome *out)
{
    if (replica_run(out))
        return check_run(out);
    (void)says(false, out->message[0] ? out->message : "the end", 0, 1);
    return false;
}

/* The run of `plan` without a fault: nothing comes twice. */
static bool run_even(struct outcome *out)
{
    if (!run_and_check(out))
        return false;
    return says(out->n_again == 0, "batches again", (double)out->n_again, 0) &&
           says(out->n_repeated == 0, "parts again", (double)out->n_repeated, 0) &&
           says(out->n_rolled_back == 0, "pushes rolled back", (double)out->n_rolled_back, 0);
}

struct totals {
    int n_runs, n_failures, n_of_book, n_workers, n_left, n_twice, n_ended;
    uint64_t n_again, n_repeated, n_rolled_back;
};

static void add(struct totals *t, const struct outcome *o)
{
    t->n_of_book += o->is_dead[N_WORKERS] && o->n_books == 1;
    t->n_twice += n_dead_servers(o) > 1;
    for (int w = 0; w < N_WORKERS; w++)
        t->n_workers += o->is_dead[w];
    t->n_left += o->n_left;
    t->n_again += o->n_again;
    t->n_repeated += o->n_repeated;
    t->n_rolled_back += o->n_rolled_back;
}

static void print(const struct totals *t)
{
    printf("%d runs, in %d of which another server took the book, in %d two were lost; %d workers lost, %d left; %llu "
           "pushes rolled back, %llu batches handed out again, %llu parts of them dropped; %d ended with a slice; %d "
           "failures\n",
           t->n_runs, t->n_of_book, t->n_twice, t->n_workers, t->n_left, (unsigned long long)t->n_rolled_back,
           (unsigned long long)t->n_again, (unsigned long long)t->n_repeated, t->n_ended, t->n_failures);
}

/* One run of points(). */
static void play(struct totals *t)
{
    struct outcome o;
    const bool holds = run_and_check(&o);

    t->n_runs++;
    t->n_failures += !holds;
    if (holds)
        add(t, &o);
}

/* Who is the last to hear finds the server lost with its answer, or behind it. */
static bool last_calls(struct totals *t, const char *folder)
{
    enum { N_LAST = 24 };
    struct outcome even;

    choose(2, folder);
    plan.late_hearer = N_WORKERS - 1;
    if (!run_even(&even))
        return false;
    plan.victim[0].rank = N_WORKERS;
    for (int n = even.n_calls[N_WORKERS] - N_LAST; n < even.n_calls[N_WORKERS]; n++) {
        plan.victim[0].n_call = n;
        play(t);
    }
    return true;
}

static bool points(int stride, const char *folder)
{
    struct totals t = { 0 };

    for (int i = 0; i < 2 + 3 + 4; i++) {
        const int n_servers = i < 2 ? 2 : i < 5 ? 3 : 4, server = i < 2 ? i : i < 5 ? i - 2 : i - 5;
        struct outcome even;
        choose(n_servers, folder);
        plan.splits = i % 3 == 1;
        if (!run_even(&even))
            return false;
        plan.victim[0].rank = N_WORKERS + server;
        for (int n = i % stride; n < even.n_calls[N_WORKERS + server]; n += stride) {
            plan.victim[0].n_call = n;
            play(&t);
        }
    }
    if (!last_calls(&t, folder))
        return false;
    print(&t);
    return t.n_failures == 0 && t.n_of_book > 0 && t.n_again > 0 && t.n_repeated > 0 && t.n_rolled_back > 0;
}

static int drawn(uint64_t seed, uint64_t what, int below)
{
    return (int)(rng_u64(seed, RNG_TEST, what) % (uint64_t)below);
}

/* *is_fatal: of the servers that it draws one has the slice of another, and is lost, too. */
static void draw(uint64_t seed, const struct outcome *even, bool *is_fatal)
{
    const int n = plan.n_servers, server = drawn(seed, 60, n), n_behind = 1 + drawn(seed, 61, n - 1);
    const int other = (server + n_behind) % n;
    const bool is_twice = drawn(seed, 62, 3) == 0;
    const int n_times = seed % 3 == 0 ? 3 : 1; /* as many pieces, so that the server dies between those of a batch */

    plan.seed = seed;
    plan.splits = seed % 4 == 1;
    plan.spoils = seed % 5 == 2;
    plan.n_pieces *= n_times;
    plan.snapshot_every = 1 + (uint64_t)drawn(seed, 63, 8);
    plan.victim[0] = (struct victim){ .rank = N_WORKERS + server,
                                      .n_call = drawn(seed, 64, n_times * even->n_calls[N_WORKERS + server]) };
    *is_fatal = is_twice && (n_behind == 1 || n_behind == n - 1);
    if (is_twice)
        plan.victim[1] = (struct victim){ N_WORKERS + other, drawn(seed, 65, 80), true, false };
    if (drawn(seed, 66, 2) == 0)
        plan.victim[2] =
            (struct victim){ .rank = 1 + drawn(seed, 67, N_WORKERS - 1), .n_call = drawn(seed, 68, even->n_calls[1]) };
    if (drawn(seed, 69, 4) == 0) {
        plan.leaver = 1 + drawn(seed, 70, N_WORKERS - 1);
        plan.leaves_after = drawn(seed, 71, N_STEPS);
    }
}

/* The run ended, as who had the slice of a lost server was lost, too. */
static bool ended_with_slice(const struct outcome *o)
{
    return n_dead_servers(o) > 1 && strstr(o->message, "rank ") != NULL;
}

static bool seeds(uint64_t first, uint64_t n, const char *folder)
{
    struct outcome even[MOST_SERVERS], o;
    struct totals t = { 0 };

    for (int i = 1; i < MOST_SERVERS; i++) {
        choose(i + 1, folder);
        if (!run_even(&even[i]))
            return false;
    }
    for (uint64_t seed = first; seed < first + n; seed++) {
        const int i = 1 + drawn(seed, 0, MOST_SERVERS - 1);
        bool is_fatal = false;
        choose(i + 1, folder);
        draw(seed, &even[i], &is_fatal);
        t.n_runs++;
        const bool has_ended = replica_run(&o);
        const bool holds = has_ended
                               ? check_run(&o)
                               : says(is_fatal && ended_with_slice(&o), o.message[0] ? o.message : "the end", 0, 1);
        t.n_failures += !holds;
        t.n_ended += !has_ended;
        if (holds && has_ended)
            add(&t, &o);
    }
    print(&t);
    return t.n_failures == 0 && t.n_of_book > 0 && t.n_twice > 0 && t.n_workers > 0 && t.n_left > 0 && t.n_again > 0;
}

static bool remove_folder(const char *folder)
{
    char path[64];

    for (int s = 0; s < MOST_SERVERS; s++) {
        (void)snprintf(path, sizeof path, "%s/server-%d", folder, s);
        (void)unlink(path);
    }
    return rmdir(folder) == 0;
}

int main(int argc, char **argv)
{
    char folder[] = "gm_elastic_save_test.XXXXXX";
    const bool is_points = argc == 5 && strcmp(argv[1], "points") == 0;
    const bool is_seeds = argc == 6 && strcmp(argv[1], "seeds") == 0;

    if ((!is_points && !is_seeds) || world_find(&plan.world, argv[2]) != RC_OK ||
        transport_find(&plan.transport, argv[3]) != RC_OK) {
        fprintf(stderr, "usage: elastic_save_test points WORLD TRANSPORT STRIDE | seeds WORLD TRANSPORT FIRST N\n");
        return 2;
    }
    if (!replica_kit_open() || !mkdtemp(folder))
        return 2;
    const bool holds = is_points ? points((int)strtol(argv[4], NULL, 10), folder)
                                 : seeds(strtoull(argv[4], NULL, 10), strtoull(argv[5], NULL, 10), folder);
    return !remove_folder(folder) || !holds;
}
