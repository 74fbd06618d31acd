/* SPDX-License-Identifier: Apache-2.0 */
/* xml_test.c - what a reader of XML gets back. */
#include "harness/base/suite/printed.h"
#include "harness/base/suite/unit.h"
#include "harness/report/xml.h"

#include <stdlib.h>
#include <string.h>

static void becomes(const char *text, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    xml_text(p.to, text);
    char *written = printed_end(&p);
    assert_string_equal(written, expected);
    free(written);
}

UNIT_TEST(what_tags_and_quotes_are_made_of_is_escaped_X1)
{
    becomes("a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c&#39;");
    becomes("]]>", "]]&gt;");
    becomes("", "");
}

UNIT_TEST(white_space_comes_back_in_attributes_X2)
{
    becomes("a\nb\tc\rd e", "a&#10;b&#9;c&#13;d e");
}

UNIT_TEST(what_xml_has_no_place_for_is_replaced_X1)
{
    becomes("\x01\x1b[1m", "\xef\xbf\xbd\xef\xbf\xbd[1m");
    becomes("\xff\xc3\x28", "\xef\xbf\xbd\xef\xbf\xbd(");
    becomes("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); /* a surrogate */
    becomes("\xef\xbf\xbe|\xef\xbf\xbf|\xef\xbf\xbd", "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd");
    becomes("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    becomes("cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd");
}

UNIT_TEST(an_attribute_has_a_blank_and_quotes)
{
    struct printed p;

    printed_begin(&p);
    xml_attribute(p.to, "name", "a\"b");
    char *written = printed_end(&p);
    assert_string_equal(written, " name=\"a&quot;b\"");
    free(written);
}

UNIT_MAIN("xml")
