/* SPDX-License-Identifier: Apache-2.0 */
/* chart_loss_test.c - medians and bands of loss.gp, the choice of its axes, and launches that diverged. */
#include "harness/report/suite/svg_kit.h"

#define LOSS "mode\tworkers\taxis\tat\tmedian\tlow\thigh\toversubscribed\n"
#define NOTE "batch 32 per worker  ·  a machine  ·  overlap on  ·  median and band of 3 launches"

/* A band of a colour, lighter than its line, has a corner there. */
static void has_band(const char *svg, const char *colour, double x, double y)
{
    for (const char *at = svg; (at = strstr(at, "<polygon fill = '")) != NULL; at++) {
        const char *end = strchr(at, '>'), *corner = strstr(at, "points = '"),
                   *opacity = strstr(at, "fill-opacity='0.");
        if (strncmp(at + 17, colour, strlen(colour)) != 0 || !corner || corner > end || !opacity || opacity > end)
            continue;
        for (corner += 10; corner < end && *corner != '\''; corner += strcspn(corner, " '"), corner += *corner == ' ') {
            double its_x, its_y;
            if (sscanf(corner, "%lf,%lf", &its_x, &its_y) == 2 && fabs(its_x - x) <= 2 && fabs(its_y - y) <= 2)
                return;
        }
    }
    fail_msg("no band of %s has a corner at %.1f, %.1f", colour, x, y);
}

struct place { /* a row of a table */
    double at, median, low, high;
};

/* The line and both edges of the band, of one mode and one panel. */
static void check_curve(const char *svg, const char *colour, const struct axis *x, const struct axis *y,
                        const struct place *row, int n_rows)
{
    for (int i = 0; i < n_rows; i++) {
        has_corner(plots(svg), colour, place(x, row[i].at), place(y, row[i].median), 2, 2);
        has_band(plots(svg), colour, place(x, row[i].at), place(y, row[i].low));
        has_band(plots(svg), colour, place(x, row[i].at), place(y, row[i].high));
    }
}

KIT_TEST(a_steady_descent_has_linear_axes)
{
    static const struct place single_s[] = { { 1, 2, 1.5, 2.2 }, { 2, 1.2, 1.1, 1.25 }, { 3, 0.5, 0.4, 0.8 } };
    static const struct place ps_s[] = { { 1, 1.9, 1.7, 2.1 }, { 2, 1.4, 1.3, 1.6 }, { 3, 1, 0.9, 1.1 } };
    static const struct place single_n[] = { { 100, 2.1, 1.5, 2.2 }, { 200, 1, 0.9, 1.3 }, { 300, 0.6, 0.45, 0.7 } };
    static const struct place ps_n[] = { { 100, 1.8, 1.6, 2 }, { 200, 1.5, 1.35, 1.65 }, { 300, 1.1, 0.95, 1.2 } };
    const char *svg = drawn(*state, "loss",
                            LOSS "single\t1\tseconds\t1\t2\t1.5\t2.2\t0\nsingle\t1\tseconds\t2\t1.2\t1.1\t1.25\t0\n"
                                 "single\t1\tseconds\t3\t0.5\t0.4\t0.8\t0\nsingle\t1\tsamples\t100\t2.1\t1.5\t2.2\t0\n"
                                 "single\t1\tsamples\t200\t1\t0.9\t1.3\t0\nsingle\t1\tsamples\t300\t0.6\t0.45\t0.7\t0\n"
                                 "ps\t2\tseconds\t1\t1.9\t1.7\t2.1\t1\nps\t2\tseconds\t2\t1.4\t1.3\t1.6\t1\n"
                                 "ps\t2\tseconds\t3\t1\t0.9\t1.1\t1\nps\t2\tsamples\t100\t1.8\t1.6\t2\t1\n"
                                 "ps\t2\tsamples\t200\t1.5\t1.35\t1.65\t1\nps\t2\tsamples\t300\t1.1\t0.95\t1.2\t1\n");
    double unused_x, unused_y;
    const char *right = find_text(svg, "seconds since the start", &unused_x, &unused_y);
    const struct axis y = axis_of(svg, true, "0.5", "2", false), s = axis_of(svg, false, "1", "3", false);
    const struct axis n = axis_of(right, false, "100", "300", false);
    char dashes[2][40];

    check_curve(svg, BLACK, &s, &y, single_s, 3);
    check_curve(svg, ORANGE, &s, &y, ps_s, 3);
    check_curve(svg, BLACK, &n, &y, single_n, 3);
    check_curve(svg, ORANGE, &n, &y, ps_n, 3);
    assert_string_not_equal(dashes_of(plots(svg), BLACK, dashes[0]), dashes_of(plots(svg), ORANGE, dashes[1]));
    has_text(svg, "samples of all workers");
    has_text(svg, "training loss");
    has_text(svg, "single, 1 worker");
    has_text(svg, "ps, 2 workers *");
    has_text(svg, NOTE "  ·  * more workers than cores");
}

/* Three quarters of the way down in the first hundredth of the time: both axes say that they are logarithmic. */
KIT_TEST(a_fall_at_the_start_has_logarithmic_axes)
{
    static const struct place seconds[] = { { 1, 2, 1.5, 2.2 },
                                            { 2, 0.5, 0.45, 0.8 },
                                            { 10, 0.42, 0.41, 0.6 },
                                            { 100, 0.4, 0.35, 0.5 },
                                            { 1000, 0.4, 0.3, 0.5 } };
    static const struct place samples[] = { { 10, 2, 1.5, 2.2 }, { 100, 0.5, 0.45, 0.8 }, { 10000, 0.4, 0.35, 0.5 } };
    const char *svg =
        drawn(*state, "loss",
              LOSS "single\t1\tseconds\t0.001\t2\t1.5\t2.2\t0\nsingle\t1\tseconds\t0.002\t0.5\t0.45\t0.8\t0\n"
                   "single\t1\tseconds\t0.01\t0.42\t0.41\t0.6\t0\nsingle\t1\tseconds\t0.1\t0.4\t0.35\t0.5\t0\n"
                   "single\t1\tseconds\t1\t0.4\t0.3\t0.5\t0\nsingle\t1\tsamples\t10\t2\t1.5\t2.2\t0\n"
                   "single\t1\tsamples\t100\t0.5\t0.45\t0.8\t0\nsingle\t1\tsamples\t10000\t0.4\t0.35\t0.5\t0\n");
    double unused_x, unused_y;
    const char *right = find_text(svg, "milliseconds since the start (logarithmic)", &unused_x, &unused_y);
    const struct axis y = axis_of(svg, true, "0.5", "2", false), s = axis_of(svg, false, "1", "100", true);
    const struct axis n = axis_of(right, false, "10", "1000", true);

    check_curve(svg, BLACK, &s, &y, seconds, 5);
    check_curve(svg, BLACK, &n, &y, samples, 3);
    has_text(right, "samples of all workers (logarithmic)");
    has_text(svg, NOTE);
}

/* Losses over two decades: their axis is logarithmic, and a straight descent on it none that falls at the start. */
KIT_TEST(losses_over_decades_have_a_logarithmic_axis)
{
    static const struct place rows[] = { { 1, 2, 1.5, 2.2 }, { 5, 0.2, 0.15, 0.3 }, { 9, 0.02, 0.015, 0.03 } };
    const char *svg =
        drawn(*state, "loss",
              LOSS "single\t1\tseconds\t1\t2\t1.5\t2.2\t0\nsingle\t1\tseconds\t5\t0.2\t0.15\t0.3\t0\n"
                   "single\t1\tseconds\t9\t0.02\t0.015\t0.03\t0\nsingle\t1\tsamples\t10\t2\t1.5\t2.2\t0\n"
                   "single\t1\tsamples\t50\t0.2\t0.15\t0.3\t0\nsingle\t1\tsamples\t90\t0.02\t0.015\t0.03\t0\n");
    const struct axis y = axis_of(svg, true, "0.1", "1", true), s = axis_of(svg, false, "2", "8", false);

    check_curve(svg, BLACK, &s, &y, rows, 3);
    has_text(svg, "training loss (logarithmic)");
    has_text(svg, "seconds since the start");
}

/* The band of launches some of which diverged goes up to the top; where most did there is no median. */
KIT_TEST(diverged_launches_open_the_band)
{
    const char *svg = drawn(*state, "loss",
                            LOSS "ps\t2\tseconds\t1\t2\t1.5\t2.5\t0\nps\t2\tseconds\t2\t1\t0.5\tnan\t0\n"
                                 "ps\t2\tseconds\t3\tnan\t0.4\tnan\t0\nps\t2\tsamples\t1\t2\t1.5\t2.5\t0\n"
                                 "ps\t2\tsamples\t2\t1\t0.5\t1.5\t0\nps\t2\tsamples\t3\t1\t0.4\t1.5\t0\n");
    const struct axis y = axis_of(svg, true, "0.5", "2", false), s = axis_of(svg, false, "1", "2", false);
    const double top = 2.5 * 1.05; /* of the highest number there is */

    has_corner(plots(svg), ORANGE, place(&s, 2), place(&y, 1), 2, 2);
    has_band(plots(svg), ORANGE, place(&s, 2), place(&y, 0.5));
    has_band(plots(svg), ORANGE, place(&s, 2), place(&y, top));
    assert_int_equal(count_marks(plots(svg), ORANGE, NAN, NAN, 0, NULL), 2 + 3); /* a few rows have points too */
}

SVG_MAIN("loss chart")
