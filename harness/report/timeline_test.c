/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_test.c - the suite on timeline.c, and on wrong versions of it that it must catch.
 *   timeline_test [mutants]
 */
#include "harness/base/suite/unit.h"
#include "harness/report/suite/timeline_suite.h"

UNIT_TEST(suite_holds)
{
    assert_int_equal(timeline_suite(&timeline_impl_real), 0);
}

UNIT_TEST_OF("mutants", suite_catches)
{
    for (const struct timeline_mutant *m = timeline_mutants; m->name; m++)
        if (timeline_suite(&m->impl) == 0)
            fail_msg("%s is not noticed", m->name);
}

UNIT_MAIN("timeline")
