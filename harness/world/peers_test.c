/* SPDX-License-Identifier: Apache-2.0 */
/* peers_test.c - peers_suite, and the mutants that it must find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/world/suite/peers_suite.h"

static void suite_passes(void **state)
{
    (void)state;
    assert_int_equal(peers_suite(&peers_real, NULL), 0);
}

static void suite_catches_mutants(void **state)
{
    (void)state;
    for (const struct peers_mutant *m = peers_mutants(); m->name; m++) {
        const char *failed_case = NULL;
        print_message("mutant %s\n", m->name);
        assert_true(peers_suite(&m->ops, &failed_case) > 0);
        assert_string_equal(failed_case, m->failed_case);
    }
}

/* An eighth of the warning, but no less than 1 ms and no more than 250 ms. */
static void looks_are_frequent_enough(void **state)
{
    static const uint64_t ms[][2] = { { 1, 1 }, { 8, 1 }, { 80, 10 }, { 2000, 250 }, { 60000, 250 } };

    (void)state;
    for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
        const struct peer_watch w = { .opts = { .warn_ns = ms[i][0] * 1000000 } };
        assert_int_equal(peer_watch_interval_ns(&w), ms[i][1] * 1000000);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_passes),
        cmocka_unit_test(suite_catches_mutants),
        cmocka_unit_test(looks_are_frequent_enough),
    };

    if (argc > 1 && strcmp(argv[1], "mutants") == 0)
        cmocka_set_test_filter("suite_catches_mutants");
    else
        cmocka_set_skip_filter("suite_catches_mutants");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
