/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop_test.c WORLD | process | stacks - ranks that go at their own pace, of which one receives a signal, end after the
 * same step; what a process does with the signals; and on which stack its handler runs in each kind of thread that
 * computes (world.Z5). The exit code tells; in mpi that of each rank. The linker puts clock_gettime of this file,
 * which the handler calls, before the system's: a signal while the handler of another one runs, where it runs, and how
 * long after the first a second one comes.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/text.h"
#include "harness/cluster/cluster.h"
#include "harness/world/background.h"
#include "harness/world/stop.h"
#include "harness/world/task.h"
#include "harness/world/thread_pool.h"
#include "harness/world/world.h"

enum { MOST_STEPS = 400, N_RANKS = 5, N_RACES = 60, NOBODY = -1 };

struct race {
    uint64_t seed;
    int who;         /* receives the signal */
    int64_t at;      /* in its step, from 1 on; 0: before its first */
    bool has_server; /* the last rank begins no step */
    int n_failures;  /* rank 0's */
};

static int expect(bool ok, const struct race *race, const char *what)
{
    if (!ok)
        fprintf(stderr, "signal to rank %d in step %lld, seed %llu: not so: %s (last error: %s)\n", race->who,
                (long long)race->at, (unsigned long long)race->seed, what, rc_message());
    return !ok;
}
#define EXPECT(ok) expect((ok), race, #ok)

static uint64_t draw(uint64_t seed, uint64_t i)
{
    return rng_u64(seed, RNG_SHUFFLE, i);
}

/* Until this rank is told of the signal. */
static enum rc await_signal(struct world *w)
{
    enum rc rc = RC_OK;

    while (world_stop_signal(w) == 0) {
        TRY(world_check(w));
        world_pause(w, 1000000);
    }
out:
    return rc;
}

/* Steps of 0 to 30 us, each rank's of its own length. Whoever has done half of them waits for the signal, which may be
 * late. */
static enum rc step(struct world *w, struct race *race, int64_t n, bool *begins)
{
    enum rc rc;

    if (race->who == w->rank && race->at == 0 && n == 1)
        (void)raise(SIGTERM);
    if (race->who != NOBODY && n > MOST_STEPS / 2)
        TRY(await_signal(w));
    TRY(world_begin_step(w, n, begins));
    if (!*begins)
        return RC_OK;
    const uint64_t pace = 1 + draw(race->seed, (uint64_t)w->rank) % 4;
    world_pause(w, pace * (draw(race->seed, (uint64_t)(n * N_RANKS + w->rank)) % 8000));
    if (race->who == w->rank && n == race->at)
        (void)raise(SIGTERM);
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    struct race *race = arg;
    const bool is_server = race->has_server && w->rank == w->n_ranks - 1;
    int64_t n_done = 0, all[N_RANKS] = { 0 };
    bool begins = true;
    enum rc rc = RC_OK;

    for (int64_t n = 1; n <= MOST_STEPS && !is_server; n++) {
        TRY(step(w, race, n, &begins));
        if (!begins)
            break;
        n_done = n;
    }
    const int number = world_stop_signal(w);
    TRY(world_allgather(w, &n_done, all, sizeof n_done));
    for (int r = 0; r < w->n_ranks - race->has_server && w->rank == 0; r++)
        race->n_failures += EXPECT(all[r] == all[0]);
    if (w->rank == 0) {
        race->n_failures += EXPECT(all[0] >= race->at && all[0] >= 1);
        race->n_failures += EXPECT(race->who == NOBODY ? all[0] == MOST_STEPS : all[0] <= MOST_STEPS / 2 + 1);
        race->n_failures += EXPECT(number == (race->who == NOBODY ? 0 : SIGTERM));
    }
out:
    return rc;
}

/* Ranks have no common pace: without an agreement they end after numbers of steps that differ. */
static int run_race(const struct world_ops *ops, struct race *race)
{
    const bool is_launched = ops->module.caps & WORLD_LAUNCHED;
    struct cluster cluster;
    const struct world_opts opts = { .cluster = &cluster,
                                     .stall = { .warn_ns = UINT64_C(20000000000), .abort_ns = UINT64_C(40000000000) } };

    cluster_default(&cluster);
    stop_catch_first();
    const enum rc rc = world_run(ops, &opts, is_launched ? 0 : N_RANKS, body, race);
    race->n_failures += EXPECT(rc == RC_OK);
    stop_release();
    return race->n_failures;
}

static int run_races(const char *name, int n_races, uint64_t seed)
{
    const struct world_ops *ops;
    int n_failures = 0;

    if (world_find(&ops, name) != RC_OK) {
        printf("skipped: %s\n", rc_message());
        return 77;
    }
    for (int i = 0; i < n_races; i++) {
        struct race race = { .seed = seed + (uint64_t)i,
                             .who = i % 8 == 7 ? NOBODY : (int)(draw(seed, (uint64_t)i) % 3),
                             .has_server = i % 2 == 1 };
        race.at = race.who == NOBODY || i % 5 == 4 ? 0 : 1 + (int64_t)(draw(seed + 1, (uint64_t)i) % 40);
        n_failures += run_race(ops, &race);
    }
    return n_failures > 0;
}

/* --- the process --- */

/* How a process ends that runs fn; -1: it cannot be started. */
static int status_of(void (*fn)(void))
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        fn();
        _exit(EXIT_SUCCESS);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static atomic_long made_up_ms; /* of the clock below; 0: the machine's time */

static void twice_at_once(void)
{
    atomic_store(&made_up_ms, 5000);
    stop_catch_first();
    (void)raise(SIGTERM);
    (void)raise(SIGTERM);
    atomic_fetch_add(&made_up_ms, STOP_AGAIN_MS - 1);
    (void)raise(SIGINT);
    if (stop_signal() != SIGTERM || !stop_wanted())
        _exit(EXIT_FAILURE);
}

int __real_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

static atomic_int signal_in_handler; /* raised where the handler of another one asks for the time; 0: none */

static struct { /* what the handlers of signals saw that raise_here() sent to its own thread */
    atomic_int n_handled, n_on_own_stack;
} seen;
static _Thread_local volatile bool has_raised; /* this thread has sent itself a signal, whose handler is to run now */

/* Of a handler: is its stack pointer within the alternate stack of its thread? The kernel compares. */
static void look_at_stack(void)
{
    stack_t now;

    if (!has_raised)
        return;
    atomic_fetch_add(&seen.n_handled, 1);
    atomic_fetch_add(&seen.n_on_own_stack, sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    look_at_stack();
    const int number = atomic_exchange(&signal_in_handler, 0);
    const int result = __real_clock_gettime(clock, out);
    const long now_ms = atomic_load(&made_up_ms);
    if (now_ms > 0)
        *out = (struct timespec){ .tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000 };
    if (number != 0)
        (void)raise(number);
    return result;
}

/* The handler of the second runs within that of the first, and both at once are one. */
static void one_in_the_other(void)
{
    atomic_store(&made_up_ms, 5000);
    stop_catch_first();
    atomic_store(&signal_in_handler, SIGINT);
    (void)raise(SIGTERM);
    if (atomic_load(&signal_in_handler) != 0 || !stop_wanted())
        _exit(EXIT_FAILURE);
    (void)raise(SIGTERM);
    (void)raise(SIGINT);
}

static void twice(void)
{
    atomic_store(&made_up_ms, 5000);
    stop_catch_first();
    (void)raise(SIGTERM);
    atomic_fetch_add(&made_up_ms, STOP_AGAIN_MS);
    (void)raise(SIGINT);
}

static void twice_but_kept(void)
{
    atomic_store(&made_up_ms, 5000);
    stop_catch();
    (void)raise(SIGINT);
    atomic_fetch_add(&made_up_ms, STOP_AGAIN_MS);
    (void)raise(SIGINT);
    if (stop_signal() != SIGINT)
        _exit(EXIT_FAILURE);
}

static void released(void)
{
    stop_catch();
    (void)raise(SIGINT);
    stop_release();
    if (stop_wanted())
        _exit(EXIT_FAILURE);
    (void)raise(SIGINT);
}

static void ignored(void)
{
    (void)signal(SIGINT, SIG_IGN);
    stop_catch();
    (void)raise(SIGINT);
    if (stop_wanted())
        _exit(EXIT_FAILURE);
}

static int check_process(void)
{
    const struct race none = { .who = NOBODY }, *race = &none;
    int n_failures = 0, status;

    n_failures += EXPECT(status_of(twice_at_once) == 0);
    n_failures += EXPECT(status_of(one_in_the_other) == 0);
    status = status_of(twice);
    n_failures += EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    n_failures += EXPECT(status_of(twice_but_kept) == 0);
    status = status_of(released);
    n_failures += EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    n_failures += EXPECT(status_of(ignored) == 0);
    n_failures += EXPECT(strcmp(stop_signal_name(SIGINT), "SIGINT") == 0);
    n_failures += EXPECT(strcmp(stop_signal_name(SIGTERM), "SIGTERM") == 0);
    return n_failures > 0;
}

/* --- on which stack --- */

/* Regression: the handler ran on the stack of a matrix product and corrupted the heap. */

/* The handler has run when raise() returns. */
static void raise_here(void)
{
    has_raised = true;
    (void)raise(SIGTERM);
    has_raised = false;
}

enum { N_POOL = 4 };

/* None ends before all have begun: so each thread has one. */
static void raise_in_pool(void *arg, int task, int thread)
{
    atomic_int *n_begun = arg;

    (void)task, (void)thread;
    atomic_fetch_add(n_begun, 1);
    while (atomic_load(n_begun) < N_POOL)
        (void)sched_yield();
    raise_here();
}

static void raise_in_background(void *arg)
{
    (void)arg;
    raise_here();
}

static enum rc raise_in_rank(struct world *w, void *arg)
{
    (void)w, (void)arg;
    raise_here();
    return RC_OK;
}

static enum rc raise_in_task(struct world *w, void *arg)
{
    const struct task_opts opts = { .name = "raise", .core = TASK_ANYWHERE, .fn = raise_in_rank };
    struct task *task = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_spawn(&task, w, &opts));
    TRY(world_join(&task));
out:
    return rc;
}

/* So many handlers have run since the last call, each on a stack of its own. */
static int were_on_own_stack(const char *where, int n)
{
    const int n_handled = atomic_exchange(&seen.n_handled, 0), n_own = atomic_exchange(&seen.n_on_own_stack, 0);

    if (n_handled == n && n_own == n)
        return 0;
    fprintf(stderr, "%s: of %d handlers %d ran, %d of them on a stack of their own\n", where, n, n_handled, n_own);
    return 1;
}

static int check_stacks(void)
{
    const struct world_opts opts = { .cluster = NULL };
    const struct world_ops *threads;
    struct thread_pool *pool = NULL;
    struct background *background = NULL;
    atomic_int n_begun = 0;
    stack_t first, after;
    int n_failures = 0;
    enum rc rc;

    stop_catch();
    raise_here();
    n_failures += were_on_own_stack("the main thread", 1);
    (void)sigaltstack(NULL, &first);
    TRY(world_find(&threads, "threads"));
    TRY(world_run(threads, &opts, 3, raise_in_rank, NULL));
    n_failures += were_on_own_stack("ranks", 3);
    TRY(world_run(threads, &opts, 2, raise_in_task, NULL));
    n_failures += were_on_own_stack("tasks", 2);
    TRY(thread_pool_open(&pool, N_POOL, false));
    thread_pool_run(pool, raise_in_pool, &n_begun, N_POOL);
    n_failures += were_on_own_stack("threads of a pool", N_POOL);
    TRY(background_open(&background, raise_in_background, NULL));
    background_start(background);
    background_wait(background);
    n_failures += were_on_own_stack("a background thread", 1);
    (void)sigaltstack(NULL, &after);
    n_failures += after.ss_sp != first.ss_sp; /* of the others each had its own */
    stop_release();
out:
    background_close(&background);
    thread_pool_close(&pool);
    if (rc != RC_OK)
        fprintf(stderr, "stacks: %s\n", rc_message());
    return n_failures > 0 || rc != RC_OK;
}

int main(int argc, char **argv)
{
    uint64_t seed;

    if (argc == 2 && strcmp(argv[1], "process") == 0)
        return check_process();
    if (argc == 2 && strcmp(argv[1], "stacks") == 0)
        return check_stacks();
    if (argc == 3 && text_to_u64(argv[2], &seed)) /* sim and mpi run one world a process */
        return run_races(argv[1], strcmp(argv[1], "threads") == 0 ? N_RACES : 1, seed);
    fprintf(stderr, "usage: stop_test process | stacks | WORLD SEED\n");
    return 2;
}
