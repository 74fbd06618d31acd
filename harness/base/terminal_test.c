/* SPDX-License-Identifier: Apache-2.0 */
/* terminal_test.c - where lines are broken. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/suite/printed.h"
#include "harness/base/suite/terminal_kit.h"
#include "harness/base/suite/unit.h"
#include "harness/base/terminal.h"

static void assert_wrapped(const char *text, int n_columns, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    terminal_wrap(p.to, text, n_columns);
    char *got = printed_end(&p);
    assert_string_equal(got, expected);
    free(got);
}

UNIT_TEST(lines_are_broken_between_words)
{
    assert_wrapped("one two three", 0, "one two three");
    assert_wrapped("one two three\n", 13, "one two three\n");
    assert_wrapped("one two three\n", 12, "one two\n  three\n");
    assert_wrapped("  one two three four\nfive\n", 11, "  one two\n    three\n    four\nfive\n");
    assert_wrapped("alongerword\nx alongerword y", 4, "alongerword\nx\n  alongerword\n  y");
    assert_wrapped("±±± ±±±", 7, "±±± ±±±");
    assert_wrapped("±±± ±±±", 6, "±±±\n  ±±±");
    assert_wrapped("\n\n", 5, "\n\n");
    assert_wrapped("it is 88.0 %.", 11, "it is\n  88.0 %.");
    assert_wrapped("up to 1 % of it", 7, "up to\n  1 %\n  of it");
    assert_wrapped("1 %\n% 2 %", 4, "1 %\n%\n  2 %");
    assert_wrapped("is a|b|cd,e|f x", 7, "is\n  a|b|\n  cd,e|\n  f x");
    assert_wrapped("a,b c,d", 4, "a,b\n  c,\n  d");
}

static void assert_filled(const char *text, int n_before, int n_columns, const char *expected)
{
    struct printed p;

    printed_begin(&p);
    terminal_fill(p.to, text, n_before, n_columns);
    char *got = printed_end(&p);
    assert_string_equal(got, expected);
    free(got);
}

UNIT_TEST(paragraphs_fill_lines)
{
    assert_filled("", 2, 10, "\n");
    assert_filled("one two three", 2, 9, "one two\n  three\n");
    assert_filled("one two three", 2, 8, "one\n  two\n  three\n");
    assert_filled("one  two", 0, 80, "one two\n");
    assert_filled("alongerword b", 3, 4, "alongerword\n   b\n");
    assert_filled("±± ±±", 0, 5, "±± ±±\n");
}

UNIT_TEST(sentences_fit_100_columns)
{
    struct terminal_text text = { .lines = NULL };
    struct printed p;

    printed_begin(&p);
    assert_int_equal(terminal_text_close(&text, p.to), RC_OK); /* of none */
    assert_int_equal(terminal_text_open(&text), RC_OK);
    fprintf(text.lines, "dropped");
    assert_int_equal(terminal_text_close(&text, NULL), RC_OK);
    assert_int_equal(terminal_text_open(&text), RC_OK);
    fprintf(text.lines, "%096d one\n%096d four\n", 0, 0);
    assert_int_equal(terminal_text_close(&text, p.to), RC_OK);
    char *got = printed_end(&p);
    assert_int_equal(strcspn(got, "\n"), 100);
    assert_non_null(strstr(got, "0\n  four\n"));
    free(got);
}

UNIT_TEST(a_file_is_no_terminal)
{
    FILE *file = tmpfile();

    assert_non_null(file);
    assert_int_equal(terminal_columns(file), 0);
    assert_int_equal(terminal_text_columns(file), 79);
    assert_int_equal(fclose(file), 0);
}

/* Does a terminal of n_columns get `expected` of a note, and a file the note in one line? */
static void assert_noted(const char *note, int n_columns, const char *expected)
{
    int reader;
    FILE *to = kit_terminal(&reader, n_columns);
    struct printed p;

    terminal_note(to, "%s", note);
    assert_int_equal(fflush(to), 0);
    kit_terminal_reads(reader, expected);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(close(reader), 0);

    printed_begin(&p);
    terminal_note(p.to, "%s", note);
    char *line = printed_end(&p);
    assert_memory_equal(line, note, strlen(note));
    assert_string_equal(line + strlen(note), "\n");
    free(line);
}

/* Regression: a file's name with such characters coloured the terminal, and moved its cursor. */
UNIT_TEST(control_characters_are_not_printed)
{
    struct printed p;

    printed_begin(&p);
    terminal_note(p.to, "%s: No such file", "a\033[31mb\r\177\tc\nd\u00e9");
    char *text = printed_end(&p);
    assert_string_equal(text, "a?[31mb??\tc\nd\u00e9: No such file\n");
    free(text);
}

UNIT_TEST(notes_fit_a_terminal_and_are_one_line_elsewhere)
{
    assert_noted("a note that fits forty columns", 40, "a note that fits forty columns\r\n");
    assert_noted("a note of more than forty columns is broken", 40,
                 "a note of more than forty columns is\r\n  broken\r\n");
    assert_noted("kept; to continue: gradmark compare --continue results", 40,
                 "kept; to continue:\r\n  gradmark compare --continue results\r\n");
    assert_noted("kept; to continue an interrupted comparison: mpirun -np 4 gradmark compare --continue results", 40,
                 "kept; to continue an interrupted\r\n  comparison:\r\n"
                 "  mpirun -np 4 gradmark compare --continue results\r\n");
    assert_noted("a name\nof two lines; to continue: gradmark compare --continue x", 40,
                 "a name\r\nof two lines; to continue:\r\n  gradmark compare --continue x\r\n");
    assert_noted("kept: gradmark report x", 40, "kept: gradmark report x\r\n");
}

UNIT_MAIN("terminal")
