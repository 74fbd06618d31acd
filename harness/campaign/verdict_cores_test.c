/* SPDX-License-Identifier: Apache-2.0 */
/* verdict_cores_test.c - who uses more cores, and what is compared at equally many; figures as in verdict_test.c. */
#include "harness/campaign/suite/campaign_test_kit.h"

struct cores_case {
    int n_cores, n_threads; /* of the machine, 0: simulated; of a worker */
    struct made_point point[7];
    const char *text;
};

#define IN_MODEL "lenet", /* the one of all cases */
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

static void at_equal_workers_and_at_equal_cores(void **state)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct campaign c;
        char *text = NULL;
        size_t n_bytes = 0;
        FILE *to = open_memstream(&text, &n_bytes);
        assert_non_null(to);
        open_case(&c, *state, &CASES[i]);
        assert_int_equal(campaign_verdict(&c, to), RC_OK);
        assert_int_equal(fclose(to), 0);
        print_message("case %zu\n", i);
        assert_string_equal(text, CASES[i].text);
        free(text);
        campaign_close(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { MADE_TEST(at_equal_workers_and_at_equal_cores) };

    return cmocka_run_group_tests_name("verdict_cores", tests, NULL, NULL);
}
