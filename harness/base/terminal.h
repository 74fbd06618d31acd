/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - lines that fit a terminal. */
#ifndef HARNESS_BASE_TERMINAL_H
#define HARNESS_BASE_TERMINAL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/base/rc.h"

/* Columns of the terminal that `to` writes to; 0: it is no terminal, or the columns are unknown. */
int terminal_columns(FILE *to);
/* Prints text. Breaks a line of more than n_columns between words, but not between a number and "%"; each part after
 * the first begins with the blanks of the line and two more. A longer word stands alone, and is broken after | and
 * commas, as "ring|tree". n_columns 0: breaks no line. */
void terminal_wrap(FILE *to, const char *text, int n_columns);

/* For tables and sentences: 100, or the columns of a narrower terminal, but at least 40. */
int terminal_line_columns(FILE *to);
/* For texts like --help: 79, or the columns of a narrower terminal. */
int terminal_text_columns(FILE *to);
/* Prints the words of text, one paragraph, in lines of at most n_columns, and an end of line. n_before columns of the
 * first line are used already; the following lines begin with n_before blanks. */
void terminal_fill(FILE *to, const char *text, int n_before, int n_columns);

/* Prints the words of text, one paragraph, as a comment of the same columns as tables: the first line begins with "# ",
 * the following ones with "#   ". */
void terminal_comment(FILE *to, const char *text);

/* Prints a note, a warning or an error, and an end of line, in one write. To a terminal: broken as by terminal_wrap()
 * into lines of terminal_line_columns(). A command at its end, ": gradmark ..." or ": mpirun ...", is not broken, so
 * that it can be pasted: if it does not fit, it has the next line. Elsewhere the note is one line for programs. A
 * control character, as of a file's name or text, is shown as ?: a terminal would obey it. */
void terminal_note(FILE *to, const char *fmt, ...) PRINTF_LIKE(2, 3);
void terminal_vnote(FILE *to, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Sentences that are printed together: open, write them to .lines, close. Lines have at most 100 columns, or those of a
 * narrower terminal, broken as by terminal_wrap(). */
struct terminal_text {
    FILE *lines; /* open; NULL: not open */
    char *text;
    size_t n_bytes;
};
enum rc terminal_text_open(struct terminal_text *out) MUST_CHECK; /* RC_NOMEM */
/* Prints them; `to` NULL: drops them. Does nothing if not open. RC_NOMEM. */
enum rc terminal_text_close(struct terminal_text *t, FILE *to) MUST_CHECK;

#endif
