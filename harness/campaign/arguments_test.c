/* SPDX-License-Identifier: Apache-2.0 */
/* arguments_test.c - long values of options: they are whole in the launch and in the plan, or refused before both. */
#include <jansson.h>

#include "harness/campaign/begun.h"
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

static void long_values_are_whole(void **state)
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
        assert_int_equal(record_open(&options, "options"), RC_OK);
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
static void longer_ones_are_refused(void **state)
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
static void long_folders_are_refused(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(long_values_are_whole),
        MADE_TEST(longer_ones_are_refused),
        MADE_TEST(long_folders_are_refused),
    };

    return cmocka_run_group_tests_name("arguments", tests, NULL, NULL);
}
