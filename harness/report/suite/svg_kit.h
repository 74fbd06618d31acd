/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg_kit.h - what gnuplot drew, read from its SVG: points, lines, bars and texts at the places that the labels of the
 * ticks give them, in the colour of their mode. Tests only.
 */
#ifndef HARNESS_REPORT_SUITE_SVG_KIT_H
#define HARNESS_REPORT_SUITE_SVG_KIT_H

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/report/chart.h"
#include "harness/report/suite/report_kit.h"

#define BLACK "rgb(  0,   0,   0)"
#define ORANGE "rgb(213,  94,   0)"
#define BLUE "rgb(  0, 114, 178)"
#define GREEN "rgb(  0, 158, 115)"
#define GREY "rgb(160, 160, 160)"
#define DARK "rgb( 64,  64,  64)"
#define WHITE "rgb(255, 255, 255)"

/* Draw a table by a script; its SVG, lent until the next call. var: beside those that all charts have here. */
static inline const char *svg_drawn_with(struct kit *k, const char *script, const char *table,
                                         const struct chart_var *var, int n_vars)
{
    struct chart_var all[16] = { { "model", "a model" },       { "scaling", "batch 32 per worker" },
                                 { "machine", "a machine" },   { "launches", "3" },
                                 { "exchange", "overlap on" }, { "peak_gflop_per_s", "100" },
                                 { "peak_gb_per_s", "10" } };
    char path[KIT_PATH_BYTES];

    assert_true(kit_write(k, "data.tsv", table));
    snprintf(path, sizeof path, "%s", kit_path(k, "data.tsv"));
    for (int i = 0; i < n_vars; i++)
        all[7 + i] = var[i];
    if (chart_draw(script, path, k->dir, "picture", all, 7 + n_vars) != RC_OK)
        fail_msg("%s", rc_message());
    return kit_read(k, "picture.svg");
}

static inline const char *drawn(struct kit *k, const char *script, const char *table)
{
    return svg_drawn_with(k, script, table, NULL, 0);
}

static inline bool text_is(const char *at,
                           const char *expected) /* at: "<text...>"; blanks before the text do not count */
{
    const size_t n = strlen(expected);

    at = strchr(at, '>') + 1;
    at += strspn(at, " ");
    return strncmp(at, expected, n) == 0 && strncmp(at + n, "</text>", 7) == 0;
}

/* The position of a text: the end of its base line that it is anchored at. */
static inline const char *find_text(const char *svg, const char *expected, double *x, double *y)
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
static inline double tick(const char *svg, bool is_y, const char *label)
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

static inline struct axis axis_of(const char *svg, bool is_y, const char *label, const char *other_label, bool is_log)
{
    const double first = strtod(label, NULL), second = strtod(other_label, NULL);
    const double v1 = is_log ? log(first) : first, v2 = is_log ? log(second) : second;
    const double p1 = tick(svg, is_y, label), p2 = tick(svg, is_y, other_label);

    return (struct axis){ p1, v1, (p2 - p1) / (v2 - v1), is_log };
}

static inline double place(const struct axis *a, double value)
{
    return a->pixel + ((a->is_log ? log(value) : value) - a->value) * a->pixels_per_value;
}

static inline const char *plots(const char *svg) /* what comes behind axes and legend */
{
    const char *at = strstr(svg, "<g id=\"gnuplot_plot_");

    assert_non_null(at);
    return at;
}

/* Number of points of a colour within error_px of a place; error_px is that of x, that of y 2 px. NaN: anywhere.
 * *scale: of the last one. */
static inline int count_marks(const char *svg, const char *colour, double x, double y, double error_px, double *scale)
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

static inline void has_mark(const char *svg, const char *colour, double x, double y, double error_px)
{
    if (count_marks(svg, colour, x, y, error_px, NULL) == 0)
        fail_msg("no point of %s at %.1f, %.1f", colour, x, y);
}

/* A line of a colour has a corner there. */
static inline void has_corner(const char *svg, const char *colour, double x, double y, double error_px,
                              double y_error_px)
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

/* A filled area of a colour has a corner there. */
static inline void has_area_corner(const char *svg, const char *colour, double x, double y)
{
    for (const char *at = svg; (at = strstr(at, "<polygon ")) != NULL; at++) {
        const char *points = strstr(at, "points = '"), *fill = strstr(at, "fill = '");
        if (!fill || strncmp(fill + 8, colour, strlen(colour)) != 0 || !points)
            continue;
        double its_x, its_y;
        int n = 0;
        for (points += 10; sscanf(points, "%lf,%lf%n", &its_x, &its_y, &n) == 2; points += n)
            if (fabs(its_x - x) <= 1.5 && fabs(its_y - y) <= 1.5)
                return;
    }
    fail_msg("no area of %s has a corner at %.1f, %.1f", colour, x, y);
}

/* A filled rectangle of a colour (or "url(#gpPat": hatched) from x to x_end at a height. */
static inline void has_bar(const char *svg, const char *colour, double x, double x_end, double y)
{
    for (const char *at = svg; (at = strstr(at, "<polygon ")) != NULL; at++) {
        const char *points = strstr(at, "points = '"), *fill = strstr(at, "fill = '");
        double px[8];
        if (!fill || strncmp(fill + 8, colour, strlen(colour)) != 0 || !points ||
            sscanf(points, "points = '%lf,%lf %lf,%lf %lf,%lf %lf,%lf", px, px + 1, px + 2, px + 3, px + 4, px + 5,
                   px + 6, px + 7) != 8)
            continue;
        if (fabs(fmin(px[0], px[2]) - x) <= 1.5 && fabs(fmax(px[0], px[2]) - x_end) <= 1.5 && fmin(px[1], px[5]) <= y &&
            y <= fmax(px[1], px[5]))
            return;
    }
    fail_msg("no bar of %s from %.1f to %.1f at height %.1f", colour, x, x_end, y);
}

static inline void has_text(const char *svg, const char *expected)
{
    double x, y;

    find_text(svg, expected, &x, &y);
}

/* A sample of the colour is left of its name in the legend. */
static inline void legend_has_point(const char *svg, const char *name, const char *colour)
{
    double x, y;

    find_text(svg, name, &x, &y);
    has_mark(svg, colour, x - 28.8, y - 7.15, 3);
}

static inline bool has_no_text(const char *svg, const char *part)
{
    return strstr(svg, part) == NULL;
}

/* The dashes of the first line of a colour; "": it is solid. Into out[40]. */
static inline const char *dashes_of(const char *svg, const char *colour, char out[40])
{
    static const char NAME[] = "stroke-dasharray='";

    for (const char *at = svg; (at = strstr(at, "<path stroke='")) != NULL; at++) {
        const char *end = strchr(at, '>'), *dashes = strstr(at, NAME);
        if (strncmp(at + 14, colour, strlen(colour)) != 0)
            continue;
        out[0] = '\0';
        if (dashes && dashes < end)
            (void)sscanf(dashes + sizeof NAME - 1, "%39[0-9.,]", out);
        return out;
    }
    fail_msg("no line of %s", colour);
    return NULL;
}

/* UNIT_MAIN of a test of charts. */
#define SVG_MAIN(name)                                           \
    int main(void)                                               \
    {                                                            \
        unsetenv("GRADMARK_SHARE_DIR");                          \
        if (chart_available())                                   \
            return unit_run(name, NULL, NULL, NULL);             \
        fprintf(stderr, "skipped: gnuplot cannot be started\n"); \
        return 77;                                               \
    }

#endif
