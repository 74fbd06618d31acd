/* SPDX-License-Identifier: Apache-2.0 */
/* sim_cost_test.c - what computing a simulation cost: written, printed, added up, refused. */
#include "harness/base/suite/printed.h"
#include "harness/campaign/sim_cost.h"

#include <stdlib.h>

#include "harness/base/suite/names.h"
#include "harness/campaign/suite/campaign_test_kit.h"

static enum rc write_telling(const char *path, uint64_t n_messages, uint64_t real_ns, const char *expected)
{
    const struct world_cost cost = { .n_messages = n_messages, .real_ns = real_ns };
    struct printed p;

    printed_begin(&p);
    const enum rc rc = sim_cost_write(p.to, "compare", path, &cost);
    char *told = printed_end(&p);
    assert_string_equal(told, expected);
    free(told);
    return rc;
}

KIT_TEST(launches_add_up)
{
    struct kit *k = *state;
    struct world_cost sum = { .n_messages = 5, .real_ns = 7 };
    const char *path = kit_path(k, "cost.json");

    assert_int_equal(
        write_telling(path, 240, 2000000, "gradmark compare: simulated 240 messages in 0.002 s: 1.2e+05 messages/s\n"),
        RC_OK);
    const char *text = kit_read(k, "cost.json");
    assert_non_null(text);
    assert_non_null(strstr(text, "\"messages_count\": 240,"));
    assert_non_null(strstr(text, "\"real_ns\": 2000000,"));
    assert_non_null(strstr(text, "\"messages_per_s\": 120000.0"));
    assert_int_equal(sim_cost_take(&sum, kit_path(k, "cost.json")), RC_OK);
    assert_true(sum.n_messages == 245 && sum.real_ns == 2000007);
    assert_int_not_equal(access(kit_path(k, "cost.json"), F_OK), 0); /* it is the launch's, and taken */
    assert_int_equal(sim_cost_take(&sum, kit_path(k, "cost.json")), RC_MISMATCH);
    assert_true(kit_write(k, "cost.json", "{\"messages_count\": 3}\n"));
    assert_int_equal(sim_cost_take(&sum, kit_path(k, "cost.json")), RC_MISMATCH);
    assert_true(sum.n_messages == 245 && sum.real_ns == 2000007);
}

/* Without --cost only the line. */
KIT_TEST(without_a_file)
{
    assert_int_equal(
        write_telling("", 3, 1000000, "gradmark compare: simulated 3 messages in 0.001 s: 3e+03 messages/s\n"), RC_OK);
}

/* As by a campaign that is continued though it is complete: the file of the session before stays. */
KIT_TEST(nothing_was_simulated)
{
    struct kit *k = *state;

    assert_true(kit_write(k, "cost.json", "of before"));
    assert_int_equal(write_telling(kit_path(k, "cost.json"), 0, 0, ""), RC_OK);
    assert_string_equal(kit_read(k, "cost.json"), "of before");
}

KIT_TEST(a_file_that_cannot_be_is_refused_before)
{
    struct kit *k = *state;

    assert_int_equal(sim_cost_check("", "threads", false), RC_OK);
    assert_int_equal(sim_cost_check(kit_path(k, "c.json"), "sim", true), RC_OK);
    assert_int_not_equal(access(kit_path(k, "c.json"), F_OK), 0);
    assert_int_equal(sim_cost_check("c.json", "threads", false), RC_INVAL);
    assert_names(rc_message(), "--cost c.json: ... --world sim ... threads");
    assert_int_not_equal(sim_cost_check(kit_path(k, "none/c.json"), "sim", true), RC_OK);
}

UNIT_MAIN("sim_cost")
