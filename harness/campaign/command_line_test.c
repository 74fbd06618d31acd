/* SPDX-License-Identifier: Apache-2.0 */
/* command_line_test.c - options of launches: long values are whole or refused; each launch has its seed. */
#include <jansson.h>

#include "harness/base/suite/names.h"
#include "harness/campaign/begun.h"
#include "harness/campaign/command_line.h"
#include "harness/campaign/suite/sweep_test_kit.h"

enum { MOST_VALUE_CHARS = ARG_BYTES - 1 - sizeof "--data=" + 1 };

/* words[] = "--world=threads --data=/ppp..." with a path of n_chars letters. */
static void words_with_path(char *words, size_t n_bytes, size_t n_chars)
{
    const int n = snprintf(words, n_bytes, "--world=threads --data=/");

    assert_true((size_t)n + n_chars <= n_bytes);
    memset(words + n, 'p', n_chars - 1);
    words[(size_t)n + n_chars - 1] = '\0';
}

KIT_TEST(long_values_are_whole)
{
    static const size_t cases[] = { 300, 312, 313, 314, 320, 632, 640, 3000, 4096, MOST_VALUE_CHARS };
    struct kit *k = *state;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char words[ARG_BYTES + 64], given[ARG_BYTES];
        struct begun begun;
        struct record *options = NULL;
        struct sweep s;

        words_with_path(words, sizeof words, cases[i]);
        snprintf(given, sizeof given, "%s", strchr(words, ' ') + 1);
        kit_open_three(&s, k, words);
        s.campaign.n_launches_wanted = 1;
        assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(k, "runs.jsonl")), RC_OK);
        assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
        const char *call = strstr(kit_read(k, "calls"), given);
        assert_non_null(call);
        assert_int_equal(call[strlen(given)], ' ');
        options = record_open("options");
        assert_int_equal(sweep_write_manifest(&s, &options, false), RC_OK);
        assert_int_equal(begun_open(&begun, k->dir, &s.launcher), RC_OK);
        bool is_there = false;
        for (int n = 0; n < begun.n_words; n++)
            is_there = is_there || strcmp(begun.word[n], given) == 0;
        assert_true(is_there);
        begun_close(&begun);
        kit_close_three(&s);
        assert_int_equal(unlink(kit_path(k, "runs.jsonl.partial")), 0);
    }
}

/* Before any launch, and by name. */
KIT_TEST(longer_ones_are_refused)
{
    char words[ARG_BYTES + 64], expected[200];
    struct kit *k = *state;
    struct sweep s;

    words_with_path(words, sizeof words, MOST_VALUE_CHARS + 1);
    kit_open_three(&s, k, words);
    snprintf(expected, sizeof expected, "--data: has %d letters; a campaign takes at most %d", MOST_VALUE_CHARS + 1,
             (int)MOST_VALUE_CHARS);
    assert_int_equal(sweep_check(&s), RC_INVAL);
    assert_string_equal(rc_message(), expected);
    kit_close_three(&s);
}

/* Nor is the name of a campaign's folder cut. */
KIT_TEST(long_folders_are_refused)
{
    struct kit *k = *state;
    struct campaign c = { .n_points = 0 };
    char folder[sizeof c.dir], name[101];

    snprintf(folder, sizeof folder, "%s/%0200d/%0200d", k->dir, 7, 8);
    snprintf(name, sizeof name, "%0100d", 9);
    assert_int_equal(campaign_open(&c, folder, name), RC_INVAL);
    assert_non_null(strstr(rc_message(), "...: is too long a name for the folder of a campaign: "));
    campaign_close(&c);
    assert_int_equal(rmdir(folder), 0); /* nothing was made in it */
    *strrchr(folder, '/') = '\0';
    assert_int_equal(rmdir(folder), 0);
}

/* From which seed each launch of a campaign is trained. */

static void open_sweep(struct sweep *s, struct kit *k, char *words, const char *mode)
{
    char path[KIT_PATH_BYTES];

    kit_sweep(s, words);
    kit_axes(s, "linear", mode, "1");
    s->order_seed = 3;
    snprintf(s->campaign.dir, sizeof s->campaign.dir, "%s", k->dir);
    snprintf(path, sizeof path, "%s", kit_path(k, "runs.jsonl"));
    assert_int_equal(partial_file_open(&s->campaign.runs, path), RC_OK);
    assert_int_equal(sweep_plan(s), RC_OK);
}

/* Three blocks of three points: in each block all have one seed, another in each block, beginning with the user's. */
KIT_TEST(points_of_a_block_share_a_seed)
{
    char words[] = "--world=threads --seed=41", text[4000];
    struct sweep s;

    open_sweep(&s, *state, words, "none,single,allreduce");
    kit_script(&s, *state);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_calls(*state, text, sizeof text);
    assert_int_equal(n_times(text, "--seed="), 9);
    char *line = text;
    for (int block = 0; block < MADE_LAUNCHES; block++)
        for (int i = 0; i < 3; i++) {
            char wanted[32], *end = strchr(line, '\n');
            assert_non_null(end);
            *end = '\0';
            snprintf(wanted, sizeof wanted, " --seed=%d ", 41 + block);
            if (n_times(line, wanted) != 1)
                fail_msg("block %d, launch %d: %s", block, i, line);
            line = end + 1;
        }
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

/* In sim there is one launch of each point, from the user's seed. The greatest seed is followed by 0. */
KIT_TEST(seeds_of_blocks)
{
    static const struct {
        const char *words;
        size_t block;
        uint64_t seed;
    } cases[] = {
        { "--world=threads", 0, 1 },
        { "--world=threads", 5, 6 },
        { "--world=threads --seed=0", 0, 0 },
        { "--world=sim --seed=9", 4, 9 },
        { "--world=threads --seed=9007199254740991", 1, 9007199254740992u },
        { "--world=threads --seed=9007199254740992", 1, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sweep s;
        char words[64];
        snprintf(words, sizeof words, "%s", cases[i].words);
        open_sweep(&s, *state, words, "single");
        assert_true(launch_terms_of(&s, &s.campaign.point[0], cases[i].block).seed == cases[i].seed);
        campaign_close(&s.campaign);
    }
}

/* A campaign that sweeps the seed assigns it. */
KIT_TEST(a_seed_that_is_swept)
{
    char words[] = "--world=threads --seed=41", text[4000];
    struct sweep s;

    kit_sweep(&s, words);
    kit_axes(&s, "linear", "single", "1");
    s.axis[s.n_axes++] = (struct axis){ "seed", "7,8" };
    s.campaign.n_launches_wanted = 2;
    snprintf(s.campaign.dir, sizeof s.campaign.dir, "%s", ((struct kit *)*state)->dir);
    assert_int_equal(partial_file_open(&s.campaign.runs, kit_path(*state, "runs.jsonl")), RC_OK);
    assert_int_equal(sweep_plan(&s), RC_OK);
    kit_script(&s, *state);
    assert_int_equal(sweep_launch_all(&s, NULL), RC_OK);
    kit_calls(*state, text, sizeof text);
    assert_int_equal(n_times(text, "--seed="), 4);
    assert_int_equal(n_times(text, "--seed=7 "), 2);
    assert_int_equal(n_times(text, "--seed=8 "), 2);
    kit_script_end(&s);
    campaign_close(&s.campaign);
}

UNIT_MAIN("arguments")
