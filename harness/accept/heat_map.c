/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heat_map.c - a picture of all pairs of nodes: the row sends, the column receives; darker is worse; see heat_map.h.
 */
#include "harness/accept/heat_map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/report_words.h"
#include "harness/report/xml.h"

enum {
    GRID_X = 180,
    GRID_Y = 160,
    GRID_PX = 620,
    LEGEND_X = GRID_X + GRID_PX + 24,
    LABEL_PX = 13,     /* least distance of two labels */
    NAME_CHARS = 18,   /* longer names are cut */
    MOST_NUMBERS = 16, /* cells in a row that have room for a number */
    MOST_GRID_LINES = 64
};

struct colour {
    const char *fill, *ink;
};
static const struct colour colours[HEAT_MAP_N_CLASSES] = { { "#f5f2e6", "#000" }, { "#dfe3c0", "#000" },
                                                           { "#b9d3a4", "#000" }, { "#79b5a1", "#000" },
                                                           { "#3f8ea6", "#fff" }, { "#2b5c94", "#fff" },
                                                           { "#1b1f5c", "#fff" } };

/* Where a class ends, of the ratio to the best quarter: a class holds its border. */
static const double rate_border[] = { 0.95, 0.9, 0.8, 0.7, 0.6, 0.5 };
static const double latency_border[] = { 1.1, 1.25, 1.5, 2, 3, 5 };

int heat_map_class(enum pair_figure of, double ratio)
{
    int class = 0;

    if (isnan(ratio))
        return -1;
    while (class < HEAT_MAP_N_CLASSES - 1 &&
           (of == PAIR_RATE ? ratio < rate_border[class] : ratio > latency_border[class]))
        class ++;
    return class;
}

int heat_map_group(int n_nodes)
{
    return (n_nodes + HEAT_MAP_MOST_CELLS - 1) / HEAT_MAP_MOST_CELLS;
}

struct map {
    const struct acceptance *of;
    enum pair_figure figure;
    int n_cells, group; /* cells in a row; nodes that share one */
    double *cell;       /* [n_cells][n_cells] */
    double best, cell_px;
    FILE *to;
};

static bool is_worse(enum pair_figure of, double x, double y)
{
    return of == PAIR_RATE ? x < y : x > y;
}

/* accept.M2 */
static void fill_cells(struct map *m, const double *pair)
{
    const size_t n = (size_t)m->of->n_nodes;

    for (int i = 0; i < m->n_cells * m->n_cells; i++)
        m->cell[i] = NAN;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double *cell = &m->cell[i / (size_t)m->group * (size_t)m->n_cells + j / (size_t)m->group];
            const double x = pair[i * n + j];
            if (!isnan(x) && (isnan(*cell) || is_worse(m->figure, x, *cell)))
                *cell = x;
        }
}

static enum rc map_open(struct map *m, const struct acceptance *a, enum pair_figure of)
{
    const size_t n = (size_t)a->n_nodes;
    double *pair = malloc(n * n * sizeof *pair);
    enum rc rc = RC_OK;

    *m = (struct map){ .of = a, .figure = of, .group = heat_map_group(a->n_nodes) };
    m->n_cells = (a->n_nodes + m->group - 1) / m->group;
    m->cell_px = (double)GRID_PX / m->n_cells;
    m->cell = malloc((size_t)m->n_cells * (size_t)m->n_cells * sizeof *m->cell);
    if (!pair || !m->cell)
        FAIL(RC_NOMEM, "no memory for a map of %zu nodes", n);
    pair_medians(pair, &a->tournament, of);
    fill_cells(m, pair);
    m->best = best_quarter(pair, n * n, of); /* changes the order */
out:
    free(pair);
    return rc;
}

/* --- the grid --- */

static int class_at(const struct map *m, int row, int column)
{
    return heat_map_class(m->figure, m->cell[row * m->n_cells + column] / m->best);
}

/* One path for all cells of a class, or of none (-1), neighbours in a row as one. */
static void draw_class(const struct map *m, int class)
{
    fprintf(m->to, "<path class=\"c%d\" fill=\"%s\" d=\"", class, class < 0 ? "url(#none)" : colours[class].fill);
    for (int row = 0; row < m->n_cells; row++)
        for (int column = 0; column < m->n_cells;) {
            int end = column;
            while (end < m->n_cells && class_at(m, row, end) == class)
                end++;
            if (end > column)
                fprintf(m->to, "M%.6g %.6gh%.6gv%.6gh-%.6gz", GRID_X + column * m->cell_px, GRID_Y + row * m->cell_px,
                        (end - column) * m->cell_px, m->cell_px, (end - column) * m->cell_px);
            column = end > column ? end : column + 1;
        }
    fputs("\"/>\n", m->to);
}

static void draw_numbers(const struct map *m)
{
    const double scale = m->figure == PAIR_RATE ? 1e-6 : 1e6, font_px = fmin(18, m->cell_px * 0.32);

    for (int row = 0; row < m->n_cells; row++)
        for (int column = 0; column < m->n_cells; column++) {
            const int class = class_at(m, row, column);
            if (class >= 0)
                fprintf(m->to,
                        "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%.4g\" text-anchor=\"middle\" "
                        "fill=\"%s\">%.3g</text>\n",
                        GRID_X + (column + 0.5) * m->cell_px, GRID_Y + (row + 0.5) * m->cell_px + font_px * 0.35,
                        font_px, colours[class].ink, m->cell[row * m->n_cells + column] * scale);
        }
}

static void draw_grid(const struct map *m)
{
    fprintf(m->to, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", GRID_X, GRID_Y, GRID_PX,
            GRID_PX, colours[0].fill); /* of a picture that is scaled, what is between two rows */
    for (int class = -1; class < HEAT_MAP_N_CLASSES; class ++)
        draw_class(m, class);
    fputs("<path stroke=\"#999\" stroke-width=\"0.6\" fill=\"none\" d=\"", m->to);
    for (int i = 0; i <= m->n_cells; i += m->n_cells <= MOST_GRID_LINES ? 1 : m->n_cells)
        fprintf(m->to, "M%d %.6gh%dM%.6g %dv%d", GRID_X, GRID_Y + i * m->cell_px, GRID_PX, GRID_X + i * m->cell_px,
                GRID_Y, GRID_PX);
    fputs("\"/>\n", m->to);
    if (m->n_cells <= MOST_NUMBERS)
        draw_numbers(m);
}

/* --- what is blamed (accept.M4) --- */

static void frame(const struct map *m, int from, int to)
{
    const int column = to / m->group, row = from / m->group;
    const double x = GRID_X + column * m->cell_px, y = GRID_Y + row * m->cell_px;

    for (int i = 0; i < 2; i++) /* black on white: seen on any colour */
        fprintf(m->to,
                "<rect class=\"blamed\" x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"none\" "
                "stroke=\"%s\" stroke-width=\"%d\"/>\n",
                x - 2.5, y - 2.5, m->cell_px + 5, m->cell_px + 5, i == 0 ? "#fff" : "#000", i == 0 ? 7 : 3);
}

/* Does the finding blame what this map shows? Lost messages come late. */
static bool is_of_map(const struct map *m, const struct finding *f)
{
    return f->stage == ACCEPT_PAIRWISE && (strstr(f->metric, "late") != NULL) == (m->figure == PAIR_LATENCY);
}

static void draw_frames(const struct map *m)
{
    for (int i = 0; i < m->of->n_findings; i++) {
        const struct finding *f = &m->of->finding[i];
        if (!is_of_map(m, f) || f->subject != SUBJECT_LINK)
            continue;
        frame(m, f->a, f->b);
        if (f->both_ways)
            frame(m, f->b, f->a);
    }
}

/* Does the pairwise stage blame a node of this row and column? */
static bool is_blamed(const struct map *m, int cell)
{
    for (int i = 0; i < m->of->n_findings; i++) {
        const struct finding *f = &m->of->finding[i];
        if (is_of_map(m, f) && f->subject == SUBJECT_NODE && f->a / m->group == cell)
            return true;
    }
    return false;
}

/* --- labels --- */

/* "host3", or "host0 ..." of several; cut to NAME_CHARS letters. */
static void cell_name(char out[ACCEPT_NAME_BYTES + 8], const struct map *m, int cell)
{
    size_t n = 0;

    line_text(out, ACCEPT_NAME_BYTES, m->of->node[cell * m->group].name);
    for (int i = 0; i < NAME_CHARS && out[n]; i++) {
        const size_t n_next = utf8_sequence_bytes(out + n, strlen(out + n));
        n += n_next > 0 ? n_next : 1;
    }
    snprintf(out + n, ACCEPT_NAME_BYTES + 8 - n, "%s", out[n] || m->group > 1 ? " ..." : "");
}

static void draw_label(const struct map *m, int cell, bool is_marked)
{
    const double middle = (cell + 0.5) * m->cell_px;
    char name[ACCEPT_NAME_BYTES + 8];

    cell_name(name, m, cell);
    fprintf(m->to, "<text x=\"%d\" y=\"%.6g\" text-anchor=\"end\"%s>", GRID_X - 16, GRID_Y + middle + 4,
            is_marked ? " font-weight=\"bold\"" : "");
    xml_text(m->to, name);
    fprintf(m->to, "</text>\n<text transform=\"translate(%.6g,%d) rotate(-60)\"%s>", GRID_X + middle + 4, GRID_Y - 16,
            is_marked ? " font-weight=\"bold\"" : "");
    xml_text(m->to, name);
    fputs("</text>\n", m->to);
    if (is_marked)
        fprintf(
            m->to,
            "<path class=\"blamed\" d=\"M%d %.6gl-11 -6v12z\"/>\n<path class=\"blamed\" d=\"M%.6g %dl-6 -11h12z\"/>\n",
            GRID_X - 2, GRID_Y + middle, GRID_X + middle, GRID_Y - 2);
}

/* Labels that have room, and of blamed nodes always, which others give way to. */
static void draw_labels(const struct map *m)
{
    const int every = (int)ceil(LABEL_PX / m->cell_px);

    for (int cell = 0; cell < m->n_cells; cell++) {
        const bool is_marked = is_blamed(m, cell);
        bool has_room = cell % every == 0;
        for (int k = cell - every + 1; k < cell + every && !is_marked; k++)
            has_room = has_room && (k < 0 || k >= m->n_cells || k == cell || !is_blamed(m, k));
        if (has_room || is_marked)
            draw_label(m, cell, is_marked);
    }
    fprintf(m->to, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"15\">%s</text>\n", GRID_X + GRID_PX / 2,
            GRID_Y + GRID_PX + 26, m->figure == PAIR_RATE ? "receiving node" : "the other node");
    fprintf(m->to,
            "<text transform=\"translate(%d,%d) rotate(-90)\" text-anchor=\"middle\" font-size=\"15\">%s</text>\n", 22,
            GRID_Y + GRID_PX / 2, m->figure == PAIR_RATE ? "sending node" : "node");
}

/* --- title and legend --- */

static void draw_title(const struct map *m)
{
    char note[128] = "";

    if (m->group > 1)
        snprintf(note, sizeof note, "; a cell is the %s of %d x %d pairs",
                 m->figure == PAIR_RATE ? "slowest" : "longest", m->group, m->group);
    fprintf(m->to, "<text x=\"16\" y=\"32\" font-size=\"20\">%s of %d nodes, median of %d repeat%s%s</text>\n",
            m->figure == PAIR_RATE ? "Rate from row to column, MB/s," : "One-way latency, us,", m->of->n_nodes,
            m->of->tournament.n_repeats, m->of->tournament.n_repeats == 1 ? "" : "s", note);
}

/* "90 % to 95 %  (105.7 to 111.5)" */
static void class_text(char *out, size_t n_bytes, const struct map *m, int class)
{
    const double *border = m->figure == PAIR_RATE ? rate_border : latency_border;
    const double scale = m->best * (m->figure == PAIR_RATE ? 1e-6 : 1e6);
    const bool is_rate = m->figure == PAIR_RATE;

    if (class == 0)
        snprintf(out, n_bytes, "%s %g %%  (%.4g)", is_rate ? "at least" : "at most", 100 * border[0],
                 border[0] * scale);
    else if (class == HEAT_MAP_N_CLASSES - 1)
        snprintf(out, n_bytes, "%s %g %%  (%.4g)", is_rate ? "below" : "above", 100 * border[class - 1],
                 border[class - 1] * scale);
    else
        snprintf(out, n_bytes, "%g %% to %g %%  (%.4g to %.4g)", 100 * border[is_rate ? class : class - 1],
                 100 * border[is_rate ? class - 1 : class], border[is_rate ? class : class - 1] * scale,
                 border[is_rate ? class - 1 : class] * scale);
}

static void legend_entry(const struct map *m, int row, const char *fill, const char *text)
{
    const int y = GRID_Y + 56 + 30 * row;

    if (fill)
        fprintf(m->to, "<rect x=\"%d\" y=\"%d\" width=\"22\" height=\"22\" fill=\"%s\" stroke=\"#999\"/>\n", LEGEND_X,
                y - 16, fill);
    fprintf(m->to, "<text x=\"%d\" y=\"%d\" font-size=\"14\">%s</text>\n", LEGEND_X + 32, y, text);
}

static void draw_legend(const struct map *m)
{
    const int y = GRID_Y + 56 + 30 * (HEAT_MAP_N_CLASSES + 1);
    char text[96];

    snprintf(text, sizeof text, "Of the best quarter, %.4g %s", m->best * (m->figure == PAIR_RATE ? 1e-6 : 1e6),
             m->figure == PAIR_RATE ? "MB/s" : "us");
    fprintf(m->to, "<text x=\"%d\" y=\"%d\" font-size=\"14\">%s</text>\n", LEGEND_X, GRID_Y + 14, text);
    for (int class = 0; class < HEAT_MAP_N_CLASSES; class ++) {
        class_text(text, sizeof text, m, class);
        legend_entry(m, class, colours[class].fill, text);
    }
    legend_entry(m, HEAT_MAP_N_CLASSES, "url(#none)", "not measured, or itself");
    fprintf(m->to,
            "<rect x=\"%d\" y=\"%d\" width=\"20\" height=\"20\" fill=\"none\" stroke=\"#000\" stroke-width=\"3\"/>\n",
            LEGEND_X + 1, y + 15);
    legend_entry(m, HEAT_MAP_N_CLASSES + 2, NULL, "a link that is blamed");
    fprintf(m->to, "<path d=\"M%d %dl-11 -6v12z\"/>\n", LEGEND_X + 17, y + 54);
    legend_entry(m, HEAT_MAP_N_CLASSES + 3, NULL, "a node that is blamed");
}

enum rc heat_map_svg(char **out, size_t *n_bytes, const struct acceptance *a, enum pair_figure of)
{
    struct map m = { .cell = NULL };
    char *text = NULL;
    enum rc rc;

    *out = NULL;
    TRY(map_open(&m, a, of));
    if (isnan(m.best))
        goto out;
    m.to = open_memstream(&text, n_bytes);
    if (!m.to)
        FAIL(RC_NOMEM, "no memory for a map of %d nodes", a->n_nodes);
    fprintf(m.to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "font-family=\"DejaVu Sans,Verdana,sans-serif\" font-size=\"12\" shape-rendering=\"crispEdges\">\n"
            "<defs><pattern id=\"none\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
            "<rect width=\"6\" height=\"6\" fill=\"#fff\"/><path d=\"M0 6L6 0\" stroke=\"#888\" fill=\"none\"/>"
            "</pattern></defs>\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            HEAT_MAP_WIDTH_PX, HEAT_MAP_HEIGHT_PX, HEAT_MAP_WIDTH_PX, HEAT_MAP_HEIGHT_PX, HEAT_MAP_WIDTH_PX,
            HEAT_MAP_HEIGHT_PX);
    draw_title(&m);
    draw_grid(&m);
    draw_labels(&m);
    draw_frames(&m);
    draw_legend(&m);
    fputs("</svg>\n", m.to);
    if (fclose(m.to) != 0)
        FAIL(RC_NOMEM, "no memory for a map of %d nodes", a->n_nodes);
    *out = text;
    text = NULL;
out:
    free(text);
    free(m.cell);
    return rc;
}
