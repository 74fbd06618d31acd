/* SPDX-License-Identifier: Apache-2.0 */
/* failures_test.c - launches that failed, and launches of several sessions: what is kept of them, and told. */
#include <jansson.h>

#include "harness/campaign/suite/campaign_test_kit.h"

static const struct made_point POINT[] = {
    { "lenet", "none", 2, 0, 2, 2500, 1.01, NAN, 1 },
    { "lenet", "single", 1, 0, 3, 1250, 1.25, NAN, 2 },
    { "lenet", "ps", 2, 1, 0, 1800, 1.01, NAN, 3 },
};

static void failures_are_told(void **state)
{
    struct campaign c;

    made_open(&c, *state, POINT, 3, false);
    assert_false(campaign_has_failures(&c));
    char *text = made_told(&c, campaign_tell_failures);
    assert_string_equal(text, "");
    free(text);
    for (int i = 0; i < 2; i++)
        assert_int_equal(campaign_fail(&c, &c.point[0], 0, i == 0 ? "first" : "then"), RC_OK);
    assert_int_equal(campaign_fail(&c, &c.point[1], 0, "it broke"), RC_OK);
    assert_int_equal(campaign_fail(&c, &c.point[2], 0, "never"), RC_OK);
    c.point[2].is_given_up = true;
    assert_true(campaign_has_failures(&c));
    text = made_told(&c, campaign_tell_failures);
    assert_string_equal(
        text,
        "lenet none, 2 workers: 2 launches failed, which are repeated in their blocks; why the last one did: then.\n"
        "lenet single, 1 worker: 1 launch failed, which is repeated in its block; why: it broke.\n"
        "lenet ps, 2 workers: 1 launch failed, and the point was given up after 0 of 3; why: never.\n");
    free(text);
    c.point[0].is_fate_unknown = true;
    c.point[1].n_failures = c.point[2].n_failures = 0;
    text = made_told(&c, campaign_tell_failures);
    assert_string_equal(text, "lenet none, 2 workers: 2 launches failed; why the last one did: then.\n");
    free(text);
    campaign_close(&c);
}

/* A record of each, with what the point assigns, where it was, and why. */
static void failures_are_kept(void **state)
{
    struct kit *k = *state;

    for (int is_virtual = 0; is_virtual < 2; is_virtual++) {
        struct campaign c;
        json_error_t error;
        json_t *r = NULL;
        made_open(&c, k, POINT, 1, is_virtual);
        c.session = 4;
        c.point[0].n_servers = 3;
        c.point[0].n_threads = 2;
        assert_int_equal(campaign_fail(&c, &c.point[0], 7, "it \"broke\""), RC_OK);
        assert_int_equal(c.point[0].n_failures, 1);
        assert_int_equal(c.point[0].n_launches, 2);
        assert_int_equal(campaign_commit(&c), RC_OK);
        campaign_close(&c);
        FILE *from = fopen(kit_path(k, "runs.jsonl"), "r");
        assert_non_null(from);
        for (json_t *next; (next = json_loadf(from, JSON_DISABLE_EOF_CHECK, &error)) != NULL; r = next)
            json_decref(r);
        fclose(from);
        assert_string_equal(json_string_value(json_object_get(r, "kind")), "failure");
        assert_string_equal(json_string_value(json_object_get(r, "model")), "lenet");
        assert_string_equal(json_string_value(json_object_get(r, "mode")), "none");
        assert_string_equal(json_string_value(json_object_get(r, "workers")), "2");
        assert_string_equal(json_string_value(json_object_get(r, "message")), "it \"broke\"");
        assert_int_equal(json_integer_value(json_object_get(r, "launch_index")), 2);
        assert_int_equal(json_integer_value(json_object_get(r, "servers_count")), 3);
        assert_int_equal(json_integer_value(json_object_get(r, "threads_per_worker_count")), 2);
        assert_int_equal(json_integer_value(json_object_get(r, "block_position")), 7);
        assert_int_equal(json_object_get(r, "session_index") != NULL, !is_virtual);
        assert_true(is_virtual || json_integer_value(json_object_get(r, "session_index")) == 4);
        json_decref(r);
    }
}

/* In the table, where there are any. */
static void the_table_has_a_column_of_them(void **state)
{
    char *text = NULL;
    size_t n_bytes = 0;
    struct campaign c;

    made_open(&c, *state, POINT, 3, false);
    for (int has_failures = 0; has_failures < 2; has_failures++) {
        FILE *to = open_memstream(&text, &n_bytes);
        assert_non_null(to);
        if (has_failures) {
            assert_int_equal(campaign_fail(&c, &c.point[1], 0, "it broke"), RC_OK);
            for (int i = 0; i < 3; i++)
                assert_int_equal(campaign_fail(&c, &c.point[2], 0, "it broke"), RC_OK);
            c.point[2].is_given_up = true;
        }
        assert_int_equal(campaign_print(&c, to), RC_OK);
        assert_int_equal(fclose(to), 0);
        text[strcspn(text, "\n")] = ' ';
        assert_int_equal(strstr(text, "  failed") != NULL, has_failures);
        if (has_failures) {
            const char *ps = strstr(text, "lenet  ps"), *single = strstr(text, "lenet  single");
            assert_non_null(ps);
            assert_non_null(single);
            assert_memory_equal(strchr(ps, '\n') - strlen("  3, given up"), "  3, given up", strlen("  3, given up"));
            assert_memory_equal(strchr(single, '\n') - strlen("           1"), "           1", strlen("           1"));
        }
        free(text);
    }
    campaign_close(&c);
}

/* Blocks whose launches an interruption has separated; one that is not whole yet is none. */
static void split_blocks_are_told(void **state)
{
    struct campaign c;

    made_open(&c, *state, POINT, 3, false);
    for (size_t i = 0; i < 2; i++)
        for (size_t n = 0; n < c.point[i].n_launches; n++)
            c.point[i].launch[n].session = n < 1 ? 0 : 3;
    char *text = made_told(&c, campaign_tell_sessions);
    assert_string_equal(text, "");
    free(text);
    c.point[1].launch[0].session = 1;
    text = made_told(&c, campaign_tell_sessions);
    assert_string_equal(text,
                        "The launches of 1 block were made before and after an interruption: their pairs were not "
                        "made shortly after each other.\n");
    free(text);
    c.point[0].launch[1].session = 2;
    c.n_launches_wanted = SIZE_MAX; /* nobody counts to what was wanted */
    text = made_told(&c, campaign_tell_sessions);
    assert_memory_equal(text, "The launches of 2 blocks were", strlen("The launches of 2 blocks were"));
    free(text);
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(failures_are_told),
        MADE_TEST(failures_are_kept),
        MADE_TEST(the_table_has_a_column_of_them),
        MADE_TEST(split_blocks_are_told),
    };

    return cmocka_run_group_tests_name("failures", tests, NULL, NULL);
}
