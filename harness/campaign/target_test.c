/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_test.c - the time to the target loss, of campaigns whose every figure was worked out by hand; intervals as in
 * verdict_test.c. Launches need samples/s x seconds to the target samples for it, as many in each launch of a point.
 */
#include "harness/campaign/suite/campaign_test_kit.h"
#include "harness/campaign/target.h"

#define DECLARED                                                                                                      \
    "The time to the target loss is compared by a fixed rule: each mode at its largest worker count with a core for " \
    "every "                                                                                                          \
    "worker, against one worker alone.\n"

enum { MAX_POINTS = 6 };

static const struct target_case {
    bool is_virtual;
    struct made_point point[MAX_POINTS]; /* without a model: the end */
    double rate[MAX_POINTS];             /* learning rate of each; 0: not known */
    const char *text;
} CASES[] = {
    { false, /* 8000 samples alone, 10000 together, each at twice the throughput: 2 / 1.25 */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 }, { "lenet", "allreduce", 2, 0, 3, 2000, 1.01, 5, 2 } },
      { 0.1, 0.1 },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 8 s alone: sooner (1.60 x, 95 %: 1.53 to 1.67), of "
      "which throughput 2.00 x and samples needed 1.25 x; allreduce makes one update a round, of the mean of 2 "
      "gradients, at rate 0.1.\n" DECLARED },
    { false, /* 4000 samples alone, 15200 together: 1.9 / 3.8 */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { "lenet", "ps", 2, 1, 3, 1900, 1.01, 8, 2 } },
      { 0.1, 0.2 },
      "lenet: target loss after 8 s with ps, 2 workers, and 4 s alone: later (0.50 x, 95 %: 0.48 to 0.52), of which "
      "throughput 1.90 x and samples needed 3.80 x; ps makes 2 updates a round, each of one worker's gradient, at rate "
      "0.2 (alone 0.1).\n" DECLARED },
    { false, /* where as many samples are needed, the updates are not to blame */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { "lenet", "ps", 2, 1, 3, 1000, 1.01, 4, 2 } },
      { 0.1, 0.1 },
      "lenet: target loss after 4 s with ps, 2 workers, and 4 s alone: cannot tell which is sooner (1.00 x, 95 %: 0.96 "
      "to 1.04), of which throughput 1.00 x and samples needed 1.00 x.\n" DECLARED },
    { true, /* not the best of them, which has 4 workers: the largest */
      { { "lenet", "none", 16, 0, 1, 1000, 1, 1, 1 },
        { "lenet", "single", 1, 0, 1, 1000, 1, 8, 2 },
        { "lenet", "allreduce", 1, 0, 1, 1000, 1, 2, 3 },
        { "lenet", "allreduce", 2, 0, 1, 2000, 1, 6, 4 },
        { "lenet", "allreduce", 8, 0, 1, 8000, 1, 5, 6 },
        { "lenet", "allreduce", 4, 0, 1, 4000, 1, 4, 5 } },
      { 0 },
      "lenet: target loss after 5 s with allreduce, 8 workers, and 8 s alone: 1.60 x, of which throughput 8.00 x and "
      "samples needed 5.00 x; allreduce makes one update a round, of the mean of 8 gradients.\n" DECLARED },
    { false, /* nor one that has no core for every worker; each mode has its line, and its verdict */
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 },
        { "lenet", "allreduce", 4, 0, 3, 9999, 1.01, 1, 2 },
        { "lenet", "allreduce", 2, 0, 3, 1000, 1.01, 4, 3 },
        { "lenet", "ps", 2, 1, 3, 1000, 1.01, 16, 5 } },
      { 0 },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "lenet, 2 workers: ps runs 1 server on the workers' cores; --workers 1,2 would compare them at 2 cores each.\n"
      "lenet: target loss after 4 s with allreduce, 2 workers, and 8 s alone: sooner (2.00 x, 95 %: 1.92 to 2.09), of "
      "which throughput 1.00 x and samples needed 0.50 x; allreduce makes one update a round, of the mean of 2 "
      "gradients.\n"
      "lenet: target loss after 16 s with ps, 2 workers, and 8 s alone: later (0.50 x, 95 %: 0.48 to 0.52), of which "
      "throughput 1.00 x and samples needed 2.00 x; ps makes 2 updates a round, each of one worker's "
      "gradient.\n" DECLARED "Of 3 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval "
      "alone is a 95 % interval, over pairs of launches in the same block.\n" },
    { true, /* small ratios keep their digits */
      { { "lenet", "single", 1, 0, 1, 1000, 1, 0.02, 1 }, { "lenet", "allreduce", 2, 0, 1, 1000, 1, 5, 2 } },
      { 0 },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 0.02 s alone: 0.004 x, of which throughput 1.00 x "
      "and samples needed 250.00 x; allreduce makes one update a round, of the mean of 2 gradients.\n" DECLARED },
    { true, /* never reached by several workers; by one; by a mode that is not the line's; by nobody */
      { { "lenet", "single", 1, 0, 1, 1000, 1, 8, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      { 0 },
      "lenet: target loss reached in 0 of 1 launch with allreduce, 2 workers, and in 1 of 1 alone: no "
      "verdict.\n" DECLARED },
    { false,
      { { "lenet", "single", 1, 0, 3, 1000, 1.01, NAN, 1 }, { "lenet", "allreduce", 2, 0, 3, 2000, 1.01, 5, 2 } },
      { 0 },
      "lenet: target loss reached in 3 of 3 launches with allreduce, 2 workers, and in 0 of 3 alone: no "
      "verdict.\n" DECLARED },
    { true,
      { { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 1 },
        { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 },
        { "lenet", "none", 2, 0, 1, NAN, 1, 5, 2 } },
      { 0 },
      "lenet: target loss reached in 0 of 1 launch with allreduce, 2 workers, and in 0 of 1 alone: no "
      "verdict.\n" DECLARED },
    { true,
      { { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      { 0 },
      "" },
    { true, /* nothing to compare with: no launch of one worker */
      { { "lenet", "single", 1, 0, 0, 1000, 1, 8, 1 }, { "lenet", "allreduce", 2, 0, 1, 2000, 1, 5, 2 } },
      { 0 },
      "" },
};

static void assert_verdict(const struct campaign *c, const char *expected)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    assert_non_null(to);
    assert_int_equal(campaign_verdict(c, to), RC_OK);
    assert_int_equal(fclose(to), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void what_is_told_of_the_target(void **state)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct campaign c;
        size_t n_points = 0;
        while (n_points < MAX_POINTS && CASES[i].point[n_points].model)
            n_points++;
        made_open(&c, *state, CASES[i].point, n_points, CASES[i].is_virtual);
        for (size_t p = 0; p < n_points; p++)
            c.point[p].learning_rate = CASES[i].rate[p] > 0 ? CASES[i].rate[p] : NAN;
        assert_verdict(&c, CASES[i].text);
        campaign_close(&c);
    }
}

/* Launches that did not reach the target are counted; what is told of the others is of the blocks in which both did,
 * and no verdict: here blocks 0 and 2, 2 x and 8 x, with 1 x and 2 x the samples. */
static void some_launches_did_not_reach_it(void **state)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 3, 1000, 1.01, 8, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1000, 1.01, 8, 2 } };
    static const double seconds[2][3] = { { 8, 8, 8 }, { 4, NAN, 1 } },
                        samples[2][3] = { { 100, 100, 100 }, { 100, NAN, 200 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (int p = 0; p < 2; p++)
        for (int i = 0; i < 3; i++) {
            c.point[p].launch[i].seconds_to_target_s = seconds[p][i];
            c.point[p].launch[i].samples_to_target_count = samples[p][i];
        }
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 3 of 3 alone: no "
                       "verdict; in the 2 blocks where both did: 4.00 x, of which throughput 5.66 x and samples needed "
                       "1.41 x; ps makes 2 updates a round, each of one worker's gradient.\n" DECLARED);
    c.point[0].launch[0].seconds_to_target_s = NAN;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes 2 updates a round, each of one worker's gradient.\n" DECLARED);
    c.point[1].lowers_stale = true;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes 2 updates a round, each of one worker's gradient, over its "
                       "staleness.\n" DECLARED);
    c.point[1].lowers_stale = false;
    c.point[1].n_averaged = 2;
    assert_verdict(&c, "lenet: target loss reached in 2 of 3 launches with ps, 2 workers, and in 2 of 3 alone: no "
                       "verdict; in the 1 block where both did: 8.00 x, of which throughput 16.00 x and samples needed "
                       "2.00 x; ps makes one update a round, of the mean of 2 gradients.\n" DECLARED);
    campaign_close(&c);
}

/* J3: whatever the launches, the split is of the whole ratio; records of before there were samples have no split. */
static void the_split_is_exact(void **state)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 3, 1000, 1.3, 8, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1700, 1.1, 5, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (int i = 0; i < 3; i++)
        c.point[1].launch[i].samples_to_target_count *= 1 + i;
    struct target_split s = target_split(&c.point[1], &c.point[0]);
    assert_int_equal(s.n_pairs, 3);
    assert_true(fabs(s.sooner_ratio - 1.6) < 1e-12);
    assert_true(fabs(s.samples_ratio - 8500.0 / 8000 * cbrt(6)) < 1e-12);
    assert_true(fabs(s.rate_ratio / s.samples_ratio - s.sooner_ratio) < 1e-12);
    c.point[1].launch[1].samples_to_target_count = NAN;
    s = target_split(&c.point[1], &c.point[0]);
    assert_true(fabs(s.sooner_ratio - 1.6) < 1e-12 && isnan(s.samples_ratio) && isnan(s.rate_ratio));
    campaign_close(&c);
}

/* A point's rate is the one of the last step of a launch. */
static void the_rate_is_read(void **state)
{
    struct kit *k = *state;
    struct campaign c;
    char path[KIT_PATH_BYTES];

    made_open(&c, k, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    assert_true(isnan(p->learning_rate));
    assert_true(kit_write(k, "one",
                          "{\"kind\":\"step\",\"learning_rate\":0.25}\n{\"kind\":\"step\",\"learning_rate\":"
                          "0.5}\n{\"kind\":\"summary\"}\n"));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(&c, p, 0, path), RC_OK);
    assert_true(p->learning_rate == 0.5);
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(what_is_told_of_the_target),
        MADE_TEST(some_launches_did_not_reach_it),
        MADE_TEST(the_split_is_exact),
        MADE_TEST(the_rate_is_read),
    };

    return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
