/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_diff_test.c - what changed between two acceptance tests. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/suite/printed.h"

/* In memory of the caller; closes both. */
static char *rows_of(struct acceptance *a, struct acceptance *b, bool all_rows, int n_worse)
{
    struct printed p;
    int n = -1;

    printed_begin(&p);
    assert_int_equal(acceptance_diff(a, b, all_rows, p.to, &n), RC_OK);
    char *text = printed_end(&p);
    assert_int_equal(n, n_worse);
    acceptance_close(a);
    acceptance_close(b);
    return text;
}

static char *compared(struct acceptance *a, struct acceptance *b, int n_worse)
{
    return rows_of(a, b, true, n_worse);
}

/* And frees it. */
static void has_all(char *text, const char *const *part)
{
    for (; *part; part++)
        if (!strstr(text, *part))
            fail_msg("nothing in\n%s\nis: %s", text, *part);
    free(text);
}

UNIT_TEST(equal_ones_have_no_difference)
{
    static const char *const parts[] = {
        "B is worse in 0 points.\nA: FAIL: 1 node is slow: host3\nB: FAIL: 1 node is slow: host3\n\nEvery criterion "
        "has the same outcome.\n"
        "\nThe findings are the same: 1.\n",
        "rate out            host3                     60.6 MB/s             60.6 MB/s  0.991 to 1.009  1.000\n", NULL
    };
    struct acceptance a, b;

    kit_acceptance(&a, FAULT_IN_NODE);
    kit_acceptance(&b, FAULT_IN_NODE);
    has_all(compared(&a, &b, 0), parts);
}

UNIT_TEST(what_became_worse_is_counted)
{
    static const char *const parts[] = {
        "\nCriteria with another outcome:\n"
        "stage     criterion         A         figure  B         figure  B is\n"
        "--------  ----------------  ----  ----------  ----  ----------  -----\n"
        "compute   flops_per_s       pass  50 Gflop/s  fail  35 Gflop/s  worse\n"
        "pairwise  pair_bytes_per_s  pass    101 MB/s  fail   60.6 MB/s  worse\n"
        "\nFound in B alone:\n  host3: it sends",
        "  rank 3 on host2 computes slowly (compute, flops_per_s: 35 Gflop/s, expected 50 Gflop/s: 70.0 %;\n"
        "    false-discovery rate 0.002).\n\nFigures:\n",
        "  0.595 to 0.605  0.600\n",
        "flops_per_s         host2                    50 Gflop/s            35 Gflop/s               -  0.700\n",
        "collective          1048576 bytes               90 MB/s               90 MB/s  0.957 to 1.045  1.000\n",
        "push and pull       1048576 bytes              180 MB/s              180 MB/s               -  1.000\n",
        "training            4 nodes              3720 samples/s        3720 samples/s  0.963 to 1.038  1.000\n",
        "B is worse in 4 points.\n",
        NULL
    };
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    kit_acceptance(&b, FAULT_IN_NODE | FAULT_IN_RANK);
    has_all(compared(&a, &b, 4), parts);
}

UNIT_TEST(what_became_better_is_not_worse)
{
    static const char *const parts[] = { "fail  60.6 MB/s  pass  101 MB/s  better\n",
                                         "\nFound in A alone:\n  host3: it sends", "1.667\n",
                                         "B is worse in 0 points.\n", NULL };
    struct acceptance a, b;

    kit_acceptance(&a, FAULT_IN_NODE);
    kit_acceptance(&b, 0);
    has_all(compared(&a, &b, 0), parts);
}

UNIT_TEST(no_data_is_worse_and_skipped_is_not)
{
    static const char *const parts[] = {
        "noise        detour_ratio                         pass       0.1005 % of the time  no data\n",
        "noise        detour_ratio                         0.1005 % of the time  worse\n",
        "training     efficiency_ratio                     pass                       93 %  skipped\n",
        "training     efficiency_ratio                                     93 %  -\n",
        "integrity    corruptions                          pass                          0  not asked\n",
        "integrity    corruptions                                             -  -\n",
        "integrity    others                               not asked                     -  pass\n",
        "integrity    others                                                  0  -\n",
        NULL
    };
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    kit_acceptance(&b, 0);
    b.criterion[1].outcome = OUTCOME_NO_DATA;
    b.criterion[5].outcome = OUTCOME_SKIPPED;
    snprintf(b.criterion[6].name, sizeof b.criterion[6].name, "others");
    a.criterion[4].outcome = OUTCOME_FAIL; /* the longest name */
    has_all(compared(&a, &b, 1), parts);
}

/* Nodes in another order, a link named from its other end: nothing changed. */
UNIT_TEST(nodes_are_the_same_by_their_names)
{
    struct acceptance a, b;

    kit_acceptance(&a, FAULT_IN_LINK);
    kit_acceptance(&b, FAULT_IN_LINK);
    snprintf(b.node[0].name, sizeof b.node[0].name, "host4");
    snprintf(b.node[3].name, sizeof b.node[3].name, "host1");
    char *text = compared(&a, &b, 0);
    assert_non_null(strstr(text, "\nThe findings are the same: 1.\n"));
    free(text);
    kit_acceptance(&a, FAULT_IN_LINK);
    kit_acceptance(&b, FAULT_IN_LINK);
    snprintf(b.node[0].name, sizeof b.node[0].name, "host4");
    snprintf(b.node[3].name, sizeof b.node[3].name, "host1");
    a.finding[0].both_ways = b.finding[0].both_ways = false; /* host1 -> host4 is no host4 -> host1 */
    text = compared(&a, &b, 1);
    assert_non_null(strstr(text, "\nFound in B alone:\n  link host4 -> host1 ("));
    free(text);
}

UNIT_TEST(other_nodes_are_named)
{
    static const char *const parts[] = { "Nodes of A alone: host1\nNodes of B alone: host?9\n", NULL };
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    kit_acceptance(&b, 0);
    snprintf(b.node[0].name, sizeof b.node[0].name, "host\n9");
    has_all(compared(&a, &b, 0), parts);
}

/* Of few: those whose interval excludes 1, too. */
UNIT_TEST(figures_without_a_difference_are_counted)
{
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    kit_acceptance(&b, 0);
    char *text = rows_of(&a, &b, false, 0);
    assert_null(strstr(text, "rate out"));
    assert_null(strstr(text, "Figures that differ"));
    assert_non_null(strstr(text, " figures changed by less than 5 %. All of them: gradmark diff A B --all\n"));
    free(text);
    kit_acceptance(&a, 0);
    kit_acceptance(&b, FAULT_IN_NODE);
    text = rows_of(&a, &b, false, 2);
    assert_non_null(strstr(text, "\nFigures that differ:\n"));
    assert_non_null(strstr(text, "0.595 to 0.605  0.600\n"));
    assert_null(strstr(text, "  1.000\n"));
    free(text);
}

/* Of many nodes those that changed. */
UNIT_TEST(small_changes_of_large_fleets_are_counted_only)
{
    static const char *const parts[] = {
        "rate out  node007  100 MB/s  90 MB/s  0.900 to 0.900  0.900\n",
        "\n79 of 80 figures changed by less than 5 %. All of them: gradmark diff A B --all\n", NULL
    };
    struct acceptance a, b;

    kit_fleet(&a, 40);
    kit_fleet(&b, 40);
    for (int j = 0; j < 40; j++)
        *tournament_rate(&b.tournament, 0, 7, j) *= 0.9;
    char *text = rows_of(&a, &b, false, 0);
    assert_null(strstr(text, "node008"));
    has_all(text, parts);
}

/* One that is the same as another has the figures of that one; one that was not made in both is left out. */
UNIT_TEST(orders_of_ranks_are_compared)
{
    static const char *const parts[] = {
        "order of ranks      launcher                    90 MB/s               90 MB/s  0.978 to 1.022  1.000\n",
        "order of ranks      pack                        90 MB/s               90 MB/s  0.978 to 1.022  1.000\n",
        "order of ranks      spread                      45 MB/s               90 MB/s  1.956 to 2.045  2.000\n", NULL
    };
    struct acceptance a, b;

    kit_acceptance(&a, 0);
    kit_acceptance(&b, 0);
    kit_add_rank_orders(&a);
    kit_add_rank_orders(&b);
    b.rank_order[RANK_ORDER_SPREAD].same_as = RANK_ORDER_LAUNCHER;
    b.rank_order[RANK_ORDER_SWITCHES].n_bytes = 4;
    char *text = compared(&a, &b, 0);
    assert_null(strstr(text, "order of ranks      switches"));
    assert_null(strstr(text, "order of ranks      shortest"));
    has_all(text, parts);
}

UNIT_TEST(nothing_measured_is_told)
{
    static const char *const parts[] = { "A: NO DATA: nothing was judged\n",
                                         "\nNothing that both have measured can be compared.\n", NULL };
    struct acceptance a, b;

    assert_int_equal(acceptance_open(&a, 2, 2), RC_OK);
    assert_int_equal(acceptance_open(&b, 1, 3), RC_OK);
    has_all(compared(&a, &b, 0), parts);
}

UNIT_MAIN("acceptance_diff")
