/* SPDX-License-Identifier: Apache-2.0 */
/* counts_test.c - as many numbers of workers as --workers may have, and the world and the files of a campaign. */
#include <sys/stat.h>

#include "harness/campaign/suite/sweep_test_kit.h"

enum { MOST = 64 };

static enum rc plan_counts(struct sweep *s, int n)
{
    static char counts[8 * (MOST + 1)];
    char words[] = "--world=sim";
    int n_used = 0;

    for (int i = 0; i < n; i++)
        n_used += snprintf(counts + n_used, sizeof counts - (size_t)n_used, "%s%d", i ? "," : "", 100 + 2 * i);
    kit_sweep(s, words);
    kit_axes(s, "vgg16", "allreduce", counts);
    return sweep_plan(s);
}

KIT_TEST(every_count_is_a_point)
{
    struct sweep s;

    assert_int_equal(plan_counts(&s, MOST), RC_OK);
    assert_int_equal(s.campaign.n_points, MOST);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(s.campaign.point[i].n_workers, 100 + 2 * i);
    campaign_close(&s.campaign);
}

KIT_TEST(more_are_refused)
{
    struct sweep s;

    assert_int_equal(plan_counts(&s, MOST + 1), RC_INVAL);
    assert_non_null(strstr(rc_message(), "more than 64 counts"));
    campaign_close(&s.campaign);
}

/* In a virtual world launches are equal: one is made. */
KIT_TEST(the_world_says_how_many_launches)
{
    static const struct {
        const char *train;
        const char *launcher;
        bool is_virtual;
        size_t n_launches;
    } cases[] = { { "--world=threads", NULL, false, MADE_LAUNCHES }, { "--world=sim", NULL, true, 1 } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[50];
        snprintf(words, sizeof words, "%s", cases[i].train);
        kit_sweep(&s, words);
        s.campaign.is_virtual = !cases[i].is_virtual;
        assert_int_equal(sweep_choose_world(&s), RC_OK);
        assert_string_equal(s.world->module.name, cases[i].train + strlen("--world="));
        assert_int_equal(s.campaign.is_virtual, cases[i].is_virtual);
        assert_false(s.campaign.is_launched);
        assert_int_equal(s.campaign.n_launches_wanted, cases[i].n_launches);
    }
}

/* Launches leave their records in the campaign's folder; of a simulated one, its cost too. */
KIT_TEST(files_are_in_the_campaigns_folder)
{
    struct kit *k = *state;

    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        char words[] = "--world=threads", expected[KIT_PATH_BYTES + 100];
        struct sweep s;
        struct stat file;
        kit_sweep(&s, words);
        s.campaign.is_virtual = is_virtual;
        assert_int_equal(sweep_open_files(&s, kit_path(k, "results"), is_virtual ? "sim" : "real"), RC_OK);
        assert_int_equal(stat(s.campaign.dir, &file), 0);
        assert_true(S_ISDIR(file.st_mode));
        snprintf(expected, sizeof expected, "%s/.launch.jsonl", s.campaign.dir);
        assert_string_equal(s.launch_path, expected);
        snprintf(expected, sizeof expected, "%s/.launch_cost.json", s.campaign.dir);
        assert_string_equal(s.cost_path, is_virtual ? expected : "");
        campaign_close(&s.campaign);
    }
    assert_int_equal(rmdir(kit_path(k, "results")), 0); /* nothing was committed: nothing is left */
}

/* A folder of that name is kept; the next gets a number. Where no folder can be made, an error says so. */
KIT_TEST(folders_are_never_shared)
{
    struct kit *k = *state;
    char words[] = "--world=threads", again[] = "--world=threads", third[] = "--world=threads";
    char first[KIT_PATH_BYTES + 100];
    struct sweep s;

    kit_sweep(&s, words);
    assert_int_equal(sweep_open_files(&s, kit_path(k, "results"), "one"), RC_OK);
    snprintf(first, sizeof first, "%s", s.campaign.dir);
    struct sweep other;
    kit_sweep(&other, again);
    assert_int_equal(sweep_open_files(&other, kit_path(k, "results"), "one"), RC_OK);
    assert_string_not_equal(other.campaign.dir, first);
    assert_memory_equal(other.campaign.dir, first, strlen(first));
    campaign_close(&other.campaign);
    campaign_close(&s.campaign);
    assert_int_equal(rmdir(kit_path(k, "results")), 0);
    assert_true(kit_write(k, "file", "x"));
    kit_sweep(&s, third);
    assert_int_not_equal(sweep_open_files(&s, kit_path(k, "file"), "one"), RC_OK);
    campaign_close(&s.campaign);
}

UNIT_MAIN("counts")
