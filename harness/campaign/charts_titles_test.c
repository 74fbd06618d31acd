/* SPDX-License-Identifier: Apache-2.0 */
/* charts_titles_test.c - what gnuplot is asked to draw, under which titles. */
#include <sys/utsname.h>

#include "harness/campaign/suite/charts_test_kit.h"
#include "harness/world/cores.h"

/* Each sheet by the script of its name, with what the title tells. */
static void gnuplot_is_asked_for_each_sheet(void **state)
{
    static const char *const script[] = { "throughput", "efficiency", "loss", "cost" };
    static const char *const model[] = { "lenet", "linear" };
    static const char *const format[] = { "svg", "png" };
    struct kit *k = *state;
    struct utsname about;
    struct campaign c;
    char line[400];

    made_open(&c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    snprintf(c.exchange, sizeof c.exchange, "overlap on");
    assert_int_equal(draw(k, &c, true), RC_OK);
    assert_int_equal(uname(&about), 0);
    const char *calls = kit_read(k, "calls");
    assert_non_null(calls);
    for (int s = 0; s < 4; s++)
        for (int m = 0; m < 2; m++)
            for (int f = 0; f < 2; f++) {
                snprintf(line, sizeof line,
                         "%s.gp %s-%s.tsv %s .%s-%s.%s.part|%s|weak scaling: batch 32 per worker|%d cores, "
                         "%s|%s|overlap on\n",
                         script[s], script[s], model[m], format[f], script[s], model[m], format[f], model[m],
                         cores_allowed_count(), about.machine, m == 0 ? "3" : "1 to 3");
                if (!strstr(calls, line))
                    fail_msg("expected: %sgnuplot was called:\n%s", line, calls);
            }
    assert_int_equal(n_lines(calls), 4 * 2 * 2);
    assert_non_null(kit_read(k, "cost-linear.svg"));
    assert_non_null(kit_read(k, "cost-linear.png"));
    campaign_close(&c);
}

/* Titles tell of the points that were launched: the first of the table may be one that never was. */
static void titles_tell_of_what_was_launched(void **state)
{
    static const struct made_point point[] = {
        { "lenet", "single", 1, 0, 0, 1000, 1, NAN, 1 },
        { "lenet", "allreduce", 2, 0, 2, 1000, 1, NAN, 2 },
        { "lenet", "ps", 2, 1, 2, 1000, 1, NAN, 3 },
    };
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, point, 3, false);
    campaign_set_data(&c, "/home/me/shards-g1/");
    c.point[1].batch_per_worker_count = 16;
    c.point[1].global_batch_count = 32;
    assert_int_equal(draw(k, &c, true), RC_OK);
    const char *calls = kit_read(k, "calls"), *svg = strstr(calls, "throughput-lenet.tsv svg ");
    assert_non_null(svg);
    assert_non_null(strstr(svg, "|lenet, data shards-g1|strong scaling: batch 32 of all workers|"));
    assert_int_equal(strncmp(strchr(svg, '\n') - 3, "|2|", 3), 0);
    campaign_close(&c);
}

/* A chart goes without the text beside it: that the machine was disturbed is on it, of its own setting. */
static void titles_tell_of_disturbed_launches(void **state)
{
    struct kit *k = *state;
    struct campaign c;

    made_open(&c, k, MADE_CAMPAIGN, MADE_POINTS, false);
    for (size_t i = 0; i < 2; i++) /* of lenet, which has 15 */
        c.point[i].launch[i].was_disturbed = true;
    assert_int_equal(draw(k, &c, true), RC_OK);
    const char *calls = kit_read(k, "calls");
    assert_non_null(calls);
    const char *lenet = strstr(calls, "cost-lenet.tsv png "), *linear = strstr(calls, "cost-linear.tsv png ");
    assert_non_null(lenet);
    assert_non_null(linear);
    const char *told = strstr(lenet, "  ·  2 of 15 launches disturbed|");
    assert_true(told && told < strchr(lenet, '\n'));
    told = strstr(linear, " disturbed|");
    assert_true(!told || told > strchr(linear, '\n'));
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(gnuplot_is_asked_for_each_sheet),
        MADE_TEST(titles_tell_of_what_was_launched),
        MADE_TEST(titles_tell_of_disturbed_launches),
    };

    return cmocka_run_group_tests_name("charts_titles", tests, NULL, NULL);
}
