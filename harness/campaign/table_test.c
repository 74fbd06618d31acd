/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_test.c - the table of campaigns whose every figure was worked out by hand; intervals as in verdict_test.c.
 */
#include "harness/campaign/suite/campaign_test_kit.h"

/* Every other figure is 0.5, 1 and 1.5 times its mean: half of its interval is 4.30265 / root 12, 1.24207, times that.
 */
/* Losses are of 96 samples: between 86.4 and 96 of them, on average that at 91.2. Of one worker (32, 64, 96: 1, 1/2,
 * 1/3, over the unit) 0.358333, of two (64, 128: 1, 1/2) 0.7875; of four the first round is behind. */
static const char TABLE[] =
    "model mode workers cores samples/s 95 % interval efficiency\n"
    "- - - - - - -\n"
    "lenet none 2 2 2.5 k 2.439 k .. 2.563 k 1.000 (0.567 .. 1.763)\n"
    "lenet single 1 1 1.25 k 718.1 .. 2.176 k 1.000\n"
    "lenet ps 2+ 3 1.8 k 1.756 k .. 1.845 k 0.720 (0.408 .. 1.269)\n"
    "lenet ps 4* 5 1.625 k 1.585 k .. 1.666 k 0.325 (0.184 .. 0.573)\n"
    "lenet allreduce 2 2 2.125 k 2.073 k .. 2.178 k 0.850 (0.501 .. 1.444)\n"
    "- - - - - - -\n"
    "linear single 1 1 4 M 3.902 M .. 4.1 M 1.000\n"
    "linear ps 2+ 3 - - -\n"
    "linear allreduce 2 2 6 M 5.4 M .. 7.2 M 0.750\n"
    "\n"
    "model mode workers of bound loss accuracy samples time to target\n"
    "- - - - - - - -\n"
    "lenet none 2 51.0 % (49.8 .. 52.3) 0.7875 61.00 % 192 -\n"
    "lenet single 1 52.0 % (29.9 .. 90.5) 0.1792 62.00 % 96 8.13 s\n"
    "lenet ps 2+ 53.0 % (51.7 .. 54.3) 0.2625 63.00 % 192 5 s\n"
    "lenet ps 4* 54.0 % (52.7 .. 55.4) - 64.00 % 384 4 s\n"
    "lenet allreduce 2 55.0 % (53.7 .. 56.4) 0.1575 65.00 % 192 6 s\n"
    "- - - - - - - -\n"
    "linear single 1 56.0 % (54.6 .. 57.4) 0.0597 66.00 % 96 -\n"
    "linear ps 2+ 57.0 % (55.6 .. 58.4) 0.1125 67.00 % 192 -\n"
    "linear allreduce 2 58.0 % (52.2 .. 69.6) 0.0984 34.00 % 192 0.5 s\n"
    "\n"
    "model mode workers samples to target staleness\n"
    "- - - - -\n"
    "lenet none 2 - -\n"
    "lenet single 1 10 k -\n"
    "lenet ps 2+ 9 k 1.30\n"
    "lenet ps 4* 6.5 k 1.40\n"
    "lenet allreduce 2 12.75 k -\n"
    "- - - - -\n"
    "linear single 1 - -\n"
    "linear ps 2+ - 1.70\n"
    "linear allreduce 2 3 M -\n"
    "\n"
    "model mode workers step us compute wait wire server apply rest\n"
    "- - - - - - - - - -\n"
    "lenet none 2 264 ±328 101 ±125 21 ±26 31 ±39 - 51 ±63 60 ±75\n"
    "lenet single 1 268 ±333 102 ±127 22 ±27 32 ±40 - 52 ±65 60 ±75\n"
    "lenet ps 2+ 315 ±391 103 ±128 23 ±29 33 ±41 43 ±53 53 ±66 60 ±75\n"
    "lenet ps 4* 320 ±397 104 ±129 24 ±30 34 ±42 44 ±55 54 ±67 60 ±75\n"
    "lenet allreduce 2 280 ±348 105 ±130 25 ±31 35 ±43 - 55 ±68 60 ±75\n"
    "- - - - - - - - - -\n"
    "linear single 1 284 ±353 106 ±132 26 ±32 36 ±45 - 56 ±70 60 ±75\n"
    "linear ps 2+ 335 ±416 107 ±133 27 ±34 37 ±46 47 ±58 57 ±71 60 ±75\n"
    "linear allreduce 2 146 54 14 19 - 29 30\n"
    "\n95 % interval: from all runs of a setting; of efficiency: from pairs of runs in the same round.\n"
    "efficiency: throughput / (workers x throughput of single).\n"
    "weak scaling: the batch of each worker stays the same.\n"
    "of bound: throughput / what the slowest of compute, wire and server allows.\n"
    "accuracy: of the test images, at the end of a run; samples: of all workers, until then.\n"
    "time to target: seconds until the target loss; samples to target: of all workers, until then.\n"
    "staleness: updates by other workers between a pull and its push.\n"
    "step us: mean step of a worker, in microseconds: the sum of the columns after it.\n"
    "rest: time of a step that no other column has.\n"
    "cores: one for each thread of a worker, and for each server.\n"
    "loss: mean over the last tenth of the first N samples of all workers; N: 96 (lenet); 96 (linear)\n"
    "a setting with one run: its interval is within that run; efficiency and step have none.\n"
    "* more threads of workers than cores\n"
    "+ the server shares the workers' cores\n";

KIT_TEST(every_figure_of_the_table)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    char *text = made_text(&c, campaign_print);
    made_squeeze(text);
    assert_string_equal(text, TABLE);
    free(text);
    campaign_close(&c);
}

/* The same campaign in the table that compare prints, with a tuned rate, a target that one missed, a failed bound
 * and a failed launch. Half of single's interval (718.1 .. 2176) is 58 % of 1250, of ps 2's (1756 .. 1845) 2.5 %. */
static const char SHORT_TABLE[] = "model mode workers lr samples/s 95 % CI efficiency of bound time to target marks\n"
                                  "- - - - - - - - - -\n"
                                  "lenet none 2 - 2.5 k ±2.5 % 1.00 51 % -\n"
                                  "lenet single 1 - 1.25 k ±58 % 1.00 52 % 8.13 s\n"
                                  "lenet ps 2+ 0.025 1.8 k ±2.5 % 0.72 53 % 2 of 3 runs +\n"
                                  "lenet ps 4* - 1.625 k ±2.5 % 0.33 54 % 4 s *\n"
                                  "lenet allreduce 2 - 2.125 k ±2.5 % 0.85 failed 6 s f\n"
                                  "- - - - - - - - - -\n"
                                  "linear single 1 - 4 M ±2.5 % 1.00 56 % -\n"
                                  "linear ps 2+ - - - - 57 % - +s\n"
                                  "linear allreduce 2 - 6 M ±15 % 0.75 58 % 0.5 s\n";

static enum rc print_short(const struct campaign *c, FILE *to)
{
    return campaign_print_short(c, made_show_whole, to);
}

KIT_TEST(every_figure_of_the_short_table)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    c.point[2].tuned_lr = 0.025;
    c.point[2].launch[1].seconds_to_target_s = NAN;
    c.point[4].launch[0].bound_ratio = 1.01;
    c.point[4].n_failures = 1;
    char *text = made_text(&c, print_short);
    made_squeeze(text);
    assert_string_equal(text, SHORT_TABLE);
    free(text);
    campaign_close(&c);
}

/* Of a failed bound there is no figure, and none of the launches beside it whose bound held; a launch at exactly its
 * bound holds. */
KIT_TEST(failed_bounds_are_counted)
{
    static const struct made_point point[] = { { "lenet", "none", 2, 0, 3, 2500, 1.25, NAN, 42 },
                                               { "lenet", "single", 1, 0, 3, 1250, 1.25, NAN, 2 } };
    static const char note[] = "\nof bound, failed: runs that were faster than the bound. Then no mean is shown.\n";
    struct campaign c;

    made_open(&c, *state, point, 2, false); /* 92 % x 0.8, 1, 1.25; 52 % */
    assert_int_equal(point_n_failed_bounds(&c.point[0]), 1);
    assert_int_equal(point_n_failed_bounds(&c.point[1]), 0);
    assert_true(isnan(point_bound(&c.point[0]).mean));
    assert_true(fabs(point_bound(&c.point[1]).mean - 0.52) < 1e-12);
    char *text = made_text(&c, campaign_print);
    made_squeeze(text);
    assert_non_null(strstr(text, " 1 of 3 failed 0.018"));
    assert_non_null(strstr(text, " 52.0 % (29.9 .. 90.5) "));
    assert_non_null(strstr(text, note));
    free(text);
    for (size_t i = 0; i < 3; i++)
        c.point[0].launch[i].bound_ratio = 1;
    text = made_text(&c, campaign_print);
    assert_null(strstr(text, "failed"));
    free(text);
    campaign_close(&c);
}

/* The notes on * and + are there where a point has the mark, and that on cores is true of servers beside workers. */
KIT_TEST(notes_of_marks)
{
    static const struct made_point point[] = { { "lenet", "ps", 1, 1, 1, 10, 1, NAN, 1 },
                                               { "lenet", "none", 4, 0, 1, 10, 1, NAN, 2 } };
    struct campaign c;

    made_open(&c, *state, point, 1, false);
    char *text = made_text(&c, campaign_print);
    assert_null(strchr(text, '*'));
    assert_null(strchr(text, '+'));
    free(text);
    campaign_close(&c);
    made_open(&c, *state, point + 1, 1, false);
    text = made_text(&c, campaign_print);
    assert_non_null(strstr(text, "\n* more threads of workers than cores\n"));
    assert_non_null(strstr(text, "one for each thread of a worker, and for each server.\n"));
    assert_null(strchr(text, '+'));
    free(text);
    c.point[0].servers_beside = true;
    text = made_text(&c, campaign_print);
    assert_non_null(strstr(text, "one for each thread of a worker, and for each server on a host without workers.\n"));
    free(text);
    campaign_close(&c);
}

/* Tuned rates have a column; of a target that some launches did not reach, how many did is there. */
KIT_TEST(rates_that_were_tuned)
{
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    c.point[2].tuned_lr = 0.025;
    c.point[2].launch[1].seconds_to_target_s = NAN;
    c.point[2].launch[1].samples_to_target_count = NAN;
    char *text = made_text(&c, made_print_whole);
    made_squeeze(text);
    assert_non_null(strstr(text, "model mode workers lr cores samples/s "));
    assert_non_null(strstr(text, "\nlenet single 1 - 1 1.25 k "));
    assert_non_null(strstr(text, "\nlenet ps 2+ 0.025 3 1.8 k "));
    assert_non_null(strstr(text, " 63.00 % 192 2 of 3 - 1.30\n"));
    free(text);
    campaign_close(&c);
}

/* Why a column is empty is said where some point has no single to be measured by. */
KIT_TEST(what_efficiency_needs)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 1, 10, 1, NAN, 1 },
                                               { "lenet", "none", 2, 0, 1, 10, 1, NAN, 2 },
                                               { "linear", "none", 2, 0, 1, 10, 1, NAN, 3 } };

    for (size_t n_points = 1; n_points <= 3; n_points++) {
        struct campaign c;
        made_open(&c, *state, point, n_points, false);
        char *text = made_text(&c, campaign_print);
        const bool is_said =
            strstr(text, "\nefficiency is missing where single with 1 worker did not run: it is relative to that.\n") !=
            NULL;
        assert_int_equal(is_said, n_points == 3);
        free(text);
        campaign_close(&c);
    }
}

/* Four significant digits, and what a rate below 1 looks like. */
KIT_TEST(rates_have_a_prefix)
{
    static const struct {
        double per_s;
        const char *cells;
    } rate[] = { { 0.25, " 0.25 0.225 .. 0.3 " },    { 999.9, " 999.9 899.9 .. 1.2 k " },
                 { 999.9999, " 1 k 900 .. 1.2 k " }, { 999999.9, " 1 M 900 k .. 1.2 M " },
                 { 1e3, " 1 k 900 .. 1.2 k " },      { 1234567, " 1.235 M 1.111 M .. 1.481 M " },
                 { 2.5e9, " 2.5 G 2.25 G .. 3 G " } };
    struct campaign c;

    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++) {
        const struct made_point point = { "linear", "single", 1, 0, 1, rate[i].per_s, 1, NAN, 1 };
        made_open(&c, *state, &point, 1, false);
        char *text = made_text(&c, campaign_print);
        made_squeeze(text);
        if (!strstr(text, rate[i].cells))
            fail_msg("%g samples/s:\n%s", rate[i].per_s, text);
        free(text);
        campaign_close(&c);
    }
}

/* "104.2 ±3.1": as many digits as the interval is worth; equal launches; launches of seconds a step. */
KIT_TEST(parts_have_digits)
{
    static const struct {
        double us[3];
        const char *cell;
    } step[] = { { { 103, 104, 105 }, " 104.0 ±2.5 " },     { { 100, 104, 108 }, " 104.0 ±9.9 " },
                 { { 99, 104, 109 }, " 104 ±12 " },         { { 104, 104, 104 }, " 104 101 " },
                 { { 0.09, 0.1, 0.11 }, " 0.100 ±0.025 " }, { { 2.3e6, 2.4e6, 2.5e6 }, " 2400000 ±248414 " } };

    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        const struct made_point point = { "linear", "single", 1, 0, 3, 1000, 1.01, NAN, 1 };
        struct campaign c;
        made_open(&c, *state, &point, 1, false);
        for (int launch = 0; launch < 3; launch++)
            c.point[0].launch[launch].step_mean_s = 1e-6 * step[i].us[launch];
        char *text = made_text(&c, campaign_print);
        made_squeeze(text);
        if (!strstr(text, step[i].cell))
            fail_msg("%g us:\n%s", step[i].us[1], text);
        free(text);
        campaign_close(&c);
    }
}

/* In sim there is one launch, and why it has no interval is said. */
KIT_TEST(simulated_launches_need_no_interval)
{
    static const struct made_point point[] = { { "lenet", "single", 1, 0, 1, 1000, 1, NAN, 40 },
                                               { "lenet", "none", 2, 0, 1, 1500, 1, NAN, 2000 } };
    struct campaign c;

    made_open(&c, *state, point, 2, true);
    c.point[1].launch[0].step_mean_s = 0.0123456;
    char *text = made_text(&c, made_print_whole);
    made_squeeze(text);
    assert_non_null(strstr(text, "lenet none 2 2 1.5 k 1.35 k .. 1.8 k 0.750 1 of 1 failed "));
    assert_non_null(strstr(text, "lenet none 2 12346 1050 1010 1015 - 1025 30\n"));
    assert_non_null(strstr(text, "\nsimulated runs are equal: efficiency and step are exact, the interval is "
                                 "within one run.\n"));
    assert_null(strstr(text, "one run:"));
    assert_null(strstr(text, "±"));
    free(text);
    campaign_close(&c);
}

/* Above the table; nothing where points exchange by default. */
KIT_TEST(how_points_exchange)
{
    static const char above[] = "exchange: bucket-bytes 8192, overlap on\n\nmodel ";
    struct campaign c;

    made_open(&c, *state, MADE_CAMPAIGN, MADE_POINTS, false);
    snprintf(c.exchange, sizeof c.exchange, "bucket-bytes 8192, overlap on");
    char *text = made_text(&c, campaign_print);
    assert_int_equal(strncmp(text, above, sizeof above - 1), 0);
    free(text);
    campaign_close(&c);
}

UNIT_MAIN("table")
