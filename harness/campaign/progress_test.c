/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_test.c - what a campaign says of how far it is while it launches.
 *
 * The program that is launched is the kit's script; the line is written to memory, as to a terminal.
 */
#include "harness/campaign/suite/sweep_test_kit.h"

enum { N_POINTS = 2, N_TURNS = 3 };

static const struct made_point POINT[N_POINTS] = {
    { "lenet", "single", 1, 0, 0, 0, 1, NAN, 1 },
    { "lenet", "ps", 2, 3, 0, 0, 1, NAN, 1 },
};

/* All turns of N_POINTS points. *told: what was written; the caller frees it. */
static void launch_all_telling(struct kit *k, bool is_terminal, double budget_s, char **told)
{
    char words[] = "--world=threads";
    size_t n_bytes = 0;
    struct campaign made;
    struct sweep c;

    kit_sweep(&c, words);
    made_open(&made, k, POINT, N_POINTS, false);
    for (size_t i = 0; i < N_POINTS; i++)
        made.point[i].n_steps = 10;
    c.campaign = made;
    c.campaign.n_launches_wanted = N_TURNS;
    c.budget_s = budget_s;
    kit_script(&c, k);
    kit_script_end(&c);
    FILE *to = open_memstream(told, &n_bytes);
    assert_non_null(to);
    progress_init(&c.progress, to, N_POINTS * N_TURNS, 0);
    c.progress.is_terminal = is_terminal;
    assert_int_equal(sweep_launch_all(&c, NULL), RC_OK);
    assert_int_equal(fclose(to), 0);
    campaign_close(&c.campaign);
}

enum { LONG_S = 1000000 };

/* Before each launch, the number of those done: one more each time, over all turns. */
static void assert_counted(struct kit *k, double budget_s, int n_turns)
{
    char *told;

    launch_all_telling(k, true, budget_s, &told);
    const char *at = told;
    for (int i = 0; i < N_POINTS * n_turns; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "] %d/%d, ", i, N_POINTS * n_turns);
        const char *found = strchr(at, ']');
        if (!found || strncmp(found, expected, strlen(expected)) != 0)
            fail_msg("launch %d: \"%s\" does not go on with \"%s\"", i, at, expected);
        at = found + 1;
    }
    assert_null(strchr(at, ']'));
    free(told);
}

KIT_TEST(launches_are_counted)
{
    assert_counted(*state, LONG_S, N_TURNS);
}

/* Two turns are made all the same, and the time left is told for these alone. */
KIT_TEST(a_spent_budget_has_two_turns)
{
    assert_counted(*state, 0, 2);
}

/* Where there is no terminal, the first line has room for the whole name. */
KIT_TEST(a_launch_is_named)
{
    static const struct {
        double budget_s;
        const char *text;
    } cases[] = { { LONG_S, " so far: lenet single, 1 worker, launch 1 of 3\n" },
                  { 0, " so far: lenet single, 1 worker, launch 1 of 2, the budget is spent\n" } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *told;
        launch_all_telling(*state, false, cases[i].budget_s, &told);
        const char *found = strstr(told, " so far");
        if (!found || strncmp(found, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("\"%s\" has not \"%s\"", told, cases[i].text);
        free(told);
    }
}

UNIT_MAIN("progress")
