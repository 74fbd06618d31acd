/* SPDX-License-Identifier: Apache-2.0 */
/* calibration_test.c - a description says what was measured, in its own units, and marks all else as assumed. */
#include "harness/bench/calibration.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/cluster/cluster_keys.h"
#include "harness/cluster/topology.h"

/* 8 ranks on 2 hosts: 40 us + n / 117.5 MB/s with 5 us at either end; within a host 1 us + n / 5 GB/s. */
static struct calibration measured(void)
{
    struct calibration c = {
        .n_ranks = 8,
        .links = { .n_hosts = 2,
                   .n_most_host_ranks = 4,
                   .link = { [LINK_BETWEEN] = { .n_pairs = 4,
                                                .message = { .intercept_s = 40e-6, .slope_s = 1 / 117.5e6 },
                                                .alpha_s = 40e-6,
                                                .both_ratio = 1.25,
                                                .message_s = 5e-6 },
                             [LINK_WITHIN] = { .n_pairs = 12,
                                               .message = { .intercept_s = 1e-6, .slope_s = 0.2e-9 },
                                               .alpha_s = 1e-6,
                                               .message_s = 0.1e-6 } },
                   .sharing = { .n_pairs = 2, .one_s = 1, .pairs_s = 1.1, .fan_s = 1.9 } },
        .compute = { .flops_per_s = { 1e9, 2e9, 3e9 },
                     .memory_bytes_per_s = { 4e9, 5e9, 6e9 },
                     .work_s = 5e-3,
                     .jitter = { .kind = JITTER_HALFNORMAL, .base_s = 1, .ratio = 0.25, .n_times = 1600 } },
    };
    struct link_fit *f = &c.links.link[LINK_BETWEEN];

    for (int i = 0; i < LINK_N_SIZES; i++)
        f->median_s[i] = line_fit_s(&f->message, (double)link_size_bytes(i));
    return c;
}

static bool is_assumed(const struct cluster *c, const struct cluster_sources *s, const char *key)
{
    const int i = cluster_key_find(key);
    const bool says_so = strncmp(s->text[i], "assumed", strlen("assumed")) == 0;

    assert_int_equal(c->assumed >> i & 1, says_so);
    return says_so;
}

#define assert_ratio(value, expected) assert_within(value, expected, 1e-5)

UNIT_TEST(the_simulator_gives_back_what_was_measured)
{
    static struct cluster_sources sources;
    const struct calibration m = measured();
    struct topology t;
    struct cluster c;

    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_string_equal(c.name, "mine");
    assert_int_equal(c.protocol, PROTOCOL_TCP);
    topology_init(&t, &c, 8, 8);
    assert_ratio(topology_message_time_s(&t, 0, 4, 0), 40e-6);
    assert_ratio(topology_message_time_s(&t, 0, 4, 117.5e6), 1 + 40e-6);
    assert_ratio(topology_message_s(&t, 0, 4), 5e-6);
    assert_ratio(topology_message_time_s(&t, 0, 1, 0), 1e-6);
    assert_ratio(topology_message_time_s(&t, 0, 1, 5e9), 1 + 1e-6);
    assert_ratio(c.link_bytes_per_s, 117.5e6);
    assert_ratio(c.flops_per_s, 2e9);
    assert_ratio(c.memory_bytes_per_s, 5e9);
    assert_int_equal(c.jitter, JITTER_HALFNORMAL);
    assert_ratio(c.jitter_ratio, 0.25);
    assert_int_equal(c.local_sharing, SHARING_RANK);
    assert_int_equal(c.n_ranks_per_host, 4);
    assert_int_equal(c.n_hosts, 0);
    assert_true(c.server_memory_bytes_per_s == 0);
}

/* Regression: jitter of other programs was written as measured, without a word. */
UNIT_TEST(jitter_of_other_programs_is_assumed)
{
    static struct cluster_sources sources;
    const struct calibration m = measured();
    char *told = NULL;
    size_t n_bytes;
    struct cluster c;

    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    FILE *to = open_memstream(&told, &n_bytes);
    assert_non_null(to);
    calibration_tell_doubt(&sources, "mine.yaml", to);
    assert_int_equal(ftell(to), 0);
    calibration_doubt(&c, &sources, &m);
    assert_true(is_assumed(&c, &sources, "jitter") && is_assumed(&c, &sources, "jitter_ratio"));
    assert_false(is_assumed(&c, &sources, "flops_per_s"));
    assert_ratio(c.jitter_ratio, 0.25);
    calibration_tell_doubt(&sources, "mine.yaml", to);
    assert_int_equal(fclose(to), 0);
    assert_non_null(strstr(told, "Doubtful: mine.yaml: "));
    free(told);
}

UNIT_TEST(what_is_measured_is_not_assumed)
{
    static const char *const measured_keys[] = { "name",
                                                 "ranks_per_host_count",
                                                 "link_bits_per_s",
                                                 "link_latency_s",
                                                 "link_duplex_ratio",
                                                 "protocol",
                                                 "tcp_message_s",
                                                 "tcp_latency_s",
                                                 "tcp_rate_ratio",
                                                 "local_bytes_per_s",
                                                 "local_latency_s",
                                                 "local_sharing",
                                                 "flops_per_s",
                                                 "memory_bytes_per_s",
                                                 "jitter",
                                                 "jitter_ratio" };
    static struct cluster_sources sources;
    const struct calibration m = measured();
    size_t n_measured = 0;
    struct cluster c;

    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    for (size_t i = 0; i < sizeof measured_keys / sizeof *measured_keys; i++)
        if (is_assumed(&c, &sources, measured_keys[i]))
            fail_msg("%s", measured_keys[i]);
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        n_measured += !is_assumed(&c, &sources, cluster_keys[i].name);
    assert_int_equal(n_measured, sizeof measured_keys / sizeof *measured_keys);
    assert_string_equal(
        sources.text[cluster_key_find("link_bits_per_s")],
        "measured: 1 / beta, 4 pairs, 12 sizes, largest residual 0.0 %, of those longer than alpha 0.0 %");
    assert_string_equal(sources.text[cluster_key_find("link_duplex_ratio")],
                        "measured: 16 MiB take 1.25 times as long while as many come in");
}

/* No other host, nobody on a host: these links are the built-in ones, and assumed. */
UNIT_TEST(thin_data_are_assumed)
{
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct cluster c, standard;

    cluster_default(&standard);
    m.links.link[LINK_BETWEEN] = m.links.link[LINK_WITHIN] = (struct link_fit){ 0 };
    m.links.sharing = (struct local_sharing){ 0 };
    m.links.n_hosts = m.links.n_most_host_ranks = m.n_ranks = 1;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_true(is_assumed(&c, &sources, "link_bits_per_s") && is_assumed(&c, &sources, "link_latency_s"));
    assert_true(is_assumed(&c, &sources, "local_bytes_per_s") && is_assumed(&c, &sources, "local_latency_s"));
    assert_true(is_assumed(&c, &sources, "protocol") && is_assumed(&c, &sources, "local_sharing"));
    assert_true(c.link_bytes_per_s == standard.link_bytes_per_s && c.local_latency_s == standard.local_latency_s);
    assert_non_null(strstr(sources.text[cluster_key_find("link_bits_per_s")], "one host was measured"));
    assert_ratio(c.flops_per_s, 2e9);
}

/* 4 KiB spend 35 us on their bytes, less than alpha: what they take beside the line says nothing of the rate. */
UNIT_TEST(residuals_of_short_messages_are_not_of_the_rate)
{
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct link_fit *f = &m.links.link[LINK_BETWEEN];
    struct cluster c;

    f->message.worst_ratio = 0.5;
    f->median_s[5] *= 1.5;
    f->median_s[6] *= 0.8; /* 16 KiB */
    f->median_s[10] *= 1.1;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_non_null(strstr(sources.text[cluster_key_find("link_bits_per_s")],
                           "largest residual 50.0 %, of those longer than alpha 20.0 %"));
}

UNIT_TEST(a_bare_link_has_no_protocol)
{
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct cluster c;

    m.links.link[LINK_BETWEEN].message_s = 0;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_int_equal(c.protocol, PROTOCOL_BARE);
    assert_ratio(c.link_latency_s, 40e-6);
    /* an overhead of all of the latency leaves the least that a link has */
    m.links.link[LINK_BETWEEN].message_s = 20e-6;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_true(c.link_latency_s == 1e-9);
}

/* Both ways at once: 2 n bytes in what the longest messages take, less alpha; within 5 % of full duplex it is that, and
 * no less than one way after the other. */
UNIT_TEST(a_link_may_carry_less_both_ways)
{
    static const struct {
        double both_ratio, wanted;
    } c[] = {
        { 0.97, 2 }, { 1, 2 }, { 1.04, 2 }, { 1.06, 1.8868 }, { 1.25, 1.6 }, { 1.6, 1.25 }, { 2, 1 }, { 2.4, 1 }
    };
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct cluster cluster;

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct link_fit *f = &m.links.link[LINK_BETWEEN];
        const double one_way_s = (16 << 20) / 117.5e6;
        f->both_ratio = (c[i].both_ratio * one_way_s + f->alpha_s) / (one_way_s + f->alpha_s);
        assert_int_equal(calibration_describe(&cluster, &sources, &m, "mine"), RC_OK);
        if (!(fabs(cluster.link_duplex_ratio - c[i].wanted) < 1e-4))
            fail_msg("%g times as long: %g, not %g", c[i].both_ratio, cluster.link_duplex_ratio, c[i].wanted);
    }
    assert_non_null(strstr(sources.text[cluster_key_find("link_duplex_ratio")], "more than twice, which"));
    m.links.link[LINK_BETWEEN].both_waits = true;
    assert_int_equal(calibration_describe(&cluster, &sources, &m, "mine"), RC_OK);
    assert_true(cluster.link_duplex_ratio == 2 && cluster.assumed >> cluster_key_find("link_duplex_ratio") & 1);
    assert_string_equal(sources.text[cluster_key_find("link_duplex_ratio")],
                        "assumed: full duplex; by this transport two hosts that exchange wait for each other, whatever "
                        "a link carries (16 MiB took 2.40 times as long): measure on three hosts");
    m.links.link[LINK_BETWEEN].both_waits = false;
    m.links.link[LINK_BETWEEN].n_ring_hosts = 4;
    assert_int_equal(calibration_describe(&cluster, &sources, &m, "mine"), RC_OK);
    assert_non_null(
        strstr(sources.text[cluster_key_find("link_duplex_ratio")], "come in, around a ring of all 4 hosts; more"));
}

UNIT_TEST(servers_may_differ)
{
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct cluster c;

    m.server_flops_per_s = 7e9;
    m.server_memory_bytes_per_s = 8e9;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_OK);
    assert_ratio(c.server_flops_per_s, 7e9);
    assert_ratio(c.server_memory_bytes_per_s, 8e9);
}

UNIT_TEST(sharing_is_told_by_ratios)
{
    static const struct {
        double pairs_s, fan_s;
        enum cluster_sharing wanted;
    } c[] = { { 1, 1, SHARING_NONE },     { 1.3, 1.3, SHARING_NONE }, { 1.1, 1.5, SHARING_RANK },
              { 1.9, 1.9, SHARING_RANK }, { 2.1, 2, SHARING_HOST },   { 4, 2, SHARING_HOST },
              { 1.9, 1.3, SHARING_NONE } };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++)
        assert_int_equal(calibration_sharing(&(struct local_sharing){ 4, 1, c[i].pairs_s, c[i].fan_s }), c[i].wanted);
    assert_int_equal(calibration_sharing(&(struct local_sharing){ 0 }), SHARING_NONE);
}

/* A time that does not grow with the size has no rate; a rate beyond the key's range is refused with both. */
UNIT_TEST(senseless_values_are_refused)
{
    static struct cluster_sources sources;
    struct calibration m = measured();
    struct cluster c;

    m.links.link[LINK_BETWEEN].message.slope_s = 0;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "between hosts: a message of 16 MiB took no longer"));
    m.links.link[LINK_BETWEEN].message.slope_s = 1e-20;
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "measured link_bits_per_s is \"8e+20\"; use a number from"));
    m = measured();
    m.compute.jitter.ratio = 103; /* regression: "use a number from 0 to 100" */
    assert_int_equal(calibration_describe(&c, &sources, &m, "mine"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "equal work took 104 times as long as the fastest, on average; other work "));
}

UNIT_MAIN("calibration")
