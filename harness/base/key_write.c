/* SPDX-License-Identifier: Apache-2.0 */
/* key_write.c - see key_write.h. */
#include "harness/base/key_write.h"

#include <ctype.h>
#include <string.h>

/* Text in quotes may be escapes of 4 bytes. */
enum { LINE_CHARS = 120, QUOTED_BYTES = 4 * KEY_VALUE_BYTES + 3, COMMENT_COLUMN = 32 };

static bool is_plain(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* out := text as a YAML value: as it is where nothing in it can mean anything, else in quotes. A '#' is escaped too:
 * who looks for the comment finds no other. */
static void quote(char out[QUOTED_BYTES], const char *text)
{
    bool needs_quotes = text[0] == '\0' || !isalpha((unsigned char)text[0]);
    size_t n = 0;

    for (const char *c = text; *c; c++)
        needs_quotes = needs_quotes || !is_plain(*c);
    if (!needs_quotes) {
        snprintf(out, QUOTED_BYTES, "%s", text);
        return;
    }
    out[n++] = '"';
    for (const char *c = text; *c; c++)
        n += (size_t)snprintf(out + n, QUOTED_BYTES - n, *c == '"' || *c == '\\' || *c == '#' ? "\\x%02x" : "%c",
                              (unsigned char)*c);
    snprintf(out + n, QUOTED_BYTES - n, "\"");
}

/* text as a comment in column `indent`, of a line that is written up to `column`, wrapped at spaces. Runs of spaces
 * become one. */
static void write_comment(FILE *to, const char *text, int column, int indent)
{
    bool is_first = true;

    for (const char *word = text + strspn(text, " "); *word; word += strspn(word, " ")) {
        const int n = (int)strcspn(word, " ");
        if (is_first)
            column += fprintf(to, "%*s# ", column < indent ? indent - column : column > 0, "");
        else if (column + 1 + n > LINE_CHARS) {
            column = fprintf(to, "\n%*s# ", indent, "") - 1;
        } else
            column += fprintf(to, " ");
        for (int i = 0; i < n; i++)
            fputc((unsigned char)word[i] < 0x20 || word[i] == 0x7f ? '?' : word[i], to);
        column += n;
        is_first = false;
        word += n;
    }
    fputc('\n', to);
}

void key_write_head(FILE *to, const char *text)
{
    for (const char *line = text ? text : ""; *line; line += *line == '\n') {
        const int n = (int)strcspn(line, "\n");
        fprintf(to, "#%s%.*s\n", n > 0 ? " " : "", n, line);
        line += n;
    }
}

void key_write_value(FILE *to, const struct key *k, const void *object, const char *comment)
{
    char value[KEY_VALUE_BYTES], quoted[QUOTED_BYTES];

    key_format(k, object, value, sizeof value);
    quote(quoted, value);
    write_comment(to, comment,
                  fprintf(to, "%s: %s", k->name, k->type == KEY_TEXT || k->type == KEY_LIST ? quoted : value),
                  COMMENT_COLUMN);
}

void key_write_text(FILE *to, const char *text)
{
    write_comment(to, text, 0, 0);
}
