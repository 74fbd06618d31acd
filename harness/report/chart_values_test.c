/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart_values_test.c - what is drawn where: points, bars and lines of small tables are looked for in the SVG, at the
 * places that the labels of the ticks give them, in the colour of their mode.
 */
#include "harness/report/chart.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/report/suite/report_kit.h"

#define BLACK "rgb(  0,   0,   0)"
#define ORANGE "rgb(213,  94,   0)"
#define BLUE "rgb(  0, 114, 178)"
#define GREEN "rgb(  0, 158, 115)"
#define GREY "rgb(160, 160, 160)"
#define DARK "rgb( 64,  64,  64)"
#define WHITE "rgb(255, 255, 255)"

enum { APART_PX = 12 }; /* points of different modes at one worker count stand side by side */

/* Draw a table by a script; its SVG, lent until the next call. */
static const char *drawn(struct kit *k, const char *script, const char *table)
{
    static const struct chart_var var[] = {
        { "model", "a model" },        { "batch", "32" },         { "machine", "a machine" },   { "launches", "3" },
        { "peak_gflop_per_s", "100" }, { "peak_gb_per_s", "10" }, { "exchange", "overlap on" },
    };
    char path[KIT_PATH_BYTES];

    assert_true(kit_write(k, "data.tsv", table));
    snprintf(path, sizeof path, "%s", kit_path(k, "data.tsv"));
    if (chart_draw(script, path, k->dir, "picture", var, sizeof var / sizeof *var) != RC_OK)
        fail_msg("%s", rc_message());
    return kit_read(k, "picture.svg");
}

static bool text_is(const char *at, const char *expected) /* at: "<text...>"; blanks before the text do not count */
{
    const size_t n = strlen(expected);

    at = strchr(at, '>') + 1;
    at += strspn(at, " ");
    return strncmp(at, expected, n) == 0 && strncmp(at + n, "</text>", 7) == 0;
}

/* The position of a text: the end of its base line that it is anchored at. */
static const char *find_text(const char *svg, const char *expected, double *x, double *y)
{
    const char *group = NULL;

    for (const char *at = svg; (at = strchr(at, '<')) != NULL; at++) {
        if (strncmp(at, "<g transform=\"translate(", 24) == 0)
            group = at;
        if (strncmp(at, "<text", 5) != 0 || !text_is(at, expected))
            continue;
        assert_non_null(group);
        assert_int_equal(sscanf(group, "<g transform=\"translate(%lf,%lf)", x, y), 2);
        return at;
    }
    fail_msg("no text: %s", expected);
    return NULL;
}

struct axis {
    double pixel, value, pixels_per_value; /* logarithms of values when is_log */
    bool is_log;
};

/* The pixel of the tick with a label: a path of two points, then its text. */
static double tick(const char *svg, bool is_y, const char *label)
{
    for (const char *at = svg; (at = strstr(at, " d='M")) != NULL; at += 5) {
        const char *text = strstr(at, "<text"), *next = strstr(at + 5, " d='M"), *anchor = strstr(at, "text-anchor=\"");
        double x, y;
        if (!text || (next && next < text) || anchor > text || !text_is(text, label) ||
            strncmp(anchor + 13, is_y ? "end" : "middle", 3) != 0)
            continue;
        assert_int_equal(sscanf(at, " d='M%lf,%lf", &x, &y), 2);
        return is_y ? y : x;
    }
    fail_msg("no tick %s on axis %c", label, is_y ? 'y' : 'x');
    return NAN;
}

static struct axis axis_of(const char *svg, bool is_y, const char *label, const char *other_label, bool is_log)
{
    const double first = strtod(label, NULL), second = strtod(other_label, NULL);
    const double v1 = is_log ? log(first) : first, v2 = is_log ? log(second) : second;
    const double p1 = tick(svg, is_y, label), p2 = tick(svg, is_y, other_label);

    return (struct axis){ p1, v1, (p2 - p1) / (v2 - v1), is_log };
}

static double place(const struct axis *a, double value)
{
    return a->pixel + ((a->is_log ? log(value) : value) - a->value) * a->pixels_per_value;
}

static const char *plots(const char *svg) /* what comes behind axes and legend */
{
    const char *at = strstr(svg, "<g id=\"gnuplot_plot_");

    assert_non_null(at);
    return at;
}

/* Number of points of a colour within error_px of a place; error_px is that of x, that of y 2 px. NaN: anywhere.
 * *scale: of the last one. */
static int count_marks(const char *svg, const char *colour, double x, double y, double error_px, double *scale)
{
    int n = 0;

    for (const char *at = svg; (at = strstr(at, "<use xlink:href='#gpPt")) != NULL; at++) {
        const char *translate = strstr(at, "translate("), *its_colour = strstr(at, "color='");
        double its_x, its_y, its_scale;
        if (!translate || !its_colour ||
            sscanf(translate, "translate(%lf,%lf) scale(%lf)", &its_x, &its_y, &its_scale) != 3)
            continue;
        if (strncmp(its_colour + 7, colour, strlen(colour)) == 0 &&
            (isnan(x) || (fabs(its_x - x) <= error_px && fabs(its_y - y) <= 2))) {
            n++;
            if (scale)
                *scale = its_scale;
        }
    }
    return n;
}

static void has_mark(const char *svg, const char *colour, double x, double y, double error_px)
{
    if (count_marks(svg, colour, x, y, error_px, NULL) == 0)
        fail_msg("no point of %s at %.1f, %.1f", colour, x, y);
}

/* A line of a colour has a corner there. */
static void has_corner(const char *svg, const char *colour, double x, double y, double error_px, double y_error_px)
{
    for (const char *at = svg; (at = strstr(at, "<path stroke='")) != NULL; at++) {
        const char *end = strstr(at, "'/>"), *corner = strstr(at, " d='");
        if (strncmp(at + 14, colour, strlen(colour)) != 0 || !end || !corner)
            continue;
        for (corner += 4; (corner = strpbrk(corner, "ML")) != NULL && corner < end; corner++) {
            double its_x, its_y;
            if (sscanf(corner + 1, "%lf,%lf", &its_x, &its_y) == 2 && fabs(its_x - x) <= error_px &&
                fabs(its_y - y) <= y_error_px)
                return;
        }
    }
    fail_msg("no line of %s through %.1f, %.1f", colour, x, y);
}

/* A filled rectangle of a colour from x to x_end at a height. */
static void has_bar(const char *svg, const char *colour, double x, double x_end, double y)
{
    for (const char *at = svg; (at = strstr(at, "<polygon fill = '")) != NULL; at++) {
        const char *points = strstr(at, "points = '");
        double px[8];
        if (strncmp(at + 17, colour, strlen(colour)) != 0 || !points ||
            sscanf(points, "points = '%lf,%lf %lf,%lf %lf,%lf %lf,%lf", px, px + 1, px + 2, px + 3, px + 4, px + 5,
                   px + 6, px + 7) != 8)
            continue;
        if (fabs(fmin(px[0], px[2]) - x) <= 1.5 && fabs(fmax(px[0], px[2]) - x_end) <= 1.5 && fmin(px[1], px[5]) <= y &&
            y <= fmax(px[1], px[5]))
            return;
    }
    fail_msg("no bar of %s from %.1f to %.1f at height %.1f", colour, x, x_end, y);
}

static void has_text(const char *svg, const char *expected)
{
    double x, y;

    find_text(svg, expected, &x, &y);
}

/* A sample of the colour is left of its name in the legend. */
static void legend_has_point(const char *svg, const char *name, const char *colour)
{
    double x, y;

    find_text(svg, name, &x, &y);
    has_mark(svg, colour, x - 28.8, y - 7.15, 3);
}

#define SCALING "mode\tworkers\tmean\tlow\thigh\toversubscribed\n"

static const struct scaling_row {
    const char *colour;
    double n_workers, mean, low, high;
} ROWS[] = {
    { BLACK, 1, 1000, 900, 1150 },   { ORANGE, 1, 800, 720, 950 },  { ORANGE, 2, 1500, 1400, 1650 },
    { ORANGE, 4, 1800, 1700, 1980 }, { BLUE, 2, 1750, 1640, 1880 },
};

static void check_scaling(const char *svg, const struct axis *x, const struct axis *y, double unit)
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
    has_text(svg, "batch 32 per worker  ·  a machine  ·  overlap on  ·  mean of 3 launches, 95 % interval");
}

static void throughput(void **state)
{
    const char *svg =
        drawn(*state, "throughput",
              SCALING "single\t1\t1000\t900\t1150\t0\nps\t1\t800\t720\t950\t0\nps\t2\t1500\t1400\t1650\t0\n"
                      "ps\t4\t1800\t1700\t1980\t1\nallreduce\t2\t1750\t1640\t1880\t0\n");
    const struct axis x = axis_of(svg, false, "1", "4", true), y = axis_of(svg, true, "1", "3", false);

    has_text(svg, "throughput (thousand samples/s)");
    has_text(svg, "workers (logarithmic)");
    check_scaling(svg, &x, &y, 1000);
    has_corner(plots(svg), GREY, place(&x, 2), place(&y, 2), 15, 8); /* ideal: 2 x single */
    has_corner(plots(svg), GREY, place(&x, 4), place(&y, 4), 15, 12);
}

/* The same figures as ratios: no unit is cut off, and the line that they are compared with is 1. */
static void efficiency(void **state)
{
    const char *svg = drawn(*state, "efficiency",
                            SCALING "single\t1\t1\t0.9\t1.15\t0\nps\t1\t0.8\t0.72\t0.95\t0\nps\t2\t1.5\t1.4\t1.65\t0\n"
                                    "ps\t4\t1.8\t1.7\t1.98\t1\nallreduce\t2\t1.75\t1.64\t1.88\t0\n");
    const struct axis x = axis_of(svg, false, "1", "4", true), y = axis_of(svg, true, "0.5", "1", false);

    has_text(svg, "efficiency (ratio)");
    check_scaling(svg, &x, &y, 1000);
    has_corner(plots(svg), GREY, place(&x, 2), place(&y, 1), 15, 2);
}

/* A table of two modes whose seconds and samples are far apart, in units of both. */
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
        has_corner(plots(svg), colour, place(&seconds, row[0]), place(&loss, row[2]), 2, 2); /* the running mean */
        has_corner(plots(svg), colour, place(&samples, row[1]), place(&loss, row[2]), 2, 2);
    }
    has_text(svg, "training loss");
    has_text(svg, "single, 1 worker");
    has_text(svg, "ps, 2 workers *");
    has_text(svg, "batch 32 per worker  ·  a machine  ·  overlap on  ·  thin: each round, bold: running mean  ·  * "
                  "more workers than cores");
}

static void loss(void **state)
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
    has_corner(plots(svg), BLACK, place(&us, 1450), ps_y - 7, 1.5, 3); /* intervals of the sums; none below 0 */
    has_corner(plots(svg), BLACK, place(&us, 1750), ps_y - 7, 1.5, 3);
    has_corner(plots(svg), BLACK, place(&us, 0), single_y - 7, 1.5, 3);
    has_corner(plots(svg), BLACK, place(&us, 320), single_y - 7, 1.5, 3);
    find_text(plots(svg), "150", &x, &y); /* the sums, behind their intervals */
    assert_true(fabs(x - place(&us, 320)) < 25 && fabs(y - single_y) < 3);
    find_text(plots(svg), "1600", &x, &y);
    assert_true(fabs(x - place(&us, 1750)) < 25 && fabs(y - ps_y) < 3);
    has_text(svg, "batch 32 per worker  ·  a machine  ·  overlap on  ·  mean of 3 launches, 95 % interval of the step  "
                  "·  * more workers than cores");
    has_text(svg, label);
}

static void cost(void **state)
{
    check_cost(*state, 1, "time of a step (µs); rows: mode × workers");
    check_cost(*state, 1e3, "time of a step (ms); rows: mode × workers");
}

static void roofline(void **state)
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

static int set_up(void **state)
{
    static struct kit kit;

    return kit_open(&kit) ? (*state = &kit, 0) : -1;
}

static int tear_down(void **state)
{
    kit_close(*state);
    return 0;
}

#define KIT_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(throughput), KIT_TEST(efficiency), KIT_TEST(loss), KIT_TEST(cost), KIT_TEST(roofline),
    };

    unsetenv("GRADMARK_SHARE_DIR");
    if (!chart_available()) {
        fprintf(stderr, "skipped: gnuplot cannot be started\n");
        return 77;
    }
    return cmocka_run_group_tests_name("chart values", tests, NULL, NULL);
}
