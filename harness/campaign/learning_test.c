/* SPDX-License-Identifier: Apache-2.0 */
/* learning_test.c - which points are said not to have learned, letter by letter, from made-up launches. */
#include "harness/campaign/suite/campaign_test_kit.h"

/* One more launch of a point, with these keys in its summary. */
static void take(struct campaign *c, struct point *p, struct kit *k, const char *keys)
{
    char text[600], path[KIT_PATH_BYTES];

    snprintf(text, sizeof text, "{\"kind\":\"summary\",\"batch_per_worker_count\":8%s}\n", keys);
    assert_true(kit_write(k, "one", text));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
}

static void assert_told(const struct campaign *c, const char *expected)
{
    char *text = made_told(c, campaign_tell_unlearned);

    assert_string_equal(text, expected);
    free(text);
}

#define NO(advice) ",\"learned\":\"no\",\"not_learned_advice\":" advice
#define YES ",\"learned\":\"yes\",\"not_learned_advice\":null"
#define NOT_KNOWN ",\"learned\":\"not_known\",\"not_learned_advice\":null"

/* Records of before the key was there, launches that learned, and those of which it is not known: nothing. */
static void nothing_is_said_of_others(void **state)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_told(&c, "");
    campaign_close(&c);
    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, YES);
    take(&c, p, *state, NOT_KNOWN);
    take(&c, p, *state, ",\"learned\":null");
    assert_told(&c, "");
    campaign_close(&c);
}

/* Of how many launches it is true; the reason is that of the first of them. */
static void launches_are_counted(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, YES);
    p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, YES);
    take(&c, p, *state, NO("\"the first; try --lr 0.1\""));
    take(&c, p, *state, NO("\"the second\""));
    p = made_add(&c, "linear", "ps", 1);
    take(&c, p, *state, NO("null"));
    assert_told(&c, "lenet ps, 2 workers: did not learn in 2 of 3 launches: the first; try --lr 0.1.\n"
                    "linear ps, 1 worker: did not learn in 1 of 1 launch.\n");
    campaign_close(&c);
}

static void assert_verdict(const struct campaign *c, const char *expected)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *to = open_memstream(&text, &n_bytes);

    assert_non_null(to);
    assert_int_equal(campaign_verdict(c, to), RC_OK);
    assert_int_equal(fclose(to), 0);
    made_drop_lines_on_cores(text);
    assert_string_equal(text, expected);
    free(text);
}

/* The mark of a point says "some" only where some learned. */
static void marks_tell_some_from_all(void **state)
{
    static const struct made_point point[] = { { "lenet", "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
                                               { "lenet", "none", 2, 0, 3, 1000, 1.01, NAN, 2 } };
    static const struct {
        size_t n_unlearned[2]; /* of 3 launches of each point */
        const char *text;
    } cases[] = { { { 0, 0 }, "" },
                  { { 1, 0 }, "n  some runs did not learn (1 of 2 rows)\n" },
                  { { 3, 0 }, "n  no run learned (1 of 2 rows)\n" },
                  { { 3, 3 }, "n  no run learned (2 of 2 rows)\n" },
                  { { 3, 2 }, "n  some runs did not learn (2 of 2 rows; in 1 of them no run learned)\n" } };
    static const char no_rate[] =
        "s  no throughput: in some run the workers never trained all at once; use more --steps "
        "(1 of 2 rows)\n";
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t p = 0; p < 2; p++)
            for (size_t k = 0; k < 3; k++)
                c.point[p].launch[k].did_not_learn = k < cases[i].n_unlearned[p];
        char *text = made_told(&c, campaign_print_short_marks);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
    for (size_t k = 0; k < 3; k++) {
        c.point[0].launch[k].did_not_learn = c.point[1].launch[k].did_not_learn = false;
        c.point[0].launch[k].throughput_samples_per_s = NAN;
    }
    char *text = made_told(&c, campaign_print_short_marks);
    assert_string_equal(text, no_rate);
    free(text);
    campaign_close(&c);
}

/* The line that says who is faster says who did not learn: of the slower one, of the faster one, of both. */
static void who_is_faster_without_learning(void **state)
{
    static const struct made_point point[] = { { "lenet", "allreduce", 2, 0, 3, 850, 1.01, NAN, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1000, 1.01, NAN, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    c.point[0].launch[1].did_not_learn = true;
    assert_verdict(&c, "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23); but "
                       "allreduce did not learn in 1 of 3 launches.\n");
    c.point[1].launch[0].did_not_learn = c.point[1].launch[2].did_not_learn = true;
    assert_verdict(&c,
                   "lenet, 2 workers: ps is faster than allreduce: 1.18 x the samples/s (95 %: 1.13 to 1.23); but ps "
                   "did not learn in 2 of 3 launches, allreduce did not learn in 1 of 3 launches.\n");
    campaign_close(&c);
}

static void what_is_kept_without_learning(void **state)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 3, 2000, 1.01, NAN, 1 },
                                               { "lenet", "ps", 2, 1, 3, 1700, 1.01, NAN, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 2, false);
    c.point[1].launch[2].did_not_learn = true;
    assert_verdict(&c, "lenet, 2 workers: ps keeps 85 % of the throughput without exchange (95 %: 81 to 89); but ps "
                       "did not learn in 1 of 3 launches.\n");
    campaign_close(&c);
}

static void simulations_without_learning(void **state)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 1, 2000, 1, NAN, 1 },
                                               { "lenet", "allreduce", 2, 0, 1, 1000, 1, NAN, 2 },
                                               { "lenet", "ps", 2, 1, 1, 1700, 1, NAN, 3 } };
    struct campaign c;

    made_open(&c, *state, point, 3, true);
    c.point[2].launch[0].did_not_learn = true;
    assert_verdict(&c,
                   "lenet, 2 workers: ps trains 1.70 x as many samples/s as allreduce (simulated: no spread); but ps "
                   "did not learn in 1 of 1 launch.\n"
                   "lenet, 2 workers: allreduce keeps 50 % of the throughput without exchange.\n"
                   "lenet, 2 workers: ps keeps 85 % of the throughput without exchange; but ps did not learn in "
                   "1 of 1 launch.\n");
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(nothing_is_said_of_others),     MADE_TEST(launches_are_counted),
        MADE_TEST(marks_tell_some_from_all),      MADE_TEST(who_is_faster_without_learning),
        MADE_TEST(what_is_kept_without_learning), MADE_TEST(simulations_without_learning),
    };

    return cmocka_run_group_tests_name("learning", tests, NULL, NULL);
}
