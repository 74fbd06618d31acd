/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - fields of a line of comma-separated values (RFC 4180, but that no field holds a line feed). */
#include "harness/base/csv.h"

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

int csv_cut(char *line, char **field, int max_fields)
{
    char *at = line;

    for (int n = 0; n < max_fields; n++) {
        char *end;
        if (*at == '"') {
            field[n] = at + 1;
            end = unquote(at + 1);
            if (!end || (*end != ',' && *end != '\0'))
                return 0;
        } else {
            field[n] = at;
            end = at + strcspn(at, ",");
        }
        at = end;
        if (*at == '\0')
            return n + 1;
        *at++ = '\0';
    }
    return max_fields + 1;
}
