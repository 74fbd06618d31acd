/* SPDX-License-Identifier: Apache-2.0 */
/* markdown.c - text and tables to paste into a wiki or an issue, and pages for a terminal; see markdown.h. */
#include "harness/report/markdown.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/terminal.h"

/* Is text[i] a mark there? An underscore within a word is none, and these begin lists and titles at the start alone. */
static bool is_mark(const char *text, size_t i)
{
    if (text[i] == '_')
        return i == 0 || !isalnum((unsigned char)text[i - 1]) || !isalnum((unsigned char)text[i + 1]);
    return strchr(i == 0 ? "\\`*|<>[]+#" : "\\`*|<>[]", text[i]) != NULL;
}

/* One line; a line feed would end a row. */
static void print_text(FILE *to, const char *text, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes && text[i]; i++) {
        if (is_mark(text, i))
            fputc('\\', to);
        fputc(text[i] == '\n' ? ' ' : text[i], to);
    }
}

void markdown_lines(FILE *to, const char *text)
{
    bool is_list = false;

    while (*text) {
        const size_t n_blanks = strspn(text, " "), n_bytes = strcspn(text, "\n");
        const char *next = text + n_bytes + (text[n_bytes] == '\n');
        const bool is_title = n_blanks == 0 && *next == ' ';
        if (n_bytes > n_blanks) {
            fputs(is_title ? (is_list ? "\n**" : "**") : "- ", to);
            print_text(to, text + n_blanks, n_bytes - n_blanks);
            fputs(is_title ? "**\n\n" : "\n", to);
            is_list = !is_title;
        }
        text = next;
    }
}

static void print_cell(FILE *to, const char *text)
{
    fputc(' ', to);
    print_text(to, text, strlen(text));
    fputs(" |", to);
}

enum rc markdown_table(const struct table *t, FILE *to)
{
    const size_t n_columns = table_n_columns(t);
    enum rc rc;

    TRY(table_check(t));
    fputc('|', to);
    for (size_t i = 0; i < n_columns; i++)
        print_cell(to, table_column(t, i)->title);
    fputs("\n|", to);
    for (size_t i = 0; i < n_columns; i++)
        fputs(table_column(t, i)->align == ALIGN_RIGHT ? "---:|" : "---|", to);
    fputc('\n', to);
    for (size_t r = 0; r < table_n_rows(t); r++) {
        if (!table_text(t, r, 0))
            continue;
        fputc('|', to);
        for (size_t i = 0; i < n_columns; i++)
            print_cell(to, table_text(t, r, i));
        fputc('\n', to);
    }
out:
    return rc;
}

/* --- pages for a terminal --- */

static bool is_fence(const char *line)
{
    return strncmp(line + strspn(line, " "), "```", 3) == 0;
}

static bool is_title(const char *line)
{
    return line[0] == '#' && line[strspn(line, "#")] == ' ';
}

/* The line below the titles of a table: "|---|---:|". */
static bool is_rule(const char *line)
{
    return line[0] == '|' && line[strspn(line, "|-: ")] == '\n';
}

static bool is_table(const char *line)
{
    return line[0] == '|' && is_rule(line + strcspn(line, "\n") + (strchr(line, '\n') != NULL));
}

/* Columns before the words of a line: its blanks and the mark of an item, "- " or "10. ". */
static size_t indent_of(const char *line)
{
    const size_t n_blanks = strspn(line, " "), n_digits = strspn(line + n_blanks, "0123456789");
    const char *mark = line + n_blanks + n_digits;
    const bool is_item = mark[0] == (n_digits > 0 ? '.' : '-') && mark[1] == ' ';

    return n_blanks + (is_item ? n_digits + 2 : 0);
}

/* Where a link leads that has a name: "[name]: address". */
static bool is_address(const char *line)
{
    const size_t n = strcspn(line, "]\n");

    return line[0] == '[' && line[n] == ']' && line[n + 1] == ':';
}

static bool ends_paragraph(const char *line)
{
    const size_t n_blanks = strspn(line, " ");

    return is_address(line) || line[n_blanks] == '\n' || line[n_blanks] == '\0' || indent_of(line) > n_blanks ||
           is_title(line) || is_fence(line) || is_table(line);
}

/* Each of these prints what begins at text, ends its parts in place with zero bytes, and returns what follows. */
static char *print_paragraph(char *text, FILE *to)
{
    const int n_before = (int)indent_of(text);
    char *end = text + strcspn(text, "\n");

    while (*end && !is_title(text) && !ends_paragraph(end + 1)) {
        *end = ' ';
        end += strcspn(end, "\n");
    }
    char *next = end + (*end == '\n');
    *end = '\0';
    fprintf(to, "%.*s", n_before, text);
    terminal_fill(to, text + n_before, n_before, terminal_line_columns(to));
    return next;
}

static char *print_code(char *text, FILE *to)
{
    bool is_end = false;

    for (int i = 0; *text && !is_end; i++) {
        const size_t n_bytes = strcspn(text, "\n");
        is_end = i > 0 && is_fence(text);
        fprintf(to, "%.*s\n", (int)n_bytes, text);
        text += n_bytes + (text[n_bytes] == '\n');
    }
    return text;
}

enum { MOST_COLUMNS = 15 };

/* The cells of a line, without the blanks around them; "\|" is a bar. Returns their number. */
static size_t split_cells(char *cell[MOST_COLUMNS], char *line, char **next)
{
    size_t n = 0;
    char *from = line + 1;

    for (char *at = from, *out = from;; at++) {
        const bool is_end = *at == '\n' || *at == '\0';
        if (*at != '|' && !is_end) {
            at += at[0] == '\\' && (at[1] == '|' || at[1] == '*');
            *out++ = *at;
            continue;
        }
        *next = at + (*at == '\n');
        if (is_end)
            return n;
        assert(n < MOST_COLUMNS);
        while (out > from && out[-1] == ' ')
            out--;
        *out = '\0';
        cell[n++] = from + strspn(from, " ");
        from = out = at + 1;
    }
}

static enum rc print_table(char *text, char **next, FILE *to)
{
    struct column column[MOST_COLUMNS];
    char *title[MOST_COLUMNS], *cell[MOST_COLUMNS];
    struct table *t = NULL;
    enum rc rc;

    const size_t n_columns = split_cells(title, text, &text);
    const size_t n_rules = split_cells(cell, text, &text);
    for (size_t i = 0; i < n_columns; i++) {
        const bool is_right = i < n_rules && strchr(cell[i], '-') && cell[i][strlen(cell[i]) - 1] == ':';
        column[i] = (struct column){ title[i], is_right ? ALIGN_RIGHT : ALIGN_LEFT };
    }
    t = table_open(column, n_columns);
    while (*text == '|') {
        const size_t n = split_cells(cell, text, &text);
        for (size_t i = 0; i < n_columns; i++)
            table_cell(t, "%s", i < n ? cell[i] : "");
    }
    *next = text;
    TRY(table_print(t, to));
out:
    table_close(&t);
    return rc;
}

enum rc markdown_page(const char *text, size_t n_bytes, FILE *to)
{
    char *copy = strndup(text, n_bytes);
    enum rc rc = RC_OK;

    if (!copy)
        FAIL(RC_NOMEM, "no memory for a page of %zu bytes", n_bytes);
    for (char *at = copy; *at;) {
        if (*at == '\n') {
            fputc(*at++, to);
        } else if (is_fence(at)) {
            at = print_code(at, to);
        } else if (is_table(at)) {
            TRY(print_table(at, &at, to));
        } else {
            at = print_paragraph(at, to);
        }
    }
out:
    free(copy);
    return rc;
}
