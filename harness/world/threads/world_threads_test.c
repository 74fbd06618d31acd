/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_threads_test.c world|tasks|shares [mutants] - the suites of worlds, tasks and shares in threads, and their
 * mutants; how a world of threads ends: world.W4, W5, K5, H6, H7; cores of ranks and tasks; and kinds of pages.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "harness/base/host_memory.h"
#include "harness/base/suite/unit.h"
#include "harness/world/cores.h"
#include "harness/world/share.h"
#include "harness/world/share_block.h"
#include "harness/world/suite/ends_kit.h"
#include "harness/world/suite/share_suite.h"
#include "harness/world/suite/suite_mutants.h"
#include "harness/world/suite/task_suite.h"
#include "harness/world/suite/world_suite.h"
#include "harness/world/task.h"

extern const struct world_ops world_threads;

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* these take more addresses than any limit */
#define HAS_TIGHT_LIMITS
#endif
#define LONG_NS UINT64_C(20000000000)
#define MUTANT_NS UINT64_C(100000000) /* of a wait that a bug keeps from ending */

static const struct world_opts plain = { .bind_cores = false };

/* --- suites and mutants --- */

enum subject { WORLD, TASKS, SHARES };

static const struct {
    const char *name;
    const struct suite_mutant *(*mutants)(void);
    int n_mutant_ranks;
    int max_trials; /* what mistakes times may be hidden once, or found by an earlier case, on a machine that lets a
                       thread wait for long */
} of[] = { [WORLD] = { "world", world_mutants, 4, 1 },
           [TASKS] = { "tasks", task_mutants, 1, 20 },
           [SHARES] = { "shares", share_mutants, 3, 5 } };

static enum subject subject; /* of this program; set once, by main */

static int run_suite(struct world *w, uint64_t limit_ns, const char **failed_case)
{
    return subject == WORLD   ? world_suite(w, failed_case)
           : subject == TASKS ? task_suite(w, failed_case)
                              : share_suite(w, limit_ns, failed_case);
}

/* Tasks can be started from a part as well, and a part has hosts, too. */
static enum rc suite_body(struct world *w, void *arg)
{
    struct world *part = NULL;
    enum rc rc;

    atomic_fetch_add((atomic_int *)arg, run_suite(w, LONG_NS, NULL));
    TRY(world_split(w, w->rank % 2, -w->rank, &part));
    atomic_fetch_add((atomic_int *)arg, run_suite(part, LONG_NS, NULL));
out:
    world_split_close(&part);
    return rc;
}

UNIT_TEST_OF("suite", suite_passes)
{
    static const int n_ranks[] = { 1, 2, 3, 5, 8 };

    for (int i = 0; i < (subject == WORLD ? 5 : 3); i++) {
        atomic_int n_failures = 0;
        assert_int_equal(world_run(&world_threads, &plain, n_ranks[i], suite_body, &n_failures), RC_OK);
        assert_int_equal(atomic_load(&n_failures), 0);
    }
}

struct trial {
    const struct suite_mutant *mutant;
    struct mutant_ops ops;
    int n_failures; /* on rank 0 */
    const char *failed_case;
};

static enum rc mutant_body(struct world *w, void *arg)
{
    struct trial *trial = arg;
    const struct world_ops *real = w->ops;
    const char *failed_case = NULL;

    w->ops = &trial->ops.world;
    const int n_failures = run_suite(w, trial->mutant->failed_case ? MUTANT_NS : LONG_NS, &failed_case);
    w->ops = real;
    if (w->rank == 0) {
        trial->n_failures = n_failures;
        trial->failed_case = failed_case;
    }
    return RC_OK;
}

static bool is_caught(const struct trial *t)
{
    return t->n_failures > 0 && strcmp(t->failed_case, t->mutant->failed_case) == 0;
}

UNIT_TEST_OF("mutants", suite_catches_mutants)
{
    for (const struct suite_mutant *m = of[subject].mutants(); m->name; m++) {
        struct trial trial = { .mutant = m };
        print_message("mutant %s\n", m->name);
        for (int i = 0; i < (m->failed_case ? of[subject].max_trials : 1) && !(m->failed_case && is_caught(&trial));
             i++) {
            trial = (struct trial){ .mutant = m };
            suite_mutant_ops(&trial.ops, &world_threads, of[subject].mutants(), m);
            const enum rc rc = world_run(&world_threads, &plain, of[subject].n_mutant_ranks, mutant_body, &trial);
            assert_true(rc == RC_OK || subject == TASKS);
        }
        assert_int_equal(trial.n_failures > 0, m->failed_case != NULL);
        if (m->failed_case)
            assert_string_equal(trial.failed_case, m->failed_case);
    }
}

/* --- ends, and cores of ranks --- */

/* world.W4, W5 */
UNIT_TEST_OF("world", an_end_ends_every_wait)
{
    ends_are_told(&world_threads, &plain);
}

struct binding {
    int n_own_cores[4];
    bool disjoint;
};

static enum rc binding_body(struct world *w, void *arg)
{
    struct binding *binding = arg;

    binding->n_own_cores[w->rank] = w->n_own_cores;
    return RC_OK;
}

/* Workers get equal shares, the others one core each of what is left if it suffices; where there are too few cores
 * nobody is bound. */
UNIT_TEST_OF("world", cores_are_shared_equally)
{
    const int n_cores = cores_allowed_count();

    for (int n_bound = 1; n_bound <= 4; n_bound++) {
        const struct world_opts opts = { .bind_cores = true, .n_bound_ranks = n_bound };
        struct binding binding = { { -1, -1, -1, -1 }, false };
        assert_int_equal(world_run(&world_threads, &opts, 4, binding_body, &binding), RC_OK);
        const int n_each = n_cores / n_bound, n_left = n_cores % n_bound;
        for (int r = 0; r < 4; r++)
            assert_int_equal(binding.n_own_cores[r], r < n_bound ? n_each : n_each > 0 && n_left >= 4 - n_bound);
    }
    assert_int_equal(cores_allowed_count(), n_cores); /* the main thread stays free */
}

struct guests {
    struct core_set set[4];
    int n_own_cores[4];
};

static enum rc guests_body(struct world *w, void *arg)
{
    struct guests *guests = arg;

    cores_thread_set(&guests->set[w->rank]);
    guests->n_own_cores[w->rank] = w->n_own_cores;
    return RC_OK;
}

/* Those that share cores run on the workers', in turn, and take none away from them. */
UNIT_TEST_OF("world", guests_have_the_cores_of_workers)
{
    const int n_cores = cores_allowed_count();

    for (int n_bound = 1; n_bound <= 3; n_bound++) {
        const struct world_opts opts = { .bind_cores = true, .n_bound_ranks = n_bound, .shares_cores = true };
        struct guests guests = { 0 };
        assert_int_equal(world_run(&world_threads, &opts, 4, guests_body, &guests), RC_OK);
        for (int r = 0; r < 4; r++) {
            const int worker = r < n_bound ? r : (r - n_bound) % n_bound;
            assert_int_equal(guests.n_own_cores[r], r < n_bound ? n_cores / n_bound : 0);
            assert_memory_equal(&guests.set[r], &guests.set[worker], sizeof guests.set[r]);
        }
    }
    const struct world_opts one = { .bind_cores = true, .n_bound_ranks = 1, .shares_cores = true, .n_threads = 1 };
    struct guests guests = { 0 };
    assert_int_equal(world_run(&world_threads, &one, 2, guests_body, &guests), RC_OK); /* a second core stays free */
    assert_int_equal(guests.n_own_cores[1], 0);
    assert_memory_equal(&guests.set[1], &guests.set[0], sizeof guests.set[1]);
}

/* A world without a body: one rank, this thread; its failure is told when it is closed. */
UNIT_TEST_OF("world", one_rank_is_opened)
{
    const struct world_opts opts = { .one_thread = true };
    const struct world_opts watched = { .stall = { .abort_ns = 1 } };
    struct world *w = NULL;
    int in = 7, out = 0;

    assert_int_equal(world_open(&w, &world_threads, &watched), RC_UNSUPPORTED);
    assert_null(w);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world_open(&w, &world_threads, &opts), RC_OK);
        assert_true(w->rank == 0 && w->n_ranks == 1 && w->host_rank == 0 && w->n_host_ranks == 1);
        assert_int_equal(world_barrier(w), RC_OK);
        assert_int_equal(world_allgather(w, &in, &out, sizeof in), RC_OK);
        assert_int_equal(out, 7);
        if (i == 0)
            assert_int_equal(world_close(&w), RC_OK);
    }
    world_abort(w, rc_raise(RC_IO, "the disk is full"));
    assert_int_equal(world_close(&w), RC_IO);
    assert_string_equal(rc_message(), "rank 0: the disk is full");
    assert_null(w);
    assert_int_equal(world_close(&w), RC_OK);
}

/* --- tasks --- */

/* world.K5, W5 */
UNIT_TEST_OF("tasks", tasks_of_others_are_told)
{
    ends_are_told_to_tasks(&world_threads, &plain);
}

static enum rc count_cores(struct world *w, void *arg)
{
    struct core_set set;

    (void)w;
    cores_thread_set(&set);
    *(int *)arg = cores_in_set(&set);
    return RC_OK;
}

static enum rc cores_body(struct world *w, void *arg)
{
    const enum task_core where[] = { TASK_ON_OWN_CORES, TASK_ON_SPARE_CORE, TASK_ANYWHERE };
    int *n_cores = arg;
    enum rc rc = RC_OK;

    for (int i = 0; w->rank == 0 && i < 3; i++) {
        struct task *t = NULL;
        const struct task_opts opts = { "counter", where[i], count_cores, &n_cores[i] };
        TRY(world_spawn(&t, w, &opts));
        TRY(world_join(&t));
    }
out:
    return rc;
}

static void expect_cores_of_tasks(const struct world_opts *opts, int n_ranks, int n_each, int n_left)
{
    const int n_workers = opts->n_bound_ranks > 0 ? opts->n_bound_ranks : n_ranks, n_cores = cores_allowed_count();
    const struct core_shares shares = cores_share_out(n_cores, n_workers, opts->n_threads, n_ranks - n_workers);
    struct core_set spare;
    int n_seen[3];

    cores_left_over(&shares, &spare);
    assert_int_equal(cores_in_set(&spare), n_left);
    assert_int_equal(world_run(&world_threads, opts, n_ranks, cores_body, n_seen), RC_OK);
    assert_int_equal(n_seen[0], n_each);
    assert_int_equal(n_seen[1], n_left > 0 ? n_left : n_each);
    assert_int_equal(n_seen[2], n_cores);
}

/* An equal part of the cores to each of n ranks; one to each; one to each of n workers, and to a server. */
UNIT_TEST_OF("tasks", tasks_run_where_they_are_told)
{
    const int n_cores = cores_allowed_count();

    for (int n = 1; n <= n_cores; n++) {
        const struct world_opts part = { .bind_cores = true }, one = { .bind_cores = true, .n_threads = 1 };
        const struct world_opts served = { .bind_cores = true, .n_bound_ranks = n, .n_threads = 1 };
        expect_cores_of_tasks(&part, n, n_cores / n, n_cores % n);
        expect_cores_of_tasks(&one, n, 1, n_cores - n);
        expect_cores_of_tasks(&served, n + 1, 1, n < n_cores ? n_cores - n - 1 : 0);
    }
}

/* --- shares --- */

struct share_fault {
    enum { RETURNS, ABORTS, DIES } end; /* of rank 1 */
    enum { IN_WAIT, IN_OPEN } where;    /* where the others wait then */
    atomic_int n_told, n_read;
    void *block[3];
};

/* Rank 1 ends; the waits of the others end, and they still have its block. */
static enum rc share_fault_body(struct world *w, void *arg)
{
    struct share_fault *fault = arg;
    struct share *share = NULL, *next = NULL;
    enum rc rc;

    TRY(world_share_open(w, 3 * HUGE_PAGE_BYTES, &share));
    memset(share->mine, 10 + w->rank, share->n_bytes);
    fault->block[w->rank] = share->mine;
    TRY(world_barrier(w));
    if (w->rank == 1) {
        if (fault->end == DIES)
            world_die(w); /* with the share open */
        rc = rc_raise(RC_IO, "the disk is full");
        if (fault->end == ABORTS)
            world_abort(w, rc);
        goto out;
    }
    rc = fault->where == IN_OPEN ? world_share_open(w, 8, &next) : share_wait(share, share_seen(share), LONG_NS);
    if (rc == RC_PEER && !next && strstr(rc_message(), "rank 1 failed: "))
        atomic_fetch_add(&fault->n_told, 1);
    const unsigned char *block = share->peer[1];
    atomic_fetch_add(&fault->n_read, block[0] == 11 && block[share->n_bytes - 1] == 11);
out:
    world_share_close(&share);
    return rc;
}

UNIT_TEST_OF("shares", a_failure_ends_waits_and_takes_no_memory)
{
    for (int end = RETURNS; end <= DIES; end++)
        for (int where = IN_WAIT; where <= IN_OPEN; where++) {
            struct share_fault fault = { .end = end, .where = where };
            assert_int_equal(world_run(&world_threads, &plain, 3, share_fault_body, &fault),
                             end == DIES ? RC_PEER : RC_IO);
            assert_memory_equal(rc_message(), "rank 1: ", 8);
            assert_int_equal(atomic_load(&fault.n_told), 2);
            assert_int_equal(atomic_load(&fault.n_read), 2);
        }
}

/* world.H7: a run leaves nothing mapped, even where a rank died with a share open. */
UNIT_TEST_OF("shares", a_run_leaves_nothing)
{
    struct share_fault fault = { .end = DIES };
    unsigned char resident[3 * HUGE_PAGE_BYTES / 4096];

    (void)!world_run(&world_threads, &plain, 3, share_fault_body, &fault);
    for (int r = 0; r < 3; r++) {
        assert_non_null(fault.block[r]);
        assert_int_equal(mincore(fault.block[r], 3 * HUGE_PAGE_BYTES, resident), -1); /* not mapped */
        assert_int_equal(errno, ENOMEM);
    }
}

#ifdef HAS_TIGHT_LIMITS
static enum rc open_two_thirds(struct world *w, void *arg)
{
    struct share *share = NULL;
    const enum rc rc = world_share_open(w, *(size_t *)arg / 3 * 2, &share);

    world_share_close(&share);
    return rc;
}

/* Bytes of addresses that this process has. They grow by chance: malloc() makes room for threads that wait for each
 * other. */
static size_t address_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long n_pages = 0;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &n_pages), 1);
    (void)fclose(file);
    return n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* world.H3: each block would fit, but not all. The limit leaves less than this machine has, so that what other
 * processes take or give back does not matter, and nothing much is taken where this is overlooked. */
UNIT_TEST_OF("shares", there_must_be_room_for_all_blocks)
{
    enum { LEFT_BYTES = 1280 << 20 };
    struct rlimit old, tight;

    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    tight = (struct rlimit){ address_bytes() + LEFT_BYTES, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    size_t n_bytes = host_memory_available("");
    const enum rc rc = world_run(&world_threads, &plain, 2, open_two_thirds, &n_bytes);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_in_range(n_bytes, 1, LEFT_BYTES);
    assert_int_equal(rc, RC_NOMEM);
    assert_non_null(strstr(rc_message(), " bytes available"));
}

#endif

/* Bytes that this process has in huge pages. */
static size_t huge_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    unsigned long n_kib = 0;
    char line[128];

    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %lu", &n_kib) == 1)
            break;
    (void)fclose(file);
    return n_kib * 1024;
}

static enum rc pages_body(struct world *w, void *arg)
{
    struct share *small = NULL, *large = NULL;
    enum rc rc;

    (void)arg;
    TRY(world_share_open(w, 100000, &small));
    const size_t before_bytes = huge_bytes();
    TRY(world_share_open(w, 4 * HUGE_PAGE_BYTES, &large));
    const bool are_huge = huge_bytes() - before_bytes > 2 * HUGE_PAGE_BYTES;
    const bool is_right = pages_of(small->mine, small->n_bytes) == PAGES_SMALL && small->kind == SHARE_ADDRESS_SPACE &&
                          !small->reason &&
                          pages_of(large->mine, large->n_bytes) == (are_huge ? PAGES_TRANSPARENT : PAGES_SMALL);
    rc = is_right ? RC_OK : rc_raise(RC_MISMATCH, "pages: %s", pages_text(pages_of(large->mine, large->n_bytes)));
out:
    world_share_close(&large);
    world_share_close(&small);
    return rc;
}

/* Which pages there are, not which were asked for. */
UNIT_TEST_OF("shares", pages_are_reported)
{
    assert_int_equal(world_run(&world_threads, &plain, 1, pages_body, NULL), RC_OK);
    assert_string_equal(pages_text(PAGES_TRANSPARENT), "transparent huge");
    assert_string_equal(pages_text(PAGES_HUGETLB), "hugetlb");
    assert_string_equal(share_kind_text(SHARE_FILE), "file");
}

int main(int argc, char **argv)
{
    for (subject = WORLD; argc > 1 && subject < SHARES && strcmp(argv[1], of[subject].name) != 0;)
        subject++;
    if (argc > 2)
        return unit_run(of[subject].name, argv[2], NULL, NULL);
    return unit_run(of[subject].name, "suite", NULL, NULL) || unit_run(of[subject].name, of[subject].name, NULL, NULL);
}
