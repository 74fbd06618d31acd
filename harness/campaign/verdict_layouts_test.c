/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_layouts_test.c - which layout wins, by how much, and why; figures as in verdict_test.c, bytes as in the kit.
 */
#include "harness/campaign/suite/campaign_test_kit.h"

struct layouts_case {
    int n_cores; /* of the machine; 0: simulated */
    struct made_layout point[8];
    const char *text;
};

#define IN_MODEL "lenet", /* the one of all cases */
#define HOLM(n)                                                                                                 \
    "Of " #n " verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % " \
    "interval, over pairs of launches in the same block.\n"

#define MOVES_3_AND_1                                                                                             \
    "lenet, 2 ranks: 2x1x2 moves 3 MB of activations and 6 MB of gradients a rank and step; 2x1x1 moves 4 MB of " \
    "gradients a rank and step. A worker's rank needs 9 MB, there 3.\n"

static const struct layouts_case CASES[] = {
    /* surely the fastest of as many ranks; one rank alone takes no part. The first of another kind explains */
    { 2,
      { { { IN_MODEL "single", 1, 0, 3, 700, 1.01, NAN, 4 }, 1, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 500, 1.01, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1250, 1.01, NAN, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 wins: 1.25 x the samples/s of 2x1x1 (95 %: 1.20 to 1.30), 2.50 x those of 1x2x1 (95 %: "
      "2.40 to 2.61).\n"
      "lenet, 2 ranks: 2x1x2 moves 3 MB of activations and 6 MB of gradients a rank and step; 2x1x1 moves 4 MB of "
      "gradients a rank and step. A worker's rank needs 9 MB, there 3.\n" HOLM(3) },
    /* not surely: by pairs, the fastest against each */
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 1012, 1.01, NAN, 2 }, 2, 1 } },
      "lenet, 2 ranks: cannot tell whether 2x1x1 or 1x2x1 is faster: 0.99 x (95 %: 0.95 to 1.03); 16 more launches "
      "would tell such a difference in 4 of 5 campaigns.\n"
      "lenet, 2 ranks: 1x2x1 moves 2 MB of activations and 4 MB of gradients a rank and step, and idles 25 % of it in "
      "the bubble, stages being 1.5 x the mean at most; 2x1x1 moves 4 MB of gradients a rank and step. A worker's rank "
      "needs 6 MB, there 3.\n" },
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 1000, 1.01, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 500, 1.01, NAN, 3 }, 1, 2 } },
      "lenet, 2 ranks: cannot tell whether 2x1x1 or 1x2x1 is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "lenet, 2 ranks: 2x1x1 is faster than 2x1x2: 2.00 x the samples/s (95 %: 1.92 to 2.09).\n"
      "lenet, 2 ranks: 2x1x1 moves 4 MB of gradients a rank and step; 1x2x1 moves 2 MB of activations and 4 MB of "
      "gradients a rank and step, and idles 25 % of it in the bubble, stages being 1.5 x the mean at most. A worker's "
      "rank needs 3 MB, there 6.\n" HOLM(3) },
    /* too few launches, and no throughput */
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, NAN, 1.01, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 1, 500, 1, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 3 }, 1, 2 } },
      "lenet, 2 ranks: cannot tell whether 1x2x1 or 2x1x2 is faster: fewer than 2 launches of each.\n"
      "lenet, 2 ranks: cannot tell whether 2x1x1 or 2x1x2 is faster: in some launch the workers never trained all at "
      "once; more --steps would help.\n"
      "lenet, 2 ranks: 2x1x2 moves 3 MB of activations and 6 MB of gradients a rank and step; 1x2x1 moves 2 MB of "
      "activations and 4 MB of gradients a rank and step, and idles 25 % of it in the bubble, stages being 1.5 x the "
      "mean at most. A worker's rank needs 9 MB, there 6.\n" },
    /* of each number of ranks; what has no core for each rank is not compared, and neither is one alone of its ranks */
    { 2,
      { { { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 500, 1.01, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 800, 1.01, NAN, 3 }, 1, 1 } },
      "lenet, 4 ranks: layouts are not compared: they have more threads than cores.\n" },
    { 0,
      { { { IN_MODEL "allreduce", 4, 0, 1, 1000, 1, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 500, 1, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 3, 0, 1, 900, 1, NAN, 6 }, 1, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 800, 1, NAN, 3 }, 1, 1 },
        { { IN_MODEL "single", 1, 0, 1, 200, 1, NAN, 4 }, 2, 1 } },
      "lenet, 4 ranks: allreduce:4x1x1 wins: 2.00 x the samples/s of allreduce:2x2x1 (simulated: no spread).\n"
      "lenet, 4 ranks: allreduce:4x1x1 moves 4 MB of gradients a rank and step; allreduce:2x2x1 moves 2 MB of "
      "activations and 4 MB of gradients a rank and step, and idles 25 % of it in the bubble, stages being 1.5 x the "
      "mean at most. A worker's rank needs 3 MB, there 6.\n"
      "lenet, 2 ranks: allreduce:2x1x1 wins: 4.00 x the samples/s of single:1x2x1 (simulated: no spread).\n"
      "lenet, 2 ranks: allreduce:2x1x1 moves 12 MB of gradients a rank and step; single:1x2x1 moves 4 MB of "
      "activations "
      "and 8 MB of gradients a rank and step, and idles 25 % of it in the bubble, stages being 1.5 x the mean at most. "
      "A "
      "worker's rank needs 9 MB, there 12.\n" },
    /* Regression: "nan x those of 1x2x1" */
    { 0,
      { { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 1, NAN, 1, NAN, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 1250, 1, NAN, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 is faster than 2x1x1: 1.25 x the samples/s (simulated: no spread).\n"
      "lenet, 2 ranks: cannot tell whether 1x2x1 or 2x1x2 is faster: in some launch the workers never trained all at "
      "once; more --steps would help.\n" MOVES_3_AND_1 },
    /* what is cut in both ways is explained by the fastest that is cut in one way less */
    { 0,
      { { { IN_MODEL "allreduce", 2, 0, 1, 1500, 1, NAN, 1 }, 2, 2 },
        { { IN_MODEL "allreduce", 4, 0, 1, 1000, 1, NAN, 2 }, 1, 4 },
        { { IN_MODEL "allreduce", 1, 0, 1, 500, 1, NAN, 3 }, 4, 1 } },
      "lenet, 4 ranks: 2x2x2 wins: 1.50 x the samples/s of 4x1x4, 3.00 x those of 1x4x1 (simulated: no spread).\n"
      "lenet, 4 ranks: 2x2x2 moves 1 MB of activations and 2 MB of gradients a rank and step, and idles 25 % of it in "
      "the bubble, stages being 1.5 x the mean at most; 4x1x4 moves 2 MB of activations and 4 MB of gradients a rank "
      "and step. A worker's rank needs 3 MB, there 6.\n" },
    /* modes take part; servers are beside the ranks, those of each stage. What no exchange leaves is of the same layout
     */
    { 0,
      { { { IN_MODEL "ps", 2, 1, 1, 1500, 1, NAN, 1 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 2 }, 2, 1 },
        { { IN_MODEL "none", 4, 0, 1, 9000, 1, NAN, 3 }, 1, 1 },
        { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 4 }, 2, 1 } },
      "lenet, 4 ranks: ps:2x2x1 + 2 servers wins: 1.50 x the samples/s of allreduce:2x2x1 (simulated: no spread).\n"
      "lenet, 4 ranks: ps:2x2x1 + 2 servers moves 1 MB of activations and 2 MB of gradients a rank and step, and idles "
      "25 % of it in the bubble, stages being 1.5 x the mean at most; allreduce:2x2x1 moves 2 MB of activations and 4 "
      "MB of gradients a rank and step, and idles 25 % of it in the bubble, stages being 1.5 x the mean at most. A "
      "worker's rank needs 3 MB, there 6.\n"
      "lenet, layout 2x2x1: ps keeps 75 % of the throughput without exchange.\n"
      "lenet, layout 2x2x1: allreduce keeps 50 % of the throughput without exchange.\n" },
    /* simulated, and one is faster than its bound (campaign_test_kit.h): nobody wins, and the others are told */
    { 0,
      { { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, 8, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 1, 500, 1, 16, 52 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 1250, 1, 10, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 is faster than 2x1x1: 1.25 x the samples/s (simulated: no spread).\n"
      "lenet, 2 ranks: cannot tell whether 1x2x1 or 2x1x2 is faster: a simulated run is faster than its "
      "bound.\n" MOVES_3_AND_1
      "lenet, 2 ranks: 2x1x1 is at the target loss sooner than 2x1x2, which takes 1.25 x as long (simulated: no "
      "spread).\n"
      "lenet, 2 ranks: cannot tell whether 2x1x1 or 1x2x1 is at the target loss first: a simulated run is faster than "
      "its bound.\n"
      "4 verdicts are withheld. The rule: a simulated run has no steady state or is faster than its bound.\n" },
    /* the target loss: the fastest need not be the first there */
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, 8, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 500, 1.01, 16, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1250, 1.01, 10, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 wins: 1.25 x the samples/s of 2x1x1 (95 %: 1.20 to 1.30), 2.50 x those of 1x2x1 (95 %: "
      "2.40 to 2.61).\n" MOVES_3_AND_1
      "lenet, 2 ranks: 2x1x1 is at the target loss first, after 8 s: 2x1x2 takes 1.25 x as long (95 %: 1.20 to 1.30), "
      "1x2x1 2.00 x (95 %: 1.92 to 2.09).\n" HOLM(6) },
    /* as soon as the next one, but not as all; and what is missing of its launches has no verdict */
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, 8, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 500, 1.01, 8, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1250, 1.01, 16, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 wins: 1.25 x the samples/s of 2x1x1 (95 %: 1.20 to 1.30), 2.50 x those of 1x2x1 (95 %: "
      "2.40 to 2.61).\n" MOVES_3_AND_1 "lenet, 2 ranks: cannot tell whether 2x1x1 or 1x2x1 is at the target loss "
      "first: 1.00 x (95 %: 0.96 to 1.04): they "
      "may well be equal.\n"
      "lenet, 2 ranks: 2x1x1 is at the target loss sooner than 2x1x2, which takes 2.00 x as long (95 %: 1.92 to "
      "2.09).\n" HOLM(6) },
    { 2,
      { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, 8, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 1, 0, 3, 500, 1.01, 8, 2 }, 2, 1 },
        { { IN_MODEL "allreduce", 2, 0, 3, 1250, 1.01, NAN, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 wins: 1.25 x the samples/s of 2x1x1 (95 %: 1.20 to 1.30), 2.50 x those of 1x2x1 (95 %: "
      "2.40 to 2.61).\n" MOVES_3_AND_1
      "lenet, 2 ranks: no layout is surely sooner at the target loss than another: 2x1x1 after 8 s, 1x2x1 after 8 s.\n"
      "lenet, 2 ranks: 2x1x2 reached the target loss in 0 of 3 launches: no verdict on it.\n" HOLM(4) },
    { 0,
      { { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, 8, 1 }, 1, 1 },
        { { IN_MODEL "allreduce", 2, 0, 1, 1250, 1, 4, 3 }, 1, 2 } },
      "lenet, 2 ranks: 2x1x2 wins: 1.25 x the samples/s of 2x1x1 (simulated: no spread).\n" MOVES_3_AND_1
      "lenet, 2 ranks: 2x1x2 is at the target loss first, after 4 s: 2x1x1 takes 2.00 x as long (simulated: no "
      "spread).\n" },
};

KIT_TEST(which_wins_and_why)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct layouts_case *t = &CASES[i];
        struct campaign c;
        size_t n_points = 0;
        while (t->point[n_points].of.model)
            n_points++;
        made_open_layouts(&c, *state, t->point, n_points, t->n_cores == 0);
        char *text = made_text(&c, campaign_verdict);
        print_message("case %zu\n", i);
        assert_string_equal(text, t->text);
        free(text);
        campaign_close(&c);
    }
}

/* Nine pairs of about 2 x and one of 16 x: of a difference that is told, the median is told beside the mean. */
KIT_TEST(single_launches_that_are_far_off)
{
    static const struct made_layout point[] = { { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1, NAN, 1 }, 1, 1 },
                                                { { IN_MODEL "allreduce", 1, 0, 3, 1000, 1, NAN, 2 }, 2, 1 },
                                                { { IN_MODEL "allreduce", 2, 0, 3, 500, 1, NAN, 3 }, 1, 2 } };
    struct launch launch[3][10] = { { { 0 } } };
    struct campaign c;

    made_open_layouts(&c, *state, point, 3, false);
    for (int p = 0; p < 3; p++) {
        for (int n = 0; n < 10; n++) {
            launch[p][n] = c.point[p].launch[0];
            launch[p][n].throughput_samples_per_s = p == 2 ? 500 : p == 0 && n == 9 ? 8000 : 1000 + 10 * n;
        }
        free(c.point[p].launch);
        c.point[p].launch = launch[p];
        c.point[p].n_launches = 10;
    }
    char *text = made_text(&c, campaign_verdict);
    assert_non_null(strstr(text,
                           "lenet, 2 ranks: 2x1x1 is faster than 2x1x2: 2.55 x the samples/s (95 %: 1.61 to 4.05); "
                           "single launches are far off, the median is 2.09 x.\n"));
    free(text);
    for (int p = 0; p < 3; p++)
        c.point[p].launch = NULL;
    campaign_close(&c);
}

/* What is said of values of an option (--over), from made-up launches. */

/* A point of allreduce with so many workers and this batch, of three launches: speed / 1.01, speed, speed x 1.01, in an
 * order of its own. */
static void add_of_batch(struct campaign *c, struct kit *k, int n_workers, const char *batch, double speed, int turn)
{
    static const double spread[3] = { 1 / 1.01, 1, 1.01 };
    struct assignment assigned[] = {
        { "model", "lenet" }, { "mode", "allreduce" }, { "workers", "" }, { "batch", "" }
    };
    char text[200], path[KIT_PATH_BYTES];
    struct point *p = NULL;

    snprintf(assigned[2].value, sizeof assigned[2].value, "%d", n_workers);
    snprintf(assigned[3].value, sizeof assigned[3].value, "%s", batch);
    assert_int_equal(campaign_add(c, assigned, 4, &p), RC_OK);
    p->n_threads = 1;
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "{\"kind\":\"summary\",\"throughput_samples_per_s\":%.17g}\n",
                 speed * spread[(i + turn) % 3]);
        assert_true(kit_write(k, "one", text));
        snprintf(path, sizeof path, "%s", kit_path(k, "one"));
        assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
    }
}

/* Each value against the first, in the order given, at the largest number of workers. */
KIT_TEST(each_value_against_the_first)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    c.n_launches_wanted = 3;
    add_of_batch(&c, *state, 1, "8", 700, 0);
    add_of_batch(&c, *state, 2, "8", 1000, 0);
    add_of_batch(&c, *state, 1, "64", 1400, 1);
    add_of_batch(&c, *state, 2, "64", 2000, 1);
    add_of_batch(&c, *state, 2, "128", 1000, 1);
    char *text = made_text(&c, campaign_verdict);
    assert_string_equal(text,
                        "lenet allreduce, 2 workers, batch 64: 2.00 x the samples/s of batch 8 (95 %: 1.92 to 2.09).\n"
                        "lenet allreduce, 2 workers, batch 128: cannot tell whether batch 128 or 8 is faster: 1.00 x "
                        "(95 %: 0.96 to 1.04): they may well be equal.\n" HOLM(2));
    free(text);
    campaign_close(&c);
}

UNIT_MAIN("verdict_layouts")
