/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_test.c - the suite on replay.c, and on wrong versions of it that it must catch (M1 M2 M3 M6).
 *   replay_test suite | needs_a_profile | mutant NAME
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "harness/compute/compute.h"
#include "models/replay_suite.h"

static void suite_holds(void **state)
{
    struct workload other;

    (void)state;
    assert_int_equal(replay_suite(&workload_replay, true), 0);
    assert_true(replay_mutant(&other, "none"));
    assert_int_equal(replay_suite(&other, true), 0);
}

static void needs_a_profile(void **state)
{
    struct compute *c = NULL;
    struct training *t = NULL;

    (void)state;
    assert_int_equal(compute_open(&c, &compute_hollow, NULL), RC_OK);
    const struct training_env env = { .compute = c, .max_batch = 8 };
    assert_int_equal(workload_open(&t, &workload_replay, &env), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--profile"));
    assert_null(t);
    compute_close(&c);
}

static void suite_catches(void **state)
{
    struct workload mutant;

    assert_true(replay_mutant(&mutant, *state));
    assert_int_not_equal(replay_suite(&mutant, false), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest suite[] = { cmocka_unit_test(suite_holds) };
    const struct CMUnitTest needs[] = { cmocka_unit_test(needs_a_profile) };
    const struct CMUnitTest mutant[] = { cmocka_unit_test_prestate(suite_catches, argc > 2 ? argv[2] : NULL) };

    if (argc > 2)
        return cmocka_run_group_tests_name("mutant", mutant, NULL, NULL);
    return argc > 1 && strcmp(argv[1], "needs_a_profile") == 0 ? cmocka_run_group_tests(needs, NULL, NULL)
                                                               : cmocka_run_group_tests(suite, NULL, NULL);
}
