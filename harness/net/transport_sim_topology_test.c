/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_sim_topology_test.c TEST - what messages cost on clusters that are more than hosts on a switch: golden
 * virtual times, worked out by hand from the description. Bytes are such that 1 GB/s is 1 ns a byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cluster/topology.h"
#include "harness/net/suite/transport_sim_kit.h"

#define MB 1000000.0
#define LINKS "link_bits_per_s=8e9,link_latency_s=10e-6,local_bytes_per_s=4e9,local_latency_s=2e-6,"
#define LATENCY_NS 10000.0
#define LOCAL_NS 2000.0

enum { MESSAGE_BYTES = 1000000, MAX_FLOWS = 16 };

static void assert_time(double seen_ns, double expected_ns)
{
    if (fabs(seen_ns - expected_ns) > 1.0 + 1e-9 * expected_ns)
        fail_msg("%.1f ns, expected %.3f ns", seen_ns, expected_ns);
}

/* Messages that begin at time 0, each of MESSAGE_BYTES; each rank sends one, or n of them, and receives from any. */
struct flows {
    int n;
    struct {
        int from, to, n_messages;
    } flow[MAX_FLOWS];
};

/* seen->at_ns[16 * flow + message]: when it was received. What is to be run is the one below that calls it. */
static enum rc play(struct transport *t, struct seen *seen, const struct flows *f)
{
    const int rank = t->world->rank;
    enum rc rc = RC_OK;

    for (int i = 0; i < f->n; i++)
        for (int m = 0; f->flow[i].from == rank && m < f->flow[i].n_messages; m++)
            TRY(send_to(t, f->flow[i].to, (uint32_t)i, NULL, 0, MESSAGE_BYTES));
    for (int i = 0; i < f->n; i++)
        for (int m = 0; f->flow[i].to == rank && m < f->flow[i].n_messages; m++) {
            TRY(receive_from(t, f->flow[i].from, (uint32_t)i, NULL, 0));
            seen->at_ns[16 * i + m] = now_ns(t);
        }
out:
    return rc;
}

#define FLOWS(name, ...)                                        \
    static enum rc name(struct transport *t, struct seen *seen) \
    {                                                           \
        static const struct flows flows = { __VA_ARGS__ };      \
        return play(t, seen, &flows);                           \
    }

/* The run of the process; a test looks at at(flow, message). */
static struct seen *run(int n_workers, int n_ranks, const char *settings, sim_test_body *body)
{
    static struct seen seen;

    if (run_sim_on(&seen, n_workers, n_ranks, settings, body) != RC_OK)
        fail_msg("%s", rc_message());
    return &seen;
}

static double at(const struct seen *seen, int flow, int message)
{
    return seen->at_ns[16 * flow + message];
}

FLOWS(one_message, 1, { { 0, 1, 1 } })
FLOWS(out_and_back, 2, { { 0, 1, 1 }, { 1, 0, 1 } })
FLOWS(out_and_in, 2, { { 0, 2, 1 }, { 3, 1, 1 } })
FLOWS(three_in_a_row, 1, { { 0, 1, 3 } })
FLOWS(two_across, 2, { { 0, 2, 1 }, { 1, 3, 1 } })
FLOWS(four_across, 4, { { 0, 4, 1 }, { 1, 5, 1 }, { 2, 6, 1 }, { 3, 7, 1 } })
FLOWS(into_one, 3, { { 0, 3, 1 }, { 1, 3, 1 }, { 2, 3, 1 } })
FLOWS(all_pairs, 12,
      { { 0, 1, 1 },
        { 0, 2, 1 },
        { 0, 3, 1 },
        { 1, 0, 1 },
        { 1, 2, 1 },
        { 1, 3, 1 },
        { 2, 0, 1 },
        { 2, 1, 1 },
        { 2, 3, 1 },
        { 3, 0, 1 },
        { 3, 1, 1 },
        { 3, 2, 1 } })

/* o + L + n G + o (Culler et al., LogP, 1993, and its extension by a gap per byte). */
static void a_protocol_adds_latency_and_overheads(void **state)
{
    (void)state;
    const struct seen *s =
        run(2, 2, LINKS "protocol=rdma,rdma_latency_s=3e-6,rdma_message_s=7e-6,rdma_rate_ratio=0.5", one_message);
    assert_time(at(s, 0, 0), 7000 + LATENCY_NS + 3000 + 2 * MB + 7000);
}

/* Three messages of a process go out 7 us after each other; each has the link for itself only until the next comes. */
static void overheads_of_a_process_add_up(void **state)
{
    (void)state;
    const struct seen *s = run(2, 2,
                               "link_bits_per_s=8e15,link_latency_s=10e-6,protocol=tcp,tcp_latency_s=0,"
                               "tcp_message_s=7e-6,tcp_rate_ratio=1",
                               three_in_a_row);
    /* 1 MB at 1 PB/s is 1 ns; the receiver is occupied by each for 7 us as well, and done with it before the next */
    for (int m = 0; m < 3; m++)
        assert_time(at(s, 0, m), 7000 * (m + 1) + LATENCY_NS + 1 + 7000);
}

/* A server's process, which gets three messages at once, is done with the last 3 x 7 us after they came. */
static void overheads_of_a_receiver_add_up(void **state)
{
    (void)state;
    const struct seen *s = run(3, 4,
                               "link_bits_per_s=8e15,link_latency_s=10e-6,protocol=rdma,rdma_latency_s=0,"
                               "rdma_message_s=7e-6,rdma_rate_ratio=1",
                               into_one);
    /* they share the link: 3 ns; all arrive at once */
    assert_time(at(s, 2, 0), 7000 + LATENCY_NS + 3 + 3 * 7000);
}

static void nothing_is_spoken_within_a_host_but_grpc(void **state)
{
    (void)state;
    const struct seen *s =
        run(2, 2, LINKS "ranks_per_host_count=2,protocol=rdma,rdma_latency_s=1,rdma_message_s=1", one_message);
    assert_time(at(s, 0, 0), LOCAL_NS + MB / 4);
}

static void grpc_is_spoken_within_a_host(void **state)
{
    (void)state;
    const struct seen *s = run(2, 2,
                               LINKS "ranks_per_host_count=2,protocol=grpc,grpc_latency_s=50e-6,grpc_message_s=20e-6,"
                                     "grpc_process_bytes_per_s=1e9",
                               one_message);
    assert_time(at(s, 0, 0), 20000 + LOCAL_NS + 50000 + MB + 20000);
}

/* Both directions together: 2 MB at 0.5 GB/s, where the link carries 1 GB/s each way. */
static void a_process_has_a_limit_for_both_directions(void **state)
{
    (void)state;
    const struct seen *s = run(2, 2,
                               LINKS "protocol=grpc,grpc_latency_s=0,grpc_message_s=0,grpc_rate_ratio=1,"
                                     "grpc_process_bytes_per_s=0.5e9",
                               out_and_back);
    assert_time(at(s, 0, 0), LATENCY_NS + 4 * MB);
    assert_time(at(s, 1, 0), LATENCY_NS + 4 * MB);
}

/* Three workers push 1 MB each into a server that takes 1 GB/s, through a card of 8 GB/s. */
static void a_server_takes_what_its_process_can(void **state)
{
    (void)state;
    const struct seen *s = run(3, 4,
                               "link_bits_per_s=64e9,link_latency_s=10e-6,protocol=grpc,grpc_latency_s=0,"
                               "grpc_message_s=0,grpc_rate_ratio=1,grpc_process_bytes_per_s=1e9",
                               into_one);
    for (int i = 0; i < 3; i++)
        assert_time(at(s, i, 0), LATENCY_NS + 3 * MB);
}

static const char groups[] = LINKS "hosts_count=4,hosts_per_group_count=2,group_latency_s=6e-6,";

static double two_across_groups_ns(const char *settings)
{
    char all[256];

    snprintf(all, sizeof all, "%s%s", groups, settings);
    const struct seen *s = run(4, 4, all, two_across);
    assert_time(at(s, 0, 0), at(s, 1, 0));
    return at(s, 0, 0);
}

/* Two hosts of a group send to two of another: with r times over-subscription each gets 1/r of its card's rate. */
static void groups_without_over_subscription(void **state)
{
    (void)state;
    assert_time(two_across_groups_ns("oversubscription_ratio=1"), LATENCY_NS + 6000 + MB);
}

static void groups_over_subscribed_4_times(void **state)
{
    (void)state;
    assert_time(two_across_groups_ns("oversubscription_ratio=4"), LATENCY_NS + 6000 + 4 * MB);
}

/* Spread over both groups, ranks 0 and 2 are in one group, and so are 1 and 3. */
static void a_spread_job_meets_no_group_link(void **state)
{
    (void)state;
    assert_time(two_across_groups_ns("oversubscription_ratio=4,job_placement=spread"), LATENCY_NS + MB);
}

static void ranks_of_a_host_share_its_card(void **state)
{
    (void)state;
    const struct seen *s = run(8, 8, LINKS "ranks_per_host_count=4", four_across);
    for (int i = 0; i < 4; i++)
        assert_time(at(s, i, 0), LATENCY_NS + 4 * MB);
}

static void cards_of_a_host_are_used_in_turn(void **state)
{
    (void)state;
    const struct seen *s = run(8, 8, LINKS "ranks_per_host_count=4,nics_per_host_count=3", four_across);
    assert_time(at(s, 0, 0), LATENCY_NS + 2 * MB); /* ranks 0 and 3 have the same one */
    assert_time(at(s, 1, 0), LATENCY_NS + MB);
    assert_time(at(s, 2, 0), LATENCY_NS + MB);
    assert_time(at(s, 3, 0), LATENCY_NS + 2 * MB);
}

/* Rank 0 sends and receives 1 MB at 1 GB/s each way, which at a ratio of 1.25 are 2 MB at 1.25 GB/s. */
static void a_card_carries_less_both_ways(void **state)
{
    (void)state;
    const struct seen *s = run(2, 2, LINKS "link_duplex_ratio=1.25", out_and_back);
    assert_time(at(s, 0, 0), LATENCY_NS + 2 * MB / 1.25);
    assert_time(at(s, 1, 0), LATENCY_NS + 2 * MB / 1.25);
}

static void a_card_carries_its_rate_one_way(void **state)
{
    (void)state;
    assert_time(at(run(2, 2, LINKS "link_duplex_ratio=1.25", one_message), 0, 0), LATENCY_NS + MB);
}

/* Two ranks of a host have one card: its up and its down are of each. */
static void ranks_of_a_host_share_a_card_both_ways(void **state)
{
    (void)state;
    const struct seen *s = run(4, 4, LINKS "ranks_per_host_count=2,link_duplex_ratio=1", out_and_in);
    assert_time(at(s, 0, 0), LATENCY_NS + 2 * MB);
    assert_time(at(s, 1, 0), LATENCY_NS + 2 * MB);
}

/* Staging is slower than the card: twice its latency, and its rate. */
static void device_memory_is_staged(void **state)
{
    (void)state;
    const struct seen *s = run(2, 2, LINKS "staging_bytes_per_s=0.25e9,staging_latency_s=5e-6", one_message);
    assert_time(at(s, 0, 0), LATENCY_NS + 2 * 5000 + 4 * MB);
}

static void servers_have_no_device(void **state)
{
    (void)state;
    const struct seen *s = run(1, 2, LINKS "staging_bytes_per_s=2e9,staging_latency_s=5e-6", one_message);
    assert_time(at(s, 0, 0), LATENCY_NS + 5000 + MB);
}

/* 12 messages between 4 ranks of a host at once; each rank sends 3 and gets 3. */
static double all_pairs_ns(const char *sharing)
{
    char all[256];

    snprintf(all, sizeof all, LINKS "ranks_per_host_count=4,local_sharing=%s", sharing);
    const struct seen *s = run(4, 4, all, all_pairs);
    for (int i = 1; i < 12; i++)
        assert_time(at(s, i, 0), at(s, 0, 0));
    return at(s, 0, 0);
}

static void within_a_host_nothing_is_shared(void **state)
{
    (void)state;
    assert_time(all_pairs_ns("none"), LOCAL_NS + MB / 4);
}

static void within_a_host_ranks_share(void **state)
{
    (void)state;
    assert_time(all_pairs_ns("rank"), LOCAL_NS + 3 * MB / 4);
}

static void within_a_host_all_share(void **state)
{
    (void)state;
    assert_time(all_pairs_ns("host"), LOCAL_NS + 12 * MB / 4);
}

/* Server 2 is on the host of worker 0, server 3 on that of worker 1. */
static void servers_are_beside_workers(void **state)
{
    (void)state;
    const struct seen *s = run(2, 4, LINKS "server_placement=beside", two_across);
    assert_time(at(s, 0, 0), LOCAL_NS + MB / 4);
    assert_time(at(s, 1, 0), LOCAL_NS + MB / 4);
}

/* Each message alone takes what the pure function says, with everything at once. */
static enum rc each_alone(struct transport *t, struct seen *seen)
{
    enum rc rc = RC_OK;

    for (int from = 0; from < t->world->n_ranks; from++)
        for (int to = 0; to < t->world->n_ranks; to++) {
            const double start_ns = now_ns(t);
            if (from != to && t->world->rank == from)
                TRY(send_to(t, to, 1, NULL, 0, MESSAGE_BYTES));
            if (from != to && t->world->rank == to) {
                TRY(receive_from(t, from, 1, NULL, 0));
                seen->at_ns[16 * from + to] = now_ns(t) - start_ns;
            }
            TRY(world_barrier(t->world));
        }
out:
    return rc;
}

static void each_message_takes_what_topology_says(void **state)
{
    static const char settings[] =
        LINKS "ranks_per_host_count=2,nics_per_host_count=2,hosts_count=9,hosts_per_group_count=2,"
              "link_duplex_ratio=1.5,oversubscription_ratio=3,group_latency_s=6e-6,staging_bytes_per_s=3e9,staging_"
              "latency_s=5e-6,"
              "local_sharing=rank,protocol=grpc,grpc_process_bytes_per_s=0.9e9,job_placement=random,"
              "server_placement=beside";
    struct topology t;
    struct cluster c;

    (void)state;
    cluster_default(&c);
    assert_int_equal(cluster_set(&c, NULL, settings), RC_OK);
    topology_init(&t, &c, 10, 14);
    const struct seen *s = run(10, 14, settings, each_alone);
    for (int from = 0; from < 14; from++)
        for (int to = 0; to < 14; to++)
            if (from != to)
                assert_time(at(s, from, to), 1e9 * topology_message_time_s(&t, from, to, MESSAGE_BYTES));
}

/* Rank 0 sends to rank 2 of another host: as long as is eager, a byte longer, and one for which it waits too short a
 * time; and to rank 1 of its own host. at_ns: [0] when each send had ended, [8] when each was received. */
static enum rc holding_body(struct transport *t, struct seen *seen)
{
    static const struct {
        int to, n_bytes, timeout_ms;
    } message[] = { { 2, 1000000, 0 }, { 2, 1000001, SECOND_MS }, { 1, 2000000, 0 }, { 2, 5000000, 1 } };
    enum rc rc = RC_OK;

    for (int i = 0; i < 4; i++) {
        struct xfer x = { .n_hollow_bytes = (size_t)message[i].n_bytes, .peer = message[i].to, .tag = 7 };
        if (t->world->rank == 0) {
            TRY(transport_send(t, &x));
            seen->rc[i] = transport_wait(t, &x, message[i].timeout_ms);
            seen->at_ns[i] = now_ns(t);
        } else if (t->world->rank == message[i].to) {
            TRY(receive_from(t, 0, 7, NULL, 0));
            seen->at_ns[8 + i] = now_ns(t);
        }
    }
out:
    return rc;
}

static void run_holding(struct seen *seen, const char *eager)
{
    char settings[256];

    snprintf(settings, sizeof settings,
             LINKS "ranks_per_host_count=2,protocol=tcp,tcp_latency_s=0,tcp_message_s=0,tcp_rate_ratio=1,%s", eager);
    assert_int_equal(run_sim_on(seen, 4, 4, settings, holding_body), RC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen->rc[i], RC_OK);
    assert_time(seen->at_ns[8], LATENCY_NS + 1 * MB);
    assert_time(seen->at_ns[9], LATENCY_NS + 2 * MB + 1);
}

static void a_long_message_holds_its_sender(void **state)
{
    static struct seen seen;

    (void)state;
    run_holding(&seen, "tcp_eager_bytes=1000000");
    assert_time(seen.at_ns[0], 0);
    assert_time(seen.at_ns[1], seen.at_ns[9]);
    assert_time(seen.at_ns[2], seen.at_ns[1]); /* within a host nothing is spoken */
    assert_int_equal(seen.rc[3], RC_TIMEOUT);
    assert_time(seen.at_ns[3], seen.at_ns[2] + MB);
    assert_time(seen.at_ns[11], seen.at_ns[2] + LATENCY_NS + 5 * MB); /* it arrives all the same */
}

static void without_a_limit_no_sender_is_held(void **state)
{
    static struct seen seen;

    (void)state;
    run_holding(&seen, "tcp_eager_bytes=0");
    assert_int_equal(seen.rc[3], RC_OK);
    for (int i = 0; i < 4; i++)
        assert_time(seen.at_ns[i], 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_protocol_adds_latency_and_overheads),
        cmocka_unit_test(overheads_of_a_process_add_up),
        cmocka_unit_test(overheads_of_a_receiver_add_up),
        cmocka_unit_test(nothing_is_spoken_within_a_host_but_grpc),
        cmocka_unit_test(grpc_is_spoken_within_a_host),
        cmocka_unit_test(a_process_has_a_limit_for_both_directions),
        cmocka_unit_test(a_server_takes_what_its_process_can),
        cmocka_unit_test(groups_without_over_subscription),
        cmocka_unit_test(groups_over_subscribed_4_times),
        cmocka_unit_test(a_spread_job_meets_no_group_link),
        cmocka_unit_test(ranks_of_a_host_share_its_card),
        cmocka_unit_test(cards_of_a_host_are_used_in_turn),
        cmocka_unit_test(a_card_carries_less_both_ways),
        cmocka_unit_test(a_card_carries_its_rate_one_way),
        cmocka_unit_test(ranks_of_a_host_share_a_card_both_ways),
        cmocka_unit_test(device_memory_is_staged),
        cmocka_unit_test(servers_have_no_device),
        cmocka_unit_test(within_a_host_nothing_is_shared),
        cmocka_unit_test(within_a_host_ranks_share),
        cmocka_unit_test(within_a_host_all_share),
        cmocka_unit_test(servers_are_beside_workers),
        cmocka_unit_test(each_message_takes_what_topology_says),
        cmocka_unit_test(a_long_message_holds_its_sender),
        cmocka_unit_test(without_a_limit_no_sender_is_held),
    };

    for (size_t i = 0; argc == 2 && i < sizeof tests / sizeof *tests; i++)
        if (strcmp(argv[1], tests[i].name) == 0) {
            cmocka_set_test_filter(argv[1]);
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "usage: transport_sim_topology_test TEST\n");
    return 2;
}
