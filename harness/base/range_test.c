/* SPDX-License-Identifier: Apache-2.0 */
/* range_test.c - parts of an array: no gap, no overlap, the rule's own borders, numbers that would overflow. */
#include "harness/base/range.h"
#include "harness/base/suite/unit.h"

UNIT_TEST(parts_cover_the_array_once)
{
    static const size_t n_elems[] = { 0, 1, 2, 7, 8, 9, 100, 13706, 25557032, SIZE_MAX };
    static const int n_parts[] = { 1, 2, 3, 5, 8, 9, 512, 65536 };

    for (size_t n = 0; n < sizeof n_elems / sizeof *n_elems; n++)
        for (size_t p = 0; p < sizeof n_parts / sizeof *n_parts; p++) {
            const size_t n_least = n_elems[n] / (size_t)n_parts[p];
            size_t n_before = 0;
            for (int i = 0; i < n_parts[p]; i++) {
                const struct range part = range_part(n_elems[n], n_parts[p], i);
                assert_true(part.offset_elems == n_before);
                assert_true(part.n_elems == n_least || part.n_elems == n_least + 1);
                n_before += part.n_elems;
            }
            assert_true(n_before == n_elems[n]);
        }
}

/* Border i is floor(n i / p): which bits a ring or a server computes hangs on it. */
UNIT_TEST(borders_are_rounded_down)
{
    for (size_t n = 0; n < 50; n++)
        for (int p = 1; p < 12; p++)
            for (int i = 0; i < p; i++)
                assert_int_equal(range_part(n, p, i).offset_elems, n * (size_t)i / (size_t)p);
    assert_int_equal(range_part(10, 4, 1).offset_elems, 2);
    assert_int_equal(range_part(10, 4, 1).n_elems, 3);
    assert_int_equal(range_part(10, 4, 2).offset_elems, 5);
    assert_int_equal(range_part(10, 4, 2).n_elems, 2);
}

UNIT_MAIN("range")
