/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart_values_test.c - what is drawn where: points, bars and lines of small tables are looked for in the SVG, at the
 * places that the labels of the ticks give them, in the colour of their mode.
 */
#include "harness/report/suite/svg_kit.h"

enum { APART_PX = 17 }; /* points of different modes at one worker count stand side by side */

#define SCALING_HEAD "mode\tworkers\tmean\tlow\thigh\toversubscribed"
#define SCALING SCALING_HEAD "\n"

static const struct scaling_row {
    const char *colour;
    double n_workers, mean, low, high;
} ROWS[] = {
    { BLACK, 1, 1000, 900, 1150 },   { ORANGE, 1, 800, 720, 950 },  { ORANGE, 2, 1500, 1400, 1650 },
    { ORANGE, 4, 1800, 1700, 1980 }, { BLUE, 2, 1750, 1640, 1880 },
};

static void check_scaling(const char *svg, const struct axis *x, const struct axis *y, double unit, const char *note)
{
    const char *p = plots(svg);

    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const double at = place(x, ROWS[i].n_workers);
        has_mark(p, ROWS[i].colour, at, place(y, ROWS[i].mean / unit), APART_PX);
        has_corner(p, ROWS[i].colour, at, place(y, ROWS[i].mean / unit), APART_PX, 2);
        has_corner(p, ROWS[i].colour, at, place(y, ROWS[i].low / unit), APART_PX, 2);
        has_corner(p, ROWS[i].colour, at, place(y, ROWS[i].high / unit), APART_PX, 2);
    }
    assert_int_equal(count_marks(p, WHITE, NAN, NAN, 0, NULL), 1); /* hollow: the one with too few cores */
    has_mark(p, WHITE, place(x, 4), place(y, 1800 / unit), APART_PX);
    legend_has_point(svg, "single", BLACK);
    legend_has_point(svg, "ps", ORANGE);
    legend_has_point(svg, "allreduce", BLUE);
    has_text(svg, note);
}

/* Every corner of the lines of a colour is on the straight line between two places. */
static void is_straight(const char *svg, const char *colour, double x0, double y0, double x1, double y1)
{
    int n_corners = 0;

    for (const char *at = svg; (at = strstr(at, "<path stroke='")) != NULL; at++) {
        const char *end = strstr(at, "'/>"), *corner = strstr(at, " d='");
        if (strncmp(at + 14, colour, strlen(colour)) != 0 || !end || !corner)
            continue;
        for (corner += 4; (corner = strpbrk(corner, "ML")) != NULL && corner < end; corner++, n_corners++) {
            double x, y;
            assert_int_equal(sscanf(corner + 1, "%lf,%lf", &x, &y), 2);
            if (fabs(y0 + (x - x0) * (y1 - y0) / (x1 - x0) - y) > 1)
                fail_msg("the line is bent at %.1f, %.1f", x, y);
        }
    }
    assert_true(n_corners >= 2);
}

/* Column i of a table's launches: of single 0.93 x 1.01^i, and so on, and where a mode's dots are. */
static void has_dots(const char *svg, const struct axis *x, const struct axis *y)
{
    static const struct {
        const char *colour;
        double n_workers, of_modes, samples_per_s; /* of_modes: from the middle one of three */
    } DOTS[] = { { BLACK, 1, -1, 9300 }, { BLACK, 1, -1, 10700 }, { BLACK, 1, -1, 10050 },
                 { ORANGE, 1, 0, 7700 }, { ORANGE, 4, 0, 15000 }, { ORANGE, 4, 0, 21000 },
                 { BLUE, 2, 1, 17200 },  { BLUE, 2, 1, 17800 },   { BLUE, 2, 1, 17550 } };
    double mean_scale = NAN, scale = NAN;

    assert_int_equal(count_marks(svg, BLUE, place(x, 2 * pow(4, 0.012)), place(y, 17.5), 1, &mean_scale), 1);
    for (size_t i = 0; i < sizeof DOTS / sizeof *DOTS; i++) {
        const double at = place(x, DOTS[i].n_workers * pow(4, 0.012 * (DOTS[i].of_modes + 0.45)));
        if (count_marks(svg, DOTS[i].colour, at, place(y, DOTS[i].samples_per_s / 1000), 1, &scale) == 0)
            fail_msg("no dot at %g, %g", DOTS[i].n_workers, DOTS[i].samples_per_s);
        if (DOTS[i].samples_per_s != 17550) /* which is beside the mean */
            assert_true(scale < 0.5 * mean_scale);
    }
    assert_int_equal(count_marks(svg, BLUE, NAN, NAN, 0, NULL), 1 + 3); /* no more: a nan has no dot */
    assert_int_equal(count_marks(svg, ORANGE, NAN, NAN, 0, NULL), 3 + 1 + 3 + 2);
}

#define LAUNCHES SCALING_HEAD "\tlaunch_0\tlaunch_1\tlaunch_2\n"
#define THROUGHPUTS /* cores are no launch of 1 sample/s */                  \
    SCALING_HEAD "\tcores\tlaunch_0\tlaunch_1\tlaunch_2\n"                   \
                 "single\t1\t10000\t9000\t11500\t0\t1\t9300\t10700\t10050\n" \
                 "ps\t1\t8000\t7200\t9500\t0\t2\t7700\tnan\tnan\n"           \
                 "ps\t2\t15000\t14000\t16500\t0\t3\t14500\t15500\t15200\n"   \
                 "ps\t4\t18000\t17000\t19800\t1\t5\t15000\t21000\tnan\n"     \
                 "allreduce\t2\t17500\t16400\t18800\t0\t2\t17200\t17800\t17550\n"

KIT_TEST(throughput)
{
    const char *svg = drawn(*state, "throughput", THROUGHPUTS);
    const struct axis x = axis_of(svg, false, "1", "4", true), y = axis_of(svg, true, "10", "20", true);
    char dashes[3][40];

    has_text(svg, "throughput (thousand samples/s, logarithmic)");
    has_text(svg, "workers");
    check_scaling(svg, &x, &y, 100,
                  "batch 32 per worker  ·  a machine  ·  overlap on  ·  geometric mean of 3 launches, 95 % interval");
    has_dots(plots(svg), &x, &y);
    legend_has_point(svg, "dots: launches", "rgb( 96,  96,  96)");
    legend_has_point(svg, "hollow: more workers than cores", WHITE);
    assert_string_not_equal(dashes_of(plots(svg), ORANGE, dashes[0]), dashes_of(plots(svg), BLUE, dashes[1]));
    assert_string_not_equal(dashes[0], dashes_of(plots(svg), GREY, dashes[2])); /* of the ideal */
    assert_string_not_equal(dashes[1], dashes[2]);
}

/* 10 thousand samples/s a worker: a straight line through all worker counts. */
KIT_TEST(ideal_is_straight)
{
    const char *svg = drawn(*state, "throughput", THROUGHPUTS);
    const struct axis x = axis_of(svg, false, "1", "4", true), y = axis_of(svg, true, "10", "20", true);

    is_straight(plots(svg), GREY, place(&x, 1), place(&y, 10), place(&x, 4), place(&y, 40));
    has_corner(plots(svg), GREY, place(&x, 2), place(&y, 20), 15, 8);
}

/* A table of single launches: the cores that it ends with are no launch. */
KIT_TEST(cores_of_single_launches)
{
    const char *svg = drawn(*state, "throughput", SCALING_HEAD "\tcores\nsingle\t1\t10000\t9000\t11500\t0\t1\n");

    assert_int_equal(count_marks(plots(svg), BLACK, NAN, NAN, 0, NULL), 1);
    assert_true(has_no_text(svg, "dots"));
}

/* As campaigns left them before: no dots, and nothing is said of them. */
KIT_TEST(tables_without_launches)
{
    const char *svg =
        drawn(*state, "throughput", SCALING "single\t1\t10000\t9000\t11500\t0\nps\t2\t800\t720\t950\t0\n");
    const struct axis x = axis_of(svg, false, "1", "2", true), y = axis_of(svg, true, "1", "10", true);

    has_mark(plots(svg), BLACK, place(&x, 1), place(&y, 10), APART_PX);
    has_mark(plots(svg), ORANGE, place(&x, 2), place(&y, 0.8), APART_PX);
    has_corner(plots(svg), ORANGE, place(&x, 2), place(&y, 0.72), APART_PX, 2);
    assert_int_equal(count_marks(plots(svg), ORANGE, NAN, NAN, 0, NULL), 1);
    assert_true(has_no_text(svg, "dots"));
    has_text(svg, "batch 32 per worker  ·  a machine  ·  overlap on  ·  mean of 3 launches, 95 % interval");
}

/* The same figures as ratios: no unit is cut off, and the line that they are compared with is 1. */
KIT_TEST(efficiency)
{
    const char *svg =
        drawn(*state, "efficiency",
              LAUNCHES "single\t1\t1\t0.9\t1.15\t0\tnan\tnan\tnan\nps\t1\t0.8\t0.72\t0.95\t0\t0.7\t0.85\t0.9\n"
                       "ps\t2\t1.5\t1.4\t1.65\t0\t1.5\t1.5\t1.5\nps\t4\t1.8\t1.7\t1.98\t1\t1.7\t1.9\t1.8\n"
                       "allreduce\t2\t1.75\t1.64\t1.88\t0\t1.3\t1.75\t2.2\n");
    const struct axis x = axis_of(svg, false, "1", "4", true), y = axis_of(svg, true, "0.5", "1", false);

    has_text(svg, "efficiency (ratio)");
    check_scaling(svg, &x, &y, 1000,
                  "batch 32 per worker  ·  a machine  ·  overlap on  ·  geometric mean of 3 pairs of launches, 95 % "
                  "interval");
    has_corner(plots(svg), GREY, place(&x, 2), place(&y, 1), 15, 2);
    has_mark(plots(svg), BLUE, place(&x, 2 * pow(4, 0.012 * 1.45)), place(&y, 2.2), 1); /* on the scale */
    assert_int_equal(count_marks(plots(svg), BLACK, NAN, NAN, 0, NULL), 1);
    has_text(svg, "dots: pairs");
}

/* An interval that ends far above all means does not flatten them. */
KIT_TEST(efficiency_of_disturbed_launches)
{
    const char *svg = drawn(*state, "efficiency",
                            LAUNCHES "single\t1\t1\t0.9\t1.15\t0\tnan\tnan\tnan\n"
                                     "ps\t2\t0.8\t0.1\t8\t0\tnan\tnan\tnan\n");

    assert_non_null(strstr(svg, "an interval ends above the chart"));
    axis_of(svg, true, "0", "2", false);
    assert_true(has_no_text(svg, "> 8<"));
}

/* A table as campaigns left them before, of two modes whose seconds and samples are far apart, in units of both. */
static void check_loss(struct kit *k, double second, double thousand, const char *s_label, const char *n_label)
{
    static const double single[][3] = { { 1, 100, 2 }, { 2, 200, 1.2 }, { 3, 300, 0.5 } };
    static const double ps[][3] = { { 1, 350, 1.5 }, { 2, 700, 1 } };
    char table[1000];
    double x, y;
    int n = snprintf(table, sizeof table, "mode\tworkers\tseconds\tsamples\tloss\toversubscribed\n");

    for (int i = 0; i < 5; i++) {
        const double *row = i < 3 ? single[i] : ps[i - 3];
        n += snprintf(table + n, sizeof table - (size_t)n, "%s\t%d\t%.17g\t%.17g\t%.17g\t%d\n", i < 3 ? "single" : "ps",
                      i < 3 ? 1 : 2, row[0] * second, row[1] * thousand, row[2], i >= 3);
    }
    const char *svg = drawn(k, "loss", table), *left = svg, *right = find_text(svg, s_label, &x, &y);
    const struct axis loss = axis_of(left, true, "0.5", "2", false);
    const struct axis seconds = axis_of(left, false, "1", "3", false);
    const struct axis samples = axis_of(right, false, "100", "600", false);
    assert_true(x > place(&seconds, 0) && x < place(&samples, 0)); /* each panel has its axis' label */
    find_text(svg, n_label, &x, &y);
    assert_true(x > place(&samples, 0));
    for (int i = 0; i < 5; i++) {
        const double *row = i < 3 ? single[i] : ps[i - 3];
        const char *colour = i < 3 ? BLACK : ORANGE;
        has_mark(plots(svg), colour, place(&seconds, row[0]), place(&loss, row[2]), 2);
        has_mark(plots(svg), colour, place(&samples, row[1]), place(&loss, row[2]), 2);
        has_corner(plots(svg), colour, place(&seconds, row[0]), place(&loss, row[2]), 2, 2);
        has_corner(plots(svg), colour, place(&samples, row[1]), place(&loss, row[2]), 2, 2);
    }
    has_text(svg, "training loss");
    has_text(svg, "single, 1 worker");
    has_text(svg, "ps, 2 workers *");
    has_text(svg, "batch 32 per worker  ·  a machine  ·  overlap on  ·  first launch  ·  * more workers than "
                  "cores");
}

KIT_TEST(loss_as_it_was)
{
    check_loss(*state, 1, 1, "seconds since the start", "samples of all workers");
    check_loss(*state, 1e-6, 1e6, "microseconds since the start", "samples of all workers (million)");
}

/* Bars of parts that are all different, in the order of the table's columns. */
static void check_cost(struct kit *k, double unit, const char *label)
{
    enum { N_PARTS = 6 };
    static const char *const colour[] = {
        "rgb( 86, 180, 233)", "rgb(240, 228,  66)", "rgb(230, 159,   0)", "rgb(204, 121, 167)", GREEN,
        "rgb(153, 153, 153)"
    };
    static const char *const meaning[] = { "compute: the gradient", "wait: for slower workers",
                                           "wire: transfer",        "server: in its queue",
                                           "apply: update",         "rest: not measured" };
    static const double single[] = { 100, 0, 0, 0, 50, 0 }, ps[] = { 150, 200, 400, 700, 50, 100 };
    char table[1000];
    double x, y, single_y, ps_y;

    snprintf(table, sizeof table,
             "mode\tworkers\tcompute_us\tlow\thigh\twait_us\tlow\thigh\twire_us\tlow\thigh\tserver_us\tlow\thigh\t"
             "apply_us\tlow\thigh\trest_us\tlow\thigh\tstep_us\tlow\thigh\toversubscribed\n"
             "single\t1\t%g\t7\t7\t0\t7\t7\t0\t7\t7\tnan\tnan\tnan\t%g\t7\t7\t0\t7\t7\t%g\t%g\t%g\t0\n"
             "ps\t2\t%g\t7\t7\t%g\t7\t7\t%g\t7\t7\t%g\t7\t7\t%g\t7\t7\t%g\t7\t7\t%g\t%g\t%g\t1\n",
             100 * unit, 50 * unit, 150 * unit, -20 * unit, 320 * unit, 150 * unit, 200 * unit, 400 * unit, 700 * unit,
             50 * unit, 100 * unit, 1600 * unit, 1450 * unit, 1750 * unit);
    const char *svg = drawn(k, "cost", table);
    const struct axis us = axis_of(svg, false, "200", "1000", false);
    find_text(svg, "single × 1", &x, &single_y);
    find_text(svg, "* ps × 2", &x, &ps_y);
    for (int i = 0, at_single = 0, at_ps = 0; i < N_PARTS; at_single += (int)single[i], at_ps += (int)ps[i], i++) {
        if (single[i] > 0)
            has_bar(plots(svg), colour[i], place(&us, at_single), place(&us, at_single + single[i]), single_y - 7);
        has_bar(plots(svg), colour[i], place(&us, at_ps), place(&us, at_ps + ps[i]), ps_y - 7);
        find_text(svg, meaning[i], &x, &y);
        has_bar(svg, colour[i], x - 44.8, x - 12.8, y - 7);
    }
    for (int i = 2, at_ps = 350; i < N_PARTS; at_ps += (int)ps[i], i++) /* told apart without colours */
        has_bar(plots(svg), "url(#gpPat", place(&us, at_ps), place(&us, at_ps + ps[i]), ps_y - 7);
    has_corner(plots(svg), BLACK, place(&us, 1450), ps_y - 7, 1.5, 3); /* intervals of the sums; none below 0 */
    has_corner(plots(svg), BLACK, place(&us, 1750), ps_y - 7, 1.5, 3);
    has_corner(plots(svg), BLACK, place(&us, 0), single_y - 7, 1.5, 3);
    has_corner(plots(svg), BLACK, place(&us, 320), single_y - 7, 1.5, 3);
    find_text(plots(svg), "150", &x, &y); /* the sums, behind their intervals */
    assert_true(fabs(x - place(&us, 320)) < 25 && fabs(y - single_y) < 3);
    find_text(plots(svg), "1600", &x, &y);
    assert_true(fabs(x - place(&us, 1750)) < 25 && fabs(y - ps_y) < 3);
    has_text(svg,
             "batch 32 per worker  ·  a machine  ·  overlap on  ·  arithmetic mean of 3 launches, 95 % interval of "
             "the step  ·  * more workers than cores");
    has_text(svg, label);
}

KIT_TEST(cost)
{
    check_cost(*state, 1, "time of a step (µs), number at a bar: mean; rows: mode × workers");
    check_cost(*state, 1e3, "time of a step (ms), number at a bar: mean; rows: mode × workers");
}

/* As campaigns left them before: parts without intervals, and no rest. */
KIT_TEST(cost_as_it_was)
{
    const char *svg = drawn(*state, "cost",
                            "mode\tworkers\tcompute_us\twait_us\twire_us\tserver_us\tapply_us\toversubscribed\n"
                            "single\t1\t100\t0\t0\tnan\t50\t0\nps\t2\t150\t200\t400\t700\t50\t1\n");
    const struct axis us = axis_of(svg, false, "200", "1000", false);
    double x, y;

    find_text(svg, "single × 1", &x, &y);
    has_bar(plots(svg), "rgb( 86, 180, 233)", place(&us, 0), place(&us, 100), y - 7);
    has_bar(plots(svg), GREEN, place(&us, 100), place(&us, 150), y - 7);
    find_text(svg, "* ps × 2", &x, &y);
    has_bar(plots(svg), "rgb(204, 121, 167)", place(&us, 750), place(&us, 1450), y - 7);
    has_bar(plots(svg), GREEN, place(&us, 1450), place(&us, 1500), y - 7);
    find_text(plots(svg), "1500", &x, &y);
    assert_true(has_no_text(svg, "interval"));
}

KIT_TEST(roofline)
{
    const char *svg = drawn(*state, "roofline",
                            "kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\n"
                            "larger convolution\t64\t50\t0.64\tconv1\n1x1 convolution\t8\t20\t0.16\tproj\n"
                            "dense\t1\t4\t0.04\tfc\n");
    static const struct {
        const char *colour, *name;
        double x, y;
    } layer[] = { { BLUE, "conv1", 64, 50 }, { ORANGE, "proj", 8, 20 }, { GREEN, "fc", 1, 4 } };
    const struct axis x = axis_of(svg, false, "1", "64", true), y = axis_of(svg, true, "5", "100", true);
    double scale[3], text_x, text_y;

    for (int i = 0; i < 3; i++) {
        const double at_x = place(&x, layer[i].x), at_y = place(&y, layer[i].y);
        assert_int_equal(count_marks(plots(svg), layer[i].colour, at_x, at_y, 2, &scale[i]),
                         2); /* filled, and its rim */
        find_text(svg, layer[i].name, &text_x, &text_y);
        assert_true(text_x > at_x && text_x < at_x + 30 && fabs(text_y - at_y) < 15);
    }
    /* 0.35 + 1.9 x the root of a share of the largest: 2.25, 1.3, 0.825 */
    assert_true(fabs(scale[1] / scale[0] - 1.3 / 2.25) < 0.01 && fabs(scale[2] / scale[0] - 0.825 / 2.25) < 0.01);
    has_corner(plots(svg), DARK, place(&x, 2), place(&y, 20), 4, 4); /* 10 GB/s */
    has_corner(plots(svg), DARK, place(&x, 32), place(&y, 100), 4, 2);
    has_text(svg, "fastest large GEMM: 100 GFLOP/s");
    has_text(svg, "memory: 10 GB/s");
    legend_has_point(svg, "dense", GREEN);
}

/* A bar for each layout, those of fewer ranks first, and over it the interval, from low to high. */
KIT_TEST(layouts)
{
    static const struct {
        const char *name, *colour, *told;
        double mean, low, high, launch;
    } rows[] = { { "1x1x1", "rgb( 86, 180, 233)", "1.00   efficiency 1.00", 1, 0.9, 1.15, 0.95 },
                 { "4x1x1", "rgb( 86, 180, 233)", "2.40   efficiency 0.60", 2.4, 2, 3, 2.3 },
                 { "* 1x4x1", "rgb(230, 159,   0)", "1.50", 1.5, 1.2, 1.6, 1.45 } };
    const char *svg = drawn(*state, "layouts",
                            "layout\tkind\tranks\tmean\tlow\thigh\tefficiency\toversubscribed\tlaunch_0\tlaunch_1\n"
                            "4x1x1\tdata\t4\t2400\t2000\t3000\t0.6\t0\t2300\t2500\n"
                            "1x4x1\tstages\t4\t1500\t1200\t1600\tnan\t1\t1450\tnan\n"
                            "1x1x1\tdata\t1\t1000\t900\t1150\t1\t0\t950\t1050\n");
    const struct axis x = axis_of(svg, false, "1", "2", false);
    double left, row_y[3], its_x, its_y;

    has_text(svg, "thousand samples/s; rows: workers × stages × shards");
    for (int i = 0; i < 3; i++)
        find_text(svg, rows[i].name, &left, &row_y[i]);
    const double each_px = row_y[2] - row_y[1]; /* of as many ranks: no gap between them */
    assert_true(each_px > 0 && row_y[1] - row_y[0] > 1.5 * each_px);
    for (int i = 0; i < 3; i++) {
        const double y = row_y[i] - 7;
        has_bar(plots(svg), rows[i].colour, place(&x, 0), place(&x, rows[i].mean), y);
        has_corner(plots(svg), BLACK, place(&x, rows[i].low), y, 1.5, 3);
        has_corner(plots(svg), BLACK, place(&x, rows[i].high), y, 1.5, 3);
        has_mark(plots(svg), BLACK, place(&x, rows[i].launch), y + 0.2 * each_px, 1.5);
        find_text(plots(svg), rows[i].told, &its_x, &its_y); /* behind the interval */
        assert_true(its_x > place(&x, rows[i].high) && its_x < place(&x, rows[i].high) + 25);
        assert_true(fabs(its_y - row_y[i]) < 3);
    }
    assert_int_equal(count_marks(plots(svg), BLACK, NAN, NAN, 0, NULL), 5);
}

#define PREDICTED                                                                                                \
    "line\tkind\tgpus\tefficiency\timages_per_s\teff_low\teff_high\timages_low\timages_high\n"                   \
    "ring\tpredicted\t1\t0.8\t104\t0.75\t0.9\t97.5\t117\nring\tpredicted\t4\t0.7\t364\t0.6\t0.78\t312\t405.6\n"  \
    "ring\tpredicted\t16\t0.5\t1040\t0.4\t0.65\t832\t1352\nring\tpublished\t16\t0.6\t1248\tnan\tnan\tnan\tnan\n" \
    "ring\tnot counted\t4\t0.55\t286\tnan\tnan\tnan\tnan\n"

/* quantity and its axis' labels; ideal: of n GPUs ideal n^power. */
static void check_reproduce(struct kit *k, const char *quantity, const char *tick, const char *other_tick, double ideal,
                            double power)
{
    static const struct {
        double n_gpus, efficiency, images, low, high, images_low, images_high;
    } predicted[] = { { 1, 0.8, 104, 0.75, 0.9, 97.5, 117 },
                      { 4, 0.7, 364, 0.6, 0.78, 312, 405.6 },
                      { 16, 0.5, 1040, 0.4, 0.65, 832, 1352 } };
    const struct chart_var var[] = { { "quantity", quantity }, { "band", "yes" } };
    const char *svg = svg_drawn_with(k, "reproduce", PREDICTED, var, 2), *p = plots(svg);
    const bool is_log = power > 0;
    const struct axis x = axis_of(svg, false, "1", "16", true), y = axis_of(svg, true, tick, other_tick, is_log);

    is_straight(p, GREY, place(&x, 1), place(&y, ideal), place(&x, 16), place(&y, ideal * pow(16, power)));
    has_text(svg, "ideal");
    for (int i = 0; i < 3; i++) {
        const double at = place(&x, predicted[i].n_gpus);
        has_corner(p, BLUE, at, place(&y, is_log ? predicted[i].images : predicted[i].efficiency), 1.5, 1.5);
        has_area_corner(p, BLUE, at, place(&y, is_log ? predicted[i].images_low : predicted[i].low));
        has_area_corner(p, BLUE, at, place(&y, is_log ? predicted[i].images_high : predicted[i].high));
    }
    has_mark(p, BLUE, place(&x, 16), place(&y, is_log ? 1248 : 0.6), 1.5);
    has_mark(p, BLUE, place(&x, 4), place(&y, is_log ? 286 : 0.55), 1.5);
}

/* One GPU at an efficiency of 0.8 gives 104 images/s: the ideal is 130 from each. */
KIT_TEST(reproduce)
{
    check_reproduce(*state, "efficiency", "0.2", "1", 1, 0);
    check_reproduce(*state, "images", "200", "1000", 130, 1);
}

SVG_MAIN("chart values")
