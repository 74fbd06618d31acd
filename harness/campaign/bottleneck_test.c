/* SPDX-License-Identifier: Apache-2.0 */
/* bottleneck_test.c - made-up loads, and the part that a step waits for in words. */
#include <math.h>
#include <stdio.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/bottleneck.h"

/* Steps of 1 s, of which 0.3 s are computed. */
static struct simulation made(void)
{
    return (struct simulation){ .step_s = 1, .compute_s = 0.3, .imbalance_ratio = NAN };
}

static void assert_words(const struct simulation *s, int n_workers, int n_servers, const char *settings,
                         const char *exchange, const char *expected)
{
    const struct bottleneck b = bottleneck_find(s);
    char text[BOTTLENECK_BYTES];
    struct topology t;
    struct cluster c;

    cluster_default(&c);
    assert_int_equal(cluster_set(&c, NULL, settings), RC_OK);
    topology_init(&t, &c, n_workers, n_workers + n_servers);
    bottleneck_text(text, sizeof text, &b, s, &t, exchange);
    assert_string_equal(text, expected);
}

UNIT_TEST(of_a_ring)
{
    struct simulation s = made();

    s.compute_s = 0.97;
    s.load[LINK_NIC_UP].busy_s = 0.4;
    assert_words(&s, 8, 0, "", "ring", "compute, 97 %");
    s.compute_s = 0.3;
    s.load[LINK_NIC_UP].busy_s = 0.804;
    assert_words(&s, 8, 0, "", "ring", "the ring's network cards, 80 %");
    s.load[LINK_STAGE_IN].busy_s = 0.9;
    assert_words(&s, 8, 0, "", "ring", "copies between device and host, 90 %");
    s.load[LINK_GROUP_DOWN].busy_s = 0.95;
    assert_words(&s, 8, 0, "", "ring", "links between groups of hosts, 95 %");
    s.load[LINK_LOCAL].busy_s = 1;
    assert_words(&s, 8, 0, "", "ring", "links within a host, 100 %");
    assert_true(fabs(bottleneck_find(&s).network_ratio - 0.804) < 1e-12);
}

/* Eight workers on hosts of two; servers behind them, or beside. */
UNIT_TEST(of_servers)
{
    struct simulation s = made();

    s.imbalance_ratio = 3.1;
    snprintf(s.hot_tensor, sizeof s.hot_tensor, "fc6/w");
    s.hot_server = 1;
    s.load[LINK_NIC_DOWN] = (struct link_load){ .index = 4, .busy_s = 0.96, .n_bytes = 1 };
    assert_words(&s, 8, 4, "ranks_per_host_count=2", "ps", "the network card of fc6/w's server, 96 %");
    assert_words(&s, 8, 4, "ranks_per_host_count=2,server_placement=beside", "ps",
                 "the network card of a host of workers, 96 %");
    s.load[LINK_NIC_DOWN].index = 1;
    assert_words(&s, 8, 4, "ranks_per_host_count=2,server_placement=beside", "ps",
                 "the network card of fc6/w's server, 96 %");
    s.load[LINK_PROCESS] = (struct link_load){ .index = 9, .busy_s = 0.99, .n_bytes = 1 };
    assert_words(&s, 8, 4, "ranks_per_host_count=2,protocol=grpc", "ps", "the grpc process of fc6/w's server, 99 %");
    s.imbalance_ratio = 1.1;
    assert_words(&s, 8, 4, "ranks_per_host_count=2,protocol=grpc", "ps", "the grpc process of a server, 99 %");
    s.hot_server = 0;
    assert_words(&s, 9, 1, "protocol=grpc", "ps", "the grpc process of the server, 99 %");
    s.hot_server = 1;
    s.load[LOAD_HANDLING] = (struct link_load){ .index = 3, .busy_s = 1, .n_bytes = 0 };
    assert_words(&s, 8, 4, "protocol=tcp", "ps", "the handling of tcp messages by a worker, 100 %");
    s.load[LOAD_SERVER] = (struct link_load){ .index = 8, .busy_s = 1.01, .n_bytes = 0 };
    assert_words(&s, 8, 4, "protocol=tcp", "ps", "the processor of a server, 101 %");
}

/* N2: below a half there is none. */
UNIT_TEST(none_alone)
{
    struct simulation s = made();

    s.load[LINK_NIC_UP].busy_s = 0.499;
    assert_words(&s, 8, 0, "", "ring", "no single bottleneck: the ring's network cards, 50 %; compute, 30 %");
    assert_false(bottleneck_find(&s).is_one);
    s.load[LINK_NIC_DOWN].busy_s = 0.44;
    assert_words(&s, 8, 0, "", "ring", "no single bottleneck: the ring's network cards, 50 % one way, 44 % the other");
    s.load[LINK_NIC_UP].busy_s = 0.5;
    assert_true(bottleneck_find(&s).is_one);
}

/* Where made-up rates cross over, worked out by hand. */

static void assert_at(const struct crossovers *c, size_t i, double gpus)
{
    if (!(fabs(c->gpus[i] / gpus - 1) < 1e-12))
        fail_msg("crossover %zu is at %.15g GPUs, expected %.15g", i, c->gpus[i], gpus);
}

/* Rates 1 : 2 at 2 GPUs and 2 : 1 at 8: equal at 4, which is halfway in logarithms. */
UNIT_TEST(between_two_numbers)
{
    const int n_gpus[] = { 2, 8 };
    const double first[] = { 100, 400 }, second[] = { 200, 200 };
    const struct crossovers c = crossovers_find(n_gpus, first, second, 2);

    assert_int_equal(c.n, 1);
    assert_false(c.first_leads);
    assert_at(&c, 0, 4);
}

/* Ratios 8, 1/2, 1/4, 2: log2 3, -1, -2, 1 at log2 0, 4, 5, 6. */
UNIT_TEST(there_and_back)
{
    const int n_gpus[] = { 1, 16, 32, 64 };
    const double first[] = { 8, 1, 1, 2 }, second[] = { 1, 2, 4, 1 };
    const struct crossovers c = crossovers_find(n_gpus, first, second, 4);

    assert_int_equal(c.n, 2);
    assert_true(c.first_leads);
    assert_at(&c, 0, 8);
    assert_at(&c, 1, pow(2, 5 + 2.0 / 3));
}

/* Equal points lead to nobody: at the begin, and where the lead is the same before and behind. */
UNIT_TEST(equal_points)
{
    const int n_gpus[] = { 1, 2, 4, 8, 16 };
    const double first[] = { 5, 5, 7, 5, 7 }, second[] = { 5, 5 + 1e-3, 6, 5, 6 };
    const struct crossovers same = crossovers_find(n_gpus, first, second, 5);
    const double turned[] = { 5, 5, 7, 5, 5 };
    const struct crossovers c = crossovers_find(n_gpus, turned, second, 5);

    assert_int_equal(same.n, 0);
    assert_true(same.first_leads);
    assert_int_equal(c.n, 1);
    assert_true(c.gpus[0] > 4 && c.gpus[0] < 16);
    assert_false(same.are_equal);
    assert_int_equal(crossovers_find(n_gpus, first, first, 5).n, 0);
    assert_true(crossovers_find(n_gpus, first, first, 5).are_equal);
    assert_int_equal(crossovers_find(n_gpus, first, second, 0).n, 0);
}

UNIT_TEST(more_than_are_kept)
{
    int n_gpus[2 * CROSSOVER_MOST];
    double first[2 * CROSSOVER_MOST], second[2 * CROSSOVER_MOST];
    struct crossovers c;

    for (int i = 0; i < 2 * CROSSOVER_MOST; i++) {
        n_gpus[i] = i + 1;
        first[i] = 1 + i % 2;
        second[i] = 2 - i % 2;
    }
    c = crossovers_find(n_gpus, first, second, 2 * CROSSOVER_MOST);
    assert_int_equal(c.n, 2 * CROSSOVER_MOST - 1);
    assert_at(&c, 0, sqrt(2));
    assert_true(c.gpus[CROSSOVER_MOST - 1] > c.gpus[CROSSOVER_MOST - 2]);
}

UNIT_MAIN("bottleneck")
