/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - lines that fit a terminal; see terminal.h. */
#include "harness/base/terminal.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int terminal_columns(FILE *to)
{
    const int fd = fileno(to);
    struct winsize size = { 0 };

    if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static int columns_up_to(FILE *to, int most)
{
    enum { LEAST = 40 };
    const int n = terminal_columns(to);

    return n == 0 || n > most ? most : n < LEAST ? LEAST : n;
}

int terminal_line_columns(FILE *to)
{
    return columns_up_to(to, 100);
}

int terminal_text_columns(FILE *to)
{
    return columns_up_to(to, 79);
}

/* Columns that n_bytes of UTF-8 take: a byte that continues a letter takes none. */
static int columns_of(const char *text, size_t n_bytes)
{
    int n = 0;

    for (size_t i = 0; i < n_bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

/* Of the first word of text. A % belongs to the number before it: "88.0 %" is one word. */
static size_t word_bytes(const char *text)
{
    size_t n = strcspn(text, " \n");

    while (text[n] == ' ' && text[n + 1] == '%')
        n += 1 + strcspn(text + n + 1, " \n");
    return n;
}

/* Of the first n_columns of a word up to its last | or comma; all of it if that is not there. */
static size_t part_bytes(const char *word, size_t n_bytes, int n_columns)
{
    size_t n = n_bytes;

    while (n > 0 && (columns_of(word, n) > n_columns || !strchr("|,", word[n - 1])))
        n--;
    return n > 0 ? n : n_bytes;
}

/* Prints the words of text in lines of at most n_columns. The first has n_used columns before them, the following ones
 * begin with `mark` and blanks, together n_indent columns. A longer word stands alone, and is broken after | and
 * commas. */
static void print_words(FILE *to, const char *text, size_t n_bytes, int n_used, const char *mark, int n_indent,
                        int n_columns)
{
    size_t at = strspn(text, " ");
    bool is_broken = false; /* the word */

    for (bool is_first = true; at < n_bytes; is_first = false) {
        const size_t n_whole = word_bytes(text + at);
        const bool is_new = is_broken || (!is_first && n_used + 1 + columns_of(text + at, n_whole) > n_columns);
        if (is_new) {
            fprintf(to, "\n%-*s", n_indent, mark);
            n_used = n_indent;
        } else if (!is_first) {
            fputc(' ', to);
            n_used++;
        }
        const bool fits = n_used + columns_of(text + at, n_whole) <= n_columns;
        const size_t n = fits ? n_whole : part_bytes(text + at, n_whole, n_columns - n_used);
        is_broken = n < n_whole;
        fwrite(text + at, 1, n, to);
        n_used += columns_of(text + at, n);
        at += n + strspn(text + at + n, " ");
    }
}

/* The blanks of the line, then its words. */
static void wrap_line(FILE *to, const char *line, size_t n_bytes, int n_columns)
{
    const size_t n_blanks = strspn(line, " ");

    fprintf(to, "%*s", (int)n_blanks, "");
    print_words(to, line + n_blanks, n_bytes - n_blanks, (int)n_blanks, "", (int)n_blanks + 2, n_columns);
}

void terminal_wrap(FILE *to, const char *text, int n_columns)
{
    while (*text) {
        const size_t n_bytes = strcspn(text, "\n");
        if (n_columns > 0 && columns_of(text, n_bytes) > n_columns)
            wrap_line(to, text, n_bytes, n_columns);
        else
            fwrite(text, 1, n_bytes, to);
        text += n_bytes;
        if (*text == '\n')
            fputc(*text++, to);
    }
}

void terminal_fill(FILE *to, const char *text, int n_before, int n_columns)
{
    print_words(to, text, strlen(text), n_before, "", n_before, n_columns);
    fputc('\n', to);
}

void terminal_comment(FILE *to, const char *text)
{
    enum { FIRST = 2, NEXT = 4 };

    fputs("# ", to);
    print_words(to, text, strlen(text), FIRST, "#", NEXT, terminal_line_columns(to));
    fputc('\n', to);
}

/* The command at the end of a note; NULL: it has none. */
static char *find_command(char *text)
{
    static const char *const program[] = { ": gradmark ", ": mpirun " };

    for (size_t i = 0; i < sizeof program / sizeof *program; i++) {
        char *at = strstr(text, program[i]);
        if (at)
            return at + 2;
    }
    return NULL;
}

static void wrap_note(FILE *to, char *text, int n_columns)
{
    char *command = columns_of(text, strlen(text)) > n_columns ? find_command(text) : NULL;

    if (command)
        command[-1] = '\0';
    terminal_wrap(to, text, n_columns);
    if (command)
        fprintf(to, "\n  %s", command);
}

void terminal_vnote(FILE *to, const char *fmt, va_list ap)
{
    const bool is_terminal = terminal_columns(to) > 0;
    char *text = NULL, *whole = NULL;
    size_t n_bytes = 0;
    FILE *lines = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    for (char *c = text; c && *c; c++)
        *c = iscntrl((unsigned char)*c) && *c != '\n' && *c != '\t' ? '?' : *c;
    lines = text ? open_memstream(&whole, &n_bytes) : NULL;
    if (lines) {
        if (is_terminal)
            wrap_note(lines, text, terminal_line_columns(to));
        else
            fputs(text, lines);
        fputc('\n', lines);
    }
    if (lines && fclose(lines) == 0)
        fwrite(whole, 1, n_bytes, to);
    else
        fprintf(to, "%s\n", text ? text : fmt); /* no memory */
    free(whole);
    free(text);
}

void terminal_note(FILE *to, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    terminal_vnote(to, fmt, ap);
    va_end(ap);
}

enum rc terminal_text_open(struct terminal_text *out)
{
    *out = (struct terminal_text){ .text = NULL };
    out->lines = open_memstream(&out->text, &out->n_bytes);
    return out->lines ? RC_OK : rc_raise(RC_NOMEM, "no memory for a text");
}

enum rc terminal_text_close(struct terminal_text *t, FILE *to)
{
    enum rc rc = RC_OK;

    if (!t->lines)
        return RC_OK;
    if (fclose(t->lines) != 0) {
        rc = rc_raise(RC_NOMEM, "no memory for a text");
    } else if (to) {
        terminal_wrap(to, t->text, terminal_line_columns(to));
    }
    free(t->text);
    *t = (struct terminal_text){ .text = NULL };
    return rc;
}
