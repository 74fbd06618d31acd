/* SPDX-License-Identifier: Apache-2.0 */
/* layout_points_test.c - points with layouts: which are comparable, ranks and cores, efficiency, table, charts. */
#include "harness/campaign/suite/charts_test_kit.h"

/* On 2 cores. Efficiency is of ranks: 1000 / (2 x 625), 750 / (2 x 625), 500 / (4 x 625). */
static const struct made_layout LAYOUTS[] = {
    { { "lenet", "single", 1, 0, 3, 625, 1.01, NAN, 1 }, 1, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 1000, 1.01, NAN, 2 }, 1, 1 },
    { { "lenet", "allreduce", 1, 0, 3, 750, 1.01, NAN, 3 }, 2, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 500, 1.01, NAN, 4 }, 2, 1 },
    { { "lenet", "allreduce", 2, 0, 3, 800, 1.01, NAN, 5 }, 1, 2 },
};
enum { N_LAYOUTS = sizeof LAYOUTS / sizeof *LAYOUTS };

static void ranks_and_cores(void **state)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    const struct point *p = c.point;
    const int ranks[N_LAYOUTS] = { 1, 2, 2, 4, 2 };
    for (size_t i = 0; i < N_LAYOUTS; i++) {
        assert_int_equal(point_n_ranks(&p[i]), ranks[i]);
        assert_int_equal(point_n_cores(&p[i]), ranks[i]);
        assert_int_equal(p[i].oversubscribed, ranks[i] > MADE_CORES);
        assert_true(point_has_layout(&p[i]));
        assert_true(point_comparable(&p[i], &p[3]));
        assert_ptr_equal(campaign_find_baseline(&c, &p[i]), &p[0]);
    }
    /* as many workers are not enough: stages and shards are those of the point */
    assert_ptr_equal(campaign_find_like(&c, &p[3], p[3].mode, 2), &p[3]);
    assert_ptr_equal(campaign_find_like(&c, &p[1], p[1].mode, 2), &p[1]);
    assert_null(campaign_find_like(&c, &p[2], p[2].mode, 4));
    /* two servers of each of two stages, three threads */
    struct point servers = p[3];
    servers.n_servers = 2;
    servers.n_threads = 3;
    servers.n_drivers = 1;
    assert_int_equal(point_n_cores(&servers), 3 * 4 + 2 * 2);
    assert_int_equal(point_n_launched_ranks(&servers), 4 + 2 * 2 + 1);
    campaign_close(&c);
}

/* What layouts are measured by: one rank; of a mode that has one worker, or else of one that sums gradients. */
static void the_baseline_is_one_rank(void **state)
{
    static const struct made_layout point[] = {
        { { "lenet", "single", 1, 0, 3, 100, 1.01, NAN, 1 }, 2, 1 },
        { { "lenet", "ps", 1, 1, 3, 100, 1.01, NAN, 2 }, 1, 1 },
        { { "lenet", "allreduce", 1, 0, 3, 100, 1.01, NAN, 3 }, 1, 1 },
        { { "lenet", "allreduce", 2, 0, 3, 100, 1.01, NAN, 4 }, 1, 1 },
        { { "lenet", "single", 1, 0, 3, 100, 1.01, NAN, 5 }, 1, 1 },
    };
    for (size_t n = 3; n <= 5; n++) {
        struct campaign c;
        made_open_layouts(&c, *state, point, n, false);
        assert_ptr_equal(campaign_find_baseline(&c, &c.point[0]), &c.point[n == 5 ? 4 : 2]);
        campaign_close(&c);
    }
    struct campaign c;
    made_open_layouts(&c, *state, point, 2, false);
    assert_null(campaign_find_baseline(&c, &c.point[0]));
    campaign_close(&c);
    /* without layouts one worker of allreduce is no baseline */
    static const struct made_point workers[] = { { "lenet", "allreduce", 1, 0, 3, 100, 1.01, NAN, 1 },
                                                 { "lenet", "allreduce", 2, 0, 3, 100, 1.01, NAN, 2 } };
    made_open(&c, *state, workers, 2, false);
    assert_null(campaign_find_baseline(&c, &c.point[1]));
    campaign_close(&c);
}

/* What the first rank waits for the others of its worker, a tenth of 272 us here, is no computing. */
static void waiting_is_no_computing(void **state)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    const struct launch *plain = &c.point[1].launch[1], *staged = &c.point[2].launch[1];
    assert_true(fabs(plain->compute_s - 102e-6) < 1e-12 && fabs(plain->wait_s - 22e-6) < 1e-12);
    assert_true(fabs(staged->step_mean_s - 272e-6) < 1e-12);
    assert_true(fabs(staged->compute_s - (103e-6 - 27.2e-6)) < 1e-12);
    assert_true(fabs(staged->wait_s - (23e-6 + 27.2e-6)) < 1e-12);
    campaign_close(&c);
}

/* Intervals: as in verdict_test.c, 1.04374 times. */
static const char TABLE[] =
    "model mode workers layout cores samples/s 95 % interval efficiency of bound loss accuracy after to target in "
    "staleness\n"
    "- - - - - - - - - - - - - - -\n"
    "lenet single 1 1x1x1 1 625 609.7 .. 640.6 1.000 51.0 % (49.8 .. 52.3) 0.3583 61.00 % 96 - - -\n"
    "lenet allreduce 2 2x1x1 2 1 k 975.6 .. 1.025 k 0.800 (0.766 .. 0.835) 52.0 % (50.7 .. 53.3) 0.3937 62.00 % 192 - "
    "- "
    "-\n"
    "lenet allreduce 1 1x2x1 2 750 731.7 .. 768.8 0.600 (0.575 .. 0.626) 53.0 % (51.7 .. 54.3) 0.1194 63.00 % 96 - - "
    "-\n"
    "lenet allreduce 2* 2x2x1 4 500 487.8 .. 512.5 0.200 (0.200 .. 0.200) 54.0 % (52.7 .. 55.4) 0.1969 64.00 % 192 - - "
    "-\n"
    "lenet allreduce 2 2x1x2 2 800 780.5 .. 820 0.640 (0.613 .. 0.668) 55.0 % (53.7 .. 56.4) 0.1575 65.00 % 192 - - "
    "-\n";

static void a_column_of_layouts(void **state)
{
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    char *text = made_text(&c, campaign_print);
    made_squeeze(text);
    assert_true(strncmp(text, TABLE, strlen(TABLE)) == 0);
    assert_int_equal(text[strlen(TABLE)], '\n');
    assert_non_null(strstr(text, "lenet allreduce 1 1x2x1 272 ±338 76 ±94 50 ±62 33 ±41 - 53 ±66 60 ±75\n"));
    assert_non_null(strstr(text, "throughput / (ranks x throughput of one rank alone), with"));
    assert_non_null(strstr(text, "layout: workers x stages of each x shards of the dense layers."));
    free(text);
    campaign_close(&c);
}

static void names_of_points(void **state)
{
    char name[LAUNCH_NAME_BYTES], layout[LAYOUT_NAME_BYTES];
    struct campaign c;

    made_open_layouts(&c, *state, LAYOUTS, N_LAYOUTS, false);
    point_name(name, sizeof name, &c.point[3]);
    assert_string_equal(name, "lenet allreduce, layout 2x2x1");
    point_setting(name, sizeof name, &c.point[3], ", ", " ");
    assert_string_equal(name, "lenet");
    assert_null(campaign_other_option(&c, 0));
    point_layout_name(layout, &c, &c.point[3]); /* one rank alone, of another mode, makes no difference */
    assert_string_equal(layout, "2x2x1");
    c.point[1].mode = c.point[0].mode;
    point_layout_name(layout, &c, &c.point[3]);
    assert_string_equal(layout, "allreduce:2x2x1");
    campaign_close(&c);
}

/* One set of tables for all layouts: none of workers, one of layouts. */
static void sheets_of_layouts(void **state)
{
    static const char expected[] =
        "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed\tlaunch_0\tlaunch_1\tlaunch_2\n"
        "1x1x1\tdata\t1\t625\t610\t641\t1.00\t0\n2x1x1\tdata\t2\t1000\t976\t1025\t0.80\t0\n"
        "1x2x1\tstages\t2\t750\t732\t769\t0.60\t0\n2x2x1\tstages\t4\t500\t488\t513\t0.20\t1\n"
        "2x1x2\tshards\t2\t800\t780\t820\t0.64\t0\n";
    struct kit *k = *state;
    struct campaign c;
    char text[2000] = "", line[300];

    made_open_layouts(&c, k, LAYOUTS, N_LAYOUTS, false);
    assert_int_equal(draw(k, &c, true), RC_OK);
    FILE *from = fopen(kit_path(k, "layouts-lenet.tsv"), "r");
    assert_non_null(from);
    assert_non_null(fgets(line, sizeof line, from));
    snprintf(text, sizeof text, "%s", line);
    while (fgets(line, sizeof line, from)) {
        char layout[32], kind[32];
        double mean, low, high, efficiency, launch[3];
        int n_ranks, oversubscribed;
        assert_int_equal(sscanf(line, "%31s %31s %d %lf %lf %lf %lf %d %lf %lf %lf", layout, kind, &n_ranks, &mean,
                                &low, &high, &efficiency, &oversubscribed, &launch[0], &launch[1], &launch[2]),
                         11);
        assert_true(fabs(launch[0] * launch[1] * launch[2] / (mean * mean * mean) - 1) < 1e-9);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s\t%s\t%d\t%.0f\t%.0f\t%.0f\t%.2f\t%d\n", layout,
                 kind, n_ranks, mean, low, high, efficiency, oversubscribed);
    }
    fclose(from);
    assert_string_equal(text, expected);
    assert_non_null(strstr(kit_read(k, "calls"), "layouts.gp layouts-lenet.tsv svg"));
    assert_null(kit_read(k, "throughput-lenet.tsv"));
    assert_null(kit_read(k, "efficiency-lenet.tsv"));
    assert_non_null(strstr(kit_read(k, "cost-lenet.tsv"), "\nallreduce\t2x2x1\t"));
    assert_non_null(strstr(kit_read(k, "bound-lenet.tsv"), "\nallreduce\t2x1x2\t"));
    assert_non_null(strstr(kit_read(k, "loss-lenet.tsv"), "\n1x2x1\t1\tseconds\t"));
    campaign_close(&c);
}

static void no_layouts(void **state)
{
    static const char *const option[] = { "stages", "shard-dense" };
    static const char *const value[] = { "0", "two", "70000", "-1" };
    struct campaign c = { .n_launches_wanted = 1 };

    (void)state;
    for (size_t i = 0; i < sizeof option / sizeof *option; i++)
        for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
            struct assignment a[MADE_ASSIGNMENTS + 1];
            struct point *p;
            char expected[64];
            made_assignments(a, "lenet", "allreduce", 2);
            made_assign(&a[MADE_ASSIGNMENTS], option[i], value[k]);
            snprintf(expected, sizeof expected, "--%s %s: not a number from 1 to 65536", option[i], value[k]);
            assert_int_equal(campaign_add(&c, a, MADE_ASSIGNMENTS + 1, &p), RC_INVAL);
            assert_string_equal(rc_message(), expected);
        }
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(ranks_and_cores),     MADE_TEST(the_baseline_is_one_rank), MADE_TEST(waiting_is_no_computing),
        MADE_TEST(a_column_of_layouts), MADE_TEST(names_of_points),          MADE_TEST(sheets_of_layouts),
        MADE_TEST(no_layouts),
    };

    return cmocka_run_group_tests_name("layout_points", tests, NULL, NULL);
}
