/* SPDX-License-Identifier: Apache-2.0 */
/* markdown.c - text and tables to paste into a wiki or an issue; see markdown.h. */
#include "harness/report/markdown.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

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
