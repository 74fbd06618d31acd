/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps_test.c - the suite on steps.c, and on wrong versions of it that it must catch.
 *   steps_test [mutants]
 */
#include "harness/base/suite/unit.h"
#include "harness/measure/suite/suites.h"

UNIT_TEST(suite_holds)
{
    assert_int_equal(steps_suite(steps_summarise), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (const struct steps_mutant *m = steps_mutants; m->name; m++)
        if (steps_suite(m->summarise) == 0)
            fail_msg("%s is not noticed", m->name);
}

UNIT_MAIN("steps")
