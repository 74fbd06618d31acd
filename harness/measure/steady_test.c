/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady_test.c - the suite on steady.c, and on wrong versions of it that it must catch.
 *   steady_test GROUP | steady_test mutant NAME
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "harness/measure/suite/suites.h"

static void suite_holds(void **state)
{
    assert_int_equal(steady_suite(steady_find, *state), 0);
}

static void suite_catches(void **state)
{
    steady_fn *mutant = steady_mutant(*state);

    assert_non_null(mutant);
    assert_int_not_equal(steady_suite(mutant, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest group[] = { cmocka_unit_test_prestate(suite_holds, argc > 1 ? argv[1] : NULL) };
    const struct CMUnitTest mutant[] = { cmocka_unit_test_prestate(suite_catches, argc > 2 ? argv[2] : NULL) };

    return argc > 2 ? cmocka_run_group_tests_name("mutant", mutant, NULL, NULL)
                    : cmocka_run_group_tests_name("steady", group, NULL, NULL);
}
