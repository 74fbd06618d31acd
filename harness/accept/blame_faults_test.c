/* SPDX-License-Identifier: Apache-2.0 */
/* blame_faults_test.c - of many noisy fleets: how many faults are found as what they are, how many alarms are false. */
#include "harness/accept/outliers.h"
#include "harness/accept/suite/synthetic_fleet.h"
#include "harness/base/suite/unit.h"

struct tally {
    int n_fleets, n_faults, n_found, n_all_found, n_false, n_alarms, n_blamed_nodes;
};

/* Blame a fleet by its tournament and METRIC_GEMM, and count. */
static void count_fleet(struct tally *t, const struct synthetic_fleet *f, const struct blame_terms *terms)
{
    struct acceptance a;

    synthetic_fleet_measure(&a, f, NULL);
    assert_int_equal(blame_tournament(&a, terms), RC_OK);
    assert_int_equal(outliers_find(&a, METRIC_GEMM, terms), RC_OK);
    const int n_found = synthetic_fleet_found(&a, f), n_false = synthetic_fleet_false(&a, f);
    t->n_fleets++;
    t->n_faults += f->n_faults;
    t->n_found += n_found;
    t->n_all_found += n_found == f->n_faults && n_false == 0;
    t->n_false += n_false;
    t->n_alarms += n_false > 0;
    t->n_blamed_nodes += findings_of(&a, SUBJECT_NODE, NULL) + findings_of(&a, SUBJECT_RANK, NULL);
    acceptance_close(&a);
}

/* One fault in 8 nodes, 100 seeds, each with so many repeats and looks: found, and nothing else, in 95. */
static void one_fault(struct fault fault, int n_repeats, int n_looks)
{
    struct tally t = { .n_fleets = 0 };
    struct blame_terms terms = synthetic_terms;

    terms.n_looks = n_looks;
    for (int seed = 0; seed < 100; seed++) {
        const struct synthetic_fleet f = { .n_nodes = 8,
                                           .n_repeats = n_repeats,
                                           .seed = (uint64_t)(100 + seed),
                                           .noise = 0.03,
                                           .wild_ratio = 0.02,
                                           .has_latencies = true,
                                           .fault = { fault },
                                           .n_faults = 1 };
        count_fleet(&t, &f, &terms);
    }
    if (t.n_all_found < 95)
        fail_msg("%d repeats, %d looks: %d of 100", n_repeats, n_looks, t.n_all_found);
}

static void everywhere(struct fault fault)
{
    for (int n_repeats = 2; n_repeats <= 5; n_repeats++)
        one_fault(fault, n_repeats, 1);
    one_fault(fault, 5, 8);
}

UNIT_TEST(a_slow_link_is_found)
{
    everywhere((struct fault){ FAULT_SLOW_LINK, 1, 4, true, 0.6, 0, ACCEPT_PAIRWISE });
    everywhere((struct fault){ FAULT_SLOW_LINK, 7, 2, false, 0.6, 0, ACCEPT_PAIRWISE });
}

UNIT_TEST(a_slow_interface_is_found)
{
    everywhere((struct fault){ FAULT_SLOW_NODE, 3, 0, true, 0.6, 0, ACCEPT_PAIRWISE });
}

UNIT_TEST(a_slow_rank_is_found)
{
    everywhere((struct fault){ FAULT_SLOW_RANK, 6, 0, false, 0.7, 0, ACCEPT_PAIRWISE });
}

/* accept.B3, of tournaments and ranks each, whatever the noise, and where pairs differ for good. */
UNIT_TEST(b3_healthy_fleets_have_few_alarms)
{
    enum { N_SEEDS = 800 };
    static const struct synthetic_fleet healthy[] = {
        { .n_repeats = 3, .noise = 0.01 },
        { .n_repeats = 3, .noise = 0.03, .has_latencies = true },
        { .n_repeats = 2, .noise = 0.1 },
        { .n_repeats = 5, .noise = 0.3, .has_latencies = true },
        { .n_repeats = 3, .noise = 0.01, .pair_noise = 0.05 },
        { .n_repeats = 3, .noise = 0.02, .pair_noise = 0.15 },
        { .n_repeats = 3, .noise = 0.02, .node_noise = 0.03 },
    };

    for (size_t i = 0; i < sizeof healthy / sizeof *healthy; i++) {
        struct tally t = { .n_fleets = 0 };
        for (int seed = 0; seed < N_SEEDS; seed++) {
            struct synthetic_fleet f = healthy[i];
            f.n_nodes = 8;
            f.wild_ratio = 0.02;
            f.seed = (uint64_t)(1000 + seed);
            count_fleet(&t, &f, &synthetic_terms);
        }
        if (t.n_alarms > N_SEEDS / 20)
            fail_msg("noise %g, of pairs %g: %d of %d", healthy[i].noise, healthy[i].pair_noise, t.n_alarms, N_SEEDS);
    }
}

UNIT_TEST(odd_and_few_nodes_have_few_alarms)
{
    for (int n_nodes = 1; n_nodes <= 7; n_nodes++) {
        struct tally t = { .n_fleets = 0 };
        for (int seed = 0; seed < 200; seed++) {
            const struct synthetic_fleet f = { .n_nodes = n_nodes,
                                               .n_repeats = 3,
                                               .noise = 0.1,
                                               .wild_ratio = 0.02,
                                               .seed = (uint64_t)(1000 * n_nodes + seed) };
            count_fleet(&t, &f, &synthetic_terms);
        }
        if (t.n_alarms > 10)
            fail_msg("%d nodes: %d of 200", n_nodes, t.n_alarms);
    }
}

/* 1 to 5 faults of all kinds; nodes and ranks apart from each other. */
static struct synthetic_fleet large_fleet(int i)
{
    struct synthetic_fleet f = { .n_nodes = 256,
                                 .n_repeats = 3,
                                 .seed = (uint64_t)(70 + i),
                                 .noise = 0.03,
                                 .wild_ratio = 0.02,
                                 .n_faults = 1 + i % 5 };

    for (int k = 0; k < f.n_faults; k++) {
        const int a = (37 * i + 51 * k) % 256, b = (a + 17) % 256;
        switch ((i + k) % 4) {
        case 0:
            f.fault[k] = (struct fault){ FAULT_SLOW_NODE, a, 0, true, 0.6, 0, ACCEPT_PAIRWISE };
            break;
        case 1:
            f.fault[k] = (struct fault){ FAULT_SLOW_RANK, a, 0, false, 0.7, 0, ACCEPT_PAIRWISE };
            break;
        default:
            f.fault[k] = (struct fault){ FAULT_SLOW_LINK, a, b, (i + k) % 4 == 2, 0.6, 0, ACCEPT_PAIRWISE };
        }
    }
    return f;
}

UNIT_TEST(large_fleets)
{
    struct tally t = { .n_fleets = 0 };
    int n_true_nodes = 0;

    for (int i = 0; i < 5; i++) {
        const struct synthetic_fleet f = large_fleet(i);
        for (int k = 0; k < f.n_faults; k++)
            n_true_nodes += f.fault[k].kind != FAULT_SLOW_LINK;
        count_fleet(&t, &f, &synthetic_terms);
    }
    assert_int_equal(t.n_faults, 15);
    assert_true(t.n_found >= 15);
    assert_true(t.n_blamed_nodes - n_true_nodes <= t.n_fleets * 256 / 100);
    assert_true(t.n_false <= 1);
}

UNIT_MAIN("blame_faults")
