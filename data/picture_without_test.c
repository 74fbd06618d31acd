/* SPDX-License-Identifier: Apache-2.0 */
/* picture_without_test.c - the decoders as they are built where their libraries were not found. */
#include "data/picture.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/unit.h"

UNIT_TEST(formats_are_named)
{
    struct picture p = { .rgb = NULL };

    assert_int_equal(picture_decode(&p, "a.jpg", (const uint8_t *)"\xff\xd8\xff", 3), RC_UNSUPPORTED);
    assert_names(rc_message(), "a.jpg: ... libjpeg");
    assert_int_equal(picture_decode(&p, "a.png", (const uint8_t *)"\x89PNG\r\n\x1a\n", 8), RC_UNSUPPORTED);
    assert_names(rc_message(), "a.png: ... libpng");
    assert_null(p.rgb);
}

UNIT_MAIN("picture_without")
