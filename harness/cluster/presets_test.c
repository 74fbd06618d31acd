/* SPDX-License-Identifier: Apache-2.0 */
/* presets_test.c - presets, --cluster-set, sources and assumptions; and thousands of presets with a few bytes broken.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/cluster_presets.h"

static struct cluster preset(const char *name, struct cluster_sources *sources)
{
    struct cluster c;

    if (cluster_find(&c, sources, name) != RC_OK)
        fail_msg("%s", rc_message());
    return c;
}

static bool is_assumed(const struct cluster *c, const char *key)
{
    int assumed[CLUSTER_MAX_KEYS];
    const size_t n = cluster_assumed(c, assumed);

    for (size_t i = 0; i < n; i++)
        if (strcmp(cluster_keys[assumed[i]].name, key) == 0)
            return true;
    return false;
}

UNIT_TEST(presets_say_what_they_are)
{
    static const struct {
        const char *name;
        int n_hosts, n_each, protocol;
        double link_bytes_per_s, memory_bytes_per_s;
    } known[] = {
        { "pascal-25g-roce", 128, 4, PROTOCOL_RDMA, 3.125e9, 660e9 },
        { "pascal-40g-tcp", 16, 4, PROTOCOL_TCP, 5e9, 660e9 },
        { "piz-daint", 5704, 1, PROTOCOL_RDMA, 10.2e9, 660e9 },
        { "laptop", 1, 8, PROTOCOL_BARE, 125e6, 6.4e9 },
        { "h200-400g", 128, 8, PROTOCOL_RDMA, 50e9, 4.3e12 },
        { "ethernet-1g", 8, 1, PROTOCOL_BARE, 125e6, 8e9 },
        { "rdma-25g-4x4", 128, 4, PROTOCOL_BARE, 3.125e9, 660e9 },
    };
    int n_presets = 0;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct cluster c = preset(known[i].name, NULL);
        assert_string_equal(c.name, known[i].name);
        assert_int_equal(c.n_hosts, known[i].n_hosts);
        assert_int_equal(c.n_ranks_per_host, known[i].n_each);
        assert_int_equal(c.protocol, known[i].protocol);
        assert_true(c.link_bytes_per_s == known[i].link_bytes_per_s);
        assert_true(c.memory_bytes_per_s == known[i].memory_bytes_per_s);
    }
    while (cluster_preset_name(n_presets))
        assert_true(cluster_is_preset(cluster_preset_name(n_presets++)));
    assert_int_equal(n_presets, sizeof known / sizeof *known);
    assert_false(cluster_is_preset("pascal"));
}

/* Each value of a preset has a source, and is assumed or not by it. */
UNIT_TEST(each_value_of_a_preset_has_its_source)
{
    static struct cluster_sources sources;

    for (int p = 0; cluster_preset_name(p); p++) {
        const struct cluster c = preset(cluster_preset_name(p), &sources);
        for (int i = 1; i < CLUSTER_N_KEYS; i++) { /* but for the name */
            if (strlen(sources.text[i]) < 6)
                fail_msg("%s: %s has no source", c.name, cluster_keys[i].name);
            if (strlen(sources.text[i]) > CLUSTER_SOURCE_BYTES - 2)
                fail_msg("%s: the source of %s is cut", c.name, cluster_keys[i].name);
            assert_int_equal(c.assumed >> i & 1, strncmp(sources.text[i], "assumed", 7) == 0);
        }
    }
    const struct cluster c = preset("pascal-25g-roce", &sources);
    assert_string_equal(sources.text[cluster_key_find("ranks_per_host_count")],
                        "the same README: 4 Pascal GPUs a server");
    assert_string_equal(sources.text[cluster_key_find("tcp_rate_ratio")],
                        "assumed: range 0.548 to 0.95; one TCP stream, as NCCL of 2017 had for each ring: 13.7 Gbit/s "
                        "(iperf on V100 cloud hosts, github.com/bytedance/byteps issue 29, 2019); 0.95 by many (Zhang "
                        "et al. 2020, gist zarzen/c2dca465)"); /* of two lines */
    assert_string_equal(sources.text[cluster_key_find("stragglers_count")], "assumed: not given");
    assert_false(is_assumed(&c, "link_bits_per_s"));
    assert_true(is_assumed(&c, "link_latency_s"));
    assert_true(is_assumed(&c, "stragglers_count"));
    assert_true(is_assumed(&c, "rdma_message_s"));
    assert_false(is_assumed(&c, "tcp_message_s")); /* has no effect */
}

UNIT_TEST(settings_change_values)
{
    static struct cluster_sources sources;
    struct cluster c = preset("pascal-25g-roce", &sources);
    char text[64];

    assert_int_equal(cluster_set(&c, &sources, ""), RC_OK);
    assert_int_equal(cluster_set(&c, &sources, "protocol=tcp,link_bits_per_s=100e9,name=my own,link_latency_s=3e-6"),
                     RC_OK);
    assert_int_equal(c.protocol, PROTOCOL_TCP);
    assert_true(c.link_bytes_per_s == 12.5e9 && c.link_latency_s == 3e-6);
    assert_string_equal(c.name, "my own");
    assert_string_equal(sources.text[cluster_key_find("link_latency_s")], "--cluster-set");
    assert_false(is_assumed(&c, "link_latency_s"));
    assert_true(is_assumed(&c, "tcp_message_s"));
    cluster_key_format(&c, cluster_key_find("link_bits_per_s"), text, sizeof text);
    assert_string_equal(text, "1e+11");
    assert_int_equal(cluster_set(&c, NULL, "hosts_count=2"), RC_OK);
    assert_int_equal(cluster_check(&c, 9, 9), RC_INVAL);
    assert_names(rc_message(),
                 "--cluster-set: cluster my own: 9 ranks ... 2 hosts ... 4 ranks ... 8 ranks ... hosts_count ... 3");
    c.server_placement = SERVERS_OWN;
    assert_int_equal(cluster_check(&c, 8, 12), RC_INVAL);
    assert_names(rc_message(), "8 workers ... 4 servers ... 2 hosts ... server_placement ... own ... "
                               "server_placement: beside ... hosts_count ... 3");
    c.server_placement = SERVERS_BESIDE;
    assert_int_equal(cluster_check(&c, 8, 12), RC_OK);
    assert_int_equal(cluster_check(&c, 9, 12), RC_INVAL);
    assert_non_null(strstr(rc_message(), "9 workers do not fit"));
}

#define CLUSTER_KEYS                                                                                        \
    "name, hosts_count, ranks_per_host_count, link_bits_per_s, link_latency_s, link_duplex_ratio, "         \
    "nics_per_host_count, protocol, tcp_latency_s, tcp_message_s, tcp_eager_bytes, tcp_rate_ratio, "        \
    "tcp_process_bytes_per_s, rdma_latency_s, rdma_message_s, rdma_eager_bytes, rdma_rate_ratio, "          \
    "rdma_process_bytes_per_s, grpc_latency_s, grpc_message_s, grpc_eager_bytes, grpc_rate_ratio, "         \
    "grpc_process_bytes_per_s, hosts_per_group_count, oversubscription_ratio, group_latency_s, "            \
    "local_bytes_per_s, local_latency_s, local_sharing, staging_bytes_per_s, staging_latency_s, "           \
    "flops_per_s, flops_precision, memory_bytes_per_s, cores_per_rank_count, collective_copy_bytes_per_s, " \
    "collective_sum_bytes_per_s, server_flops_per_s, "                                                      \
    "server_memory_bytes_per_s, server_local_bytes_per_s, server_aggregation, server_placement, "           \
    "job_placement, start, jitter and 5 more"

UNIT_TEST(wrong_settings_are_named)
{
    static const struct {
        const char *settings, *message;
    } wrong[] = {
        { "protocl=tcp", "--cluster-set protocl=tcp: no such key; the nearest is protocol" },
        { "protocol=udp", "--cluster-set protocol=udp: is \"udp\"; use one of bare|tcp|rdma|grpc" },
        { "protocol", "--cluster-set protocol: use KEY=VALUE" },
        { "=1", "--cluster-set =1: use KEY=VALUE" },
        { "seed=1,,", "--cluster-set seed=1: no such key; there are " CLUSTER_KEYS },
        { "hosts_count=4,link_latency_s=-1",
          "--cluster-set link_latency_s=-1: is \"-1\"; use a number from 1e-09 to 1000" },
        { "nics_per_host_count=0", "--cluster-set nics_per_host_count=0: is \"0\"; use a whole number from 1 to 64" },
        { "tcp_rate_ratio=1.1", "--cluster-set tcp_rate_ratio=1.1: is \"1.1\"; use a number from 0.001 to 1" },
        { "hosts_per_group_count=0",
          "--cluster-set oversubscription_ratio: is 2, which needs groups: hosts_per_group_count of at least 1" },
        { "local_sharing=host,server_local_bytes_per_s=40e9",
          "--cluster-set server_local_bytes_per_s: is 4e+10, which needs links of "
          "each rank: local_sharing of rank" },
        { "jitter_ratio=0.1",
          "--cluster-set jitter_ratio: is 0.1, which needs a distribution: jitter of exponential, halfnormal or "
          "lognormal" },
        { "jitter=lognormal", "--cluster-set jitter: is lognormal, which needs a size: jitter_ratio above 0" },
        { "stragglers_count=2",
          "--cluster-set stragglers_count: is 2, which needs to be slower: straggler_ratio above 1" },
        { "straggler_ratio=2",
          "--cluster-set straggler_ratio: is 2, which needs stragglers: stragglers_count of at least 1" },
        { "slow_links_count=2",
          "--cluster-set slow_links_count: is 2, which needs to be slower: slow_link_ratio above 1" },
        { "slow_link_ratio=2",
          "--cluster-set slow_link_ratio: is 2, which needs slow links: slow_links_count of at least 1" },
        { "staging_latency_s=1e-6",
          "--cluster-set staging_latency_s: is 1e-06, which needs staging: staging_bytes_per_s above 0" },
        { "name=a\tb", "--cluster-set name=a?b: has a control character; use printable text" },
    };
    const struct cluster before = preset("piz-daint", NULL);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct cluster c = before;
        assert_int_equal(cluster_set(&c, NULL, wrong[i].settings), RC_INVAL);
        assert_string_equal(rc_message(), wrong[i].message);
        assert_memory_equal(&c, &before, sizeof c);
    }
    struct cluster c = before;
    assert_int_equal(cluster_set(&c, NULL, "stragglers_count=5,straggler_ratio=1"), RC_OK); /* where a sweep begins */
    assert_int_equal(cluster_set(&c, NULL, "stragglers_count=0,straggler_ratio=2"), RC_OK);
    assert_int_equal(cluster_set(&c, NULL, "jitter=lognormal,jitter_ratio=0"), RC_OK);
    assert_int_equal(cluster_set(&c, NULL, "slow_links_count=3,slow_link_ratio=1"), RC_OK);
    c = before;
    assert_int_equal(cluster_set(&c, NULL, "slow_links_count=5,slow_link_ratio=2"), RC_OK);
    assert_int_equal(cluster_check(&c, 4, 6), RC_INVAL);
    assert_names(rc_message(), "cluster piz-daint: slow_links_count ... 5 ... 4 hosts");
    c = before;
    assert_int_equal(cluster_set(&c, NULL, "stragglers_count=5,straggler_ratio=2"), RC_OK);
    assert_int_equal(cluster_check(&c, 4, 6), RC_INVAL);
    assert_names(rc_message(), "cluster piz-daint: stragglers_count ... 5 ... 4 workers");
}

UNIT_TEST(unknown_presets_are_told_the_nearest)
{
    struct cluster c;

    assert_int_equal(cluster_find(&c, NULL, "pascal-25g"), RC_INVAL);
    assert_names(rc_message(), "pascal-25g: ... pascal-25g-roce ... ethernet-1g, h200-400g, laptop, pascal-25g-roce, "
                               "pascal-40g-tcp, piz-daint, rdma-25g-4x4");
    assert_int_equal(cluster_find(&c, NULL, "zzzz"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "zzzz: neither a preset (ethernet-1g, "));
    assert_int_equal(cluster_find(&c, NULL, "no-such.yaml"), RC_INVAL);
    assert_names(rc_message(), "no-such.yaml:");
}

/* Presets are messages' files, and what contradicts is told with the line of the key. */
UNIT_TEST(errors_in_text_name_the_line)
{
    static const char valid[] = "hosts_count: 2\nranks_per_host_count: 2\nlink_bits_per_s: 1e9\nlink_latency_s: 1e-6\n"
                                "flops_per_s: 1\nmemory_bytes_per_s: 1\n";
    static const struct {
        const char *added, *message;
    } wrong[] = {
        { "group_latency_s: 1e-6\n", "made:7: group_latency_s: is 1e-06, which needs groups: hosts_per_group_count of "
                                     "at least 1" },
        { "local_sharing: some\n", "made:7: local_sharing: is \"some\"; use one of none|rank|host" },
        { "\nnics_per_host_count: 0\n", "made:8: nics_per_host_count: is \"0\"; use a whole number from 1 to 64" },
        { "rdma_latency_s: -1e-6\n", "made:7: rdma_latency_s: is \"-1e-6\"; use a number from 0 to 1000" },
        { "protocol:\n", "made:7: protocol: is \"\"; use one of bare|tcp|rdma|grpc" },
    };
    char text[512];
    struct cluster c;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const int n = snprintf(text, sizeof text, "%s%s", valid, wrong[i].added);
        assert_int_equal(cluster_parse(&c, NULL, "made", text, (size_t)n), RC_INVAL);
        assert_string_equal(rc_message(), wrong[i].message);
    }
    assert_int_equal(cluster_parse(&c, NULL, "made", valid, strlen(valid)), RC_OK);
    assert_int_equal(cluster_check(&c, 5, 5), RC_INVAL);
    assert_names(rc_message(),
                 "made:1: cluster unnamed: 5 ranks ... 2 hosts ... 2 ranks ... 4 ranks ... hosts_count ... 3");
    assert_int_equal(c.assumed & 1u << cluster_key_find("hosts_count"), 0); /* given, if without a source */
}

/* cluster.B2, and every value there and back. */
UNIT_TEST(the_table_is_sound)
{
    struct cluster c, again;
    char text[64];

    cluster_default(&c);
    memset(&again, 0, sizeof again);
    for (int i = 0; i < CLUSTER_N_KEYS; i++) {
        const struct key *k = &cluster_keys[i];
        assert_int_equal(cluster_key_find(k->name), i);
        assert_true(k->meaning[0] != '\0' && k->meaning[strlen(k->meaning) - 1] != '.');
        assert_int_equal(cluster_key_set(&again, i, k->def), RC_OK);
        cluster_key_format(&c, i, text, sizeof text);
        assert_int_equal(cluster_key_set(&again, i, text), RC_OK);
        if (k->only)
            assert_non_null(strchr(k->only, '='));
    }
    assert_int_equal(cluster_key_find("nothing"), -1);
    again.seed = c.seed;
    again.assumed = c.assumed;
    assert_memory_equal(&again, &c, sizeof c);
    const double third = 1.0 / 3;
    c.tcp.message_s = third;
    cluster_key_format(&c, cluster_key_find("tcp_message_s"), text, sizeof text);
    assert_int_equal(cluster_key_set(&again, cluster_key_find("tcp_message_s"), text), RC_OK);
    assert_true(memcmp(&again.tcp.message_s, &third, sizeof third) == 0);
}

/* Bytes overwritten, or the end cut off: refused in one line, or a description whose values are in range. */
UNIT_TEST(broken_presets_give_one_line)
{
    enum { N_TRIES = 3000 };
    static const char alphabet[] = "0123456789eE+-.:#{}[]\"'\\,&*!|>%@` \n\t_azn?\0\x01\x80\xff";
    static struct cluster_sources sources;
    const struct cluster_preset *p = cluster_presets;
    int n_valid = 0;

    for (uint64_t i = 0; i < N_TRIES; i++, p = p[1].name ? p + 1 : cluster_presets) {
        char *text = malloc(p->n_bytes); /* of its own size, so that a sanitizer sees who reads on */
        size_t n = p->n_bytes;
        struct cluster c;
        assert_non_null(text);
        memcpy(text, p->text, n);
        if (i % 4 == 0)
            n = rng_u64(i, RNG_TEST, 0) % n;
        for (uint64_t k = 1; n > 0 && k <= i % 6; k++)
            text[rng_u64(i, RNG_TEST, 2 * k) % n] = alphabet[rng_u64(i, RNG_TEST, 2 * k + 1) % (sizeof alphabet - 1)];
        const enum rc rc = cluster_parse(&c, &sources, "broken", text, n);
        free(text);
        assert_true(rc == RC_OK || rc == RC_INVAL);
        if (rc == RC_OK) {
            n_valid++;
            for (int key = 0; key < CLUSTER_N_KEYS; key++)
                if (cluster_keys[key].type == KEY_REAL || cluster_keys[key].type == KEY_WHOLE)
                    assert_true(cluster_key_number(&c, key) >= cluster_keys[key].least &&
                                cluster_key_number(&c, key) <= cluster_keys[key].most);
            continue;
        }
        assert_true(strncmp(rc_message(), "broken:", 7) == 0 && rc_message()[7] >= '1' && rc_message()[7] <= '9');
        for (const char *s = rc_message(); *s; s++)
            assert_true((unsigned char)*s >= 0x20 && *s != 0x7f);
    }
    assert_true(n_valid > N_TRIES / 10 && n_valid < N_TRIES / 10 * 9); /* both kinds were tried */
}

UNIT_MAIN("presets")
