/* SPDX-License-Identifier: Apache-2.0 */
/* table_test.c - what a table looks like, character by character. */
#include "harness/base/suite/printed.h"
#include "harness/base/suite/terminal_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/report/markdown.h"
#include "harness/report/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void looks_like(const struct table *t, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(table_print(t, p.to), RC_OK);
    char *text = printed_end(&p);
    assert_string_equal(text, expected);
    free(text);
}

static void cell(struct table *t, const char *text)
{
    table_cell(t, "%s", text);
}

UNIT_TEST(columns_are_aligned)
{
    const struct column column[] = { { "mode", ALIGN_LEFT }, { "workers", ALIGN_RIGHT }, { "note", ALIGN_LEFT } };
    struct table *t = table_open(column, 3);

    cell(t, "allreduce");
    table_cell(t, "%d", 4);
    cell(t, "oversubscribed");
    table_rule(t);
    cell(t, "ps");
    table_cell(t, "%.1f", 12345678.25);
    cell(t, "");
    looks_like(t, "mode          workers  note\n"
                  "---------  ----------  --------------\n"
                  "allreduce           4  oversubscribed\n"
                  "---------  ----------  --------------\n"
                  "ps         12345678.2\n");
    table_close(&t);
    assert_null(t);
    table_close(&t);
}

UNIT_TEST(widths_are_those_of_letters_not_bytes)
{
    const struct column column[] = { { "a", ALIGN_LEFT }, { "b", ALIGN_RIGHT } };
    static const char *const text[] = { "±µ×", "é" /* one letter */, "e\xcc\x81" /* e and an accent */,
                                        "日本" /* two columns each */, "\xff" /* not UTF-8 */ };
    struct table *t = table_open(column, 2);

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        cell(t, text[i]);
        cell(t, text[i]);
    }
    looks_like(t, "a        b\n"
                  "----  ----\n"
                  "±µ×    ±µ×\n"
                  "é        é\n"
                  "e\xcc\x81        e\xcc\x81\n"
                  "日本  日本\n"
                  "\xff        \xff\n");
    table_close(&t);
}

UNIT_TEST(an_unfinished_row_is_filled)
{
    const struct column column[] = { { "a", ALIGN_LEFT }, { "b", ALIGN_LEFT }, { "c", ALIGN_RIGHT } };
    struct table *t = table_open(column, 3);

    looks_like(t, "a  b  c\n-  -  -\n");
    cell(t, "1");
    table_rule(t);
    cell(t, "2");
    cell(t, "3");
    looks_like(t, "a  b  c\n-  -  -\n1\n-  -  -\n2  3\n");
    table_close(&t);
}

UNIT_TEST(many_rows_and_long_cells)
{
    const struct column column[] = { { "n", ALIGN_RIGHT } };
    struct table *t = NULL;
    char *text = NULL, long_cell[5000];
    size_t n_bytes = 0;

    memset(long_cell, 'x', sizeof long_cell);
    long_cell[sizeof long_cell - 1] = '\0';
    t = table_open(column, 1);
    for (int i = 0; i < 100; i++)
        cell(t, long_cell);
    FILE *to = open_memstream(&text, &n_bytes);
    assert_non_null(to);
    assert_int_equal(table_print(t, to), RC_OK);
    fclose(to);
    assert_int_equal(n_bytes, 102 * sizeof long_cell);
    free(text);
    table_close(&t);
}

static char *text_of(const struct table *t, enum rc (*print)(const struct table *t, FILE *to))
{
    struct printed p;

    printed_begin(&p);
    assert_int_equal(print(t, p.to), RC_OK);
    char *text = printed_end(&p);
    return text;
}

/* Where there was no memory for it, what prints it says so. */
UNIT_TEST(a_table_that_is_not_whole)
{
    struct table *t = NULL;

    table_cell(t, "%d", 1);
    table_rule(t);
    assert_int_equal(table_n_rows(t), 0);
    assert_int_equal(table_print(t, stderr), RC_NOMEM);
    assert_int_equal(table_print_csv(t, stderr), RC_NOMEM);
    table_close(&t);
}

/* What the form reads as a mark is quoted, or escaped; rules are left out. */
UNIT_TEST(other_forms)
{
    const struct column column[] = { { "name", ALIGN_LEFT }, { "n,m", ALIGN_RIGHT } };
    struct table *t = table_open(column, 2);

    cell(t, "a|b, \"c\"");
    cell(t, "4*");
    table_rule(t);
    cell(t, "snake_case _x <y>");
    cell(t, "");
    cell(t, "+");
    char *csv = text_of(t, table_print_csv), *markdown = text_of(t, markdown_table);
    assert_string_equal(csv, "name,\"n,m\"\n"
                             "\"a|b, \"\"c\"\"\",4*\n"
                             "snake_case _x <y>,\n"
                             "+,\n");
    assert_string_equal(markdown, "| name | n,m |\n"
                                  "|---|---:|\n"
                                  "| a\\|b, \"c\" | 4\\* |\n"
                                  "| snake_case \\_x \\<y\\> |  |\n"
                                  "| \\+ |  |\n");
    free(csv);
    free(markdown);
    table_close(&t);
}

/* Tables for one stream are values in another one; other streams keep theirs. */
UNIT_TEST(diverted)
{
    const struct column column[] = {
        { "bytes", ALIGN_RIGHT }, { "of it", ALIGN_RIGHT }, { "calls", ALIGN_RIGHT }, { "of it", ALIGN_RIGHT }
    };
    char *text[3] = { NULL };
    size_t n_bytes[3];
    FILE *stream[3];
    struct table *t = NULL;

    for (int i = 0; i < 3; i++)
        assert_non_null(stream[i] = open_memstream(&text[i], &n_bytes[i]));
    struct table_diversion d = { .from = stream[0], .to = stream[1] };
    t = table_open(column, 4);
    for (int i = 0; i < 4; i++)
        table_cell(t, "%d,", i);
    table_divert(&d);
    assert_int_equal(table_print(t, stream[0]), RC_OK);
    assert_int_equal(table_print(t, stream[0]), RC_OK);
    assert_int_equal(table_print_named(t, stream[0]), RC_OK);
    assert_int_equal(table_print(t, stream[2]), RC_OK);
    table_divert(NULL);
    assert_int_equal(d.n_tables, 3);
    assert_int_equal(table_print(t, stream[0]), RC_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(fclose(stream[i]), 0);
#define VALUES "bytes,bytes: of it,calls,calls: of it\n\"0,\",\"1,\",\"2,\",\"3,\"\n"
    assert_string_equal(text[1], VALUES "\n" VALUES "\n" VALUES);
#undef VALUES
    assert_string_equal(text[2], "bytes  of it  calls  of it\n"
                                 "-----  -----  -----  -----\n"
                                 "   0,     1,     2,     3,\n");
    assert_string_equal(text[0], text[2]);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    table_close(&t);
}

UNIT_TEST(a_page_for_a_terminal)
{
    static const char page[] = "# Title\n\n"
                               "Two lines\nof one paragraph, which has [a link](page.md#part) and more than a "
                               "hundred columns by its last words.\n- item\n  of two lines\n10. tenth\n    line\n"
                               "```sh\n| a   b |\n- c\n```\n"
                               "| name | n \\| m |\n|---|---:|\n| a\\* | 12 |\n| b |\nbehind\n"
                               "[a]: b\n[c]: d\n  ```\n  open\n";
    static const char expected[] =
        "# Title\n\n"
        "Two lines of one paragraph, which has [a link](page.md#part) and more than a hundred columns by its\n"
        "last words.\n- item of two lines\n10. tenth line\n"
        "```sh\n| a   b |\n- c\n```\n"
        "name  n | m\n----  -----\na*       12\nb\nbehind\n"
        "[a]: b\n[c]: d\n  ```\n  open\n";
    struct printed p;

    printed_begin(&p);
    assert_int_equal(markdown_page(page, sizeof page - 1, p.to), RC_OK);
    char *got = printed_end(&p);
    assert_string_equal(got, expected);
    free(got);
    printed_begin(&p);
    assert_int_equal(markdown_page(page, strlen("# Title"), p.to), RC_OK); /* a part, whose last line has no end */
    got = printed_end(&p);
    assert_string_equal(got, "# Title\n");
    free(got);
}

UNIT_TEST(lines_as_markdown)
{
    struct printed p;

    printed_begin(&p);
    markdown_lines(p.to, "one\n\ntitle:\n  first\n  * second\n\ntitle 2\n  x\n");
    char *text = printed_end(&p);
    assert_string_equal(text, "- one\n\n**title:**\n\n- first\n- \\* second\n\n**title 2**\n\n- x\n");
    free(text);
}

UNIT_TEST(names_and_what_they_are)
{
    static const struct column column[] = { { "", ALIGN_LEFT }, { "", ALIGN_LEFT } };
    struct table *t = NULL;
    char *text = NULL, expected[300];
    struct printed p;

    printed_begin(&p);
    t = table_open(column, 2);
    table_cell(t, "name");
    table_cell(t, "%090d b cc", 0);
    table_cell(t, "µ");
    table_cell(t, "short");
    assert_int_equal(table_print_named(t, p.to), RC_OK);
    text = printed_end(&p);
    snprintf(expected, sizeof expected, "name  %090d b\n      cc\nµ     short\n", 0);
    assert_string_equal(text, expected);
    free(text);
    table_close(&t);
}

UNIT_TEST(titles_of_wide_tables_are_broken)
{
    const struct column column[] = { { "a long title here", ALIGN_RIGHT },
                                     { "text", ALIGN_LEFT },
                                     { "x", ALIGN_LEFT } };
    struct table *t = NULL;
    char *text = NULL, expected[600];
    struct printed p;

    printed_begin(&p);
    t = table_open(column, 3);
    table_cell(t, "7");
    table_cell(t, "%084d", 0);
    table_cell(t, "y");
    assert_int_equal(table_print(t, p.to), RC_OK);
    text = printed_end(&p);
    snprintf(expected, sizeof expected, "    a\n long\ntitle\n here  text%82sx\n-----  %.84s  -\n    7  %084d  y\n", "",
             "------------------------------------------------------------------------------------------", 0);
    assert_string_equal(text, expected);
    free(text);
    table_close(&t);
}

static struct table *table_of(const struct column *column, size_t n_columns, const char *const *cells, size_t n_cells)
{
    struct table *t = table_open(column, n_columns);

    for (size_t i = 0; i < n_cells; i++)
        cell(t, cells[i]);
    return t;
}

#define WORDS "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"

/* Numbers stay whole, and so do a number and its %. */
UNIT_TEST(words_of_wide_tables_are_broken)
{
    const struct column column[] = { { "workers", ALIGN_RIGHT }, { "note", ALIGN_LEFT }, { "x", ALIGN_LEFT } };
    const char long_note[] = WORDS " the 50 % of 30";
    const char *const cells[] = { "1", long_note, "y", "2", "short", "" };
    struct table *t = table_of(column, 3, cells, sizeof cells / sizeof *cells);

    looks_like(t,
               "workers  note                                                                                      x\n"
               "-------  ----------------------------------------------------------------------------------------  -\n"
               "      1  " WORDS " the      y\n"
               "         50 % of 30\n"
               "      2  short\n");
    table_close(&t);
}

/* With the first column in each, as no line may be wider than the terminal. */
UNIT_TEST(a_table_of_many_columns_is_printed_in_parts)
{
    enum { N = 30 };
    struct column column[N];
    const char *cells[N];
    size_t n_lines = 0, n_names = 0, n_values = 0;

    for (int i = 0; i < N; i++) {
        column[i] = (struct column){ i == 0 ? "name" : "value", i == 0 ? ALIGN_LEFT : ALIGN_RIGHT };
        cells[i] = i == 0 ? "lenet" : "12345.7";
    }
    struct table *t = table_of(column, N, cells, N);
    char *text = text_of(t, table_print), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest), n_lines++) {
        assert_in_range(strlen(line), 1, 100);
        n_names += strncmp(line, "lenet  ", 7) == 0;
        for (const char *at = line; (at = strstr(at, "12345.7")); at++)
            n_values++;
    }
    assert_int_equal(n_lines, 9);
    assert_int_equal(n_names, 3);
    assert_int_equal(n_values, N - 1);
    free(text);
    table_close(&t);
}

/* Rows of one model are told apart by the number of workers: each part has both. */
UNIT_TEST(parts_have_the_columns_that_tell_rows_apart)
{
    enum { N = 20 };
    struct column column[N] = { { "model", ALIGN_LEFT }, { "workers", ALIGN_RIGHT } };
    const char *cells[2 * N] = { "lenet", "2" };
    size_t n_named = 0;

    for (int i = 0; i < N; i++) {
        column[i] = i < 2 ? column[i] : (struct column){ "value", ALIGN_RIGHT };
        cells[i] = i < 2 ? cells[i] : "12345.7";
        cells[N + i] = i == 1 ? "4" : cells[i];
    }
    struct table *t = table_of(column, N, cells, 2 * N);
    char *text = text_of(t, table_print), *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        assert_in_range(strlen(line), 1, 100);
        n_named += strncmp(line, "lenet        2  ", 16) == 0 || strncmp(line, "lenet        4  ", 16) == 0;
    }
    assert_int_equal(n_named, 2 * 2);
    free(text);
    table_close(&t);
}

UNIT_TEST(a_narrow_terminal)
{
    const struct column column[] = { { "workers", ALIGN_RIGHT }, { "note", ALIGN_LEFT } };
    const char *const cells[] = { "1", WORDS };
    struct table *t = table_of(column, 2, cells, 2);
    int reader;
    FILE *terminal = kit_terminal(&reader, 60);

    assert_int_equal(table_print(t, terminal), RC_OK);
    assert_int_equal(fflush(terminal), 0);
    kit_terminal_reads(reader, "workers  note\r\n"
                               "-------  ---------------------------------------------------\r\n"
                               "      1  one two three four five six seven eight nine ten\r\n"
                               "         eleven twelve thirteen fourteen\r\n");
    fclose(terminal);
    close(reader);
    table_close(&t);
}

UNIT_MAIN("table")
