/* SPDX-License-Identifier: Apache-2.0 */
/* host_list_test.c - names of hosts as Slurm folds them. */
#include "harness/accept/host_list.h"
#include "harness/base/suite/unit.h"

#include <stdlib.h>
#include <string.h>

/* names: with blanks between. */
static void folds(const char *names, const char *expected)
{
    char *copy = strdup(names), *list = NULL, *rest = NULL;
    const char *name[64];
    size_t n = 0;

    assert_non_null(copy);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        name[n++] = word;
    assert_int_equal(host_list_fold(&list, name, n), RC_OK);
    assert_string_equal(list, expected);
    free(list);
    free(copy);
}

UNIT_TEST(numbers_become_ranges)
{
    folds("host1 host2 host3 host7 other", "host[1-3,7],other");
    folds("host7 host3 host1 host2", "host[1-3,7]");
    folds("host1 host2", "host[1-2]");
    folds("host5", "host5");
    folds("", "");
    folds("host0 host1", "host[0-1]");
    folds("host9 host10 host11 host99 host100", "host[9-11,99-100]");
    folds("7 8", "[7-8]");
}

UNIT_TEST(leading_zeros_stay_H1)
{
    folds("host08 host09 host10 host11", "host[08-11]");
    folds("host8 host9 host10", "host[8-10]");
    folds("host7 host08", "host[7,08]");
    folds("host099 host100", "host[099-100]");
    folds("host99 host0100", "host[99,0100]");
    folds("host01 host1", "host[1,01]");
    folds("host98 host99 host100 host098", "host[98-99,098,100]");
    folds("n00 n01 n02", "n[00-02]");
}

UNIT_TEST(prefixes_keep_their_order_and_names_are_once_H2)
{
    folds("z1 a1 z2 a2", "z[1-2],a[1-2]");
    folds("a1 a1 a2 a1", "a[1-2]");
    folds("a a a", "a");
    folds("a a1 a2", "a,a[1-2]");
    folds("a1.x a2.x a1.x", "a1.x,a2.x");
    folds("r1n1 r1n2 r2n1", "r1n[1-2],r2n1");
    folds("ab1 a1 abc1 ab2", "ab[1-2],a1,abc1");
}

UNIT_TEST(too_many_digits_are_no_number)
{
    folds("h123456789012345678 h123456789012345679", "h[123456789012345678-123456789012345679]");
    folds("h18446744073709551615 h18446744073709551616", "h18446744073709551615,h18446744073709551616");
}

UNIT_TEST(what_is_no_name_is_told_P5)
{
    static const char *const plain[] = { "host1", "a.b-c_d", "fe80::1", "7" };
    static const char *const other[] = { "", "a b", "a\nb", "#a", "-a", "a\"", "<a>", "a,b", "a[1]", "caf\xc3\xa9" };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_true(host_name_is_plain(plain[i]));
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        assert_false(host_name_is_plain(other[i]));
}

UNIT_MAIN("host_list")
