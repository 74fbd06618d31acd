/* SPDX-License-Identifier: Apache-2.0 */
/* chart_roofline_test.c - the roofs' spread, and names that run into nothing, of roofline.gp. */
#include "harness/report/suite/svg_kit.h"

#define LAYERS "kind\tintensity_flop_per_byte\tgflop_per_s\tshare_ratio\tlayer\n"

static const struct chart_var SPREAD[] = { { "least_gflop_per_s", "80" },
                                           { "least_gb_per_s", "5" },
                                           { "n_roofs", "16" } };

/* A corner of the grey area under the roofs. */
static bool spread_has(const char *svg, double x, double y)
{
    const char *at = strstr(plots(svg), "<polygon fill = 'rgb(221, 221, 221)'");
    const char *end = at ? strchr(at, '>') : NULL, *corner = at ? strstr(at, "points = '") : NULL;

    for (corner = corner ? corner + 10 : NULL; corner && corner < end; corner = strchr(corner, ' ')) {
        double its_x, its_y;
        corner += *corner == ' ';
        if (sscanf(corner, "%lf,%lf", &its_x, &its_y) == 2 && fabs(its_x - x) <= 3 && fabs(its_y - y) <= 4)
            return true;
    }
    return false;
}

/* 100 GFLOP/s and 10 GB/s at best, 80 and 5 at least: the line is the best, the area goes down to the least. */
KIT_TEST(roofs_have_a_spread)
{
    const char *svg = svg_drawn_with(*state, "roofline",
                                     LAYERS "dense\t1\t4\t1\tfc\nlarger convolution\t64\t50\t0.5\tconv1\n", SPREAD, 3);
    const struct axis x = axis_of(svg, false, "1", "64", true), y = axis_of(svg, true, "5", "100", true);

    has_corner(plots(svg), DARK, place(&x, 2), place(&y, 20), 4, 4);
    has_corner(plots(svg), DARK, place(&x, 32), place(&y, 100), 4, 2);
    assert_true(spread_has(svg, place(&x, 2), place(&y, 10)) && spread_has(svg, place(&x, 2), place(&y, 20)));
    assert_true(spread_has(svg, place(&x, 32), place(&y, 80)) && spread_has(svg, place(&x, 32), place(&y, 100)));
    assert_true(!spread_has(svg, place(&x, 2), place(&y, 8)) && !spread_has(svg, place(&x, 32), place(&y, 120)));
    has_text(svg, "fastest large GEMM: 80 to 100 GFLOP/s, 16 measurements");
    has_text(svg, "memory: 5 to 10 GB/s");
    svg = drawn(*state, "roofline", LAYERS "dense\t1\t4\t1\tfc\n");
    assert_null(strstr(plots(svg), "<polygon fill = 'rgb(221, 221, 221)'")); /* of one measurement */
    has_text(svg, "fastest large GEMM: 100 GFLOP/s");
}

/* As figures are read: not 6.65e+04. */
KIT_TEST(large_roofs_are_written_out)
{
    static const struct chart_var gpu[] = { { "peak_gflop_per_s", "66512.4" },
                                            { "least_gflop_per_s", "1004.6" },
                                            { "peak_gb_per_s", "3000.4" },
                                            { "least_gb_per_s", "98.76" },
                                            { "n_roofs", "2" } };
    const char *svg = svg_drawn_with(*state, "roofline", LAYERS "dense\t1\t4\t1\tfc\n", gpu, 5);

    has_text(svg, "fastest large GEMM: 1005 to 66512 GFLOP/s, 2 measurements");
    has_text(svg, "memory: 98.8 to 3000 GB/s");
}

struct box {
    double left, right, top, bottom; /* px */
};

static bool meet(const struct box *a, const struct box *b)
{
    return a->left < b->right && b->left < a->right && a->top < b->bottom && b->top < a->bottom;
}

/* Of a text that begins there: letters are 12 px wide and 16 high, at the font's 22. */
static struct box box_of(const char *text, double x, double y)
{
    return (struct box){ x, x + 12 * (double)strlen(text), y - 16, y + 3 };
}

/* A layer in each of 12 x 5 places, close to one another, and one at each end: their names meet neither each other nor
 * a point, and stay in the picture. */
KIT_TEST(names_run_into_nothing)
{
    char table[6000], name[16];
    struct box box[64];
    int n_named = 0, n = snprintf(table, sizeof table, LAYERS);

    for (int i = 0; i < 60; i++)
        n += snprintf(table + n, sizeof table - (size_t)n, "%s\t%g\t%g\t%g\tc%d\n",
                      i % 3 ? "larger convolution" : "1x1 convolution", 20 * pow(1.12, i % 12), 30 * pow(1.15, i / 12),
                      0.1 * pow(0.95, i), i);
    n += snprintf(table + n, sizeof table - (size_t)n, "dense\t0.9\t9\t0.001\tc60\ndense\t255\t99\t0.001\tc61\n");
    const char *svg = drawn(*state, "roofline", table);
    const struct axis x = axis_of(svg, false, "1", "64", true), y = axis_of(svg, true, "10", "100", true);
    for (int i = 0; i < 62; i++) {
        double at_x, at_y;
        snprintf(name, sizeof name, ">c%d<", i);
        if (has_no_text(svg, name))
            continue;
        snprintf(name, sizeof name, "c%d", i);
        find_text(svg, name, &at_x, &at_y);
        box[n_named++] = box_of(name, at_x, at_y);
    }
    assert_true(n_named >= 4);
    for (int i = 0; i < n_named; i++) {
        assert_true(box[i].left > place(&x, 1) - 100 && box[i].right < 1560);
        for (int k = 0; k < i; k++)
            assert_false(meet(&box[i], &box[k]));
        for (int k = 0; k < 60; k++) {
            const double at_x = place(&x, 20 * pow(1.12, k % 12)), at_y = place(&y, 30 * pow(1.15, k / 12));
            const struct box point = { at_x - 2, at_x + 2, at_y - 2, at_y + 2 };
            if (meet(&box[i], &point))
                fail_msg("the name at %.1f, %.1f is on the point of c%d", box[i].left, box[i].bottom, k);
        }
    }
}

SVG_MAIN("roofline chart")
