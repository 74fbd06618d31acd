/* SPDX-License-Identifier: Apache-2.0 */
/* preflight_rows_test.c - the node that differs is named, and the limit that it breaks. */
#include "harness/accept/preflight_rows.h"
#include "harness/base/suite/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_NODES = 5, N_RANKS = 10 };

struct fixture {
    struct acceptance a;
    struct node_facts rank[N_RANKS];
    struct criteria criteria;
};

/* Five nodes of two ranks; the second one of each tells nothing. */
static int open_fixture(void **state)
{
    static struct fixture f;

    memset(&f, 0, sizeof f);
    if (acceptance_open(&f.a, N_NODES, N_RANKS) != RC_OK)
        return -1;
    for (int r = 0; r < N_RANKS; r++)
        node_facts_init(&f.rank[r]);
    for (int i = 0; i < N_NODES; i++) {
        struct node_facts *of = &f.rank[2 * i];
        f.a.node[i].first_rank = 2 * i;
        snprintf(f.a.node[i].name, sizeof f.a.node[i].name, "host%d", i);
        strcpy(of->text[TEXT_MPI], "Open MPI v4.1.4");
        strcpy(of->text[TEXT_LINK_STATE], "up");
        of->number[NUMBER_CORES] = 8;
        of->number[NUMBER_MEMORY_BYTES] = 64.0 * (1 << 30);
        of->number[NUMBER_FREE_BYTES] = (60.0 - i) * (1 << 30);
        of->number[NUMBER_LINK_BITS_PER_S] = 1e11;
        of->number[NUMBER_CLOCK_S] = 1.7e9 + 1e-3 * i;
    }
    *state = &f;
    return 0;
}

static int close_fixture(void **state)
{
    acceptance_close(&((struct fixture *)*state)->a);
    return 0;
}

static const struct preflight_row *find_row(const struct fixture *f, const char *what)
{
    for (int i = 0; i < f->a.n_preflight; i++)
        if (strcmp(f->a.preflight[i].what, what) == 0)
            return &f->a.preflight[i];
    return NULL;
}

static void compare(struct fixture *f)
{
    assert_int_equal(preflight_compare(&f->a, f->rank, &f->criteria), RC_OK);
}

static void assert_row(const struct fixture *f, const char *what, enum accept_outcome outcome, const char *value,
                       int node, const char *other)
{
    const struct preflight_row *row = find_row(f, what);

    if (!row)
        fail_msg("no row %s", what);
    assert_int_equal(row->outcome, outcome);
    assert_string_equal(row->value, value);
    assert_int_equal(row->node, node);
    assert_string_equal(row->other, other);
}

/* The differences of a fact are those of node[n], in this order. */
static void assert_blamed(const struct fixture *f, const char *what, const int *node, int n)
{
    int n_seen = 0;

    for (int i = 0; i < f->a.n_differences; i++) {
        const struct node_difference *d = &f->a.difference[i];
        if (strcmp(f->a.preflight[d->fact].what, what) != 0)
            continue;
        assert_true(n_seen < n);
        assert_int_equal(d->node, node[n_seen++]);
    }
    assert_int_equal(n_seen, n);
}
#define BLAMED(f, what, ...) \
    assert_blamed(f, what, (const int[]){ __VA_ARGS__ }, (int)(sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)))

/* What difference i says. */
static void assert_has(const struct fixture *f, int i, const char *has)
{
    assert_true(i < f->a.n_differences);
    assert_string_equal(f->a.difference[i].has, has);
}

UNIT_TEST_WITH(equal_nodes_pass, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    compare(f);
    assert_row(f, "MPI library", OUTCOME_PASS, "Open MPI v4.1.4", -1, "");
    assert_row(f, "cores", OUTCOME_PASS, "8", -1, "");
    assert_row(f, "memory", OUTCOME_PASS, "64.0 GiB", -1, "");
    assert_row(f, "memory free", OUTCOME_PASS, "58.0 GiB", -1, "");
    assert_row(f, "link state", OUTCOME_PASS, "up", -1, "");
    assert_row(f, "link speed", OUTCOME_PASS, "100 Gbit/s", -1, "");
    assert_row(f, "clock skew", OUTCOME_PASS, "at most 0.002000 s from the middle of all", -1, "");
    assert_null(find_row(f, "GPUs")); /* nobody has any */
    assert_null(find_row(f, "ranks of a node"));
    assert_int_equal(f->a.n_preflight, 7);
    compare(f);
    assert_int_equal(f->a.n_preflight, 7);
    assert_int_equal(f->a.n_differences, 0);
}

/* Regression: only the first node that differed was named. */
UNIT_TEST_WITH(the_node_that_differs_is_named, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    strcpy(f->rank[6].text[TEXT_MPI], "Open MPI v4.1.2");
    f->rank[4].number[NUMBER_CORES] = 4;
    f->rank[8].number[NUMBER_CORES] = 16;
    f->rank[2].number[NUMBER_MEMORY_BYTES] *= 0.5;
    f->rank[8].number[NUMBER_LINK_BITS_PER_S] = NAN;
    strcpy(f->rank[0].text[TEXT_GPU_DRIVER], "535.54.03");
    compare(f);
    assert_row(f, "MPI library", OUTCOME_FAIL, "Open MPI v4.1.4", 3, "Open MPI v4.1.2");
    assert_row(f, "cores", OUTCOME_FAIL, "8", 2, "4, and 1 more node differs");
    assert_row(f, "memory", OUTCOME_FAIL, "64.0 GiB", 1, "32.0 GiB");
    assert_row(f, "link speed", OUTCOME_FAIL, "100 Gbit/s", 4, "not known");
    assert_row(f, "GPU driver", OUTCOME_FAIL, "nothing", 0, "535.54.03");
    BLAMED(f, "MPI library", 3);
    BLAMED(f, "cores", 2, 4); /* both, not the first alone */
    BLAMED(f, "memory", 1);
    BLAMED(f, "link speed", 4);
    BLAMED(f, "GPU driver", 0);
    compare(f);
    assert_int_equal(f->a.n_differences, 6);
    assert_has(f, 1, "535.54.03");
    assert_has(f, 2, "4");
    assert_has(f, 3, "16");
}

/* Rank 0's node has no say of its own: the first that differs from most may be node 0. */
UNIT_TEST_WITH(most_decide, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    strcpy(f->rank[0].text[TEXT_MPI], "Open MPI v5.0.0");
    strcpy(f->rank[4].text[TEXT_MPI], "Open MPI v5.0.0");
    compare(f);
    assert_row(f, "MPI library", OUTCOME_FAIL, "Open MPI v4.1.4", 0, "Open MPI v5.0.0, and 1 more node differs");
    BLAMED(f, "MPI library", 0, 2);
    assert_has(f, 1, "Open MPI v5.0.0");
}

UNIT_TEST_WITH(nearly_equal_memory_is_equal, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    f->rank[2].number[NUMBER_MEMORY_BYTES] *= 0.985;
    compare(f);
    assert_row(f, "memory", OUTCOME_PASS, "64.0 GiB", -1, "");
}

UNIT_TEST_WITH(limits_are_of_every_node, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    f->criteria.least_cores_count = 8;
    f->criteria.least_memory_free_bytes = 57.5 * (1 << 30);
    f->criteria.least_link_bits_per_s = 2e11;
    f->criteria.most_clock_skew_s = 1.5e-3;
    compare(f);
    assert_row(f, "cores", OUTCOME_PASS, "8", -1, "");
    assert_row(f, "memory free", OUTCOME_FAIL, "58.0 GiB", 3,
               "57.0 GiB, less than least_memory_free_bytes: 6.17402e+10, and 1 more node differs");
    assert_row(f, "link speed", OUTCOME_FAIL, "100 Gbit/s", -1,
               "all 5 nodes: 100 Gbit/s, less than least_link_bits_per_s: 2e+11");
    assert_row(f, "clock skew", OUTCOME_FAIL, "at most 0.002000 s from the middle of all", 0,
               "-0.002000 s, more than most_clock_skew_s: 0.0015, and 1 more node differs");
    BLAMED(f, "memory free", 3, 4);
    BLAMED(f, "link speed", -1);
    BLAMED(f, "clock skew", 0, 4);
    assert_has(f, f->a.n_differences - 1, "+0.002000 s, more than most_clock_skew_s: 0.0015");
}

UNIT_TEST_WITH(a_link_that_is_down_everywhere_fails, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    for (int i = 0; i < N_NODES; i++)
        strcpy(f->rank[2 * i].text[TEXT_LINK_STATE], "down");
    compare(f);
    assert_row(f, "link state", OUTCOME_FAIL, "down", -1, "all 5 nodes: down, not up");
    BLAMED(f, "link state", -1);
    strcpy(f->rank[4].text[TEXT_LINK_STATE], "up"); /* the one that is right is in no majority */
    compare(f);
    assert_row(f, "link state", OUTCOME_FAIL, "up", 0, "down, not up, and 3 more nodes differ");
    BLAMED(f, "link state", 0, 1, 3, 4);
}

UNIT_TEST_WITH(a_limit_of_what_nobody_tells_has_no_data, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    for (int i = 0; i < N_NODES; i++)
        f->rank[2 * i].number[NUMBER_LINK_BITS_PER_S] = NAN;
    f->criteria.least_link_bits_per_s = 1e10;
    compare(f);
    assert_row(f, "link speed", OUTCOME_NO_DATA, "not known, though least_link_bits_per_s asks for it: 1e+10", -1, "");
    f->rank[2].number[NUMBER_LINK_BITS_PER_S] = f->rank[4].number[NUMBER_LINK_BITS_PER_S] = 2e10;
    compare(f); /* two that keep it do not speak for three */
    assert_row(f, "link speed", OUTCOME_NO_DATA,
               "not known of 3 of 5 nodes, though least_link_bits_per_s asks for it: 1e+10", -1, "");
    f->rank[2].number[NUMBER_LINK_BITS_PER_S] = f->rank[4].number[NUMBER_LINK_BITS_PER_S] = 1e9;
    compare(f); /* two that break it do */
    BLAMED(f, "link speed", 1, 2);
    assert_int_equal(find_row(f, "link speed")->outcome, OUTCOME_FAIL);
}

/* Of n nodes only. */
static void compare_first(struct fixture *f, int n_nodes)
{
    const int all = f->a.n_nodes;

    f->a.n_nodes = n_nodes;
    compare(f);
    f->a.n_nodes = all;
}

/* One clock, or none, keeps no limit; without a limit nobody asks. */
UNIT_TEST_WITH(clocks_that_are_not_measured_have_no_data, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    compare_first(f, 1);
    assert_null(find_row(f, "clock skew"));
    f->criteria.most_clock_skew_s = 1e-3;
    compare_first(f, 1);
    assert_row(f, "clock skew", OUTCOME_NO_DATA,
               "one node has no other clock to compare with, though most_clock_skew_s asks for it: 0.001", -1, "");
    for (int i = 0; i < N_NODES; i++)
        f->rank[2 * i].number[NUMBER_CLOCK_S] = NAN;
    compare(f);
    assert_row(f, "clock skew", OUTCOME_NO_DATA, "not known, though most_clock_skew_s asks for it: 0.001", -1, "");
    f->rank[0].number[NUMBER_CLOCK_S] = f->rank[2].number[NUMBER_CLOCK_S] = 5;
    compare(f);
    assert_row(f, "clock skew", OUTCOME_NO_DATA,
               "not known of 3 of 5 nodes, though most_clock_skew_s asks for it: 0.001", -1, "");
    assert_int_equal(f->a.n_differences, 0);
    f->criteria.most_clock_skew_s = 0;
    for (int i = 0; i < N_NODES; i++)
        f->rank[2 * i].number[NUMBER_CLOCK_S] = NAN;
    compare(f);
    assert_null(find_row(f, "clock skew"));
}

/* Two nodes: whose version is right nobody knows. */
UNIT_TEST_WITH(without_a_majority_nobody_is_blamed, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    strcpy(f->rank[2].text[TEXT_MPI], "Open MPI v5.0.0");
    f->rank[2].number[NUMBER_CORES] = 4;
    f->rank[2].number[NUMBER_CLOCK_S] += 1;
    f->criteria.most_clock_skew_s = 0.5;
    compare_first(f, 2);
    assert_row(f, "MPI library", OUTCOME_FAIL, "Open MPI v4.1.4, 1 of 2 nodes", -1,
               "nodes differ, no majority: 1 has Open MPI v4.1.4 (host0), 1 has Open MPI v5.0.0 (host1)");
    assert_row(f, "cores", OUTCOME_FAIL, "8, 1 of 2 nodes", -1,
               "nodes differ, no majority: 1 has 8 (host0), 1 has 4 (host1)");
    assert_row(f, "clock skew", OUTCOME_FAIL, "+0.000000 s, 1 of 2 nodes", -1,
               "nodes differ, no majority: 1 has +0.000000 s (host0), 1 has +1.001000 s (host1)");
    BLAMED(f, "MPI library", -1);
    BLAMED(f, "cores", -1);
    BLAMED(f, "clock skew", -1);
    f->rank[6].number[NUMBER_CORES] = 4;
    f->rank[2].number[NUMBER_CLOCK_S] -= 1;
    compare_first(f, 4); /* two beside two */
    assert_row(f, "cores", OUTCOME_FAIL, "8, 2 of 4 nodes", -1,
               "nodes differ, no majority: 2 have 8 (host0, host2), 2 have 4 (host1, host3)");
    assert_row(f, "MPI library", OUTCOME_FAIL, "Open MPI v4.1.4", 1, "Open MPI v5.0.0");
    f->rank[8].number[NUMBER_CORES] = 16;
    compare(f); /* the most, but not more than half */
    assert_row(f, "cores", OUTCOME_FAIL, "8, 2 of 5 nodes", -1,
               "nodes differ, no majority: 2 have 8 (host0, host2), 2 have 4 (host1, host3), 1 has 16 (host4)");
    f->criteria.least_cores_count = 8; /* a limit tells who is wrong; of the others most are right */
    compare(f);
    BLAMED(f, "cores", 1, 3, 4);
    assert_has(f, 1, "4, less than least_cores_count: 8");
    f->criteria.least_cores_count = 16;
    compare(f);
    BLAMED(f, "cores", 0, 1, 2, 3);
}

/* Whoever is named in a text too long for it is cut, and the text ends. */
UNIT_TEST_WITH(many_values_are_cut, open_fixture, close_fixture)
{
    struct fixture *f = *state;

    for (int i = 0; i < N_NODES; i++) {
        memset(f->rank[2 * i].text[TEXT_CPU], 'a' + i, NODE_TEXT_BYTES - 1);
        memset(f->a.node[i].name, 'A' + i, ACCEPT_NAME_BYTES - 1);
    }
    compare(f);
    BLAMED(f, "CPU", -1);
    assert_has(f, 0, find_row(f, "CPU")->other);
    assert_int_equal(strlen(find_row(f, "CPU")->other), ACCEPT_TEXT_BYTES - 1);
    for (int i = 0; i < N_NODES; i++)
        snprintf(f->a.node[i].name, ACCEPT_NAME_BYTES, "h%d", i);
    compare(f);
    assert_non_null(strstr(find_row(f, "CPU")->other, " (h3), 1 have others"));
}

UNIT_MAIN("preflight_rows")
