/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.h - cmocka for programs of unit tests: its headers, and a list of the tests that fills itself.
 *
 *   UNIT_TEST(name)                  a test, in the place of  static void name(void **state);  state need not be used
 *   {
 *       assert_int_equal(...);
 *   }
 *   UNIT_TEST_OF("part", name)       a test that runs only where main() asks for its part or its name
 *   UNIT_TEST_WITH(name, up, down)   a test with what is done before and after it
 *   UNIT_MAIN("group")               main(): the tests of no part, in the order of the file; or, with an argument, the
 *                                    part or the test of that name
 */
#ifndef HARNESS_BASE_SUITE_UNIT_H
#define HARNESS_BASE_SUITE_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { UNIT_MOST_TESTS = 64 };

struct unit_list {
    struct {
        struct CMUnitTest test;
        const char *part;  /* "": none */
        int line;          /* where it stands */
    } of[UNIT_MOST_TESTS]; /* as they stand in the file */
    int n_tests;
};

/* Of this program. */
static inline struct unit_list *unit_list(void)
{
    static struct unit_list list;

    return &list;
}

/* One more; a program with too many has none. */
static inline void unit_add(const char *part, int line, struct CMUnitTest test)
{
    struct unit_list *list = unit_list();
    int i = list->n_tests++;

    if (i >= UNIT_MOST_TESTS)
        return;
    for (; i > 0 && list->of[i - 1].line > line; i--)
        list->of[i] = list->of[i - 1];
    list->of[i].test = test;
    list->of[i].part = part;
    list->of[i].line = line;
}

/* The exit status of main(). which: a part or a test; NULL: those of no part. Where there is none, it fails. */
static inline int unit_run(const char *group, const char *which, CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    const struct unit_list *list = unit_list();
    struct CMUnitTest test[UNIT_MOST_TESTS];
    size_t n = 0;

    if (list->n_tests > UNIT_MOST_TESTS) {
        fprintf(stderr, "%s: %d tests, %d at most (unit.h)\n", group, list->n_tests, UNIT_MOST_TESTS);
        return 2;
    }
    for (int i = 0; i < list->n_tests; i++)
        if (strcmp(list->of[i].part, which ? which : "") == 0 || (which && strcmp(list->of[i].test.name, which) == 0))
            test[n++] = list->of[i].test;
    if (n == 0) {
        fprintf(stderr, "%s: there is no test%s%s\n", group, which ? " " : "", which ? which : "");
        return 2;
    }
    return _cmocka_run_group_tests(group, test, n, set_up, tear_down) != 0;
}

/* All of that. Each test enters itself before main() begins. */
#define UNIT_LISTED(part, name, set_up, tear_down)                                                             \
    static void name(void **state);                                                                            \
    __attribute__((constructor)) static void add_##name(void)                                                  \
    {                                                                                                          \
        unit_add(part, __LINE__, (struct CMUnitTest)cmocka_unit_test_setup_teardown(name, set_up, tear_down)); \
    }                                                                                                          \
    static void name(__attribute__((unused)) void **state)

/* |value - expected| <= ratio |expected|, or both are NaN. */
static inline void assert_within(double value, double expected, double ratio)
{
    if (isnan(expected) ? !isnan(value) : !(fabs(value - expected) <= ratio * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

#define UNIT_TEST(name) UNIT_LISTED("", name, NULL, NULL)
#define UNIT_TEST_OF(part, name) UNIT_LISTED(part, name, NULL, NULL)
#define UNIT_TEST_WITH(name, set_up, tear_down) UNIT_LISTED("", name, set_up, tear_down)

#define UNIT_MAIN(group)                                               \
    int main(int argc, char **argv)                                    \
    {                                                                  \
        return unit_run(group, argc > 1 ? argv[1] : NULL, NULL, NULL); \
    }

#endif
