/* SPDX-License-Identifier: Apache-2.0 */
/* encryption_test.c - what a campaign says of its modes' bytes, from the summaries of their launches. */
#include "harness/campaign/suite/campaign_test_kit.h"

static void add(struct campaign *c, struct kit *k, const char *mode, int n_workers, const char *encryption)
{
    struct point *p = made_add(c, "lenet", mode, n_workers);
    char text[600], path[KIT_PATH_BYTES];

    snprintf(text, sizeof text, "{\"kind\":\"summary\",\"batch_per_worker_count\":8%s}\n", encryption);
    assert_true(kit_write(k, "one", text));
    snprintf(path, sizeof path, "%s", kit_path(k, "one"));
    assert_int_equal(campaign_take(c, p, 0, path), RC_OK);
}

static void assert_told(const struct campaign *c, const char *expected)
{
    char *text = made_told(c, campaign_tell_encryption);

    assert_string_equal(text, expected);
    free(text);
}

/* Records of before the key was there, and of modes that send nothing. */
static void nothing_is_said_where_nothing_is_known(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    assert_told(&c, "");
    add(&c, *state, "ps", 2, "");
    add(&c, *state, "single", 1, ",\"encryption\":null");
    assert_told(&c, "");
    campaign_close(&c);
}

static void each_mode_is_named_once(void **state)
{
    struct campaign c;

    made_open(&c, *state, NULL, 0, false);
    add(&c, *state, "ps", 2, ",\"encryption\":\"curve\"");
    add(&c, *state, "ps", 4, ",\"encryption\":\"curve\"");
    add(&c, *state, "allreduce", 2, ",\"encryption\":\"clear\"");
    add(&c, *state, "allreduce", 4, ",\"encryption\":\"clear\"");
    assert_told(&c, "Encrypted on the network, by CURVE: ps.\nIn clear on the network: allreduce.\n");
    add(&c, *state, "single", 1, ",\"encryption\":null");
    add(&c, *state, "none", 2, ",\"encryption\":\"local\"");
    add(&c, *state, "ps", 8, ",\"encryption\":\"local\"");
    add(&c, *state, "none", 4, ",\"encryption\":\"clear\"");
    assert_told(&c, "Encrypted on the network, by CURVE: ps.\n"
                    "In clear on the network: allreduce, none.\n"); /* on one host there is no network */
    campaign_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MADE_TEST(nothing_is_said_where_nothing_is_known),
        MADE_TEST(each_mode_is_named_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
