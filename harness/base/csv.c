/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - fields of a line of separated values (RFC 4180, but that no field holds a line feed). */
#include "harness/base/csv.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The end of a quoted field whose quote is before text: doubled quotes become one. NULL: it does not end. */
static char *unquote(char *text)
{
    char *to = text;

    for (char *from = text; *from != '\0'; from++) {
        if (*from == '"' && *++from != '"') {
            *to = '\0';
            return from;
        }
        *to++ = *from;
    }
    return NULL;
}

bool csv_is_empty(const char *line, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        if (line[i] == '\0' || !strchr(" \t,;\r\n", line[i]))
            return false;
    return true;
}

char csv_separator(const char *first_line)
{
    return strchr(first_line, ',') ? ',' : strchr(first_line, ';') ? ';' : strchr(first_line, '\t') ? '\t' : ',';
}

static bool is_blank(char c, char separator)
{
    return (c == ' ' || c == '\t') && c != separator;
}

static char *skip_blanks(char *at, char separator)
{
    while (is_blank(*at, separator))
        at++;
    return at;
}

/* Cut the field at `at`, behind blanks. Returns its separator, or the end of the line; NULL: csv_cut() returns 0. */
static char *cut_field(char *at, char separator, char **out)
{
    char *end, *next;

    *out = at;
    if (*at == '"') {
        *out = at + 1;
        end = unquote(at + 1);
        next = end ? skip_blanks(end, separator) : NULL;
        return next && (*next == separator || *next == '\0') ? next : NULL;
    }
    for (end = next = at; *next != '\0' && *next != separator; next++)
        if (!is_blank(*next, separator))
            end = next + 1;
    if (end < next)
        *end = '\0';
    return next;
}

int csv_cut(char *line, char separator, char **field, int max_fields)
{
    char *at = line;

    for (int n = 0; n < max_fields; n++) {
        at = cut_field(skip_blanks(at, separator), separator, &field[n]);
        if (!at)
            return 0;
        if (*at == '\0')
            return n + 1;
        *at++ = '\0';
    }
    return max_fields + 1;
}
