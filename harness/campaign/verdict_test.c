/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_test.c - the verdict on campaigns whose every figure was worked out by hand.
 *
 * Two points with launches at r / k, r, r k, in orders that differ, have pairs whose ratio is theirs times 1 / k, 1 / k
 * and k^2 in some order, or the inverse: a standard deviation of root 3 x ln k, and ends k^(+-4.3027) times the ratio
 * (Student's t of 2 degrees), 1.04374 times it with k = 1.01.
 */
#include "harness/campaign/suite/campaign_test_kit.h"

static char *verdict_of(const struct campaign *c)
{
    char *text = made_text(c, campaign_verdict);

    made_drop_lines_on_cores(text);
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
      "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in exchange: 45 of 46 us a step.\n" },
    { false, /* where the slower one's step is no longer, its costs explain nothing */
      { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n" },
    { true,
      { { IN_MODEL "allreduce", 2, 0, 1, 1000, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, 850, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce trains 1.18 x as many samples/s as ps (simulated: no spread).\n" },
    { true,
      { { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 850, 1, NAN, 2 } },
      "lenet, 2 workers: ps trains 1.18 x as many samples/s as allreduce (simulated: no spread).\n" },
    { false, /* (1.9600 + 0.8416)^2 x (root 3 x ln 1.01 / ln 1.012)^2 + 1.9600^2 / 2 = 18.3 launches */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1012, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 0.99 x (95 %: 0.95 to 1.03); 16 more launches "
      "would tell such a difference in 4 of 5 campaigns.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, 2000, 1, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: fewer than 2 launches of each.\n" },
    { true, /* Regression: "nan x as many samples/s" */
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, NAN, 1, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: in some launch the workers never trained all "
      "at once; more --steps would help.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, NAN, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 2000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: in some launch the workers never trained all "
      "at "
      "once; more --steps would help.\n" },
};

#define NO_SENSE(interval) \
    "the control makes no sense: ps trains 1.10 x as many samples/s as none (95 %: " interval ").\n"
#define RULE                                                                                                    \
    " withheld. The rule: more than 25 % of the pairs of runs are disturbed, without a steady state or faster " \
    "than their bound, or a mode is faster than no exchange.\n"

/* Which worker count the verdict is about. */
static const struct verdict_case LARGEST[] = {
    { true, /* the largest that both have */
      { { IN_MODEL "allreduce", 1, 0, 1, 1, 1, NAN, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 },
        { IN_MODEL "allreduce", 4, 0, 1, 1, 1, NAN, 3 },
        { IN_MODEL "ps", 1, 1, 1, 1, 1, NAN, 4 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 5 } },
      "lenet, 2 workers: allreduce trains 2.00 x as many samples/s as ps (simulated: no spread).\n"
      "lenet, at 2 cores each (allreduce: 2 workers, ps: 1 worker + 1 server): allreduce trains 2000.00 x as many "
      "samples/s as ps (simulated: no spread).\n" },
    { false, /* not one that has no core for every worker */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 3 },
        { IN_MODEL "ps", 4, 1, 3, 3000, 1.01, NAN, 4 } },
      "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in exchange: 49 of 51 us a step.\n" },
    { false,
      { { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 2 }, { IN_MODEL "ps", 4, 1, 3, 3000, 1.01, NAN, 4 } },
      "" },
    { true, /* one worker, where nobody has more */
      { { IN_MODEL "allreduce", 1, 0, 1, 1000, 1, NAN, 2 },
        { IN_MODEL "ps", 1, 1, 1, 3000, 1, NAN, 4 },
        { IN_MODEL "none", 1, 0, 1, 4000, 1, NAN, 4 } },
      "lenet, 1 worker: ps trains 3.00 x as many samples/s as allreduce (simulated: no spread).\n"
      "lenet, 1 worker: allreduce keeps 25 % of the throughput without exchange.\n"
      "lenet, 1 worker: ps keeps 75 % of the throughput without exchange.\n" },
    { true, /* one of them has more */
      { { IN_MODEL "allreduce", 1, 0, 1, 1000, 1, NAN, 2 },
        { IN_MODEL "ps", 1, 1, 1, 3000, 1, NAN, 4 },
        { IN_MODEL "ps", 2, 1, 1, 3000, 1, NAN, 4 },
        { IN_MODEL "none", 1, 0, 1, 4000, 1, NAN, 4 } },
      "lenet, 1 worker: allreduce keeps 25 % of the throughput without exchange.\n" },
    { false, /* though not the cores for them */
      { { IN_MODEL "allreduce", 1, 0, 3, 1000, 1.01, NAN, 2 },
        { IN_MODEL "allreduce", 4, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "none", 1, 0, 3, 3000, 1.01, NAN, 4 } },
      "" },
    { false, /* where one failed, one worker is no stand-in for the several that were asked for */
      { { IN_MODEL "allreduce", 1, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "allreduce", 2, 0, 0, 1, 1, NAN, 2 },
        { IN_MODEL "ps", 1, 1, 3, 850, 1.01, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 3, 3000, 1.01, NAN, 4 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: there is no launch of allreduce.\n" },
    { true, /* a point that failed at the largest count does not hide the comparison below, of whichever mode it is */
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 },
        { IN_MODEL "allreduce", 4, 0, 1, 5000, 1, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 4 },
        { IN_MODEL "ps", 4, 1, 0, 1, 1, NAN, 5 } },
      "lenet, 2 workers: allreduce trains 2.00 x as many samples/s as ps (simulated: no spread).\n" },
    { true,
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 },
        { IN_MODEL "allreduce", 4, 0, 0, 1, 1, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 4 },
        { IN_MODEL "ps", 4, 1, 1, 5000, 1, NAN, 5 } },
      "lenet, 2 workers: allreduce trains 2.00 x as many samples/s as ps (simulated: no spread).\n" },
    { true, /* a control that failed at the largest count */
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 },
        { IN_MODEL "none", 4, 0, 0, 1, 1, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, NAN, 4 },
        { IN_MODEL "ps", 4, 1, 1, 5000, 1, NAN, 5 } },
      "lenet, 2 workers: ps keeps 50 % of the throughput without exchange.\n" },
    { true,
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 0, 1, 1, NAN, 4 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: there is no launch of ps.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 0, 1, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 0, 1, 1, NAN, 4 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: there is no launch of either.\n" },
};

static const struct verdict_case PRICE[] = {
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 1700, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 85 % of the throughput without exchange (95 %: 81 to 89).\n" },
    { false, /* a slow exchange keeps something, too */
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 8, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 0.4 % of the throughput without exchange (95 %: 0.38 to 0.42).\n" },
    { true, /* from 10 % on whole ones */
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 198.8, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 9.9 % of the throughput without exchange.\n" },
    { true,
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 199.2, 1, NAN, 2 } },
      "lenet, 2 workers: allreduce keeps 10 % of the throughput without exchange.\n" },
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1980, 1.01, NAN, 2 } },
      "lenet, 2 workers: the price of ps is not resolved (+-4.4 %): 95 to 103 % of the throughput without "
      "exchange.\n" },
    { false, /* 1.1 x, and 1.054 x at least */
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 2200, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell what exchanging gradients costs ps: " NO_SENSE(
          "1.05 to 1.15") "1 verdict is" RULE },
    { false, /* then no verdict on that mode holds; others do */
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.001, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 2200, 1.01, NAN, 2 },
        { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.001, NAN, 3 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: " NO_SENSE(
          "1.07 to 1.13") "lenet, 2 workers: allreduce keeps 50 % of the throughput without exchange (95 %: 50 to "
                          "50).\n"
                          "lenet, 2 workers: cannot tell what exchanging gradients costs ps: " NO_SENSE(
                              "1.07 to 1.13") "2 verdicts are" RULE
                                              "Of 3 verdicts none is wrong in 95 % of campaigns (Holm's correction). "
                                              "Each interval alone is a 95 % interval, over pairs of launches in the "
                                              "same block.\n" },
    { true, /* of the control with as many workers */
      { { IN_MODEL "none", 1, 0, 1, 500, 1, NAN, 1 },
        { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 2 },
        { IN_MODEL "none", 4, 0, 1, 8000, 1, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 1, 1700, 1, NAN, 4 } },
      "lenet, 2 workers: allreduce keeps 85 % of the throughput without exchange.\n" },
    { false, /* a single launch shows no spread: no price */
      { { IN_MODEL "none", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, 1700, 1.01, NAN, 4 } },
      "" },
    { false,
      { { IN_MODEL "none", 2, 0, 3, 2000, 1.01, NAN, 1 }, { IN_MODEL "allreduce", 2, 0, 3, NAN, 1, NAN, 4 } },
      "" },
};

/* Where a difference lies: of the rest of a step, ps has 20 + 30 + 40 + 50 us and 4 units, allreduce 100 us and 3. The
 * mean step's computing is as given, spread as throughputs are. */
static const struct where_case {
    struct made_point point[2]; /* allreduce, ps */
    double compute_us[2], compute_spread;
    const char *text;
} WHERE[] = {
    { { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 21 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      { 940, 836 }, /* 104 us, and 163 - 148 */
      1.001,
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in compute, which the mode does not change: 104 of 119 us a step.\n" },
    { { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 21 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      { 9401, 8360 }, /* 1041 us, all digits of it */
      1.001,
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in compute, which the mode does not change: 1041 of 1056 us a step.\n" },
    { { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 21 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 4 } },
      { 940, 836 }, /* both x (1 / 1.3 + 1 + 1.3) / 3, and 163 - 156; launches vary by more */
      1.3,
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in compute, which the mode does not change: 106 of 113 us a step, though "
      "launches of one mode differ by as much.\n" },
    { { { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 46 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      { 560, 500 }, /* 60 us, and 238 - 148 */
      1.001,
      "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in exchange: 90 of 150 us a step; the rest is compute, which the mode does "
      "not "
      "change.\n" },
    { { { IN_MODEL "allreduce", 2, 0, 3, 990, 1.01, NAN, 21 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      { 940, 836 }, /* of a difference that is not sure nothing is told: 25.1 launches */
      1.001,
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 0.99 x (95 %: 0.95 to 1.03); 23 more launches "
      "would tell such a difference in 4 of 5 campaigns.\n" },
};

/* Pairs of 1.05 x differ by root 3 x ln 1.05 at most: with 1.01 t is 4.90 (p 0.039), with 1.012 4.09 (p 0.055),
 * with 1.002 24.4 (p 0.0017). */
static const struct verdict_case TOGETHER[] = {
    { false, /* alone */
      { { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: ps keeps 95 % of the throughput without exchange (95 %: 91 to 99).\n" },
    { false, /* with one that does not hold it has to be at most 0.025 */
      { { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 },
        { "linear", "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { "linear", "ps", 2, 1, 3, 1000, 1.01, NAN, 4 } },
      "lenet, 2 workers: the price of ps is not resolved (+-4.4 %): 91 to 99 % of the throughput without exchange is "
      "not "
      "sure enough for one of 2 verdicts.\n"
      "linear, 2 workers: the price of ps is not resolved (+-4.4 %): 96 to 104 % of the throughput without exchange.\n"
      "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
      "over pairs of launches in the same block.\n" },
    { false, /* the time to the target, too */
      { { IN_MODEL "single", 1, 0, 3, 1000, 1.01, 8.4, 1 },
        { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, 8, 2 } },
      "lenet, 2 workers: the price of ps is not resolved (+-4.4 %): 91 to 99 % of the throughput without exchange is "
      "not "
      "sure enough for one of 2 verdicts.\n"
      "lenet: target loss after 8 s with ps, 2 workers, and 8.4 s alone: cannot tell which is sooner, not sure enough "
      "for one of 2 verdicts (1.05 x, 95 %: 1.01 to 1.10), of which throughput 1.00 x and samples needed 0.95 x; ps "
      "makes 2 updates a round, each of one worker's gradient.\n"
      "The time to the target loss is compared by a fixed rule: each mode at its largest worker count with a core for "
      "every worker, against one worker alone.\n"
      "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
      "over pairs of launches in the same block.\n" },
    { false, /* with one that does, 0.05 is enough */
      { { IN_MODEL "none", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 },
        { "linear", "none", 2, 0, 3, 1050, 1.002, NAN, 3 },
        { "linear", "ps", 2, 1, 3, 1000, 1.002, NAN, 4 } },
      "lenet, 2 workers: ps keeps 95 % of the throughput without exchange (95 %: 91 to 99).\n"
      "linear, 2 workers: ps keeps 95 % of the throughput without exchange (95 %: 94 to 96).\n"
      "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
      "over pairs of launches in the same block.\n" },
    { false, /* the faster one of a pair, too */
      { { IN_MODEL "allreduce", 2, 0, 3, 1050, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 },
        { "linear", "allreduce", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { "linear", "ps", 2, 1, 3, 1000, 1.01, NAN, 4 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.05 x (95 %: 1.01 to 1.10) is not sure enough "
      "for one of 2 verdicts; 1 more launch would tell such a difference in 4 of 5 campaigns.\n"
      "linear, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
      "over pairs of launches in the same block.\n" },
};

static void check_verdicts(struct kit *k, const struct verdict_case *cases, size_t n_cases)
{
    int n_failures = 0;

    for (size_t i = 0; i < n_cases; i++) {
        struct campaign c;
        size_t n_points = 0;
        while (n_points < 6 && cases[i].point[n_points].model)
            n_points++;
        made_open(&c, k, cases[i].point, n_points, cases[i].is_virtual);
        char *text = verdict_of(&c);
        if (strcmp(text, cases[i].text) != 0) {
            print_error("case %zu\n  said:     %s  expected: %s", i, text, cases[i].text);
            n_failures++;
        }
        free(text);
        campaign_close(&c);
    }
    assert_int_equal(n_failures, 0);
}

#define VERDICT_TEST(name, cases)                                       \
    KIT_TEST(name)                                                      \
    {                                                                   \
        check_verdicts(*state, cases, sizeof(cases) / sizeof *(cases)); \
    }
VERDICT_TEST(faster_slower_or_cannot_tell, FASTER)
VERDICT_TEST(at_the_largest_count_that_has_cores, LARGEST)
VERDICT_TEST(what_the_exchange_leaves, PRICE)
VERDICT_TEST(verdicts_hold_together, TOGETHER)

KIT_TEST(where_a_difference_lies)
{
    for (size_t i = 0; i < sizeof WHERE / sizeof *WHERE; i++) {
        struct campaign c;
        made_open(&c, *state, WHERE[i].point, 2, false);
        for (int p = 0; p < 2; p++)
            for (int n = 0; n < MADE_LAUNCHES; n++)
                c.point[p].launch[n].compute_s =
                    1e-6 * WHERE[i].compute_us[p] *
                    pow(WHERE[i].compute_spread, (n + (int)WHERE[i].point[p].unit) % 3 - 1);
        char *text = verdict_of(&c);
        assert_string_equal(text, WHERE[i].text);
        free(text);
        campaign_close(&c);
    }
}

#define CANNOT_TELL "lenet, 2 workers: cannot tell whether allreduce or ps is faster: "
#define MORE "48 more launches would tell such a difference in 4 of 5 campaigns.\n" /* 57.4 in all */
static const char FAR_ABOVE[] = CANNOT_TELL "1.28 x (95 %: 0.80 to 2.02); single launches are far off, the median is "
                                            "1.04 x; " MORE;
static const char FAR_BELOW[] = CANNOT_TELL "0.78 x (95 %: 0.49 to 1.24); single launches are far off, the median is "
                                            "0.96 x; " MORE;

/* Nine pairs of 1 x to 1.08 x and one of 8 x: the median of all averages of two is told beside the mean. */
KIT_TEST(single_launches_that_are_far_off)
{
    static const struct made_point point[] = { { IN_MODEL "allreduce", 2, 0, 0, 0, 1, NAN, 1 },
                                               { IN_MODEL "ps", 2, 1, 0, 0, 1, NAN, 2 } };
    struct launch launch[2][10] = { { { 0 } } };

    for (int swapped = 0; swapped < 2; swapped++) {
        struct campaign c;
        made_open(&c, *state, point, 2, false);
        for (int p = 0; p < 2; p++)
            for (int n = 0; n < 10; n++)
                launch[p][n].throughput_samples_per_s = p == swapped ? 1000 * (n == 9 ? 8 : 1 + 0.01 * n) : 1000;
        for (int p = 0; p < 2; p++) {
            free(c.point[p].launch);
            c.point[p].launch = launch[p];
            c.point[p].n_launches = 10;
        }
        char *text = verdict_of(&c);
        assert_string_equal(text, swapped ? FAR_BELOW : FAR_ABOVE);
        free(text);
        c.point[0].launch = c.point[1].launch = NULL;
        campaign_close(&c);
    }
}

/* Each model against its own points. */
KIT_TEST(verdict_of_each_model)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    char *text = verdict_of(&c);
    assert_string_equal(
        text,
        "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
        "lenet, 2 workers: difference lies in exchange: 37 us a step, less 2 us of compute.\n"
        "lenet, 2 workers: allreduce keeps 85 % of the throughput without exchange (95 %: 81 to 89).\n"
        "lenet, 2 workers: ps keeps 72 % of the throughput without exchange (95 %: 69 to 75).\n"
        "lenet: target loss after 6 s with allreduce, 2 workers, and 8.13 s alone: cannot tell which is sooner (1.33 "
        "x, 95 %: 0.79 to 2.26), of which throughput 1.70 x and samples needed 1.27 x; allreduce makes one update a "
        "round, of the mean of 2 gradients.\n"
        "lenet: target loss after 5 s with ps, 2 workers, and 8.13 s alone: cannot tell which is sooner (1.60 x, 95 %: "
        "0.91 to 2.82), of which throughput 1.44 x and samples needed 0.90 x; ps makes 2 updates a round, each of one "
        "worker's gradient.\n"
        "linear, 2 workers: cannot tell whether allreduce or ps is faster: in some launch the workers never trained "
        "all "
        "at once; more --steps would help.\n"
        "linear: target loss reached in 1 of 1 launch with allreduce, 2 workers, and in 0 of 3 alone: no verdict.\n"
        "linear: target loss reached in 0 of 3 launches with ps, 2 workers, and in 0 of 3 alone: no verdict.\n"
        "The time to the target loss is compared by a fixed rule: each mode at its largest worker count with a core "
        "for every worker, "
        "against one worker alone.\n"
        "Of 5 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, "
        "over pairs of launches in the same block.\n");
    free(text);
    campaign_close(&c);
}

/* Who uses more cores, and what is compared at equally many; figures as in verdict_test.c. */

struct cores_case {
    int n_cores, n_threads; /* of the machine, 0: simulated; of a worker */
    struct made_point point[7];
    const char *text;
};

#define HOLM                                                                                                         \
    "Of 2 verdicts none is wrong in 95 % of campaigns (Holm's correction). Each interval alone is a 95 % interval, " \
    "over pairs of launches in the same block.\n"

static const struct cores_case CASES[] = {
    /* 2 + 1 on two cores beside 1 + 1: the second is the comparison at equal cores */
    { 2,
      1,
      { { IN_MODEL "allreduce", 1, 0, 3, 700, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "ps", 1, 1, 3, 500, 1.01, NAN, 2 },
        { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 2 } },
      "lenet, 2 workers: allreduce is faster than ps: 1.18 x the samples/s (95 %: 1.13 to 1.23).\n"
      "lenet, 2 workers: difference lies in exchange: 45 of 46 us a step.\n"
      "lenet, 2 workers: ps runs 1 server on the workers' cores.\n"
      "lenet, at 2 cores each (allreduce: 2 workers, ps: 1 worker + 1 server): allreduce is faster than ps: 2.00 x the "
      "samples/s (95 %: 1.92 to 2.09).\n" HOLM },
    /* what would give it */
    { 2,
      1,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "lenet, 2 workers: ps runs 1 server on the workers' cores; --workers 1,2 would compare them at 2 cores each.\n" },
    /* on a larger machine the server has a core: 3 against 2 */
    { 3,
      1,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      "lenet, 2 workers: cannot tell whether allreduce or ps is faster: 1.00 x (95 %: 0.96 to 1.04): they may well be "
      "equal.\n"
      "lenet, 2 workers: ps uses 1 core more; --workers 1,2 would compare them at 2 cores each.\n" },
    /* the most cores count: 4 of allreduce, 3 + 1 of ps, not 3 and 2 + 1 */
    { 0,
      1,
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 },
        { IN_MODEL "allreduce", 3, 0, 1, 3000, 1, NAN, 2 },
        { IN_MODEL "allreduce", 4, 0, 1, 4000, 1, NAN, 3 },
        { IN_MODEL "ps", 2, 1, 1, 1500, 1, NAN, 4 },
        { IN_MODEL "ps", 3, 1, 1, 2000, 1, NAN, 5 } },
      "lenet, 3 workers: allreduce trains 1.50 x as many samples/s as ps (simulated: no spread).\n"
      "lenet, 3 workers: ps uses 1 core more.\n"
      "lenet, at 4 cores each (allreduce: 4 workers, ps: 3 workers + 1 server): allreduce trains 2.00 x as many "
      "samples/s as ps (simulated: no spread).\n" },
    /* two servers, two threads: 3 x 2 of allreduce, 2 x 2 + 2 of ps */
    { 0,
      2,
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 },
        { IN_MODEL "allreduce", 3, 0, 1, 3000, 1, NAN, 2 },
        { IN_MODEL "ps", 2, 2, 1, 6000, 1, NAN, 4 } },
      "lenet, 2 workers: ps trains 3.00 x as many samples/s as allreduce (simulated: no spread).\n"
      "lenet, 2 workers: ps uses 2 cores more.\n"
      "lenet, at 6 cores each (allreduce: 3 workers, ps: 2 workers + 2 servers): ps trains 2.00 x as many samples/s as "
      "allreduce (simulated: no spread).\n" },
    /* one server, two threads: no number of workers makes them equal */
    { 0,
      2,
      { { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 1 }, { IN_MODEL "ps", 2, 1, 1, 6000, 1, NAN, 4 } },
      "lenet, 2 workers: ps trains 3.00 x as many samples/s as allreduce (simulated: no spread).\n"
      "lenet, 2 workers: ps uses 1 core more.\n" },
    /* without launches of one there is nothing to compare */
    { 2,
      1,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 1, 1, 0, 500, 1.01, NAN, 2 } },
      "" },
};

static void open_case(struct campaign *c, struct kit *k, const struct cores_case *t)
{
    size_t n_points = 0;

    while (t->point[n_points].model)
        n_points++;
    made_open(c, k, t->point, n_points, t->n_cores == 0);
    for (size_t i = 0; i < n_points; i++) {
        c->point[i].n_threads = t->n_threads;
        if (t->n_cores > 0)
            point_mark_shared_cores(&c->point[i], t->n_cores);
    }
}

KIT_TEST(at_equal_workers_and_at_equal_cores)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct campaign c;
        open_case(&c, *state, &CASES[i]);
        char *text = made_text(&c, campaign_verdict);
        print_message("case %zu\n", i);
        assert_string_equal(text, CASES[i].text);
        free(text);
        campaign_close(&c);
    }
}

UNIT_MAIN("verdict")
