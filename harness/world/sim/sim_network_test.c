/* SPDX-License-Identifier: Apache-2.0 */
/* sim_network_test.c - flows on shared links: against the definition of max-min fairness, few and many. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/sim/sim_clock.h"
#include "harness/world/suite/flows_kit.h"

enum { N_CASES = 300 };

static double error_of(const struct kit_flows *k)
{
    static double arrived_s[KIT_FLOWS], expected_s[KIT_FLOWS];

    memset(arrived_s, 0, sizeof arrived_s);
    assert_int_equal(kit_flows_play(k, arrived_s), 0);
    kit_flows_by_definition(k, expected_s);
    return kit_flows_error(k, arrived_s, expected_s);
}

UNIT_TEST(few_flows_are_exact_F1_F3)
{
    static struct kit_flows k;

    for (uint64_t seed = 0; seed < N_CASES; seed++) {
        kit_flows_draw(&k, seed, 40);
        const double error = error_of(&k);
        if (error > 1e-6)
            fail_msg("seed %d: %d flows, %g off", (int)seed, k.n, error);
    }
}

/* A server's link with many more flows than it tells others of one by one (world.F2). */
UNIT_TEST(many_flows_are_fair_F2)
{
    static struct kit_flows k;

    kit_flows_draw(&k, 3, 1);
    for (int n_servers = 1; n_servers <= 3; n_servers += 2) {
        struct cluster c;
        cluster_default(&c);
        topology_init(&k.topology, &c, 303, 303);
        k.n = 300;
        for (int f = 0; f < k.n; f++)
            k.flow[f] = (struct kit_flow){ 3 + f % 300, f % n_servers, 1e-5 * (f * 7919 % 300), 1000 + 997 * (f % 37) };
        const double error = error_of(&k);
        if (error > 0.02)
            fail_msg("%d servers: %g off", n_servers, error);
    }
}

/* What has ended frees its events in any order: none of them may be written to any more.
 * Regression: a run that ended with messages on their way crashed at exit. */
UNIT_TEST(a_clear_clock_touches_no_event)
{
    struct sim_event event[6] = { { .kind = EVENT_ACTOR } };
    struct sim_clock clock;

    sim_clock_init(&clock);
    assert_int_equal(sim_clock_reserve(&clock, 6), RC_OK);
    for (int i = 0; i < 6; i++)
        sim_clock_set(&clock, &event[i], 6 - i);
    sim_clock_clear(&clock);
    memset(event + 1, 0xa5, sizeof *event);
    sim_clock_unset(&clock, &event[5]);
    for (int i = 0; i < 6; i++)
        assert_int_equal(event[i].place, i == 1 ? 0xa5a5a5a5 : 0);
    assert_null(sim_clock_advance(&clock));
    sim_clock_fini(&clock);
}

UNIT_MAIN("sim_network")
