/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout_play_test.c - what messages of layouts get of the links that they share, and steps played with these: values
 * worked out by hand, of links of 1e9 bytes a second.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/layout_play.h"
#include "harness/cluster/cluster_keys.h"

enum { MOST_KINDS = 64 };

#define LINKS "link_bits_per_s=8e9,local_bytes_per_s=1e10"

static struct layout_links links_of(const char *layout, const char *settings)
{
    struct layout_links links;
    struct topology t;
    struct cluster c;
    struct layout l;
    char all[256];

    cluster_default(&c);
    c.link_latency_s = c.local_latency_s = 0; /* where settings say nothing */
    snprintf(all, sizeof all, LINKS ",%s", settings);
    if (cluster_set(&c, NULL, all) != RC_OK || layout_parse(&l, layout) != RC_OK)
        fail_msg("%s", rc_message());
    topology_init(&t, &c, 0, layout_n_ranks(&l));
    assert_int_equal(layout_links_open(&links, &t, &l), RC_OK);
    return links;
}

#define assert_near(value, expected) assert_within(value, expected, 1e-9)

#define KIND(stage, crossing) ((stage)*N_LAYOUT_CROSSINGS + (crossing))

static const struct share_case {
    const char *layout, *settings;
    int crosses[4]; /* of these kinds, -1: no more, the first one gets ... */
    double bytes_per_s;
} SHARES[] = {
    /* one ring leaves a host once, however many of its ranks are in it; rings of two shards leave it twice */
    { "8x1x2", "ranks_per_host_count=1", { KIND(0, CROSSES_OWN), -1 }, 1e9 },
    { "8x1x2", "ranks_per_host_count=2", { KIND(0, CROSSES_COMMON), -1 }, 1e9 },
    { "8x1x2", "ranks_per_host_count=2", { KIND(0, CROSSES_OWN), -1 }, 1e9 / 2 },
    { "8x1x2", "ranks_per_host_count=4", { KIND(0, CROSSES_OWN), -1 }, 1e9 / 2 },
    { "8x1x4", "ranks_per_host_count=4", { KIND(0, CROSSES_OWN), -1 }, 1e9 / 4 },
    { "8x1x4", "ranks_per_host_count=4,nics_per_host_count=2", { KIND(0, CROSSES_OWN), -1 }, 1e9 / 2 },
    /* rings of stages meet where these are on one host, while both go around */
    { "4x2x1", "ranks_per_host_count=2", { KIND(0, CROSSES_COMMON), -1 }, 1e9 },
    { "4x2x1", "ranks_per_host_count=2", { KIND(0, CROSSES_COMMON), KIND(1, CROSSES_COMMON), -1 }, 1e9 / 2 },
    { "4x2x1", "ranks_per_host_count=1", { KIND(0, CROSSES_COMMON), KIND(1, CROSSES_COMMON), -1 }, 1e9 },
    { "4x2x2", "ranks_per_host_count=4", { KIND(0, CROSSES_OWN), KIND(1, CROSSES_COMMON), -1 }, 1e9 / 3 },
    /* tensors: out of one host's card, or into it; within a host they share nothing */
    { "1x3x1", "ranks_per_host_count=1", { KIND(1, CROSSES_VALUE), KIND(0, CROSSES_VALUE), -1 }, 1e9 },
    { "1x3x1", "ranks_per_host_count=1", { KIND(1, CROSSES_VALUE), KIND(1, CROSSES_GRAD), -1 }, 1e9 / 2 },
    { "1x3x1", "ranks_per_host_count=1", { KIND(0, CROSSES_VALUE), KIND(2, CROSSES_GRAD), -1 }, 1e9 / 2 },
    { "1x4x1", "ranks_per_host_count=2", { KIND(0, CROSSES_VALUE), KIND(1, CROSSES_GRAD), -1 }, 1e10 },
    { "1x4x1", "ranks_per_host_count=2", { KIND(1, CROSSES_VALUE), KIND(2, CROSSES_GRAD), -1 }, 1e9 },
    /* a card that is not full duplex carries both together */
    { "1x2x1",
      "ranks_per_host_count=1,link_duplex_ratio=1",
      { KIND(0, CROSSES_VALUE), KIND(1, CROSSES_GRAD), -1 },
      1e9 / 2 },
    /* to each other one of a group; of four on two hosts two send two each to the other host */
    { "4x1x4", "ranks_per_host_count=1", { KIND(0, CROSSES_GROUP), -1 }, 1e9 / 3 },
    { "4x1x4", "ranks_per_host_count=2", { KIND(0, CROSSES_GROUP), -1 }, 1e9 / 4 },
    { "4x1x4", "ranks_per_host_count=4", { KIND(0, CROSSES_GROUP), -1 }, 1e10 },
    { "4x1x2", "ranks_per_host_count=2", { KIND(0, CROSSES_GROUP), -1 }, 1e10 },
    /* not on its way: nobody is slowed by it */
    { "2x1x1", "ranks_per_host_count=1", { KIND(0, CROSSES_GROUP), -1 }, INFINITY },
};

/* Regression: each ring and tensor had a network card of its own, up to 32 % too fast. */
UNIT_TEST(links_are_shared_evenly_L3)
{
    for (size_t i = 0; i < sizeof SHARES / sizeof *SHARES; i++) {
        const struct share_case *t = &SHARES[i];
        struct layout_links links = links_of(t->layout, t->settings);
        double bytes_per_s[MOST_KINDS];
        bool crosses[MOST_KINDS] = { false };
        for (int k = 0; k < 4 && t->crosses[k] >= 0; k++)
            crosses[t->crosses[k]] = true;
        assert_true(links.n_kinds <= MOST_KINDS);
        layout_links_share(&links, bytes_per_s, crosses);
        print_message("case %zu\n", i);
        if (isinf(t->bytes_per_s))
            assert_true(isinf(bytes_per_s[t->crosses[0]]));
        else
            assert_near(bytes_per_s[t->crosses[0]], t->bytes_per_s);
        layout_links_close(&links);
    }
}

UNIT_TEST(a_message_has_the_latency_of_its_path_L1)
{
    struct layout_links links = links_of("1x4x1", "ranks_per_host_count=2,link_latency_s=3,local_latency_s=1");

    assert_near(links.latency_s[KIND(0, CROSSES_VALUE)], 1);
    assert_near(links.latency_s[KIND(1, CROSSES_VALUE)], 3);
    assert_near(links.latency_s[KIND(2, CROSSES_GRAD)], 3);
    layout_links_close(&links);
    links = links_of("2x1x1",
                     "ranks_per_host_count=1,link_latency_s=3,protocol=rdma,rdma_latency_s=0.25,rdma_message_s=0.5");
    assert_near(links.latency_s[KIND(0, CROSSES_COMMON)], 3 + 0.25 + 2 * 0.5);
    layout_links_close(&links);
}

/* --- steps --- */

static double period_of(const char *layout, const char *settings, const struct played_stage *stage,
                        enum stage_schedule schedule, int n_stages, size_t n)
{
    struct layout_links links = links_of(layout, settings);
    double period_s = -1;

    assert_int_equal(layout_play(&period_s, stage, &links, schedule, n_stages, n), RC_OK);
    layout_links_close(&links);
    return period_s;
}

/* (M + S - 1) (f + b), as without any links (models.stage_timing). */
UNIT_TEST(equal_stages_have_the_published_bubble)
{
    struct played_stage stage[8];

    for (int i = 0; i < 8; i++)
        stage[i] = (struct played_stage){ .forward_s = 2, .backward_s = 5, .value = { 0, 1 }, .grad = { 0, 1 } };
    for (int S = 1; S <= 8; S++)
        for (size_t M = 1; M <= 13; M += 3) {
            char layout[LAYOUT_TEXT_BYTES];
            layout_text(layout, &(struct layout){ 1, S, 1 });
            assert_near(period_of(layout, "ranks_per_host_count=1", stage, SCHEDULE_GPIPE, S, M),
                        7.0 * (double)(M + (size_t)S - 1));
            assert_near(period_of(layout, "ranks_per_host_count=1", stage, SCHEDULE_1F1B, S, M),
                        7.0 * (double)(M + (size_t)S - 1));
        }
}

/* One stage of 2 + 3, twice, a ring of 6 s and 6 latencies of 0.5, 1 to update; hidden behind a backward of 3, or it
 * behind the ring. */
UNIT_TEST(an_exchange_is_behind_the_last_backward)
{
    const char *links = "ranks_per_host_count=1,link_latency_s=0.5";
    struct played_stage stage = { .forward_s = 2, .backward_s = 3, .common = { 6e9, 6 }, .update_s = 1 };

    assert_near(period_of("4x1x1", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 + 6 + 3 + 1);
    stage.overlaps = true;
    assert_near(period_of("4x1x1", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 6 + 3 + 1);
    stage.common.n_bytes = 2e9;
    assert_near(period_of("4x1x1", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 + 3 + 1);
}

/* The ring of a shard, of 4 s and 2 latencies, then that of all, of 2 s and 6 latencies; begun with a backward of 3,
 * the first one is still on its way for 1 s behind it, and the second one crosses while the first one's latencies pass;
 * of 5 instead of 2 for 4 s more. Without a ring of all, or of the shard, the other one is alone. */
UNIT_TEST(the_ring_of_a_shard_goes_first)
{
    const char *links = "ranks_per_host_count=1,link_latency_s=0.5";
    struct played_stage stage = {
        .forward_s = 2, .backward_s = 3, .own = { 4e9, 2 }, .common = { 2e9, 6 }, .update_s = 1
    };

    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 + (4 + 1) + (2 + 3) + 1);
    stage.overlaps = true;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 4 + 2 + 3 + 1);
    stage.common.n_bytes = 5e9;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 4 + 5 + 3 + 1);
    stage.common.n_messages = 0;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 4 + 1 + 1);
    stage.own.n_messages = 0;
    stage.common.n_messages = 6;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 5 + 3 + 1);
    stage.is_one_bucket = true;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 + 5 + 3 + 1);
    stage.own.n_messages = 2;
    assert_near(period_of("4x1x2", links, &stage, SCHEDULE_1F1B, 1, 2), 2 * 5 - 3 + 4 + 1 + 5 + 3 + 1);
}

/* Two of a group scatter 2 s with each backward of 2 s, of 2 micro-batches, over the card that the ring of 3 s has half
 * of from when that of the last one crosses: begun at 6 with the backward, of which 1 is left at 8, when 2 begin to be
 * scattered, it is there at 10; of the scattered 1 is left then: 11. */
UNIT_TEST(rings_share_a_card_with_activations)
{
    struct played_stage stage = { .forward_s = 1, .backward_s = 2, .scatter = { 2e9, 1 }, .own = { 3e9, 2 } };

    assert_near(period_of("4x1x2", "ranks_per_host_count=1", &stage, SCHEDULE_1F1B, 1, 2), 2 * (1 + 2 + 2) + 3);
    stage.overlaps = true;
    assert_near(period_of("4x1x2", "ranks_per_host_count=1", &stage, SCHEDULE_1F1B, 1, 2), 11);
}

/* Two of a group: each micro-batch gathers 3 s and 2 latencies of 0.5, and scatters 1 s and one. */
UNIT_TEST(activations_cross_with_computing)
{
    const struct played_stage stage = { .forward_s = 1, .backward_s = 2, .gather = { 3e9, 2 }, .scatter = { 1e9, 1 } };

    assert_near(period_of("2x1x2", "ranks_per_host_count=1,link_latency_s=0.5", &stage, SCHEDULE_1F1B, 1, 2),
                2 * (1 + 3 + 1 + 2 + 1 + 0.5));
}

/* Two stages of 1 + 1 and a ring of 10 s each. The second one's begins at 3, the first one's at 4. On two cards they
 * end at 13 and 14. On one they share it from 4 on, when 9 of the second one's are left: until 22; then 1 of the first
 * one's is left, alone: 23. */
UNIT_TEST(rings_of_stages_share_a_card)
{
    const struct played_stage stage[] = {
        { .forward_s = 1, .backward_s = 1, .value = { 0, 1 }, .common = { 10e9, 2 } },
        { .forward_s = 1, .backward_s = 1, .grad = { 0, 1 }, .common = { 10e9, 2 } },
    };

    assert_near(period_of("2x2x1", "ranks_per_host_count=1", stage, SCHEDULE_1F1B, 2, 1), 14);
    assert_near(period_of("2x2x1", "ranks_per_host_count=2", stage, SCHEDULE_1F1B, 2, 1), 23);
}

/* Forward 1, its value 4 and 0.5 of latency, 1 + 1, the gradient 2 and 0.5, 1. */
UNIT_TEST(tensors_are_waited_for)
{
    const struct played_stage stage[] = { { .forward_s = 1, .backward_s = 1, .value = { 4e9, 1 } },
                                          { .forward_s = 1, .backward_s = 1, .grad = { 2e9, 1 } } };

    assert_near(period_of("1x2x1", "ranks_per_host_count=1,link_latency_s=0.5", stage, SCHEDULE_GPIPE, 2, 1), 11);
}

/* Three stages of 1 + 1, tensors of 4 s, three micro-batches by 1f1b: values of the first stage are sent 1-5, 5-9, 9-;
 * those of the middle one 6-10, 10-14. The last one's first gradient leaves at 12 and enters the middle one's card
 * beside the last value, of which 1 is left: that one is there at 14, the gradient, then of 3, at 17. The middle one
 * computes that 17-18 and the last value 18-19; its gradient (18-) and value (19-) leave together: the gradient is
 * there at 25, the value, of 1, and the second gradient share until 27; that gradient is there at 30. The last stage
 * ends at 29, its gradient is there at 33, computed until 34, there at 38: the first stage ends at 39. */
UNIT_TEST(tensors_share_cards_both_ways)
{
    const struct played_stage stage[] = {
        { .forward_s = 1, .backward_s = 1, .value = { 4e9, 1 } },
        { .forward_s = 1, .backward_s = 1, .value = { 4e9, 1 }, .grad = { 4e9, 1 } },
        { .forward_s = 1, .backward_s = 1, .grad = { 4e9, 1 } },
    };

    assert_near(period_of("1x3x1", "ranks_per_host_count=1", stage, SCHEDULE_1F1B, 3, 3), 39);
    /* all forward first: values 1-13 and 6-18, gradients are behind the last value: 20-32 and 25-37; 38 */
    assert_near(period_of("1x3x1", "ranks_per_host_count=1", stage, SCHEDULE_GPIPE, 3, 3), 38);
}

UNIT_MAIN("layout_play")
