/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer_test.c - the first lines of a campaign, whose every figure was worked out by hand as in verdict_test.c: pairs
 * of three runs whose ratio has the ends 1.04374^(+-1) times it.
 */
#include "harness/campaign/suite/campaign_test_kit.h"

#define IN_MODEL "lenet", /* the one of all cases */
#define REAL_SETTING "lenet, batch 32 per worker, 2 cores, made up\n"
#define SIM_SETTING "lenet, batch 32 per worker, simulated cluster made up\n"

struct answer_case {
    bool is_virtual;
    struct made_point point[6]; /* without a model: the end */
    const char *text;
};

static const struct answer_case CASES[] = {
    { false, /* 1000 / 850 = 1.176; of 1250 samples/s without exchange 80 % and 68 % are left */
      { { IN_MODEL "none", 2, 0, 3, 1250, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 850, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, allreduce trains 1.18x as fast as the parameter server (95 % CI 1.13 to 1.23).\n"
      "  Gradient exchange costs allreduce 20 % of the throughput (95 % CI 17 to 23), the parameter server 32 % (29 to "
      "35).\n" },
    { false, /* the other way round; what is not more than nothing has an upper end alone */
      { { IN_MODEL "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, the parameter server trains 1.18x as fast as allreduce (95 % CI 1.13 to 1.23).\n"
      "  Gradient exchange costs allreduce 15 % of the throughput (95 % CI 11 to 19), the parameter server -4 to 4 % "
      "(95 % CI).\n" },
    { false, /* no difference */
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 }, { IN_MODEL "ps", 2, 1, 3, 1012, 1.01, NAN, 2 } },
      REAL_SETTING "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: 0.99x (95 % CI "
                   "0.95 to 1.03). More --launches would show a smaller difference.\n" },
    { false, /* the control makes no sense: 1100 of 1000 */
      { { IN_MODEL "none", 2, 0, 3, 1000, 1.01, NAN, 3 },
        { IN_MODEL "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
        { IN_MODEL "ps", 2, 1, 3, 1100, 1.01, NAN, 2 } },
      REAL_SETTING
      "  With 2 workers, cannot tell whether allreduce or the parameter server is faster: the control makes no sense: "
      "ps trains 1.10 x as many samples/s as none (95 %: 1.05 to 1.15). Run again on an idle machine.\n"
      "  Gradient exchange costs allreduce 15 % of the throughput (95 % CI 11 to 19).\n"
      "  Cannot tell what gradient exchange costs the parameter server: the control makes no sense: ps trains 1.10 x "
      "as "
      "many samples/s as none (95 %: 1.05 to 1.15). Run again on an idle machine.\n" },
    { true, /* simulated: at equal cores, as the server has one of its own */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 8, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 },
        { IN_MODEL "ps", 1, 1, 1, 500, 1, 10, 3 },
        { IN_MODEL "ps", 2, 1, 1, 1000, 1, 9, 4 } },
      SIM_SETTING
      "  Use 2 workers. They reach the target loss sooner than 1 worker: allreduce 1.60x.\n"
      "  With 2 cores for each mode (2 workers, or 1 worker and 1 server), allreduce trains 4.00x as fast as the "
      "parameter server.\n" },
    { true, /* later, both */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 4, 1 },
        { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, 5, 2 },
        { IN_MODEL "ps", 2, 1, 1, 2100, 1, 8, 4 } },
      SIM_SETTING
      "  Use 1 worker. 2 workers reach the target loss later: allreduce 0.80x, the parameter server 0.50x.\n"
      "  With 2 workers, the parameter server trains 1.05x as fast as allreduce. It uses 1 core more: not equal "
      "resources.\n" },
    { true, /* not all reached it */
      { { IN_MODEL "single", 1, 0, 1, 1100, 1, 4, 1 }, { IN_MODEL "allreduce", 2, 0, 1, 2000, 1, NAN, 2 } },
      SIM_SETTING "  Cannot tell how many workers to use: 0 of 1 runs of allreduce reached the target loss, and 1 of 1 "
                  "of 1 worker.\n" },
    { false,
      { { IN_MODEL "allreduce", 2, 0, 3, 1000, 1.01, NAN, 1 } },
      REAL_SETTING "  Nothing to compare: use --mode with two modes, or with mode none beside one that exchanges.\n" },
};

static void the_answer_of_each_case(void **state)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct answer_case *k = &CASES[i];
        struct campaign c;
        size_t n = 0;
        while (n < 6 && k->point[n].model)
            n++;
        made_open(&c, *state, k->point, n, k->is_virtual);
        snprintf(c.machine, sizeof c.machine, "%s", k->is_virtual ? "" : "2 cores, made up");
        snprintf(c.cluster_name, sizeof c.cluster_name, "%s", "made up");
        char *text = made_text(&c, campaign_answer);
        assert_string_equal(text, k->text);
        free(text);
        campaign_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { MADE_TEST(the_answer_of_each_case) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
