/* SPDX-License-Identifier: Apache-2.0 */
/* peers_test.c - peers_suite, and the mutants that it must find. */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/suite/peers_suite.h"

UNIT_TEST(suite_passes)
{
    assert_int_equal(peers_suite(&(struct peers_ops){ .tick = NULL }, NULL), 0);
}

UNIT_TEST_OF("mutants", suite_catches_mutants)
{
    for (const struct peers_mutant *m = peers_mutants(); m->name; m++) {
        const char *failed_case = NULL;
        print_message("mutant %s\n", m->name);
        assert_true(peers_suite(&m->ops, &failed_case) > 0);
        assert_string_equal(failed_case, m->failed_case);
    }
}

/* An eighth of the warning, but no less than 1 ms and no more than 250 ms. */
UNIT_TEST(looks_are_frequent_enough)
{
    static const uint64_t ms[][2] = { { 1, 1 }, { 8, 1 }, { 80, 10 }, { 2000, 250 }, { 60000, 250 } };

    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        const struct peer_watch w = { .opts = { .warn_ns = ms[i][0] * 1000000 } };
        assert_int_equal(peer_watch_interval_ns(&w), ms[i][1] * 1000000);
    }
}

UNIT_MAIN("peers")
