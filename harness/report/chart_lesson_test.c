/* SPDX-License-Identifier: Apache-2.0 */
/* chart_lesson_test.c - names, ticks and axes of the charts of lessons: where they are, and that they cover no line. */
#include "harness/report/suite/svg_kit.h"

enum { PICTURE_WIDTH_PX = 1600, PICTURE_HEIGHT_PX = 1000, LETTER_PX = 13, ASCENT_PX = 20, DESCENT_PX = 6 };

#define LESSON "line\tx\ty\thigh\n"

static const struct chart_var titles[] = { { "xtitle", "steps" }, { "ytitle", "loss" }, { "ends", "1" } };

/* A name behind the plots is in the picture, right of from_px, and no line goes through it at the height line_px. */
static void is_beside(const char *svg, const char *name, double from_px, double line_px)
{
    double x, y;

    find_text(plots(svg), name, &x, &y);
    if (x < from_px || x + (double)strlen(name) * LETTER_PX > PICTURE_WIDTH_PX)
        fail_msg("%s begins at %.1f", name, x);
    if (line_px > y - ASCENT_PX && line_px < y + DESCENT_PX)
        fail_msg("a line at %.1f goes through %s at %.1f", line_px, name, y);
}

/* A little above the first line's end goes the other line, and right of that one's is no room. */
KIT_TEST(names_at_ends_cover_no_line)
{
    const char *svg = svg_drawn_with(
        *state, "lesson", LESSON "early\t1\t4\tnan\nearly\t10\t1\tnan\nlate\t1\t1.03\tnan\nlate\t100\t1.03\tnan\n",
        titles, 3);
    const struct axis y = axis_of(svg, true, "1", "5", true), x = axis_of(svg, false, "1", "10", true);

    is_beside(svg, "early", place(&x, 3), place(&y, 1.03));
    is_beside(svg, "late", place(&x, 50), place(&y, 1.03));
}

/* Two lines that end at one place: each has its own name, and none is on the other. */
KIT_TEST(names_of_one_end_are_apart)
{
    const char *svg =
        svg_drawn_with(*state, "lesson",
                       LESSON "first\t1\t4\tnan\nfirst\t10\t1\tnan\nother\t1\t3\tnan\nother\t10\t1\tnan\n", titles, 3);
    double x[2], y[2];

    find_text(plots(svg), "first", &x[0], &y[0]);
    find_text(plots(svg), "other", &x[1], &y[1]);
    assert_true(fabs(y[0] - y[1]) > ASCENT_PX || fabs(x[0] - x[1]) > 5 * LETTER_PX);
}

/* Numbers below 0.001 make the axis name powers of ten, and no other form beside them. */
KIT_TEST(decades_are_named_alike)
{
    const char *svg =
        svg_drawn_with(*state, "lesson", LESSON "late\t0.000001\t1\tnan\nlate\t10\t0.00001\tnan\n", titles, 2);

    has_text(svg, "10⁻⁶");
    has_text(svg, "10⁻²");
    assert_true(has_no_text(svg, "1e-06") && has_no_text(svg, "0.01"));
}

/* Of few points the axis names each, also where a line has none, and nothing else. */
KIT_TEST(ticks_are_where_points_are)
{
    static const struct chart_var var[] = { { "xtitle", "workers" }, { "ytitle", "loss" }, { "marks", "1" } };
    const char *svg =
        svg_drawn_with(*state, "lesson", LESSON "rate\t1\t4\tnan\nrate\t4\t1\tnan\nrate\t64\tnever\tnan\n", var, 3);
    const struct axis x = axis_of(svg, false, "1", "64", true);

    assert_true(fabs(place(&x, 4) - tick(svg, false, "4")) < 1);
    assert_true(has_no_text(svg, ">10<") && has_no_text(svg, "> 10<"));
    has_text(svg, "never: rate");
}

/* The name of the axis below is in the picture as a whole, in SVG too. */
KIT_TEST(axis_is_in_the_picture)
{
    const char *svg = svg_drawn_with(*state, "lesson", LESSON "a\t1\t4\tnan\na\t10\t1\tnan\n", titles, 3);
    double x, y;

    find_text(svg, "steps", &x, &y);
    if (y + DESCENT_PX + 2 > PICTURE_HEIGHT_PX)
        fail_msg("the name of the axis is at %.1f", y);
}

/* A bar goes from the least to the greatest of several runs, and to the top of the picture if one never came. */
KIT_TEST(ranges_are_bars)
{
    static const struct chart_var var[] = { { "xtitle", "workers" }, { "ytitle", "time" }, { "ranges", "yes" } };
    const char *svg = svg_drawn_with(*state, "against",
                                     "line\tkind\tx\ty\tlow\thigh\n"
                                     "a\tmeasured\t1\t10\t8\t19\na\tmeasured\t2\t12\t9\tnever\n",
                                     var, 3);
    const struct axis y = axis_of(svg, true, "0", "10", false);
    const double one = tick(svg, false, "1"), two = tick(svg, false, "2");

    has_mark(plots(svg), BLUE, one, place(&y, 10), 2);
    has_corner(plots(svg), BLUE, one, place(&y, 8), 2, 2);
    has_corner(plots(svg), BLUE, one, place(&y, 19), 2, 2);
    has_corner(plots(svg), BLUE, two, place(&y, 9), 2, 2);
    has_corner(plots(svg), BLUE, two, place(&y, 19 * 1.08), 2, 2);
}

SVG_MAIN("charts of lessons")
