/* SPDX-License-Identifier: Apache-2.0 */
/* heat_map_test.c - the picture of all pairs, read back from its SVG; figures of nodes. */
#include "harness/accept/heat_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/suite/names.h"

enum { GRID_X = 180, GRID_Y = 160, GRID_PX = 620 };

static char *drawn(const struct acceptance *a, enum pair_figure of)
{
    char *svg = NULL;
    size_t n_bytes = 0;

    assert_int_equal(heat_map_svg(&svg, &n_bytes, a, of), RC_OK);
    assert_non_null(svg);
    assert_int_equal(strlen(svg), n_bytes);
    return svg;
}

/* The class of a cell: of which path a run covers its middle. -2: of none. */
static int class_of(const char *svg, int n_cells, int row, int column)
{
    const double px = (double)GRID_PX / n_cells, x = GRID_X + (column + 0.5) * px, y = GRID_Y + (row + 0.5) * px;
    int class, found = -2;

    for (const char *path = svg; (path = strstr(path, "<path class=\"c")) != NULL; path++) {
        const char *end = strchr(path, '>');
        assert_int_equal(sscanf(path, "<path class=\"c%d\"", &class), 1);
        for (const char *run = strchr(path, 'M'); run && run < end; run = strchr(run + 1, 'M')) {
            double left, top, width, height;
            if (sscanf(run, "M%lf %lfh%lfv%lf", &left, &top, &width, &height) != 4 || x < left || x > left + width ||
                y < top || y > top + height)
                continue;
            assert_int_equal(found, -2); /* one class at most */
            found = class;
        }
    }
    return found;
}

static void is_near(double x, double expected, double error)
{
    if (!(fabs(x - expected) <= error))
        fail_msg("%.9g is not %.9g", x, expected);
}

static void has(const char *svg, const char *part)
{
    if (!strstr(svg, part))
        fail_msg("nothing is: %s", part);
}

UNIT_TEST(classes_are_of_the_ratio_M1)
{
    static const double rate[] = { 1.5, 0.95, 0.949, 0.9, 0.85, 0.75, 0.65, 0.55, 0.5, 0.49, 0 };
    static const int of_rate[] = { 0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 6 };
    static const double latency[] = { 0.5, 1.1, 1.11, 1.25, 1.4, 1.9, 2.5, 4, 5, 5.1, 100 };
    static const int of_latency[] = { 0, 0, 1, 1, 2, 3, 4, 5, 5, 6, 6 };

    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++) {
        assert_int_equal(heat_map_class(PAIR_RATE, rate[i]), of_rate[i]);
        assert_int_equal(heat_map_class(PAIR_LATENCY, latency[i]), of_latency[i]);
    }
    assert_int_equal(heat_map_class(PAIR_RATE, NAN), -1);
}

/* Brightness of a class as a grey picture has it. */
static double grey_of(const char *svg, int class)
{
    char begin[40];
    unsigned red, green, blue;

    snprintf(begin, sizeof begin, "<path class=\"c%d\" fill=\"", class);
    const char *fill = strstr(svg, begin);
    if (!fill || sscanf(fill + strlen(begin), "#%2x%2x%2x", &red, &green, &blue) != 3)
        fail_msg("no colour of class %d", class);
    return 0.299 * red + 0.587 * green + 0.114 * blue;
}

UNIT_TEST(colours_read_without_colours_M1)
{
    struct acceptance a;

    kit_acceptance(&a, 0);
    char *svg = drawn(&a, PAIR_RATE);
    for (int class = 1; class < HEAT_MAP_N_CLASSES; class ++)
        assert_true(grey_of(svg, class) < grey_of(svg, class - 1) - 12);
    free(svg);
    acceptance_close(&a);
}

UNIT_TEST(cells_are_where_their_pairs_are)
{
    static const int of_rate[4][4] = { { -1, 0, 4, 5 }, { 0, -1, 4, 0 }, { 4, 4, -1, 4 }, { 5, 0, 4, -1 } };
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_LINK);
    *tournament_rate(&a.tournament, 0, 1, 0) = NAN; /* the median of 101 and 102 */
    *tournament_rate(&a.tournament, 1, 3, 1) = *tournament_rate(&a.tournament, 0, 3, 1) = 91e6;
    char *svg = drawn(&a, PAIR_RATE);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            assert_int_equal(class_of(svg, 4, i, j), i == 3 && j == 1 ? 1 : of_rate[i][j]);
    has(svg, ">Rate from row to column, MB/s, of 4 nodes, median of 3 repeats</text>");
    has(svg, ">sending node</text>");
    has(svg, ">receiving node</text>");
    has(svg, ">Of the best quarter, 101 MB/s</text>");
    has(svg, ">at least 95 %  (95.95)</text>");
    has(svg, ">60 % to 70 %  (60.6 to 70.7)</text>");
    has(svg, ">below 50 %  (50.5)</text>");
    assert_int_equal(n_times(svg, ">60.6</text>"), 6);
    assert_int_equal(n_times(svg, ">50.5</text>"), 2);
    has(svg, ">102</text>"); /* 101.5 */
    has(svg, ">91</text>");
    free(svg);
    acceptance_close(&a);
}

UNIT_TEST(latencies_are_worse_when_longer)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_LINK);
    char *svg = drawn(&a, PAIR_LATENCY);
    assert_int_equal(class_of(svg, 4, 0, 3), 3);
    assert_int_equal(class_of(svg, 4, 3, 0), 3);
    assert_int_equal(class_of(svg, 4, 0, 1), 0);
    assert_int_equal(n_times(svg, ">40</text>"), 2);
    assert_int_equal(n_times(svg, ">20</text>"), 10);
    has(svg, ">One-way latency, us, of 4 nodes, median of 3 repeats</text>");
    has(svg, ">at most 110 %  (22)</text>");
    has(svg, ">150 % to 200 %  (30 to 40)</text>");
    free(svg);
    acceptance_close(&a);
}

UNIT_TEST(blamed_ones_are_marked_M4)
{
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_LINK | FAULT_IN_RANK);
    char *svg = drawn(&a, PAIR_RATE);
    assert_int_equal(n_times(svg, "<rect class=\"blamed\""), 4); /* two frames of two strokes */
    has(svg, "<rect class=\"blamed\" x=\"642.5\" y=\"157.5\" width=\"160\" height=\"160\""); /* host1 to host4 */
    has(svg, "<rect class=\"blamed\" x=\"177.5\" y=\"622.5\" width=\"160\" height=\"160\""); /* and back */
    assert_int_equal(n_times(svg, "<path class=\"blamed\""), 2); /* of host3 alone: rank 3 is slow elsewhere */
    assert_int_equal(n_times(svg, "font-weight=\"bold\">host3</text>"), 2);
    has(svg, "<path class=\"blamed\" d=\"M178 547.5l-11 -6v12z\"/>");
    free(svg);
    a.finding[1].both_ways = false;
    svg = drawn(&a, PAIR_RATE);
    assert_int_equal(n_times(svg, "<rect class=\"blamed\""), 2);
    free(svg);
    svg = drawn(&a, PAIR_LATENCY); /* the link and the node are slow, not late */
    assert_int_equal(n_times(svg, "class=\"blamed\""), 0);
    free(svg);
    acceptance_close(&a);
}

UNIT_TEST(what_was_not_measured_is_hatched_M3)
{
    struct acceptance a;
    char *svg = NULL;
    size_t n_bytes;

    kit_fleet(&a, 3);
    *tournament_rate(&a.tournament, 0, 0, 1) = NAN;
    svg = drawn(&a, PAIR_RATE);
    assert_int_equal(class_of(svg, 3, 0, 1), -1);
    assert_int_equal(class_of(svg, 3, 1, 0), 0);
    has(svg, "<path class=\"c-1\" fill=\"url(#none)\"");
    free(svg);
    for (int i = 0; i < 9; i++)
        a.tournament.latency_s[i] = NAN;
    assert_int_equal(heat_map_svg(&svg, &n_bytes, &a, PAIR_LATENCY), RC_OK);
    assert_null(svg);
    acceptance_close(&a);
}

UNIT_TEST(names_are_text_and_are_cut)
{
    struct acceptance a;

    kit_acceptance(&a, 0);
    snprintf(a.node[0].name, sizeof a.node[0].name, "<&\"'\n>");
    snprintf(a.node[1].name, sizeof a.node[1].name, "a-name-that-is-quite-long");
    snprintf(a.node[2].name, sizeof a.node[2].name, "12345678901234567\xc3\xa9xyz");
    char *svg = drawn(&a, PAIR_RATE);
    assert_int_equal(n_times(svg, ">&lt;&amp;&quot;&#39;?&gt;</text>"), 2);
    assert_int_equal(n_times(svg, ">a-name-that-is-qui ...</text>"), 2);
    assert_int_equal(n_times(svg, ">12345678901234567\xc3\xa9 ...</text>"), 2);
    free(svg);
    acceptance_close(&a);
}

/* 2 to 512: every pair is in the picture, a slow one in its cell (accept.M2). */
UNIT_TEST(fleets_of_any_number_have_a_map_M2)
{
    static const int n_nodes[] = { 2, 3, 16, 17, 64, 65, 128, 129, 300, 512 };

    for (size_t k = 0; k < sizeof n_nodes / sizeof *n_nodes; k++) {
        const int n = n_nodes[k], group = heat_map_group(n), n_cells = (n + group - 1) / group;
        struct acceptance a;
        assert_true(n_cells <= HEAT_MAP_MOST_CELLS && (n <= HEAT_MAP_MOST_CELLS) == (group == 1));
        kit_fleet(&a, n);
        *tournament_rate(&a.tournament, 0, 0, n - 1) = 55e6;
        char *svg = drawn(&a, PAIR_RATE);
        assert_int_equal(class_of(svg, n_cells, 0, n_cells - 1), 5);
        assert_int_equal(class_of(svg, n_cells, n_cells - 1, 0), 0);
        assert_int_equal(class_of(svg, n_cells, n_cells / 2, 0), 0);
        has(svg, group > 1 ? "a cell is the slowest of " : "median of 1 repeat</text>");
        assert_true(strlen(svg) < 300000);
        free(svg);
        acceptance_close(&a);
    }
}

UNIT_TEST(labels_leave_room)
{
    struct acceptance a;

    kit_fleet(&a, 64);
    const struct finding f = { ACCEPT_PAIRWISE, SUBJECT_NODE, 5, 0, false, "bytes_per_s", "byte/s", 1, 2, 0.1, "" };
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    char *svg = drawn(&a, PAIR_RATE);
    assert_int_equal(n_times(svg, ">node002</text>"), 2);
    assert_int_equal(n_times(svg, ">node003</text>"), 0);                                   /* each second one */
    assert_int_equal(n_times(svg, ">node005</text>"), 2);                                   /* blamed */
    assert_int_equal(n_times(svg, ">node004</text>") + n_times(svg, ">node006</text>"), 0); /* beside it */
    assert_int_equal(n_times(svg, ">node008</text>"), 2);
    free(svg);
    acceptance_close(&a);
}

/* --- figures of nodes --- */

UNIT_TEST(nodes_are_judged_by_healthy_pairs)
{
    struct node_figures f[4];
    struct acceptance a;

    kit_acceptance(&a, FAULT_IN_NODE | FAULT_IN_LINK | FAULT_IN_RANK);
    assert_int_equal(node_figures_all(f, &a), RC_OK);
    for (int i = 0; i < 4; i++) {
        is_near(f[i].rate_out_bytes_per_s, i == 2 ? 60.6e6 : 101e6, 1);
        is_near(f[i].rate_in_bytes_per_s, i == 2 ? 60.6e6 : 101e6, 1);
        is_near(f[i].latency_s, 20e-6, 1e-12);
        is_near(f[i].rank_value[METRIC_GEMM], i == 1 ? 35e9 : 50e9, 1);
        is_near(f[i].rank_value[METRIC_DETOUR], i == 3 ? 0.001005 : 0.001, 1e-12);
        assert_true(isnan(f[i].rank_value[METRIC_STEP_WAIT]));
    }
    acceptance_close(&a);
}

/* Where all others are blamed they are all that there is. */
UNIT_TEST(a_node_without_healthy_pairs_is_judged_by_all)
{
    struct acceptance a;
    double rates[8];

    kit_acceptance(&a, FAULT_IN_NODE);
    assert_false(is_judged_by_pair(&a, 0, 2));
    assert_true(is_judged_by_pair(&a, 0, 1));
    assert_true(is_judged_by_pair(&a, 2, 0));
    assert_false(is_judged_by_pair(&a, 0, 0));
    assert_int_equal(node_rates(rates, &a, 0, true), 6);
    *tournament_rate(&a.tournament, 0, 0, 1) = 0; /* of a file */
    assert_int_equal(node_rates(rates, &a, 0, true), 5);
    acceptance_close(&a);
    kit_fleet(&a, 2);
    const struct finding f = { ACCEPT_PAIRWISE, SUBJECT_LINK, 0, 1, true, "bytes_per_s", "byte/s", 1, 2, 0.1, "" };
    assert_int_equal(acceptance_add_finding(&a, &f), RC_OK);
    assert_true(is_judged_by_pair(&a, 0, 1));
    acceptance_close(&a);
}

UNIT_TEST(the_best_quarter_is_above_slow_ones)
{
    double rates[] = { 60, 100, 60, NAN, 60, 101, 60, 60, 102 }, two[] = { 55, 100 }, none[] = { NAN };
    double latencies[] = { 4, 1, 3, 2, 5 };

    is_near(best_quarter(rates, 9, PAIR_RATE), 101, 0);
    is_near(best_quarter(latencies, 5, PAIR_LATENCY), 2, 0);
    is_near(best_quarter(two, 2, PAIR_RATE), 100, 0);
    assert_true(isnan(best_quarter(none, 1, PAIR_RATE)));
}

UNIT_MAIN("heat_map")
