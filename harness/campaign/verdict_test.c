/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_test.c - the verdict on campaigns whose every figure was worked out by hand.
 *
 * Three launches at r / k, r, r k have the 95 % interval r k^(+-2.4841) (Student's t of 2 degrees, 4.3027, over the
 * root of 3). The ratio of two such points with k = 1.01 has ends 1.0228 times it (4 degrees, 2.7764 x ln k x the root
 * of 2/3).
 */
#include "harness/campaign/suite/campaign_test_kit.h"

static char *verdict_of(const struct campaign *c)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    assert_non_null(to);
    campaign_verdict(c, to);
    assert_int_equal(fclose(to), 0);
    return text;
}

struct verdict_case {
    bool is_virtual;
    struct made_point point[6]; /* without a model: the end */
    const char *text;
};

#define IN_MODEL "lenet", /* the one of all cases */

static const struct verdict_case FASTER[] = {
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.15 to 1.20).\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.15 to 1.20).\n" },
    { true,
      { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, 850, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce trains 1.18 x as many samples/s as ps (simulated: no spread).\n" },
    { true,
      { { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 850, 1, NAN, 2 } },
      "lenet, 2 workers: ps trains 1.18 x as many samples/s as allreduce (simulated: no spread).\n" },
    { false, /* t x root(2 / n) x ln 1.01 falls below ln 1.012 at n = 7 */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1012, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: intervals overlap, 4 more launches are "
      "needed.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: intervals overlap, they may well be equal.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, 2000, 1, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: fewer than 2 launches of each.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, NAN, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 2000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: in some launch the workers never trained all "
      "at "
      "once; more --steps would help.\n" },
};

/* Which worker count the verdict is about. */
static const struct verdict_case LARGEST[] = {
    { true, /* the largest that both have */
      { { IN_MODEL "allreduce", 1, 0, 1, 1, 1, NAN, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 },
        { IN_MODEL "allreduce", 4, 0, 1, 1, 1, NAN, 3 },
        { IN_MODEL "ps", 1, 1, 1, 1, 1, NAN, 4 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 5 } },
      "lenet, 2 workers: allreduce trains 2.00 x as many samples/s as ps (simulated: no spread).\n" },
    { false, /* not one that has no core for every worker */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 3 },
        { IN_MODEL "ps", 4, 1, 3, 3000, 1.01, NAN, 4 } },
      "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.15 to 1.20).\n" },
    { false,
      { { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 2 }, { IN_MODEL "ps", 4, 1, 3, 3000, 1.01, NAN, 4 } },
      "" },
    { true, /* one worker exchanges nothing */
      { { IN_MODEL "allreduce", 1, 0, 1, 1000, 1, NAN, 2 },
        { IN_MODEL "ps", 1, 1, 1, 3000, 1, NAN, 4 },
        { IN_MODEL "none", 1, 0, 1, 3000, 1, NAN, 4 } },
      "" },
    { true, /* no launch of one: nothing is compared with it */
      { { IN_MODEL "allreduce", 2, 0, 0, 1000, 1, NAN, 2 }, { IN_MODEL "ps", 2, 1, 1, 3000, 1, NAN, 4 } },
      "" },
};

static const struct verdict_case PRICE[] = {
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 1700, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 85 % of the throughput of no exchange at all (95 %: 83 to 87).\n" },
    { false, /* a slow exchange keeps something, too */
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 8, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 0.4 % of the throughput of no exchange at all (95 %: 0.39 to 0.41).\n" },
    { true, /* from 10 % on whole ones */
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 198.8, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 9.9 % of the throughput of no exchange at all.\n" },
    { true,
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 199.2, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 10 % of the throughput of no exchange at all.\n" },
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1980, 1.01, NAN, 2 } },
      "lenet, 2 workers: ps keeps 99 % of the throughput of no exchange at all (95 %: 97 to 101: cannot tell it from "
      "100).\n" },
    { true, /* of the control with as many workers */
      { { IN_MODEL "none", 1, 0, 1, 500, 1, NAN, 1 },
        { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 2 },
        { IN_MODEL "none", 4, 0, 1, 8000, 1, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 1700, 1, NAN, 4 } },
      "lenet, 2 workers: allreduce keeps 85 % of the throughput of no exchange at all.\n" },
    { false, /* a single launch shows no spread: no price */
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 1700, 1.01, NAN, 4 } },
      "" },
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, NAN, 1, NAN, 4 } },
      "" },
};

static const struct verdict_case TARGET[] = {
    { false,
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 8, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 2000, 1.01, 5, 2 } },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 8 s alone: sooner (1.60 x, 95 %: 1.56 to 1.64).\n" },
    { false,
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { IN_MODEL "ps", 2, 1, 3, 2000, 1.01, 8, 2 } },
      "lenet: target loss after 8 s with ps, 2 workers, and 4 s alone: later (0.50 x, 95 %: 0.49 to 0.51).\n" },
    { false,
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 4, 1 }, { IN_MODEL "ps", 2, 1, 3, 2000, 1.01, 4, 2 } },
      "lenet: target loss after 4 s with ps, 2 workers, and 4 s alone: cannot tell which is sooner (1.00 x, 95 %: 0.98 "
      "to 1.02).\n" },
    { true,
      { { IN_MODEL "single", 1, 0, 1, 1000, 1, 8, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 } },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 8 s alone: 1.60 x.\n" },
    { true, /* the quickest of those that exchange and have several workers */
      { { IN_MODEL "none", 16, 0, 1, 1000, 1, 1, 1 },
        { IN_MODEL "single", 1, 0, 1, 1000, 1, 8, 2 },
        { IN_MODEL "allreduce", 1, 0, 1, 1000, 1, 2, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, 6, 4 },
        { IN_MODEL "allreduce", 4, 0, 1, 1000, 1, 4, 5 },
        { IN_MODEL "allreduce", 8, 0, 1, 1000, 1, 5, 6 } },
      "lenet: target loss after 4 s with allreduce, 4 workers, and 8 s alone: 2.00 x.\n" },
    { false, /* nor one that has no core for every worker */
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 8, 2 }, { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, 4, 5 } },
      "" },
    { true,
      { { IN_MODEL "single", 1, 0, 1, 1000, 1, 0.02, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 } },
      "lenet: target loss after 5 s with allreduce, 2 workers, and 0.02 s alone: 0.004 x.\n" },
    { true, /* never reached by several workers; by one */
      { { IN_MODEL "single", 1, 0, 1, 1000, 1, 8, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      "" },
    { true, { { IN_MODEL "single", 1, 0, 1, 1000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 } }, "" },
};

static void check_verdicts(struct kit *k, const struct verdict_case *cases, size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        struct campaign c;
        size_t n_points = 0;
        while (n_points < 6 && cases[i].point[n_points].model)
            n_points++;
        made_open(&c, k, cases[i].point, n_points, cases[i].is_virtual);
        char *text = verdict_of(&c);
        if (strcmp(text, cases[i].text) != 0)
            fail_msg("case %zu\n  said:     %s  expected: %s", i, text, cases[i].text);
        free(text);
        campaign_close(&c);
    }
}

#define VERDICT_TEST(name, cases)                                       \
    static void name(void **state)                                      \
    {                                                                   \
        check_verdicts(*state, cases, sizeof(cases) / sizeof *(cases)); \
    }
VERDICT_TEST(faster_slower_or_cannot_tell, FASTER)
VERDICT_TEST(at_the_largest_count_that_has_cores, LARGEST)
VERDICT_TEST(what_the_exchange_leaves, PRICE)
VERDICT_TEST(target_loss_sooner_later_never, TARGET)

/* Each model against its own points. */
static void verdict_of_each_model(void **state)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    char *text = verdict_of(&c);
    assert_string_equal(
        text,
        "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.15 to 1.21).\n"
        "lenet, 2 workers: allreduce keeps 85 % of the throughput of no exchange at all (95 %: 83 to 87).\n"
        "lenet, 2 workers: ps keeps 72 % of the throughput of no exchange at all (95 %: 70 to 74).\n"
        "lenet: target loss after 5 s with ps, 2 workers, and 8.13 s alone: cannot tell which is sooner (1.60 x, 95 %: "
        "0.92 to 2.78).\n"
        "linear, 2 workers: cannot tell whether allreduce or ps is faster: in some launch the workers never trained "
        "all "
        "at once; more --steps would help.\n");
    free(text);
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(faster_slower_or_cannot_tell), MADE_TEST(at_the_largest_count_that_has_cores),
        MADE_TEST(what_the_exchange_leaves),     MADE_TEST(target_loss_sooner_later_never),
        MADE_TEST(verdict_of_each_model),
    };

    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
