/* SPDX-License-Identifier: Apache-2.0 */
/* cores_test.c - which core is whose: as worked out for hosts of any size, and as the ranks of this one are bound. */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/cores.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;

enum { MAX_RANKS = 8 };

UNIT_TEST(cores_of_hosts)
{
    static const struct {
        int n_cores, n_workers, n_threads, n_servers; /* asked for */
        int n_each, n_servers_with_core;
    } host[] = {
        { 2, 1, 1, 0, 1, 0 },  /* single has what one worker of two has */
        { 2, 2, 1, 0, 1, 0 },  /* those */
        { 2, 1, 1, 1, 1, 1 },  /* a server beside one worker */
        { 2, 2, 1, 1, 1, 0 },  /* one that shares */
        { 2, 4, 1, 0, 0, 0 },  /* oversubscribed: nobody is bound */
        { 2, 4, 1, 1, 0, 0 },  /* nor the server */
        { 2, 2, 2, 0, 1, 0 },  /* two threads on a core */
        { 2, 1, 0, 0, 2, 0 },  /* threads are not given: an equal part */
        { 2, 1, 0, 1, 2, 0 },  /* of all cores: the server shares */
        { 5, 2, 0, 1, 2, 1 },  /* but for what is left over */
        { 16, 2, 4, 2, 4, 2 }, /* ten of 16 cores */
        { 16, 2, 4, 8, 4, 8 }, /* all */
        { 16, 2, 4, 9, 4, 0 }, /* nine servers for eight cores: all share */
        { 16, 3, 8, 1, 5, 1 }, /* fewer cores than threads */
        { 128, 512, 1, 4, 0, 0 },
    };

    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        const struct core_shares s =
            cores_share_out(host[i].n_cores, host[i].n_workers, host[i].n_threads, host[i].n_servers);
        print_message("%d cores, %d workers of %d threads, %d servers\n", host[i].n_cores, host[i].n_workers,
                      host[i].n_threads, host[i].n_servers);
        assert_int_equal(s.n_workers, host[i].n_workers);
        assert_int_equal(s.n_each, host[i].n_each);
        assert_int_equal(s.n_servers, host[i].n_servers_with_core);
    }
}

/* The hardware threads of core i of the allowed ones, by what a thread that is bound to it alone may run on. */
static enum rc bound_body(struct world *w, void *arg)
{
    struct core_set *core = arg;
    enum rc rc = RC_OK;

    for (int i = 0; w->rank == 0 && i < MAX_RANKS && i < w->n_host_cores; i++) {
        TRY(cores_bind_self(i, 1));
        cores_thread_set(&core[i]);
    }
out:
    return rc;
}

static int find_cores(struct core_set core[MAX_RANKS])
{
    const struct world_opts unbound = { .bind_cores = false };
    const int n_cores = cores_allowed_count() < MAX_RANKS ? cores_allowed_count() : MAX_RANKS;

    memset(core, 0, MAX_RANKS * sizeof *core);
    assert_int_equal(world_run(&world_threads, &unbound, 1, bound_body, core), RC_OK);
    for (int i = 0; i < n_cores; i++) {
        assert_int_equal(cores_in_set(&core[i]), 1);
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(&core[i], &core[k], sizeof *core);
    }
    return n_cores;
}

struct seen { /* by each rank */
    struct core_set set[MAX_RANKS];
    int n_own_cores[MAX_RANKS];
};

static enum rc seeing_body(struct world *w, void *arg)
{
    struct seen *seen = arg;

    cores_thread_set(&seen->set[w->rank]);
    seen->n_own_cores[w->rank] = w->n_own_cores;
    return RC_OK;
}

/* n from `first` on */
static void expect_cores(const struct core_set *set, const struct core_set *core, int first, int n)
{
    struct core_set wanted = { { 0 } };

    for (int i = first; i < first + n; i++)
        for (int k = 0; k < CORES_SET_WORDS; k++)
            wanted.word[k] |= core[i].word[k];
    assert_memory_equal(set, &wanted, sizeof wanted);
}

/* Worker w of one thread has core w, and the servers the next ones, where there is a core for each worker; else all
 * ranks have all cores. */
UNIT_TEST(each_rank_has_its_core)
{
    struct core_set core[MAX_RANKS], all;
    const int n_cores = find_cores(core);

    cores_allowed_set(&all);
    for (int n_workers = 1; n_workers <= 4; n_workers++)
        for (int n_servers = 0; n_servers <= 2; n_servers++) {
            const struct world_opts opts = { .bind_cores = true, .n_bound_ranks = n_workers, .n_threads = 1 };
            const int n_ranks = n_workers + n_servers;
            struct seen seen;
            assert_int_equal(world_run(&world_threads, &opts, n_ranks, seeing_body, &seen), RC_OK);
            for (int r = 0; r < n_ranks; r++) {
                const bool has_core = r < n_workers ? n_workers <= n_cores : n_ranks <= n_cores;
                assert_int_equal(seen.n_own_cores[r], has_core);
                if (has_core)
                    expect_cores(&seen.set[r], core, r, 1);
                else
                    assert_memory_equal(&seen.set[r], &all, sizeof all);
            }
        }
}

/* Threads are bound side by side, and the main thread not at all. */
UNIT_TEST(a_worker_has_as_many_cores_as_threads)
{
    struct core_set core[MAX_RANKS];
    const int n_cores = find_cores(core);

    for (int n_threads = 1; n_threads <= n_cores; n_threads++) {
        const int n_workers = n_cores / n_threads;
        const struct world_opts opts = { .bind_cores = true, .n_threads = n_threads };
        struct seen seen;
        assert_int_equal(world_run(&world_threads, &opts, n_workers, seeing_body, &seen), RC_OK);
        for (int r = 0; r < n_workers; r++) {
            assert_int_equal(seen.n_own_cores[r], n_threads);
            expect_cores(&seen.set[r], core, r * n_threads, n_threads);
        }
    }
    assert_true(cores_allowed_count() >= n_cores);
}

UNIT_MAIN("cores")
