/* SPDX-License-Identifier: Apache-2.0 */
/* csv_test.c - fields of a line: plain, quoted, empty, too many, and those that are not closed. */
#include <stdio.h>
#include <string.h>

#include "harness/base/csv.h"
#include "harness/base/suite/unit.h"

enum { MAX_FIELDS = 4 };

/* "a|b|c" of the fields, separated as in the line; "!" where there are none, "+" behind those that fit. */
static const char *cut(const char *text)
{
    static char line[256], out[512];
    char *field[MAX_FIELDS];
    int n;

    snprintf(line, sizeof line, "%s", text);
    n = csv_cut(line, csv_separator(line), field, MAX_FIELDS);
    out[0] = '\0';
    for (int i = 0; i < n && i < MAX_FIELDS; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i > 0 ? "|" : "", field[i]);
    strcat(out, n == 0 ? "!" : n > MAX_FIELDS ? "+" : "");
    return out;
}

UNIT_TEST(plain_fields_are_cut_at_commas)
{
    assert_string_equal(cut("a,b,c"), "a|b|c");
    assert_string_equal(cut(""), "");
    assert_string_equal(cut(",,"), "||");
    assert_string_equal(cut("a"), "a");
    assert_string_equal(cut("a,"), "a|");
    assert_string_equal(cut("a b,c\"d"), "a b|c\"d");
}

UNIT_TEST(quoted_fields_hold_commas_and_quotes)
{
    assert_string_equal(cut("\"a,b\",c"), "a,b|c");
    assert_string_equal(cut("\"say \"\"no\"\"\",\"\""), "say \"no\"|");
    assert_string_equal(cut("x,\"y\""), "x|y");
}

UNIT_TEST(empty_rows_are_known)
{
    assert_true(csv_is_empty("", 0) && csv_is_empty("\n", 1) && csv_is_empty(" ,;\t\r\n", 6));
    assert_false(csv_is_empty("0", 1) || csv_is_empty(",,\"\"", 4) || csv_is_empty("\0\n", 2));
}

/* As spreadsheet programs save tables where the comma is the decimal sign. */
UNIT_TEST(semicolons_and_tabs_separate_where_no_comma_does)
{
    assert_string_equal(cut("a;b;;c"), "a|b||c");
    assert_string_equal(cut("a\tb\t\tc"), "a|b||c");
    assert_string_equal(cut("a;b\tc"), "a|b\tc");
    assert_string_equal(cut("a;b,c\td"), "a;b|c\td");
    assert_string_equal(cut("\"a;b\";c"), "a;b|c");
}

UNIT_TEST(blanks_around_fields_are_dropped)
{
    assert_string_equal(cut(" a , b c,\td\t"), "a|b c|d");
    assert_string_equal(cut("a\t b \t"), "a|b|");
    assert_string_equal(cut("  ,  "), "|");
    assert_string_equal(cut(" \" a \" ,b"), " a |b");
    assert_string_equal(cut("\"a\" b,c"), "!");
}

UNIT_TEST(quotes_must_close)
{
    assert_string_equal(cut("\"a,b"), "!");
    assert_string_equal(cut("\"a\"b,c"), "!");
    assert_string_equal(cut("a,\""), "!");
}

UNIT_TEST(more_than_fit_are_told)
{
    assert_string_equal(cut("1,2,3,4"), "1|2|3|4");
    assert_string_equal(cut("1,2,3,4,"), "1|2|3|4+");
    assert_string_equal(cut("1,2,3,4,5,6"), "1|2|3|4+");
}

UNIT_MAIN("csv")
