/* SPDX-License-Identifier: Apache-2.0 */
/* sim_noise_test.c TEST - how long work takes slow ranks and servers in virtual time, and where ranks are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cluster/cluster.h"
#include "harness/world/share.h"
#include "harness/world/sim/world_sim.h"
#include "harness/world/world.h"

enum { N_WORKERS = 4, N_RANKS = 6, N_STEPS = 5, MS = 1000000 };

struct seen {
    double step_ns[N_RANKS][N_STEPS + 1]; /* the last: outside of steps */
    double pause_ns[N_RANKS];
    int host_rank[N_RANKS], n_host_ranks[N_RANKS];
    int host[N_RANKS], n_hosts;
};

static double took_ns(struct world *w, uint64_t *since_ns)
{
    const uint64_t began_ns = *since_ns;

    *since_ns = world_now_ns(w);
    return (double)(*since_ns - began_ns);
}

/* In each step 40 ms by its flops, 60 ms as recorded, and 100 ms by its bytes: 200 ms where nothing is slow. */
static enum rc body(struct world *w, void *arg)
{
    struct seen *seen = arg;
    struct world *here = NULL;
    uint64_t since_ns = world_now_ns(w);
    enum rc rc;

    for (int step = 0; step <= N_STEPS; step++) {
        world_set_duty(w, &(struct peer_duty){ step < N_STEPS ? PHASE_STEP : PHASE_END, 10 + step, -1 });
        world_charge(w, 40e-3 * 1e9, 0);
        world_work(w, 60 * MS);
        world_charge(w, 0, 100e-3 * 2e9);
        seen->step_ns[w->rank][step] = took_ns(w, &since_ns);
    }
    world_pause(w, 5 * MS);
    seen->pause_ns[w->rank] = took_ns(w, &since_ns);
    seen->host_rank[w->rank] = w->host_rank;
    seen->n_host_ranks[w->rank] = w->n_host_ranks;
    TRY(world_host_group(w, &here, &seen->host[w->rank], &seen->n_hosts));
    world_split_close(&here);
out:
    return rc;
}

static struct cluster run(struct seen *seen, const char *settings)
{
    struct cluster c;
    const struct world_opts opts = { .cluster = &c, .n_bound_ranks = N_WORKERS };

    cluster_default(&c);
    c.seed = 3;
    assert_int_equal(cluster_set(&c, NULL, "flops_per_s=1e9,memory_bytes_per_s=2e9"), RC_OK);
    assert_int_equal(cluster_set(&c, NULL, settings), RC_OK);
    assert_int_equal(world_run(&world_sim, &opts, N_RANKS, body, seen), RC_OK);
    return c;
}

static void assert_near(double seen_ns, double expected_ns)
{
    if (fabs(seen_ns - expected_ns) > 3)
        fail_msg("%.1f ns, expected %.1f", seen_ns, expected_ns);
}

static void nothing_is_slow_as_it_is(void **state)
{
    static struct seen seen;

    (void)state;
    run(&seen, "");
    for (int r = 0; r < N_RANKS; r++)
        for (int step = 0; step <= N_STEPS; step++)
            assert_near(seen.step_ns[r][step], 200 * MS);
}

static void workers_jitter_in_steps_V1(void **state)
{
    static struct seen seen;
    int n_differ = 0;

    (void)state;
    const struct cluster c = run(&seen, "jitter=exponential,jitter_ratio=0.2");
    for (int r = 0; r < N_RANKS; r++)
        for (int step = 0; step <= N_STEPS; step++) {
            const bool jitters = r < N_WORKERS && step < N_STEPS;
            assert_near(seen.step_ns[r][step], 200 * MS * (jitters ? noise_step_ratio(&c, r, 10 + step) : 1));
            n_differ += seen.step_ns[r][step] > 200.1 * MS;
        }
    assert_true(n_differ > N_WORKERS * N_STEPS / 2);
    for (int r = 0; r < N_RANKS; r++)
        assert_near(seen.pause_ns[r], 5 * MS); /* no work */
}

static void stragglers_are_slow_always(void **state)
{
    static struct seen seen;
    int n_slow = 0;

    (void)state;
    run(&seen, "stragglers_count=2,straggler_ratio=3");
    for (int r = 0; r < N_RANKS; r++) {
        const bool is_slow = seen.step_ns[r][0] > 400 * MS;
        n_slow += is_slow;
        assert_true(!is_slow || r < N_WORKERS);
        for (int step = 0; step <= N_STEPS; step++)
            assert_near(seen.step_ns[r][step], (is_slow ? 600.0 : 200.0) * MS);
    }
    assert_int_equal(n_slow, 2);
}

/* A device streams ten times as fast as the processor on which its server runs. */
static void servers_have_rates_of_their_own(void **state)
{
    static struct seen seen;

    (void)state;
    run(&seen, "server_flops_per_s=0.5e9,server_memory_bytes_per_s=0.2e9");
    for (int r = 0; r < N_RANKS; r++)
        assert_near(seen.step_ns[r][0], r < N_WORKERS ? 200 * MS : (80 + 60 + 1000) * MS);
}

static void servers_are_beside_workers_D1(void **state)
{
    static const int host_rank[] = { 0, 1, 2, 0, 3, 1 }, n_host_ranks[] = { 4, 4, 4, 2, 4, 2 },
                     host[] = { 0, 0, 0, 1, 0, 1 };
    static struct seen seen;

    (void)state;
    run(&seen, "ranks_per_host_count=3,server_placement=beside,hosts_count=2");
    assert_memory_equal(seen.host_rank, host_rank, sizeof host_rank);
    assert_memory_equal(seen.n_host_ranks, n_host_ranks, sizeof n_host_ranks);
    assert_memory_equal(seen.host, host, sizeof host);
    assert_int_equal(seen.n_hosts, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_slow_as_it_is),      cmocka_unit_test(workers_jitter_in_steps_V1),
        cmocka_unit_test(stragglers_are_slow_always),    cmocka_unit_test(servers_have_rates_of_their_own),
        cmocka_unit_test(servers_are_beside_workers_D1),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: sim_noise_test TEST\n");
    return 2;
}
