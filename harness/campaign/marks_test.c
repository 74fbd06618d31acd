/* SPDX-License-Identifier: Apache-2.0 */
/* marks_test.c - which launches are marked, and what is said of them, letter by letter, from made-up launches. */
#include "harness/campaign/suite/campaign_test_kit.h"

/* One more launch of a point: 100 samples/s times `speed`, and these keys in its summary. */
static void take(struct campaign *c, struct point *p, struct kit *k, double speed, const char *keys)
{
    char text[600], path[KIT_PATH_BYTES];

    snprintf(text, sizeof text,
             "{\"kind\":\"summary\",\"batch_per_worker_count\":8,\"throughput_samples_per_s\":%.17g%s}\n", 100 * speed,
             keys);
    assert_true(kit_write(k, "one", text));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
}

static void assert_told(const struct campaign *c, const char *expected)
{
    char *text = made_told(c, campaign_tell_marks);

    assert_string_equal(text, expected);
    free(text);
}

static void verdict(const struct campaign *c, FILE *to)
{
    assert_int_equal(campaign_verdict(c, to), RC_OK);
}

static void table(const struct campaign *c, FILE *to)
{
    assert_int_equal(campaign_print(c, to), RC_OK);
}

#define QUIET ",\"disturbed\":\"no\",\"steal_ratio\":0.5,\"others_cores_count\":7,\"taken_cores_ratio\":0.09"
#define UNKNOWN ",\"disturbed\":\"not_known\",\"steal_ratio\":null,\"others_cores_count\":null,\"frequency_hz\":null"
#define TAKEN(steal, others, taken) \
    ",\"disturbed\":\"yes\",\"steal_ratio\":" steal ",\"others_cores_count\":" others ",\"taken_cores_ratio\":" taken
#define AT_HZ(hz) ",\"frequency_hz\":" hz
#define STATE(state) ",\"steady_state\":\"" state "\""
#define BOUND_LOW(ratio) ",\"bound_ratio\":1.3,\"bound_low_ratio\":" ratio
#define WHAT_DISTURBED                                                                                      \
    "disturbed: other programs and steal took more than 10 % of a launch's cores (short launches: more),\n" \
    "or its frequency is more than 5 % off the median of its point\n"
#define ALL_COUNT "marked launches count all the same: to leave some out after the fact would bias what is compared\n"

/* Records of before the keys were there, in sim, on a quiet machine. */
static void nothing_is_said_of_quiet_launches(void **state)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    assert_told(&c, "");
    campaign_close(&c);
    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, 1, ",\"disturbed\":null,\"frequency_hz\":null" STATE("reached"));
    take(&c, p, *state, 1, QUIET AT_HZ("1.0e9") STATE("too short"));
    take(&c, p, *state, 1, UNKNOWN);
    assert_told(&c, "");
    assert_false(campaign_has_mark(&c, MARK_DISTURBED) || campaign_has_mark(&c, MARK_UNSTEADY));
    campaign_close(&c);
}

/* The most of each figure, of disturbed launches alone. */
static void by_what_a_point_was_disturbed(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, 1, QUIET);
    p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, 1, TAKEN("0.012", "0.25", "0.13"));
    take(&c, p, *state, 1, QUIET);
    take(&c, p, *state, 1, TAKEN("0.001", "0.834", "0.43"));
    p = made_add(&c, "linear", "ps", 1);
    take(&c, p, *state, 1, TAKEN("0.3", "0", "0.3"));
    assert_told(&c,
                "lenet ps, 2 workers: disturbed in 2 of 3 launches: others used up to 0.83 cores, steal was up to 1.2 "
                "%, together up to 43 % of a launch's cores\n"
                "linear ps, 1 worker: disturbed in 1 of 1 launch: others used up to 0.00 cores, steal was up to 30 %, "
                "together up to 30 % of a launch's cores\n" WHAT_DISTURBED ALL_COUNT);
    campaign_close(&c);
}

/* Off the median of its own point, 2 GHz: by 10 % down, 5.5 % up; 4.5 % are allowed, and what another point has says
 * nothing. */
static void frequencies_differ_within_a_point(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    c.n_launches_wanted = 7;
    struct point *p = made_add(&c, "lenet", "none", 1);
    take(&c, p, *state, 1, AT_HZ("3.0e9"));
    p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, 1, QUIET AT_HZ("2.0e9"));
    take(&c, p, *state, 1, QUIET AT_HZ("1.8e9"));
    take(&c, p, *state, 1, UNKNOWN);
    take(&c, p, *state, 1, TAKEN("0", "0.5", "0.25") AT_HZ("2.11e9"));
    take(&c, p, *state, 1, QUIET AT_HZ("2.09e9"));
    take(&c, p, *state, 1, QUIET AT_HZ("1.91e9"));
    const bool expected[] = { false, true, false, true, false, false };
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(launch_has_mark(p, i, MARK_DISTURBED), expected[i]);
    assert_told(&c,
                "lenet none, 2 workers: disturbed in 2 of 6 launches: others used up to 0.50 cores, steal was up to 0 "
                "%, together up to 25 % of a launch's cores; frequency up to 10 % off the median in "
                "2\n" WHAT_DISTURBED ALL_COUNT);
    campaign_close(&c);
    made_open(&c, *state, NULL, 0, false);
    p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, 1, AT_HZ("1.0e9"));
    take(&c, p, *state, 1, AT_HZ("1.0e9"));
    take(&c, p, *state, 1, AT_HZ("1.2e9"));
    assert_told(&c, "lenet none, 2 workers: disturbed in 1 of 3 launches: frequency up to 20 % off the median in "
                    "1\n" WHAT_DISTURBED ALL_COUNT);
    campaign_close(&c);
}

/* More than a quarter of its launches, and one mark is not the other. */
static void points_are_marked(void **state)
{
    struct launch launch[8] = { { .switched = true }, { .never_settled = true } };
    struct point p = { .launch = launch, .n_launches = 8 };

    (void)state;
    assert_false(point_is_marked(&p, MARK_UNSTEADY) || point_is_doubtful(&p));
    p.n_launches = 7;
    assert_true(point_is_marked(&p, MARK_UNSTEADY) && point_is_doubtful(&p));
    assert_false(point_is_marked(&p, MARK_DISTURBED));
}

static void launches_that_are_not_steady(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "none", 2);
    take(&c, p, *state, 1, STATE("switch"));
    take(&c, p, *state, 1, STATE("not reached"));
    take(&c, p, *state, 1, STATE("switch"));
    p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, 1, STATE("reached"));
    take(&c, p, *state, 1, STATE("not reached"));
    p = made_add(&c, "linear", "ps", 2);
    take(&c, p, *state, 1, STATE("switch"));
    assert_told(&c, "lenet none, 2 workers: unsteady in 3 of 3 launches: the speed switched in 2, never settled in 1\n"
                    "lenet ps, 2 workers: unsteady in 1 of 2 launches: never settled in 1\n"
                    "linear ps, 2 workers: unsteady in 1 of 1 launch: the speed switched in 1\n" ALL_COUNT);
    campaign_close(&c);
}

/* Last words of the row of a mode. */
static void assert_row_ends(const char *text, const char *mode, const char *expected)
{
    const char *row = strstr(text, mode), *end = row ? strchr(row, '\n') : NULL;

    if (!end || end - row < (long)strlen(expected) || strncmp(end - strlen(expected), expected, strlen(expected)) != 0)
        fail_msg("the row of %s does not end with \"%s\" in:\n%s", mode, expected, text);
}

/* A column for each mark that some launch has. */
static void the_table_marks_points(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *none = made_add(&c, "lenet", "none", 2);
    take(&c, none, *state, 1, QUIET STATE("reached"));
    take(&c, none, *state, 1, QUIET STATE("reached"));
    char *text = made_told(&c, table);
    assert_null(strstr(text, "disturbed"));
    assert_null(strstr(text, "unsteady"));
    assert_null(strstr(text, "marked"));
    free(text);
    struct point *ps = made_add(&c, "lenet", "ps", 2);
    take(&c, ps, *state, 1, QUIET STATE("switch"));
    take(&c, ps, *state, 1, QUIET STATE("reached"));
    text = made_told(&c, table);
    assert_null(strstr(text, "disturbed"));
    assert_row_ends(text, "lenet  none", "         -");
    assert_row_ends(text, "lenet  ps", "    1 of 2");
    assert_non_null(strstr(text, "\nlenet ps, 2 workers: unsteady in 1 of 2 launches: the speed switched in 1\n"));
    free(text);
    take(&c, ps, *state, 1, TAKEN("0", "1", "0.5") STATE("reached"));
    text = made_told(&c, table);
    assert_row_ends(text, "model", "disturbed  unsteady");
    assert_row_ends(text, "lenet  none", "        -         -");
    assert_row_ends(text, "lenet  ps", "   1 of 3    1 of 3");
    free(text);
    campaign_close(&c);
}

/* Two points of 4 pairs, of which the second has half the speed, and one launch more, of no pair. */
static char *verdict_on(struct kit *k, const char *const first[4], const char *const second[4])
{
    static const double speed[2][4] = { { 1.00, 1.01, 0.99, 1.01 }, { 0.50, 0.51, 0.49, 0.50 } };
    struct campaign c;

    made_open(&c, k, NULL, 0, false);
    c.n_launches_wanted = 5;
    struct point *p = made_add(&c, "lenet", "none", 2);
    for (int i = 0; i < 4; i++)
        take(&c, p, k, speed[0][i], first[i]);
    p = made_add(&c, "lenet", "allreduce", 2);
    for (int i = 0; i < 4; i++)
        take(&c, p, k, speed[1][i], second[i]);
    take(&c, p, k, 0.50, TAKEN("0", "1", "0.5"));
    char *text = made_told(&c, verdict);
    campaign_close(&c);
    return text;
}

#define BUSY TAKEN("0", "1", "0.5")
#define WITHHELD_RULE                                                                                             \
    "1 verdict is withheld. The rule: more than 25 % of the pairs of runs are disturbed, without a steady state " \
    "or faster than their bound, or a mode is faster than no exchange.\n"
#define CANNOT_TELL "lenet, 2 workers: cannot tell what exchanging gradients costs allreduce: "

/* A quarter of the pairs may be marked: then the verdict says so. With more it is withheld.
 * Regression: with all pairs disturbed a mode that is slower on a quiet machine was called 3.7 times as fast. */
static void verdicts_on_marked_pairs_are_withheld(void **state)
{
    static const struct {
        const char *first[4], *second[4], *text;
    } cases[] = {
        { { QUIET, BUSY, QUIET, QUIET },
          { QUIET, BUSY, QUIET, QUIET STATE("switch") },
          "lenet, 2 workers: allreduce keeps 50 % of the throughput without exchange (95 %: 49 to 51).\n"
          "lenet: of 4 pairs of allreduce (2) and none (2) 1 have launches on a disturbed machine, 1 without a steady "
          "state.\n" },
        { { QUIET, BUSY, QUIET, QUIET },
          { QUIET, QUIET, QUIET, BUSY },
          CANNOT_TELL
          "the machine was disturbed in 2 of 4 pairs of runs. Other programs used up to 1.00 cores.\n" WITHHELD_RULE },
        { { BUSY, BUSY, BUSY, BUSY STATE("switch") },
          { BUSY, BUSY, BUSY STATE("switch"), BUSY },
          CANNOT_TELL
          "the machine was disturbed in 4 of 4 pairs of runs. Other programs used up to 1.00 cores.\n" WITHHELD_RULE },
        { { QUIET, QUIET, QUIET STATE("not reached"), QUIET },
          { QUIET STATE("switch"), QUIET, QUIET, QUIET },
          CANNOT_TELL "no steady state in 2 of 4 pairs of runs.\n" WITHHELD_RULE },
        { { QUIET, QUIET, QUIET, QUIET },
          { QUIET BOUND_LOW("1.2"), QUIET BOUND_LOW("0.9"), QUIET BOUND_LOW("1.1"), QUIET BOUND_LOW("0.9") },
          CANNOT_TELL "a launch is faster than its bound in 2 of 4 pairs.\n" WITHHELD_RULE },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = verdict_on(*state, cases[i].first, cases[i].second);
        assert_string_equal(text, cases[i].text);
        free(text);
    }
}

/* A verdict on one launch each has no pairs. */
static void nothing_is_said_of_single_pairs(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    struct point *p = made_add(&c, "lenet", "ps", 2);
    take(&c, p, *state, 1, TAKEN("0", "1", "0.5"));
    p = made_add(&c, "lenet", "allreduce", 2);
    take(&c, p, *state, 2, QUIET STATE("switch"));
    char *text = made_told(&c, verdict);
    assert_null(strstr(text, "disturbed"));
    assert_null(strstr(text, "steady"));
    free(text);
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(nothing_is_said_of_quiet_launches),     MADE_TEST(by_what_a_point_was_disturbed),
        MADE_TEST(frequencies_differ_within_a_point),     MADE_TEST(points_are_marked),
        MADE_TEST(launches_that_are_not_steady),          MADE_TEST(the_table_marks_points),
        MADE_TEST(verdicts_on_marked_pairs_are_withheld), MADE_TEST(nothing_is_said_of_single_pairs),
    };

    return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
