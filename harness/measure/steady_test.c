/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steady_test.c - the suite on steady.c, and on wrong versions of it that it must catch.
 *   steady_test [mutants]
 */
#include "harness/base/suite/unit.h"
#include "harness/measure/suite/suites.h"

UNIT_TEST(suite_holds)
{
    assert_int_equal(steady_suite(steady_find), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (const struct steady_mutant *m = steady_mutants; m->name; m++)
        if (steady_suite(m->find) == 0)
            fail_msg("%s is not noticed", m->name);
}

UNIT_MAIN("steady")
