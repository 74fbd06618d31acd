/* SPDX-License-Identifier: Apache-2.0 */
/* max_batch_test.c - the largest batch that fits, at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness/train/job.h"

/* 1000 bytes, and 100 for each sample. */
static enum rc bytes_of(const void *arg, size_t batch, double *n_bytes)
{
    const size_t *refused = arg;

    *n_bytes = 1000 + 100 * (double)batch;
    return batch == *refused ? rc_raise(RC_INVAL, "a batch that cannot be") : RC_OK;
}

static void the_largest_that_fits(void **state)
{
    static const struct {
        size_t too_large;
        double available_bytes;
        const char *text;
    } cases[] = {
        { 1000, 2000, "--batch 10 fits" }, /* to the byte */
        { 1000, 1999, "--batch 9 fits" },          { 1000, 1100, "--batch 1 fits" },
        { 1000, 1099, "not even --batch 1 fits" }, { 8, 1e9, "--batch 7 fits" },
        { 1, 1e9, "not even --batch 1 fits" },
    };
    const size_t none = 0;
    char text[MAX_BATCH_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(max_batch_text(text, cases[i].too_large, 1, cases[i].available_bytes, bytes_of, &none), RC_OK);
        assert_string_equal(text, cases[i].text);
    }
}

/* A batch in three parts: those that have three equal ones. */
static void multiples_are_named(void **state)
{
    const size_t none = 0;
    char text[MAX_BATCH_TEXT_BYTES];

    (void)state;
    assert_int_equal(max_batch_text(text, 999, 3, 2000, bytes_of, &none), RC_OK);
    assert_string_equal(text, "--batch 9 fits");
    assert_int_equal(max_batch_text(text, 12, 3, 1299, bytes_of, &none), RC_OK);
    assert_string_equal(text, "not even --batch 3 fits");
    assert_int_equal(max_batch_text(text, 12, 3, 1e9, bytes_of, &none), RC_OK);
    assert_string_equal(text, "--batch 9 fits");
}

static void errors_are_those_of_the_bytes(void **state)
{
    const size_t middle = 4;
    char text[MAX_BATCH_TEXT_BYTES];

    (void)state;
    assert_int_equal(max_batch_text(text, 8, 1, 1e9, bytes_of, &middle), RC_INVAL);
    assert_string_equal(rc_message(), "a batch that cannot be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_that_fits),
        cmocka_unit_test(multiples_are_named),
        cmocka_unit_test(errors_are_those_of_the_bytes),
    };

    return cmocka_run_group_tests_name("max_batch", tests, NULL, NULL);
}
