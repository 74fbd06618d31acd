/* SPDX-License-Identifier: Apache-2.0 */
/* chart_busbw_test.c - lines and ceiling of busbw.gp are where their values are, each as the legend says. */
#include "harness/report/suite/svg_kit.h"

#define HEAD "line\tkind\tbytes\tgb_per_s\tlow\thigh\n"

static const char TABLE[] = HEAD "ring\tmeasured\t4\t0.02\t0.01\t0.05\nroot\tmeasured\t4\t0.01\tnan\tnan\n"
                                 "memory\tceiling\t4\t1\t0.9\t1.1\n"
                                 "ring\tmeasured\t64\t0.5\t0.4\t0.6\nroot\tmeasured\t64\t0.2\t0.1\t0.3\n"
                                 "memory\tceiling\t64\t4\tnan\tnan\n"
                                 "ring\tmeasured\t256\t2\t1\t3\nroot\tmeasured\t256\tnan\tnan\tnan\n"
                                 "memory\tceiling\t256\t8\t7\t9\n";

/* Lines of the legend have widths of their own here, so that names are farther from them than elsewhere. */
static void legend_has(const char *svg, const char *name, const char *colour)
{
    double x, y;

    find_text(svg, name, &x, &y);
    has_mark(svg, colour, x - 35.2, y - 7.15, 3);
}

KIT_TEST(lines_are_where_their_values_are)
{
    const char *svg = drawn(*state, "busbw", TABLE), *p = plots(svg);
    const struct axis x = axis_of(svg, false, "4 B", "64 B", true), y = axis_of(svg, true, "0.1", "1", true);
    static const double at[] = { 4, 64, 256 }, ring[] = { 0.02, 0.5, 2 }, low[] = { 0.01, 0.4, 1 },
                        high[] = { 0.05, 0.6, 3 }, top[] = { 1, 4, 8 };
    char dashes[40];

    for (int i = 0; i < 3; i++) {
        has_mark(p, BLUE, place(&x, at[i]), place(&y, ring[i]), 2);
        has_corner(p, BLUE, place(&x, at[i]), place(&y, ring[i]), 2, 2);
        has_corner(p, BLUE, place(&x, at[i]), place(&y, low[i]), 2, 2);
        has_corner(p, BLUE, place(&x, at[i]), place(&y, high[i]), 2, 2);
        has_corner(p, DARK, place(&x, at[i]), place(&y, top[i]), 2, 2);
    }
    assert_int_equal(count_marks(p, BLUE, NAN, NAN, 0, NULL), 3);
    assert_int_equal(count_marks(p, ORANGE, NAN, NAN, 0, NULL), 2); /* of nan there is none */
    has_mark(p, ORANGE, place(&x, 64), place(&y, 0.2), 2);
    assert_int_equal(count_marks(p, DARK, NAN, NAN, 0, NULL), 0);
    assert_string_equal(dashes_of(p, DARK, dashes), "");
    has_text(svg, "ceiling: memory, each input read once, each output written once");
    has_text(svg, "a model  ·  bus bandwidth of each algorithm");
    legend_has(svg, "ring", BLUE);
    legend_has(svg, "root", ORANGE);
}

KIT_TEST(links_are_named_and_sizes_have_units)
{
    const char *svg = drawn(*state, "busbw",
                            HEAD "ring\tmeasured\t4096\t1\t1\t1\nlink\tceiling\t4096\t2\t2\t2\n"
                                 "ring\tmeasured\t1073741824\t1\t1\t1\n");

    has_text(svg, "ceiling: links, as bare messages around all ranks load them");
    has_text(svg, "4 KiB");
    has_text(svg, "1 MiB");
    svg = drawn(*state, "busbw", HEAD "ring\tmeasured\t1073741824\t1\tnan\tnan\n");
    has_text(svg, "1 GiB");
    assert_true(has_no_text(svg, "ceiling")); /* none was measured */
}

SVG_MAIN("chart_busbw")
