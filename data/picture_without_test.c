/* SPDX-License-Identifier: Apache-2.0 */
/* picture_without_test.c - the decoders as they are built where their libraries were not found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "data/picture.h"
#include "harness/base/suite/names.h"

static void formats_are_named(void **state)
{
    struct picture p = { .rgb = NULL };

    (void)state;
    assert_int_equal(picture_decode(&p, "a.jpg", (const uint8_t *)"\xff\xd8\xff", 3), RC_UNSUPPORTED);
    assert_names(rc_message(), "a.jpg: ... libjpeg");
    assert_int_equal(picture_decode(&p, "a.png", (const uint8_t *)"\x89PNG\r\n\x1a\n", 8), RC_UNSUPPORTED);
    assert_names(rc_message(), "a.png: ... libpng");
    assert_null(p.rgb);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(formats_are_named) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
