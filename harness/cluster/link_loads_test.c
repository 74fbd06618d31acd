/* SPDX-License-Identifier: Apache-2.0 */
/* link_loads_test.c - loads of links, worked out by hand. */
#include <math.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/cluster/topology.h"

static struct topology job(int n_workers, int n_ranks, const char *settings)
{
    struct topology t;
    struct cluster c;

    cluster_default(&c);
    if (cluster_set(&c, NULL, settings) != RC_OK)
        fail_msg("%s", rc_message());
    topology_init(&t, &c, n_workers, n_ranks);
    return t;
}

static void assert_load(const struct link_loads *l, int kind, int index, double busy_s, uint64_t n_bytes)
{
    const struct link_load seen = link_loads_busiest(l, kind);

    if (seen.index != index || seen.n_bytes != n_bytes || !(fabs(seen.busy_s - busy_s) <= 1e-12))
        fail_msg("%s: %d is busy for %.12g s with %llu bytes, expected %d for %.12g s with %llu", load_kind_name(kind),
                 seen.index, seen.busy_s, (unsigned long long)seen.n_bytes, index, busy_s, (unsigned long long)n_bytes);
}

/* Two hosts of two workers, cards of 1 GB/s at 0.5, a process 2 GB/s, a copy 4 GB/s, PCIe of 10 GB/s for each rank. */
#define SETTINGS                                                                                     \
    "ranks_per_host_count=2,link_bits_per_s=8e9,protocol=tcp,tcp_rate_ratio=0.5,tcp_message_s=1e-3," \
    "tcp_process_bytes_per_s=2e9,staging_bytes_per_s=4e9,local_bytes_per_s=1e10,local_sharing=rank"

UNIT_TEST(messages_load_what_they_cross)
{
    const struct topology t = job(4, 4, SETTINGS);
    struct link_loads l;

    assert_int_equal(link_loads_open(&l, &t), RC_OK);
    for (int k = 0; k < N_LOADS; k++)
        assert_load(&l, k, 0, 0, 0);
    link_loads_add(&l, 1, 2, 1000000000); /* between hosts */
    link_loads_add(&l, 3, 2, 500000000);  /* within one */
    assert_load(&l, LINK_NIC_UP, 0, 2, 1000000000);
    assert_load(&l, LINK_NIC_DOWN, 1, 2, 1000000000);
    assert_load(&l, LINK_PROCESS, 1, 0.5, 1000000000); /* as busy as that of rank 2: the first of equals */
    assert_load(&l, LINK_STAGE_OUT, 1, 0.25, 1000000000);
    assert_load(&l, LINK_STAGE_IN, 2, 0.25, 1000000000);
    assert_load(&l, LINK_LOCAL, 3, 0.05, 500000000);
    assert_load(&l, LINK_LOCAL_IN, 2, 0.05, 500000000);
    assert_load(&l, LOAD_HANDLING, 1, 1e-3, 0); /* TCP is not spoken within a host */
    assert_load(&l, LINK_GROUP_UP, 0, 0, 0);
    assert_true(link_loads_network_bytes(&l) == 1000000000);
    link_loads_add(&l, 2, 0, 3000000000);
    assert_load(&l, LINK_NIC_UP, 1, 6, 3000000000);
    assert_load(&l, LINK_PROCESS, 2, 2, 4000000000); /* both directions together */
    assert_load(&l, LOAD_HANDLING, 2, 2e-3, 0);
    assert_true(link_loads_network_bytes(&l) == 4000000000);
    link_loads_close(&l);
}

/* Groups, two cards of a host, servers; a link that messages do not share has no load. */
UNIT_TEST(servers_groups_and_cards)
{
    const struct topology t = job(3, 4,
                                  "hosts_count=2,ranks_per_host_count=2,hosts_per_group_count=1,nics_per_host_count=2,"
                                  "link_bits_per_s=8e9,oversubscription_ratio=4");
    struct link_loads l;

    assert_int_equal(link_loads_open(&l, &t), RC_OK);
    link_loads_add(&l, 0, 3, 1000000000);
    link_loads_add(&l, 1, 3, 1000000000);
    link_loads_add(&l, 2, 3, 9000000000);
    link_loads_serve(&l, 3, 0.5);
    link_loads_serve(&l, 3, 0.25);
    assert_load(&l, LINK_NIC_UP, 0, 1, 1000000000); /* each rank of host 0 has its card */
    assert_load(&l, LINK_NIC_DOWN, 3, 2, 2000000000);
    assert_load(&l, LINK_GROUP_UP, 0, 4, 2000000000); /* 2 GB/s over 4 */
    assert_load(&l, LINK_GROUP_DOWN, 1, 4, 2000000000);
    assert_load(&l, LINK_LOCAL, 0, 0, 0);
    assert_load(&l, LOAD_SERVER, 3, 0.75, 0);
    link_loads_close(&l);
    link_loads_close(&l);
}

/* A card that carries 1.5 times as much both ways as one way. */
UNIT_TEST(cards_that_are_not_full_duplex)
{
    const struct topology t =
        job(2, 2, "hosts_count=2,ranks_per_host_count=1,link_bits_per_s=8e9,link_duplex_ratio=1.5");
    struct link_loads l;

    assert_int_equal(link_loads_open(&l, &t), RC_OK);
    link_loads_add(&l, 0, 1, 1500000000);
    link_loads_add(&l, 1, 0, 3000000000);
    assert_load(&l, LINK_NIC_DOWN, 0, 3, 3000000000);
    assert_load(&l, LINK_NIC_BOTH, 0, 3, 4500000000);
    link_loads_close(&l);
}

UNIT_TEST(kinds_have_names)
{
    for (int a = 0; a < N_LOADS; a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(load_kind_name(a), load_kind_name(b));
}

UNIT_MAIN("link_loads")
