/* SPDX-License-Identifier: Apache-2.0 */
/* topology_test.c - where ranks are, what a message crosses, and noise: values worked out by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/topology.h"

/* A job of n_ranks, of which n_workers are no servers, on the default cluster with these settings. */
static struct topology job(int n_workers, int n_ranks, const char *settings)
{
    struct topology t;
    struct cluster c;

    cluster_default(&c);
    if (cluster_set(&c, NULL, settings) != RC_OK)
        fail_msg("%s", rc_message());
    assert_int_equal(cluster_check(&c, n_workers, n_ranks), RC_OK);
    topology_init(&t, &c, n_workers, n_ranks);
    return t;
}

/* "process 0, nic-up 3": the links from one rank to another. */
static const char *path_text(const struct topology *t, int from, int to)
{
    static const char *const name[] = { "local", "local-in", "process", "out", "in",
                                        "up",    "down",     "both",    "gup", "gdown" };
    static char text[256]; /* of the last call */
    struct topology_link link[TOPOLOGY_MAX_PATH];
    const int n = topology_path(t, from, to, link);
    size_t at = 0;

    text[0] = '\0';
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s %d%s", i > 0 ? ", " : "", name[link[i].kind],
                               link[i].index, link[i].is_shared ? "" : " alone");
    return text;
}

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

/* The slots, or hosts, of a job as text: "0 0 1". */
static const char *listed(const struct topology *t, int n, int (*of)(const struct topology *t, int i))
{
    static char text[256]; /* of the last call */
    size_t at = 0;

    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i > 0 ? " " : "", of(t, i));
    return text;
}

UNIT_TEST(ranks_fill_hosts_in_order_D1)
{
    const struct topology t = job(4, 7, "ranks_per_host_count=3");

    assert_string_equal(listed(&t, 7, topology_slot), "0 0 0 1 1 1 2");
    assert_string_equal(listed(&t, 7, topology_host_rank), "0 1 2 0 1 2 0");
    assert_string_equal(listed(&t, 3, topology_n_host_ranks), "3 3 1");
    assert_int_equal(t.n_slots, 3);
}

UNIT_TEST(servers_are_beside_workers_D1)
{
    const struct topology t = job(5, 9, "ranks_per_host_count=3,server_placement=beside,hosts_count=2");

    assert_int_equal(t.n_slots, 2); /* of 5 workers; the 4 servers take turns */
    assert_string_equal(listed(&t, 9, topology_slot), "0 0 0 1 1 0 1 0 1");
    assert_string_equal(listed(&t, 9, topology_host_rank), "0 1 2 0 1 3 2 4 3");
    assert_string_equal(listed(&t, 2, topology_n_host_ranks), "5 4");
    const struct topology odd = job(6, 9, "ranks_per_host_count=3,server_placement=beside");
    assert_string_equal(listed(&odd, 2, topology_n_host_ranks), "5 4");
    const struct topology few = job(5, 16, "ranks_per_host_count=4,server_placement=beside,nics_per_host_count=3");
    assert_string_equal(listed(&few, 16, topology_slot), "0 0 0 0 1 0 1 0 0 0 0 1 0 0 0 0"); /* one to a worker */
    assert_string_equal(listed(&few, 16, topology_host_rank), "0 1 2 3 0 4 1 5 6 7 8 2 9 10 11 12");
    assert_string_equal(listed(&few, 16, topology_nic), "0 1 2 0 0 0 0 1 2 0 0 0 1 2 0 0"); /* its worker's */
    assert_string_equal(listed(&few, 2, topology_n_host_ranks), "13 3");
    const struct topology one = job(3, 7, "ranks_per_host_count=4,server_placement=beside");
    assert_string_equal(listed(&one, 7, topology_slot), "0 0 0 0 0 0 0");
    assert_string_equal(listed(&one, 1, topology_n_host_ranks), "7");
}

UNIT_TEST(cards_take_turns)
{
    const struct topology t = job(6, 6, "ranks_per_host_count=6,nics_per_host_count=4");

    assert_string_equal(listed(&t, 6, topology_nic), "0 1 2 3 0 1");
}

/* 2 of the 4 hosts of workers, a quarter of the rate both ways; a server's host is none of them. */
UNIT_TEST(some_links_are_slow)
{
    const struct topology t = job(8, 10,
                                  "ranks_per_host_count=2,slow_links_count=2,slow_link_ratio=4,"
                                  "link_bits_per_s=8e9,link_latency_s=1e-6");
    struct topology other = t;
    int n_slow = 0, n_moved = 0;

    for (int slot = 0; slot < 5; slot++) {
        const double ratio = topology_slow_ratio(&t, slot);
        struct topology_link link[TOPOLOGY_MAX_END];
        assert_int_equal(topology_links_out(&t, 2 * slot, link), 1);
        assert_near(link[0].bytes_per_s, 1e9 / ratio);
        assert_int_equal(topology_links_in(&t, 2 * slot + 1, link), 1);
        assert_near(link[0].bytes_per_s, 1e9 / ratio);
        assert_near(link[0].latency_s, 0.5e-6);
        assert_true(ratio >= 1 && (slot < 4 || ratio <= 1));
        n_slow += ratio > 3.9 && ratio < 4.1;
    }
    assert_int_equal(n_slow, 2);
    for (other.cluster.seed = 1; other.cluster.seed < 20; other.cluster.seed++)
        n_moved += topology_slow_ratio(&other, 0) > 1;
    assert_true(n_moved > 3 && n_moved < 17); /* drawn */
}

UNIT_TEST(jobs_are_packed_spread_or_drawn)
{
    static const char groups_of_4[] = "hosts_count=10,hosts_per_group_count=4";
    char settings[128];

    const struct topology packed = job(10, 10, groups_of_4);
    assert_string_equal(listed(&packed, 10, topology_host), "0 1 2 3 4 5 6 7 8 9");
    assert_string_equal(listed(&packed, 10, topology_group), "0 0 0 0 1 1 1 1 2 2");
    snprintf(settings, sizeof settings, "%s,job_placement=spread", groups_of_4);
    const struct topology spread = job(10, 10, settings); /* the last group has 2 hosts */
    assert_string_equal(listed(&spread, 10, topology_host), "0 4 8 1 5 9 2 6 3 7");
    assert_string_equal(listed(&spread, 10, topology_group), "0 1 2 0 1 2 0 1 0 1");
    snprintf(settings, sizeof settings, "%s,job_placement=random", groups_of_4);
    struct topology drawn = job(10, 10, settings);
    int seen[10] = { 0 }, n_moved = 0;
    for (int s = 0; s < 10; s++)
        seen[topology_host(&drawn, s)]++;
    for (int h = 0; h < 10; h++)
        assert_int_equal(seen[h], 1); /* no host twice */
    struct topology other = drawn;
    other.cluster.seed = 2;
    for (int s = 0; s < 10; s++)
        n_moved += topology_host(&drawn, s) != topology_host(&other, s);
    assert_true(n_moved > 3);
    const struct topology few = job(3, 3, "hosts_per_group_count=2,job_placement=spread"); /* as many as needed */
    assert_string_equal(listed(&few, 3, topology_host), "0 2 1");
}

UNIT_TEST(a_message_crosses_cards_and_groups_D2)
{
    const struct topology t = job(8, 8,
                                  "ranks_per_host_count=2,hosts_per_group_count=2,oversubscription_ratio=4,"
                                  "group_latency_s=4e-6,link_bits_per_s=8e9,link_latency_s=2e-6");
    struct topology_link link[TOPOLOGY_MAX_PATH];

    assert_string_equal(path_text(&t, 0, 1), "local 0 alone");
    assert_string_equal(path_text(&t, 1, 2), "up 0, down 1");
    assert_string_equal(path_text(&t, 0, 7), "up 0, gup 0, gdown 1, down 3");
    assert_int_equal(topology_path(&t, 7, 0, link), 4);
    assert_near(link[0].bytes_per_s, 1e9);
    assert_near(link[1].bytes_per_s, 2 * 1e9 / 4); /* two hosts' cards, over-subscribed 4 times */
    assert_near(link[0].latency_s, 1e-6);
    assert_near(link[1].latency_s, 2e-6);
    assert_near(topology_message_time_s(&t, 0, 2, 1e6), 2e-6 + 1e6 / 1e9);
    assert_near(topology_message_time_s(&t, 0, 7, 1e6), 2e-6 + 4e-6 + 1e6 / 0.5e9);
    assert_near(topology_message_time_s(&t, 0, 1, 1e6), 1e-6 + 1e6 / 5e9);
}

UNIT_TEST(cards_are_told_apart_by_host)
{
    const struct topology t = job(6, 6, "ranks_per_host_count=3,nics_per_host_count=2");

    assert_string_equal(path_text(&t, 1, 4), "up 1, down 3");
    assert_string_equal(path_text(&t, 2, 3), "up 0, down 2");
}

UNIT_TEST(cards_carry_less_both_ways_D2)
{
    const struct topology t = job(4, 4,
                                  "ranks_per_host_count=2,link_bits_per_s=8e9,link_latency_s=2e-6,"
                                  "link_duplex_ratio=1.5,protocol=tcp,tcp_rate_ratio=0.5,"
                                  "tcp_process_bytes_per_s=1e9,tcp_latency_s=0,tcp_message_s=0");
    struct topology_link link[TOPOLOGY_MAX_PATH];

    assert_string_equal(path_text(&t, 1, 2), "process 1, both 0, up 0, down 1, both 1, process 2");
    assert_int_equal(topology_path(&t, 1, 2, link), 6);
    assert_near(link[1].bytes_per_s, 0.75e9); /* of 0.5 GB/s one way */
    assert_near(topology_message_time_s(&t, 1, 2, 1e6), 2e-6 + 1e6 / 0.5e9);
    assert_string_equal(path_text(&t, 0, 1), "local 0 alone");
    const struct topology full = job(2, 2, "link_duplex_ratio=2");
    assert_string_equal(path_text(&full, 0, 1), "up 0, down 1");
}

UNIT_TEST(workers_stage_servers_do_not_D3)
{
    const struct topology t =
        job(2, 3, "staging_bytes_per_s=1e8,staging_latency_s=3e-6,link_bits_per_s=8e9,link_latency_s=2e-6");

    assert_string_equal(path_text(&t, 0, 1), "out 0, up 0, down 1, in 1");
    assert_string_equal(path_text(&t, 1, 2), "out 1, up 1, down 2");
    assert_near(topology_message_time_s(&t, 0, 1, 1e6), 2e-6 + 2 * 3e-6 + 1e6 / 1e8);
}

UNIT_TEST(protocols_cost_what_they_say_D4)
{
    static const char *const protocol[] = { "bare", "tcp", "rdma", "grpc" };
    static const double message_s[] = { 0, 1e-6, 2e-6, 4e-6 }, rate_ratio[] = { 1, 0.5, 0.8, 0.25 },
                        latency_s[] = { 0, 10e-6, 20e-6, 40e-6 };
    char settings[512];

    for (int p = 0; p < 4; p++) {
        snprintf(settings, sizeof settings,
                 "ranks_per_host_count=2,link_bits_per_s=8e9,link_latency_s=2e-6,tcp_message_s=1e-6,"
                 "rdma_message_s=2e-6,grpc_message_s=4e-6,tcp_rate_ratio=0.5,rdma_rate_ratio=0.8,"
                 "grpc_rate_ratio=0.25,tcp_latency_s=10e-6,rdma_latency_s=20e-6,grpc_latency_s=40e-6,"
                 "grpc_process_bytes_per_s=0,protocol=%s",
                 protocol[p]);
        const struct topology t = job(4, 4, settings);
        assert_near(topology_message_time_s(&t, 0, 2, 1e6),
                    2e-6 + latency_s[p] + 2 * message_s[p] + 1e6 / (1e9 * rate_ratio[p]));
        assert_near(topology_message_time_s(&t, 0, 1, 1e6),
                    1e-6 + 1e6 / 5e9 + (p == 3 ? latency_s[p] + 2 * message_s[p] : 0)); /* grpc alone */
        assert_string_equal(path_text(&t, 0, 2), "up 0, down 1");
    }
    const struct topology t = job(4, 4, "ranks_per_host_count=2,protocol=grpc,grpc_process_bytes_per_s=1e7");
    assert_string_equal(path_text(&t, 0, 2), "process 0, up 0, down 1, process 2");
    assert_string_equal(path_text(&t, 0, 1), "process 0, local 0 alone, process 1");
    const struct topology tcp = job(4, 4, "ranks_per_host_count=2,protocol=tcp,tcp_process_bytes_per_s=1e7");
    assert_string_equal(path_text(&tcp, 0, 1), "local 0 alone");
    assert_string_equal(path_text(&tcp, 0, 3), "process 0, up 0, down 1, process 3");
}

UNIT_TEST(senders_wait_for_what_is_longer_than_eager)
{
    const struct topology t = job(4, 4, "ranks_per_host_count=2,protocol=tcp,tcp_eager_bytes=1000,rdma_eager_bytes=10");
    const struct topology grpc = job(4, 4, "ranks_per_host_count=2,protocol=grpc,grpc_eager_bytes=1000");
    const struct topology none = job(4, 4, "ranks_per_host_count=2,protocol=tcp");
    const struct topology bare = job(4, 4, "ranks_per_host_count=2,protocol=bare,tcp_eager_bytes=1000");

    assert_false(topology_sender_waits(&t, 0, 2, 1000));
    assert_true(topology_sender_waits(&t, 0, 2, 1001));
    assert_false(topology_sender_waits(&t, 0, 1, 1001));
    assert_true(topology_sender_waits(&grpc, 0, 1, 1001)); /* which is spoken there, too */
    assert_false(topology_sender_waits(&none, 0, 2, 1e15));
    assert_false(topology_sender_waits(&bare, 0, 2, 1e15));
}

UNIT_TEST(hosts_share_within_as_told)
{
    const struct topology rank = job(4, 4, "ranks_per_host_count=2,local_sharing=rank");
    const struct topology host = job(4, 4, "ranks_per_host_count=2,local_sharing=host");

    assert_string_equal(path_text(&rank, 3, 2), "local 3, local-in 2");
    assert_string_equal(path_text(&host, 3, 2), "local 1");
    assert_near(topology_message_time_s(&rank, 3, 2, 1e6), 1e-6 + 1e6 / 5e9);
    assert_near(topology_message_time_s(&host, 3, 2, 1e6), 1e-6 + 1e6 / 5e9);
}

/* A server is in the memory of its host: a worker's own link is the slower one, whatever others do. */
UNIT_TEST(servers_are_in_the_memory_of_their_host)
{
    const struct topology t = job(4, 5,
                                  "ranks_per_host_count=4,server_placement=beside,local_sharing=rank,"
                                  "local_bytes_per_s=10e9,server_local_bytes_per_s=40e9");
    struct topology_link link[TOPOLOGY_MAX_PATH];

    for (int is_pull = 0; is_pull < 2; is_pull++) {
        assert_int_equal(topology_path(&t, is_pull ? 4 : 2, is_pull ? 2 : 4, link), 2);
        assert_near(link[is_pull].bytes_per_s, 10e9);
        assert_near(link[1 - is_pull].bytes_per_s, 40e9);
    }
    assert_int_equal(topology_path(&t, 0, 1, link), 2);
    assert_near(link[0].bytes_per_s, 10e9);
    assert_near(link[1].bytes_per_s, 10e9);
}

UNIT_TEST(workers_start_spread)
{
    struct cluster c;

    cluster_default(&c);
    assert_near(noise_start_ratio(&c, 3, 4, 0), 1);
    assert_int_equal(cluster_set(&c, NULL, "start=spread"), RC_OK);
    for (int r = 0; r < 4; r++)
        assert_near(noise_start_ratio(&c, r, 4, 0), 1 + 0.25 * r);
    assert_near(noise_start_ratio(&c, 3, 4, 1), 1);  /* only the first step */
    assert_near(noise_start_ratio(&c, 3, 4, -1), 1); /* out of steps */
    assert_near(noise_start_ratio(&c, 5, 4, 0), 1);  /* a server */
}

UNIT_TEST(stragglers_are_as_many_as_told)
{
    const struct topology t = job(100, 104, "stragglers_count=7,straggler_ratio=3");
    struct cluster other = t.cluster;
    int n_slow = 0, n_moved = 0;

    other.seed = 2;
    for (int r = 0; r < 100; r++) {
        const double ratio = noise_straggler_ratio(&t.cluster, r, 100);
        assert_true(ratio == 1 || ratio == 3);
        n_slow += ratio > 1;
        n_moved += (ratio > 1) != (noise_straggler_ratio(&other, r, 100) > 1);
    }
    assert_int_equal(n_slow, 7);
    assert_true(n_moved > 0);
    for (int r = 100; r < 104; r++)
        assert_true(noise_straggler_ratio(&t.cluster, r, 100) == 1); /* servers */
}

/* The mean of each distribution is 1 + jitter_ratio; that of their squares tells them apart. */
UNIT_TEST(jitter_has_its_mean_V2)
{
    enum { N_RANKS = 20, N_STEPS = 10000 };
    /* of (draw of mean 1) squared: exponential 2, half normal pi/2, lognormal e */
    static const double mean_square[] = {
        [JITTER_EXPONENTIAL] = 2, [JITTER_HALFNORMAL] = 1.5708, [JITTER_LOGNORMAL] = 2.7183
    };
    static const char *const name[] = { "none", "exponential", "halfnormal", "lognormal" };

    for (int d = JITTER_EXPONENTIAL; d <= JITTER_LOGNORMAL; d++) {
        char settings[64];
        double sum = 0, squares = 0;
        snprintf(settings, sizeof settings, "jitter=%s,jitter_ratio=0.5", name[d]);
        const struct topology t = job(N_RANKS, N_RANKS, settings);
        assert_int_equal(t.cluster.jitter, d);
        for (int r = 0; r < N_RANKS; r++)
            for (int s = 0; s < N_STEPS; s++) {
                const double ratio = noise_step_ratio(&t.cluster, r, s);
                assert_true(ratio >= 1 && isfinite(ratio));
                sum += (ratio - 1) / 0.5;
                squares += (ratio - 1) / 0.5 * ((ratio - 1) / 0.5);
            }
        sum /= (double)N_RANKS * N_STEPS; /* standard error of 200,000 draws: 0.003; of squares 0.05 at most */
        squares /= (double)N_RANKS * N_STEPS;
        if (fabs(sum - 1) > 0.015 || fabs(squares / mean_square[d] - 1) > 0.1)
            fail_msg("%s: mean %g, of squares %g", name[d], sum, squares);
    }
}

UNIT_TEST(jitter_is_of_rank_and_step_V1)
{
    const struct topology t = job(2, 2, "jitter=exponential,jitter_ratio=0.1");
    struct cluster other = t.cluster;

    other.seed = 2;
    const double ratio = noise_step_ratio(&t.cluster, 1, 7);
    assert_true(ratio == noise_step_ratio(&t.cluster, 1, 7));
    assert_true(ratio != noise_step_ratio(&t.cluster, 0, 7) && ratio != noise_step_ratio(&t.cluster, 1, 8));
    assert_true(ratio != noise_step_ratio(&t.cluster, 7, 1) && ratio != noise_step_ratio(&other, 1, 7));
    assert_true(noise_step_ratio(&t.cluster, 1, -1) == 1); /* outside of steps */
}

UNIT_MAIN("topology")
